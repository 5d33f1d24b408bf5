"""One fold of one problem: both sides encoded, a parametric ratio chosen, limits known."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from . import parametric
from .encoding import Encoder
from .folds import Fold
from .ratio_limits import Limits
from .table import Column

ROWS_A_SYMBOL = 10  # training pairs a symbol, from which on symbols are not rare


@dataclass(frozen=True)
class Split:
    """One fold of one problem, ready to be stacked."""

    fold: Fold | None
    encode_x: Encoder
    encode_y: Encoder
    ratio: parametric.ParametricRatio
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
    """One code for all columns of symbols together, where there are few; None otherwise."""
    if any(column.symbols is None for column in columns):
        return None
    codes, size = np.zeros(len(columns[0].values), dtype=np.int64), 1
    for column in columns:
        codes = codes * len(column.symbols) + column.values
        size *= len(column.symbols)
        if size > parametric.MOST_CELLS:
            return None
    return codes, size


def encoded(split: Split, x: list[Column], y: list[Column]) -> Split:
    """The split with these columns as its data."""
    zx, zy = split.encode_x(x), split.encode_y(y)
    codes = joint_codes(x), joint_codes(y)
    most_x, most_y = (
        split.limits.most(part, len(zx), which) for part, which in zip(codes, "xy", strict=True)
    )
    coded = "xy" if isinstance(split.ratio, parametric.CountRatio) else ""
    if isinstance(split.ratio, parametric.ClassRatio):
        coded = split.ratio.symbol_side
    side_x = split.ratio.side(codes[0][0] if "x" in coded else zx, "x")
    side_y = split.ratio.side(codes[1][0] if "y" in coded else zy, "y")
    sides = {"side_x": side_x, "side_y": side_y, "most_x": most_x, "most_y": most_y}
    return replace(split, x=zx, y=zy, **sides)


def prepare(x: list[Column], y: list[Column], fold: Fold) -> Split:
    """Encode both sides and choose the parametric ratio of one fold."""
    encoders = [Encoder.fit(columns, fold.training) for columns in (x, y)]
    codes = joint_codes(x), joint_codes(y)
    if all(codes):
        sizes = codes[0][1], codes[1][1]
        ratio = parametric.count_ratio(codes[0][0], codes[1][0], sizes, fold.training)
    else:
        zx, zy = encoders[0](x), encoders[1](y)
        tails = all(encoder.numeric for encoder in encoders)
        ratio = parametric.choose(zx, zy, fold.training, fold.validation, tails)
        if any(codes):
            ratio = _or_classes(ratio, (zx, zy), codes, fold)
    return encoded(Split(fold, *encoders, ratio, Limits.fit(*codes, fold.training)), x, y)


def _or_classes(ratio: parametric.CopulaRatio, z, codes, fold: Fold) -> parametric.ParametricRatio:
    """A Gaussian for each symbol, common covariance or own, by the validation score. A Gaussian
    copula of indicators is no probability distribution; it competes only where symbols are rare."""
    which = 0 if codes[0] else 1
    values, size = codes[which]
    rows = fold.validation[: parametric.JUDGED]

    def score(candidate: parametric.ParametricRatio) -> float:
        given = list(z)
        if isinstance(candidate, parametric.ClassRatio):
            given[which] = values
        sides = candidate.side(given[0][rows], "x"), candidate.side(given[1][rows], "y")
        return parametric.judge(*sides, candidate)

    t = fold.training
    classes = parametric.class_ratios(z[1 - which][t], values[t], size, "xy"[which])
    rare = len(t) < ROWS_A_SYMBOL * size
    return min([ratio, *classes] if rare else classes, key=score)
