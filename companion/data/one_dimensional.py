r"""Pairs of numbers with additive noise, and a noisy circle.

For :math:`Y = X + N` with independent noise, :math:`I = h(Y) - h(N)`: an integral over a line.
The circle has no such form and is integrated over the plane.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import integrate, special, stats

from .known_task import Drawn


def entropy_on(points: np.ndarray, density: np.ndarray) -> float:
    r""":math:`-\int p\log p` by Simpson's rule on equidistant points."""
    return float(integrate.simpson(special.entr(density), x=points))


@dataclass(frozen=True)
class UniformNoise:
    """X uniform on [0, 1], noise uniform on [-width, width]; a closed form."""

    width: float

    def draw(self, n: int, rng: np.random.Generator) -> Drawn:
        """Independent pairs with the true log ratio."""
        x = rng.random(n)
        y = x + rng.uniform(-self.width, self.width, n)
        # The density of Y is the share of [0, 1] within reach of y, spread over 2 width.
        reach = np.minimum(1, y + self.width) - np.maximum(0, y - self.width)
        return Drawn(x, y, -np.log(reach))

    def nats(self) -> float:
        """The entropy of a trapezium less that of the noise."""
        short, long = sorted((1.0, 2 * self.width))
        return math.log(long) + short / (2 * long) - math.log(2 * self.width)


@dataclass(frozen=True)
class Bimodal:
    """X near -1 or +1, each with spread ``spread``; Gaussian noise of size ``noise``."""

    spread: float
    noise: float

    def _log_density(self, y: np.ndarray, scale: float) -> np.ndarray:
        both = stats.norm.logpdf(y, -1, scale), stats.norm.logpdf(y, 1, scale)
        return np.logaddexp(*both) - math.log(2)

    def draw(self, n: int, rng: np.random.Generator) -> Drawn:
        """Independent pairs with the true log ratio."""
        x = rng.choice([-1.0, 1.0], n) + self.spread * rng.standard_normal(n)
        y = x + self.noise * rng.standard_normal(n)
        own = stats.norm.logpdf(y, x, self.noise)
        return Drawn(x, y, own - self._log_density(y, math.hypot(self.spread, self.noise)))

    def nats(self) -> float:
        """h(Y) - h(N), integrated."""
        scale = math.hypot(self.spread, self.noise)
        y = np.linspace(-1 - 12 * scale, 1 + 12 * scale, 20_001)
        entropy = entropy_on(y, np.exp(self._log_density(y, scale)))
        return entropy - 0.5 * math.log(2 * math.pi * math.e * self.noise**2)


@dataclass(frozen=True)
class Circle:
    """(X, Y) on the unit circle, blurred by Gaussian noise; uncorrelated, and dependent."""

    noise: float

    def _log_joint(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        # The mean over the angle of the Gaussian density is a Bessel function of the radius.
        radius, var = np.hypot(x, y), self.noise**2
        bessel = np.log(special.i0e(radius / var)) + radius / var
        return bessel - (1 + radius**2) / (2 * var) - math.log(2 * math.pi * var)

    def _log_margin(self, x: np.ndarray) -> np.ndarray:
        angles = (np.arange(500) + 0.5) * math.pi / 500
        parts = stats.norm.logpdf(np.asarray(x)[..., None], np.cos(angles), self.noise)
        return special.logsumexp(parts, -1) - math.log(len(angles))

    def draw(self, n: int, rng: np.random.Generator) -> Drawn:
        """Independent pairs with the true log ratio."""
        angle = rng.uniform(0, 2 * math.pi, n)
        x, y = (f(angle) + self.noise * rng.standard_normal(n) for f in (np.cos, np.sin))
        knots = np.linspace(-1 - 9 * self.noise, 1 + 9 * self.noise, 2_001)
        margin = self._log_margin(knots)
        margins = (np.interp(values, knots, margin) for values in (x, y))
        return Drawn(x, y, self._log_joint(x, y) - sum(margins))

    def nats(self) -> float:
        """h(X) + h(Y) - h(X, Y); the joint entropy is an integral over the radius alone."""
        line = np.linspace(-1 - 10 * self.noise, 1 + 10 * self.noise, 2_001)
        margin = entropy_on(line, np.exp(self._log_margin(line)))
        radius = np.linspace(0, 1 + 12 * self.noise, 40_001)
        log_joint = self._log_joint(radius, np.zeros_like(radius))
        weight = -np.exp(log_joint) * log_joint * 2 * math.pi * radius
        return 2 * margin - float(integrate.simpson(weight, x=radius))
