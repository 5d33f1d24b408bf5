r"""How the anchor holds the scale C of r = C r*: curvature, variance, and where a misfit lands.

S = r(x_1) + ... + r(x_K) for the critic and S* for the true ratio; E_0 is the mean over q0^K and
E_1 the mean over class 1, E_1[f] = E_0[f S*/K] for symmetric f. Under the loss's own mixture of
classes E[f] = E_0[f (nu + S*)/(K + nu)].
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from mi_lib.alphabet import Alphabet


def tuple_sums(
    r: Sequence[float], q1: np.ndarray, q0: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """S, S* and the probability under q0^K of all tuples of K symbols."""
    symbols = Alphabet(q1, q0, np.asarray(r, float))
    counts, chance = symbols.draws(symbols.q0, k)
    return counts @ symbols.r, counts @ Alphabet(q1, q0).r, chance


def curvature(q1: np.ndarray, q0: np.ndarray, k: int, nu: float) -> float:
    """Second derivative of the loss in log C at C = 1: nu/(K + nu) E_0[S/(nu + S)].

    >>> round(curvature((0.5, 0.5), (0.5, 0.5), 255, 1.0) * 257, 4)
    1.0
    """
    q1, q0 = np.asarray(q1, float), np.asarray(q0, float)
    s, _, chance = tuple_sums(Alphabet(q1, q0).r, q1, q0, k)
    return float(nu / (k + nu) * (chance @ (s / (nu + s))))


def curvature_bound(k: int, nu: float) -> float:
    """The largest curvature, attained at q1 = q0: nu K/(K + nu)^2."""
    return nu * k / (k + nu) ** 2


# Variance of a fitted scale: one positive and K negatives a row.


@dataclass(frozen=True)
class Rows:
    """A row: S' of K - 1 negatives with its chances; r at the positive and at the K-th negative."""

    k: int
    rest: np.ndarray
    chance: np.ndarray
    own: tuple[np.ndarray, np.ndarray]  # values of r under q1 and their weights
    other: tuple[np.ndarray, np.ndarray]  # values of r under q0 and their weights

    def scale_variance(self, nu: float) -> dict[str, float]:
        """n Var(log C) of the scale fitted to n rows, to first order, for three ways to sample.

        ``likelihood``: n tuples with their class drawn at random, 1/curvature. ``fresh``: both
        terms of the loss for each row, with negatives of their own. ``shared``: both terms with
        the same K - 1 negatives, as in a row of the paper's minibatch.
        """
        k, bend, centred, weights = self.k, 0.0, [], []
        for (r, p), weight in ((self.own, self.k), (self.other, nu)):
            total = self.rest[:, None] + r
            bend += weight / (k + nu) * (self.chance @ (nu * total / (nu + total) ** 2) @ p)
            hit = total / (nu + total)  # 1 - p0
            centred.append(weight / (k + nu) * (hit - self.chance @ hit @ p))
            weights.append(p)
        fresh = sum(self.chance @ d**2 @ w for d, w in zip(centred, weights, strict=True))
        (own, other), (p1, p0) = centred, weights
        tie = 2 * (self.chance @ ((own @ p1) * (other @ p0)))
        return {
            "likelihood": float(1 / bend),
            "fresh": float(fresh / bend**2),
            "shared": float((fresh + tie) / bend**2),
        }


def finite_rows(q1: Sequence[float], q0: Sequence[float], k: int) -> Rows:
    """Rows for a pair on a finite alphabet."""
    symbols = Alphabet(np.asarray(q1, float), np.asarray(q0, float))
    counts, chance = symbols.draws(symbols.q0, k - 1)
    r = symbols.r
    return Rows(k, counts @ r, chance, (r, symbols.q1), (r, symbols.q0))


def gaussian_rows(shift: float, k: int, step: float = 0.02, top: float = 1200.0) -> Rows:
    """Rows for q1 = N(shift, 1), q0 = N(0, 1): S' on a grid, by Fourier transform."""
    x = np.linspace(-9, 9, 100_001)
    mass = np.exp(-(x**2) / 2)
    mass /= mass.sum()
    place = np.exp(shift * x - shift**2 / 2) / step
    low = np.minimum(place.astype(int), int(top / step) - 2)
    up = mass * np.minimum(place - low, 1.0)  # split between neighbours so that the mean is kept
    one = np.bincount(low, mass - up, int(top / step)) + np.bincount(low + 1, up, int(top / step))
    chance = np.maximum(np.fft.irfft(np.fft.rfft(one) ** (k - 1), len(one)), 0.0)
    kept = chance > 1e-13
    node, weight = np.polynomial.hermite_e.hermegauss(40)
    weight = weight / weight.sum()
    own, other = (np.exp(shift * (node + s) - shift**2 / 2) for s in (shift, 0.0))
    grid = step * np.arange(len(one))
    return Rows(k, grid[kept], chance[kept], (own, weight), (other, weight))


def simulated_variance(rows: Rows, nu: float, n: int, repeats: int, seed: int) -> float:
    """n Var(log C) over repeated fits of log C to n random rows with shared negatives."""
    rng = np.random.default_rng(seed)
    (own, p1), (other, p0) = rows.own, rows.other
    joint = rows.chance[:, None, None] * p1[:, None] * p0
    first = (rows.rest[:, None, None] + own[:, None] + 0 * other).ravel()
    second = (rows.rest[:, None, None] + 0 * own[:, None] + other).ravel()
    share = rng.multinomial(n, joint.ravel() / joint.sum(), repeats) / n
    used = share.any(0)
    share, first, second = share[:, used], first[used], second[used]
    t, w1, w0 = np.zeros(repeats), rows.k / (rows.k + nu), nu / (rows.k + nu)
    for _ in range(50):
        a, b = (nu / (nu + np.exp(t)[:, None] * s) for s in (first, second))
        slope = (share * (w0 * (1 - b) - w1 * a)).sum(1)
        t -= slope / (share * (w1 * a * (1 - a) + w0 * b * (1 - b))).sum(1)
    return float(n * t.var())


# The paper's minibatch: the rows share their negatives with each other, too.


@dataclass(frozen=True)
class TwoRows:
    """A case for two rows: its probability, p(x), and for each row p(x | y) and r(x, y)."""

    weight: float
    q0: np.ndarray
    one: tuple[np.ndarray, np.ndarray]
    two: tuple[np.ndarray, np.ndarray]


def channel(symbols: int, error: float) -> list[TwoRows]:
    """Uniform y, and x = y except with probability ``error``, when x is any other symbol.

    Two rows see only whether an x equals the one y, the other, or neither.
    """
    m, off = symbols, error / (symbols - 1)
    same = np.array([1 - error, 0.0, error]), np.array([m * (1 - error), 1.0, m * off])
    one = np.array([1 - error, off, (m - 2) * off]), m * np.array([1 - error, off, off])
    two = one[0][[1, 0, 2]], one[1][[1, 0, 2]]
    return [
        TwoRows(1 / m, np.array([1.0, 0.0, m - 1]) / m, same, same),
        TwoRows(1 - 1 / m, np.array([1.0, 1.0, m - 2]) / m, one, two),
    ]


def channel_joint(symbols: int, error: float) -> np.ndarray:
    """The joint distribution p[x, y] of `channel`."""
    off = error / (symbols - 1)
    return (off + (1 - error - off) * np.eye(symbols)) / symbols


def swap_covariance(joint: np.ndarray) -> float:
    """Cov(r(x_1, y_2), r(x_2, y_1)) for two independent pairs and the true ratio r."""
    mixed = joint.T @ (joint / np.outer(joint.sum(1), joint.sum(0)))
    return float((mixed * mixed.T).sum() - 1)


def batch_variance(cases: Iterable[TwoRows], b: int, nu: float) -> float:
    """n Var(log C) for the scale fitted to n pairs in batches of B (exact to first order).

    The score of a batch is a mean of B rows that are alike. Row i uses every x: its own, the one
    it leaves out (that of row i - 1), and the rest; so three second moments are enough: of a row
    with itself, with a neighbour, and with any other.
    """
    k = b - 1
    w1, w0 = k / (k + nu), nu / (k + nu)
    square = near = far = bend = 0.0
    for case in cases:
        (p, r), (q, s) = case.one, case.two

        def score(total, own, left_out, r, nu=nu):
            first, second = total - r[left_out], total - r[own]
            return w0 * (1 - nu / (nu + second)) - w1 * nu / (nu + first)

        c, x, w = _draws(case, [p, case.q0], b)
        total = c @ r
        square += case.weight * (w * score(total, x[0], x[1], r) ** 2).sum()
        first, second = nu / (nu + total - r[x[1]]), nu / (nu + total - r[x[0]])
        spread = w1 * first * (1 - first) + w0 * second * (1 - second)
        bend += case.weight * (w * spread).sum()
        c, x, w = _draws(case, [p, q, case.q0], b)  # rows 1 and 2; row 2 leaves out x_1
        pair = score(c @ r, x[0], x[2], r) * score(c @ s, x[1], x[0], s)
        near += case.weight * (w * pair).sum()
        c, x, w = _draws(case, [p, q, case.q0, case.q0], b)
        pair = score(c @ r, x[0], x[2], r) * score(c @ s, x[1], x[3], s)
        far += case.weight * (w * pair).sum()
    return float((square + 2 * near + (b - 3) * far) / bend**2)


def _draws(case: TwoRows, first: list[np.ndarray], b: int) -> tuple[np.ndarray, ...]:
    """All batches of B x's, the first of them by ``first`` and the rest by q0: counts of the whole
    batch, the symbols of the first ones (one row each), and probabilities."""
    rest, chance = Alphabet(case.q0, case.q0).draws(case.q0, b - len(first))
    rest, chance = rest[chance > 0], chance[chance > 0]
    x = np.indices([len(case.q0)] * len(first)).reshape(len(first), -1)
    weight = np.prod([p[i] for p, i in zip(first, x, strict=True)], 0)
    x, weight = x[:, weight > 0], weight[weight > 0]
    counts = rest[:, None, :] + np.eye(len(case.q0))[x].sum(0)
    return counts, x, chance[:, None] * weight


# Where the scale of a critic with the wrong shape lands.


def fitted_scale(r: Sequence[float], q1: np.ndarray, q0: np.ndarray, k: int, nu: float) -> float:
    """The C that minimises the loss of C r: the root of E_0[(S* - C S)/(nu + C S)].

    >>> round(fitted_scale((0.5, 3.0), np.array([0.1, 0.9]), np.array([0.4, 0.6]), 4, 1.0), 4)
    0.5
    """
    s, true, chance = tuple_sums(r, q1, q0, k)

    def slope(log_c: float) -> float:
        scaled = np.exp(log_c) * s
        return chance @ ((true - scaled) / (nu + scaled))

    return float(np.exp(brentq(slope, -60, 60, xtol=1e-13)))


def scale_limits(r: Sequence[float], q1: np.ndarray, q0: np.ndarray, k: int) -> tuple[float, float]:
    """C as nu -> 0, E_1[K/S] = E_0[S*/S], and as nu -> infinity, 1/E_q0[r]."""
    s, true, chance = tuple_sums(r, q1, q0, k)
    return float(chance @ (true / s)), float(1 / (np.asarray(q0) @ np.asarray(r, float)))


def scale_path(
    r: np.ndarray, q1: np.ndarray, q0: np.ndarray, k: int, weights: Iterable[float]
) -> pd.DataFrame:
    """For each nu the fitted scale C, the plug-in value E_q1[log C r] and the DV value, in bits."""
    mean = float(q1 @ np.log2(r))
    rows = [(nu, fitted_scale(r, q1, q0, k, nu)) for nu in weights]
    table = pd.DataFrame(rows, columns=["nu", "C"])
    table["plug-in"] = mean + np.log2(table["C"])
    table["DV"] = mean - np.log2(q0 @ r)
    return table
