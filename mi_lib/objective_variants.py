r"""Relatives of the objectives of Table 1: other tuples, and critics that model r itself.

Pure functions of a score matrix, as in `objectives`.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from .objectives import (
    Loss,
    Scores,
    hellinger,
    js,
    log_mean_exp,
    negatives,
    next_negatives,
    nwj,
    pairs_of,
    positives,
    rows_of,
    two_terms,
)
from .scoring import Log, ScoringRule
from .validate import anchor_weight, one_of, whole_number


def chi_square_pd(ratio: Scores) -> Loss:
    r"""`chi_square` for a critic that models r itself; defined for every real r."""
    return negatives(ratio).square().mean((-2, -1)) - 2 * positives(ratio).mean(-1)


def f_dime(scores: Scores, divergence: str) -> Loss:
    r"""The f-DIME family, :math:`-\mathbb{E}_{p(x,y)}[f'(r)] + \mathbb{E}_{p(x)p(y)}[f^*(f'(r))]`
    with :math:`r = e^c`: ``"kl"`` is `nwj`, ``"gan"`` is `js`, ``"hellinger"`` is `hellinger`."""
    family = {"kl": nwj, "gan": js, "hellinger": hellinger}
    return family[one_of("divergence", divergence, family)](scores)


def alpha_infonce(scores: Scores, alpha: float, contrast: str = "x") -> Loss:
    r"""alpha-InfoNCE on tuples of K = B points:
    :math:`-\mathbb{E}\log\bigl(r(x_1)\big/(\alpha r(x_1) + \tfrac{1-\alpha}{K-1}\sum_{z\ge2}
    r(x_z))\bigr)`; ``alpha = 1/K`` is `infonce`."""
    if not 0 <= alpha < 1:
        raise ValueError(f"alpha={alpha!r} is outside [0, 1); it weights the positive in the mean")
    pairs_of(scores)
    rows = rows_of(scores, one_of("contrast", contrast, ("x", "y")))
    own, rest = positives(rows), log_mean_exp(negatives(rows)) + math.log1p(-alpha)
    if alpha == 0:
        return (rest - own).mean(-1)
    return (torch.logaddexp(own + math.log(alpha), rest) - own).mean(-1)


def spherical_pd(ratio: Scores, nu: float = 1.0, contrast: str = "x") -> Loss:
    r"""`anchor` with the spherical score (alpha = 2) for a critic that models r itself.

    :math:`\lambda_z = -\rho_z/(\sqrt{K+1}\,\|\rho\|_2)` with :math:`\rho = (\nu, r_1, \dots, r_K)`
    is defined for every real r; it is proper where all r are positive. K = B - 1.
    """
    b = pairs_of(ratio)
    if not nu > 0:
        raise ValueError(f"nu={nu!r} must be > 0: without an anchor the loss of r = 0 is undefined")
    rows = rows_of(ratio, one_of("contrast", contrast, ("x", "y")))
    own, others = positives(rows)[..., None], next_negatives(rows, b - 1)
    with_pair = own[..., 0] / _norm(torch.cat([own, others[..., :-1]], -1), nu)
    without = nu / _norm(others, nu)
    return -((b - 1) * with_pair + nu * without).mean(-1) / ((b - 1 + nu) * math.sqrt(b))


def _norm(ratios: Float[Tensor, "... k"], nu: float) -> Float[Tensor, "..."]:
    return torch.sqrt(ratios.square().sum(-1) + nu**2)


def _independent(scores: Scores, count: int, skip: int) -> Float[Tensor, "... b count"]:
    """For each b, scores of ``count`` negatives (x_i, y_j) that share no index with b or each other
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
    k, rule = pairs_of(scores) // 2, Log() if rule is None else rule
    anchor_weight(nu, k, rule)
    own, rest = positives(scores)[..., None], _independent(scores, k - 1, 1)
    return two_terms(own, rest, _independent(scores, k, 0), nu, rule, k)


def ml_infonce(scores: Scores, m: int, k: int) -> Loss:
    r"""Multi-label InfoNCE with m positives and m (k - 1) negatives from p(x) p(y).

    .. math:: -\mathbb{E}\,\frac1m\sum_w\log\frac{mk\,r_w}{\sum_{w'} r_{w'} + \sum r_{\text{neg}}}

    Negatives are pairs that share no index with each other or a positive, so m + 2 m (k - 1)
    pairs are needed; the first m of each cyclic shift of the batch are the positives.
    """
    m, k = whole_number(m, "m", 1), whole_number(k, "k", 1)
    b = pairs_of(scores, max(2, m + 2 * m * (k - 1)))
    shift = torch.arange(b, device=scores.device)[:, None]
    place = torch.arange(m, device=scores.device)
    own = positives(scores)[..., (shift + place) % b]
    first = own if k == 1 else torch.cat([own, _independent(scores, m * (k - 1), m)], -1)
    return (log_mean_exp(first) - own.mean(-1)).mean(-1)
