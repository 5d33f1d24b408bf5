r"""A lower bound of I(X;Y) that holds with stated confidence, whatever the critic.

For any critic :math:`\mathbb{E}_{p(x,y)}[c] - \mathbb{E}_{p(x)p(y)}[e^c] + 1 \le I` (NWJ, nats).
Held-out pairs, two at a time, give independent values of
:math:`\tfrac12(c_{11} + c_{22}) - \tfrac12(e^{c_{12}} + e^{c_{21}}) + 1` with that mean. The critic
is clipped, so they have a known range, and the empirical Bernstein inequality of Maurer and Pontil
bounds the mean from below. Folds share the error probability; the mean of their bounds is a
bound.

The value of a block is at most the clip plus 1. With the clip at most :math:`\log n - 1` the bound
is at most the log of the number of pairs.
"""

import math

import numpy as np
from jaxtyping import Float

LEVELS = tuple(math.log(2) * k for k in (0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10))


def bernstein(values: Float[np.ndarray, " m"], width: float, delta: float) -> float:
    r"""A bound of the mean from below, wrong with probability at most ``delta``:
    :math:`\bar v - \sqrt{2 s^2 \ln(2/\delta)/m} - 7 w\ln(2/\delta)/(3(m-1))` for values in a
    range of that width."""
    m, log = len(values), math.log(2 / delta)
    margin = math.sqrt(2 * values.var(ddof=1) * log / m) + 7 * width * log / (3 * (m - 1))
    return float(values.mean() - margin)


def blocks(
    own: Float[np.ndarray, " n"],
    forward: Float[np.ndarray, " n"],
    backward: Float[np.ndarray, " n"],
    level: float,
) -> tuple[Float[np.ndarray, " n//2"], float]:
    """The independent values of pairs taken two at a time, and the width of their range.

    ``forward[i]`` scores x_i with y_(i+1), ``backward[i]`` x_i with y_(i-1).
    """
    even = np.arange(0, len(own) - 1, 2)
    own, forward, backward = (np.clip(part, -level, level) for part in (own, forward, backward))
    reached = (own[even] + own[even + 1]) / 2
    paid = (np.exp(forward[even]) + np.exp(backward[even + 1])) / 2
    return reached - paid + 1, 2 * level + 2 * math.sinh(level)


def choose_level(
    scores: Float[np.ndarray, "v 1+p"], held_out: int, delta: float, largest: float
) -> float:
    """The clip that promises most, judged by validation scores at the size of the held-out fold."""

    def promise(level: float) -> float:
        values, width = blocks(scores[:, 0], scores[:, 2], scores[:, 1], level)
        m, log = max(2, held_out // 2), math.log(2 / delta)
        margin = math.sqrt(2 * values.var(ddof=1) * log / m) + 7 * width * log / (3 * (m - 1))
        return float(values.mean() - margin)

    return max((level for level in LEVELS if level <= largest), key=promise)


def of_folds(
    folds: list[Float[np.ndarray, "h 1+p"]],
    validated: list[Float[np.ndarray, "v 1+p"]],
    confidence: float,
) -> float:
    """`lower_bound` of the held-out scores of folds, each clip chosen by its validation scores."""
    delta, most = (1 - confidence) / len(folds), math.log(sum(map(len, folds))) - 1
    levels = [
        choose_level(known, len(part), delta, most)
        for known, part in zip(validated, folds, strict=True)
    ]
    return lower_bound(folds, levels, confidence)


def lower_bound(
    folds: list[Float[np.ndarray, "h 1+p"]], levels: list[float], confidence: float
) -> float:
    """The mean over folds of their bounds, each at its share of the error probability; >= 0."""
    delta = (1 - confidence) / len(folds)
    values = []
    for scores, level in zip(folds, levels, strict=True):
        part, width = blocks(scores[:, 0], scores[:, 2], scores[:, 1], level)
        values.append(max(0.0, bernstein(part, width, delta)))
    return float(np.mean(values))
