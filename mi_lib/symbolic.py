"""Scoring rules derived in sympy from their generating function alone, by differentiation.

A rule is a tuple of expressions (lambda_0, ..., lambda_M) in the symbols eta = (eta_0, ..., eta_M).
Nothing here is copied from `mi_lib.scoring`: the generating functions below are the only input, so
comparing the two means something.

>>> eta = class_symbols(2)
>>> [on_simplex(loss, eta) for loss in rule_from_phi(log_phi, eta)]
[-log(1 - eta_1), -log(eta_1)]
"""

from collections.abc import Callable, Sequence
from functools import cache

import sympy as sp

Expressions = Sequence[sp.Expr]
Generating = Callable[[Expressions], sp.Expr]


def class_symbols(classes: int, name: str = "eta") -> tuple[sp.Symbol, ...]:
    """Positive symbols ``name_0 ... name_{classes-1}``."""
    return sp.symbols(f"{name}_0:{classes}", positive=True)


class Arbitrary(sp.Function):
    """A value of one of the functions that `arbitrary` makes."""


@cache
def arbitrary(name: str, *order: int) -> type[Arbitrary]:
    """A smooth function of which nothing else is known; its derivatives are more of the same.

    What `reduce` brings to zero is proved for every smooth function. (sympy's own undefined
    functions write one derivative in several ways, which then do not cancel.)

    >>> x, y = sp.symbols("x y")
    >>> sp.diff(arbitrary("f")(x / y), y)
    -x*f_1(x/y)/y**2
    """

    def fdiff(self: Arbitrary, argindex: int = 1) -> Arbitrary:
        return arbitrary(name, *sorted((*order, argindex)))(*self.args)

    label = f"{name}_{''.join(map(str, order))}" if order else name
    return type(label, (Arbitrary,), {"fdiff": fdiff})


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


@cache
def reduce(expression: sp.Expr) -> sp.Expr:
    """Bring an expression to a normal form; an identity comes out as 0.

    Logarithms and powers with symbolic exponents are split over products and sums (every base here
    is positive), named by new symbols from the inside out, and what is left, a rational function
    of those names, is cancelled. So are the values of `arbitrary` functions, one name a point.
    A base such as a + b in (a + b)^alpha may cancel only when the names are put back: so, where
    powers were named, all of it once more.

    >>> x, alpha = sp.symbols("x alpha", positive=True)
    >>> reduce(x ** (alpha - 1) * x / x**alpha)
    1
    """
    once, powers = _reduced(expression)
    return _reduced(once)[0] if powers and not once.is_number else once


def _reduced(expression: sp.Expr) -> tuple[sp.Expr, bool]:
    """One pass of `reduce`, and whether it named a power."""
    names: dict[sp.Expr, sp.Symbol] = {}

    def name(value: sp.Expr) -> sp.Symbol:
        return names.setdefault(value, sp.Dummy(positive=True))

    def rename(node: sp.Expr) -> sp.Expr:
        if isinstance(node, Arbitrary):
            return names.setdefault(node.func(*map(_cancelled, node.args)), sp.Dummy())
        if isinstance(node, sp.log):
            return sum(n * name(sp.log(base)) for base, n in _factors(node.args[0]))
        if node.is_Pow and not node.exp.is_Integer:
            terms = [term.as_coeff_Mul() for term in sp.Add.make_args(sp.expand(node.exp))]
            return sp.prod(
                name(base**rest) ** (n * count) if rest != 1 else base ** (n * count)
                for base, n in _factors(node.base)
                for count, rest in terms
            )
        return node

    rational = _cancelled(_bottom_up(_split_exponentials(expression), rename))
    while rational.free_symbols & set(names.values()):
        rational = rational.subs({dummy: value for value, dummy in names.items()})
    return rational, any(value.is_Pow for value in names)


@cache
def _cancelled(expression: sp.Expr) -> sp.Expr:
    return sp.cancel(sp.together(expression))


@cache
def _factors(base: sp.Expr) -> tuple[tuple[sp.Expr, sp.Expr], ...]:
    """A positive expression as factors (base, power), each base positive near the origin."""
    factored = sp.factor(sp.together(base))
    found = []
    for factor, power in (f.as_base_exp() for f in sp.Mul.make_args(factored)):
        if factor.is_Rational:
            primes = sp.factorrat(abs(factor)).items()
            found += [(sp.Integer(prime), n * power) for prime, n in primes if prime != 1]
        else:
            found.append((_upright(factor), power))
    return tuple(found)


def _upright(factor: sp.Expr) -> sp.Expr:
    """``factor`` or its negative, whichever is positive at a point near the origin."""
    symbols = sorted(factor.free_symbols, key=str)
    at = {symbol: sp.Rational(i + 1, 1000) for i, symbol in enumerate(symbols)}
    return -factor if factor.subs(at).is_negative else factor


def _split_exponentials(expression: sp.Expr) -> sp.Expr:
    """exp(a + c log b) -> exp(a) b^c, so that only powers and logarithms are left."""

    def power(term: sp.Expr) -> sp.Expr:
        logs = [f for f in sp.Mul.make_args(term) if isinstance(f, sp.log)]
        return logs[0].args[0] ** (term / logs[0]) if len(logs) == 1 else sp.exp(term)

    def split(node: sp.Expr) -> sp.Expr:
        if not isinstance(node, sp.exp):
            return node
        return sp.prod(power(term) for term in sp.Add.make_args(sp.expand(node.args[0])))

    return _bottom_up(sp.sympify(expression), split)


def _bottom_up(expression: sp.Expr, change: Callable[[sp.Expr], sp.Expr]) -> sp.Expr:
    if expression.args:
        rebuilt = expression.func(*(_bottom_up(a, change) for a in expression.args))
        return change(rebuilt)
    return change(expression)
