r"""Maps of single columns that leave the mutual information unchanged.

A numeric column becomes its normal score: :math:`z = \Phi^{-1}(\text{rank}/(n+1))` at the
training values (equal values share the mean of their ranks), linear between them, and beyond the
ends a strictly increasing curve that levels off. A column of symbols becomes one standardised
indicator a symbol. (Symbols that the training pairs lack become one: nothing was learnt of them.)
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy import special

from .table import Column

KNOTS = 2_000  # at most so many points describe the curve of a column
RARE = 0.1  # the least deviation that an indicator is divided by
TINY = 1e-150  # numbers below it are scaled up, so that slopes of the curve stay finite
REACH = 1.0  # how far, in z, the curve goes on beyond the outermost training value


@dataclass(frozen=True)
class NormalScore:
    """The increasing curve of one numeric column."""

    values: Float[np.ndarray, " k"]
    scores: Float[np.ndarray, " k"]

    @staticmethod
    def fit(column: Float[np.ndarray, " n"]) -> "NormalScore":
        """The curve through the training values."""
        values, counts = np.unique(column, return_counts=True)
        ranks = np.cumsum(counts) - (counts - 1) / 2
        scores = special.ndtri(ranks / (len(column) + 1))
        if len(values) > KNOTS:
            kept = np.unique(np.linspace(0, len(values) - 1, KNOTS).round().astype(int))
            values, scores = values[kept], scores[kept]
        return NormalScore(values, scores)

    def __call__(self, column: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        values = self.values
        if max(-values[0], values[-1]) < TINY:
            column, values = (np.clip(part, -TINY, TINY) * 2.0**500 for part in (column, values))
        low, high = values[0], values[-1]
        inner = np.interp(column, values, self.scores)
        # Division before subtraction: values near the largest float must not overflow.
        width = high / 2 - low / 2 or 1.0
        beyond = (np.clip(column, None, low) / 2 - low / 2) / width
        beyond = beyond + (np.clip(column, high, None) / 2 - high / 2) / width
        return inner + REACH * beyond / (1 + np.abs(beyond))


@dataclass(frozen=True)
class Indicators:
    """Indicators of the symbols less their shares in the training pairs, divided by their
    deviation there; that of a rare symbol counts as a tenth, and a symbol that training never saw
    has no indicator."""

    shares: Float[np.ndarray, " k"]

    @staticmethod
    def fit(codes: Int[np.ndarray, " n"], symbols: int) -> "Indicators":
        """The shares of the training pairs."""
        return Indicators(np.bincount(codes, minlength=symbols) / len(codes))

    def __call__(self, codes: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n k"]:
        hot = (codes[:, None] == np.arange(len(self.shares))) & (self.shares > 0)
        return (hot - self.shares) / np.maximum(np.sqrt(self.shares * (1 - self.shares)), RARE)


@dataclass(frozen=True)
class Encoder:
    """One map a column, fitted to training rows."""

    maps: tuple[NormalScore | Indicators, ...]

    @staticmethod
    def fit(columns: list[Column], rows: Int[np.ndarray, " t"]) -> "Encoder":
        """Fit the map of each column."""
        return Encoder(
            tuple(
                NormalScore.fit(column.values[rows])
                if column.symbols is None
                else Indicators.fit(column.values[rows], len(column.symbols))
                for column in columns
            )
        )

    def __call__(self, columns: list[Column]) -> Float[np.ndarray, "n d"]:
        parts = [fit(column.values) for fit, column in zip(self.maps, columns, strict=True)]
        return np.column_stack(parts)

    @property
    def numeric(self) -> bool:
        """Whether every column is numeric."""
        return all(isinstance(fit, NormalScore) for fit in self.maps)
