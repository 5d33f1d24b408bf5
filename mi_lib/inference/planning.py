r"""How many pairs: the width of an interval, and how an estimate grows with the sample.

The plug-in is a mean of pointwise values, so its standard error is
:math:`\sqrt{\mathrm{Var}(\mathrm{PMI})/n}`; a pilot gives the variance. The bias of a critic
that has not seen enough falls in a way that depends on the data; a learning curve shows it.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import special
from sklearn.utils.validation import check_is_fitted

from ..validate import whole_number
from . import table
from .estimator import MIEstimator
from .lower_bound import choose_level, lower_bound

FOLDS = 5


def pairs_needed(est: MIEstimator, width: float) -> int:
    r"""Pairs for an interval of this width, :math:`n = (2z\,\mathrm{sd}(\mathrm{PMI})/w)^2`, from
    the spread of ``pmi_`` of a pilot fit and in its unit.

    It counts the spread over pairs alone: fewer pairs will not do, more may be needed.
    """
    check_is_fitted(est, "pmi_")
    if not (isinstance(width, int | float) and math.isfinite(width) and width > 0):
        raise ValueError(f"width={width!r} is not a positive number of {est.unit}")
    z = float(special.ndtri((1 + est.confidence) / 2))
    return math.ceil((2 * z * float(np.std(est.pmi_, ddof=1)) / width) ** 2)


def learning_curve(x: Any, y: Any, sizes: Sequence[int], **parameters) -> pd.DataFrame:
    """One fit for each size, to the first so many pairs of one shuffled order.

    Columns: ``pairs``, ``plug_in``, ``mi``, ``low``, ``high``, ``lower_bound``. ``parameters`` are
    those of `MIEstimator`; ``random_state`` also decides the order.
    """
    sides = table.read(x, "x"), table.read(y, "y")
    n = table.check_pairs(*sides)
    frames = [table.frame_of(side) for side in sides]
    sizes = [whole_number(size, "a size", table.LEAST_ROWS) for size in sizes]
    if not sizes or max(sizes) > n:
        raise ValueError(f"sizes={sizes} ask for more than the {n} pairs there are, or for none")
    order = np.random.default_rng(parameters.get("random_state")).permutation(n)
    rows = []
    for size in sizes:
        est = MIEstimator(**parameters).fit(*(frame.iloc[order[:size]] for frame in frames))
        low, high = est.interval_
        rows.append((size, est.plug_in_, est.mi_, low, high, est.lower_bound_))
    columns = ["pairs", "plug_in", "mi", "low", "high", "lower_bound"]
    return pd.DataFrame(rows, columns=columns)


def ideal_lower_bound(bits: float, pairs: int, seed: int = 0, confidence: float = 0.95) -> float:
    """The guaranteed lower bound, in bits, that one Gaussian pair of columns with this information
    would get if the critic were the true ratio: what no training can improve by much.

    >>> ideal_lower_bound(1.0, 100) < 0.5 < ideal_lower_bound(1.0, 100_000) < 1.0
    True
    """
    rng = np.random.default_rng(seed)
    rho = math.sqrt(-math.expm1(-2 * bits * math.log(2)))
    x, noise = rng.standard_normal((2, whole_number(pairs, "pairs", table.LEAST_ROWS)))
    y = rho * x + math.sqrt(1 - rho**2) * noise
    folds = []
    for part in np.array_split(np.arange(pairs), FOLDS):
        u, others = x[part], (y[part], np.roll(y[part], 1), np.roll(y[part], -1))
        folds.append(np.stack([_log_ratio(u, v, rho) for v in others], 1))
    # The level of a fold is chosen on another one.
    delta, most = (1 - confidence) / FOLDS, math.log(pairs) - 1
    levels = [choose_level(folds[k - 1], len(folds[k]), delta, most) for k in range(FOLDS)]
    return lower_bound(folds, levels, confidence) / math.log(2)


def _log_ratio(x: np.ndarray, y: np.ndarray, rho: float) -> np.ndarray:
    """Of a standard Gaussian pair with correlation rho, in nats."""
    rest = 1 - rho**2
    return (2 * rho * x * y - rho**2 * (x**2 + y**2)) / (2 * rest) - math.log(rest) / 2
