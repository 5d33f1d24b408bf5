"""The fourteen rules beside their generating functions, and the sums over all tuples."""

import numpy as np
import pytest

from companion.rules import (
    GRID,
    MEMBERS,
    SYMMETRIC,
    cases,
    distortion,
    excess_risk,
    gradient,
    numeric,
    tuples,
)
from mi_lib import finite

members = pytest.mark.parametrize("member", MEMBERS, ids=lambda m: m.name)


@members
def test_the_torch_rule_and_the_generating_function_price_a_critic_alike(member):
    for k, nu in GRID:
        for (q1, q0), r in cases(3, 1):
            rows, chance = tuples(q0, k)
            mean = chance @ distortion(member.psi, (q1 / q0)[rows] / nu, r[rows] / nu)
            assert excess_risk(member, r, (q1, q0), k, nu) == pytest.approx(nu / (k + nu) * mean)


@members
def test_the_constants_that_a_rule_leaves_out_are_the_ones_named(member):
    for k, nu in GRID:
        for (q1, q0), _ in cases(4, 1):
            rows, chance = tuples(q0, k)
            mean = chance @ numeric(member.psi, k)(*((q1 / q0)[rows] / nu).T)
            best = finite.anchored_risk(q1 / q0, q1, q0, k, nu, member.rule)
            assert -best - member.lost(k, nu) == pytest.approx(nu / (k + nu) * mean)


@members
def test_the_complex_step_is_the_slope(member):
    at, step = np.array([[0.7, 1.3]]), 1e-6
    value = numeric(member.psi, 2)
    for i, found in enumerate(gradient(member.psi, at)[0]):
        move = np.eye(2)[i] * step
        slope = (value(*(at[0] + move)) - value(*(at[0] - move))) / (2 * step)
        assert found == pytest.approx(slope, rel=1e-6)


def test_all_tuples_and_their_chances():
    rows, chance = tuples(np.array([0.2, 0.8]), 3)
    assert rows.shape == (8, 3) and len(set(map(tuple, rows))) == 8
    assert chance.sum() == pytest.approx(1) and chance[0] == pytest.approx(0.2**3)


def test_a_symmetric_rule_also_has_a_function_of_class_probabilities():
    assert all(member.phi for member in SYMMETRIC)
    assert sum(member.phi is None for member in MEMBERS) == 5
