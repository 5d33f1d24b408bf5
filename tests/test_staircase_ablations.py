"""Ablations of the Gaussian staircase, on invented runs whose answers are known."""

import math

import pytest
from invented import invent

from companion import figures
from companion.experiments import staircase_ablations as ablations
from companion.experiments import staircase_tables as tables


def test_ablations_are_paired_with_what_they_depart_from(results):
    invent(results, "gaussian", "laptop-b64", lambda t, e, r, seed: 1.0 + seed)
    invent(results, "ablations", "laptop-cold", lambda t, e, r, seed: 3 * (1.0 + seed))
    shown = ablations.errors()
    assert shown.loc["none", "InfoNCE"] == "2.00", "the seeds of the ablations, not all five"
    assert shown.loc["cold", "anchor, nu = K"] == "6.00  x 3.00 [3.00, 3.00]"
    assert shown.loc["large", "InfoNCE"] == "not run"
    assert "nu" not in shown.index and "k" not in shown.index
    aims = tables.targets("gaussian", "laptop-b64")
    short = (aims["target"] - aims["truth"]).mean()
    assert shown.loc["none", "InfoNCE below target"] == pytest.approx(short - 2.0)
    (results / "ablations" / "laptop-cold-seed01.csv").unlink()
    stored_seeds = ablations.errors()["seeds"]
    assert stored_seeds[["none", "cold", "large"]].tolist() == ["3 of 3", "2 of 3", "0 of 3"]


def test_an_ablation_without_what_it_departs_from_has_no_factor(results):
    invent(results, "ablations", "laptop-cold", lambda *_: 1.5)
    assert ablations.errors().loc["cold", "InfoNCE"] == "1.50"


def test_ablations_say_what_the_ratio_is_worth(results):
    def offset(training, evaluation, record, seed):
        sizes = {"plug-in": 1.0, "dv": -2.0, "scale": 3.0}
        return (1.0 + seed) * sizes.get(evaluation, 0.0) * (2 if training == "anchor" else 1)

    invent(results, "gaussian", "laptop-b64", offset)
    shown = ablations.readings("InfoNCE-anchor")
    assert shown.loc["none"].tolist() == pytest.approx([4.0, 4.0, 8.0, -2.0, 18.0, 6.0])
    assert ablations.readings("anchor, nu = K").loc["none", "RMSE, DV"] == pytest.approx(4.0)
    assert shown.loc["cold"].isna().all(), "not run"
    with pytest.raises(ValueError, match="estimator"):
        ablations.readings("MINE")


def test_an_option_is_read_off_the_names_of_trainings(results):
    def offset(training, evaluation, record, seed):
        nu = float(training.split("=")[1])
        sizes = {"plug-in": math.log10(nu), "dv": -1.0, "scale": nu}
        return sizes.get(evaluation, 0.0) + (0.5 if record == "large" else 0.0)

    invent(results, "ablations", "laptop-nu", offset)
    table = ablations.stored_of("nu")
    errors = ablations.option_errors(table, "nu")
    assert errors["nu"].unique().tolist() == [0.001, 0.01, 0.1, 1, 10, 100, 1000]
    assert errors.loc[errors["nu"] == 100, "error"].unique().round(6).tolist() == [2.0]
    readings = ablations.option_readings(table, "nu")
    assert readings.loc["100"].tolist() == pytest.approx([2.0, 2.5, 0.5, 5.5, 106.5, 6.5])
    assert readings.index.tolist() == ["0.001", "0.01", "0.1", "1", "10", "100", "1000"]


def test_an_option_is_found_beside_another(results):
    def offset(training, evaluation, record, seed):
        return float(training.split("=")[-1])

    invent(results, "ablations", "laptop-k-nu", offset)
    shown = ablations.option_readings(ablations.stored_of("k-nu"), "k")
    assert shown["RMSE, DV"].tolist() == [1, 2, 4, 8, 16, 32, 63]


def test_tables_and_figures_of_what_was_not_run(results):
    nothing = ablations.stored_of("nu")
    assert ablations.option_readings(nothing, "nu").empty
    figure = figures.ablation(ablations.option_errors(nothing, "nu"), "nu", "nu", log=True)
    assert [text.get_text() for text in figure.axes[0].texts] == ["not run"]
