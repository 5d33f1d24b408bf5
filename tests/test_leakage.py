"""What scores a held-out pair knows nothing of it: the network, and every choice before and after.

The pairs that a fold holds out are changed altogether; everything that it scores with must stay
the same to the digit. In the first two data sets the network finds what no parametric ratio does,
so a training that saw a single held-out pair would give another critic.
"""

from dataclasses import replace

import numpy as np
import pytest

from mi_lib.inference import crossfit, lower_bound, table
from mi_lib.inference.folds import make_folds
from mi_lib.inference.storage import _split_arrays

N = 600
PLAN = crossfit.Plan(folds=3, seeds=1, hidden=64, batch=64, steps=300, seed=1)
K = 1  # the fold that is looked at, neither the first nor the last of its stack
HELD = make_folds(N, PLAN.folds, PLAN.seed)[K].held_out


def interaction():
    """y follows the product of two columns of x."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N, 2))
    return x, x[:, 0] * x[:, 1] + 0.1 * rng.standard_normal(N)


def waves():
    """The symbols of y come and go along x; the symbol d is rare."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-3, 3, N)
    y = np.array(list("abc"))[np.digitize(np.sin(3 * x), [-0.5, 0.5])]
    y[[HELD[0], *np.setdiff1d(np.arange(N), HELD)[:20]]] = "d"
    return x, y


def letters():
    """Symbols on both sides."""
    rng = np.random.default_rng(2)
    x = rng.integers(0, 4, N)
    return np.array(list("abcd"))[x], np.where(rng.random(N) < 0.7, x, rng.integers(0, 4, N))


DATA = {"interaction": interaction, "waves": waves, "letters": letters}


def without_sense(x, y, rows):
    """Other values, all of them known, in these rows."""
    x, y = x.copy(), y.copy()
    for side in (x, y):
        if side.dtype.kind == "f":
            side[rows] = -4 * side[rows] - 1
        else:
            side[rows] = side[rows[-1]]
    return x, y


def fit(x, y, subsample=1.0):
    columns = table.read(x, "x"), table.read(y, "y")
    return crossfit.cross_fit([columns], PLAN, subsample)[0]


def scores_of_the_fold(scored, x, y):
    return crossfit.score_new(scored.members[K], table.read(x, "x"), table.read(y, "y"))


def state_of_the_fold(scored):
    """All arrays that the fold scores with, and what its clip level is chosen from."""
    member = scored.members[K]
    arrays = _split_arrays(member.split) | {"slopes": member.slopes}
    arrays |= {"curve": [look[K] for look in scored.curve], "clip": scored.held_out()[1][K]}
    return {
        name: np.asarray(part, dtype=float) for name, part in arrays.items() if name != "letters"
    }


@pytest.fixture(scope="module")
def fitted():
    return {name: fit(*make()) for name, make in DATA.items()}


@pytest.mark.parametrize("name", ["interaction", "waves"])
def test_the_network_matters_here(name, fitted):
    scored = fitted[name]
    assert scored.scores[:, 0].mean() > scored.parametric_only.mean() + 0.15


@pytest.mark.parametrize("name", DATA)
def test_other_held_out_pairs_change_nothing_that_scores_them(name, fitted):
    x, y = DATA[name]()
    other = fit(*without_sense(x, y, HELD))
    before, after = (scores_of_the_fold(scored, x, y) for scored in (fitted[name], other))
    assert np.abs(before - after).max() < 1e-6
    states = state_of_the_fold(fitted[name]), state_of_the_fold(other)
    for key, part in states[0].items():
        # All folds train until the last of them is done, so curves may be longer.
        both = slice(min(len(part), len(states[1][key]))) if key == "curve" else ...
        part, same = part[both], states[1][key][both]
        assert part == pytest.approx(same, abs=1e-6, nan_ok=True), key
    elsewhere = fitted[name].members[0].slopes - other.members[0].slopes
    assert np.abs(elsewhere).max() > 1e-4, "fold 0 trains on these pairs"


@pytest.mark.parametrize("name", ["interaction", "waves"])
def test_a_fit_to_half_of_the_pairs_sees_none_that_is_held_out(name):
    x, y = DATA[name]()
    first, second = fit(x, y, 0.5), fit(*without_sense(x, y, HELD), 0.5)
    before, after = (scores_of_the_fold(scored, x, y) for scored in (first, second))
    assert np.abs(before - after).max() < 1e-6


@pytest.mark.parametrize(("name", "least"), [("interaction", 1.0), ("waves", 0.3)])
def test_one_leaked_pair_would_be_seen(name, least, monkeypatch):
    """The pair of tests above is worth something: it fails where the training has a single row
    that is held out."""
    real = crossfit.stack_of

    def leaking(splits, device):
        stack = real(splits, device)
        training = stack.training.clone()
        training[:, 0] = training.new_tensor([int(split.fold.held_out[0]) for split in splits])
        return replace(stack, training=training)

    monkeypatch.setattr(crossfit, "stack_of", leaking)
    x, y = DATA[name]()
    first, second = fit(x, y), fit(*without_sense(x, y, HELD[[0, -1]]))
    before, after = (scores_of_the_fold(scored, x, y) for scored in (first, second))
    assert np.abs(before - after).max() > least


def test_the_clip_of_the_certificate_is_chosen_by_validation_pairs_alone(monkeypatch):
    rng, levels = np.random.default_rng(3), []
    validated = [rng.normal(1, 1, (90, 5)), rng.normal(0, 1, (90, 5))]
    monkeypatch.setattr(lower_bound, "lower_bound", lambda folds, found, c: levels.append(found))
    for scale in (0.01, 1.0, 5.0):
        own, others = np.full(200, scale), np.full((200, 4), -scale)
        held = [np.column_stack([own, others])] * 2
        lower_bound.of_folds(held, validated, 0.95)
    assert levels[0] == levels[1] == levels[2]


def test_scores_within_a_fold_come_from_the_critic_of_that_fold(fitted):
    """Each held-out pair has the score that the critic of its own fold gives to it as new."""
    x, y = interaction()
    for k, member in enumerate(fitted["interaction"].members):
        held = member.split.fold.held_out
        assert (fitted["interaction"].fold_of[held] == k).all()
        new = crossfit.score_new(member, table.read(x, "x"), table.read(y, "y"))
        assert new[held] == pytest.approx(fitted["interaction"].scores[held, 0], abs=1e-4)
