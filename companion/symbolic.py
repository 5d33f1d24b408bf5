"""Scoring rules derived in sympy from their generating function alone, by differentiation.

A rule is a tuple of expressions (lambda_0, ..., lambda_M) in the symbols eta = (eta_0, ..., eta_M).
Nothing here is copied from `mi_lib.scoring`: the generating functions below are the only input, so
comparing the two means something.

>>> eta = class_symbols(2)
>>> [on_simplex(loss, eta) for loss in rule_from_phi(log_phi, eta)]
[-log(1 - eta_1), -log(eta_1)]
"""

from collections.abc import Callable, Sequence

import sympy as sp

from mi_lib.normal_form import reduce

Expressions = Sequence[sp.Expr]
Generating = Callable[[Expressions], sp.Expr]


def class_symbols(classes: int, name: str = "eta") -> tuple[sp.Symbol, ...]:
    """Positive symbols ``name_0 ... name_{classes-1}``."""
    return sp.symbols(f"{name}_0:{classes}", positive=True)


# Generating functions on the simplex (Phi, symmetric rules) and on ratios (Psi, asymmetric rules).


def log_phi(eta: Expressions) -> sp.Expr:
    """Phi of the log score: sum of eta log eta."""
    return sum(e * sp.log(e) for e in eta)


def power_phi(alpha: sp.Expr) -> Generating:
    """Phi of the power score: sum of eta^alpha / (alpha (alpha - 1))."""
    return lambda eta: sum(e**alpha for e in eta) / (alpha * (alpha - 1))


def pseudo_spherical_phi(alpha: sp.Expr) -> Generating:
    """Phi of the pseudo-spherical score: the alpha-power mean of eta over (alpha - 1)."""
    return lambda eta: (sum(e**alpha for e in eta) / len(eta)) ** (sp.S.One / alpha) / (alpha - 1)


def symmetric_inverse_log_phi(eta: Expressions) -> sp.Expr:
    """Phi of the symmetric inverse-log score: minus the sum of log eta."""
    return -sum(sp.log(e) for e in eta)


def kliep_psi(rho: Expressions) -> sp.Expr:
    """Psi of KLIEP: sum of rho log rho."""
    return sum(r * sp.log(r) for r in rho)


def robust_psi(alpha: sp.Expr) -> Generating:
    """Psi of robust density-ratio estimation: sum of rho^alpha / (alpha (alpha - 1))."""
    return lambda rho: sum(r**alpha for r in rho) / (alpha * (alpha - 1))


def inverse_log_psi(rho: Expressions) -> sp.Expr:
    """Psi of the inverse-log rule: minus the sum of log rho."""
    return -sum(sp.log(r) for r in rho)


# From a generating function to a rule and back.


def rule_from_phi(phi: Generating, eta: Sequence[sp.Symbol]) -> tuple[sp.Expr, ...]:
    """The rule that Phi induces: (<eta, grad Phi> - Phi) 1 - grad Phi (paper, Theorem 18)."""
    value = phi(eta)
    gradient = [sp.diff(value, e) for e in eta]
    common = sum(e * d for e, d in zip(eta, gradient, strict=True)) - value
    return tuple(common - d for d in gradient)


def rule_from_psi(psi: Generating, eta: Sequence[sp.Symbol]) -> tuple[sp.Expr, ...]:
    """The rule that Psi induces at rho_z = eta_z / eta_0 (paper, Eq. 6)."""
    rho = class_symbols(len(eta), "rho")[1:]
    value = psi(rho)
    gradient = [sp.diff(value, r) for r in rho]
    first = sum(r * d for r, d in zip(rho, gradient, strict=True)) - value
    at = {r: e / eta[0] for r, e in zip(rho, eta[1:], strict=True)}
    return tuple(loss.subs(at) for loss in (first, *(-d for d in gradient)))


def perspective(phi: Generating) -> Generating:
    """Psi_Phi(rho) = (1 + sum rho) Phi((1, rho) / (1 + sum rho))."""

    def psi(rho: Expressions) -> sp.Expr:
        total = 1 + sum(rho)
        return total * phi([1 / total, *(r / total for r in rho)])

    return psi


def generating_function(rule: Expressions, eta: Sequence[sp.Symbol]) -> Generating:
    """Psi^lambda(rho) = -<(1, rho), lambda(eta)> with eta = (1, rho) / (1 + sum rho)."""

    def psi(rho: Expressions) -> sp.Expr:
        total = 1 + sum(rho)
        at = dict(zip(eta, [1 / total, *(r / total for r in rho)], strict=True))
        losses = [loss.subs(at, simultaneous=True) for loss in rule]
        return -losses[0] - sum(r * loss for r, loss in zip(rho, losses[1:], strict=True))

    return psi


# What the decision theory is about.


def risk(rule: Expressions, eta: Sequence[sp.Symbol], star: Expressions) -> sp.Expr:
    """Conditional risk of the action eta when the truth is ``star``: <star, lambda(eta)>."""
    return sum(s * loss for s, loss in zip(star, rule, strict=True))


def bayes_risk(rule: Expressions, eta: Sequence[sp.Symbol]) -> sp.Expr:
    """Pointwise Bayes risk f(eta) = <eta, lambda(eta)>."""
    return risk(rule, eta, eta)


def regret(rule: Expressions, eta: Sequence[sp.Symbol], star: Expressions) -> sp.Expr:
    """Risk of the action eta in excess of the Bayes risk at the truth ``star``."""
    best = bayes_risk(rule, eta).subs(dict(zip(eta, star, strict=True)), simultaneous=True)
    return risk(rule, eta, star) - best


def bregman(f: Generating, variables: Sequence[sp.Symbol], at: Expressions) -> sp.Expr:
    """Bregman distortion B_f(at, variables) = f(at) - f(v) - <grad f(v), at - v>."""
    value = f(variables)
    slope = sum(sp.diff(value, v) * (a - v) for v, a in zip(variables, at, strict=True))
    return f(at) - value - slope


def g(rule: Expressions, eta: Sequence[sp.Symbol]) -> tuple[sp.Expr, ...]:
    """Gradient of the risk at the truth, g_j(eta) = sum_z eta_z d lambda_z / d eta_j, in the
    ambient coordinates (no constraint sum eta = 1)."""
    return tuple(risk([sp.diff(loss, e) for loss in rule], eta, eta) for e in eta)


def properise(rule: Expressions, eta: Sequence[sp.Symbol]) -> tuple[sp.Expr, ...]:
    """lambda + g - <eta, g> 1 (paper, Remark on properization)."""
    gradient = g(rule, eta)
    shift = sum(e * d for e, d in zip(eta, gradient, strict=True))
    return tuple(loss + d - shift for loss, d in zip(rule, gradient, strict=True))


# Reducing an identity to zero.


def on_simplex(expression: sp.Expr, eta: Sequence[sp.Symbol]) -> sp.Expr:
    """Reduce an expression with eta_0 = 1 - sum of the others."""
    reduced = reduce(expression)
    return reduced if reduced.is_number else reduce(reduced.subs(eta[0], 1 - sum(eta[1:])))
