"""Pairs of which one or both are discrete, and pairs that are independent."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import integrate, special

from .known_task import Drawn


@dataclass(frozen=True, eq=False)
class Table:
    """A joint table of probabilities; the symbols of X are words, those of Y numbers."""

    joint: Float[np.ndarray, "k l"]

    def draw(self, n: int, rng: np.random.Generator) -> Drawn:
        """Independent pairs with the true log ratio."""
        k, size = self.joint.shape
        cells = rng.choice(k * size, n, p=self.joint.ravel())
        ratio = self.joint / self.joint.sum(1, keepdims=True) / self.joint.sum(0)
        words = np.array([f"symbol {i}" for i in range(k)])
        return Drawn(words[cells // size], cells % size, np.log(ratio.ravel()[cells]))

    def nats(self) -> float:
        """H(X) + H(Y) - H(X, Y)."""
        margins = self.joint.sum(0), self.joint.sum(1)
        entropies = (special.entr(margin).sum() for margin in margins)
        return float(sum(entropies) - special.entr(self.joint).sum())


def symmetric_channel(symbols: int, error: float) -> Table:
    """A uniform symbol that stays with probability 1 - error, else becomes another one."""
    other = error / (symbols - 1)
    return Table(((1 - error - other) * np.eye(symbols) + other) / symbols)


def uneven_table() -> Table:
    """Five words and four numbers; common cells and rare ones."""
    weights = np.array([[i * j % 5 + 0.2 for j in range(1, 5)] for i in range(1, 6)])
    return Table(weights / weights.sum())


@dataclass(frozen=True)
class Staggered:
    """X one of ``symbols`` integers, Y uniform on [X, X + 2]: one discrete, one continuous."""

    symbols: int

    def draw(self, n: int, rng: np.random.Generator) -> Drawn:
        """Independent pairs with the true log ratio."""
        x = rng.integers(0, self.symbols, n)
        y = x + rng.uniform(0, 2, n)
        cell = np.floor(y)
        covers = np.where((cell == 0) | (cell == self.symbols), 1, 2)
        return Drawn(x, y, np.log(self.symbols) - np.log(covers))

    def nats(self) -> float:
        """All but the two outer cells are shared by two symbols."""
        return math.log(self.symbols) - (self.symbols - 1) / self.symbols * math.log(2)


@dataclass(frozen=True)
class InflatedPoisson:
    """X exponential; Y is 0 with probability ``zero``, else Poisson with mean X."""

    zero: float

    def _log_chance(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """log p(y | x)."""
        poisson = special.xlogy(y, x) - x - special.gammaln(y + 1) + math.log1p(-self.zero)
        return np.where(y == 0, np.logaddexp(poisson, math.log(self.zero)), poisson)

    def _log_margin(self, y: np.ndarray) -> np.ndarray:
        """A Poisson number of exponential mean is geometric: 2^-(y + 1)."""
        geometric = math.log1p(-self.zero) - (y + 1) * math.log(2)
        return np.where(y == 0, np.logaddexp(geometric, math.log(self.zero)), geometric)

    def draw(self, n: int, rng: np.random.Generator) -> Drawn:
        """Independent pairs with the true log ratio."""
        x = rng.exponential(1, n)
        y = np.where(rng.random(n) < self.zero, 0, rng.poisson(x))
        return Drawn(x, y, self._log_chance(x, y) - self._log_margin(y))

    def nats(self) -> float:
        """H(Y) - H(Y | X): a sum over counts, an integral over x."""
        y = np.arange(400)

        def spread(x: float) -> float:
            log_chance = self._log_chance(np.float64(x), y)
            return float(-(np.exp(log_chance) * log_chance).sum() * math.exp(-x))

        margin = self._log_margin(y)
        inner = integrate.quad(spread, 0, 60, limit=400, points=[0.1, 1, 5, 20])[0]
        return float(-(np.exp(margin) * margin).sum() - inner)


@dataclass(frozen=True)
class Independent:
    """X and Y drawn by two functions of (n, generator), apart from each other."""

    draw_x: Callable[[int, np.random.Generator], np.ndarray]
    draw_y: Callable[[int, np.random.Generator], np.ndarray]

    def draw(self, n: int, rng: np.random.Generator) -> Drawn:
        """Independent pairs; their ratio is 1."""
        return Drawn(self.draw_x(n, rng), self.draw_y(n, rng), np.zeros(n))

    def nats(self) -> float:
        """Nothing."""
        return 0.0
