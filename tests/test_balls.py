"""Proofs by ball arithmetic, and points that refute."""

from fractions import Fraction

import pytest
import sympy as sp
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from companion.balls import ball, interval, prove_positive, rational
from companion.witness import nonzero, polynomial_functions
from mi_lib.normal_form import arbitrary

x, y = sp.symbols("x y", positive=True)


@given(st.fractions(min_value="1/50", max_value=50), st.fractions(min_value="1/50", max_value=50))
def test_a_ball_contains_the_value_that_fifty_digits_give(a, b):
    expression = sp.log(x + y) * x**y - sp.sqrt(x) / y + sp.exp(-x)
    point = {x: sp.Rational(a.numerator, a.denominator), y: sp.Rational(b.numerator, b.denominator)}
    value = ball(expression, point)
    exact = arb(str(expression.evalf(60, subs=point)))
    assert value.overlaps(exact) and float(value.rad()) <= 1e-40 * max(1.0, abs(float(value)))


def test_floats_are_refused():
    for value in (0.1, sp.Float(0.1)):
        with pytest.raises(ValueError, match="is a float: give the exact rational"):
            rational(value)
    assert rational(Fraction(1, 3)) == rational("1/3") == rational(sp.Rational(1, 3))


def test_a_symbol_without_a_value_is_refused():
    with pytest.raises(ValueError, match="give every symbol a value"):
        ball(x + y, {x: 1})


def test_an_interval_contains_its_ends():
    whole = interval("1/3", "22/7")
    assert whole.contains(arb(rational("1/3"))) and whole.contains(arb(rational("22/7")))


def test_a_zero_inside_the_box_is_never_passed_over():
    """The double root at 1/3 is positive on both sides."""
    with pytest.raises(ValueError):
        prove_positive(lambda t: (3 * t - 1) ** 2, {"t": (0, 1)}, max_boxes=2000)


def test_a_negative_stretch_is_found_wherever_it_lies():
    with pytest.raises(ValueError, match="is not positive at t = 0.(69|70)"):
        prove_positive(lambda t: abs(t - arb(rational("7/10"))) - arb("1e-2"), {"t": (0, 1)})


def test_every_integer_is_tried():
    tried = []

    def f(t, k):
        tried.append(k)
        return t + k

    assert prove_positive(f, {"t": (1, 2)}, {"k": range(2, 7)}).boxes == 5
    assert tried == [2, 3, 4, 5, 6]
    with pytest.raises(ValueError, match="k = 6"):
        prove_positive(lambda t, k: t + 5 - k, {"t": ("1/2", 1)}, {"k": range(2, 8)})


def test_the_boxes_cover_the_box_without_gaps():
    seen = []

    def f(t):
        value = t * t - t + 1
        if value > 0 and t.rad() > 0:
            seen.append((t.lower(), t.upper()))
        return value

    prove_positive(f, {"t": (0, 3)})
    seen.sort(key=lambda ends: float(ends[0]))
    assert float(seen[0][0]) <= 0 and float(seen[-1][1]) >= 3
    assert all(one[1] >= two[0] for one, two in zip(seen, seen[1:], strict=False))


def test_two_dimensions_are_halved_along_the_wider_side():
    cover = prove_positive(lambda s, t: 1 - s * t + s * s, {"s": (0, 1), "t": (0, "3/2")})
    assert cover.boxes > 1 and cover.least > 0


# Points that refute


def test_what_differs_is_seen_to_differ_and_what_is_zero_is_not():
    assert nonzero(sp.log(x + y) - sp.log(x)) is not None
    assert nonzero(sp.log(x * y) - sp.log(x) - sp.log(y)) is None
    assert nonzero(sp.Integer(0)) is None


def test_a_difference_that_vanishes_at_the_default_point_is_seen_at_another():
    expression = x - sp.Rational(1, 2)
    assert nonzero(expression) is None
    assert "x = 1/3" in str(nonzero(expression, {x: sp.Rational(1, 3)}))


def test_an_undefined_point_is_named():
    with pytest.raises(ValueError, match="undefined at x = 1/2: choose another point"):
        nonzero(1 / (2 * x - 1))


def test_derivatives_of_arbitrary_functions_are_those_of_their_polynomials():
    f = arbitrary("f")
    expression = sp.diff(f(x, x * y), x, y)
    value, slope = polynomial_functions(f(x, x * y)), polynomial_functions(expression)
    assert sp.expand(sp.diff(value, x, y) - slope) == 0


def test_different_functions_get_different_polynomials():
    assert nonzero(arbitrary("f")(x) - arbitrary("h")(x)) is not None
    assert nonzero(arbitrary("f")(x, y) - arbitrary("f")(y, x)) is not None
    assert nonzero(sp.diff(arbitrary("f")(x), x) - arbitrary("f", 1)(x)) is None
