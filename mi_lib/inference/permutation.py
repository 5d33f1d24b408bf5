"""A test of independence on held-out pairs, without fitting anything again.

The statistic is the sum of the critic over held-out pairs. Within blocks of held-out pairs of one
fold the partners are permuted; the critic of the fold has seen none of them, so under independence
the true pairing is one of equally likely ones. Summed over folds the test is no longer exact, since
each fold has trained the critics of the others; the sweep ``independence`` measures its level.
"""

import numpy as np
from jaxtyping import Float

BLOCK = 200
CLIP = 20.0  # one wild score must not decide


def p_value(blocks: list[Float[np.ndarray, "b b"]], permutations: int, seed: int) -> float:
    """(1 + how many permutations reach the statistic) / (1 + permutations)."""
    rng = np.random.default_rng([seed, len(blocks)])
    observed, drawn = 0.0, np.zeros(permutations)
    for block in blocks:
        scores = np.clip(block, -CLIP, CLIP)
        rows = np.arange(len(scores))
        orders = np.argsort(rng.random((permutations, len(scores))), axis=1)
        observed += scores[rows, rows].sum()
        drawn += scores[rows, orders].sum(1)
    # Sums of equal terms in another order may differ in the last digit.
    reached = drawn >= observed - 1e-9 * max(1.0, abs(observed))
    return float((1 + reached.sum()) / (1 + permutations))
