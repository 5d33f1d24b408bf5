"""Mutual information of all pairs of columns of a table."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ..validate import nats_per
from . import crossfit, table, uncertainty
from .estimator import MIEstimator

STACKED = 60  # splits trained as one stack


@dataclass(frozen=True)
class MIMatrix:
    """Frames of the mutual information of all pairs of columns and of its interval; the diagonal is
    empty, as are the rows of constant columns."""

    mi: pd.DataFrame
    low: pd.DataFrame
    high: pd.DataFrame
    unit: str

    def heat_map(self) -> Any:
        """The matrix as a matplotlib figure."""
        from .figure import heat_map

        return heat_map(self.mi, self.unit)


def mi_matrix(values: Any, **parameters) -> MIMatrix:
    """Mutual information of every pair of columns of a table, many pairs trained as one stack.

    Parameters
    ----------
    values : array_like, shape (n, d)
        A table with at least two columns that are not constant.
    **parameters
        Those of `MIEstimator`, without ``stability`` and ``permutations``: there is no second fit
        and no test. The default fits are small: one seed, 300 steps.

    Returns
    -------
    MIMatrix
        Frames ``mi``, ``low`` and ``high``; ``heat_map()`` draws the first.

    Examples
    --------
    >>> table = np.random.default_rng(0).standard_normal((60, 3))
    >>> mi_matrix(table, random_state=0, folds=2, steps=5).mi.shape
    (3, 3)
    """
    for name in ("stability", "permutations"):
        if parameters.get(name) not in (None, False):  # 0 is False
            raise ValueError(f"{name}={parameters[name]!r}: a matrix has none; fit a single pair")
    est = MIEstimator(**({"seeds": 1} | parameters))
    unit = nats_per(est.unit)
    columns = table.read(values, "x")
    if len(columns) < 2:
        raise ValueError("a matrix needs at least two columns that are not constant")
    given = table.names_of(values, "x")
    places = [given.index(column.name) for column in columns]
    names = [name[2:-1] for name in given]
    plan = est._plan(len(columns[0].values))
    small = {"hidden": est.hidden or 32, "steps": est.steps or 300}
    plan = crossfit.Plan(**{**vars(plan), **small})
    shape = {i: 1 if c.symbols is None else len(c.symbols) for i, c in enumerate(columns)}
    frames = [pd.DataFrame(np.nan, names, names) for _ in range(3)]
    todo: dict[tuple, list[tuple[int, int]]] = {}
    for i, j in combinations(range(len(columns)), 2):
        todo.setdefault((shape[i], shape[j]), []).append((i, j))
    at_once = max(1, STACKED // plan.folds)
    for pairs in todo.values():
        for first in range(0, len(pairs), at_once):
            part = pairs[first : first + at_once]
            problems = [([columns[i]], [columns[j]]) for i, j in part]
            for (i, j), scored in zip(part, crossfit.cross_fit(problems, plan), strict=True):
                own = scored.scores[:, 0]
                spread = uncertainty.spread_of(own, scored.fold_of, scored.by_seed)
                ends = uncertainty.interval(
                    float(own.mean()), spread, uncertainty.Growth(), est.confidence
                )
                entries = max(0.0, own.mean()), *ends
                for frame, entry in zip(frames, entries, strict=True):
                    a, b = places[i], places[j]
                    frame.iloc[a, b] = frame.iloc[b, a] = entry / unit
    return MIMatrix(*frames, est.unit)
