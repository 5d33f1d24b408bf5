"""Theorem 6, what is said after it, and Proposition 20: the excess risk is a Bregman divergence."""

from collections.abc import Callable
from functools import cache
from itertools import product

import numpy as np
import sympy as sp
from scipy.optimize import minimize

from mi_lib import finite, normal_form
from mi_lib.scoring import InverseLog

from .. import symbolic
from ..adversary import Pair
from ..symbolic import class_symbols
from .excess_risk import (
    ASYMMETRIC,
    GRID,
    HALF,
    MEMBERS,
    SYMMETRIC,
    Member,
    cases,
    gap,
    gradient,
    numeric,
    psi_excess,
    psi_mean,
    relative,
    truth,
    tuples,
    undefined,
)
from .registry import Part, claim, extreme, identity

PAGE = "theory/density_ratios"


@claim(
    "thm-6-excess",
    item="Theorem 6, excess risk",
    label="thm:bregman",
    statement=r"For $\nu>0$ the excess risk of a critic is "
    r"$\frac{\nu}{K+\nu}\E_{\qzero^K}\bigl[B_\Psi(r^*/\nu,\, r_\theta/\nu)\bigr]$",
    page=PAGE,
    recorded="holds",
    twin={"weight": lambda k, nu: 1 / (k + nu)},
    twin_says="1/(K+nu) in front",
)
def excess(weight: Callable = lambda k, nu: nu / (k + nu)) -> list[Part]:
    """Pointwise for an arbitrary Psi; in expectation for every rule of the library."""
    numbers = [
        (
            relative(
                gap(member, r, pair, k, nu), weight(k, nu) * psi_excess(member.psi, r, *pair, k, nu)
            ),
            f"{member.name}, K={k}, nu={nu}",
        )
        for member in MEMBERS
        for k, nu in GRID
        for pair, r in cases(1, 1)
    ]
    exact = [left - weight(k, HALF) * right for k, left, right in _two_letters()]
    return [
        identity("regret = eta0* B_Psi(rho*, rho) for any Psi (2 to 4 classes)", *_pointwise()),
        identity("log (K = 1), KLIEP, inverse log (K = 2), two letters: exact", *exact),
        extreme("all 14 rules, six (K, nu), random pairs and critics", "equal", numbers, 1e-8),
    ]


@cache
def _pointwise() -> list[sp.Expr]:
    """Regret minus eta0* B_Psi for an undefined Psi of 1, 2 and 3 ratios."""
    psi, residuals = undefined("Psi"), []
    for m in (1, 2, 3):
        eta, star, rho = class_symbols(m + 1), truth(m + 1), class_symbols(m + 1, "rho")[1:]
        at = {r: e / eta[0] for r, e in zip(rho, eta[1:], strict=True)}
        breg = symbolic.bregman(psi, rho, [s / star[0] for s in star[1:]]).subs(at)
        rule = symbolic.rule_from_psi(psi, eta)
        residuals.append(symbolic.regret(rule, eta, star) - star[0] * breg)
    return residuals


@cache
def _two_letters() -> list[tuple[int, sp.Expr, sp.Expr]]:
    """K, excess risk and E[B_Psi] for unknown laws and critic on two letters, nu = 1/2."""
    a, b, u, v = sp.symbols("a b u v", positive=True)
    q1, q0, r, nu, sides = (a, 1 - a), (b, 1 - b), (u, v), HALF, []
    star = [p / q for p, q in zip(q1, q0, strict=True)]
    for member, k in ((SYMMETRIC[0], 1), (ASYMMETRIC[0], 2), (ASYMMETRIC[-1], 2)):
        left = finite.anchored_risk(r, q1, q0, k, nu, member.rule)
        left -= finite.anchored_risk(star, q1, q0, k, nu, member.rule)
        rho, right = class_symbols(k + 1, "rho")[1:], 0
        for x in product(range(2), repeat=k):
            at = {symbol: r[i] / nu for symbol, i in zip(rho, x, strict=True)}
            breg = symbolic.bregman(member.psi, rho, [star[i] / nu for i in x]).subs(at)
            right += sp.prod(q0[i] for i in x) * breg
        sides.append((k, left, right))
    return sides


@claim(
    "thm-6-bayes",
    item="Theorem 6, optimal value",
    label="thm:bregman",
    statement=r"$-\Loss^\Psi_{K;\nu}(\eta^*) = "
    r"\frac{\nu}{K+\nu}\E_{\qzero^K}\bigl[\Psi(r^*/\nu)\bigr]$",
    page=PAGE,
    recorded="holds",
    twin={"constants": False},
    twin_says="also for rules that drop class constants",
)
def optimal_value(constants: bool = True) -> list[Part]:
    """What the best critic reaches; a constant in a class's loss enters with the class's prior."""
    psi, pointwise = undefined("Psi"), []
    for m in (1, 2, 3):
        eta, rho = class_symbols(m + 1), class_symbols(m + 1, "rho")[1:]
        at = {r: e / eta[0] for r, e in zip(rho, eta[1:], strict=True)}
        best = symbolic.bayes_risk(symbolic.rule_from_psi(psi, eta), eta)
        pointwise.append(best + eta[0] * psi(rho).subs(at))
    numbers = [
        (
            relative(
                -finite.anchored_risk(pair[0] / pair[1], *pair, k, nu, member.rule)
                - constants * member.lost(k, nu),
                nu / (k + nu) * psi_mean(member.psi, *pair, k, nu),
            ),
            f"{member.name}, K={k}, nu={nu}",
        )
        for member in MEMBERS
        for k, nu in GRID
        for pair, _ in cases(2, 1)
    ]
    return [
        identity("pointwise Bayes risk = -eta0 Psi(rho) for any Psi (2 to 4 classes)", *pointwise),
        extreme("all 14 rules, six (K, nu), random pairs", "equal", numbers, 1e-8),
    ]


def recovered(member: Member, pair: Pair, k: int, nu: float) -> np.ndarray:
    """The critic that minimises the population loss, found by descent from r = 1."""
    best = minimize(
        lambda c: finite.anchored_risk(np.exp(c), *pair, k, nu, member.rule),
        np.zeros(pair[0].size),
        options={"gtol": 1e-9},
    )
    return np.exp(best.x)


@cache
def _landing(member: Member) -> np.ndarray:
    """Where descent ends on two letters, K = 2 and nu = 1/2, as a share of the true ratio."""
    q1, q0 = np.array([0.2, 0.8]), np.array([0.6, 0.4])
    return recovered(member, (q1, q0), 2, 0.5) * q0 / q1


@claim(
    "thm-6-equality",
    item="Theorem 6, equality case",
    label="thm:bregman",
    statement=r"For strictly convex $\Psi$ the optimal value is reached if and only if "
    r"$r_\theta = \qone/\qzero$ (wherever $\qzero > 0$)",
    page=PAGE,
    recorded="holds",
    twin={"multiple": 1.05},
    twin_says="at 1.05 times the ratio",
)
def equality(multiple: float = 1.0) -> list[Part]:
    """Below it is impossible, elsewhere it is strict, and descent ends there."""
    q1, q0 = np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.3, 0.2])
    target, above, found, missed = multiple * q1 / q0, [], [], []
    for member in MEMBERS:
        for k, nu in ((1, 1.0), (3, 2.0)):
            note = f"{member.name}, K={k}"
            near = target * np.array([1.05, 1.0, 1.0])
            missed.append((1e4 * gap(member, near, (q1, q0), k, nu), note))
        above += [(gap(member, r, pair, 2, 0.5), member.name) for pair, r in cases(3, 2)]
        found.append((float(np.abs(np.log(_landing(member) / multiple)).max()), member.name))
    d1, d2, b = sp.symbols("d1 d2 b", positive=True)
    law = (b, 1 - b)
    square = sum(
        law[i] * law[j] * (d + e) ** 2
        for i, d in enumerate((d1, d2))
        for j, e in enumerate((d1, d2))
    )
    second, first = b * d1**2 + (1 - b) * d2**2, b * d1 + (1 - b) * d2
    t = sp.Symbol("t", positive=True)
    tie = symbolic.bregman(
        lambda v: sp.Piecewise((0, v[0] < 2), ((v[0] - 2) ** 3, True)), (t,), (3 * HALF,)
    )
    zero = np.array([0.0, 1.0]), np.array([0.5, 0.5])  # q1 misses a letter
    slide = [
        finite.anchored_risk((10.0**-n, 2.0), *zero, 1, 1, InverseLog()) for n in range(0, 60, 10)
    ]
    return [
        extreme("excess >= 0, random critics", "bound", above),
        extreme("descent on the log critic ends at the ratio (K = 2)", "equal", found, 1e-4),
        extreme("strict when one letter is 5 % off (in 1e-4)", "strict", missed, 1e-3),
        identity(
            "Psi flat below 2: r = 1/2 and r = 1 tie with r* = 3/2",
            *(tie.subs(t, r) for r in (HALF, 1)),
            role="support",
        ),
        identity(
            "(rho_1 + rho_2)^2: excess 2 E[d^2] + 2 E[d]^2, 0 only at r*",
            square - 2 * second - 2 * first**2,
            role="support",
        ),
        extreme(
            "q1 = (0, 1) with inverse log: the loss falls without end",
            "strict",
            [(-step, "a step of 10^10 in r") for step in np.diff(slide)],
            1.0,
            role="support",
        ),
    ]


@claim(
    "thm-6-divergence",
    item="After Theorem 6, the divergence",
    statement=r"$-\Loss^\Psi_{K;\nu}$ is a lower bound of the divergence "
    r"$\E_{\qzero^K}\bigl[\Psi(r^*/\nu)\bigr]$",
    page=PAGE,
    recorded="holds with correction",
    twin={"reference": 2.0},
    twin_says="corrected with Psi(2/nu) in place of Psi(1/nu)",
)
def divergence(reference: float = 1.0) -> list[Part]:
    """It becomes a divergence after subtracting its value at q1 = q0, and with the factor."""
    above, at_equal, gain, positive, null = [], [], [], [], []
    for member in MEMBERS:
        for k, nu in GRID[:4]:
            note = f"{member.name}, K={k}"
            silent = float(numeric(member.psi, k)(*np.full(k, reference / nu)))
            for (q1, q0), _ in cases(4, 1):
                mean = psi_mean(member.psi, q1, q0, k, nu)
                best = finite.anchored_risk(q1 / q0, q1, q0, k, nu, member.rule)
                above.append((mean + best + member.lost(k, nu), note))
                d = nu / (k + nu) * (mean - silent)
                idle = finite.anchored_risk(np.ones(q0.size), q1, q0, k, nu, member.rule)
                gain.append((relative(idle - best, d), note))
                positive.append((d, note))
            at_equal.append((psi_mean(member.psi, q0, q0, k, nu), note))
            null.append((at_equal[-1][0] - silent, note))
    return [
        extreme("minus the loss stays below E Psi(r*/nu)", "bound", above),
        extreme("E Psi(r*/nu) vanishes for q1 = q0", "equal", at_equal),
        extreme(
            "L(1) - L(r*) = nu/(K+nu) (E Psi(r*/nu) - Psi(1/nu))",
            "equal",
            gain,
            1e-8,
            role="correction",
        ),
        extreme("which is positive for these q1 != q0", "strict", positive, 1e-4, "correction"),
        extreme("and vanishes for q1 = q0", "equal", null, 1e-9, "correction"),
    ]


@claim(
    "prop-20",
    item="Proposition 20",
    statement=r"If $\lambda$ treats the classes $1,\dots,K$ alike, the loss is "
    r"$\frac{K}{K+\nu}\E[\lambda_1] + \frac{\nu}{K+\nu}\E[\lambda_0]$",
    page=PAGE,
    recorded="holds",
    twin={"alike": False},
    twin_says="for a rule that treats them differently",
)
def symmetry(alike: bool = True) -> list[Part]:
    """Swapping x_1 and x_z carries class z to class 1; no property of the functions is used."""
    nu, a, b, u, v = sp.symbols("nu a b u v", positive=True)
    q1, q0, r, general = (a, 1 - a), (b, 1 - b), (u, v), []
    for k in (1, 2, 3):
        full = short = 0
        for x in product(range(2), repeat=k):
            eta = [nu, *(r[i] for i in x)]  # up to their sum, which is symmetric
            anchor = sp.prod(q0[i] for i in x)
            for z in range(k + 1):
                swapped = [nu, *(r[i] for i in x)]
                if z:
                    swapped[1], swapped[z] = eta[z], eta[1]
                name = f"lambda_{min(z, 1) if alike else z}"
                density = anchor * (q1[x[z - 1]] / q0[x[z - 1]] if z else 1)
                full += (1 if z else nu) * density * normal_form.arbitrary(name)(*swapped)
            density = anchor * q1[x[0]] / q0[x[0]]
            short += k * density * normal_form.arbitrary("lambda_1")(*eta)
            short += nu * anchor * normal_form.arbitrary("lambda_0")(*eta)
        general.append(full - short)
    numbers = []
    for member in MEMBERS:
        for k, nu_ in ((2, 0.5), (3, 2.0)):
            for (p1, p0), r_ in cases(6, 1):
                value = _all_classes(member, r_, (p1, p0), k, nu_)
                short = finite.anchored_risk(r_, p1, p0, k, nu_, member.rule)
                numbers.append((relative(value, short + member.lost(k, nu_)), member.name))
    return [
        identity("any lambda_0 and lambda_1, two letters (K = 1, 2, 3)", *general),
        extreme("14 rules: sum over all K + 1 classes", "equal", numbers, 1e-8),
    ]


def _all_classes(member: Member, r: np.ndarray, pair: Pair, k: int, nu: float) -> float:
    """E over p(x, z) of the induced rule, class by class, from the generating function."""
    q1, q0 = pair
    rows, anchor = tuples(q0, k)
    rho = r[rows] / nu
    slopes = gradient(member.psi, rho)
    total = nu * (anchor * ((rho * slopes).sum(1) - numeric(member.psi, k)(*rho.T))).sum()
    for z in range(k):
        total -= (anchor * (q1 / q0)[rows[:, z]] * slopes[:, z]).sum()
    return float(total / (k + nu))
