"""Table 1 as data: types mean what the paper says they mean, and estimates come in bits."""

import math

import pytest
import torch

from mi_lib import estimators


def test_types_follow_from_what_is_trained_and_reported():
    for row in estimators.TABLE_1:
        if row.evaluation == "plug-in":
            assert row.type == 3
        else:
            assert row.type == (1 if row.training == row.evaluation else 2)


def test_names_are_unique_and_every_training_and_evaluation_is_used():
    names = [row.name for row in estimators.TABLE_1]
    assert len(set(names)) == len(names)
    assert {row.training for row in estimators.TABLE_1} == set(estimators.TRAININGS)
    assert {row.evaluation for row in estimators.TABLE_1} == set(estimators.EVALUATIONS)


@pytest.mark.parametrize("row", estimators.TABLE_1, ids=lambda row: row.name)
def test_estimates_are_in_bits_without_a_gradient(row):
    scores = torch.randn(3, 6, 6, dtype=torch.float64, requires_grad=True)
    bits, nats = row.estimate(scores), row.estimate(scores, unit="nats")
    assert bits.shape == (3,) and not bits.requires_grad
    torch.testing.assert_close(bits * math.log(2), nats)
    assert row.loss(scores).sum().requires_grad


@pytest.mark.parametrize("row", estimators.TABLE_1, ids=lambda row: row.name)
def test_the_module_of_a_row_is_its_function(row):
    scores = torch.randn(6, 6, dtype=torch.float64)
    torch.testing.assert_close(row.new_loss()(scores), row.loss(scores), rtol=1e-6, atol=1e-6)
    assert row.new_loss() is not row.new_loss(), "a loss may have a memory"


@pytest.mark.parametrize("name", ["DV", "NWJ", "InfoNCE-anchor", "PCC"])
def test_at_the_true_ratio_tight_estimators_find_the_mutual_information(name):
    """X = Y uniform on 8 symbols, I = 3 bits; a huge batch stands in for the population."""
    symbols = torch.arange(8).repeat(16)
    ratio = torch.where(symbols[:, None] == symbols, 8.0, 0.0).double()
    scores = ratio.clamp(min=1e-30).log()
    batch = len(symbols)
    # Negatives of the batch repeat symbols slightly too rarely: 15 of 127 instead of 1 of 8.
    slack = math.log2(8 * 15 / (batch - 1)) if name in ("DV", "NWJ") else 0.0
    estimate = estimators.get(name).estimate(scores).item()
    expected = {"DV": 3 - slack, "NWJ": 3 - (8 * 15 / (batch - 1) - 1) / math.log(2)}
    assert estimate == pytest.approx(expected.get(name, 3.0), abs=1e-9)


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="choose one of D-RFC, DV"):
        estimators.get("MIME")


def test_smile_clips_at_e_to_the_5th_and_mine_reports_dv():
    scores = 9 * torch.eye(4) - 1
    scores[0, 1] = 20.0
    clipped = scores.clamp(-5, 5)
    others = clipped[~torch.eye(4, dtype=bool)]
    expected = scores.diagonal().mean() - (others.exp().mean()).log()
    assert float(estimators.get("SMILE").estimate(scores, "nats")) == pytest.approx(
        float(expected), abs=1e-5
    )
    assert estimators.get("MINE").evaluation == "dv"
