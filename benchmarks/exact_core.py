"""Speed of the exact core, as ratios within one run.

    python benchmarks/exact_core.py

1. `finite.k_way_jsd` sums over multinomial counts; a loop over all n^K tuples is the plain way.
2. `infonce_ceiling` integrates a smooth function; a sum over the binomial law is the plain way.
"""

import statistics
import time
from collections.abc import Callable
from itertools import product

import numpy as np
from scipy.stats import binom

from mi_lib import finite, infonce_ceiling

REPEATS = 5


def loop_over_tuples(q1: np.ndarray, q0: np.ndarray, k: int) -> float:
    """K-way JSD in bits by visiting every tuple."""
    ratio, value = q1 / q0, 0.0
    for x in product(range(len(q0)), repeat=k):
        weight = q1[x[0]] * np.prod(q0[list(x[1:])])
        value += weight * np.log2(ratio[x[0]] / ratio[list(x)].mean())
    return value


def binomial_sum(divergences: np.ndarray, k: int) -> np.ndarray:
    """The ceiling in bits by summing over all K outcomes."""
    n = np.arange(k)
    weights = binom.pmf(n[None], k - 1, 2.0 ** -divergences[:, None])
    return np.log2(k) - (weights * np.log2(1 + n)).sum(1)


def ratio(plain: Callable[[], object], ours: Callable[[], object]) -> float:
    """Median over interleaved runs of (seconds of plain) / (seconds of ours)."""
    ratios = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        plain()
        middle = time.perf_counter()
        ours()
        ratios.append((middle - start) / (time.perf_counter() - middle))
    return statistics.median(ratios)


def main() -> None:
    """Check that both ways agree, then print the ratios."""
    q1, q0 = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.4, 0.3, 0.2, 0.1])
    assert abs(loop_over_tuples(q1, q0, 6) - finite.k_way_jsd(q1, q0, 6)) < 1e-12
    divergences = np.linspace(0.1, 12, 50)
    assert np.allclose(binomial_sum(divergences, 20_000), infonce_ceiling(divergences, 20_000))
    tuples = ratio(lambda: loop_over_tuples(q1, q0, 6), lambda: finite.k_way_jsd(q1, q0, 6))
    binomial = ratio(
        lambda: binomial_sum(divergences, 20_000), lambda: infonce_ceiling(divergences, 20_000)
    )
    print(f"k_way_jsd, 4 letters, K = 6:        {tuples:8.1f} x a loop over 4^6 tuples")
    print(f"infonce_ceiling, 50 values, K = 2e4: {binomial:7.1f} x a sum over the binomial law")


if __name__ == "__main__":
    main()
