"""Rankings against their definitions, ties and infinite scores included."""

import numpy as np
import pytest

from companion.experiments.ranking import auroc, average_precision, precision_at, roc_at

GRID = np.linspace(0, 1, 26)  # that of the stored curves
CLOSE = {"rel": 0, "abs": 1e-12}


def case(seed, values, size=200):
    """Scores with ties (few distinct values) and labels that depend on them a little."""
    chance = np.random.default_rng(seed)
    scores = chance.integers(0, values, size).astype(float)
    labels = chance.random(size) < 0.1 + 0.3 * scores / values
    labels[:2] = True, False
    return scores, labels


def steps(scores, labels):
    """Positives and negatives at or above each distinct score, from the highest on."""
    for score in sorted(set(scores), reverse=True):
        above = scores >= score
        yield (above & labels).sum(), (above & ~labels).sum()


CASES = [case(seed, values) for seed in range(5) for values in (2, 7, 10_000)]
CASES += [case(seed, 3, size=6) for seed in (0, 1, 5)]


@pytest.mark.parametrize(("scores", "labels"), CASES)
def test_the_auroc_compares_all_pairs(scores, labels):
    ahead = scores[labels][:, None] - scores[~labels]
    wanted = (ahead > 0).mean() + (ahead == 0).mean() / 2
    assert auroc(scores, labels) == pytest.approx(wanted, **CLOSE)


@pytest.mark.parametrize(("scores", "labels"), CASES)
def test_average_precision_adds_up_the_recall_steps(scores, labels):
    before = wanted = 0
    for true, false in steps(scores, labels):
        wanted += (true - before) / labels.sum() * true / (true + false)
        before = true
    assert average_precision(scores, labels) == pytest.approx(wanted, **CLOSE)


@pytest.mark.parametrize(("scores", "labels"), CASES)
def test_the_roc_curve_goes_straight_between_thresholds_from_top_to_top(scores, labels):
    top = {0: 0}
    for true, false in steps(scores, labels):
        top[false] = true  # the last one of a vertical piece is its top
    rates, found = np.array(list(top)) / (~labels).sum(), np.array(list(top.values()))
    wanted = []
    for rate in GRID:
        right = np.flatnonzero(rates >= rate)[0]
        left = right if rates[right] == rate else right - 1
        share = (rate - rates[left]) / max(rates[right] - rates[left], 1e-300)
        wanted.append((found[left] + share * (found[right] - found[left])) / labels.sum())
    assert roc_at(scores, labels, GRID) == pytest.approx(wanted, **CLOSE)


@pytest.mark.parametrize(("scores", "labels"), CASES)
def test_precision_is_that_of_the_first_threshold_that_reaches_a_recall(scores, labels):
    wanted = []
    for recall in GRID:
        for true, false in steps(scores, labels):
            if true > 0 and true / labels.sum() >= recall - 1e-12:
                wanted.append(true / (true + false))
                break
    assert precision_at(scores, labels, GRID) == pytest.approx(wanted, **CLOSE)


def test_precision_in_a_case_done_by_hand():
    scores = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    labels = np.array([True, False, True, False, True])
    assert precision_at(scores, labels, np.array([0.0, 1 / 3, 0.5, 2 / 3, 1.0])) == pytest.approx(
        [1, 1, 2 / 3, 2 / 3, 3 / 5]
    )


@pytest.mark.parametrize("measure", [auroc, average_precision, roc_at, precision_at])
def test_infinite_scores_are_ranked_by_their_places(measure):
    scores, labels = case(0, 7)
    ends = np.where(scores == 0, -np.inf, np.where(scores == 6, np.inf, scores**3))
    grid = () if measure in (auroc, average_precision) else (GRID,)
    assert np.array_equal(measure(ends, labels, *grid), measure(scores, labels, *grid))


def test_what_cannot_be_ranked_is_refused():
    with pytest.raises(ValueError, match="needs both kinds"):
        auroc(np.arange(3.0), np.ones(3, bool))
    with pytest.raises(ValueError, match="1 scores are NaN"):
        auroc(np.array([1.0, np.nan]), np.array([True, False]))
    with pytest.raises(ValueError, match="3 scores but 2 labels"):
        average_precision(np.arange(3.0), np.array([True, False]))
