"""The live part of a staircase chapter: what it runs, and what it is compared with."""

import pandas as pd
import pytest
from invented import invent

from companion.experiments import staircase_live as live
from companion.experiments import staircase_tables as tables
from companion.experiments.live_check import problems
from companion.experiments.staircase_grid import CUBIC, THREE, Table
from companion.training import Settings


def test_a_chapter_runs_its_own_data_where_it_is_there(monkeypatch):
    monkeypatch.setattr(live, "available", lambda name: name == "mnist")
    assert live.live_table("mnist") == ("mnist", "ci-mnist")
    assert live.live_table("mnist", "laptop") == ("mnist", "laptop")
    assert live.live_table("gaussian", "paper") == ("gaussian", "paper-b64")
    assert live.live_table("text") == live.live_table("text", "paper")
    assert live.live_table("text") == ("tables", "ci-breast-cancer"), "it stands in"
    with pytest.raises(ValueError, match="profile"):
        live.live_table("gaussian", "big")


@pytest.mark.parametrize("chapter", live.CHAPTERS)
@pytest.mark.parametrize("profile", ["ci", "laptop", "paper"])
def test_every_table_that_a_chapter_may_run_is_in_the_grid(monkeypatch, chapter, profile):
    for there in (True, False):
        monkeypatch.setattr(live, "available", lambda name, there=there: there)
        assert tables.find_table(*live.live_table(chapter, profile))


def test_a_live_run_trains_three_ways_with_new_seeds(monkeypatch):
    sizes = {"steps": 4, "every": 2, "block": 4, "batch": 8, "held_out": 16, "large": 8}
    settings = Settings(
        ("nwj",), (1.0, 2.0), critic_settings={"hidden": 8}, large_repeats=1, **sizes
    )
    asked = []

    def find(*names):
        asked.append(names)
        return Table("tiny", "gaussian", settings, 5, CUBIC, 2, 1)

    monkeypatch.setattr(live, "find_table", find)
    frame = live.run_live("gaussian", "laptop")
    assert asked == [("gaussian", "laptop-b64")]
    assert set(frame["training"]) == set(THREE)
    assert set(frame["seed"]) == set(live.LIVE_SEEDS) and set(frame["truth"]) == {1.0, 2.0}


def read(value):
    """A live run in which every estimator reads the same at both levels."""
    pairs = [tables.ESTIMATORS[name] for name in ("InfoNCE", "InfoNCE-anchor", "anchor, nu = K")]
    rows = [(*pair, seed, bits, value) for pair in pairs for seed in (0, 1) for bits in (2.0, 4.0)]
    return pd.DataFrame(rows, columns=["training", "evaluation", "seed", "truth", "value"])


def test_a_live_mean_is_compared_with_stored_seeds(results):
    def offset(training, evaluation, record, seed):
        return [-1.0 + 0.1 * seed, -3.0 + 0.1 * seed, 0, 0, 0]  # about 1.2 at 2 and at 4 bits

    invent(results, "gaussian", "laptop-b64", offset)
    found = live.compare("gaussian", read(1.3), "laptop")
    assert found.index[0] == ("InfoNCE", 2.0) and len(found) == 6
    assert (found["off"] < 4).all() and (found["constant"] > 4).all()
    assert problems(found) == []
    assert len(problems(live.compare("gaussian", read(0.0), "laptop"))) == 6


def test_nothing_is_near_where_too_little_is_stored(results):
    found = live.compare("gaussian", read(1.0), "laptop")
    assert found["off"].isna().all() and len(found) == 6
    assert "fewer than two runs are stored" in problems(found)[0]
