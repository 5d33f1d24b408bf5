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
