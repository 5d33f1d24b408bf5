r"""Calibration: few numbers, fitted to validation pairs by the logistic score.

:math:`c = b + \sum_k a_k c_k` minimises
:math:`\mathbb{E}_{p(x,y)}[\mathrm{sp}(-c)] + \mathbb{E}_{p(x)p(y)}[\mathrm{sp}(c)]`, which is
proper and convex in (a, b). A slope a below 1 says that the critic was over-confident.
"""

import numpy as np
from jaxtyping import Float
from scipy import special

PULL = 1.0  # weight, in pairs, of the prior opinion that the slopes are 1 and the shift 0


def fit(
    positives: Float[np.ndarray, "p k"], negatives: Float[np.ndarray, "q k"]
) -> Float[np.ndarray, " k+1"]:
    """The slopes and, last, the shift, by Newton's method with step halving."""
    blocks = [np.column_stack([part, np.ones(len(part))]) for part in (positives, negatives)]
    weights = [1 / len(positives), 1 / len(negatives)]
    prior = np.append(np.ones(positives.shape[1]), 0.0)
    pull = PULL / len(positives)

    def loss(a: np.ndarray) -> float:
        own, other = (block @ a for block in blocks)
        value = np.logaddexp(0, -own).mean() + np.logaddexp(0, other).mean()
        return value + pull / 2 * ((a - prior) ** 2).sum()

    a = prior.copy()
    value = loss(a)
    for _ in range(50):
        slope, curvature = pull * (a - prior), pull * np.eye(len(a))
        for block, weight, sign in zip(blocks, weights, (-1, 1), strict=True):
            chance = special.expit(sign * (block @ a))
            slope = slope + sign * weight * (chance @ block)
            curvature += weight * (block * (chance * (1 - chance))[:, None]).T @ block
        step = np.linalg.solve(curvature, slope)
        size = 1.0
        while size > 1e-8 and not (new := loss(a - size * step)) <= value:
            size /= 2
        if size <= 1e-8 or value - new < 1e-12:
            break
        a, value = a - size * step, new
    return a


def apply(
    a: Float[np.ndarray, " k+1"], scores: Float[np.ndarray, "... k"]
) -> Float[np.ndarray, "..."]:
    """Calibrated scores."""
    return scores @ a[:-1] + a[-1]
