"""The library's fourteen scoring rules, each beside the function that generates it.

The two share no formula: a rule of `mi_lib.scoring` is written out in torch, its generating
function in sympy. `excess_risk` reads the first, `distortion` the second.

>>> members = {member.name: member for member in MEMBERS}
>>> len(members)
14
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import sympy as sp

from mi_lib import finite
from mi_lib.scoring import (
    InverseLog,
    Kliep,
    Log,
    Power,
    PseudoSpherical,
    RobustDRE,
    ScoringRule,
    SymmetricInverseLog,
)

from . import symbolic
from .adversary import Pair
from .symbolic import Generating, class_symbols

HALF = sp.Rational(1, 2)
GRID = ((1, 0.5), (1, 1.0), (2, 0.5), (2, 3.0), (3, 1.0), (3, 2.0))  # pairs (K, nu)


@dataclass(frozen=True)
class Member:
    """A rule in torch, the function it comes from, and the class constants it leaves out.

    ``psi`` is a function of ratios; ``phi``, for a symmetric rule, one of class probabilities.
    ``missing(m)`` are the constants (class 0, classes 1..m) that the induced rule has on top.
    """

    name: str
    rule: ScoringRule
    psi: Generating
    phi: Generating | None = None
    missing: Callable[[int], tuple[int, int]] = lambda m: (0, 0)

    def lost(self, k: int, nu: float) -> float:
        """What the missing constants amount to in the expected loss."""
        first, other = self.missing(k)
        return (nu * first + k * other) / (k + nu)


def _symmetric(name: str, rule: ScoringRule, phi: Generating, **kwargs) -> Member:
    return Member(name, rule, symbolic.perspective(phi), phi, **kwargs)


SYMMETRIC = (
    _symmetric("log", Log(), symbolic.log_phi),
    *(
        _symmetric(f"power {a}", Power(float(a)), symbolic.power_phi(a))
        for a in (sp.Integer(-1), HALF, sp.Integer(2), sp.Integer(3))
    ),
    *(
        _symmetric(
            f"pseudo-spherical {a}", PseudoSpherical(float(a)), symbolic.pseudo_spherical_phi(a)
        )
        for a in (sp.Integer(-1), HALF, sp.Integer(2))
    ),
    _symmetric(
        "symmetric inverse log",
        SymmetricInverseLog(),
        symbolic.symmetric_inverse_log_phi,
        missing=lambda m: (-m - 1, -m - 1),
    ),
)
ASYMMETRIC = (
    Member("KLIEP", Kliep(), symbolic.kliep_psi, missing=lambda m: (0, -1)),
    *(
        Member(f"robust DRE {a}", RobustDRE(float(a)), symbolic.robust_psi(a))
        for a in (sp.Integer(-1), HALF, sp.Integer(2))
    ),
    Member("inverse log", InverseLog(), symbolic.inverse_log_psi, missing=lambda m: (-m, 0)),
)
MEMBERS = SYMMETRIC + ASYMMETRIC


def excess_risk(member: Member, r: np.ndarray, pair: Pair, k: int, nu: float) -> float:
    """Expected loss of the critic r above that of the true ratio, as the torch code computes it."""
    q1, q0 = pair
    best = finite.anchored_risk(q1 / q0, q1, q0, k, nu, member.rule)
    return finite.anchored_risk(r, q1, q0, k, nu, member.rule) - best


@cache
def numeric(f: Generating, size: int) -> Callable:
    """A generating function of ``size`` variables as a function of arrays, one a variable."""
    variables = class_symbols(size, "v")
    return sp.lambdify(variables, f(variables))


def gradient(f: Generating, at: np.ndarray) -> np.ndarray:
    """Its gradient at each row, by a complex step: exact to rounding for analytic functions."""
    steps = at.T[:, None] + 1e-30j * np.eye(at.shape[1])[:, :, None]  # variable, direction, row
    return (numeric(f, at.shape[1])(*steps).imag / 1e-30).T


def distortion(f: Generating, at: np.ndarray, of: np.ndarray) -> np.ndarray:
    """B_f(at, of) = f(at) - f(of) - <grad f(of), at - of>, for each row."""
    value = numeric(f, at.shape[1])
    return value(*at.T) - value(*of.T) - (gradient(f, of) * (at - of)).sum(1)


def tuples(q0: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """All n^K tuples of symbols, one a row, and their probabilities under q0^K."""
    rows = np.array(list(product(range(q0.size), repeat=k)))
    return rows, q0[rows].prod(1)


def cases(seed: int, count: int = 2) -> Iterator[tuple[Pair, np.ndarray]]:
    """Random pairs on two and three symbols, none rare, each with a critic off by about 2."""
    rng = np.random.default_rng(seed)
    for symbols in (2, 3):
        for _ in range(count):
            q1, q0 = 0.7 * rng.dirichlet(np.ones(symbols), 2) + 0.3 / symbols
            yield (q1, q0), q1 / q0 * np.exp(0.7 * rng.normal(size=symbols))
