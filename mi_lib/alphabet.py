"""Distributions on a finite alphabet, and all the counts that draws from them can have.

One class serves floats and exact numbers (sympy, `fractions.Fraction`): what an expectation needs
of an alphabet is its symbols' probabilities, the logarithm, and the multinomial counts.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import sympy as sp
from jaxtyping import Float, Int
from scipy.special import gammaln, xlogy

from .normal_form import reduce
from .validate import nats_per

Numbers = Sequence[Any] | np.ndarray


def _as_array(values: Numbers) -> np.ndarray:
    try:
        return np.array(values, dtype=object)
    except RuntimeError:  # a tensor with a gradient, or on another device
        raise ValueError("a tensor cannot be read; pass one number per symbol") from None


def _as_numbers(values: Numbers, name: str, exact: bool) -> np.ndarray:
    """Nonnegative finite numbers: float64, or sympy objects when ``exact``."""
    array = _as_array(values)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}; pass one number per symbol")
    if exact:
        array = np.array([sp.sympify(v) for v in array], dtype=object)
        bad = [v for v in array if v.is_negative or v.is_finite is False]
    else:
        array = array.astype(float)
        bad = array[~(np.isfinite(array) & (array >= 0))]
    if len(bad):
        raise ValueError(f"{name} contains {bad[0]}; every entry must be finite and >= 0")
    return array


def is_exact(*groups: Numbers) -> bool:
    """Whether exact numbers are among the entries; mixing them with floats is refused."""
    if all(isinstance(g, np.ndarray) and g.dtype.kind in "fiu" for g in groups):
        return False
    entries = [v for group in groups for v in _as_array(group).ravel()]
    exact = any(isinstance(v, sp.Basic | Fraction) for v in entries)
    if exact and any(isinstance(v, float | np.floating) for v in entries):
        raise ValueError("floats and exact numbers are mixed; make all of them sympy numbers")
    return exact


def _distribution(values: Numbers, name: str, exact: bool) -> np.ndarray:
    array = _as_numbers(values, name, exact)
    excess = reduce(sum(array) - 1) if exact else array.sum() - 1
    if excess != 0 if exact else abs(excess) > 1e-9:
        raise ValueError(
            f"{name} sums to {excess + 1}, not 1; divide it by its sum, in float64 or exactly"
        )
    return array


class Alphabet:
    """The distributions q1 and q0 and a critic r on one alphabet, all floats or all exact.

    Without a critic, r is the true ratio q1/q0 (0 where both vanish).

    >>> Alphabet((0, 1), (0.75, 0.25)).r.tolist()
    [0.0, 4.0]
    """

    def __init__(self, q1: Numbers, q0: Numbers, r: Numbers | None = None, unit: str = "nats"):
        self.exact = is_exact(*([q1, q0] if r is None else [q1, q0, r]))
        self.q1 = _distribution(q1, "q1", self.exact)
        self.q0 = _distribution(q0, "q0", self.exact)
        if self.q1.shape != self.q0.shape:
            raise ValueError(f"q1 has {self.q1.size} symbols but q0 has {self.q0.size}")
        self.support = [i for i, p in enumerate(self.q1) if p != 0]
        if bad := [i for i in self.support if self.q0[i] == 0]:
            raise ValueError(
                f"symbol {bad[0]} has q0 = 0 but q1 = {self.q1[bad[0]]}: the ratio q1/q0 is "
                "infinite there; give q0 mass wherever q1 has some"
            )
        if r is None:
            zero = sp.Integer(0) if self.exact else 0.0
            r = [p / q if q != 0 else zero for p, q in zip(self.q1, self.q0, strict=True)]
        self.r = _as_numbers(r, "critic", self.exact)
        if self.r.shape != self.q1.shape:
            raise ValueError(f"the critic has {self.r.size} symbols but q1 has {self.q1.size}")
        if bad := [i for i in self.support if self.r[i] == 0]:
            raise ValueError(f"the critic is 0 at symbol {bad[0]}, where q1 > 0; make it positive")
        nats_per(unit)
        self.scale = {"bits": sp.log(2) if self.exact else math.log(2), "nats": 1}[unit]

    def log(self, value: Any) -> Any:
        """Natural logarithm of a number or an array."""
        if self.exact:
            return np.vectorize(sp.log, otypes=[object])(value)[()]
        return np.log(value)

    def draws(self, q: np.ndarray, total: int) -> tuple[Int[np.ndarray, "n symbols"], np.ndarray]:
        """All counts of ``total`` draws from the distribution ``q``, and their probabilities."""
        counts = compositions(total, q.size)
        if self.exact:
            weights = [
                _multinomial(c) * sp.prod(p**i for p, i in zip(q, c, strict=True))
                for c in counts.tolist()
            ]
            return counts, np.array(weights, dtype=object)
        log_weights = _log_multinomial(total, q.size) + xlogy(counts, q).sum(1)
        return counts, np.exp(log_weights)

    def mean(self, values: np.ndarray, q: np.ndarray) -> Any:
        """E_q[values], skipping symbols of probability zero."""
        return sum(p * v for p, v in zip(q, values, strict=True) if p != 0)

    def mean_log_r(self) -> Any:
        """E_q1[log r] in nats."""
        return sum(self.q1[i] * self.log(self.r[i]) for i in self.support)

    def answer(self, nats: Any) -> Any:
        """``nats`` in the unit asked for, exact results in a normal form."""
        if self.exact:
            return reduce(sp.expand_log(nats, force=True) / self.scale)
        return float(nats / self.scale)


@lru_cache(maxsize=32)
def compositions(total: int, parts: int) -> Int[np.ndarray, "n parts"]:
    """All ways to write ``total`` as an ordered sum of ``parts`` counts.

    >>> compositions(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    choices = list(combinations(range(total + parts - 1), parts - 1))
    bars = np.array(choices, dtype=np.int64).reshape(len(choices), parts - 1)
    edges = np.concatenate(
        [np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), total + parts - 1)], 1
    )
    counts = np.diff(edges, axis=1) - 1
    counts.flags.writeable = False  # shared by every caller
    return counts


@lru_cache(maxsize=32)
def _log_multinomial(total: int, parts: int) -> Float[np.ndarray, " n"]:
    """log of total! / (c_1! ... c_parts!) for every row of `compositions`."""
    return gammaln(total + 1) - gammaln(compositions(total, parts) + 1).sum(1)


def _multinomial(counts: Sequence[int]) -> int:
    return math.factorial(sum(counts)) // math.prod(math.factorial(c) for c in counts)
