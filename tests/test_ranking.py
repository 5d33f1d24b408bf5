"""Rankings against scikit-learn, ties included."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from companion.experiments.ranking import auroc, average_precision, counts, precision_at, roc_at


def case(seed, values):
    """Scores with ties (few distinct values) and labels that depend on them a little."""
    chance = np.random.default_rng(seed)
    scores = chance.integers(0, values, 300).astype(float)
    labels = chance.random(300) < 0.1 + 0.3 * scores / values
    return scores, labels


CASES = [(seed, values) for seed in range(5) for values in (2, 7, 10_000)]


@pytest.mark.parametrize(("seed", "values"), CASES)
def test_the_areas_are_scikit_learns(seed, values):
    scores, labels = case(seed, values)
    assert auroc(scores, labels) == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)
    wanted = average_precision_score(labels, scores)
    assert average_precision(scores, labels) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(("seed", "values"), CASES)
def test_the_roc_curve_is_scikit_learns(seed, values):
    scores, labels = case(seed, values)
    false, true, _ = roc_curve(labels, scores, drop_intermediate=False)
    grid = np.linspace(0.003, 1, 26)  # away from the vertical pieces, where interp may choose
    top = np.array([true[false <= rate].max() for rate in grid])
    ours = roc_at(scores, labels, grid)
    assert (ours >= top - 1e-12).all()
    whole = roc_at(scores, labels, false)
    for rate, found in zip(false, whole, strict=True):
        assert found == pytest.approx(true[false == rate].max())


def test_precision_is_that_of_the_first_threshold_that_reaches_a_recall():
    scores = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    labels = np.array([True, False, True, False, True])
    assert precision_at(scores, labels, np.array([0.0, 1 / 3, 0.5, 2 / 3, 1.0])) == pytest.approx(
        [1, 1, 2 / 3, 2 / 3, 3 / 5]
    )


def test_a_tie_enters_as_one_threshold():
    true, false = counts(np.array([1.0, 1.0, 0.0]), np.array([True, False, False]))
    assert true.tolist() == [1, 1]
    assert false.tolist() == [1, 2]


def test_what_cannot_be_ranked_is_refused():
    with pytest.raises(ValueError, match="needs both kinds"):
        auroc(np.arange(3.0), np.ones(3, bool))
    with pytest.raises(ValueError, match="1 scores are NaN"):
        auroc(np.array([1.0, np.nan]), np.array([True, False]))
    with pytest.raises(ValueError, match="3 scores but 2 labels"):
        average_precision(np.arange(3.0), np.array([True, False]))
