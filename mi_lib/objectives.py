r"""Training objectives: pure functions of a score matrix, losses in nats.

``scores[..., i, j] = c(x_i, y_j)`` for a batch of B pairs, positives on the diagonal; leading
dimensions (seeds, say) are carried through, and each function returns a loss of that shape. The
critic models the log ratio, :math:`c = \log r`, :math:`r \approx p(x,y)/(p(x)p(y))` (the PMI
parameterisation); the two objectives that also make sense for a critic that models r itself take
``ratio[..., i, j]`` and end in ``_pd``.

A tuple of K points shares one side: with ``contrast="x"`` (the paper's L^(1)) the negatives are
other x's for the same y, with ``contrast="y"`` other y's for the same x.
"""

import math

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor

from .scoring import Log, ScoringRule, saturating_exp
from .validate import anchor_weight, one_of, whole_number

Scores = Float[Tensor, "... b b"]
Loss = Float[Tensor, "..."]


def _batch(scores: Scores, at_least: int = 2) -> int:
    """The number of pairs, after a look at the shape."""
    if scores.ndim < 2 or scores.shape[-1] != scores.shape[-2]:
        raise ValueError(
            f"scores have shape {tuple(scores.shape)}; pass a square matrix of critic values, "
            "scores[..., i, j] = c(x_i, y_j)"
        )
    if not scores.dtype.is_floating_point:
        raise ValueError(f"scores have dtype {scores.dtype}; pass floating-point critic values")
    if scores.shape[-1] < at_least:
        raise ValueError(f"{scores.shape[-1]} pairs are too few here; pass at least {at_least}")
    return scores.shape[-1]


def positives(scores: Scores) -> Float[Tensor, "... b"]:
    """The scores of the pairs that were drawn together: the diagonal."""
    _batch(scores, 1)
    return scores.diagonal(dim1=-2, dim2=-1)


def negatives(scores: Scores) -> Float[Tensor, "... b b-1"]:
    """The scores of all other combinations, row by row: row i holds c(x_i, y_j), j != i."""
    b = _batch(scores)
    flat = scores.flatten(-2)[..., 1:].unflatten(-1, (b - 1, b + 1))
    return flat[..., :-1].flatten(-2).unflatten(-1, (b, b - 1))


def log_mean_exp(values: Float[Tensor, "..."], dims: int = 1) -> Float[Tensor, "..."]:
    """log of the mean of exp over the last ``dims`` axes."""
    flat = values.flatten(-dims)
    return torch.logsumexp(flat, -1) - math.log(flat.shape[-1])


def plug_in(scores: Scores) -> Loss:
    r"""Minus the plug-in estimate :math:`\mathbb{E}_{p(x,y)}[c]`: an evaluation, not a loss to
    train on (it has no minimum)."""
    return -positives(scores).mean(-1)


def dv(scores: Scores) -> Loss:
    r"""Donsker-Varadhan: :math:`-\mathbb{E}_{p(x,y)}[c] + \log\mathbb{E}_{p(x)p(y)}[e^c]`.

    The log of a batch mean is biased: on average the estimate, minus this loss, comes out too high.
    """
    return plug_in(scores) + log_mean_exp(negatives(scores), 2)


def nwj(scores: Scores) -> Loss:
    r"""NWJ: :math:`-\mathbb{E}_{p(x,y)}[c] + \mathbb{E}_{p(x)p(y)}[e^c] - 1`, optimal at
    :math:`c = \log r`. (The paper's Table 1 prints :math:`e^{c-1}`, optimal at
    :math:`1 + \log r`.)"""
    return plug_in(scores) + saturating_exp(negatives(scores)).mean((-2, -1)) - 1


def mine(scores: Scores, log_mean: Float[Tensor, "..."]) -> Loss:
    r"""MINE: the DV loss with the denominator of its gradient replaced by a running mean.

    .. math:: -\mathbb{E}_{p(x,y)}[c]
              + \mathbb{E}_{p(x)p(y)}[e^c] / \mathrm{EMA}(\mathbb{E}_{p(x)p(y)}[e^c])

    ``log_mean`` is the log of the running mean, a constant for the gradient.
    """
    excess = log_mean_exp(negatives(scores), 2) - log_mean.detach()
    return plug_in(scores) + saturating_exp(excess)


def js(scores: Scores) -> Loss:
    r"""Jensen-Shannon (NCE):
    :math:`\mathbb{E}_{p(x,y)}[\mathrm{sp}(-c)] + \mathbb{E}_{p(x)p(y)}[\mathrm{sp}(c)]`;
    twice the anchored loss at K = nu = 1."""
    return F.softplus(-positives(scores)).mean(-1) + F.softplus(negatives(scores)).mean((-2, -1))


def clipped_dv(scores: Scores, tau: float = math.inf) -> Loss:
    r"""SMILE's evaluation: DV with :math:`e^c` clipped to :math:`[e^{-\tau}, e^\tau]` in the
    second term only. It is not a bound."""
    if not tau > 0:
        raise ValueError(f"tau={tau!r} must be > 0; scores are clipped to [-tau, tau]")
    return plug_in(scores) + log_mean_exp(negatives(scores).clamp(-tau, tau), 2)


def chi_square(scores: Scores) -> Loss:
    r"""Density-ratio fitting (DRF):
    :math:`-2\,\mathbb{E}_{p(x,y)}[e^c] + \mathbb{E}_{p(x)p(y)}[e^{2c}]`."""
    own, squares = saturating_exp(positives(scores)), saturating_exp(2 * negatives(scores))
    return squares.mean((-2, -1)) - 2 * own.mean(-1)


def chi_square_pd(ratio: Scores) -> Loss:
    r"""`chi_square` for a critic that models r itself; defined for every real r."""
    return negatives(ratio).square().mean((-2, -1)) - 2 * positives(ratio).mean(-1)


def hellinger(scores: Scores) -> Loss:
    r"""Hellinger (HD-DIME):
    :math:`\mathbb{E}_{p(x,y)}[e^{-c/2}] + \mathbb{E}_{p(x)p(y)}[e^{c/2}] - 2`."""
    own, other = saturating_exp(-positives(scores) / 2), saturating_exp(negatives(scores) / 2)
    return own.mean(-1) + other.mean((-2, -1)) - 2


def f_dime(scores: Scores, divergence: str) -> Loss:
    r"""The f-DIME family, :math:`-\mathbb{E}_{p(x,y)}[f'(r)] + \mathbb{E}_{p(x)p(y)}[f^*(f'(r))]`
    with :math:`r = e^c`: ``"kl"`` is `nwj`, ``"gan"`` is `js`, ``"hellinger"`` is `hellinger`."""
    family = {"kl": nwj, "gan": js, "hellinger": hellinger}
    return family[one_of("divergence", divergence, family)](scores)


def _rows_share(scores: Scores, contrast: str) -> Scores:
    """Scores with the points of a tuple along the last axis, the positive on the diagonal."""
    one_of("contrast", contrast, ("x", "y"))
    return scores.mT if contrast == "x" else scores


def infonce(scores: Scores, contrast: str = "x") -> Loss:
    r"""InfoNCE on tuples of K = B points:
    :math:`-\mathbb{E}\log\bigl(r(x_1,y)\big/\tfrac1K\sum_z r(x_z,y)\bigr)`."""
    _batch(scores)
    rows = _rows_share(scores, contrast)
    return (log_mean_exp(rows) - positives(rows)).mean(-1)


def alpha_infonce(scores: Scores, alpha: float, contrast: str = "x") -> Loss:
    r"""alpha-InfoNCE on tuples of K = B points:
    :math:`-\mathbb{E}\log\bigl(r(x_1)\big/(\alpha r(x_1) + \tfrac{1-\alpha}{K-1}\sum_{z\ge2}
    r(x_z))\bigr)`; ``alpha = 1/K`` is `infonce`."""
    if not 0 <= alpha < 1:
        raise ValueError(f"alpha={alpha!r} is outside [0, 1); it weights the positive in the mean")
    rows = _rows_share(scores, contrast)
    own, rest = positives(rows), log_mean_exp(negatives(rows)) + math.log1p(-alpha)
    if alpha == 0:
        return (rest - own).mean(-1)
    return (torch.logaddexp(own + math.log(alpha), rest) - own).mean(-1)


def _others(scores: Scores, count: int) -> Float[Tensor, "... b count"]:
    """For each row b the scores in columns b+1, ..., b+count (cyclically)."""
    b = scores.shape[-1]
    steps = torch.arange(1, count + 1, device=scores.device)
    columns = (torch.arange(b, device=scores.device)[:, None] + steps) % b
    return scores.gather(-1, columns.expand(*scores.shape[:-1], count))


def anchor(
    scores: Scores,
    nu: float = 1.0,
    rule: ScoringRule | None = None,
    k: int | None = None,
    contrast: str = "x",
) -> Loss:
    r"""InfoNCE-anchor for any scoring rule (paper, Section 3.1 and Eq. 4).

    .. math:: \frac{K}{K+\nu}\,\mathbb{E}[\lambda_1(\eta)] + \frac{\nu}{K+\nu}\,
              \mathbb{E}[\lambda_0(\eta)], \qquad
              \eta \propto (\nu, e^{c(x_1,y)}, \dots, e^{c(x_K,y)})

    with x_1 the partner of y in the first term and a stranger in the second. Both terms have the
    same K, by default B - 1: the first leaves out one of the B - 1 strangers. A smaller ``k`` uses
    the next strangers in the batch, for each y others; the loss stays unbiased for that K. With
    ``nu=0`` there is no class 0 and no second term, and K >= 2 is needed.
    """
    b = _batch(scores)
    k = b - 1 if k is None else whole_number(k, "k", 1)
    if k > b - 1:
        raise ValueError(f"k={k} needs at least {k + 1} pairs, but the batch has {b}")
    rows, rule = _rows_share(scores, contrast), Log() if rule is None else rule
    anchor_weight(nu, k, rule)
    own, others = positives(rows)[..., None], _others(rows, k)
    first = torch.cat([own, others[..., : k - 1]], -1)
    if nu == 0:
        return rule.loss(first.log_softmax(-1), 0).mean(-1)
    log_nu = torch.full_like(own, math.log(nu))
    with_pair = rule.loss(torch.cat([log_nu, first], -1).log_softmax(-1), 1).mean(-1)
    without = rule.loss(torch.cat([log_nu, others], -1).log_softmax(-1), 0).mean(-1)
    return (k * with_pair + nu * without) / (k + nu)


def spherical_pd(ratio: Scores, nu: float = 1.0, contrast: str = "x") -> Loss:
    r"""`anchor` with the spherical score (alpha = 2) for a critic that models r itself.

    :math:`\lambda_z = -\rho_z/(\sqrt{K+1}\,\|\rho\|_2)` with :math:`\rho = (\nu, r_1, \dots, r_K)`
    is defined for every real r; it is proper where all r are positive. K = B - 1.
    """
    b = _batch(ratio)
    if not nu > 0:
        raise ValueError(f"nu={nu!r} must be > 0: without an anchor the loss of r = 0 is undefined")
    rows = _rows_share(ratio, contrast)
    own, others = positives(rows)[..., None], _others(rows, b - 1)
    with_pair = own[..., 0] / _norm(torch.cat([own, others[..., :-1]], -1), nu)
    without = nu / _norm(others, nu)
    return -((b - 1) * with_pair + nu * without).mean(-1) / ((b - 1 + nu) * math.sqrt(b))


def _norm(ratios: Float[Tensor, "... k"], nu: float) -> Float[Tensor, "..."]:
    return torch.sqrt(ratios.square().sum(-1) + nu**2)


def _strangers(scores: Scores, count: int, skip: int) -> Float[Tensor, "... b count"]:
    """For each b, scores of ``count`` pairs (x_i, y_j) that share no index with b or each other
    (``skip=1``), or of which the first may use b (``skip=0``)."""
    b = scores.shape[-1]
    start = torch.arange(b, device=scores.device)[:, None] + skip
    step = 2 * torch.arange(count, device=scores.device)
    i, j = (start + step) % b, (start + step + 1) % b
    flat = scores.flatten(-2)
    return flat[..., (i * b + j).flatten()].unflatten(-1, (b, count))


def anchor_product(scores: Scores, nu: float = 1.0, rule: ScoringRule | None = None) -> Loss:
    r"""The alternative L^(2) (paper, Appendix A): q1 = p(x, y), q0 = p(x) p(y).

    The K points of a tuple are independent pairs, so a negative uses up two pairs of the batch and
    K = B // 2. Unlike `anchor` it ties the scale of r across y even at ``nu=0``.
    """
    k, rule = _batch(scores) // 2, Log() if rule is None else rule
    anchor_weight(nu, k, rule)
    own = positives(scores)[..., None]
    first = torch.cat([own, _strangers(scores, k - 1, 1)], -1)
    if nu == 0:
        return rule.loss(first.log_softmax(-1), 0).mean(-1)
    log_nu = torch.full_like(own, math.log(nu))
    others = _strangers(scores, k, 0)
    with_pair = rule.loss(torch.cat([log_nu, first], -1).log_softmax(-1), 1).mean(-1)
    without = rule.loss(torch.cat([log_nu, others], -1).log_softmax(-1), 0).mean(-1)
    return (k * with_pair + nu * without) / (k + nu)


def ml_infonce(scores: Scores, m: int, k: int) -> Loss:
    r"""Multi-label InfoNCE with m positives and m (k - 1) negatives from p(x) p(y).

    .. math:: -\mathbb{E}\,\frac1m\sum_w\log\frac{mk\,r_w}{\sum_{w'} r_{w'} + \sum r_{\text{neg}}}

    Negatives are pairs that share no index with each other or a positive, so m + 2 m (k - 1)
    pairs are needed; the first m of each cyclic shift of the batch are the positives.
    """
    m, k = whole_number(m, "m", 1), whole_number(k, "k", 1)
    b = _batch(scores, max(2, m + 2 * m * (k - 1)))
    shift = torch.arange(b, device=scores.device)[:, None]
    place = torch.arange(m, device=scores.device)
    own = positives(scores)[..., (shift + place) % b]
    first = own if k == 1 else torch.cat([own, _strangers(scores, m * (k - 1), m)], -1)
    return (log_mean_exp(first) - own.mean(-1)).mean(-1)
