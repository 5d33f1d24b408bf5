"""The practitioner's door: fit, read, save, load, and the shell."""

import json
import math
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import mi_lib
from mi_lib import MIEstimator, conditional_mi, mi_matrix
from mi_lib.__main__ import main
from mi_lib.inference import command, conditional, learning_curve, pairs_needed

ROOT = Path(__file__).parent.parent
SMALL = {"steps": 40, "seeds": 1, "folds": 3, "stability": False, "permutations": 19}


def gaussian(n=400, rho=0.8, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    return x, rho * x + math.sqrt(1 - rho**2) * rng.standard_normal(n)


@pytest.fixture(scope="module")
def fitted():
    x, y = gaussian()
    est = MIEstimator(random_state=0, steps=60, seeds=2, folds=3, permutations=19).fit(x, y)
    return est, x, y


def test_it_finds_gaussian_information_with_an_interval_around_it(fitted):
    est, _, _ = fitted
    truth = -0.5 * math.log2(1 - 0.64)
    assert est.mi_ == pytest.approx(truth, abs=0.15)
    assert est.interval_[0] < truth < est.interval_[1]
    assert {type(end) for end in est.interval_} == {float}
    assert est.lower_bound_ <= truth
    assert est.p_value_ == 0.05
    assert est.plug_in_ == pytest.approx(est.pmi_.mean())
    gain, error = est.growth_
    assert est.mi_ == pytest.approx(est.plug_in_ + (gain if gain > 2 * error else 0))
    assert est.half_ == pytest.approx(est.plug_in_ - gain)
    assert est.dv_ == pytest.approx(truth, abs=0.2)


def test_it_finds_dependence_without_correlation():
    rng = np.random.default_rng(1)
    x = rng.standard_normal(600)
    y = np.abs(x) + 0.3 * rng.standard_normal(600)
    est = MIEstimator(random_state=0, steps=150, seeds=1, folds=3, stability=False).fit(x, y)
    assert 0.5 < est.mi_ < 1.2 and est.p_value_ < 0.01


def test_independent_data_give_next_to_nothing():
    x, y = np.random.default_rng(2).standard_normal((2, 1_000))
    est = MIEstimator(random_state=0, **SMALL).fit(x, y)
    assert est.mi_ <= 0.05 and est.interval_[0] == 0 and est.lower_bound_ == 0


def test_symbols_give_the_information_of_their_table():
    rng = np.random.default_rng(3)
    x = rng.integers(0, 4, 2_000)
    y = np.where(rng.random(2_000) < 0.8, x, rng.integers(0, 4, 2_000))
    joint = np.full((4, 4), 0.05 / 4) + 0.2 * np.eye(4)
    truth = 2 + 2 + (joint * np.log2(joint)).sum()
    est = MIEstimator(random_state=0, **SMALL).fit(np.array(list("abcd"))[x], y)
    assert est.mi_ == pytest.approx(truth, abs=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_rare_symbols_do_not_explode(seed):
    """Rounded normal numbers have a symbol or two that most folds never train on."""
    x = np.round(np.random.default_rng(seed).standard_normal(1000))
    shares = np.unique(x, return_counts=True)[1] / len(x)
    entropy = -(shares * np.log2(shares)).sum()
    est = MIEstimator(random_state=0, steps=60, seeds=1).fit(x, x)
    assert est.mi_ == pytest.approx(entropy, abs=0.15)
    assert np.abs(est.pmi_).max() < math.log2(2 * len(x))


def test_increasing_maps_and_units_of_a_column_change_nothing():
    x, y = gaussian(200)
    plain = MIEstimator(random_state=0, **SMALL).fit(x, y).mi_
    assert MIEstimator(random_state=0, **SMALL).fit(np.exp(5 * x), y**3 * 1e200).mi_ == (
        pytest.approx(plain, abs=0.02)
    )


def test_the_same_seed_gives_the_same_numbers_and_nats_are_bits_times_log_2():
    x, y = gaussian(150)
    first, again = (MIEstimator(random_state=4, **SMALL).fit(x, y) for _ in range(2))
    nats = MIEstimator(random_state=4, unit="nats", **SMALL).fit(x, y)
    assert first.mi_ == again.mi_ and first.interval_ == again.interval_
    for name in ("mi_", "dv_", "standard_error_", "lower_bound_"):
        assert getattr(nats, name) == pytest.approx(getattr(first, name) * math.log(2))
    assert nats.p_value_ == first.p_value_


def test_every_pair_is_scored_by_critics_that_never_saw_it():
    """Change one y: the scores of pairs in its fold come from the same critics as before."""
    from mi_lib.inference.folds import make_folds

    x, y = gaussian(120)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    held = make_folds(120, 3, seed)[0].held_out
    other = y.copy()
    other[held[0]] = -other[held[0]]
    first, second = (MIEstimator(random_state=0, **SMALL).fit(x, v).pmi_ for v in (y, other))
    assert first[held[1:]] == pytest.approx(second[held[1:]], abs=1e-12)
    assert first[held[0]] != pytest.approx(second[held[0]], abs=1e-3)
    rest = np.setdiff1d(np.arange(120), held)
    assert np.abs(first[rest] - second[rest]).max() > 1e-6  # there it was a training pair


def test_pmi_of_new_pairs_is_near_the_true_log_ratio(fitted):
    est, _, _ = fitted
    x, y = gaussian(500, seed=9)
    rho = 0.8
    truth = -0.5 * np.log(1 - rho**2) - (rho**2 * (x**2 + y**2) - 2 * rho * x * y) / (
        2 * (1 - rho**2)
    )
    assert np.corrcoef(est.pmi(x, y), truth / math.log(2))[0, 1] > 0.95
    assert est.pmi(x, y).mean() > 0.4 > 0 > est.pmi(x, np.roll(y, 1)).mean()


def test_it_is_a_scikit_learn_estimator():
    est = MIEstimator(unit="nats", random_state=3, folds=4)
    assert clone(est).get_params() == est.get_params()
    assert est.set_params(folds=7).folds == 7
    with pytest.raises(NotFittedError):
        est.pmi([1.0], [2.0])
    with pytest.raises(NotFittedError):
        est.report()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"unit": "trits"}, "unit='trits' is unknown"),
        ({"folds": 1}, "folds=1 is too small"),
        ({"folds": 40}, "leave fewer than 10 in a fold"),
        ({"seeds": 0}, "seeds=0 is too small"),
        ({"hidden": 2.5}, "hidden=2.5 is not a whole number"),
        ({"batch": 4}, "batch=4 is too small"),
        ({"steps": 0}, "steps=0 is too small"),
        ({"confidence": 1.5}, "confidence=1.5 is not between 0 and 1"),
        ({"permutations": -1}, "permutations=-1 is too small"),
        ({"random_state": "a"}, "cannot be used to seed"),
        ({"unit": ["bits"]}, "is unknown"),
        ({"device": "gpu0"}, "device='gpu0' cannot be used here"),
        ({"device": "meta:7:7"}, "cannot be used here"),
        ({"device": None}, "device=None cannot be used here"),
    ],
)
def test_wrong_parameters_are_refused_at_the_fit(parameters, message):
    with pytest.raises(ValueError, match=message):
        MIEstimator(**parameters).fit(*gaussian(100))


def test_recovering_from_a_bad_half_fit_is_no_information():
    """Found by a review: 60 independent pairs whose half fit was 0.5 bits below zero."""
    x, y = np.random.default_rng([1, 60, 1]).standard_normal((2, 60, 1))
    est = MIEstimator(random_state=1, permutations=19).fit(x, y)
    assert est.half_ < -0.3, "the case is still there"
    assert est.mi_ < 0.1 and est.interval_[0] == 0 < est.interval_[1]


def test_copied_rows_are_seen_beside_symbols():
    x = np.repeat(np.random.default_rng(0).standard_normal(30), 10)
    y = np.repeat(np.array(["u", "v"] * 15), 10)
    found = {d.name: d for d in MIEstimator(random_state=0, **SMALL).fit(x, y).diagnostics_}
    repeated = found["share of repeated rows"]
    assert repeated.value == pytest.approx(0.9) and not repeated.ok
    symbols = MIEstimator(random_state=0, **SMALL).fit(np.where(x > 0, "a", "b"), y)
    assert {d.name: d.value for d in symbols.diagnostics_}["share of repeated rows"] == 0


def test_parts_can_be_left_out():
    est = MIEstimator(random_state=0, **(SMALL | {"permutations": 0})).fit(*gaussian(100))
    assert est.p_value_ is None and est.half_ is None
    assert "p-value" not in est.report().table.index


def test_the_report_has_every_number_check_and_plot(fitted):
    est, _, _ = fitted
    report = est.report()
    text = str(report)
    assert f"{est.mi_:.4f}" in text and "lower bound" in text and "400 pairs, in bits" in text
    assert all(found.name in text for found in est.diagnostics_)
    assert report.table.loc["mutual information", "value"] == est.mi_
    assert [w.advice in text for w in report.warnings] == [True] * len(report.warnings)
    assert len(report.plot().axes) == 3


def test_what_is_saved_loads_without_pickle_and_scores_alike(fitted, tmp_path):
    est, x, y = fitted
    path = est.save(tmp_path / "fit")
    assert path.name == "fit.npz" and list(tmp_path.iterdir()) == [path]
    with np.load(path, allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)
    loaded = MIEstimator.load(path)
    assert loaded.pmi(x, y) == pytest.approx(est.pmi(x, y))
    assert (loaded.mi_, loaded.interval_, loaded.p_value_) == (est.mi_, est.interval_, est.p_value_)
    assert str(loaded.report()) == str(est.report())


def test_symbols_survive_saving(tmp_path):
    x, y = gaussian(120)
    frame = pd.DataFrame({"a": np.where(x > 0, "u", "v"), "b": x})
    for side in (frame, frame[["a"]], frame[["b"]]):
        est = MIEstimator(random_state=0, **SMALL).fit(side, np.where(y > 0, 1, 2))
        loaded = MIEstimator.load(est.save(tmp_path / "symbols.npz"))
        again = loaded.pmi(side, np.where(y > 0, 1, 2))
        assert again == pytest.approx(est.pmi(side, np.where(y > 0, 1, 2)))


OLD = {  # files that commit 4eab6fd wrote: the estimate and the pmi of three new pairs
    "numbers": (
        0.536314648,
        ([-1.0, 0.0, 2.0], [-1.0, 1.0, 1.0]),
        [1.7722829, -0.8437873, -0.4394389],
    ),
    "symbols": (
        0.0,
        (["low", "high", "high"], [-1.0, 0.0, 2.0]),
        [0.5496314, -0.7062992, 0.4675836],
    ),
    "counts": (
        0.0782406856,
        (["low", "high", "high"], list("aac")),
        [0.6600367, -2.6405976, 0.5957699],
    ),
}


@pytest.mark.parametrize("kind", OLD)
def test_a_file_from_before_attributes_were_renamed_loads_and_is_written_alike(kind, tmp_path):
    path = Path(__file__).with_name(f"saved_estimator_v2_{kind}.npz")
    mi, pairs, pmi = OLD[kind]
    loaded = MIEstimator.load(path)
    assert loaded.mi_ == pytest.approx(mi) and loaded.pmi(*pairs) == pytest.approx(pmi, abs=1e-5)
    with np.load(path) as old, np.load(loaded.save(tmp_path / "again")) as new:
        assert new.files == old.files
        assert all(np.array_equal(new[name], old[name]) for name in old.files)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 broken"])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "other.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not an estimator saved by this version"):
        MIEstimator.load(path)


def test_a_damaged_file_is_an_error_and_never_another_estimate(fitted, tmp_path):
    est, x, y = fitted
    whole = est.save(tmp_path / "fit").read_bytes()
    expected, path = est.pmi(x, y), tmp_path / "damaged.npz"
    refused = 0
    for place in range(0, len(whole), len(whole) // 60):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            assert MIEstimator.load(path).pmi(x, y) == pytest.approx(expected)
        except ValueError as error:
            refused += 1
            assert "damaged" in str(error)
    assert refused > 30


def test_whole_seeds_and_numpy_numbers_survive_saving(tmp_path):
    x, y = gaussian(100)
    given = SMALL | {"folds": np.int64(2)}
    loaded = MIEstimator.load(
        MIEstimator(random_state=3, **given).fit(x, y).save(tmp_path / "numbers")
    )
    assert (loaded.random_state, loaded.folds) == (3, 2)
    state = np.random.RandomState(0)
    loaded = MIEstimator.load(
        MIEstimator(random_state=state, **SMALL).fit(x, y).save(tmp_path / "state")
    )
    assert loaded.random_state is None


def test_object_arrays_are_refused(tmp_path):
    path = tmp_path / "objects.npz"
    np.savez(path, meta=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="not an estimator"):
        MIEstimator.load(path)
    with pytest.raises(ValueError, match="does not exist"):
        MIEstimator.load(tmp_path / "nothing.npz")


def test_conditional_information_is_what_x_adds_to_z():
    rng = np.random.default_rng(5)
    z, noise, more = rng.standard_normal((3, 600))
    x, y = z + noise, z + noise + more
    given = conditional_mi(x, y, z, random_state=0, **SMALL)
    assert given.mi == pytest.approx(0.5, abs=0.2)  # I(noise; noise + more)
    assert given.interval[0] < 0.5 < given.interval[1]
    assert given.mi == pytest.approx(given.joint - given.of_z)
    assert "I(X,Z;Y) - I(Z;Y)" in str(given)
    nothing = conditional_mi(z + more, z + noise, z, random_state=0, **SMALL)
    assert nothing.mi < 0.1
    with pytest.raises(ValueError, match="z has 599 rows and x 600"):
        conditional_mi(x, y, z[1:], **SMALL)


def test_no_dependence_comes_from_a_negative_term(monkeypatch):
    """The critic of z alone may be worse than none; I(Z;Y) is then zero."""
    real, seen = conditional.crossfit.cross_fit, []

    def shifted(problems, plan, *share):
        found = real(problems, plan, *share)
        seen.append(len(problems[0][0]))
        if seen[-1] == 1:
            found[0].scores[:, 0] -= 0.4
        return found

    monkeypatch.setattr(conditional.crossfit, "cross_fit", shifted)
    x, y, z = np.random.default_rng(0).standard_normal((3, 100))
    found = conditional_mi(x, y, z, random_state=0, **SMALL)
    assert set(seen) == {1, 2}
    assert found.of_z == 0 and found.mi < 0.15


def test_the_matrix_keeps_constant_columns_and_refuses_what_it_does_not_do():
    x, y = gaussian(100)
    frame = pd.DataFrame({"x": x, "one": 1.0, "y": y})
    found = mi_matrix(frame, random_state=0, folds=2, steps=5).mi
    assert list(found.columns) == ["x", "one", "y"]
    assert found["one"].isna().all() and found.loc["x", "y"] == found.loc["y", "x"] > 0
    for name, value in (("stability", True), ("permutations", 9)):
        with pytest.raises(ValueError, match=f"{name}={value}: a matrix has none"):
            mi_matrix(frame, **{name: value})


def test_the_matrix_is_symmetric_and_finds_the_pairs():
    x, y = gaussian(300)
    rng = np.random.default_rng(6)
    symbols = np.where(x > 0, "u", "v")
    frame = pd.DataFrame({"x": x, "y": y, "n": rng.standard_normal(300), "l": symbols})
    found = mi_matrix(frame, random_state=0, folds=3, steps=40)
    values = found.mi.to_numpy()
    assert list(found.mi.columns) == ["x", "y", "n", "l"]
    assert np.isnan(np.diag(values)).all() and np.allclose(values, values.T, equal_nan=True)
    assert found.mi.loc["x", "y"] > 0.4 and found.mi.loc["x", "n"] < 0.1
    assert found.mi.loc["x", "l"] > 0.6
    ordered = (found.low <= found.mi) & (found.mi <= found.high)
    assert ordered.to_numpy()[~np.eye(4, dtype=bool)].all()
    assert found.heat_map().axes[0].get_xticklabels()[0].get_text() == "x"
    with pytest.raises(ValueError, match="at least two columns"):
        mi_matrix(x)


def test_stacked_problems_are_fitted_as_they_are_alone():
    from mi_lib.inference import crossfit, table

    plan = crossfit.Plan(folds=2, seeds=1, hidden=8, batch=16, steps=3, seed=1)
    columns = [table.read(v, "x") for v in np.random.default_rng(0).standard_normal((3, 60))]
    problems = [(columns[0], columns[1]), (columns[0], columns[2])]
    together = crossfit.cross_fit(problems, plan)
    alone = crossfit.cross_fit(problems[:1], plan)
    assert together[0].parametric_only == pytest.approx(alone[0].parametric_only)
    assert together[0].scores == pytest.approx(alone[0].scores, abs=1e-4)
    assert together[1].parametric_only != pytest.approx(together[0].parametric_only)


def test_memory_grows_linearly():
    """No array of the fit has more than a fixed number of entries a pair."""
    from mi_lib.inference import crossfit, table

    made = []
    original = np.empty

    def spy(shape, *args, **kwargs):
        made.append(int(np.prod(shape)))
        return original(shape, *args, **kwargs)

    plan = crossfit.Plan(folds=2, seeds=1, hidden=8, batch=16, steps=1, seed=1)
    largest = []
    for n in (500, 4_000):
        made.clear()
        x, y = np.random.default_rng(0).standard_normal((2, n))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(crossfit.np, "empty", spy)
            crossfit.cross_fit([(table.read(x, "x"), table.read(y, "y"))], plan)
        largest.append(max(made) / n)
    assert largest[1] <= 1.1 * largest[0]


def test_the_package_offers_the_door_lazily():
    code = "import sys, mi_lib; assert 'sklearn' not in sys.modules; mi_lib.MIEstimator"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=120)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = mi_lib.nothing


# the shell


@pytest.fixture
def csv(tmp_path):
    x, y = gaussian(100)
    path = tmp_path / "data.csv"
    pd.DataFrame({"a": x, "b": -x, "c": y, "w": np.where(x > 0, "u", "v")}).to_csv(path)
    return path


@pytest.fixture
def fast(monkeypatch):
    """The command with small fits."""
    from mi_lib.inference import command

    def small(**parameters):
        return MIEstimator(**(SMALL | parameters))

    monkeypatch.setattr(command, "MIEstimator", small)


def test_the_shell_prints_a_table_or_json(csv, fast, capsys):
    code = main(["estimate", str(csv), "--x", "a,b,w", "--y", "c"])
    printed = capsys.readouterr()
    assert code in (0, 1) and code == int("WARNING" in printed.out)
    assert "I(X;Y), 100 pairs, in bits" in printed.out
    assert "fitting: 100 pairs, 3 columns of x, 1 of y" in printed.err
    code = main(["estimate", str(csv), "--x", "a", "--y", "c", "--format", "json"])
    answer = json.loads(capsys.readouterr().out)
    assert code == int(bool(answer["warnings"]))
    assert answer["unit"] == "bits" and answer["interval"][0] <= answer["mi"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--x", "z", "--y", "c"], "names the column 'z', but the file has"),
        (["--x", "", "--y", "c"], "--x names no column"),
        (["--x", "a", "--y", "a"], "a is on both sides"),
    ],
)
def test_the_shell_exits_2_and_says_why(csv, capsys, arguments, message):
    assert main(["estimate", str(csv), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_shell_reads_npz_and_refuses_pickles_and_unknown_files(tmp_path, fast, capsys):
    x, y = gaussian(100)
    path = tmp_path / "data.npz"
    np.savez(path, x=np.column_stack([x, x**2]), y=y)
    assert main(["estimate", str(path), "--x", "x", "--y", "y"]) in (0, 1)
    assert "2 columns of x" in capsys.readouterr().err
    np.savez(path, x=x.astype(object), y=y)
    assert main(["estimate", str(path), "--x", "x", "--y", "y"]) == 2
    assert "would need pickle" in capsys.readouterr().err
    np.savez(path, x=x[1:], y=y)
    assert main(["estimate", str(path), "--x", "x", "--y", "y"]) == 2
    assert "different lengths" in capsys.readouterr().err
    for name, message in (("no.csv", "does not exist"), ("data.pkl", "ends in .pkl")):
        assert main(["estimate", str(tmp_path / name), "--x", "x", "--y", "y"]) == 2
        assert message in capsys.readouterr().err
    (tmp_path / "empty.csv").write_text("")
    assert main(["estimate", str(tmp_path / "empty.csv"), "--x", "x", "--y", "y"]) == 2
    assert "not a readable table" in capsys.readouterr().err


def test_parquet_is_read_and_a_broken_one_or_a_missing_reader_is_named(
    tmp_path, fast, capsys, monkeypatch
):
    x, y = gaussian(100)
    path = tmp_path / "data.parquet"
    pd.DataFrame({"x": x, "y": np.where(y > 0, "u", "v")}).to_parquet(path)
    assert main(["estimate", str(path), "--x", "x", "--y", "y", "--format", "json"]) in (0, 1)
    assert json.loads(capsys.readouterr().out)["pairs"] == 100
    path.write_bytes(b"PAR1 broken")
    assert main(["estimate", str(path), "--x", "x", "--y", "y"]) == 2
    assert "not a readable Parquet file" in capsys.readouterr().err

    def absent(path):
        raise ImportError("no engine")

    monkeypatch.setattr(pd, "read_parquet", absent)
    assert main(["estimate", str(path), "--x", "x", "--y", "y"]) == 2
    assert "needs the package pyarrow" in capsys.readouterr().err


def test_the_shell_names_damaged_archives_and_columns_exactly(tmp_path, fast, capsys):
    x, y = gaussian(100)
    with open(tmp_path / "array.npz", "wb") as file:
        np.save(file, x)  # an .npy under the name of an .npz
    assert main(["estimate", str(tmp_path / "array.npz"), "--x", "x", "--y", "y"]) == 2
    assert "is not an NPZ file of plain arrays" in capsys.readouterr().err
    frame = pd.DataFrame({"t": x, "t[K]": x + 273, "y": y})
    frame.to_csv(tmp_path / "units.csv", index=False)
    assert main(["estimate", str(tmp_path / "units.csv"), "--x", "t", "--y", "y"]) in (0, 1)
    assert "1 columns of x" in capsys.readouterr().err


def test_the_shell_says_how_long_it_has_been(capsys):
    with command.progress("fitting", every=0.01):
        time.sleep(0.1)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "fitting" and said[1] == "  0 s"


def test_no_tensor_is_made_on_the_default_device():
    """With `meta` as the default, anything made without saying where would have no values."""
    x, y = gaussian(100)
    here = MIEstimator(random_state=0, device="cpu", **SMALL).fit(x, y)
    with torch.device("meta"):
        there = MIEstimator(random_state=0, device="cpu", **SMALL).fit(x, y)
        pmi = there.pmi(x, y)
    assert there.mi_ == here.mi_ and pmi == pytest.approx(here.pmi(x, y))


@pytest.mark.gpu
def test_it_runs_on_a_gpu():
    x, y = gaussian(200)
    est = MIEstimator(random_state=0, device="cuda", **SMALL).fit(torch.from_numpy(x), y)
    assert est.mi_ == pytest.approx(-0.5 * math.log2(1 - 0.64), abs=0.3)


def test_the_identities_hold_for_gaussian_pairs_and_each_can_fail(monkeypatch):
    from mi_lib.inference import self_consistency

    x, y = gaussian(400)
    found = self_consistency(x, y, random_state=0, **SMALL)
    assert list(found.index) == ["independence", "data processing", "additivity"]
    assert found["ok"].all()
    assert found.loc["independence", "expected"] == 0
    assert found.loc["additivity", "value"] > 1.3 * found.loc["data processing", "value"]

    class Constant(MIEstimator):
        """Reports one bit whatever the data."""

        def fit(self, x, y):
            self.mi_, self.standard_error_, self.growth_ = 1.0, 0.0, (0.0, 0.0)
            return self

    monkeypatch.setattr(sys.modules["mi_lib.inference.self_consistency"], "MIEstimator", Constant)
    wrong = self_consistency(x, y)
    assert wrong["ok"].tolist() == [False, True, False]
    assert [bool(advice) for advice in wrong["advice"]] == [True, False, True]
    assert not found["advice"].any()


def test_pairs_needed_is_the_pilot_scaled_by_the_square_of_the_width(fitted):
    est, x, _ = fitted
    spread = est.pmi_.std(ddof=1) / math.sqrt(len(x))
    assert pairs_needed(est, 2 * 1.959964 * spread) == pytest.approx(len(x), abs=1)
    assert pairs_needed(est, 0.05) == pytest.approx(4 * pairs_needed(est, 0.1), rel=0.01)
    for width in (0, -1.0, math.nan, math.inf, "wide"):
        with pytest.raises(ValueError, match="is not a positive number of bits"):
            pairs_needed(est, width)
    with pytest.raises(NotFittedError):
        pairs_needed(MIEstimator(), 0.1)


def test_a_learning_curve_has_one_fit_a_size():
    x, y = gaussian(300)
    symbols = np.where(y > 0, "up", "down")
    curve = learning_curve(x, symbols, [60, 300], random_state=0, **SMALL)
    assert curve["pairs"].tolist() == [60, 300]
    order = np.random.default_rng(0).permutation(300)
    last = MIEstimator(random_state=0, **SMALL).fit(x[order], symbols[order])
    assert curve["mi"].iloc[-1] == pytest.approx(last.mi_, abs=1e-6)
    assert curve["low"].iloc[-1] <= curve["mi"].iloc[-1] <= curve["high"].iloc[-1]
    with pytest.raises(ValueError, match="more than the 300 pairs"):
        learning_curve(x, y, [400])
    with pytest.raises(ValueError, match="a size"):
        learning_curve(x, y, [10])
