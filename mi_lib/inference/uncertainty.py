r"""The interval of a mean of held-out scores.

Three spreads add up: over pairs (:math:`\mathrm{Var}(c)/n`), over folds beyond what the pairs
explain, over seeds. They say how far another sample or another start would move the value. They do
not say how much the critics fail to find: for that the interval is widened by the gain from the
last doubling of the training pairs, upwards in full and downwards by half.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy import stats


@dataclass(frozen=True)
class Spread:
    """Standard errors, in nats, of a mean over held-out pairs."""

    pairs: float
    folds: float
    seeds: float

    @property
    def total(self) -> float:
        """All three together."""
        return float(np.sqrt(self.pairs**2 + self.folds**2 + self.seeds**2))


def spread_of(
    values: Float[np.ndarray, " n"],
    fold_of: Int[np.ndarray, " n"],
    by_seed: Float[np.ndarray, "s n"],
) -> Spread:
    """The three spreads of the mean of ``values``."""
    n, folds = len(values), int(fold_of.max()) + 1
    pairs = values.var(ddof=1) / n
    means = np.array([values[fold_of == k].mean() for k in range(folds)])
    between = means.var(ddof=1) / folds if folds > 1 else 0.0
    seeds = by_seed.mean(1).var(ddof=1) / len(by_seed) if len(by_seed) > 1 else 0.0
    return Spread(*(float(np.sqrt(v)) for v in (pairs, max(0.0, between - pairs), seeds)))


def interval(value: float, spread: Spread, growth: float, confidence: float) -> tuple[float, float]:
    """(low, high) in the unit of ``value``; the low end is not below zero."""
    reach = stats.norm.isf((1 - confidence) / 2) * spread.total
    low, high = value - reach - max(0.0, -growth, growth / 2), value + reach + max(0.0, growth)
    return max(0.0, low), max(0.0, high)
