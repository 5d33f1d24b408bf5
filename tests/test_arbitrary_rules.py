"""What the cells on scoring rules rest on: arbitrary functions, rules spelt out, an exercise."""

import pytest
import sympy as sp

from companion.arbitrary_rules import (
    arbitrary_rule,
    homogeneous,
    in_ratios,
    induced_rule,
    printed_rules,
    simplex,
    tangent,
)
from companion.symbolic import bayes_risk, class_symbols, g, on_simplex
from mi_lib.normal_form import arbitrary, reduce

x, y = sp.symbols("x y", positive=True)
f, h = arbitrary("f"), arbitrary("h")


@pytest.mark.parametrize(
    "expression",
    [
        sp.diff(f(x, y), x, y) - sp.diff(f(x, y), y, x),
        sp.diff(f(x * y) * h(x), x)
        - y * arbitrary("f", 1)(x * y) * h(x)
        - f(x * y) * sp.diff(h(x)),
        f(x / (x + y)) - f(1 / (1 + y / x)),
        sp.diff(f(x, x), x) - arbitrary("f", 1)(x, x) - arbitrary("f", 2)(x, x),
        sp.log(x * y) * f(x) - (sp.log(x) + sp.log(y)) * f(x),
    ],
)
def test_reduce_knows_the_rules_of_differentiation(expression):
    assert reduce(expression) == 0


@pytest.mark.parametrize(
    "expression",
    [
        f(x) - h(x),
        f(x) - f(y),
        sp.diff(f(x), x) - f(x),
        sp.diff(f(x, y), x) - sp.diff(f(x, y), y),
        f(x, y) - f(y, x),
        f(-x) + f(x),
    ],
)
def test_reduce_assumes_nothing_about_an_arbitrary_function(expression):
    assert reduce(expression) != 0


def test_an_arbitrary_rule_has_one_function_for_each_class():
    losses = arbitrary_rule(class_symbols(3))
    assert len({type(loss) for loss in losses}) == 3


def test_simplex_sums_to_one_and_homogeneous_keeps_the_rule_there():
    assert reduce(sum(simplex(class_symbols(3))) - 1) == 0
    eta = class_symbols(3)
    for rule in (printed_rules(eta)["log"], printed_rules(eta)["KLIEP"]):
        pairs = zip(rule, homogeneous(rule, eta), strict=True)
        assert [on_simplex(a - b, eta) for a, b in pairs] == [0, 0, 0]


@pytest.mark.parametrize("classes", [2, 3])
def test_a_rule_in_ratios_is_spelt_out_at_the_report_of_these_ratios(classes):
    found = in_ratios(classes)
    assert [reduce(a - b) for a, b in zip(found.eta, simplex(found.rho), strict=True)] == (
        [0] * classes
    )
    risk = sum(e * loss for e, loss in zip(found.eta, found.losses, strict=True))
    assert reduce(found.psi * found.eta[0] + risk) == 0
    for r, induced in zip(found.rho, found.induced[1:], strict=True):
        assert reduce(induced + sp.diff(found.psi, r)) == 0


def test_the_slopes_of_an_induced_rule_are_its_second_derivatives():
    found = induced_rule(3)
    for z, loss in enumerate(found.losses[1:]):
        for y, e in enumerate(found.eta[1:]):
            assert reduce(sp.diff(loss, e) * found.eta[0] + found.hessian[z, y]) == 0


def test_squared_error_on_the_own_class_is_proper_for_two_classes_only():
    """The first exercise of the chapter."""

    def pull(point):
        eta = class_symbols(len(point))
        gradient = [e.subs(dict(zip(eta, point, strict=True))) for e in g(own(eta), eta)]
        return [reduce(t) for t in tangent(gradient, point)]

    def own(eta):
        return [(1 - e) ** 2 for e in eta]

    def curvature(point, direction):
        eta, t = class_symbols(len(point)), sp.Symbol("t")
        path = [p + t * v for p, v in zip(point, direction, strict=True)]
        risk = bayes_risk(own(eta), eta).subs(dict(zip(eta, path, strict=True)))
        return sp.diff(risk, t, 2).subs(t, 0)

    quarter, third = sp.Rational(1, 4), sp.Rational(1, 3)
    assert pull((1 - y, y)) == [0, 0]
    assert pull((2 * quarter, quarter, quarter)) != [0, 0, 0]
    corner = (1, 0, 0, 0)
    assert curvature(corner, (-1, third, third, third)) == 2 - sp.Rational(4, 3)
