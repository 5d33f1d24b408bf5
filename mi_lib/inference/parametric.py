r"""Parametric log ratios: what the network is added to, and what it must beat.

With :math:`u, v` the whitened x and y in canonical directions, :math:`\rho_k` their correlations,
:math:`q_x = |u|^2`, :math:`q_y = |v|^2` and
:math:`q = q_x + q_y + \sum_k \frac{\rho_k^2(u_k^2+v_k^2) - 2\rho_k u_k v_k}{1-\rho_k^2}`, the
Student copula with :math:`\nu` degrees of freedom has

.. math:: \log r = C - \tfrac12\sum_k\log(1-\rho_k^2) - \tfrac{\nu+d_x+d_y}{2}\log(1+\tfrac q\nu)
          + \tfrac{\nu+d_x}{2}\log(1+\tfrac{q_x}\nu) + \tfrac{\nu+d_y}{2}\log(1+\tfrac{q_y}\nu).

A very large :math:`\nu` is the Gaussian copula. A table of counts, and a Gaussian for each symbol,
have the same form with q linear. So every parametric ratio is
:math:`A(x) + B(y) + \phi(\alpha(x) + \beta(y) - 2\,s(x)\cdot t(y))`: all pairs of a batch cost one
matrix product.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float, Int
from scipy import special, stats
from torch import Tensor

GAUSSIAN = 1e6  # degrees of freedom that stand for infinitely many
FREEDOMS = (1.0, 2.0, 3.0, 5.0, 8.0, 16.0)
LARGEST = 0.99999  # of a canonical correlation
MOST_CELLS = 400  # symbols of one side of a table of counts
JUDGED = 500  # validation pairs that judge a candidate


@dataclass(frozen=True)
class Side:
    """One side of a ratio at given points: s, the part of q that is its own, and A."""

    s: Float[np.ndarray, "n k"]
    own: Float[np.ndarray, " n"]
    alone: Float[np.ndarray, " n"]


@dataclass(frozen=True)
class CopulaRatio:
    """The log ratio of a Gaussian or Student copula. ``x_map`` and ``y_map`` whiten; ``rho`` are
    correlations."""

    x_map: Float[np.ndarray, "dx k"]
    y_map: Float[np.ndarray, "dy k"]
    rho: Float[np.ndarray, " k"]
    x_white: Float[np.ndarray, "dx dx"]
    y_white: Float[np.ndarray, "dy dy"]
    freedom: float

    def side(self, z: Float[np.ndarray, "n d"], which: str) -> Side:
        """What the ratio needs to know of points on one side."""
        directions = self.x_map if which == "x" else self.y_map
        white = self.x_white if which == "x" else self.y_white
        dims = len(self.x_white), len(self.y_white)
        nu, rest = self.freedom, 1 - self.rho**2
        if nu != GAUSSIAN:
            z = student_score(z, nu)
        u, length = z @ directions, ((z @ white) ** 2).sum(1)
        scale = self.rho / rest
        s = u * np.sign(scale) * np.sqrt(np.abs(scale)) if which == "x" else u * np.sqrt(abs(scale))
        own = length + (u**2 * (self.rho**2 / rest)).sum(1)
        d = dims[0] if which == "x" else dims[1]
        half = [(nu + k) / 2 for k in (0, sum(dims), d)]
        # C and the determinant are shared by the two sides, half each.
        shared = special.gammaln(half[0]) / 2 + special.gammaln(half[1]) / 2
        shared -= np.log(rest).sum() / 4 + special.gammaln(half[2])
        return Side(s, own, shared + half[2] * np.log1p(length / nu))

    @property
    def weight(self) -> float:
        """(nu + d_x + d_y) / 2, the factor of the logarithm of q."""
        return (self.freedom + len(self.x_white) + len(self.y_white)) / 2


@dataclass(frozen=True)
class CountRatio:
    """The log ratio of smoothed counts of two alphabets."""

    table: Float[np.ndarray, "k l"]

    freedom = GAUSSIAN
    weight = GAUSSIAN / 2

    def side(self, codes: Int[np.ndarray, " n"], which: str) -> Side:
        """x gives its row of the table, y its indicator."""
        zero = np.zeros(len(codes))
        s = self.table[codes] if which == "x" else np.eye(self.table.shape[1])[codes]
        return Side(s, zero, zero)


@dataclass(frozen=True)
class ClassRatio:
    r"""One side symbols, the other a Gaussian for each symbol:
    :math:`\log r = \log N(z; \mu_k, \Sigma_k) - \log\sum_j p_j N(z; \mu_j, \Sigma_j)`."""

    centres: Float[np.ndarray, "k d"]
    whites: Float[np.ndarray, "k d d"]
    log_shares: Float[np.ndarray, " k"]
    symbol_side: str  # "x" or "y"

    freedom = GAUSSIAN
    weight = GAUSSIAN / 2

    def side(self, values: np.ndarray, which: str) -> Side:
        """The symbols give their indicator, the other side its log ratio with each symbol."""
        zero = np.zeros(len(values))
        if which == self.symbol_side:
            return Side(np.eye(len(self.centres))[values], zero, zero)
        inside = [
            np.linalg.slogdet(white)[1] - 0.5 * (((values - centre) @ white) ** 2).sum(1)
            for centre, white in zip(self.centres, self.whites, strict=True)
        ]
        log = np.stack(inside, 1)
        whole = special.logsumexp(log + self.log_shares, axis=1, keepdims=True)
        return Side(log - whole, zero, zero)


def class_ratios(
    z: Float[np.ndarray, "t d"], codes: Int[np.ndarray, " t"], size: int, symbol_side: str
) -> list[ClassRatio]:
    """Symbols with one common covariance, and with one each, pulled towards the common one."""
    counts = np.bincount(codes, minlength=size)
    centres = np.stack([z[codes == k].sum(0) / (counts[k] + 1) for k in range(size)])
    left = z - centres[codes]
    pooled = _shrunk(left)[0]
    pull = 2 * (z.shape[1] + 1)
    own = [
        (left[codes == k].T @ left[codes == k] + pull * pooled) / (counts[k] + pull)
        for k in range(size)
    ]
    log_shares = np.log((counts + 0.5) / (counts + 0.5).sum())
    whites = np.stack([_whiten(pooled)] * size), np.stack([_whiten(matrix) for matrix in own])
    return [ClassRatio(centres, white, log_shares, symbol_side) for white in whites]


def student_score(z: np.ndarray, freedom: float) -> np.ndarray:
    """The Student quantile at the probability of a normal score."""
    tail = stats.t.isf(special.ndtr(-np.abs(z)), freedom)
    return np.sign(z) * tail


def pair_scores(x: Side, y: Side, freedom: float, weight: float) -> Float[np.ndarray, "n m"]:
    """The ratio at every x with every y."""
    q = x.own[:, None] + y.own[None, :] - 2 * x.s @ y.s.T
    return x.alone[:, None] + y.alone[None, :] - weight * np.log1p(q / freedom)


def _whiten(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return vectors / np.sqrt(np.maximum(values, 1e-6)) @ vectors.T


def _shrunk(z: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, float]:
    """Second moments, pulled towards the unit matrix as Ledoit and Wolf pull them; and how far."""
    from sklearn.covariance import ledoit_wolf_shrinkage

    n, d = z.shape
    moments, pull = z.T @ z / n, max(ledoit_wolf_shrinkage(z, assume_centered=True), 1e-6)
    return (1 - pull) * moments + pull * np.trace(moments) / d * np.eye(d), pull


def copula_ratios(
    zx: Float[np.ndarray, "t dx"], zy: Float[np.ndarray, "t dy"]
) -> dict[str, CopulaRatio]:
    """Three estimates of the cross-correlations: all, the large canonical, the large single."""
    n, dx, dy = len(zx), zx.shape[1], zy.shape[1]
    white_x, white_y = (_whiten(_shrunk(z)[0]) for z in (zx, zy))
    cross = zx.T @ zy / n
    scale = np.sqrt(np.outer((zx**2).mean(0), (zy**2).mean(0)))
    kept = np.where(np.abs(cross) > scale * math.sqrt(2 * math.log(dx * dy + 2) / n), cross, 0)
    cx, cy = min(dx / n, 0.5), min(dy / n, 0.5)
    edge = (math.sqrt(cx * (1 - cy)) + math.sqrt(cy * (1 - cx))) ** 2
    found = {}
    for name, matrix in (("all", cross), ("single", kept)):
        left, rho, right = np.linalg.svd(white_x @ matrix @ white_y, full_matrices=False)
        found[name] = (left, np.minimum(rho, LARGEST), right)
    left, rho, right = found["all"]
    bias = min(cx + cy, 0.9)
    found["canonical"] = (
        left,
        np.sqrt(np.where(rho**2 > edge, np.maximum(rho**2 - bias, 0) / (1 - bias), 0)),
        right,
    )
    ratios = {}
    for name, (left, rho, right) in found.items():
        k = max(1, int((rho > 1e-9).sum()))
        ratios[name] = CopulaRatio(
            white_x @ left[:, :k], white_y @ right[:k].T, rho[:k], white_x, white_y, GAUSSIAN
        )
    return ratios


def judge(x: Side, y: Side, ratio: "ParametricRatio") -> float:
    """The logistic score of the ratio on validation pairs; the smaller the better."""
    scores = torch.from_numpy(pair_scores(x, y, ratio.freedom, ratio.weight))
    n = len(scores)
    own = scores.diagonal()
    others = (F.softplus(scores).sum() - F.softplus(own).sum()) / (n * (n - 1))
    return float(F.softplus(-own).mean() + others)


def choose(
    zx: np.ndarray, zy: np.ndarray, training: np.ndarray, validation: np.ndarray, tails: bool
) -> CopulaRatio:
    """The copula with the best validation score; Student tails are tried where ``tails``."""
    validation = validation[:JUDGED]

    def score(ratio: CopulaRatio) -> float:
        sides = ratio.side(zx[validation], "x"), ratio.side(zy[validation], "y")
        return judge(*sides, ratio)

    ratios = list(copula_ratios(zx[training], zy[training]).values())
    best = min(ratios, key=score)
    if tails:
        others = [CopulaRatio(**{**vars(best), "freedom": nu}) for nu in FREEDOMS]
        best = min([best, *others], key=score)
    return best


def count_ratio(
    x: np.ndarray, y: np.ndarray, sizes: tuple[int, int], training: np.ndarray
) -> CountRatio:
    """Smoothed counts of the training pairs: as many pseudo-pairs as there are cells, halved,
    spread as if the sides were independent."""
    joint = np.bincount(x[training] * sizes[1] + y[training], minlength=sizes[0] * sizes[1])
    joint = joint.reshape(sizes).astype(float)
    margins = joint.sum(1) + 0.5, joint.sum(0) + 0.5
    expected = np.outer(margins[0] / margins[0].sum(), margins[1] / margins[1].sum())
    prior = joint.size / 2
    return CountRatio(np.log((joint + prior * expected) / (len(training) + prior) / expected))


ParametricRatio = CopulaRatio | CountRatio | ClassRatio


def stacked(sides: list[Side], device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """The sides of all splits as three tensors, s padded with zeros to one width."""
    width = max(side.s.shape[1] for side in sides)
    s = np.stack([np.pad(side.s, ((0, 0), (0, width - side.s.shape[1]))) for side in sides])
    parts = s, np.stack([side.own for side in sides]), np.stack([side.alone for side in sides])
    return tuple(torch.from_numpy(part).float().to(device) for part in parts)
