"""What the chapters on estimators and on the variants of InfoNCE compute with."""

import math

import numpy as np
import pytest

from companion import alpha_map, batches, table_1
from companion.adversary import event_pair, random_pairs
from companion.gaussian_pair import GaussianPair
from mi_lib import finite, objectives
from mi_lib.estimators import TABLE_1


def excess(critic, q1, q0, k, alpha):
    """alpha-InfoNCE less the divergence, from the library."""
    return finite.alpha_infonce(critic, q1, q0, k, alpha) - finite.kl(q1, q0)


def test_the_largest_excess_is_attained_and_never_passed():
    rng, found = np.random.default_rng(1), []
    for q1, q0 in random_pairs(200, 2, 2):
        critic = np.array([1.0, rng.uniform(0.01, 1.0)])
        best = alpha_map.largest_excess(critic, q0, 2, 0.2)
        shares = np.linspace(1e-6, 1 - 1e-6, 401)
        tried = max(excess(critic, np.array([s, 1 - s]), q0, 2, 0.2) for s in shares[::8])
        assert excess(critic, q1, q0, 2, 0.2) <= best + 1e-9
        found.append(best - tried)
    assert min(found) >= 0 and np.median(found) < 1e-3


@pytest.mark.parametrize("k", [2, 4, 16])
def test_the_excess_of_an_event_is_that_of_the_library(k):
    value, divergence = alpha_map.event_excess(0.3 / k, k)
    assert value > 0.01
    event = excess((0.0, 1.0), *event_pair(divergence), k, 0.3 / k)
    assert event == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("k", [2, 3, 8, 64])
def test_the_edges_of_the_map_come_in_their_order(k):
    reach = alpha_map.edge_table([k]).loc[k, "events reach"] / k
    edges = [alpha_map.fails_below(k), reach, alpha_map.checked_from(k), alpha_map.proved_from(k)]
    assert edges[0] <= edges[1] + 1e-4
    assert edges[1:] == sorted(edges[1:]) and edges[3] < 1 / k


@pytest.mark.parametrize("k", [2, 16])
def test_infonce_of_a_gaussian_pair_is_that_of_a_simulation(k):
    pair, rng = GaussianPair.from_bits(2.0), np.random.default_rng(3)
    y = rng.normal(size=100_000)
    x = rng.normal(size=(y.size, k))
    x[:, 0] = pair.rho * y + math.sqrt(1 - pair.rho**2) * x[:, 0]
    scores = -((x - pair.rho * y[:, None]) ** 2) / (2 * (1 - pair.rho**2)) + x**2 / 2
    own = scores[:, 0] - np.logaddexp.reduce(scores, axis=1) + math.log(k)
    assert pair.infonce(k) == pytest.approx(own.mean(), abs=5 * own.std() / math.sqrt(y.size))


def test_an_expectation_over_all_batches_is_that_of_a_simulation():
    joint = np.array([[0.4, 0.1], [0.2, 0.3]])
    critic, rng = np.array([[0.5, -1.0], [0.0, 2.0]]), np.random.default_rng(4)
    drawn = rng.choice(4, size=(20_000, 3), p=joint.ravel())
    x, y = np.divmod(drawn, 2)
    scores = critic[x[:, :, None], y[:, None, :]]
    off = np.exp(scores[:, ~np.eye(3, dtype=bool)]).mean(1)
    loss = np.log(off) - scores.diagonal(axis1=1, axis2=2).mean(1)
    exact = batches.expectation(objectives.dv, joint, critic, 3).item()
    assert exact == pytest.approx(loss.mean(), abs=5 * loss.std() / math.sqrt(len(loss)))


def test_the_printed_table_names_every_row_of_the_library():
    assert {name for row in table_1.PRINTED for name in row.ours} == {e.name for e in TABLE_1}
