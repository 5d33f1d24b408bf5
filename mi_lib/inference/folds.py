"""Which pairs train, which validate, which are held out."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

VALIDATION = 0.15  # of the pairs that are not held out


@dataclass(frozen=True)
class Fold:
    """Row numbers of one fold; the three sets share nothing."""

    training: Int[np.ndarray, " t"]
    validation: Int[np.ndarray, " v"]
    held_out: Int[np.ndarray, " h"]


def make_folds(n: int, folds: int, seed: int) -> list[Fold]:
    """Cut n pairs into folds at random; all training sets have one size, so that they stack.

    >>> [len(fold.held_out) for fold in make_folds(11, 2, 0)]
    [6, 5]
    """
    rng = np.random.default_rng([seed, n, folds])
    parts = np.array_split(rng.permutation(n), folds)
    largest = max(map(len, parts))
    validation = max(1, round(VALIDATION * (n - largest)))
    training = n - largest - validation
    made = []
    for k, part in enumerate(parts):
        rest = rng.permutation(np.concatenate([p for j, p in enumerate(parts) if j != k]))
        made.append(Fold(rest[:training], rest[training:], part))
    return made
