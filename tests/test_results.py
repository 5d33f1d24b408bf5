"""Reading stored runs: what is there, what is missing, what is old; intervals over seeds."""

import math

import numpy as np
import pandas as pd
import pytest

from companion.data import available
from companion.experiments import slopes, staircase, staircase_grid
from companion.experiments.staircase_tables import (
    curves,
    find_table,
    plateaus,
    reasons,
    rmse_by_seed,
    rmse_factor,
    stored,
    summary,
    targets,
)
from companion.provenance import text_hash
from companion.results import Stored, interval, paired, paired_factor, results_folder
from companion.sweep import Piece, read, sweep
from companion.training import Settings

TINY = Settings(
    trainings=("infonce", "anchor", "anchor:nu=k", "js"),
    levels=(1.0, 2.0),
    steps=20,
    batch=8,
    critic_settings={"hidden": 8},
    every=5,
    block=5,
    held_out=16,
    large=8,
    large_repeats=1,
)
CODE = staircase.MODULES["gaussian"]
TABLE = staircase_grid.Table("tiny", "gaussian", TINY, 3, {"dim": 2}, 2, 2)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A small staircase, really run: three seeds, two trainings a piece."""
    folder = tmp_path_factory.mktemp("results")
    todo = tuple(TABLE.pieces("gaussian"))
    for piece in todo:
        sweep([piece], staircase.run, folder, CODE, _Here(), say=lambda line: None)
    return Stored(todo, folder, CODE)


class _Here:
    """An executor that does the work at once, in this process."""

    def submit(self, f, *arguments):
        from concurrent.futures import Future

        done = Future()
        done.set_result(f(*arguments))
        return done


def test_tables_are_cut_into_pieces_that_share_seeds(table):
    assert [p.key for p in table.pieces] == [
        "tiny-seed00-a",
        "tiny-seed00-b",
        "tiny-seed02-a",
        "tiny-seed02-b",
    ]
    assert [p.config["seeds"] for p in table.pieces] == [[0, 1], [0, 1], [2], [2]]


def test_pieces_of_one_seed_saw_the_same_batches(table):
    """A training gives the same numbers whatever else is in its piece."""
    alone = staircase_grid.Table("alone", "gaussian", TINY, 1, {"dim": 2}, 1, 99)
    frame = staircase.run(next(alone.pieces("gaussian")).config, "cpu")
    own = frame[(frame["record"] == "loss") & (frame["training"] == "js")]["values"].iloc[0]
    rows = table.records
    kept = rows[(rows["record"] == "loss") & (rows["training"] == "js") & (rows["seed"] == 0)]
    np.testing.assert_allclose([float(v) for v in own.split()], kept["values"].iloc[0], rtol=1e-4)


def test_a_plateau_is_the_mean_of_the_last_quarter_of_each_level(table):
    config = table.pieces[2].config
    run = staircase.make_run(config, "cpu")
    for _ in run.iterate():
        pass
    frame = plateaus(table)
    last = np.array(run.curves).reshape(2, 4, 2, 1, 6)[:, -1, 0, 0, 2]  # one of four blocks
    rows = frame[(frame["training"] == "infonce") & (frame["evaluation"] == "infonce")]
    np.testing.assert_allclose(rows[rows["seed"] == 2]["value"], last, atol=1e-3)
    assert rows["truth"].tolist() == [1.0, 2.0] * 3


def test_a_summary_pairs_over_seeds(table):
    frame = plateaus(table)
    own = rmse_by_seed(frame, "InfoNCE")
    base = rmse_by_seed(frame, "InfoNCE-anchor")
    assert set(own) == {0, 1, 2} == set(base)
    factor = rmse_factor(frame, "InfoNCE", "InfoNCE-anchor")
    assert factor.mean == pytest.approx(np.mean([math.log2(own[s] / base[s]) for s in own]))
    shown = summary(frame)
    assert shown.loc["InfoNCE", "RMSE / anchor's"] == str(factor)
    assert shown.loc["InfoNCE", "seeds"] == 3
    error = frame[(frame["training"] == "infonce") & (frame["evaluation"] == "infonce")]
    bias = (error["value"] - error["truth"])[error["truth"] == 2].mean()
    assert shown.loc["InfoNCE", "bias 2"] == pytest.approx(bias)


def test_curves_pool_the_seeds_of_all_pieces(table):
    pooled = curves(table)
    one = pooled[(pooled["training"] == "infonce") & (pooled["evaluation"] == "infonce")]
    assert one["seeds"].unique().tolist() == [3]
    assert one["step"].tolist() == [2.5 + 5 * n for n in range(8)]
    rows = table.records
    rows = rows[(rows["record"] == "curve-mean") & (rows["training"] == "infonce")]
    first, second = rows["values"]
    np.testing.assert_allclose(one["mean"], (2 * first + second) / 3)


def test_reasons_show_that_plug_in_minus_dv_is_the_scale(table):
    frame = reasons(table, ("InfoNCE-anchor", "anchor, nu = K"))
    assert len(frame) == 4
    np.testing.assert_allclose(frame["plug-in"] - frame["dv"], frame["scale"], atol=1e-3)


def test_a_partial_table_says_so(table, tmp_path):
    partial = Stored((*table.pieces, Piece("gaussian", "more", {"seeds": [9]})), table.folder, ())
    assert table.complete
    assert not partial.complete
    assert "complete" in table.status()
    assert "PARTIAL; 4 of 5 pieces, 3 seed(s)" in partial.status()
    assert "OLDER CODE" in partial.status()
    assert "after a check" not in table.status()
    checked = Stored(table.pieces, table.folder, CODE)
    checked.about[0]["made_by_code"] = "older"
    assert "1 pieces kept from older code after a check" in checked.status()
    empty = Stored(table.pieces, tmp_path, CODE)
    assert empty.status() == "gaussian tiny: not run; 0 of 4 pieces are stored"
    assert empty.records.empty
    assert plateaus(empty).empty
    assert summary(plateaus(empty)).empty
    assert curves(empty).empty
    assert reasons(empty, ("InfoNCE-anchor",)).empty


def test_intervals():
    found = interval([1.0, 2.0, 3.0, 4.0])
    half = 3.182446 * math.sqrt(5 / 3) / 2
    assert (found.low, found.high) == pytest.approx((2.5 - half, 2.5 + half), abs=1e-5)
    assert not interval([1.0]).excludes_zero
    assert interval([1.0, 1.1, 1.2]).excludes_zero
    assert interval([-1.0, -1.1, -1.2]).excludes_zero
    assert not interval([-1.0, 1.0, 0.1]).excludes_zero
    assert paired({1: 2.0, 2: 3.0, 5: 0.0}, {1: 1.0, 2: 1.0, 7: 4.0}).mean == 1.5
    with pytest.raises(ValueError, match="share no seed"):
        paired({1: 1.0}, {2: 1.0})
    with pytest.raises(ValueError, match="finite"):
        interval([math.nan])


def test_factors_between_errors():
    """One seed of millions must not hide that all are worse; one of twenty decides nothing."""
    ones = dict.fromkeys(range(5), 1.0)
    wild = {0: 2e2, 1: 4e4, 2: 1e2, 3: 1e30, 4: 4e7}
    assert not paired(wild, ones).excludes_zero
    found = paired_factor(wild, ones)
    assert found.low > math.log2(100) and found.count == 5
    assert found.mean == pytest.approx((math.log2(2e4) + 30) / 5), "1,024 at most, each"
    assert paired_factor(ones, wild).mean == -found.mean
    three = {0: 2.0, 1: 4.0, 2: 8.0}
    assert str(paired_factor(three, dict.fromkeys(three, 1.0))) == "x 4.00 [0.71, 22.38]"
    assert str(paired_factor({1: 3.0}, {1: 1.0})) == "x 3.00, one value"
    assert str(interval([-1.5])) == "-1.50, one value"
    assert str(interval([1.0, 1.0])) == "+1.00 [+1.00, +1.00]"
    assert paired_factor({1: 0.0, 2: 0.0}, {1: 0.0, 2: 0.0}).mean == 0
    once = dict.fromkeys(range(20), 1.0) | {7: 1e30}
    assert not paired_factor(once, dict.fromkeys(range(20), 1.0)).excludes_zero


def test_gaussian_targets_are_near_the_known_values():
    """Against a first Monte Carlo run with the true ratio at K = 64, which is good to 0.02 bits."""
    found = targets("gaussian", "paper-b64")
    known = np.array([1.860, 3.464, 4.597, 5.353, 5.741])
    assert (np.abs(found["target"] - known) < 5 * found["error"] + 0.02).all()
    assert targets("mnist", "paper")["target"].round(4).tolist()[-1] == 5.9392


def stored_pieces():
    """Every committed staircase piece, with the table it belongs to."""
    folder = results_folder()
    names = (*staircase_grid.GRID, "slopes")
    return sorted(path for name in names for path in (folder / name).glob("*.csv"))


def test_every_stored_piece_belongs_to_a_table():
    known = {
        piece.path(results_folder())
        for experiment, profiles in staircase_grid.GRID.items()
        for profile in profiles
        for piece in staircase_grid.pieces(experiment, profile)
    }
    known |= {piece.path(results_folder()) for piece in slopes.pieces("slopes", "laptop")}
    assert [path.name for path in stored_pieces() if path not in known] == []


def test_stored_folders_stay_small():
    for folder in results_folder().iterdir():
        size = sum(path.stat().st_size for path in folder.rglob("*.csv"))
        assert size < 2_000_000, f"{folder.name} holds {size:,} bytes"


@pytest.mark.parametrize("path", stored_pieces()[::9], ids=lambda path: path.stem)
def test_the_first_steps_of_a_stored_piece_can_be_replayed(path):
    """The ten stored losses, to float32 rounding as it grows over ten steps."""
    about, frame = read(path)
    task = about["config"]["task"]
    if task in ("mnist", "text") and not available({"mnist": "mnist", "text": "imdb"}[task]):
        pytest.skip(f"data: {task} is not here")
    run = staircase.make_run(about["config"], "cpu")
    for _ in range(staircase.FIRST_LOSSES):
        run.advance()
    losses = frame[frame["record"] == "loss"]
    for row in losses.itertuples():
        o = run.settings.trainings.index(row.training)
        s = run.seeds.index(int(row.seed))
        found = np.array(run.first_losses)[:, o, s]
        kept = np.array([float(v) for v in row.values.split()])
        np.testing.assert_allclose(found, kept, rtol=2e-3, atol=2e-3)


def test_tables_are_found_by_name():
    assert find_table("gaussian-more", "paper-b16").settings.batch == 16
    with pytest.raises(ValueError, match="choose one of"):
        find_table("gaussian", "paper-b17")
    assert isinstance(stored("gaussian", "ci-gaussian").records, pd.DataFrame)


def test_every_stored_body_is_the_one_its_header_describes():
    for path in sorted(results_folder().glob("*/*.csv")):
        about, records = read(path)
        body = path.read_text(encoding="utf-8").split("\n", 1)[1]
        assert about["rows"] == len(records), path
        assert about["body_hash"] == text_hash(body), path
