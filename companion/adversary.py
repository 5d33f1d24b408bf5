"""Families of finite distributions to test a bound on, and an optimiser that tries to break it."""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import gammaln, softmax, xlogy

from mi_lib import finite
from mi_lib.bounds import chi_square_floor
from mi_lib.validate import whole_number

Pair = tuple[np.ndarray, np.ndarray]


def random_pairs(count: int, letters: int, seed: int) -> Iterator[Pair]:
    """Pairs (q1, q0) with q0 ~ Dirichlet(1, ..., 1) and q1 ~ Dirichlet(1/2, ..., 1/2)."""
    rng = np.random.default_rng(seed)
    for _ in range(whole_number(count, "count", 1)):
        q0 = rng.dirichlet(np.ones(letters))
        yield rng.dirichlet(np.full(letters, 0.5)), q0


def event_pair(divergence: float) -> Pair:
    """q1 = q0 conditioned on an event of probability 2^-D: the extremal pair at D bits."""
    event = 2.0**-divergence
    return np.array([0.0, 1.0]), np.array([1 - event, event])


def multinomial_pmf(counts: np.ndarray, law: np.ndarray) -> np.ndarray:
    """Chance of each row of counts under draws from ``law`` (scipy.stats takes a second to load).

    >>> multinomial_pmf(np.array([[2, 0], [1, 1]]), np.array([0.5, 0.5])).round(3).tolist()
    [0.25, 0.5]
    """
    ways = gammaln(counts.sum(-1) + 1) - gammaln(counts + 1).sum(-1)
    return np.exp(ways + xlogy(counts, law).sum(-1))


def binomial_pmf(hits: np.ndarray, draws: int, p: np.ndarray | float) -> np.ndarray:
    """Chance of so many hits in ``draws`` draws that hit with chance p."""
    p = np.asarray(p)
    return multinomial_pmf(np.stack([hits, draws - hits], -1), np.stack([p, 1 - p], -1))


def try_to_break(
    margin: Callable[[np.ndarray, np.ndarray], float], letters: int, restarts: int, seed: int
) -> list[tuple[float, str]]:
    """Minimise ``margin(q1, q0)`` over pairs on ``letters`` letters; a negative value breaks it.

    Quasi-Newton descent in log-probabilities from random starts. Returns the smallest margin of
    each start with its pair.
    """
    rng = np.random.default_rng(seed)
    found = []

    def pair(logits: np.ndarray) -> Pair:
        logits = np.clip(logits, -30, 30)  # no letter may vanish altogether
        return softmax(logits[:letters]), softmax(logits[letters:])

    for _ in range(restarts):
        start = rng.normal(scale=1.5, size=2 * letters)
        best = minimize(lambda v: margin(*pair(v)), start, options={"maxiter": 40})
        q1, q0 = pair(best.x)
        found.append((float(best.fun), f"q1={np.round(q1, 2)}, q0={np.round(q0, 2)}"))
    return found


def sandwich_table(k: int, count: int, seed: int) -> pd.DataFrame:
    """D, K-way JSD and chi-square floor, in bits, of random pairs that cover many divergences.

    Two to four letters; q0 ~ Dirichlet(1/3, ..., 1/3); q1 ~ Dirichlet(1/5, ..., 1/5).
    """
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(whole_number(count, "count", 1)):
        letters = int(rng.integers(2, 5))
        q0 = rng.dirichlet(np.full(letters, 1 / 3))
        q1 = rng.dirichlet(np.full(letters, 1 / 5))
        kl = finite.kl(q1, q0)
        floor = chi_square_floor(kl, finite.chi_square(q1, q0), k)
        rows.append({"kl": kl, "jsd": finite.k_way_jsd(q1, q0, k), "floor": floor})
    return pd.DataFrame(rows)
