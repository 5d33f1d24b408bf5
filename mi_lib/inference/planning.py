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
from . import lower_bound, table
from .estimator import MIEstimator

FOLDS = 5


def pairs_needed(est: MIEstimator, width: float) -> int:
    r"""Pairs for an interval of this width, :math:`n = (2z\,\mathrm{sd}(\mathrm{PMI})/w)^2`.

    It counts the spread over pairs alone: fewer pairs will not do, more may be needed.

    Parameters
    ----------
    est : fitted estimator
        A pilot, fitted; its ``pmi_`` gives the spread, its ``confidence`` z.
    width : float
        Of the interval, from end to end, in the unit of ``est``.

    Returns
    -------
    int

    Examples
    --------
    >>> pilot = MIEstimator()
    >>> pilot.pmi_ = np.array([0.0, 1.0, 2.0])
    >>> pairs_needed(pilot, 0.5), pairs_needed(pilot, 0.25)
    (62, 246)
    """
    check_is_fitted(est, "pmi_")
    if not (isinstance(width, int | float) and math.isfinite(width) and width > 0):
        raise ValueError(f"width={width!r} is not a positive number of {est.unit}")
    z = float(special.ndtri((1 + est.confidence) / 2))
    return math.ceil((2 * z * float(np.std(est.pmi_, ddof=1)) / width) ** 2)


def learning_curve(x: Any, y: Any, sizes: Sequence[int], **parameters) -> pd.DataFrame:
    """One fit for each size, to the first so many pairs of one shuffled order.

    Parameters
    ----------
    x, y : array_like, shape (n,) or (n, d)
    sizes : sequence of int
        Numbers of pairs, from 50 to n.
    **parameters
        Those of `MIEstimator`; ``random_state`` also decides the order.

    Returns
    -------
    pandas.DataFrame
        Columns ``pairs``, ``plug_in``, ``mi``, ``low``, ``high``, ``lower_bound``.

    Examples
    --------
    >>> x, y = np.random.default_rng(0).standard_normal((2, 100))
    >>> small = {"folds": 2, "seeds": 1, "steps": 5, "permutations": 0, "stability": False}
    >>> learning_curve(x, y, [50, 100], random_state=0, **small)["pairs"].tolist()
    [50, 100]
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
    """What ``lower_bound_`` would be if the critic were the true ratio, on one Gaussian pair of
    columns with this information: what no training can improve by much.

    Parameters
    ----------
    bits : float
        The true information.
    pairs : int
        Number of pairs, at least 50.
    seed : int
    confidence : float

    Returns
    -------
    float
        In bits.

    Examples
    --------
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
    return lower_bound.of_folds(folds, [folds[-1], *folds[:-1]], confidence) / math.log(2)


def _log_ratio(x: np.ndarray, y: np.ndarray, rho: float) -> np.ndarray:
    """Of a standard Gaussian pair with correlation rho, in nats."""
    rest = 1 - rho**2
    return (2 * rho * x * y - rho**2 * (x**2 + y**2)) / (2 * rest) - math.log(rest) / 2
