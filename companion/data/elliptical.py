r"""Gaussian and Student vectors, seen through maps that keep the mutual information.

(X, Z) is multivariate Gaussian or Student with dispersion matrix :math:`\Sigma`. For the Gaussian
:math:`I = \tfrac12\log\frac{\det\Sigma_x\det\Sigma_z}{\det\Sigma}`; the Student distribution with
:math:`\nu` degrees of freedom adds a constant of :math:`\nu` and the dimensions alone, so its
coordinates are dependent even where they are uncorrelated. X and Z are then mapped, each by an
injective map, which changes nothing.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from jaxtyping import Float
from scipy import special, stats

from mi_lib.validate import one_of, whole_number

from .known_task import Drawn

Map = Callable[[np.ndarray], np.ndarray]

SPIRAL_SPEED = 1 / 3


def _spiral(z: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    """Turn the first two coordinates by an angle that grows with the squared length."""
    angle = SPIRAL_SPEED * (z**2).sum(1)
    turned = z.copy()
    turned[:, 0] = np.cos(angle) * z[:, 0] - np.sin(angle) * z[:, 1]
    turned[:, 1] = np.sin(angle) * z[:, 0] + np.cos(angle) * z[:, 1]
    return turned


def _swiss_roll(z: Float[np.ndarray, "n 1"]) -> Float[np.ndarray, "n 2"]:
    """The line, squeezed to an interval and rolled up in the plane."""
    t = 1.5 * np.pi * (1 + 2 * special.ndtr(z[:, 0]))
    return np.stack([t * np.cos(t), t * np.sin(t)], 1) / 10


MAPS: Mapping[str, Map] = MappingProxyType(
    {
        "identity": lambda z: z,
        "cubic": lambda z: z**3,
        "half-cube": lambda z: np.sign(z) * np.abs(z) ** 1.5,
        "cdf": special.ndtr,
        "asinh": np.arcsinh,
        "spiral": _spiral,
        "swiss-roll": _swiss_roll,
    }
)


def dense(dim: int, rho: float) -> Float[np.ndarray, "2d 2d"]:
    """Every coordinate of (X, Z) has correlation ``rho`` with every other."""
    return np.full((2 * dim, 2 * dim), rho) + (1 - rho) * np.eye(2 * dim)


def sparse(dim: int, pairs: int, rho: float) -> Float[np.ndarray, "2d 2d"]:
    """The first ``pairs`` coordinates of X and Z have correlation ``rho``; all else is zero."""
    if not 0 <= pairs <= dim:
        raise ValueError(f"pairs={pairs} of {dim} coordinates; pass a number from 0 to {dim}")
    matrix = np.eye(2 * dim)
    for i in range(pairs):
        matrix[i, dim + i] = matrix[dim + i, i] = rho
    return matrix


@dataclass(frozen=True, eq=False)
class Elliptical:
    """The distribution of (X, Y), Y a map of Z; ``nu`` is infinite for the Gaussian."""

    dispersion: Float[np.ndarray, "2d 2d"]
    nu: float = math.inf
    map_x: str = "identity"
    map_y: str = "identity"

    def __post_init__(self):
        whole_number(len(self.dispersion) // 2, "dim", 1)
        for name in ("map_x", "map_y"):
            one_of(name, getattr(self, name), MAPS)

    @property
    def dim(self) -> int:
        """Coordinates of X before its map, and of Z."""
        return len(self.dispersion) // 2

    def draw(self, n: int, rng: np.random.Generator) -> Drawn:
        """Independent pairs with the true log ratio, from the three densities."""
        d, sigma = self.dim, self.dispersion
        both = rng.standard_normal((n, 2 * d)) @ np.linalg.cholesky(sigma).T
        if math.isfinite(self.nu):
            both /= np.sqrt(rng.chisquare(self.nu, (n, 1)) / self.nu)
        x, z = both[:, :d], both[:, d:]
        ratio = self._log_density(both, sigma)
        ratio = ratio - self._log_density(x, sigma[:d, :d]) - self._log_density(z, sigma[d:, d:])
        return Drawn(MAPS[self.map_x](x), MAPS[self.map_y](z), ratio)

    def _log_density(self, z: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        if math.isfinite(self.nu):
            return np.atleast_1d(stats.multivariate_t.logpdf(z, shape=sigma, df=self.nu))
        return np.atleast_1d(stats.multivariate_normal.logpdf(z, cov=sigma))

    def nats(self) -> float:
        """The closed form."""
        d, sigma = self.dim, self.dispersion
        parts = [np.linalg.slogdet(s)[1] for s in (sigma[:d, :d], sigma[d:, d:], sigma)]
        gaussian = (parts[0] + parts[1] - parts[2]) / 2
        if not math.isfinite(self.nu):
            return float(gaussian)

        def term(dim: int) -> float:
            half = (self.nu + dim) / 2
            return half * special.digamma(half) - special.gammaln(half)

        return float(gaussian + 2 * term(d) - term(2 * d) - term(0))
