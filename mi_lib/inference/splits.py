"""One fold of one problem: both sides encoded, a start chosen, limits known."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from . import parametric
from .encoding import Encoder
from .folds import Fold
from .ratio_limits import Limits
from .table import Column

ROWS_A_LETTER = 10  # training pairs a letter, from which on letters are not rare


@dataclass(frozen=True)
class Group:
    """One fold of one problem, ready to be stacked."""

    fold: Fold | None
    encode_x: Encoder
    encode_y: Encoder
    start: parametric.AnyStart
    limits: Limits
    x: Float[np.ndarray, "n dx"] | None = None
    y: Float[np.ndarray, "n dy"] | None = None
    side_x: parametric.Side | None = None
    side_y: parametric.Side | None = None
    most_x: Float[np.ndarray, " n"] | None = None
    most_y: Float[np.ndarray, " n"] | None = None

    def within(self, scores: np.ndarray, rows: np.ndarray, to: np.ndarray) -> np.ndarray:
        """Scores [..., b, p] of the x of ``rows`` with the y of ``rows[to]``, within limits."""
        most = np.minimum(self.most_x[rows][:, None], self.most_y[rows][to])
        return np.clip(scores, self.limits.least, np.maximum(most, self.limits.least))


def joint_codes(columns: list[Column]) -> tuple[np.ndarray, int] | None:
    """One code for all columns of letters together, where there are few; None otherwise."""
    if any(column.letters is None for column in columns):
        return None
    codes, size = np.zeros(len(columns[0].values), dtype=np.int64), 1
    for column in columns:
        codes = codes * len(column.letters) + column.values
        size *= len(column.letters)
        if size > parametric.MOST_CELLS:
            return None
    return codes, size


def encoded(group: Group, x: list[Column], y: list[Column]) -> Group:
    """The group with these columns as its data."""
    zx, zy = group.encode_x(x), group.encode_y(y)
    codes = joint_codes(x), joint_codes(y)
    most_x, most_y = (
        group.limits.most(part, len(zx), which) for part, which in zip(codes, "xy", strict=True)
    )
    letters = "xy" if isinstance(group.start, parametric.Counts) else ""
    if isinstance(group.start, parametric.Classes):
        letters = group.start.letters
    side_x = group.start.side(codes[0][0] if "x" in letters else zx, "x")
    side_y = group.start.side(codes[1][0] if "y" in letters else zy, "y")
    sides = {"side_x": side_x, "side_y": side_y, "most_x": most_x, "most_y": most_y}
    return replace(group, x=zx, y=zy, **sides)


def prepare(x: list[Column], y: list[Column], fold: Fold) -> Group:
    """Encode both sides and choose the start of one fold."""
    encoders = [Encoder.fit(columns, fold.training) for columns in (x, y)]
    codes = joint_codes(x), joint_codes(y)
    if all(codes):
        sizes = codes[0][1], codes[1][1]
        start = parametric.counts_start(codes[0][0], codes[1][0], sizes, fold.training)
    else:
        zx, zy = encoders[0](x), encoders[1](y)
        tails = all(encoder.numeric for encoder in encoders)
        start = parametric.choose(zx, zy, fold.training, fold.validation, tails)
        if any(codes):
            start = _or_classes(start, (zx, zy), codes, fold)
    return encoded(Group(fold, *encoders, start, Limits.fit(*codes, fold.training)), x, y)


def _or_classes(start: parametric.Start, z, codes, fold: Fold) -> parametric.AnyStart:
    """A Gaussian for each letter, common covariance or own, by the validation score. A Gaussian
    copula of indicators is no probability law; it competes only where letters are rare."""
    which = 0 if codes[0] else 1
    values, size = codes[which]
    rows = fold.validation[: parametric.JUDGED]

    def score(candidate: parametric.AnyStart) -> float:
        given = list(z)
        if isinstance(candidate, parametric.Classes):
            given[which] = values
        sides = candidate.side(given[0][rows], "x"), candidate.side(given[1][rows], "y")
        return parametric.judge(*sides, candidate)

    t = fold.training
    classes = parametric.class_starts(z[1 - which][t], values[t], size, "xy"[which])
    rare = len(t) < ROWS_A_LETTER * size
    return min([start, *classes] if rare else classes, key=score)
