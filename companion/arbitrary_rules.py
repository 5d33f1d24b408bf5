"""Arbitrary scoring rules and points of the simplex, for claims about every rule at once.

Also the rules of the paper's Tables 3 and 4 as they are printed, for any number of classes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import sympy as sp

from mi_lib.normal_form import arbitrary

from .symbolic import (
    Expressions,
    Generating,
    bayes_risk,
    class_symbols,
    g,
    generating_function,
    regret,
    rule_from_psi,
)

ALPHA = sp.Symbol("alpha", real=True)
HALF, THIRD = sp.Rational(1, 2), sp.Rational(1, 3)
Symbols = tuple[sp.Symbol, ...]


def arbitrary_rule(eta: Sequence[sp.Symbol], name: str = "lambda") -> tuple[sp.Expr, ...]:
    """One arbitrary function of all class probabilities for each class.

    >>> arbitrary_rule(sp.symbols("a b"), "h")
    (h0(a, b), h1(a, b))
    """
    return tuple(arbitrary(f"{name}{z}")(*eta) for z in range(len(eta)))


def arbitrary_psi(rho: Expressions) -> sp.Expr:
    """An arbitrary function of the ratios."""
    return arbitrary("Psi")(*rho)


def simplex(ratios: Expressions) -> tuple[sp.Expr, ...]:
    """The class probabilities (1, rho) / (1 + sum rho), which sum to 1 by construction."""
    total = 1 + sum(ratios)
    return (1 / total, *(r / total for r in ratios))


def at(expression: sp.Expr, variables: Sequence[sp.Symbol], values: Expressions) -> sp.Expr:
    """The expression with all variables replaced at once."""
    return expression.subs(dict(zip(variables, values, strict=True)), simultaneous=True)


def inner(left: Expressions, right: Expressions) -> sp.Expr:
    """The inner product <left, right>."""
    return sum(a * b for a, b in zip(left, right, strict=True))


def ratio_symbols(classes: int) -> tuple[Symbols, Symbols]:
    """Ratios rho_1.. of a report and sigma_1.. of a truth."""
    return class_symbols(classes, "rho")[1:], class_symbols(classes, "sigma")[1:]


def regret_between(rule: Expressions, classes: int) -> sp.Expr:
    """Regret of the report with ratios rho when the truth has ratios sigma."""
    eta, (rho, sigma) = class_symbols(classes), ratio_symbols(classes)
    return at(regret(rule, eta, simplex(sigma)), eta, simplex(rho))


class InRatios(NamedTuple):
    """A rule at the report with the ratios rho, its generating function and the way back."""

    rho: Symbols
    eta: tuple[sp.Expr, ...]  # (1, rho) / (1 + sum rho)
    losses: list[sp.Expr]  # lambda(eta)
    gradient: list[sp.Expr]  # g(eta)
    psi: sp.Expr  # Psi^lambda(rho)
    induced: list[sp.Expr]  # the rule that Psi^lambda induces


def in_ratios(classes: int) -> InRatios:
    """An arbitrary rule as a function of ratios, with its generating function, spelt out."""
    symbols, (rho, _) = class_symbols(classes), ratio_symbols(classes)
    rule, eta = arbitrary_rule(symbols), simplex(rho)
    psi = generating_function(rule, symbols)
    here = [
        [at(x, symbols, eta) for x in expressions]
        for expressions in (rule, g(rule, symbols), rule_from_psi(psi, symbols))
    ]
    return InRatios(rho, eta, here[0], here[1], psi(rho), here[2])


class InducedRule(NamedTuple):
    """The rule that an arbitrary Psi induces, and Psi's second derivatives at its ratios."""

    eta: Symbols
    rho: tuple[sp.Expr, ...]  # eta_z / eta_0
    losses: tuple[sp.Expr, ...]
    hessian: sp.Matrix


def induced_rule(classes: int) -> InducedRule:
    """lambda^Psi of an arbitrary Psi, in terms of eta."""
    eta, (rho, _) = class_symbols(classes), ratio_symbols(classes)
    here, psi = tuple(e / eta[0] for e in eta[1:]), arbitrary_psi(rho)
    hessian = sp.Matrix([[at(sp.diff(psi, a, b), rho, here) for b in rho] for a in rho])
    return InducedRule(eta, here, rule_from_psi(arbitrary_psi, eta), hessian)


def negative_bayes_risk(rule: Expressions, eta: Sequence[sp.Symbol]) -> Generating:
    """-f^lambda as a function of class probabilities."""
    return lambda values: at(-bayes_risk(rule, eta), eta, values)


def tangent(vector: Expressions, eta: Expressions) -> tuple[sp.Expr, ...]:
    """vector - <eta, vector> 1: what is left of a gradient once multiples of 1 count as zero."""
    shift = inner(eta, vector)
    return tuple(v - shift for v in vector)


def homogeneous(rule: Expressions, eta: Sequence[sp.Symbol]) -> tuple[sp.Expr, ...]:
    """The same rule on the simplex, written as a function of the proportions eta / sum eta."""
    return tuple(at(loss, eta, [e / sum(eta) for e in eta]) for loss in rule)


def linear_score(eta: Expressions) -> tuple[sp.Expr, ...]:
    """lambda_z = -eta_z, the probability given to what happened: natural, and not proper."""
    return tuple(-e for e in eta)


def printed_rules(eta: Sequence[sp.Symbol]) -> dict[str, tuple[sp.Expr, ...]]:
    """The rules as Tables 3 and 4 print them; Table 3's asymmetric ones for any number of classes
    by summing over the ratios."""
    first, rest, alpha = eta[0], eta[1:], ALPHA
    rho = [e / first for e in rest]
    powers = sum(e**alpha for e in eta)
    norm = powers ** (1 / alpha)
    scale = len(eta) ** (-1 / alpha) / (alpha - 1)
    return {
        "KLIEP": (1 / first, *(-sp.log(r) for r in rho)),
        "robust DRE": (
            powers / first**alpha / alpha + 1 / (alpha * (alpha - 1)),
            *(r ** (alpha - 1) / (1 - alpha) for r in rho),
        ),
        "inverse log": (sum(sp.log(r) for r in rho) - 1, *(1 / r for r in rho)),
        "log": tuple(-sp.log(e) for e in eta),
        "power": tuple(powers / alpha - e ** (alpha - 1) / (alpha - 1) for e in eta),
        "symmetric inverse log": tuple(sum(sp.log(x) for x in eta) + 1 / e for e in eta),
        "pseudo-spherical": tuple(-scale * (e / norm) ** (alpha - 1) for e in eta),
    }
