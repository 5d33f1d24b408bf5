r"""Conditional mutual information, I(X;Y|Z)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ..validate import nats_per
from . import crossfit, table, uncertainty
from .estimator import MIEstimator


@dataclass(frozen=True)
class ConditionalMI:
    """An estimate of I(X;Y|Z), its interval, and what it is the difference of: the plug-ins
    ``joint`` of I(X,Z;Y) and ``of_z`` of I(Z;Y)."""

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
    """I(X;Y|Z) by the chain rule, :math:`I(X,Z;Y) - I(Z;Y)`, both on the same folds.

    Each pair has one score of either critic; the interval is that of the mean of their differences.
    A negative value of I(Z;Y) counts as zero.

    Parameters
    ----------
    x, y, z : array_like, shape (n,) or (n, d)
        Numbers or strings; row i of each belongs to row i of the others.
    **parameters
        Those of `MIEstimator`, of which ``permutations`` is not used.

    Returns
    -------
    ConditionalMI
        The estimate ``mi`` and its ``interval``; ``str`` says how they came about.

    Examples
    --------
    >>> x, y, z = np.random.default_rng(0).standard_normal((3, 100))
    >>> given = conditional_mi(x, y, z, random_state=0, folds=2, seeds=1, steps=5)
    >>> given.decomposition, given.interval[0]
    ('I(X;Y|Z) = I(X,Z;Y) - I(Z;Y)', 0.0)
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
