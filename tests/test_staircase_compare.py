"""Staircase tables beside each other, on invented runs whose answers are known."""

import math

import numpy as np
import pandas as pd
import pytest
from invented import LEVELS, invent

from companion import figures
from companion.experiments import staircase_compare as compare
from companion.experiments import staircase_tables as tables
from companion.results import interval

BOTH = ("JS plug-in", "InfoNCE-anchor")


def test_tables_are_joined(results):
    invent(results, "gaussian", "paper-b64", lambda *_: 0.0)
    both = tables.stored("gaussian", "paper-b64", "paper-field-b64")
    assert len(both.there) == 20 and len(both.pieces) == 23 and both.word == "PARTIAL"
    invent(results, "gaussian", "paper-field-b64", lambda *_: 1.0)
    shown = tables.summary(
        tables.plateaus(tables.stored("gaussian", "paper-b64", "paper-field-b64"))
    )
    assert shown.loc["MINE", ["seeds", "RMSE"]].tolist() == [5, 1.0]
    assert shown.loc["NWJ", ["seeds", "RMSE"]].tolist() == [20, 0.0]


def test_errors_across_batch_sizes_are_paired_with_the_anchor(results):
    def offset(training, evaluation, record, seed):
        return (1 + seed % 2) * {"anchor": 0.5, "nwj": 2.0}.get(training, 1.0)

    invent(results, tables.MORE, "paper-b16", offset)
    names = {"B = 16": (tables.MORE, "paper-b16"), "B = 64": ("gaussian", "paper-b64")}
    shown = compare.errors_across({k: tables.stored(*n) for k, n in names.items()})
    assert list(shown.index) == list(tables.ESTIMATORS)
    assert shown.loc["InfoNCE-anchor", "B = 16"] == "0.75"
    assert shown.loc["NWJ", "B = 16"] == "3.00  x 4.00 [4.00, 4.00]"
    assert shown.loc["JS plug-in", "B = 16"] == "1.50  x 2.00 [2.00, 2.00]"
    assert (shown["B = 64"] == "not run").all()


def test_what_cannot_be_paired_or_diverged_says_so(results):
    """A table without the anchor, and a bound that reads minus infinity in one seed."""

    def offset(training, evaluation, record, seed):
        return -math.inf if (training, seed) == ("nwj", 1) else 0.5

    invent(results, tables.MORE, "paper-b16", offset)
    invent(results, "gaussian", "paper-b64", offset, skip=("anchor",))
    names = {"B = 16": (tables.MORE, "paper-b16"), "B = 64": ("gaussian", "paper-b64")}
    shown = compare.errors_across({k: tables.stored(*n) for k, n in names.items()})
    assert shown.loc["NWJ", "B = 64"] == "1 of 20 diverged"
    assert shown.loc["NWJ", "B = 16"].startswith("1 of 20 diverged  x ")
    factor = tables.rmse_factor(
        tables.plateaus(tables.stored(tables.MORE, "paper-b16")), "NWJ", "InfoNCE-anchor"
    )
    assert not factor.excludes_zero, "one bad seed of twenty decides nothing"
    assert shown.loc["InfoNCE"].tolist() == ["0.50  x 1.00 [1.00, 1.00]", "0.50"]
    assert shown.loc["InfoNCE-anchor"].tolist() == ["0.50", "not run"]


def test_who_is_better_than_the_anchor_is_said_in_words(results):
    sizes = {"anchor": 0.5, "nwj": 2.0, "js": 0.25}

    def offset(training, evaluation, record, seed):
        size = sizes.get(training, 0.49 * 2.0 ** (-1) ** seed)
        return 3.0 if (training, evaluation) == ("js", "nwj") else size

    assert compare.against_anchor(tables.plateaus(tables.stored("mnist", "laptop"))) == "not run"
    invent(results, "gaussian", "paper-b64", offset)
    frame = tables.plateaus(tables.stored("gaussian", "paper-b64"))
    lines = compare.against_anchor(frame).splitlines()
    assert lines[:2] == [
        "InfoNCE-anchor has the smallest RMSE of the paper's eight: no",
        "InfoNCE-anchor has the smallest RMSE of all in the table: no",
    ]
    assert "      smaller: JS plug-in x 0.50 [0.50, 0.50]" in lines
    assert "       larger: NWJ x 4.00 [4.00, 4.00]" in lines
    assert any(line.startswith("not separated: Spherical x 0.98 [0.7") for line in lines)
    assert not any("DV" in line for line in lines), "what was not run is not compared"
    sizes |= {"js": 0.75, "anchor:nu=k": 0.1}
    invent(results, "gaussian", "paper-b64", offset)
    frame = tables.plateaus(tables.stored("gaussian", "paper-b64"))
    assert "eight: not certain" in compare.against_anchor(frame)
    assert "in the table: no" in compare.against_anchor(frame)
    only = frame[frame["training"].isin(["anchor", "nwj", "js"])]
    assert "eight: yes" in compare.against_anchor(only)
    first = tables.select(only, "NWJ").index[0]
    broken = only.assign(value=only["value"].where(only.index != first, math.nan))
    assert ", 1 of 20 diverged" in compare.against_anchor(broken), "one level is enough"
    assert max(tables.rmse_by_seed(broken, "NWJ").values()) == tables.DIVERGED


def test_published_runs_stand_beside_ours(results):
    def offset(training, evaluation, record, seed):
        return seed if (training, evaluation, record) == ("js", "clipped-dv", "train") else -0.25

    invent(results, tables.MORE, "paper-published", offset, skip=("mine",))
    shown = compare.beside_published(tables.stored(tables.MORE, "paper-published"))
    assert shown.loc[("SMILE-5", "published")].tolist() == [1.91, 3.93, 6.06, 8.48, 11.10]
    assert shown.loc[("SMILE-5", "ours, 3 seed(s)")].tolist() == [3, 5, 7, 9, 11]
    assert shown.loc[("InfoNCE", "ours, 3 seed(s)"), 10.0] == 9.75
    assert shown.loc["MINE"].index.tolist() == ["published"]
    assert math.isnan(shown.loc[("DV", "published"), 10.0])


def test_nwj_of_log_r_is_its_formula_on_a_finite_alphabet():
    """Any ratio r, scaled or not: E_q1[log r] - E_q0[r] / e from the plug-in and NWJ alone."""
    q1, q0 = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
    for r in (q1 / q0, 3 * q1 / q0, np.array([0.1, 2.0, 5.0])):
        plug_in, mean_r = (q1 * np.log(r)).sum(), (q0 * r).sum()
        bits = [value / np.log(2) for value in (plug_in, plug_in + 1 - mean_r)]
        slip = compare.nwj_of_log_r(*bits) * np.log(2)
        assert slip == pytest.approx(plug_in - mean_r / math.e, rel=1e-12)


def test_js_is_shown_as_it_is_published_and_as_ours_reads_both_ways(results):
    def offset(training, evaluation, record, seed):
        return {"plug-in": seed - 1.0, "nwj": seed - 1.0}.get(evaluation, 9.0)

    invent(results, tables.MORE, "paper-published", offset)
    shown = compare.readings_of_js(tables.stored(tables.MORE, "paper-published"))
    assert shown.loc["published"].tolist() == [1.35, 3.31, 5.22, 7.17, 9.16]
    assert shown.loc["ours, 1 + log r"].tolist() == list(LEVELS)
    lost = np.array(LEVELS) - shown.loc["ours, log r"]
    assert lost.tolist() == pytest.approx([1 / (math.e * math.log(2))] * 5)  # 0.53 bits


def test_published_errors_are_those_the_benchmark_prints():
    """Mean absolute errors: MINE .11, SMILE-inf .12, SMILE-5 .36, NWJ .40, JS .76, InfoNCE 1.83."""
    errors = {
        name: float(np.abs(np.subtract(readings, LEVELS)).mean())
        for name, (_, readings) in compare.PUBLISHED.items()
    }
    known = {"MINE": 0.11, "SMILE-inf": 0.12, "SMILE-5": 0.36, "NWJ": 0.40, "JS": 0.76}
    for name, value in {**known, "InfoNCE": 1.83}.items():
        assert errors[name] == pytest.approx(value, abs=0.011), name


def test_published_errors_stand_beside_ours(results):
    """Errors of seeds do not cancel."""

    def offset(training, evaluation, record, seed):
        return (seed - 1) * 0.75 if training == "nwj" else 1.0 + seed

    invent(results, "text", "laptop", offset)
    shown = compare.errors_beside_published("text", tables.stored("text", "laptop"))
    assert shown.loc["NWJ"].tolist() == [0.69, 0.5]
    assert shown.loc["SMILE-inf"].tolist() == [0.64, 2.0]
    assert math.isnan(shown.loc["DV", "ours, separable"])
    mnist = compare.errors_beside_published("mnist", tables.stored("mnist", "laptop"))
    assert mnist["published, joint"].tolist() == [0.23, 0.22, 0.79, 0.47, 0.87, 0.22, 1.76]


def test_what_was_remembered_is_training_less_fresh(results):
    def offset(training, evaluation, record, seed):
        return 0.2 + 0.1 * seed if record == "train" else 0.0

    invent(results, "text", "laptop", offset)
    shown = compare.remembered(tables.stored("text", "laptop"), ("InfoNCE", "InfoNCE-anchor"))
    assert shown.loc["InfoNCE", 4.0] == str(interval([0.2, 0.3, 0.4]))
    assert compare.remembered(tables.stored("text", "paper"), ("InfoNCE",)).empty


def test_readings_come_with_their_intervals(results):
    def offset(training, evaluation, record, seed):
        only = record == "large" and evaluation == "scale" and training == "anchor"
        return 0.1 * seed if only else 9.0

    invent(results, "mnist", "paper", offset)
    shown = compare.with_intervals(tables.stored("mnist", "paper"), ("InfoNCE-anchor",), "scale")
    assert shown.loc["InfoNCE-anchor", 4.0] == str(interval([4.0, 4.1, 4.2]))
    with pytest.raises(ValueError, match="reading"):
        compare.with_intervals(tables.stored("mnist", "paper"), ("JS",), "scales")


def test_the_truth_can_move_from_one_to_the_other(results):
    """The anchor reads the nominal truth plus 1, JS plug-in one bit less than it: at another truth
    one bit lower JS has no error; half-way they err by 1.5 and 0.5, at the nominal one by 1."""

    def offset(training, evaluation, record, seed):
        return {"anchor": 1.0, "js": -1.0}.get(training, 0.0)

    invent(results, "mnist", "paper", offset)
    frame = tables.plateaus(tables.stored("mnist", "paper"))
    other = {level: level - 1 for level in LEVELS}
    shown = compare.between_truths(frame, other, ("JS plug-in", "NWJ"), (0.5, 1.0))
    assert shown["top"].tolist() == [9.5, 10.0]
    thirds = str(tables.rmse_factor(frame.assign(truth=frame["truth"] - 0.5), *BOTH))
    assert thirds.startswith("x 0.33")
    assert shown["JS plug-in"].tolist() == [thirds, "x 1.00 [1.00, 1.00]"]


def test_a_reading_of_every_critic_has_a_row_for_each(results):
    def offset(training, evaluation, record, seed):
        only = record == "large" and evaluation == "scale"
        return {"js": 1.0, "anchor": seed**3}.get(training, 3.0) if only else 9.0

    invent(results, "mnist", "paper", offset)
    shown = tables.of_every_critic(tables.stored("mnist", "paper"), "scale")
    assert shown.index.tolist() == list(tables.CRITICS) and shown.columns.tolist() == [*LEVELS]
    assert shown[4.0].to_dict() == dict.fromkeys(tables.CRITICS, 7.0) | {
        "JS": 5.0,
        "InfoNCE-anchor": 5.0,
    }
    assert tables.of_every_critic(tables.stored("text", "paper"), "dv").empty
    with pytest.raises(ValueError, match="evaluation"):
        tables.of_every_critic(tables.stored("mnist", "paper"), "nwj")


def test_a_row_of_panels_says_what_was_not_run():
    steps = np.arange(10) + 0.5
    curve = pd.DataFrame({"step": steps, "mean": 1.0, "sd": 0.1, "training": "anchor"})
    curve["evaluation"] = "plug-in"
    aims = pd.DataFrame({"truth": [1.0, 2.0], "target": [0.9, 1.5]})
    rows = {"B = 16": (curve, aims), "B = 64": (curve.iloc[:0], aims)}
    choice = {name: tables.PAPER_EIGHT[name] for name in ("InfoNCE", "InfoNCE-anchor")}
    figure = figures.staircase_rows(rows, choice, [1.0, 2.0])
    words = [[text.get_text() for text in axis.texts] for axis in figure.axes]
    assert words == [["not run"], [], ["not run"], ["not run"]]
    assert [axis.get_title() for axis in figure.axes] == ["InfoNCE", "InfoNCE-anchor", "", ""]
    assert [axis.get_ylabel() for axis in figure.axes] == ["B = 16", "", "B = 64", ""]
