"""The closed forms, against high precision and against each other."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from companion.printed_bound import printed_ceiling
from mi_lib import finite
from mi_lib.bounds import chi_square_floor, generalised_dv
from mi_lib.ceiling import certified_kl, infonce_ceiling, prior_entropy

LN2 = math.log(2)
properties = settings(deadline=None, derandomize=True, max_examples=80)


def precise_ceiling(divergence, k):
    """log2 K - E log2(1 + N) in 40 digits: the binomial sum, cut where the mass is below 1e-25."""
    with mp.workdps(40):
        n, hit = k - 1, mp.mpf(2) ** -mp.mpf(divergence)
        miss = -mp.expm1(-mp.mpf(divergence) * mp.log(2))
        if n == 0 or miss == 0:
            return 0.0
        reach = 14 * mp.sqrt(n * hit * miss) + 60
        low = max(0, int(mp.floor(n * hit - reach)))
        high = min(n, int(mp.ceil(n * hit + reach)))
        weight = mp.binomial(n, low) * hit**low * miss ** (n - low)
        mass = value = mp.mpf(0)
        for j in range(low, high + 1):
            mass += weight
            value += weight * mp.log(mp.mpf(k) / (1 + j), 2)
            weight *= mp.mpf(n - j) / (j + 1) * hit / miss
        assert abs(mass - 1) < 1e-25
        return value


# The sharp ceiling


def test_the_number_of_the_book():
    assert infonce_ceiling(2.0, 4) == pytest.approx(2 - 29 / 64 - 9 / 64 * math.log2(3), abs=1e-14)
    assert f"{infonce_ceiling(2.0, 4):.10f}" == "1.3239896483"
    assert infonce_ceiling(1.0, 2) == pytest.approx(0.5, abs=1e-15)
    levels = infonce_ceiling([2.0, 4.0, 6.0, 8.0, 10.0], 64)
    np.testing.assert_allclose(levels, [1.9657, 3.8196, 5.1816, 5.7657, 5.9392], atol=5e-5)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 64, 1000, 10**5, 10**6])
def test_the_ceiling_against_forty_digits(k):
    for divergence in (1e-12, 1e-6, 1e-3, 0.1, 1, 2, 5, 10, 16.5, 20, 26.66, 40, 60):
        expected = float(precise_ceiling(divergence, k))
        assert infonce_ceiling(divergence, k) == pytest.approx(expected, rel=1e-12, abs=1e-30)


def test_small_divergences_keep_their_digits():
    """B_K(D) / D tends to (K - 1) log(K / (K - 1)) as D -> 0."""
    for k in (2, 5, 1000):
        slope = (k - 1) * math.log1p(1 / (k - 1))
        assert infonce_ceiling(1e-200, k) / 1e-200 == pytest.approx(slope, rel=1e-12)


def test_large_divergences_keep_the_digits_of_the_deficit():
    """log K - B_K(D) is (K - 1) 2^-D for large D."""
    deficit = math.log2(3) - infonce_ceiling(30.0, 3)
    assert deficit == pytest.approx(2 * 2.0**-30, rel=1e-5)


def test_scalars_give_floats_and_arrays_broadcast():
    assert type(infonce_ceiling(2.0, 4)) is float
    assert type(infonce_ceiling(np.float64(2), np.int64(4))) is float
    table = infonce_ceiling([[0.5], [2.0], [math.inf]], [2, 64, 10**6, 1])
    assert table.shape == (3, 4)
    for i, divergence in enumerate((0.5, 2.0, math.inf)):
        for j, k in enumerate((2, 64, 10**6, 1)):
            assert table[i, j] == pytest.approx(infonce_ceiling(divergence, k), abs=1e-14)
    assert infonce_ceiling([], 4).shape == (0,)


def test_the_ends():
    assert infonce_ceiling(0.0, 8) == 0
    assert infonce_ceiling(math.inf, 8) == 3
    assert infonce_ceiling([0.0, 3.0, math.inf], 1).tolist() == [0, 0, 0]
    assert infonce_ceiling(1000.0, 8) == pytest.approx(3, abs=1e-14)


def test_nats():
    found = infonce_ceiling(2 * LN2, 4, unit="nats")
    assert found == pytest.approx(infonce_ceiling(2.0, 4) * LN2, abs=1e-14)
    assert infonce_ceiling(math.inf, 8, unit="nats") == pytest.approx(math.log(8))
    assert printed_ceiling(2 * LN2, 4, "nats") == pytest.approx(printed_ceiling(2.0, 4) * LN2)
    assert chi_square_floor(2 * LN2, 3.0, 4, "nats") == pytest.approx(
        chi_square_floor(2.0, 3.0, 4) * LN2
    )
    assert generalised_dv(2 * LN2, 3.0, 1.0, "nats") == pytest.approx(
        generalised_dv(2.0, 3.0, 1.0) * LN2
    )
    assert certified_kl(0.9, 4, unit="nats") == pytest.approx(certified_kl(0.9 / LN2, 4) * LN2)


@properties
@given(k=st.integers(2, 10**6), low=st.floats(0, 25), step=st.floats(1e-3, 10))
def test_the_ceiling_is_increasing_concave_and_below_both_limits(k, low, step):
    one, two, three = infonce_ceiling([low, low + step, low + 2 * step], k)
    rounding = 1e-12
    assert one <= two + rounding and two <= three + rounding
    assert three - two <= two - one + rounding
    assert two < min(low + step, math.log2(k)) + rounding
    if low + 2 * step < math.log2(k):
        assert one < two < three


@properties
@given(k=st.integers(1, 10**5), more=st.integers(1, 10**5), divergence=st.floats(0, 30))
def test_the_ceiling_grows_with_k(k, more, divergence):
    one, two = infonce_ceiling(divergence, [k, k + more])
    assert one <= two + 1e-12


def test_the_ceiling_tends_to_the_divergence_as_k_grows():
    """The deficit is about chi^2 / (2 K log 2), half of what the printed bound says."""
    k = 10**6
    deficit = 2.0 - infonce_ceiling(2.0, k)
    assert deficit == pytest.approx(3 / (2 * k * LN2), rel=1e-4)
    assert 2.0 - printed_ceiling(2.0, k) == pytest.approx(3 / (k * LN2), rel=1e-4)


@properties
@given(
    seed=st.integers(0, 10**6),
    letters=st.integers(2, 4),
    k=st.integers(1, 12),
    spread=st.floats(0.05, 3),
)
def test_no_pair_exceeds_the_ceiling_or_falls_below_the_floor(seed, letters, k, spread):
    rng = np.random.default_rng(seed)
    q0, q1 = rng.dirichlet(np.ones(letters)), rng.dirichlet(np.full(letters, spread))
    q1[q1 < 1e-12] = 0.0
    q1 /= q1.sum()
    divergence, value = finite.kl(q1, q0), finite.k_way_jsd(q1, q0, k)
    assert value <= infonce_ceiling(max(divergence, 0.0), k) + 1e-12
    assert value >= chi_square_floor(max(divergence, 0.0), finite.chi_square(q1, q0), k) - 1e-12


@properties
@given(event=st.floats(0.01, 0.99), k=st.integers(1, 30))
def test_a_conditioned_law_attains_the_ceiling(event, k):
    q1, q0 = (0.0, 1.0), (1 - event, event)
    found = finite.k_way_jsd(q1, q0, k)
    assert found == pytest.approx(infonce_ceiling(finite.kl(q1, q0), k), abs=1e-12)


# The inverse


@properties
@given(k=st.integers(2, 10**4), part=st.floats(0.01, 1.2))
def test_certified_kl_inverts_the_ceiling(k, part):
    divergence = part * math.log2(k)
    found = certified_kl(infonce_ceiling(divergence, k), k)
    assert found == pytest.approx(divergence, rel=1e-8)


def test_certified_kl_ends_and_shapes():
    assert certified_kl(0.0, 4) == 0
    assert certified_kl(2.0, 4) == math.inf
    assert certified_kl(0.0, 1) == 0
    values = certified_kl([[0.5], [0.9]], [2, 64])
    assert values.shape == (2, 2)
    assert values[1, 0] == pytest.approx(certified_kl(0.9, 2))
    assert (values >= [[0.5], [0.9]]).all()


# The printed bound, the floor


def test_the_printed_bound_is_the_formula_of_the_paper():
    assert printed_ceiling(2.0, 4) == pytest.approx(2 - math.log2(1 + 3 / 4), abs=1e-15)
    assert printed_ceiling(2.0, 64) == pytest.approx(1.93391, abs=1e-5)
    for divergence in (0.0, 0.3, 2.0, 9.0, 30.0):
        for k in (1, 2, 7, 64, 10**6):
            literal = divergence - math.log2((2**divergence - 1) / k + 1)
            assert printed_ceiling(divergence, k) == pytest.approx(literal, abs=1e-12)
    assert printed_ceiling(math.inf, 8) == 3
    assert printed_ceiling([1.0, 2.0], [[4], [8]]).shape == (2, 2)


@properties
@given(k=st.integers(2, 10**6), divergence=st.floats(1e-3, 30))
def test_the_printed_bound_lies_below_the_sharp_one(k, divergence):
    printed, sharp = printed_ceiling(divergence, k), infonce_ceiling(divergence, k)
    assert printed <= sharp + 1e-12
    if divergence < math.log2(k):
        assert printed < sharp


def test_the_floor_is_jensens():
    assert chi_square_floor(2.0, 3.0, 4) == pytest.approx(2 - math.log2(1.75), abs=1e-15)
    assert chi_square_floor(0.0, 0.0, 4) == 0
    assert chi_square_floor(1.0, math.inf, 4) == -math.inf
    assert chi_square_floor([1.0, 2.0], 3.0, [[2], [4], [8]]).shape == (3, 2)
    assert type(chi_square_floor(1.0, 1.0, 2)) is float


# From DV to NWJ


def test_generalised_dv_is_the_formula_of_the_paper():
    for beta in (0.0, 0.5, 1.0, 7.0):
        literal = 1.3 - (1 + beta) * math.log((beta + 2.5) / (1 + beta))
        assert generalised_dv(1.3, 2.5, beta, "nats") == pytest.approx(literal, abs=1e-14)
    assert generalised_dv(1.0, 0.0, 1.0, "nats") == pytest.approx(1 + 2 * math.log(2))


def test_generalised_dv_at_its_ends():
    assert generalised_dv(1.3, 2.5, 0, "nats") == pytest.approx(1.3 - math.log(2.5))
    nwj = generalised_dv(1.3, 2.5, math.inf, "nats")
    assert nwj == pytest.approx(1.3 - 1.5)
    assert generalised_dv(1.3, 2.5, math.inf) == pytest.approx(1.3 - 1.5 / LN2)
    for beta in (1e8, 1e16, 1e300):
        assert generalised_dv(1.3, 2.5, beta, "nats") == pytest.approx(nwj, abs=2 / beta + 1e-15)
    assert generalised_dv(1.3, 1.0, 4.0) == 1.3


@properties
@given(mean=st.floats(0.01, 100), one=st.floats(0, 1e6), step=st.floats(0, 1e6))
def test_generalised_dv_falls_with_beta(mean, one, step):
    first, second = (generalised_dv(0.0, mean, beta) for beta in (one, one + step))
    last = generalised_dv(0.0, mean, math.inf)
    rounding = 1e-12 * (1 + abs(last))
    assert first >= second - rounding
    assert second >= last - rounding


# With an anchor


def anchored_by_definition(divergence, k, nu):
    """B_{K,nu}(D) in nats, the sum over Binomial(K, e^-D) with forty digits."""
    with mp.workdps(40):
        d, nu = mp.mpf(divergence), mp.mpf(nu)
        p, total = mp.exp(-d), k + nu
        phi = [
            m * mp.log(m) if m else m for m in ((nu + n * mp.exp(d)) / total for n in range(k + 1))
        ]
        chance = [mp.binomial(k, n) * p**n * (1 - p) ** (k - n) for n in range(k + 1)]
        return k / total * d - mp.fdot(chance, phi)


@pytest.mark.parametrize("nu", [0, 1e-6, 0.1, 1, 3.7, 64, 1e5])
@pytest.mark.parametrize("k", [1, 2, 8, 64])
def test_the_anchored_ceiling_is_its_definition(k, nu):
    divergences = [1e-12, 0.01, 0.3, 0.6931, 0.7, 2.0, 9.0, 40.0]
    found = infonce_ceiling(divergences, k, nu, "nats")
    exact = [float(anchored_by_definition(d, k, nu)) for d in divergences]
    np.testing.assert_allclose(found, exact, rtol=1e-13, atol=1e-30)


def test_the_numbers_of_the_anchored_ceiling():
    assert infonce_ceiling(2.0, 1, nu=1) == pytest.approx(0.5487949406953986, abs=1e-14)
    assert infonce_ceiling(math.inf, 1, nu=1) == prior_entropy(1, 1) == 1
    assert infonce_ceiling(1e5, 5, nu=2) == pytest.approx(prior_entropy(5, 2), abs=1e-14)
    assert infonce_ceiling(20.0, 10**6, nu=10**6) < prior_entropy(10**6, 10**6)
    table = prior_entropy([1, 3], [[0.0], [1.0]])
    np.testing.assert_allclose(table, [[0.0, math.log2(3)], [1.0, 2.0]], rtol=1e-15)


@properties
@given(
    k=st.integers(1, 10**6),
    nu=st.floats(1e-3, 1e6),
    low=st.floats(0, 25),
    step=st.floats(1e-3, 10),
)
def test_the_anchored_ceiling_is_increasing_concave_and_below_its_limits(k, nu, low, step):
    one, two, three = infonce_ceiling([low, low + step, low + 2 * step], k, nu)
    rounding = 1e-12
    assert one <= two + rounding and two <= three + rounding
    assert three - two <= two - one + rounding
    assert two <= min(k / (k + nu) * (low + step), prior_entropy(k, nu)) + rounding


@properties
@given(
    seed=st.integers(0, 10**6),
    symbols=st.integers(2, 4),
    k=st.integers(1, 6),
    nu=st.floats(0.01, 50),
)
def test_no_pair_exceeds_the_anchored_ceiling(seed, symbols, k, nu):
    rng = np.random.default_rng(seed)
    q0, q1 = rng.dirichlet(np.ones(symbols)), rng.dirichlet(np.ones(symbols))
    reached = prior_entropy(k, nu) - finite.anchored_risk(q1 / q0, q1, q0, k, nu) / LN2
    assert reached <= infonce_ceiling(finite.kl(q1, q0), k, nu) + 1e-12


@properties
@given(event=st.floats(0.01, 0.99), k=st.integers(1, 8), nu=st.floats(0.01, 50))
def test_conditioning_on_an_event_attains_the_anchored_ceiling(event, k, nu):
    q1, q0 = np.array([1e-300, 1.0]), np.array([1 - event, event])
    reached = prior_entropy(k, nu) - finite.anchored_risk(q1 / q0, q1, q0, k, nu) / LN2
    assert reached == pytest.approx(infonce_ceiling(-math.log2(event), k, nu), abs=1e-10)


@properties
@given(k=st.integers(1, 10**4), nu=st.floats(0.01, 1e4), divergence=st.floats(0.01, 6))
def test_certified_kl_inverts_the_anchored_ceiling(k, nu, divergence):
    value = infonce_ceiling(divergence, k, nu)
    assert certified_kl(value, k, nu) == pytest.approx(divergence, rel=1e-6)


def test_a_value_above_the_entropy_of_the_classes_is_refused():
    assert certified_kl(1.0, 1, 1) == math.inf
    with pytest.raises(ValueError, match="above the entropy of the classes, 1 bits"):
        certified_kl(1.01, 1, 1)
    with pytest.raises(ValueError, match="nu contains -1"):
        infonce_ceiling(1.0, 4, nu=-1.0)
