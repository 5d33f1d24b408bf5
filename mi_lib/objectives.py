r"""Training objectives: pure functions of a score matrix, losses in nats.

``scores[..., i, j] = c(x_i, y_j)`` for a batch of B pairs, positives on the diagonal; leading
dimensions (seeds, say) are carried through, and each function returns a loss of that shape. The
critic models the log ratio, :math:`c = \log r`, :math:`r \approx p(x,y)/(p(x)p(y))` (the PMI
parameterisation); `objective_variants` has two for a critic that models r itself.

A tuple of K points shares one side: with ``contrast="x"`` (the paper's L^(1)) the negatives are
other x's for the same y, with ``contrast="y"`` other y's for the same x, and ``"both"`` is the mean
of the two losses. InfoNCE and InfoNCE-anchor also take scores that are not square: with
``contrast="y"`` a matrix ``[..., b, n]`` whose columns beyond b are more negatives (a queue, say),
with ``contrast="x"`` a matrix ``[..., n, b]``.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor

from .scoring import Log, ScoringRule, saturating_exp
from .validate import anchor_weight, one_of, whole_number

CONTRASTS = ("x", "y", "both")
Scores = Float[Tensor, "... b b"]
Rows = Float[Tensor, "... b n"]
Loss = Float[Tensor, "..."]


def pairs_of(scores: Scores, at_least: int = 2) -> int:
    """The number of pairs, after a look at the shape."""
    if scores.ndim < 2 or scores.shape[-1] != scores.shape[-2]:
        raise ValueError(
            f"scores have shape {tuple(scores.shape)}; pass a square matrix of critic values, "
            "scores[..., i, j] = c(x_i, y_j)"
        )
    return _points(scores, at_least)


def _points(rows: Rows, at_least: int = 2) -> int:
    """The number of points in a row, after a look at type and size."""
    if not rows.dtype.is_floating_point:
        raise ValueError(f"scores have dtype {rows.dtype}; pass floating-point critic values")
    if rows.shape[-1] < at_least:
        raise ValueError(f"{rows.shape[-1]} pairs are too few here; pass at least {at_least}")
    return rows.shape[-1]


def positives(scores: Rows) -> Float[Tensor, "... b"]:
    """The scores of the pairs that were drawn together: the diagonal."""
    return scores.diagonal(dim1=-2, dim2=-1)


def negatives(scores: Scores) -> Float[Tensor, "... b b-1"]:
    """The scores of all other combinations, row by row: row i holds c(x_i, y_j), j != i."""
    b = pairs_of(scores)
    flat = scores.flatten(-2)[..., 1:].unflatten(-1, (b - 1, b + 1))
    return flat[..., :-1].flatten(-2).unflatten(-1, (b, b - 1))


def log_mean_exp(values: Float[Tensor, "..."], dims: int = 1) -> Float[Tensor, "..."]:
    """log of the mean of exp over the last ``dims`` axes."""
    flat = values.flatten(-dims)
    return torch.logsumexp(flat, -1) - math.log(flat.shape[-1])


def plug_in(scores: Scores) -> Loss:
    r"""Minus the plug-in estimate :math:`\mathbb{E}_{p(x,y)}[c]`: an evaluation, not a loss to
    train on (it has no minimum)."""
    pairs_of(scores, 1)
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


def hellinger(scores: Scores) -> Loss:
    r"""Hellinger (HD-DIME):
    :math:`\mathbb{E}_{p(x,y)}[e^{-c/2}] + \mathbb{E}_{p(x)p(y)}[e^{c/2}] - 2`."""
    own, other = saturating_exp(-positives(scores) / 2), saturating_exp(negatives(scores) / 2)
    return own.mean(-1) + other.mean((-2, -1)) - 2


def rows_of(scores: Rows, contrast: str) -> Rows:
    """Scores with the points of a tuple along the last axis, the positive on the diagonal."""
    if scores.ndim < 2:
        raise ValueError(
            f"scores have shape {tuple(scores.shape)}; pass a matrix of critic values, "
            "scores[..., i, j] = c(x_i, y_j)"
        )
    rows = scores.mT if contrast == "x" else scores
    b, n = rows.shape[-2:]
    if b > n or (contrast == "both" and b != n):
        wanted = {"x": "no fewer rows than", "y": "no more rows than", "both": "as many rows as"}
        raise ValueError(
            f"scores have shape {tuple(scores.shape)}; contrast={contrast!r} needs "
            f"{wanted[contrast]} columns, with the positives on the diagonal"
        )
    return rows


def _each_way(loss: Callable[[str], Loss], contrast: str) -> Loss:
    """The loss in one direction, or the mean of both."""
    if one_of("contrast", contrast, CONTRASTS) == "both":
        return (loss("x") + loss("y")) / 2
    return loss(contrast)


def infonce(scores: Rows, contrast: str = "x") -> Loss:
    r"""InfoNCE on tuples of K points, all of a row (of B pairs, K = B):
    :math:`-\mathbb{E}\log\bigl(r(x_1,y)\big/\tfrac1K\sum_z r(x_z,y)\bigr)`."""

    def one_way(contrast: str) -> Loss:
        rows = rows_of(scores, contrast)
        _points(rows)
        return (log_mean_exp(rows) - positives(rows)).mean(-1)

    rows_of(scores, contrast)
    return _each_way(one_way, contrast)


def next_negatives(rows: Rows, count: int) -> Float[Tensor, "... b count"]:
    """For each row b the scores in columns b+1, ..., b+count (cyclically)."""
    b, n = rows.shape[-2:]
    steps = torch.arange(1, count + 1, device=rows.device)
    columns = (torch.arange(b, device=rows.device)[:, None] + steps) % n
    return rows.gather(-1, columns.expand(*rows.shape[:-1], count))


def anchor(
    scores: Rows,
    nu: float | str | Tensor = 1.0,
    rule: ScoringRule | None = None,
    k: int | None = None,
    contrast: str = "x",
) -> Loss:
    r"""InfoNCE-anchor for any scoring rule (paper, Section 3.1 and Eq. 4).

    .. math:: \frac{K}{K+\nu}\,\mathbb{E}[\lambda_1(\eta)] + \frac{\nu}{K+\nu}\,
              \mathbb{E}[\lambda_0(\eta)], \qquad
              \eta \propto (\nu, e^{c(x_1,y)}, \dots, e^{c(x_K,y)})

    with x_1 the partner of y in the first term and a negative in the second. Both terms have the
    same K, by default one less than the points of a row (B - 1 of B pairs): the first leaves one of
    the negatives out. A smaller ``k`` uses the next negatives in the batch, for each y others; the
    loss stays unbiased for that K. ``nu="k"`` is nu = K; a tensor ``nu`` keeps its gradient. With
    ``nu=0`` there is no class 0 and no second term, and K >= 2 is needed.
    """
    rule = Log() if rule is None else rule
    rows_of(scores, one_of("contrast", contrast, CONTRASTS))

    def one_way(contrast: str) -> Loss:
        rows = rows_of(scores, contrast)
        n = _points(rows)
        size = n - 1 if k is None else whole_number(k, "k", 1)
        if size > n - 1:
            raise ValueError(f"k={size} needs at least {size + 1} pairs, but the batch has {n}")
        weight = anchor_weight(size if isinstance(nu, str) and nu == "k" else nu, size, rule)
        return _anchored(rows, weight, rule, size)

    return _each_way(one_way, contrast)


def _anchored(rows: Rows, nu: float | Tensor, rule: ScoringRule, k: int) -> Loss:
    own, others = positives(rows)[..., None], next_negatives(rows, k)
    return two_terms(own, others[..., : k - 1], others, nu, rule, k)


def two_terms(
    own: Tensor, rest: Tensor, others: Tensor, nu: Any, rule: ScoringRule, k: int
) -> Loss:
    """The anchored loss of the tuples (own, rest) with a pair and (others) without."""
    first = torch.cat([own, rest], -1)
    if not isinstance(nu, Tensor) and nu == 0:
        return rule.loss(first.log_softmax(-1), 0).mean(-1)
    nu = nu.to(own) if isinstance(nu, Tensor) else nu
    log_nu = _log_like(own, nu)
    with_pair = rule.loss(torch.cat([log_nu, first], -1).log_softmax(-1), 1).mean(-1)
    without = rule.loss(torch.cat([log_nu, others], -1).log_softmax(-1), 0).mean(-1)
    return (k * with_pair + nu * without) / (k + nu)


def _log_like(own: Float[Tensor, "... b 1"], nu: float | Tensor) -> Float[Tensor, "... b 1"]:
    """log nu beside each score; of a tensor with its gradient, one nu for each leading index."""
    if isinstance(nu, Tensor):
        return nu.log()[..., None, None].expand_as(own)
    return torch.full_like(own, math.log(nu))
