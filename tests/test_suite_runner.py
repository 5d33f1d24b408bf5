"""The sweep over the suite: its pieces, what they hold, and that a stopped one goes on."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from companion.data import suite as known
from companion.experiments import (
    author_baselines,
    estimator_runs,
    experiment,
    neural_baselines,
    suite,
    suite_tables,
    tuning,
)
from companion.results import Stored, interval, results_folder
from companion.sweep import Piece, missing, run_piece

CODE = {"code_hash": "0", "commit": "", "device": "cpu"}


def test_the_profiles_hold_what_the_tables_need():
    assert experiment("ours") is experiment("independence") is estimator_runs
    laptop, paper = (suite.pieces("suite", profile) for profile in ("laptop", "paper"))
    assert {p.config["half"] for p in laptop} == {"development"}
    assert {p.config["half"] for p in paper} == {"development", "held-back"}
    assert len(paper) == 2 * 5 * len(suite.RIVALS)
    assert len({p.key for p in paper}) == len(paper)
    fits = [
        (task.name, seed)
        for p in estimator_runs.pieces("ours", "paper")
        for task in known.tasks(p.config["half"])
        for seed in p.config["seeds"]
    ]
    assert len(set(fits)) == len(fits) >= 200
    assert {p.config["seeds"][0] for p in paper} <= {seed for _, seed in fits}, "to be paired"
    seeds = [s for p in estimator_runs.pieces("independence", "paper") for s in p.config["seeds"]]
    assert seeds == list(range(500))
    with pytest.raises(ValueError, match="profile='huge' is unknown"):
        suite.pieces("suite", "huge")


@pytest.fixture
def two_tasks(monkeypatch):
    tasks = known.tasks("development")[:1] + known.tasks("development")[-2:-1]
    monkeypatch.setattr(suite.suite, "tasks", lambda half=None: tasks)
    return tasks


def test_a_piece_is_written_once_and_read_back(two_tasks, tmp_path):
    config = {"n": 100, "steps": 2, "half": "development", "seeds": [0], "sweep": "suite"}
    pieces = [Piece("suite", group, config | {"method": group}) for group in suite.RIVALS]
    pieces.append(Piece("ours", "ours", config | {"sweep": "ours"}))
    assert len(missing(pieces, tmp_path)) == 5
    for piece in pieces:
        run_piece(experiment(piece.experiment).run, piece, tmp_path, CODE)
    assert missing(pieces, tmp_path) == []
    assert not list(tmp_path.rglob("*.tmp"))
    stored = Stored(tuple(pieces), tmp_path, ("companion.experiments.suite",))
    frame = suite_tables.table(stored.records)
    rivals = ["DV", "InfoNCE", "MINE", "NWJ", "cca", "ksg"]
    methods = sorted([*rivals, *(f"{name}, tuned" for name in suite.TUNED)]) + ["ours"]
    assert sorted(set(frame["training"])) == methods
    assert len(frame) == 2 * len(methods) and np.isfinite(frame[["truth", "mi", "seconds"]]).all(
        axis=None
    )
    own = frame[frame["training"] == "ours"]
    assert (own["low"] <= own["mi"]).all() and own["truth"].tolist() == pytest.approx(
        [task.mi() for task in two_tasks], abs=1e-5
    )
    table = suite_tables.summary(frame)
    assert table.loc[("development", "ours"), "fits"] == 2
    errors = (own["mi"] - own["truth"]).abs()
    assert table.loc[("development", "ours"), "mean_error"] == pytest.approx(errors.mean())
    assert np.isnan(table.loc[("development", "cca"), "coverage"])


def test_the_independence_sweep_keeps_the_p_values(tmp_path):
    piece = Piece(
        "independence", "few", {"n": 60, "steps": 2, "seeds": [3], "sweep": "independence"}
    )
    run_piece(estimator_runs.run, piece, tmp_path, CODE)
    stored = Stored((piece,), tmp_path, ("companion.experiments.suite",))
    row = suite_tables.table(stored.records).iloc[0]
    assert row["record"] == "test" and 0 < row["p_value"] <= 1 and row["truth"] == 0


def test_the_usual_estimators_see_dependence():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(400)
    settings = neural_baselines.Usual(hidden=32, steps=150, rate=3e-3, batch=32, every=50)
    values = neural_baselines.estimates(x, x + 0.3 * rng.standard_normal(400), 0, settings)
    assert list(values) == ["InfoNCE", "NWJ", "DV", "MINE"]
    assert all(0.5 < value < 3 for value in values.values())


def test_rivals_with_shuffled_partners_see_dependence_and_nothing_else():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(1000)
    y = x + 0.3 * rng.standard_normal(1000)
    truth = 0.5 * np.log2(1 + 1 / 0.09)
    close = author_baselines.usual_estimates(x, y, 0, 400)
    far = author_baselines.usual_estimates(x, rng.standard_normal(1000), 0, 100)
    assert list(close) == ["InfoNCE", "NWJ", "DV", "MINE"]
    assert all(0.5 * truth < value < 1.3 * truth for value in close.values()), close
    assert all(value < 0.1 for value in far.values()), far
    once, again = (author_baselines.usual_estimates(x, y, 0, 50) for _ in range(2))
    assert once == again


def test_the_value_of_the_true_ratio_is_the_information():
    """DV and NWJ (of c + 1) at the true log ratio of a Gaussian pair."""
    rng = np.random.default_rng(1)
    x, noise = rng.standard_normal((2, 200_000))
    y = 0.6 * x + 0.8 * noise

    def c(a, b):
        return torch.from_numpy(0.9375 * a * b - 0.28125 * (a**2 + b**2) - np.log(0.8))

    own, other = c(x, y), c(x, rng.permutation(y))
    for name, shift in (("DV", 0.0), ("NWJ", 1.0)):
        value = float(author_baselines._value(name, own + shift, other + shift))
        assert value == pytest.approx(-np.log(0.8), abs=0.02)


def test_symbols_become_indicators_for_the_usual_estimators():
    numbers = neural_baselines.as_numbers(np.array(["a", "b", "c"] * 20), "x")
    assert numbers.shape == (60, 3) and numbers.mean(0) == pytest.approx(0, abs=1e-12)


def test_tuning_runs_on_the_development_half_alone(monkeypatch, tmp_path):
    asked = []
    tasks = known.tasks("development")[:1]
    monkeypatch.setattr(tuning.suite, "tasks", lambda half=None: asked.append(half) or tasks)
    pieces = [
        Piece("tuning", f"few{i}", {"n": 100, "steps": 2, "seeds": [0], "candidate": name})
        for i, name in enumerate(tuning.CANDIDATES)
    ]
    for piece in pieces:
        run_piece(tuning.run, piece, tmp_path, CODE)
    assert set(asked) == {"development"}
    means = tuning.table(Stored(tuple(pieces), tmp_path, ("companion.experiments.tuning",)).records)
    assert len(means) == 4 * len(tuning.NEURAL) + len(tuning.CLASSICAL)
    chosen = tuning.choose(means)
    assert sorted(chosen) == ["DV", "InfoNCE", "MINE", "NWJ", "cca", "ksg"]
    for method, name in chosen.items():
        assert means.loc[(method, name), "error"] == means.loc[method, "error"].min()


def test_the_rivals_are_tuned_as_the_stored_table_says():
    stored = Stored(tuple(tuning.pieces("tuning", "laptop")), results_folder(), tuning.MODULES)
    assert stored.complete
    assert tuning.choose(tuning.table(stored.records)) == suite.TUNED


def made_up(errors):
    """Records of one task and two methods, an error a seed and method."""
    rows = [
        ["estimate", method, "dense 2x2", seed, suite.VALUES, error]
        for method, found in errors.items()
        for seed, error in enumerate(found)
    ]
    frame = pd.DataFrame(rows, columns=["record", "training", "evaluation", "seed", "values", "e"])
    frame["values"] = [
        np.array([1.0, 1.0 + e, 0.9, 1.2, 0.5, np.nan, np.nan, np.nan, 1.0]) for e in frame.pop("e")
    ]
    return suite_tables.table(frame)


def test_the_target_is_half_of_the_rivals_error_for_sure():
    close = {"ours": [0.10, 0.11, 0.12], "ksg": [0.20, 0.24, 0.22], "cca": [0.5, 0.6, 0.55]}
    found = suite_tables.against(made_up(close), "development")
    assert found["target met"].to_dict() == {"ksg": False, "cca": True}
    assert found.loc["ksg", "ratio"] == pytest.approx(0.5)
    assert list(found.index) == ["ksg", "cca"], "the best rival comes first"
    assert found.loc["ksg", "ours less theirs"] == str(interval([-0.10, -0.13, -0.10]))
    assert suite_tables.against(made_up(close), "development", ["spiral"]).empty
    same = suite_tables.against(made_up(close), "development", ["gaussian-dense"])
    assert same.equals(found), "the family of the made-up task"
    fewer = suite_tables.against(made_up(close | {"cca": [0.5]}), "development")
    assert fewer.loc["ksg", "difference"] == found.loc["ksg", "difference"], "its own seeds count"


def test_coverage_counts_hits_and_broken_bounds():
    frame = made_up({"ours": [0.0, 0.1]})
    frame.loc[0, "low"], frame.loc[1, "lower_bound"] = 1.1, 1.05
    frame["covered"] = ((frame["low"] <= 1) & (frame["high"] >= 1)).astype(float)
    row = suite_tables.coverage(frame).loc[("both", "all")]
    assert (row["fits"], row["coverage"], row["bound above truth"]) == (2, 0.5, 1)
    assert row["low"] < 0.5 < row["high"]


def test_missed_tasks_are_listed_with_both_errors():
    frame = made_up({"ours": [-0.4, -0.2, 0.1], "ksg": [-0.1, -0.1, -0.1]})
    assert suite_tables.missed(frame).empty
    frame.loc[frame["training"] == "ours", "covered"] = [0.0, 1.0, 0.0]
    row = suite_tables.missed(frame).iloc[0]
    assert (row["half"], row["task"]) == ("development", "dense 2x2")
    assert row[["coverage", "ours", "ksg"]].tolist() == pytest.approx([1 / 3, -0.5 / 3, -0.1])


@pytest.mark.parametrize(("hits", "tries"), [(0, 7), (3, 7), (7, 7), (190, 200)])
def test_the_binomial_interval_is_the_one_of_scipy(hits, tries):
    known_interval = stats.binomtest(hits, tries).proportion_ci()
    assert suite_tables.binomial_interval(hits, tries) == pytest.approx(tuple(known_interval))
    with pytest.raises(ValueError, match="no share"):
        suite_tables.binomial_interval(tries + 1, tries)


def test_the_level_counts_rejections():
    frame = pd.DataFrame({"record": ["test"] * 4, "p_value": [0.01, 0.05, 0.5, 1.0]})
    assert suite_tables.level(frame)["rejected"] == 0.5


def test_the_whole_table_holds_ours_and_the_rivals(two_tasks, tmp_path, monkeypatch):
    monkeypatch.setattr(suite_tables, "results_folder", lambda: tmp_path)
    assert suite_tables.whole("ci").empty
    wanted = [estimator_runs.pieces("ours", "ci")[0]]
    wanted += [p for p in suite.pieces("suite", "ci") if p.config["method"] == "cca"]
    for piece in wanted:
        run_piece(experiment(piece.experiment).run, piece, tmp_path, CODE)
    assert set(suite_tables.whole("ci")["training"]) == {"ours", "cca"}


def test_an_empty_table_is_no_error():
    frame = suite_tables.table(pd.DataFrame(columns=["record", "training", "evaluation", "values"]))
    for found in (
        suite_tables.summary(frame),
        suite_tables.families(frame, "held-back"),
        suite_tables.against(frame.assign(seed=0), "held-back"),
        suite_tables.coverage(frame),
    ):
        assert found.empty
