"""The K-way JSD from the distribution of the ratio: equal to the exact core and to sampling."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from companion.ratio_distribution import jsd_by_sampling, jsd_of_distribution
from mi_lib import finite, infonce_ceiling


@given(
    st.lists(st.floats(0.05, 1), min_size=2, max_size=4),
    st.lists(st.floats(0.0, 1), min_size=4, max_size=4),
    st.integers(2, 6),
)
def test_the_integral_equals_the_sum_over_all_tuples(q0, raw, k):
    q0 = np.array(q0) / sum(q0)
    q1 = np.array(raw[: len(q0)]) + 1e-3
    q1 /= q1.sum()
    assert jsd_of_distribution(q1 / q0, q0, k) == pytest.approx(
        finite.k_way_jsd(q1, q0, k), abs=1e-10
    )


@pytest.mark.parametrize("bits", [0.5, 2.0, 10.0])
@pytest.mark.parametrize("k", [2, 64, 4096])
def test_two_atoms_attain_the_sharp_ceiling(bits, k):
    hit = 2.0**-bits
    value = jsd_of_distribution([0, 1 / hit], [1 - hit, hit], k)
    assert value == pytest.approx(infonce_ceiling(bits, k), abs=1e-9)


def test_nats_are_bits_times_log_2():
    ratios = [0.5, 1.5], [0.5, 0.5]
    assert jsd_of_distribution(*ratios, 5, "nats") == pytest.approx(
        jsd_of_distribution(*ratios, 5) * math.log(2)
    )


def test_what_is_not_the_distribution_of_a_ratio_is_refused():
    with pytest.raises(ValueError, match="both must be 1"):
        jsd_of_distribution([1, 2], [0.5, 0.5], 4)
    with pytest.raises(ValueError, match="equal lists"):
        jsd_of_distribution([1, 2], [1.0], 4)
    with pytest.raises(ValueError, match="integer >= 2"):
        jsd_of_distribution([1.0], [1.0], 1)


def test_sampling_agrees_with_the_integral():
    """Pairs of two symbols, labels equal with probability 0.9: K = 8."""

    def scores(generator):
        x = torch.rand(50, 8, generator=generator, dtype=torch.float64) < 0.5
        y = x ^ (torch.rand(50, 8, generator=generator, dtype=torch.float64) < 0.1)
        same = x[..., :, None] == y[..., None, :]
        return torch.where(same, math.log(1.8), math.log(0.2)).double()

    value, error = jsd_by_sampling(scores, 80)
    assert abs(value - jsd_of_distribution([1.8, 0.2], [0.5, 0.5], 8)) < 4 * error
    assert 0 < error < 0.02
