"""Exact expectations against the definitions, written out over all tuples."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sympy as sp
import torch
from cases import RULES, SYMMETRIC
from hypothesis import given, settings
from hypothesis import strategies as st

from mi_lib import Kliep, Log, Power, RobustDRE, finite, infonce_ceiling

R = sp.Rational
LN2 = math.log(2)


# The definitions, in floats, with no use of counts.


def tuples(symbols, k):
    return product(range(symbols), repeat=k)


def density(x, distributions):
    return math.prod(distribution[i] for distribution, i in zip(distributions, x, strict=True))


def literal_jsd(q1, q0, k):
    """Mean KL divergence from each class density to their mixture, in nats."""
    total = 0.0
    for x in tuples(len(q0), k):
        classes = [density(x, [q1 if i == z else q0 for i in range(k)]) for z in range(k)]
        mixture = sum(classes) / k
        total += sum(p * math.log(p / mixture) for p in classes if p > 0) / k
    return total


def literal_mean(value, distributions):
    """E[value(x)] with x_i drawn from distributions[i]."""
    total = 0.0
    for x in tuples(len(distributions[0]), len(distributions)):
        if (p := density(x, distributions)) > 0:
            total += p * value(x)
    return total


def literal_infonce(r, q1, q0, k):
    def value(x):
        return math.log(r[x[0]] / (sum(r[i] for i in x) / k))

    return literal_mean(value, [q1] + [q0] * (k - 1))


def literal_alpha_infonce(r, q1, q0, k, alpha):
    def value(x):
        rest = sum(r[i] for i in x[1:]) / (k - 1)
        return math.log(r[x[0]] / (alpha * r[x[0]] + (1 - alpha) * rest))

    return literal_mean(value, [q1] + [q0] * (k - 1))


def literal_ml_infonce(r, q1, q0, k, m):
    def value(x):
        total = sum(r[i] for i in x)
        return sum(math.log(m * k * r[i] / total) for i in x[:m]) / m

    return literal_mean(value, [q1] * m + [q0] * (m * (k - 1)))


def literal_anchored_risk(r, q1, q0, k, nu, rule):
    def loss(x, z):
        scores = np.array(([nu] if nu else []) + [r[i] for i in x])
        with np.errstate(divide="ignore"):
            log_eta = torch.from_numpy(np.log(scores / scores.sum()))
        return float(rule(log_eta)[z])

    first = 1 if nu else 0
    positive = literal_mean(lambda x: loss(x, first), [q1] + [q0] * (k - 1))
    anchor = literal_mean(lambda x: loss(x, 0), [q0] * k) if nu else 0.0
    return (k * positive + nu * anchor) / (k + nu)


def random_case(symbols, seed):
    rng = np.random.default_rng(seed)
    q1, q0 = rng.dirichlet(np.ones(symbols)), rng.dirichlet(np.ones(symbols))
    return np.exp(rng.normal(size=symbols)), q1, q0


ZERO_MASS = (
    np.array([0.3, 1.0, 2.0]),
    np.array([0.0, 0.6, 0.4]),
    np.array([0.5, 0.3, 0.2]),
)
CASES = [random_case(symbols, seed) for symbols in (2, 3, 4) for seed in (0, 1)] + [ZERO_MASS]
SIZES = [(symbols, k) for symbols in (2, 3, 4) for k in range(1, 7) if symbols**k <= 1024]


def cases(symbols):
    return [case for case in CASES if len(case[0]) == symbols]


# Against the definitions


def test_kl_and_chi_square_against_the_definitions():
    for _, q1, q0 in CASES:
        some = q1 > 0
        divergence = float((q1[some] * np.log(q1[some] / q0[some])).sum())
        assert finite.kl(q1, q0, "nats") == pytest.approx(divergence, rel=1e-13)
        assert finite.kl(q1, q0) == pytest.approx(divergence / LN2, rel=1e-13)
        assert finite.chi_square(q1, q0) == pytest.approx(((q1 - q0) ** 2 / q0).sum(), rel=1e-12)


@pytest.mark.parametrize(("symbols", "k"), SIZES)
def test_k_way_jsd_against_all_tuples(symbols, k):
    for _, q1, q0 in cases(symbols):
        expected = literal_jsd(q1, q0, k)
        assert finite.k_way_jsd(q1, q0, k, "nats") == pytest.approx(expected, abs=1e-12)
        assert finite.k_way_jsd(q1, q0, k) == pytest.approx(expected / LN2, abs=1e-12)


@pytest.mark.parametrize(("symbols", "k"), SIZES)
def test_infonce_against_all_tuples(symbols, k):
    for r, q1, q0 in cases(symbols):
        expected = literal_infonce(r, q1, q0, k)
        assert finite.infonce(r, q1, q0, k, "nats") == pytest.approx(expected, abs=1e-12)
        assert finite.infonce(r, q1, q0, k) == pytest.approx(expected / LN2, abs=1e-12)


@pytest.mark.parametrize(("symbols", "k"), [size for size in SIZES if size[1] > 1])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_alpha_infonce_against_all_tuples(symbols, k, alpha):
    for r, q1, q0 in cases(symbols):
        expected = literal_alpha_infonce(r, q1, q0, k, alpha)
        found = finite.alpha_infonce(r, q1, q0, k, alpha, "nats")
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("k", "m"), [(1, 1), (1, 3), (2, 1), (2, 2), (2, 3), (3, 2), (6, 1)])
def test_ml_infonce_against_all_tuples(k, m):
    for r, q1, q0 in cases(2) + cases(3):
        expected = literal_ml_infonce(r, q1, q0, k, m)
        assert finite.ml_infonce(r, q1, q0, k, m, "nats") == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_anchored_risk_against_all_tuples(rule):
    for (symbols, k), nu in product([(2, 1), (2, 4), (3, 2), (4, 2)], (0.4, 3.0)):
        for r, q1, q0 in cases(symbols):
            expected = literal_anchored_risk(r, q1, q0, k, nu, rule)
            found = finite.anchored_risk(r, q1, q0, k, nu, rule)
            assert found == pytest.approx(expected, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("rule", SYMMETRIC, ids=str)
def test_risk_without_an_anchor_against_all_tuples(rule):
    for symbols, k in [(2, 2), (2, 4), (3, 3)]:
        for r, q1, q0 in cases(symbols):
            expected = literal_anchored_risk(r, q1, q0, k, 0, rule)
            found = finite.anchored_risk(r, q1, q0, k, 0, rule)
            assert found == pytest.approx(expected, rel=1e-11, abs=1e-12)


def test_dv_nwj_and_what_lies_between_against_the_definitions():
    for r, q1, q0 in CASES:
        log_r, mean = float(q1 @ np.log(r)), float(q0 @ r)
        assert finite.dv(r, q1, q0, "nats") == pytest.approx(log_r - math.log(mean), abs=1e-13)
        assert finite.nwj(r, q1, q0, "nats") == pytest.approx(log_r - mean + 1, abs=1e-13)
        assert finite.nwj(r, q1, q0) == pytest.approx((log_r - mean + 1) / LN2, abs=1e-13)
        for beta in (0.5, 3.0):
            expected = log_r - (1 + beta) * math.log((beta + mean) / (1 + beta))
            found = finite.generalised_dv(r, q1, q0, beta, "nats")
            assert found == pytest.approx(expected, abs=1e-13)


# Argument order, edges


def test_q1_comes_first():
    """(0, 1) against (3/4, 1/4) is 2 bits; the other way round the ratio is infinite."""
    q1, q0 = (0, 1), (3 / 4, 1 / 4)
    r = (0, 4)
    assert finite.kl(q1, q0) == 2.0
    assert finite.k_way_jsd(q1, q0, 4) == pytest.approx(infonce_ceiling(2.0, 4), abs=1e-12)
    assert finite.chi_square(q1, q0) == 3.0
    for function in (finite.kl, finite.chi_square):
        with pytest.raises(ValueError, match="symbol 0 has q0 = 0"):
            function(q0, q1)
    for function in (finite.dv, finite.nwj):
        with pytest.raises(ValueError, match="symbol 0 has q0 = 0"):
            function(r, q0, q1)
    for value in (finite.k_way_jsd(q1, q0, 2), finite.infonce(r, q1, q0, 2)):
        assert value == pytest.approx(0.75, abs=1e-12)


def test_equal_distributions_have_no_divergence():
    q = (0.2, 0.3, 0.5)
    assert finite.kl(q, q) == 0
    assert finite.chi_square(q, q) == pytest.approx(0, abs=1e-15)
    assert finite.k_way_jsd(q, q, 5) == pytest.approx(0, abs=1e-14)


def test_one_point_tells_nothing():
    for r, q1, q0 in CASES:
        assert finite.k_way_jsd(q1, q0, 1) == pytest.approx(0, abs=1e-14)
        assert finite.infonce(r, q1, q0, 1) == pytest.approx(0, abs=1e-14)


def test_an_alphabet_of_one_symbol():
    assert finite.k_way_jsd((1.0,), (1.0,), 4) == 0
    assert finite.ml_infonce((3.0,), (1.0,), (1.0,), 2, 2) == pytest.approx(0, abs=1e-15)
    assert finite.anchored_risk((1.0,), (1.0,), (1.0,), 3, 1) == pytest.approx(math.log(4))


def test_symbols_without_mass_change_nothing():
    r, q1, q0 = random_case(3, 5)
    q1_, q0_, r_ = (np.append(v, tail) for v, tail in ((q1, 0.0), (q0, 0.0), (r, 7.0)))
    assert finite.k_way_jsd(q1_, q0_, 5) == pytest.approx(finite.k_way_jsd(q1, q0, 5), abs=1e-14)
    assert finite.ml_infonce(r_, q1_, q0_, 2, 2) == pytest.approx(
        finite.ml_infonce(r, q1, q0, 2, 2), abs=1e-14
    )
    assert finite.anchored_risk(r_, q1_, q0_, 3, 1) == pytest.approx(
        finite.anchored_risk(r, q1, q0, 3, 1), abs=1e-14
    )


# Special cases that tie the functions together


def test_risk_of_log_without_anchor_is_log_k_minus_infonce():
    for r, q1, q0 in CASES:
        for k in (2, 5):
            expected = math.log(k) - finite.infonce(r, q1, q0, k, "nats")
            assert finite.anchored_risk(r, q1, q0, k, 0) == pytest.approx(expected, abs=1e-13)
            assert finite.anchored_risk(r, q1, q0, k, 0, Log()) == pytest.approx(
                expected, abs=1e-13
            )


def test_one_point_and_one_anchor_is_the_jensen_shannon_loss():
    for r, q1, q0 in CASES:
        loss = -(q1 @ np.log(r / (1 + r)) + q0 @ np.log(1 / (1 + r))) / 2
        assert finite.anchored_risk(r, q1, q0, 1, 1) == pytest.approx(loss, abs=1e-13)
    _, q1, q0 = CASES[0]
    mixture = (q1 + q0) / 2
    js = (q1 @ np.log(q1 / mixture) + q0 @ np.log(q0 / mixture)) / 2
    assert math.log(2) - finite.anchored_risk(q1 / q0, q1, q0, 1, 1) == pytest.approx(js, abs=1e-13)


def test_kliep_with_one_point_is_nwj_and_robust_2_is_chi_square():
    for r, q1, q0 in CASES:
        nwj = finite.nwj(r, q1, q0, "nats")
        assert 1 - 2 * finite.anchored_risk(r, q1, q0, 1, 1, Kliep()) == pytest.approx(nwj)
    _, q1, q0 = CASES[0]
    best = finite.anchored_risk(q1 / q0, q1, q0, 1, 1, RobustDRE(2))
    assert -4 * best == pytest.approx(1 + finite.chi_square(q1, q0))


def test_alpha_infonce_at_one_over_k_is_infonce():
    for r, q1, q0 in CASES:
        for k in (2, 3, 6):
            found = finite.alpha_infonce(r, q1, q0, k, 1 / k)
            assert found == pytest.approx(finite.infonce(r, q1, q0, k), abs=1e-13)


def test_ml_infonce_with_one_positive_is_infonce_and_never_exceeds_the_divergence():
    for r, q1, q0 in CASES:
        assert finite.ml_infonce(r, q1, q0, 4, 1) == pytest.approx(
            finite.infonce(r, q1, q0, 4), abs=1e-13
        )
        for critic in (r, q1 / q0 + 1e-3):
            assert finite.ml_infonce(critic, q1, q0, 3, 2) <= finite.kl(q1, q0) + 1e-12


@settings(deadline=None, derandomize=True, max_examples=60)
@given(seed=st.integers(0, 10**6), one=st.floats(0, 50), step=st.floats(0, 50))
def test_generalised_dv_falls_from_dv_to_nwj_below_the_divergence(seed, one, step):
    r, q1, q0 = random_case(3, seed)
    dv, nwj = finite.dv(r, q1, q0), finite.nwj(r, q1, q0)
    first, second = (finite.generalised_dv(r, q1, q0, beta) for beta in (one, one + step))
    assert finite.kl(q1, q0) + 1e-12 >= dv >= first - 1e-12
    assert first >= second - 1e-12
    assert second >= nwj - 1e-12
    if step > 1e-2 and abs(q0 @ r - 1) > 0.1:
        assert dv > nwj
        assert first > second


def test_dv_is_tight_at_any_multiple_of_the_ratio_and_nwj_at_the_ratio_alone():
    _, q1, q0 = CASES[2]
    divergence = finite.kl(q1, q0)
    assert finite.dv(3 * q1 / q0, q1, q0) == pytest.approx(divergence, abs=1e-13)
    assert finite.nwj(q1 / q0, q1, q0) == pytest.approx(divergence, abs=1e-13)
    assert finite.nwj(3 * q1 / q0, q1, q0) < divergence - 0.1


def test_infonce_is_the_jsd_at_the_ratio_and_below_it_elsewhere():
    for r, q1, q0 in CASES:
        best = finite.k_way_jsd(q1, q0, 4)
        assert finite.infonce(q1 / q0 * 2.5, q1, q0, 4) == pytest.approx(best, abs=1e-13)
        assert finite.infonce(r, q1, q0, 4) < best


# Invariances


@settings(deadline=None, derandomize=True, max_examples=40)
@given(seed=st.integers(0, 10**6), order=st.permutations(range(4)), k=st.integers(1, 6))
def test_the_order_of_symbols_does_not_matter(seed, order, k):
    r, q1, q0 = random_case(4, seed)
    r_, q1_, q0_ = r[order], q1[order], q0[order]
    assert finite.k_way_jsd(q1_, q0_, k) == pytest.approx(finite.k_way_jsd(q1, q0, k), abs=1e-12)
    assert finite.infonce(r_, q1_, q0_, k) == pytest.approx(finite.infonce(r, q1, q0, k), abs=1e-12)
    assert finite.anchored_risk(r_, q1_, q0_, k, 0.7, Power(2)) == pytest.approx(
        finite.anchored_risk(r, q1, q0, k, 0.7, Power(2)), abs=1e-12
    )
    assert finite.ml_infonce(r_, q1_, q0_, 2, 2) == pytest.approx(
        finite.ml_infonce(r, q1, q0, 2, 2), abs=1e-12
    )


@settings(deadline=None, derandomize=True, max_examples=40)
@given(seed=st.integers(0, 10**6), share=st.floats(0.05, 0.95), k=st.integers(1, 6))
def test_symbols_of_equal_ratio_can_be_merged(seed, share, k):
    """Splitting a symbol with its ratio and its critic kept changes no expectation."""
    r, q1, q0 = random_case(3, seed)
    parts = np.array([share, 1 - share])
    q1_, q0_ = (np.concatenate([q[:2], q[2] * parts]) for q in (q1, q0))
    r_ = np.append(r, r[2])
    assert finite.kl(q1_, q0_) == pytest.approx(finite.kl(q1, q0), abs=1e-12)
    assert finite.chi_square(q1_, q0_) == pytest.approx(finite.chi_square(q1, q0), rel=1e-10)
    assert finite.k_way_jsd(q1_, q0_, k) == pytest.approx(finite.k_way_jsd(q1, q0, k), abs=1e-12)
    assert finite.infonce(r_, q1_, q0_, k) == pytest.approx(finite.infonce(r, q1, q0, k), abs=1e-12)
    assert finite.anchored_risk(r_, q1_, q0_, k, 0.7) == pytest.approx(
        finite.anchored_risk(r, q1, q0, k, 0.7), abs=1e-12
    )


# Exact numbers

EXACT_R = (R(1, 2), R(3, 2), R(2))
EXACT_Q1 = (R(1, 5), R(1, 2), R(3, 10))
EXACT_Q0 = (R(1, 2), R(1, 4), R(1, 4))
ZERO_Q1 = (R(0), R(1, 3), R(2, 3))
ZERO_R = (R(0), R(4, 3), R(8, 3))


def floats(values):
    return [float(v) for v in values]


@pytest.mark.parametrize(("r", "q1"), [(EXACT_R, EXACT_Q1), (ZERO_R, ZERO_Q1)])
def test_exact_results_equal_the_float_ones(r, q1):
    half = R(1, 2)
    calls = {
        "kl": lambda r, q1, q0, x: finite.kl(q1, q0),
        "chi_square": lambda r, q1, q0, x: finite.chi_square(q1, q0),
        "k_way_jsd": lambda r, q1, q0, x: finite.k_way_jsd(q1, q0, 3),
        "k_way_jsd nats": lambda r, q1, q0, x: finite.k_way_jsd(q1, q0, 2, "nats"),
        "infonce": lambda r, q1, q0, x: finite.infonce(r, q1, q0, 3),
        "alpha_infonce": lambda r, q1, q0, x: finite.alpha_infonce(r, q1, q0, 2, x(half)),
        "ml_infonce": lambda r, q1, q0, x: finite.ml_infonce(r, q1, q0, 2, 2),
        "dv": lambda r, q1, q0, x: finite.dv(r, q1, q0),
        "nwj": lambda r, q1, q0, x: finite.nwj(r, q1, q0),
        "generalised_dv": lambda r, q1, q0, x: finite.generalised_dv(r, q1, q0, x(half)),
    }
    for name, call in calls.items():
        exact = call(r, q1, EXACT_Q0, sp.sympify)
        approximate = call(floats(r), floats(q1), floats(EXACT_Q0), float)
        assert isinstance(exact, sp.Expr) and not exact.atoms(sp.Float), name
        assert isinstance(approximate, float), name
        assert float(exact) == pytest.approx(approximate, abs=1e-12), name


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_exact_risks_equal_the_float_ones(rule):
    """With a symbol that q1 never draws, too."""
    k, nu = 2, R(1, 2)
    for r, q1 in ((EXACT_R, EXACT_Q1), (ZERO_R, ZERO_Q1)):
        exact = finite.anchored_risk(r, q1, EXACT_Q0, k, nu, rule)
        expected = finite.anchored_risk(floats(r), floats(q1), floats(EXACT_Q0), k, float(nu), rule)
        assert not exact.atoms(sp.Float)
        if abs(expected) < 1e100:
            assert float(exact) == pytest.approx(expected, abs=1e-12)
        else:
            assert exact == (sp.oo if expected > 0 else -sp.oo)


def test_exact_values_are_the_known_ones():
    half, quarter = R(1, 2), R(1, 4)
    assert finite.k_way_jsd((0, 1), (half, half), 2) == half
    known = 2 - R(29, 64) - R(9, 64) * sp.log(3) / sp.log(2)
    assert sp.simplify(finite.k_way_jsd((0, 1), (1 - quarter, quarter), 4) - known) == 0
    assert finite.kl((0, 1), (1 - quarter, quarter)) == 2
    assert finite.chi_square((0, 1), (1 - quarter, quarter)) == 3
    assert finite.chi_square((Fraction(1, 4), Fraction(3, 4)), (half, half)) == quarter
    assert finite.anchored_risk((1, 1), (0, 1), (half, half), 1, 1) == sp.log(2)


def test_symbols_give_formulas():
    a, b = sp.symbols("a b", positive=True)
    chi2 = finite.chi_square((a, 1 - a), (b, 1 - b))
    assert sp.simplify(chi2 - (a - b) ** 2 / (b * (1 - b))) == 0
    value = finite.k_way_jsd((0, 1), (1 - b, b), 3, "nats")
    known = sp.log(3) - 2 * b * (1 - b) * sp.log(2) - b**2 * sp.log(3)
    assert sp.simplify(value - known) == 0


# Size


def test_four_symbols_and_sixty_four_points():
    """Letters 2 and 3 share the event, 0 and 1 its complement: the two-point pair at 2 bits."""
    q0 = np.array([0.5, 0.25, 0.15, 0.1])
    q1 = np.array([0, 0, 0.6, 0.4])
    ceiling = infonce_ceiling(2.0, 64)
    assert finite.k_way_jsd(q1, q0, 64) == pytest.approx(ceiling, abs=1e-11)
    loss = finite.anchored_risk(q1 / q0, q1, q0, 64, 0)
    assert (math.log(64) - loss) / LN2 == pytest.approx(ceiling, abs=1e-11)


# Fisher consistency


def risk_at(log_r, q1, q0, k, nu, rule):
    return finite.anchored_risk(np.exp(log_r), q1, q0, k, nu, rule)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_anchored_risk_is_smallest_at_the_ratio(rule):
    rng = np.random.default_rng(3)
    q1, q0 = np.array([0.2, 0.5, 0.3]), np.array([0.4, 0.25, 0.35])
    best = np.log(q1 / q0)
    for k, nu in ((1, 1.0), (3, 2.0)):
        lowest = risk_at(best, q1, q0, k, nu, rule)
        for size in (0.02, 0.3):
            for _ in range(3):
                step = size * rng.normal(size=3)
                assert risk_at(best + step, q1, q0, k, nu, rule) > lowest
            shift = np.full(3, size)  # the anchor pins the scale too
            assert risk_at(best + shift, q1, q0, k, nu, rule) > lowest
            assert risk_at(best - shift, q1, q0, k, nu, rule) > lowest


@pytest.mark.parametrize("rule", SYMMETRIC, ids=str)
def test_without_an_anchor_the_ratio_is_found_up_to_scale(rule):
    rng = np.random.default_rng(4)
    q1, q0 = np.array([0.2, 0.5, 0.3]), np.array([0.4, 0.25, 0.35])
    best = np.log(q1 / q0)
    lowest = risk_at(best, q1, q0, 3, 0, rule)
    assert risk_at(best + 0.8, q1, q0, 3, 0, rule) == pytest.approx(lowest, rel=1e-12)
    for _ in range(6):
        step = rng.normal(size=3)
        step -= step.mean()
        assert risk_at(best + 0.1 * step, q1, q0, 3, 0, rule) > lowest
