"""A rational point where an expression is proved to differ from zero.

That a simplifier did not reduce an expression proves nothing. A ball at a point that excludes zero
does. Arbitrary functions are replaced by polynomials first, each with coefficients of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from zlib import crc32

import sympy as sp
from flint import arb

from mi_lib.normal_form import Arbitrary

from .balls import ball

VALUES = ("1/2", "1/3", "2/5", "3/7", "5/11", "4/13", "7/17", "6/19", "9/23", "8/29", "11/31")


@dataclass(frozen=True)
class Nonzero:
    """A value that is not zero, and the point where it is taken."""

    value: float
    point: str

    def __str__(self) -> str:
        size = f"{self.value:.4f}" if 5e-5 <= abs(self.value) < 1e4 else f"{self.value:.2e}"
        return size.replace("-", "−") + (f" at {self.point}" if self.point else "")


def nonzero(expression: sp.Expr, at: Mapping[sp.Symbol, object] | None = None) -> Nonzero | None:
    """The value at a rational point if a ball proves that it is not zero, else None.

    Symbols that ``at`` does not name get the values 1/2, 1/3, 2/5, ... in alphabetical order.

    >>> x, y = sp.symbols("x y", positive=True)
    >>> print(nonzero(x - y))
    0.1667 at x = 1/2, y = 1/3
    >>> nonzero(sp.log(x * y) - sp.log(x) - sp.log(y)) is None
    True
    """
    concrete = polynomial_functions(sp.sympify(expression))
    free = sorted(concrete.free_symbols, key=str)
    given = {key: sp.sympify(value) for key, value in (at or {}).items() if key in free}
    rest = [symbol for symbol in free if symbol not in given]
    if len(rest) > len(VALUES):
        raise ValueError(f"{len(rest)} symbols are free; give some of them a value with at=")
    point = {**given, **dict(zip(rest, map(sp.Rational, VALUES), strict=False))}
    value = ball(concrete, point)
    if not value.is_finite():
        raise ValueError(f"undefined at {_words(point)}: choose another point with at=")
    if value.contains(arb(0)):
        return None
    extra = " (polynomials for the arbitrary functions)" if concrete != expression else ""
    return Nonzero(float(value), (_words(point) + extra).strip())


def polynomial_functions(expression: sp.Expr) -> sp.Expr:
    """Each arbitrary function as a cubic in its arguments, its derivatives differentiated.

    >>> from mi_lib.normal_form import arbitrary
    >>> x = sp.Symbol("x")
    >>> polynomial_functions(sp.diff(arbitrary("f")(x), x)).is_polynomial(x)
    True
    """
    values = {node: _cubic(node).doit() for node in expression.atoms(Arbitrary)}
    while values:  # arguments may hold further arbitrary functions
        expression = expression.xreplace(values)
        values = {node: _cubic(node) for node in expression.atoms(Arbitrary)}
    return expression


def _cubic(node: Arbitrary) -> sp.Expr:
    """A value of `sum_i a_i x_i^3 + b_i x_i^2 + c_i x_i` plus products of neighbours."""
    name, order = type(node).of, type(node).order
    x = sp.symbols(f"x_0:{len(node.args)}")
    a = [1 + crc32(f"{name} {i}".encode()) % 7 for i in range(3 * len(x) + 1)]
    value = sum(
        a[3 * i] * v**3 + a[3 * i + 1] * v**2 + a[3 * i + 2] * v + a[-1] * v * x[i - 1]
        for i, v in enumerate(x)
    )
    for index in order:
        value = sp.diff(value, x[index - 1])
    return sp.sympify(value).subs(dict(zip(x, node.args, strict=True)), simultaneous=True)


def _words(point: Mapping[sp.Symbol, object]) -> str:
    return ", ".join(f"{symbol} = {value}" for symbol, value in sorted(point.items(), key=str))
