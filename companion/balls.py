"""Proofs by ball arithmetic: expressions of sympy in Arb's balls, and boxes covered by bisection.

A ball is an interval that contains the exact value. No float stands between the input and the sign:
end points are rational, every ball of a box contains both of its ends, the boxes of a bisection
cover the box without gaps, and a ball that lies above zero proves that the value does.

>>> x = sp.Symbol("x", positive=True)
>>> ball(sp.log(3) - x, {x: sp.Rational(1, 2)}) > 0
True
>>> prove_positive(lambda x: x * x - x + 1, {"x": (0, 1)}).boxes > 1
True
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce as fold
from itertools import product
from operator import add, mul

import flint
import sympy as sp
from flint import arb, fmpq

PRECISION = 200  # bits
MAX_BOXES = 200_000
FUNCTIONS = {sp.log: arb.log, sp.exp: arb.exp, sp.Abs: abs, sp.sin: arb.sin, sp.cos: arb.cos}
CONSTANTS = {sp.E: arb.const_e, sp.pi: arb.pi}


def rational(value: object) -> fmpq:
    """An exact rational from an int, a Fraction, "p/q" or a rational of sympy; floats are refused.

    >>> rational("3/4")
    3/4
    """
    if isinstance(value, fmpq):
        return value
    if isinstance(value, float) or getattr(value, "is_Float", False):
        raise ValueError(f"{value!r} is a float: give the exact rational, as '1/10' or sp.Rational")
    exact = Fraction(str(value))
    return fmpq(exact.numerator, exact.denominator)


def interval(low: object, high: object) -> arb:
    """A ball that contains both ends, and so all between them."""
    return arb(rational(low)).union(arb(rational(high)))


def ball(expression: sp.Expr, at: Mapping[sp.Symbol, object] | None = None) -> arb:
    """A ball that contains the expression's value where each symbol is a rational, or a ball.

    Powers with a fractional exponent need a positive base.
    """
    with flint.ctx.workprec(PRECISION):
        point = {k: x if isinstance(x, arb) else arb(rational(x)) for k, x in (at or {}).items()}
        return _ball(sp.sympify(expression), point)


def _ball(node: sp.Expr, point: Mapping[sp.Symbol, arb]) -> arb:
    if node in point:
        return point[node]
    if node.is_Rational:
        return arb(fmpq(int(node.p), int(node.q)))
    if node in CONSTANTS:
        return CONSTANTS[node]()
    if node.is_Add or node.is_Mul:
        return fold(add if node.is_Add else mul, (_ball(arg, point) for arg in node.args))
    if node.is_Pow:
        base, exponent = node.as_base_exp()
        if exponent.is_Integer:
            return _ball(base, point) ** int(exponent)
        return (_ball(exponent, point) * _ball(base, point).log()).exp()
    if node.func in FUNCTIONS:
        return FUNCTIONS[node.func](_ball(node.args[0], point))
    raise ValueError(f"cannot put {node} into a ball: give every symbol a value, and no floats")


@dataclass(frozen=True)
class Cover:
    """What `prove_positive` found: how many boxes cover the set, and the least lower end."""

    boxes: int
    least: float
    where: str


def prove_positive(
    f: Callable[..., arb],
    box: Mapping[str, tuple[object, object]],
    over: Mapping[str, Sequence[int]] | None = None,
    max_boxes: int = MAX_BOXES,
) -> Cover:
    """Prove f > 0 for all real numbers of the box and all integers of `over`, or raise.

    Parameters
    ----------
    f : takes one ball for each name of `box` and one int for each of `over`, by name; returns a
        ball that contains the value.
    box : name to (low, high), exact rationals; the widest side of an undecided box is halved.
    over : name to the integers to try.

    Raises
    ------
    ValueError where some point has a value that is proved not to be positive, or where the boxes
    run out.
    """
    integers = over or {}
    sides = {name: (rational(low), rational(high)) for name, (low, high) in box.items()}
    boxes, least, where = 0, float("inf"), ""
    with flint.ctx.workprec(PRECISION):
        for values in product(*integers.values()):
            fixed = dict(zip(integers, values, strict=True))
            todo = [sides]
            while todo:
                part = todo.pop()
                value = f(**{k: interval(*ends) for k, ends in part.items()}, **fixed)
                if value > 0:
                    boxes += 1
                    if float(value.lower()) < least:
                        least, where = float(value.lower()), _words(part, fixed)
                    continue
                centre = {k: (low + high) / 2 for k, (low, high) in part.items()}
                if f(**{k: arb(x) for k, x in centre.items()}, **fixed) <= 0:
                    ends = {k: (x, x) for k, x in centre.items()}
                    raise ValueError(f"the value is not positive at {_words(ends, fixed)}")
                if boxes + len(todo) >= max_boxes:
                    where = _words(part, fixed)
                    raise ValueError(f"the value is undecided in {max_boxes} boxes at {where}")
                todo += _halves(part)
    return Cover(boxes, least, where)


def _halves(box: Mapping[str, tuple[fmpq, fmpq]]) -> list[dict[str, tuple[fmpq, fmpq]]]:
    """The two halves of a box along its widest side; they share the cut, so nothing is lost."""
    name = max(box, key=lambda k: box[k][1] - box[k][0], default=None)
    if name is None:
        raise ValueError("the value at a single point is undecided: its ball contains zero")
    low, high = box[name]
    middle = (low + high) / 2
    return [{**box, name: (low, middle)}, {**box, name: (middle, high)}]


def _words(box: Mapping[str, tuple[fmpq, fmpq]], fixed: Mapping[str, int]) -> str:
    real = [f"{name} = {int(low.p) / int(low.q):.4g}" for name, (low, _) in box.items()]
    return ", ".join([*real, *(f"{name} = {value}" for name, value in fixed.items())])
