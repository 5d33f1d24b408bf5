r"""Correlated Gaussian pairs with a known mutual information, and transforms that keep it.

X and Z are standard normal in d dimensions with correlation rho in each coordinate, so
:math:`I = -\tfrac d2\log(1-\rho^2)`; Y is Z after an invertible map of each coordinate, which
leaves I and the ratio at corresponding points unchanged.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import torch
from jaxtyping import Float
from torch import Tensor

from mi_lib.validate import one_of, real_number, whole_number

TRANSFORMS: Mapping[str, Callable[[Tensor], Tensor]] = MappingProxyType(
    {
        "identity": lambda z: z,
        "cubic": lambda z: z**3,
        "half-cube": lambda z: z.sign() * z.abs() ** 1.5,
        "asinh": torch.asinh,
        "cdf": torch.special.ndtr,
    }
)


@dataclass(frozen=True)
class Gaussian:
    """The task: ``dim`` coordinates, Y transformed by ``transform``; levels are in bits."""

    dim: int = 10
    transform: str = "identity"

    def __post_init__(self):
        whole_number(self.dim, "dim", 1)
        one_of("transform", self.transform, TRANSFORMS)

    @property
    def x_dim(self) -> int:
        """Dimension of X."""
        return self.dim

    @property
    def y_dim(self) -> int:
        """Dimension of Y."""
        return self.dim

    def correlation(self, bits: float) -> float:
        r"""The correlation of each coordinate at a level: :math:`\sqrt{1 - 2^{-2I/d}}`.

        >>> round(Gaussian(1).correlation(0.5), 4)
        0.7071
        """
        real_number(bits, "bits", at_least=0.0)
        return math.sqrt(-math.expm1(-2 * bits * math.log(2) / self.dim))

    def draw(
        self, bits: float, batch: int, generators: Sequence[torch.Generator], fresh: bool = False
    ) -> tuple[Float[Tensor, "s b d"], Float[Tensor, "s b d"]]:
        """A batch of pairs for each generator, on that generator's device; every draw is fresh."""
        noise = torch.stack(
            [torch.randn(2, batch, self.dim, generator=g, device=g.device) for g in generators]
        )
        rho = self.correlation(bits)
        x, z = noise[:, 0], rho * noise[:, 0] + math.sqrt(1 - rho**2) * noise[:, 1]
        return x, TRANSFORMS[self.transform](z)

    def log_ratio(self, x: Float[Tensor, "b d"], z: Float[Tensor, "c d"], bits: float) -> Tensor:
        r"""The true :math:`\log\frac{p(x,y)}{p(x)p(y)}` (nats) of every x with every untransformed
        z: the exact critic of this task."""
        rho = self.correlation(bits)
        var = 1 - rho**2
        squares = x.square().sum(-1)[:, None] + z.square().sum(-1)[None, :]
        inner = x @ z.T
        quadratic = (2 * rho * inner - rho**2 * squares) / (2 * var)
        return quadratic - 0.5 * self.dim * math.log(var)
