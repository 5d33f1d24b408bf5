"""The rules of the library beside their generating functions, and the excess risk of a critic
written out over all n^K tuples from the latter.

`finite.anchored_risk` gives the left sides of Theorems 6 and 19; these are the right sides, and no
formula is shared.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import sympy as sp

from mi_lib import finite, normal_form
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

from .. import symbolic
from ..adversary import Pair
from ..symbolic import Generating, class_symbols

GRID = ((1, 0.5), (1, 1.0), (2, 0.5), (2, 3.0), (3, 1.0), (3, 2.0))  # pairs (K, nu)
HALF = sp.Rational(1, 2)


@dataclass(frozen=True)
class Member:
    """A rule in torch, the function it comes from, and the constants it leaves out.

    ``psi`` is a function of ratios; ``phi``, for a symmetric rule, one of class probabilities.
    ``missing(m)`` are the constants (class 0, classes 1..m) that the induced rule has on top.
    """

    name: str
    rule: ScoringRule
    psi: Generating
    phi: Generating | None = None
    missing: Callable[[int], tuple[int, int]] = lambda m: (0, 0)

    def lost(self, k: int, nu: float) -> float:
        """The part of the population loss that the missing constants make up."""
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


# The right sides, written out over all tuples.


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
    """B_f(at, of) of each row."""
    value = numeric(f, at.shape[1])
    return value(*at.T) - value(*of.T) - (gradient(f, of) * (at - of)).sum(1)


def tuples(q0: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """All n^K tuples of letters and their probabilities under q0."""
    rows = np.array(list(product(range(q0.size), repeat=k)))
    return rows, q0[rows].prod(1)


def psi_mean(psi: Generating, q1: np.ndarray, q0: np.ndarray, k: int, nu: float) -> float:
    """E[Psi(r*/nu)] over q0^K."""
    rows, weights = tuples(q0, k)
    return float((weights * numeric(psi, k)(*((q1 / q0)[rows] / nu).T)).sum())


def psi_excess(
    psi: Generating, r: np.ndarray, q1: np.ndarray, q0: np.ndarray, k: int, nu: float
) -> float:
    """E[B_Psi(r*/nu, r/nu)] over q0^K: Theorem 6 without its factor."""
    rows, weights = tuples(q0, k)
    return float((weights * distortion(psi, (q1 / q0)[rows] / nu, r[rows] / nu)).sum())


def _posteriors(r: np.ndarray, rows: np.ndarray, nu: float) -> tuple[np.ndarray, np.ndarray]:
    """Class probabilities of each tuple, without class 0 when nu = 0, and nu + sum of r."""
    scores = r[rows]
    if nu > 0:
        scores = np.concatenate([np.full((len(rows), 1), nu), scores], 1)
    total = scores.sum(1, keepdims=True)
    return scores / total, total[:, 0]


def phi_excess(
    phi: Generating, r: np.ndarray, q1: np.ndarray, q0: np.ndarray, k: int, nu: float, swap=False
) -> float:
    """E[B_Phi(eta*, eta)] over the mixture of the classes (Theorem 19)."""
    rows, weights = tuples(q0, k)
    star, total = _posteriors(q1 / q0, rows, nu)
    eta, _ = _posteriors(r, rows, nu)
    pair = (eta, star) if swap else (star, eta)
    return float((weights * total / (k + nu) * distortion(phi, *pair)).sum())


def phi_mean(phi: Generating, q1: np.ndarray, q0: np.ndarray, k: int, nu: float) -> float:
    """E[Phi(eta*)] over the mixture of the classes."""
    rows, weights = tuples(q0, k)
    star, total = _posteriors(q1 / q0, rows, nu)
    return float((weights * total / (k + nu) * numeric(phi, star.shape[1])(*star.T)).sum())


def cases(seed: int, count: int = 2) -> Iterator[tuple[Pair, np.ndarray]]:
    """Random pairs on two and three letters, no letter rare, each with a critic off by about 2."""
    rng = np.random.default_rng(seed)
    for letters in (2, 3):
        for _ in range(count):
            q1, q0 = 0.7 * rng.dirichlet(np.ones(letters), 2) + 0.3 / letters
            yield (q1, q0), q1 / q0 * np.exp(0.7 * rng.normal(size=letters))


def gap(member: Member, r: np.ndarray, pair: Pair, k: int, nu: float) -> float:
    """Excess risk of the critic r over the true ratio."""
    q1, q0 = pair
    best = finite.anchored_risk(q1 / q0, q1, q0, k, nu, member.rule)
    return finite.anchored_risk(r, q1, q0, k, nu, member.rule) - best


def relative(left: float, right: float) -> float:
    """Difference as a share of the larger of 1 and the right side."""
    return (left - right) / max(1.0, abs(right))


def truth(classes: int) -> tuple[sp.Expr, ...]:
    """Symbolic class probabilities that sum to 1."""
    star = class_symbols(classes, "s")
    return (1 - sum(star[1:]), *star[1:])


def undefined(name: str) -> Generating:
    """An arbitrary smooth function of any number of variables."""
    return lambda values: normal_form.arbitrary(name)(*values)
