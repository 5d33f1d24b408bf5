r"""What the log ratio of a pair cannot be.

- A symbol of probability p has :math:`r \le 1/p` with everything, since :math:`p(x,y) \le p(y)`.
- True pairs have :math:`\mathbb{E}[1/r] \le 1`, so at most a share :math:`e^{-t}` of them has
  :math:`\log r \le -t` (Markov): of n pairs none is expected below :math:`-\log n`.

Calibrated scores are kept within both. A network that met a symbol once, or a Gaussian that is far
from a pair, says such things.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

Codes = tuple[Int[np.ndarray, " n"], int] | None  # codes of one side and their number


@dataclass(frozen=True)
class Limits:
    """The largest log ratio of each symbol of either side (empty for numbers), and the least."""

    x: Float[np.ndarray, " k"]
    y: Float[np.ndarray, " l"]
    least: float

    @staticmethod
    def fit(x: Codes, y: Codes, training: Int[np.ndarray, " t"]) -> "Limits":
        """From the training pairs, half a count added to each symbol."""
        sides = [np.empty(0) if codes is None else _surprise(*codes, training) for codes in (x, y)]
        return Limits(*sides, -math.log(len(training)))

    def most(self, codes: Codes, n: int, which: str) -> Float[np.ndarray, " n"]:
        """The largest log ratio that each of n rows may have, for one side."""
        known = self.x if which == "x" else self.y
        return np.full(n, np.inf) if codes is None else known[codes[0]]


def _surprise(
    codes: Int[np.ndarray, " n"], size: int, training: Int[np.ndarray, " t"]
) -> Float[np.ndarray, " k"]:
    counts = np.bincount(codes[training], minlength=size) + 0.5
    return -np.log(counts / counts.sum())
