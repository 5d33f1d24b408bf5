"""A normal form of expressions in which an identity is 0.

>>> x, alpha = sp.symbols("x alpha", positive=True)
>>> reduce(x ** (alpha - 1) * x / x**alpha - 1)
0
"""

from collections.abc import Callable
from functools import cache

import sympy as sp


class Arbitrary(sp.Function):
    """A value of one of the functions that `arbitrary` makes: derivative ``order`` of ``of``."""

    of: str
    order: tuple[int, ...]


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
    return type(label, (Arbitrary,), {"fdiff": fdiff, "of": name, "order": order})


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
