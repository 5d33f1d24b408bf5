r"""Pairs of the same class, with labels that pass through a binary symmetric channel.

A pair has ``slots`` binary labels. X shows one row of a labelled table for each label; Y shows rows
for the same labels after each was flipped with probability p. Given the labels the rows are
independent, so, where a row tells its label, :math:`I(X;Y) = \text{slots}\cdot(1 - h(p))` bits and
:math:`r = (2(1-p))^a (2p)^{\text{slots} - a}` with a the number of equal labels. The construction
is that of the benchmark of Lee and Rhee (2024).
"""

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.optimize import brentq
from scipy.stats import binom
from torch import Tensor

from mi_lib.validate import real_number, whole_number

from ..ratio_distribution import jsd_of_distribution

Table, Pick, Chance = Float[Tensor, "n d"], Int[Tensor, "s b slots"], Float[Tensor, "s b"]


def gather(table: Float[Tensor, "n ..."], pick: Pick) -> Float[Tensor, "s b slots ..."]:
    """The picked rows of a table."""
    return table.index_select(0, pick.flatten()).unflatten(0, pick.shape).float()


def flatten(table: Table, pick: Pick, chance: Chance) -> Float[Tensor, "s b slots*d"]:
    """The rows of all slots, one after another."""
    return gather(table, pick).flatten(-2)


class Source:
    """One side of a pair: a labelled table, and how the rows of all slots become one vector.

    ``assemble(table, pick, chance)`` joins the picked rows; it may use a uniform number a pair, for
    noise that is nobody's label.
    ``held_out`` lists rows that training never shows; without it, fresh draws come from all rows.
    """

    def __init__(
        self,
        rows: Table,
        labels: Int[Tensor, " n"],
        assemble: Callable[[Table, Pick, Chance], Tensor] = flatten,
        held_out: Sequence[int] | None = None,
    ):
        labels = labels.cpu().long()
        if rows.ndim != 2 or labels.shape != rows.shape[:1]:
            raise ValueError(
                f"rows have shape {tuple(rows.shape)} and labels {tuple(labels.shape)}; "
                "pass [n, d] and [n]"
            )
        if not torch.isfinite(rows.float()).all():
            raise ValueError("rows contain NaN or infinite entries; clean the table first")
        fresh = torch.zeros(len(labels), dtype=torch.bool, device="cpu")
        if held_out is not None:
            fresh[torch.as_tensor(held_out, device="cpu")] = True
        self.held_out = bool(fresh.any())
        # Four runs of rows: class 0 and 1 for training, class 0 and 1 held out.
        place = labels + 2 * fresh
        counts = [int((place == group).sum()) for group in range(4)]
        if sorted(set(labels.tolist())) != [0, 1] or 0 in counts[: 4 if self.held_out else 2]:
            raise ValueError(
                f"the table has {counts[:2]} training and {counts[2:]} held-out rows of the two "
                "classes; labels must be 0 and 1, and no class may be empty"
            )
        self._rows = {torch.device("cpu"): rows.cpu()[place.argsort(stable=True)]}
        self._counts, self._starts = counts, [0, *np.cumsum(counts[:-1]).tolist()]
        self.assemble = assemble

    def dim(self, slots: int) -> int:
        """Dimension of the vector of so many slots."""
        first = torch.zeros(1, 1, slots, dtype=torch.long, device="cpu")
        chance = torch.zeros(1, 1, device="cpu")
        return self.assemble(self.rows(first.device), first, chance).shape[-1]

    def rows(self, device: torch.device) -> Tensor:
        """The table on a device, copied there once."""
        if device not in self._rows:
            self._rows[device] = self._rows[torch.device("cpu")].to(device)
        return self._rows[device]

    def show(
        self, labels: Int[Tensor, "s b slots"], uniform: Float[Tensor, "s b slots+1"], fresh: bool
    ) -> Float[Tensor, "s b dim"]:
        """For each label a row of its class, picked by a uniform number, and all slots joined."""
        group = labels + 2 * (fresh and self.held_out)
        starts, counts = (
            torch.tensor(v, device=labels.device)[group] for v in (self._starts, self._counts)
        )
        pick = starts + (uniform[..., :-1] * counts).long().clamp(max=counts - 1)
        return self.assemble(self.rows(labels.device), pick, uniform[..., -1])


class Channel:
    """The task: X from one source, Y from another (the same, by default), levels in bits."""

    def __init__(self, x: Source, y: Source | None = None, slots: int = 10):
        self.x, self.y = x, x if y is None else y
        self.slots = whole_number(slots, "slots", 1)
        self.x_dim, self.y_dim = self.x.dim(slots), self.y.dim(slots)

    def crossover(self, bits: float) -> float:
        r"""The flip probability p with :math:`\text{slots}\,(1 - h(p)) = I`.

        Levels run from 0 to ``slots`` bits: a slot carries at most one.
        """
        real_number(bits, "bits", at_least=0.0)
        if bits > self.slots:
            raise ValueError(f"bits={bits:g} is more than {self.slots} binary slots can carry")
        return crossover(float(bits) / self.slots)

    def draw(
        self,
        bits: float,
        batch: int,
        generators: Sequence[torch.Generator],
        fresh: bool = False,
    ) -> tuple[Float[Tensor, "s b dx"], Float[Tensor, "s b dy"]]:
        """A batch of pairs for each generator; ``fresh`` uses rows that training never shows."""
        shape = (4, batch, self.slots + 1)
        uniform = torch.stack(
            [torch.rand(shape, generator=g, device=g.device) for g in generators], 1
        )
        labels = (uniform[0, ..., 1:] < 0.5).long()
        received = labels ^ (uniform[1, ..., 1:] < self.crossover(bits)).long()
        if self.x is self.y:  # one gather for both sides
            both = torch.stack([labels, received])
            return self.x.show(both.flatten(0, 1), uniform[2:].flatten(0, 1), fresh).chunk(2)
        return self.x.show(labels, uniform[2], fresh), self.y.show(received, uniform[3], fresh)

    def ratio_distribution(
        self, bits: float
    ) -> tuple[Float[np.ndarray, " slots+1"], Float[np.ndarray, " slots+1"]]:
        """The values of r (for 0, 1, ..., slots equal labels) and their q0-probabilities."""
        p, equal = self.crossover(bits), np.arange(self.slots + 1)
        ratios = (2 * (1 - p)) ** equal * (2 * p) ** (self.slots - equal)
        return ratios, binom.pmf(equal, self.slots, 0.5)

    def k_way_jsd(self, bits: float, k: int) -> float:
        """What InfoNCE with K = ``k`` can reach in expectation, in bits: exact."""
        return jsd_of_distribution(*self.ratio_distribution(bits), k)


@cache
def crossover(rate: float) -> float:
    """The p in [0, 1/2] of a binary symmetric channel that carries ``rate`` bits a use.

    >>> round(crossover(0.5), 4), crossover(1.0), crossover(0.0)
    (0.11, 0.0, 0.5)
    """
    if rate in (0.0, 1.0):
        return 0.5 if rate == 0 else 0.0

    def entropy(p: float) -> float:
        return -p * math.log2(p) - (1 - p) * math.log2(1 - p)

    return float(brentq(lambda p: 1 - entropy(p) - rate, 1e-300, 0.5, xtol=1e-300, rtol=1e-14))
