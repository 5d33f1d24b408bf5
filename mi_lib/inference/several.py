r"""More than one pair of variables: conditional information, and all pairs of columns."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from ..validate import nats_per
from . import crossfit, table, uncertainty
from .estimator import MIEstimator

STACKED = 60  # groups trained as one stack by `mi_matrix`


@dataclass(frozen=True)
class ConditionalMI:
    """An estimate of I(X;Y|Z), its interval, and the two values it is the difference of."""

    mi: float
    interval: tuple[float, float]
    joint: float
    of_z: float
    unit: str
    decomposition: str = "I(X;Y|Z) = I(X,Z;Y) - I(Z;Y)"

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.decomposition}, by plug-in {self.joint:.3f} - {self.of_z:.3f} {self.unit}; "
            f"with what still grows {self.mi:.3f}, interval {low:.3f} to {high:.3f}"
        )


def conditional_mi(x: Any, y: Any, z: Any, **parameters) -> ConditionalMI:
    r"""I(X;Y|Z) by the chain rule, :math:`I(X,Z;Y) - I(Z;Y)`, both on the same folds.

    Each pair has one score of either critic; the interval is that of the mean of their differences.
    A negative value of I(Z;Y) counts as zero. ``parameters`` are those of `MIEstimator`, of which
    ``permutations`` is not used.
    """
    est = MIEstimator(**parameters)
    unit = nats_per(est.unit)
    sides = [table.read(values, name) for values, name in ((x, "x"), (y, "y"), (z, "z"))]
    n = table.check_pairs(sides[0], sides[1])
    if len(sides[2][0].values) != n:
        raise ValueError(f"z has {len(sides[2][0].values)} rows and x {n}; pass rows that belong")
    plan = est._plan(n)
    problems = [(sides[0] + sides[2], sides[1]), (sides[2], sides[1])]
    full = [crossfit.cross_fit([problem], plan)[0] for problem in problems]
    values = _difference(*full)
    spread = uncertainty.spread_of(values, full[0].fold_of, full[0].by_seed - full[1].by_seed)
    growth = uncertainty.Growth()
    if est.stability:
        half = [crossfit.cross_fit([problem], plan, 0.5)[0] for problem in problems]
        growth = uncertainty.growth_of(values, _difference(*half))
    value = float(values.mean())
    ends = uncertainty.interval(value, spread, growth, est.confidence)
    joint, of_z = (max(0.0, float(part.scores[:, 0].mean()) / unit) for part in full)
    return ConditionalMI(
        max(0.0, (value + growth.added) / unit),
        tuple(end / unit for end in ends),
        joint,
        of_z,
        est.unit,
    )


def _difference(joint: crossfit.Scored, of_z: crossfit.Scored) -> Float[np.ndarray, " n"]:
    """Pair by pair; a second mean below zero, which no information has, is moved to zero."""
    second = of_z.scores[:, 0]
    return joint.scores[:, 0] - (second - min(0.0, second.mean()))


@dataclass(frozen=True)
class MIMatrix:
    """Mutual information of all pairs of columns; the diagonal is empty, as are the rows of
    constant columns."""

    mi: pd.DataFrame
    low: pd.DataFrame
    high: pd.DataFrame
    unit: str

    def heat_map(self):
        """The matrix as a figure."""
        from ..plotting.practice import heat_map

        return heat_map(self.mi, self.unit)


def mi_matrix(values: Any, **parameters) -> MIMatrix:
    """Mutual information of every pair of columns of a table, many pairs trained as one stack.

    ``parameters`` are those of `MIEstimator`, without ``stability`` and ``permutations``: there is
    no second fit and no test. By default the fits are small (one seed, 300 steps), as columns are
    one-dimensional.
    """
    for name in ("stability", "permutations"):
        if parameters.get(name):
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
    shape = {i: 1 if c.letters is None else len(c.letters) for i, c in enumerate(columns)}
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
