r"""What a task with a known mutual information is.

A task draws pairs and says, at each of them, what the true
:math:`\log\frac{p(x,y)}{p(x)p(y)}` is. The mean of that over many draws must agree with the stated
mutual information, which comes from a closed form or from an integral: the two share no code.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from jaxtyping import Float

from mi_lib.validate import nats_per


class Drawn(NamedTuple):
    """Pairs, and the true log ratio at each, in nats."""

    x: Any
    y: Any
    log_ratio: Float[np.ndarray, " n"]


class Distribution(Protocol):
    """A joint distribution of (X, Y)."""

    def draw(self, n: int, rng: np.random.Generator) -> Drawn: ...

    def nats(self) -> float: ...


@dataclass(frozen=True)
class KnownTask:
    """A distribution with a name, a family, and the half of the suite that the family is in."""

    name: str
    family: str
    half: str
    distribution: Distribution

    def draw(self, n: int, seed: int) -> Drawn:
        """``n`` independent pairs; the same seed gives the same pairs."""
        # The name is part of the stream: tasks of one seed are independent of each other.
        return self.distribution.draw(n, np.random.default_rng([seed, *self.name.encode()]))

    def mi(self, unit: str = "bits") -> float:
        """The true mutual information."""
        return self.distribution.nats() / nats_per(unit)
