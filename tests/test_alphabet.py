"""Counts of draws, exact and in floats, and what an alphabet holds."""

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mi_lib.alphabet import Alphabet, compositions, is_exact

R = sp.Rational


@settings(deadline=None, derandomize=True, max_examples=40)
@given(total=st.integers(0, 8), parts=st.integers(1, 5))
def test_compositions_are_all_the_ordered_sums_once(total, parts):
    rows = compositions(total, parts)
    expected = {c for c in product(range(total + 1), repeat=parts) if sum(c) == total}
    assert rows.shape == (math.comb(total + parts - 1, parts - 1), parts)
    assert {tuple(row) for row in rows.tolist()} == expected


@pytest.mark.parametrize("q", [(0.2, 0.5, 0.3), (0.0, 1.0), (0.5, 0.0, 0.5), (1.0,)])
@pytest.mark.parametrize("total", [0, 1, 4])
def test_draws_have_the_probabilities_of_all_sequences(q, total):
    expected = Counter()
    for sequence in product(range(len(q)), repeat=total):
        counts = tuple(sequence.count(i) for i in range(len(q)))
        expected[counts] += math.prod(q[i] for i in sequence)
    counts, weights = Alphabet(q, q).draws(np.array(q), total)
    found = {tuple(c): w for c, w in zip(counts.tolist(), weights, strict=True)}
    assert found.keys() == expected.keys()
    for key, weight in found.items():
        assert weight == pytest.approx(expected[key], abs=1e-14)


def test_exact_draws_sum_to_one_and_equal_the_float_ones():
    q = (R(1, 7), R(2, 7), R(4, 7))
    exact, floats = Alphabet(q, q), Alphabet([1 / 7, 2 / 7, 4 / 7], [1 / 7, 2 / 7, 4 / 7])
    counts, weights = exact.draws(exact.q0, 5)
    same, approximate = floats.draws(floats.q0, 5)
    assert sum(weights) == 1
    assert (counts == same).all()
    np.testing.assert_allclose(weights.astype(float), approximate, rtol=1e-13)


def test_the_weights_of_many_draws_sum_to_one():
    alphabet = Alphabet((0.1, 0.2, 0.3, 0.4), (0.25,) * 4)
    counts, weights = alphabet.draws(alphabet.q1, 64)
    assert len(counts) == math.comb(67, 3)
    assert weights.sum() == pytest.approx(1, abs=1e-11)
    np.testing.assert_allclose(weights @ counts, 64 * alphabet.q1, rtol=1e-11)


def test_the_default_critic_is_the_ratio():
    assert Alphabet((0, 0.5, 0.5, 0), (0.5, 0.25, 0.25, 0)).r.tolist() == [0, 2, 2, 0]
    assert Alphabet((R(1, 4), R(3, 4)), (R(1, 2), R(1, 2))).r.tolist() == [R(1, 2), R(3, 2)]


def test_means():
    alphabet = Alphabet((0.25, 0.75), (0.5, 0.5), (2.0, 8.0))
    assert alphabet.mean(alphabet.r, alphabet.q0) == 5.0
    assert alphabet.mean(np.array([np.inf, 3.0]), np.array([0.0, 1.0])) == 3.0
    assert alphabet.mean_log_r() == pytest.approx(2.5 * math.log(2))


def test_units_and_normal_form():
    half = (R(1, 2), R(1, 2))
    assert Alphabet(half, half, unit="bits").answer(3 * sp.log(2)) == 3
    assert Alphabet(half, half, unit="nats").answer(sp.log(8)) == 3 * sp.log(2)
    assert Alphabet((0.5, 0.5), (0.5, 0.5), unit="bits").answer(math.log(8)) == pytest.approx(3)
    assert type(Alphabet((0.5, 0.5), (0.5, 0.5)).answer(np.float64(1))) is float


def test_equal_exact_answers_are_the_same_expression():
    half = (R(1, 2), R(1, 2))
    alphabet = Alphabet(half, half)
    assert alphabet.answer(sp.log(6)) == alphabet.answer(sp.log(2) + sp.log(3))


@pytest.mark.parametrize(
    ("numbers", "exact"),
    [
        ((0.5, 0.5), False),
        ((0, 1), False),
        (np.array([0.5, 0.5]), False),
        ((R(1, 2), R(1, 2)), True),
        ((Fraction(1, 2), Fraction(1, 2)), True),
        ((0, sp.Integer(1)), True),
        ((sp.Symbol("a"), 1 - sp.Symbol("a")), True),
    ],
)
def test_what_counts_as_exact(numbers, exact):
    assert is_exact(numbers) is exact


def test_fractions_become_sympy_numbers():
    alphabet = Alphabet((Fraction(1, 4), Fraction(3, 4)), (Fraction(1, 2), Fraction(1, 2)))
    assert alphabet.r.tolist() == [R(1, 2), R(3, 2)]
