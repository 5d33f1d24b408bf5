"""Tables and claims of the protein experiment, on stored results that the test writes itself."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from companion.claims import get
from companion.data.proteins import Interactions
from companion.data.simulated_proteins import simulated
from companion.experiments import protein_live, protein_tables
from companion.experiments.protein_grid import pieces
from companion.experiments.protein_tables import NAMES, PROTEINS, TASKS
from companion.sweep import write

METHODS = [name for name in NAMES if not name.startswith("true")]
CLAIMS = (
    "proteins-best",
    "proteins-js-second",
    "proteins-large-k",
    "proteins-infonce",
    "proteins-discriminative",
    "proteins-baselines",
)
# A made-up world in which every sentence of the paper is true.
AS_PRINTED = dict.fromkeys(METHODS, 0.7) | {"anchor": 0.9, "js": 0.8}


def piece_records(piece, levels, chance):
    """Metrics and curves as a piece stores them: a level a method, noise shared by a trial."""
    (trial,), rows = piece.config["seeds"], []
    sets = {"published": ("published", "same-scale"), "clean": ("all", "roles")}
    for evaluation in sets[piece.config["protocol"]]:
        luck = chance.normal(0, 0.05)
        for method in METHODS:
            own = levels[method] + luck + chance.normal(0, 0.002)
            rows.append(
                ("metrics", method, evaluation, trial, f"{own:.4f} {own / 10:.4f} 30 28000")
            )
            rows.append(("roc", method, evaluation, trial, "0 500 1000"))
            rows.append(("histogram-known", method, evaluation, trial, "1 2 3"))
    rows += [
        ("stop", m, "", trial, f"{500 + 500 * (trial % 4 == 0)} 1500 0.1") for m in ("js", "anchor")
    ]
    rows += [("scale", method, "", trial, f"{0.1 * trial:.4f} 0.5") for method in ("js", "anchor")]
    return pd.DataFrame(rows, columns=["record", "training", "evaluation", "seed", "values"])


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A function that writes the results of a made-up world, once each."""
    made = {}

    def make(levels, leave_out):
        key = (tuple(levels.values()), leave_out)
        if key not in made:
            made[key] = tmp_path_factory.mktemp("results")
            chance, listed = np.random.default_rng(0), pieces("proteins", "laptop")
            for piece in listed[: len(listed) - leave_out]:
                about = {"config": dict(piece.config), "experiment": "proteins"}
                write(piece.path(made[key]), about, piece_records(piece, levels, chance))
        return made[key]

    return make


@pytest.fixture
def world(folders, monkeypatch):
    """A function after which everything that is stored is that of a made-up world."""

    def make(levels, leave_out=0):
        monkeypatch.setenv("MI_RESULTS", str(folders(levels, leave_out)))
        protein_tables.stored.cache_clear()

    yield make
    protein_tables.stored.cache_clear()


def test_a_world_as_printed_is_reproduced_and_its_twin_is_not(world):
    world(AS_PRINTED)
    for claim in map(get, CLAIMS):
        assert claim.run().verdict == "reproduced", claim.id
        assert claim.run_twin().verdict != "reproduced", claim.id


def test_a_world_without_differences_refutes(world):
    world(dict.fromkeys(METHODS, 0.7))
    for id in CLAIMS:
        assert get(id).run().verdict == "not reproduced", id


def test_nothing_is_judged_while_a_piece_is_missing(world):
    world(AS_PRINTED, leave_out=1)
    for id in CLAIMS:
        outcome = get(id).run()
        assert outcome.verdict == "not run", id
        assert not outcome.broken, id


def test_js_second_needs_the_anchor_above_it(world):
    world(AS_PRINTED | {"anchor": 0.75})
    assert get("proteins-js-second").run().verdict == "not reproduced"
    assert get("proteins-large-k").run().verdict == "not reproduced"


def test_a_normalised_infonce_that_equals_the_anchor_refutes(world):
    world(AS_PRINTED | {"infonce, normalised": 0.9})
    assert get("proteins-infonce").run().verdict == "not reproduced"


def test_the_interval_is_corrected_for_shared_data():
    values = pd.Series([0.1, 0.2, 0.3, 0.4])
    found = protein_tables.interval(values, tested=100, trained=400)
    half = student.ppf(0.975, 3) * values.std() * np.sqrt(1 / 4 + 100 / 400)
    assert (found.mean, found.low, found.high) == pytest.approx((0.25, 0.25 - half, 0.25 + half))
    alone = protein_tables.interval(values[:1], 100, 400)
    assert alone.low == -np.inf and alone.high == np.inf


def test_the_clean_protocol_trains_on_fewer_proteins(world):
    """Its validation proteins are neither tested nor trained on: a wider interval."""
    world(AS_PRINTED)
    for evaluation, away in (("published", 170), ("roles", 340)):
        protocol = protein_tables.EVALUATIONS[evaluation]
        records = protein_tables.stored("laptop", "ligand-receptor", protocol).records
        values = protein_tables.metric(records, evaluation)
        gap = protein_tables.difference("laptop", "ligand-receptor", evaluation, "anchor", "js")
        assert gap == protein_tables.interval(values["anchor"] - values["js"], 170, 1633 - away)


def test_gaps_are_shown_with_their_intervals_and_a_star(world):
    world(AS_PRINTED | {"js": 0.9})
    shown = protein_tables.against("laptop", "kinase-target", "anchor", ("js", "lmi"))
    assert list(shown) == ["published", "same-scale", "all", "roles"]
    assert shown.loc["LMI"].str.endswith("*").all()
    gap = protein_tables.difference("laptop", "kinase-target", "roles", "anchor", "lmi")
    assert shown.loc["LMI", "roles"] == f"{gap} *"
    assert not shown.loc["JS", "published"].endswith("*")


def test_where_training_stopped(world):
    world(AS_PRINTED)
    records = protein_tables.stored("laptop", "kinase-target", "clean").records
    found = protein_tables.stops(records)
    assert list(found.index) == ["JS", "InfoNCE-anchor, nu = 1"]
    assert found.loc["JS"].tolist() == [500, 0.75, 1000]
    with pytest.raises(ValueError, match="no stop is stored"):
        protein_tables.stops(records[records.record != "stop"])


def test_differences_are_paired(world):
    """Trials vary by 0.05, differences by 0.002: only pairing sees a gap of 0.01."""
    world(AS_PRINTED | {"js": 0.89})
    gap = protein_tables.difference("laptop", "kinase-target", "roles", "anchor", "js")
    assert gap.count == 20
    assert gap.low > 0 and gap.mean == pytest.approx(0.01, abs=0.003)


def test_the_summary_has_the_paper_beside_it(world):
    world(AS_PRINTED)
    for task in TASKS:
        frame = protein_tables.summary("laptop", task)
        own = frame.loc[NAMES["anchor"]]
        assert own[("paper", "mean")] == protein_tables.PAPER[task]["anchor"][0]
        assert own[("roles", "mean")] == pytest.approx(0.9, abs=0.05)
    precision = protein_tables.summary("laptop", "kinase-target", "average precision")
    assert "paper" not in precision.columns.get_level_values(0)


def test_curves_and_scales_are_read_back(world):
    world(AS_PRINTED)
    panel = protein_tables.panels("laptop", "published", "roc")["kinase-target"]["anchor"]
    assert panel.shape == (20, 3) and panel[0].tolist() == [0, 0.5, 1]
    counts = protein_tables.panels("laptop", "published", "histogram-known")["kinase-target"]
    assert counts["js"][0].tolist() == [1, 2, 3]
    table = protein_tables.stored("laptop", "kinase-target", "clean")
    scales = protein_tables.scales(table.records)
    assert scales.loc[NAMES["js"], "mean"] == pytest.approx(0.95)


def test_without_results_nothing_breaks(world):
    world(AS_PRINTED, leave_out=80)
    assert "not run" in protein_tables.stored("laptop", "kinase-target").status()
    assert list(protein_tables.summary("laptop", "kinase-target").columns)[0] == ("paper", "mean")
    assert protein_tables.panels("laptop", "roles", "roc") == dict.fromkeys(TASKS, {})
    gaps = protein_tables.differences("laptop", "kinase-target", "anchor", ("js",))
    assert gaps == dict.fromkeys(protein_tables.EVALUATIONS, {})
    with pytest.raises(ValueError, match="run the sweep of proteins"):
        protein_tables.metric(pd.DataFrame(columns=["record", "evaluation"]), "roles")


def test_the_live_run_says_when_it_is_simulated(tmp_path, monkeypatch):
    monkeypatch.setenv("MI_DATA", str(tmp_path))
    assert protein_live.live_task() == "simulated"
    assert "SIMULATED" in protein_live.label(simulated())
    real = Interactions("ligand-receptor", "unirep64", np.zeros((2, 1)), np.array([[0, 1]]))
    assert protein_live.label(real) == "real ligand-receptor pairs, unirep64"
    (tmp_path / "protein.npz").touch()
    assert protein_live.live_task() == "ligand-receptor"


def test_every_table_has_its_number_of_proteins():
    assert set(PROTEINS) == {*TASKS, "simulated"}


def test_finer_looks_are_paired_with_the_same_trials(world, folders, monkeypatch, tmp_path):
    """Every critic 0.1 better in every trial, except JS, which is 0.1 worse."""
    world(AS_PRINTED)
    coarse = protein_tables.stored("laptop", "ligand-receptor").records
    for piece in pieces("protein-looks", "laptop"):
        rows = coarse[coarse["seed"].isin(piece.config["seeds"])]
        sets = {"published": ("published", "same-scale"), "clean": ("all", "roles")}
        rows = rows[rows["evaluation"].isin(sets[piece.config["protocol"]])]
        rows = rows[rows["record"] == "metrics"].drop(columns="piece")
        gain = np.where(rows["training"] == "js", -0.1, 0.1)
        values = [f"{v[0] + g:.4f} 0 30 28000" for v, g in zip(rows["values"], gain, strict=True)]
        stop = [("stop", m, "", s, "150 650 0.1") for m in METHODS for s in piece.config["seeds"]]
        stop = pd.DataFrame(stop, columns=rows.columns)
        about = {"config": dict(piece.config), "experiment": "protein-looks"}
        write(piece.path(tmp_path), about, pd.concat([rows.assign(values=values), stop]))
    looks = protein_tables.Stored(
        tuple(pieces("protein-looks", "laptop")), tmp_path, protein_tables.MODULES
    )
    assert looks.complete
    monkeypatch.setattr(protein_tables, "looks", lambda: looks)
    shown = protein_tables.finer_looks()
    assert shown.loc["InfoNCE-anchor, nu = 1", "roles"] == "+0.100 [+0.100, +0.100] *"
    assert shown.loc["JS", "published"] == "-0.100 [-0.100, -0.100] *"
    assert shown.loc["JS", ["best step, every 500", "best step, every 50"]].tolist() == [500, 150]
    assert list(shown.index)[0] == "chi-square (DRF)" and "LMI" not in shown.index
