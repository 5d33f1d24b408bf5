r"""The interval of a mean of held-out scores.

Three spreads add up: over pairs (:math:`\mathrm{Var}(c)/n`), over folds beyond what the pairs
explain, over seeds. They say how far another sample or another seed would move the value. They do
not say how much the critics fail to find. For that a second fit uses half of the training pairs. A
bias that falls like one over their number is as large as the gain from the last doubling: a gain of
more than twice its standard error is added to the estimate, and the interval is widened both ways
by the size of the gain. (Chosen on the development half of the suite.) Information is not negative,
so values below zero count as zero: to recover from a bad fit is no gain.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

from ..diagnostics import Spread


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


@dataclass(frozen=True)
class Growth:
    """What the last doubling of the training pairs added, its standard error, and what of it is
    added to the estimate."""

    gain: float = 0.0
    error: float = 0.0

    @property
    def added(self) -> float:
        """The gain where it is certain, else nothing."""
        return self.gain if self.gain > 2 * self.error else 0.0


def growth_of(full: Float[np.ndarray, " n"], half: Float[np.ndarray, " n"]) -> Growth:
    """The gain from scores with half of the training pairs to scores with all, pair by pair."""
    error = (full - half).std(ddof=1) / np.sqrt(len(full))
    return Growth(float(max(0.0, full.mean()) - max(0.0, half.mean())), float(error))


def interval(
    value: float, spread: Spread, growth: Growth, confidence: float
) -> tuple[float, float]:
    """(low, high) in nats around ``value`` plus what is added; not below zero."""
    reach = float(stats.norm.isf((1 - confidence) / 2)) * spread.total + abs(growth.gain)
    centre = max(0.0, value + growth.added)
    return max(0.0, centre - reach), centre + reach
