"""The live parts of the experiment chapters, and that a critic of zeros fails every one of them."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from companion.experiments import protein_live, protein_training, ssl_live, ssl_training
from companion.experiments import staircase_live as live
from companion.experiments.live_check import COLUMNS, WIDTH, beside, problems
from companion.experiments.protein_tables import NAMES, metric, stored
from companion.experiments.ssl_grid import SETTINGS
from companion.experiments.staircase_tables import find_table
from companion.training import Run

KEPT = [1.0, 2.0, 3.0]  # mean 2, deviation 1


def table(**rows):
    return pd.DataFrame.from_dict(rows, orient="index", columns=COLUMNS)


def test_a_row_says_how_far_off_the_live_mean_and_a_constant_are():
    assert beside([2.5, 3.5], KEPT, -5.0) == (3.0, 2.0, 1.0, 1.0, 7.0)
    value, mean, sd, off, constant = beside([2.5, 3.5], KEPT, -5.0, of_means=True)
    assert (value, mean, sd) == (3.0, 2.0, pytest.approx(math.sqrt(1 / 2 + 1 / 3)))
    assert (off, constant) == (pytest.approx(1 / sd), pytest.approx(7 / sd))


def test_only_a_near_number_beside_a_far_constant_is_without_problems():
    assert problems(table(js=beside([WIDTH + 1.9], KEPT, -5.0))) == []
    (found,) = problems(table(js=beside([WIDTH + 2.1], KEPT, -5.0)))
    assert found.startswith("js: 6.1 is 4.1 deviations of 1 from the stored 2; at most 4 were")
    (found,) = problems(table(js=beside([2.0], KEPT, -1.9)))
    assert found == (
        "js: a constant critic would be 3.9 deviations away and pass; compare a mean of more runs"
    )
    assert problems(table()) == ["nothing was compared"]


def test_numbers_that_are_none_are_problems():
    assert np.isnan(beside([2.0], [1.0], 0.0)[1:]).all()
    found = problems(table(js=beside([2.0], [1.0], 0.0)))
    assert found[0] == "js: fewer than two runs are stored, so nothing is compared"
    assert problems(table(js=beside([math.nan], KEPT, -5.0)))


def test_a_constant_must_be_caught_at_one_level_of_each_estimator():
    rows = [beside([2.0], KEPT, constant) for constant in (-5.0, 0.0)]
    index = pd.MultiIndex.from_tuples([("a", 1.0), ("a", 2.0)])
    assert problems(pd.DataFrame(rows, index, COLUMNS)) == []
    index = pd.MultiIndex.from_tuples([("a", 1.0), ("b", 1.0)])
    (found,) = problems(pd.DataFrame(rows, index, COLUMNS))
    assert found.startswith("b: a constant critic would be 2.0 deviations away")


def with_and_without(*names):
    """Cases (name, whether its data is there); one with data is skipped where that is absent."""
    return [
        pytest.param(name, there, marks=[pytest.mark.needs_data(data)] if there else [])
        for name, data in names
        for there in (True, False)
    ]


@pytest.fixture
def forget(monkeypatch, tmp_path):
    """Without data: an empty folder in its place."""
    return lambda there: there or monkeypatch.setenv("MI_DATA", str(tmp_path))


def zeroed(network):
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    return network


@pytest.mark.parametrize(
    ("chapter", "there"),
    [("gaussian", False), *with_and_without(("mnist", "mnist"), ("text", "imdb"))],
)
def test_a_critic_of_zeros_fails_on_a_staircase(monkeypatch, forget, chapter, there):
    forget(there)
    make = Run._new_critic

    def new_critic(run):
        make(run)
        zeroed(run.critic)  # a product of zeros: no gradient moves it

    def shorter(*names):
        found = find_table(*names)
        steps = {"steps": 20, "block": 10, "every": 10}
        return replace(found, settings=replace(found.settings, **steps))

    monkeypatch.setattr(Run, "_new_critic", new_critic)
    monkeypatch.setattr(live, "find_table", shorter)
    assert live.live_table(chapter)[0] == (chapter if there or chapter == "gaussian" else "tables")
    found = live.compare(chapter, live.run_live(chapter))
    assert found["live"].tolist() == pytest.approx([0.0] * 9, abs=1e-6)
    said = problems(found)
    assert any(text.startswith("('InfoNCE', 3.0): ") for text in said), said
    assert not [text for text in said if "constant" in text], "it says so, and it would pass"


def critics_at_start(change):
    """In place of training: every critic as it began, changed."""

    def run(training):
        for member in training.members:
            member.critic = change(training._stack(1))
        return training.members

    return run


@pytest.mark.parametrize(("task", "there"), with_and_without(("proteins", "proteins")))
def test_a_critic_of_zeros_fails_on_proteins(monkeypatch, forget, task, there):
    forget(there)
    monkeypatch.setattr(protein_training.Training, "run", critics_at_start(zeroed))
    task = protein_live.live_task()
    assert task == ("ligand-receptor" if there else "simulated")
    found = protein_live.compare(task, protein_live.run_live(task))
    critics = [NAMES[name] for name in protein_live.METHODS if name != "cca"]
    # Where C(y) is divided out, rounding orders what is equal.
    assert found.loc[critics, "live"].tolist() == pytest.approx([0.5] * 4, abs=0.05)
    kept = metric(stored("ci", task, "clean").records, protein_live.EVALUATION)["anchor"]
    deviation = kept.std() * math.sqrt(1 / 4 + 1 / 20)
    assert found.loc[NAMES["anchor"], "sd"] == pytest.approx(deviation)
    said = problems(found)
    assert len(said) == 4 and all(text.startswith(tuple(critics)) for text in said), said
    assert not [text for text in said if "constant" in text], "it says so, and it would pass"


@pytest.mark.parametrize("task", ["ligand-receptor", "simulated"])
def test_the_mean_of_the_live_trials_can_tell_a_constant_from_the_stored_ones(task):
    """Needs no data, only what is stored."""
    kept = metric(stored("ci", task, "clean").records, protein_live.EVALUATION)
    trials = [0.5] * len(protein_live.LIVE_TRIALS)
    for method in protein_live.METHODS:
        assert beside(trials, kept[method], 0.5, of_means=True)[-1] > WIDTH, method


def test_an_encoder_of_zeros_fails_in_self_supervised_learning(monkeypatch):
    def untrained(run):
        for member in run.members:
            zeroed(member.encoder.body)
        return iter(())

    assert SETTINGS["ci"].data == "digits", "what scikit-learn ships: the same without data"
    monkeypatch.setattr(ssl_training.Pretraining, "iterate", untrained)
    found = ssl_live.compare(ssl_live.run_live())
    assert (found["live"] < 15).all() and len(found) == 4
    said = problems(found)
    assert len(said) == 4 and not [text for text in said if "constant" in text], said


def test_curves_of_live_trials_are_stacked_by_method(monkeypatch):
    monkeypatch.setattr(protein_training.Training, "run", critics_at_start(lambda critic: critic))
    trials = protein_live.run_live("simulated", trials=(7, 8))
    grid = np.linspace(0, 1, 5)
    curves = protein_live.roc_curves(trials, grid)
    assert set(curves) == set(protein_live.METHODS)
    assert all(curve.shape == (2, 5) and (curve[:, -1] == 1).all() for curve in curves.values())
    assert not np.array_equal(*curves["anchor"])
