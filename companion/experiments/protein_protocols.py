r"""Two ways to hold proteins out: as the source study did it, and without its leaks.

*Published* (Gowri et al. 2024, which the paper follows): 170 proteins are drawn **with**
replacement; pairs without any of them are trained on; **all** other pairs, the ones that are later
scored among them, decide when to stop; features are standardised over all pairs; every drawn
protein is scored with every drawn protein, itself too, after standardising the drawn ones by their
own mean and spread.

*Clean*: 170 test proteins and 170 others for validation, without replacement. Pairs with neither
are trained on; pairs with a validation protein and no test protein decide when to stop; features
are standardised over the training proteins; no protein is scored with itself. The candidates are
either *all* ordered pairs of test proteins, or only those of the *roles*: a protein known as a
kinase (ligand) on the left, one known as a target (receptor) on the right. Outside the roles p(x)
or p(y) is zero and a PMI is not defined.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int
from torch import Tensor

from mi_lib.validate import one_of, whole_number

from ..data.proteins import Interactions

PROTOCOLS = ("published", "clean")
CLIP = 10.0


@dataclass(frozen=True)
class Candidates:
    """What is scored: left and right proteins, which of their combinations count, which are known.

    ``x`` and ``y`` are the standardised features; a score table has a row for each of ``left`` and
    a column for each of ``right``.
    """

    left: Int[np.ndarray, " a"]
    right: Int[np.ndarray, " b"]
    x: Float32[Tensor, "a d"]
    y: Float32[Tensor, "b d"]
    counted: Bool[np.ndarray, "a b"]
    known: Bool[np.ndarray, "a b"]


@dataclass(frozen=True)
class Split:
    """One trial: standardised features for each side, pairs for each use, candidates by name."""

    x: Float32[Tensor, "n d"]
    y: Float32[Tensor, "n d"]
    train: Int[np.ndarray, "m 2"]
    validation: Int[np.ndarray, "v 2"]
    reference: Int[np.ndarray, "r 2"]  # the pairs among which LMI looks for neighbours
    candidates: dict[str, Candidates]

    @property
    def proteins(self) -> Int[np.ndarray, " p"]:
        """The proteins that occur in a training pair."""
        return np.unique(self.train)


def split(data: Interactions, protocol: str, trial: int, held_out: int = 170) -> Split:
    """The split of a trial; trials of one number and data draw alike under both protocols."""
    one_of("protocol", protocol, PROTOCOLS)
    whole_number(held_out, "held_out", 2)
    if 2 * held_out >= len(data.rows):
        raise ValueError(
            f"held_out={held_out} leaves nothing of {len(data.rows)} proteins to train on; "
            f"hold out fewer than {len(data.rows) // 2}"
        )
    chance = np.random.default_rng([20, trial])
    return (_published if protocol == "published" else _clean)(data, chance, held_out)


def standardise(
    rows: Float32[np.ndarray, "n d"], by: Float32[np.ndarray, "m d"]
) -> Float32[Tensor, "n d"]:
    """Each feature minus its mean over ``by``, over its spread there, clipped to [-10, 10]; a
    feature that is constant there becomes 0."""
    mean, spread = by.mean(0, dtype=np.float64), by.std(0, dtype=np.float64)
    scaled = (rows - mean) / np.where(spread > 1e-12, spread, np.inf)
    return torch.from_numpy(np.clip(scaled, -CLIP, CLIP).astype(np.float32))


def touches(pairs: Int[np.ndarray, "m 2"], proteins: Int[np.ndarray, " k"]) -> np.ndarray:
    """Which pairs hold one of the proteins."""
    return np.isin(pairs, proteins).any(1)


def _published(data: Interactions, chance: np.random.Generator, held_out: int) -> Split:
    drawn = chance.choice(len(data.rows), held_out, replace=True)
    outside = touches(data.pairs, drawn)
    x, y = (standardise(data.rows, data.rows[data.pairs[:, side]]) for side in (0, 1))
    own = standardise(data.rows[drawn], data.rows[drawn])
    known = data.known()[np.ix_(drawn, drawn)]
    every = np.ones_like(known)
    return Split(
        x,
        y,
        data.pairs[~outside],
        data.pairs[outside],
        data.pairs,
        {
            "published": Candidates(drawn, drawn, own, own, every, known),
            "same-scale": Candidates(drawn, drawn, x[drawn], y[drawn], every, known),
        },
    )


def _clean(data: Interactions, chance: np.random.Generator, held_out: int) -> Split:
    chosen = chance.choice(len(data.rows), 2 * held_out, replace=False)
    test, validation = np.sort(chosen[:held_out]), chosen[held_out:]
    usable = data.pairs[~touches(data.pairs, test)]
    for_validation = touches(usable, validation)
    train = usable[~for_validation]
    rows = standardise(data.rows, data.rows[np.unique(train)])
    known = data.known()[np.ix_(test, test)]
    others = test[:, None] != test[None, :]
    roles = np.isin(test, data.pairs[:, 0])[:, None] & np.isin(test, data.pairs[:, 1])[None, :]
    x = rows[test]
    return Split(
        rows,
        rows,
        train,
        usable[for_validation],
        train,
        {
            "all": Candidates(test, test, x, x, others, known),
            "roles": Candidates(test, test, x, x, others & roles, known),
        },
    )


def log_margin(pairs: Int[np.ndarray, "m 2"], side: int) -> tuple[np.ndarray, Float[Tensor, " u"]]:
    """The proteins on one side of the pairs, and the log of how often each occurs there."""
    proteins, count = np.unique(pairs[:, side], return_counts=True)
    return proteins, torch.from_numpy(np.log(count / count.sum())).float()
