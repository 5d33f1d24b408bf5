"""Rules derived by differentiation: the decision theory they must obey, and `reduce` itself."""

import pytest
import sympy as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from companion.symbolic import (
    bayes_risk,
    bregman,
    class_symbols,
    g,
    generating_function,
    inverse_log_psi,
    kliep_psi,
    log_phi,
    on_simplex,
    perspective,
    power_phi,
    properise,
    pseudo_spherical_phi,
    regret,
    risk,
    robust_psi,
    rule_from_phi,
    rule_from_psi,
    symmetric_inverse_log_phi,
)
from mi_lib.normal_form import reduce

alpha = sp.Symbol("alpha", real=True)
a, b, c = sp.symbols("a b c", positive=True)
half = sp.Rational(1, 2)

PHIS = {
    "log": log_phi,
    "power": power_phi(alpha),
    "pseudo-spherical": pseudo_spherical_phi(alpha),
    "symmetric inverse log": symmetric_inverse_log_phi,
}
PSIS = {"kliep": kliep_psi, "robust": robust_psi(alpha), "inverse log": inverse_log_psi}

phis = pytest.mark.parametrize("phi", PHIS.values(), ids=PHIS)
psis = pytest.mark.parametrize("psi", PSIS.values(), ids=PSIS)
classes = pytest.mark.parametrize("classes", [2, 3])


def truth(classes):
    """Class probabilities that sum to 1 by construction."""
    star = class_symbols(classes, "s")
    return (1 - sum(star[1:]), *star[1:])


def all_zero(expressions, eta):
    return [on_simplex(e, eta) for e in expressions] == [0] * len(expressions)


# Generating functions


def test_generating_functions_at_a_point():
    """Values by hand at (1/2, 1/4, 1/4) and at ratios (1/2, 2)."""
    eta = (half, half**2, half**2)
    assert reduce(log_phi(eta) + 3 * half * sp.log(2)) == 0
    assert power_phi(2)(eta) == sp.Rational(3, 16)
    assert power_phi(-1)(eta) == 5
    assert pseudo_spherical_phi(2)(eta) == sp.sqrt(2) / 4
    assert reduce(symmetric_inverse_log_phi(eta) - 5 * sp.log(2)) == 0
    rho = (half, sp.Integer(2))
    assert reduce(kliep_psi(rho) - 3 * half * sp.log(2)) == 0
    assert robust_psi(2)(rho) == sp.Rational(17, 8)
    assert reduce(inverse_log_psi(rho)) == 0


@pytest.mark.parametrize("order", [-1, half, 3])
def test_generating_functions_are_convex(order):
    """Second derivatives in one coordinate are positive at a point, for every admissible alpha."""
    x = class_symbols(3)
    at = dict(zip(x, (half, sp.Rational(1, 3), sp.Rational(1, 6)), strict=True))
    functions = [log_phi, power_phi(order), symmetric_inverse_log_phi, pseudo_spherical_phi(order)]
    for f in (*functions, kliep_psi, robust_psi(order), inverse_log_psi):
        assert all(sp.diff(f(x), e, 2).subs(at) > 0 for e in x)


# From a generating function to a rule and back


@phis
@classes
def test_phi_and_its_perspective_induce_the_same_rule(phi, classes):
    eta = class_symbols(classes)
    one, two = rule_from_phi(phi, eta), rule_from_psi(perspective(phi), eta)
    assert all_zero([x - y for x, y in zip(one, two, strict=True)], eta)


@psis
@classes
def test_the_generating_function_of_an_induced_rule_is_the_one_it_came_from(psi, classes):
    eta, rho = class_symbols(classes), class_symbols(classes, "rho")[1:]
    assert reduce(generating_function(rule_from_psi(psi, eta), eta)(rho) - psi(rho)) == 0


@phis
def test_the_generating_function_of_a_phi_rule_is_the_perspective(phi):
    eta, rho = class_symbols(3), class_symbols(3, "rho")[1:]
    difference = generating_function(rule_from_phi(phi, eta), eta)(rho) - perspective(phi)(rho)
    assert reduce(difference) == 0


# Risks


def test_risk_is_the_expected_loss():
    assert risk((a, b), class_symbols(2), (half, c)) == a / 2 + b * c


@phis
@classes
def test_bayes_risk_is_minus_phi(phi, classes):
    eta = class_symbols(classes)
    assert on_simplex(bayes_risk(rule_from_phi(phi, eta), eta) + phi(eta), eta) == 0


@phis
@classes
def test_regret_is_the_bregman_distortion_of_phi(phi, classes):
    eta, star = class_symbols(classes), truth(classes)
    assert reduce(regret(rule_from_phi(phi, eta), eta, star) - bregman(phi, eta, star)) == 0


@psis
@classes
def test_regret_is_the_bregman_distortion_of_psi_between_ratios(psi, classes):
    eta, star, rho = class_symbols(classes), truth(classes), class_symbols(classes, "rho")[1:]
    at = {r: e / eta[0] for r, e in zip(rho, eta[1:], strict=True)}
    distortion = bregman(psi, rho, [s / star[0] for s in star[1:]]).subs(at)
    assert reduce(regret(rule_from_psi(psi, eta), eta, star) - star[0] * distortion) == 0


def test_bregman_of_the_square_is_the_squared_distance():
    assert reduce(bregman(lambda v: v[0] ** 2, (a,), (b,)) - (a - b) ** 2) == 0


# g and properisation


@phis
@classes
def test_g_vanishes_for_rules_from_phi(phi, classes):
    eta = class_symbols(classes)
    assert all_zero(g(rule_from_phi(phi, eta), eta), eta)


@psis
def test_g_vanishes_for_rules_from_psi_even_off_the_simplex(psi):
    eta = class_symbols(3)
    assert [reduce(e) for e in g(rule_from_psi(psi, eta), eta)] == [0, 0, 0]


@classes
def test_properising_a_proper_rule_changes_nothing(classes):
    eta = class_symbols(classes)
    rule = rule_from_phi(power_phi(alpha), eta)
    assert all_zero([x - y for x, y in zip(properise(rule, eta), rule, strict=True)], eta)


@classes
def test_properising_the_linear_score_gives_the_quadratic_one(classes):
    """lambda_z = -eta_z is improper; its Bayes risk -sum eta^2 belongs to twice the Brier rule."""
    eta = class_symbols(classes)
    linear = [-e for e in eta]
    assert not all_zero(g(linear, eta), eta)
    proper = properise(linear, eta)
    brier = rule_from_phi(power_phi(2), eta)
    assert all_zero([x - 2 * y for x, y in zip(proper, brier, strict=True)], eta)
    assert all_zero(g(proper, eta), eta)


@classes
def test_properising_is_going_to_the_generating_function_and_back(classes):
    eta = class_symbols(classes)
    rule = [-(e**2) for e in eta]
    back = rule_from_psi(generating_function(rule, eta), eta)
    assert all_zero([x - y for x, y in zip(back, properise(rule, eta), strict=True)], eta)


# reduce

IDENTITIES = [
    sp.log(a * b) - sp.log(a) - sp.log(b),
    sp.log(a**2 * b / (1 - a)) - 2 * sp.log(a) - sp.log(b) + sp.log(1 - a),
    sp.log(6) - sp.log(2) - sp.log(3),
    sp.log(4) - 2 * sp.log(2),
    sp.log(sp.Rational(3, 8)) - sp.log(3) + 3 * sp.log(2),
    sp.log(12 * a) - sp.log(3 * a) - 2 * sp.log(2),
    (a * b) ** alpha - a**alpha * b**alpha,
    (a / b) ** (2 * alpha) * b**alpha - a ** (2 * alpha) / b**alpha,
    a ** (alpha - 1) * a - a**alpha,
    sp.exp(alpha * sp.log(a)) - a**alpha,
    sp.exp(sp.log(a) / 2 + alpha * sp.log(b)) - sp.sqrt(a) * b**alpha,
    4**alpha - 2 ** (2 * alpha),
    6**alpha - 2**alpha * 3**alpha,
    ((a**alpha + b**alpha) / 2) ** (1 / alpha)
    - ((a**alpha + b**alpha) ** (1 / alpha)) / 2 ** (1 / alpha),
    a / (a + b) + b / (a + b) - 1,
    sp.log(a**2 - 2 * a + 1) - 2 * sp.log(1 - a),
    sp.log((a * c + b * c) / (a + b)) - sp.log(c),
    sp.sqrt(8) - 2 * sp.sqrt(2),
]
NOT_IDENTITIES = [
    sp.log(a * b) - sp.log(a),
    sp.log(6) - sp.log(2) - sp.log(5),
    a**alpha - a ** (alpha + 1),
    (a + b) ** alpha - a**alpha - b**alpha,
    a ** (2 * alpha) - a**alpha,
    sp.log(a + b) - sp.log(a) - sp.log(b),
    sp.exp(2 * sp.log(a)) - a,
    sp.nan,
]


@pytest.mark.parametrize("expression", IDENTITIES, ids=str)
def test_reduce_brings_an_identity_to_zero(expression):
    assert reduce(expression) == 0


def test_reduce_cancels_what_only_meets_when_the_names_are_put_back():
    """The pseudo-spherical loss at eta = (a, b)/(a + b): one pass leaves a + b uncancelled."""
    eta = class_symbols(2)
    at = dict(zip(eta, (a / (a + b), b / (a + b)), strict=True))
    loss = rule_from_phi(pseudo_spherical_phi(alpha), eta)[0].subs(at, simultaneous=True)
    expected = -(a ** (alpha - 1)) * (a**alpha + b**alpha) ** (1 / alpha - 1) / (alpha - 1)
    assert reduce(2 ** (1 / alpha) * loss - expected) == 0


@pytest.mark.parametrize("expression", NOT_IDENTITIES, ids=str)
def test_reduce_does_not_bring_anything_else_to_zero(expression):
    assert reduce(expression) != 0


leaves = st.sampled_from([a, b, 1 - a, a + b, sp.Integer(2), sp.Integer(6), sp.Rational(3, 4)])
terms = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda t: t[0] * t[1]),
        st.tuples(inner, inner).map(lambda t: t[0] + t[1]),
        st.tuples(inner, inner).map(lambda t: t[0] / t[1]),
        st.tuples(inner, st.sampled_from([alpha, alpha - 1, half, -1, 2])).map(
            lambda t: t[0] ** t[1]
        ),
        inner.map(sp.sqrt),
    ),
    max_leaves=5,
)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.lists(st.tuples(st.booleans(), terms), min_size=1, max_size=3))
def test_reduce_never_changes_a_value(parts):
    """Positive bases at 0 < a, b < 1/2, which is what `reduce` assumes."""
    expression = sum(sp.log(term) if logarithm else term for logarithm, term in parts)
    at = {a: sp.Rational(3, 11), b: sp.Rational(2, 13), alpha: sp.Rational(7, 5)}
    value = sp.N(expression.subs(at), 30)
    assume(value.is_real)
    assert abs(sp.N(reduce(expression).subs(at), 30) - value) < sp.Float("1e-20") * (1 + abs(value))


def test_on_simplex_uses_that_probabilities_sum_to_one():
    eta = class_symbols(3)
    assert on_simplex(sum(eta) - 1, eta) == 0
    assert on_simplex(sp.Integer(3), eta) == 3
    assert reduce(sum(eta) - 1) != 0


def test_class_symbols_are_positive_and_distinct():
    eta = class_symbols(4, "x")
    assert [str(e) for e in eta] == ["x_0", "x_1", "x_2", "x_3"]
    assert all(e.is_positive for e in eta)
