"""For which alpha and K alpha-InfoNCE can exceed the divergence: what the map is drawn from.

Distributions and critics are arrays, one entry a symbol. ``s`` is what the logarithm is taken of,
r(x_1)/(alpha r(x_1) + (1 - alpha) mean of r over the K - 1 negatives).
"""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp, softmax

from mi_lib.alphabet import Alphabet

from .adversary import binomial_pmf

_LN2 = math.log(2)


def largest_excess(r: np.ndarray, q0: np.ndarray, k: int, alpha: float) -> float:
    """The largest alpha-InfoNCE value minus D, in bits, over all q1, at a critic r and q0.

    V - D = E_q1[f] - D(q1 || q0) with f(x) = E[log s | x_1 = x], and its maximum over q1 is
    log E_q0[exp f] (Gibbs).

    >>> round(largest_excess((0.0, 1.0), (0.5, 0.5), 2, 1 / 8), 4)  # V = 3/2, D = 1
    0.5
    """
    r, q0 = np.asarray(r, dtype=float), np.asarray(q0, dtype=float)
    symbols = Alphabet(np.where(r > 0, q0, 0) / q0[r > 0].sum(), q0, r)
    counts, weights = symbols.draws(q0, k - 1)
    rest, own = counts @ r / (k - 1), r[r > 0]
    logs = np.log(alpha * own[:, None] + (1 - alpha) * rest)
    return float(logsumexp(np.log(own) - logs @ weights, b=q0[r > 0]) / _LN2)


def event_excess(alpha: float, k: int) -> tuple[float, float]:
    """The largest V - D in bits on pairs with r in {0, 2^D}, and the D where it is attained.

    There V = -E log(alpha + (1 - alpha) N/(K - 1)) with N ~ Binomial(K - 1, 2^-D).

    >>> excess, divergence = event_excess(1 / 8, 2)
    >>> round(excess, 3), abs(divergence - math.log2(3 * math.log(2))) < 1e-4
    (0.501, True)
    """
    n = np.arange(k)
    logs = np.log2(alpha + (1 - alpha) * n / (k - 1))

    def deficit(log_d: np.ndarray) -> np.ndarray:
        d = np.exp(log_d)
        return d + binomial_pmf(n, k - 1, 2.0 ** -d[..., None]) @ logs

    grid = np.linspace(math.log(1e-6), math.log(60.0), 200)
    best, step = grid[np.argmin(deficit(grid))], grid[1] - grid[0]
    found = minimize_scalar(
        lambda x: float(deficit(np.array(x))), bounds=(best - step, best + step), method="bounded"
    )
    return -float(found.fun), math.exp(found.x)


def searched_excess(alpha: float, k: int, symbols: int, restarts: int, seed: int) -> float:
    """The largest V - D in bits that an optimiser over critics and distributions finds."""
    rng, found = np.random.default_rng(seed), []

    def deficit(v: np.ndarray) -> float:
        r = np.exp(v[:symbols] - v[:symbols].max())
        return -largest_excess(r, softmax(v[symbols:]), k, alpha)

    for _ in range(restarts):
        start = np.concatenate([3 * rng.normal(size=symbols), 1.5 * rng.normal(size=symbols)])
        bounds = [(-25, 25)] * symbols + [(-8, 8)] * symbols
        found.append(-minimize(deficit, start, bounds=bounds, options={"maxiter": 60}).fun)
    return float(max(found))


def fails_below(k: int) -> float:
    """alpha_0(K) = 1 - (K-1)(1 - exp(-1/(K-1))): below it, D is exceeded by events of
    probability near 1.

    >>> fails_below(2) == math.exp(-1)
    True
    """
    return 1 + (k - 1) * math.expm1(-1 / (k - 1))


def slope_at_zero(k: int) -> float:
    """c_K = (K-1) ln(K/(K-1)), the slope of the sharp ceiling at D = 0: JSD <= c_K D."""
    return (k - 1) * math.log(k / (k - 1))


def simplex_slack(p: np.ndarray, k: int, alpha: float) -> np.ndarray:
    """1 - mean of s(p_z)^c over the rows of p, c = c_K: where it is never negative on the
    simplex, V <= JSD/c <= D.

    >>> simplex_slack(np.array([[1.0, 0.0]]), 2, math.exp(-1)).round(9).tolist()
    [0.0]
    """
    s = p * (k - 1) / (1 - alpha - (1 - alpha * k) * p)
    return 1 - (s ** slope_at_zero(k)).mean(-1)


def proved_from(k: int) -> float:
    """(1 + c)/(2K - 1 + c) < 1/K: from here on s(p)^c is concave in p and V <= D.

    >>> round(proved_from(2), 4)
    0.4585
    """
    c = slope_at_zero(k)
    return (1 + c) / (2 * k - 1 + c)


def checked_from(k: int) -> float:
    """The smallest alpha at which `simplex_slack` is not negative at any p = (t, u, ..., u), where
    a sum of concave-convex terms has its maximum.

    >>> abs(checked_from(2) - _LN2 / (1 + _LN2)) < 1e-9
    True
    """
    c = slope_at_zero(k)
    low, high = (1 - (k - 1) * (1 - c) / (1 + c)) / k, proved_from(k)  # low: concave at 1/K
    top = 1 - np.geomspace(1e-9, 1 - 1.01 / k, 2000)
    rows = np.column_stack([top, *[(1 - top) / (k - 1)] * (k - 1)])
    if simplex_slack(rows, k, low).min() >= 0:
        return low
    for _ in range(40):
        middle = (low + high) / 2
        fine = simplex_slack(rows, k, middle).min() >= 0
        low, high = (low, middle) if fine else (middle, high)
    return high


def excess_table(sizes: Sequence[int], shares: Sequence[float]) -> pd.DataFrame:
    """`event_excess` in bits for every K and every alpha = share/K."""
    rows = [(k, f, event_excess(f / k, k)[0]) for k in sizes for f in shares]
    return pd.DataFrame(rows, columns=["k", "share", "bits"])


def edge_table(sizes: Sequence[int]) -> pd.DataFrame:
    """For each K, in units of 1/K: where D is surely exceeded, where events stop exceeding it, and
    from where the bound is checked and proved."""
    rows = {}
    for k in sizes:
        low, high = fails_below(k), proved_from(k)
        for _ in range(14):
            middle = (low + high) / 2
            low, high = (middle, high) if event_excess(middle, k)[0] > 1e-5 else (low, middle)
        rows[k] = [k * a for a in (fails_below(k), low, checked_from(k), proved_from(k))]
    names = ["fails below", "events reach", "checked from", "proved from"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=names)
