"""The protein experiment: data, protocols, critics that stop on their own, baselines, LMI."""

import json
import sys
import types

import numpy as np
import pytest
import torch

from companion.data import proteins as data
from companion.data.registry import MissingDataError, available
from companion.data.simulated_proteins import simulated
from companion.experiments import experiment, latent_mi, proteins
from companion.experiments.latent_mi import LatentMI, LatentSettings, pointwise_ksg
from companion.experiments.protein_baselines import LinearCCA, Popularity
from companion.experiments.protein_grid import GRID, pieces
from companion.experiments.protein_protocols import Candidates, Split, split
from companion.experiments.protein_training import Settings, Training, log_scale, score

TINY = Settings(
    objectives=("js", "anchor", "infonce"),
    held_out=60,
    batch=16,
    rate=3e-3,
    steps=60,
    every=10,
    patience=10,
    hidden=16,
    layers=2,
    embedding=4,
)


# --- data -----------------------------------------------------------------------------------------


def test_the_simulated_pmi_is_that_of_the_law_it_was_drawn_from():
    found = simulated(side=24, families=3, pairs=40, seed=1)
    side = 24
    weight = np.exp(found.popularity[[0, 1]]) / (2 * side)
    joint = weight[0][:, None] * weight[1][None, :] * np.exp(found.pmi)
    assert joint.sum() == pytest.approx(1)
    assert joint.sum(1) == pytest.approx(weight[0])
    assert joint.sum(0) == pytest.approx(weight[1])


def test_simulated_pairs_follow_the_law():
    found = simulated(pairs=20_000)
    own = found.pmi[found.pairs[:, 0], found.pairs[:, 1]]
    likely = own.max()
    assert np.mean(own == likely) == pytest.approx(0.8, abs=0.015)
    assert np.unique(own).size == 2


def test_only_used_keeps_the_pairs():
    rows = np.arange(10, dtype=np.float32)[:, None]
    found = data.only_used("t", "e", rows, np.array([[7, 2], [2, 9]]))
    assert found.rows[:, 0].tolist() == [2, 7, 9]
    assert found.rows[found.pairs][:, :, 0].tolist() == [[7, 2], [2, 9]]
    assert found.known().sum() == 2


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="kinase-target"):
        data.interactions("drug-target")
    with pytest.raises(ValueError, match="prott5"):
        data.interactions("kinase-target", "esm2")
    with pytest.raises(ValueError, match="clean"):
        split(simulated(), "leaky", 0)
    with pytest.raises(ValueError, match="hold out fewer than 240"):
        split(simulated(), "clean", 0, held_out=240)


def fake_h5py(content):
    """A module with just what the loader uses."""

    class File(dict):
        def __init__(self, path, mode):
            assert mode == "r"
            super().__init__(content)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return False

    return types.SimpleNamespace(File=File)


def test_prott5_reads_the_proteins_that_are_there(tmp_path, monkeypatch):
    (tmp_path / data.PROTT5_FILE).touch()
    monkeypatch.setenv("MI_DATA", str(tmp_path))
    rows = {"P1": np.arange(1024, dtype=np.float16), "P3": np.ones(1024, np.float16)}
    monkeypatch.setitem(sys.modules, "h5py", fake_h5py(rows))
    found, there = data.prott5(np.array(["P1", "P2", "P3"]))
    assert there.tolist() == [True, False, True]
    assert found.shape == (3, 1024) and found.dtype == np.float32
    assert found[0, 7] == 7 and (found[1] == 0).all() and (found[2] == 1).all()
    with pytest.raises(ValueError, match="holds none of the 1 proteins"):
        data.prott5(np.array(["Q9"]))


def test_prott5_says_what_to_do_when_something_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("MI_DATA", str(tmp_path))
    with pytest.raises(MissingDataError, match=r"download it from https://ftp\.uniprot\.org"):
        data.prott5(np.array(["P1"]))
    (tmp_path / data.PROTT5_FILE).touch()
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match="pip install h5py"):
        data.prott5(np.array(["P1"]))


# --- protocols ------------------------------------------------------------------------------------


def test_the_published_protocol_leaks_as_described():
    pairs = simulated()
    part = split(pairs, "published", 0, held_out=120)
    drawn = part.candidates["published"].left
    assert len(np.unique(drawn)) < len(drawn) == 120  # with replacement
    assert not np.isin(part.train, drawn).any()
    assert np.isin(part.validation, drawn).any(1).all()
    assert len(part.train) + len(part.validation) == len(pairs.pairs)
    both = np.isin(pairs.pairs, drawn).all(1)  # the pairs that are scored
    scored = {tuple(pair) for pair in pairs.pairs[both]}
    assert scored and scored <= {tuple(pair) for pair in part.validation}
    assert part.candidates["published"].counted.all()  # self-pairs, too
    assert part.reference is pairs.pairs
    x = part.candidates["published"].x
    assert x.mean(0).abs().max() < 1e-5  # by their own mean


@pytest.mark.parametrize("trial", range(3))
def test_the_clean_protocol_keeps_its_parts_apart(trial):
    pairs = simulated()
    part = split(pairs, "clean", trial, held_out=100)
    test = part.candidates["all"].left
    assert len(np.unique(test)) == 100
    assert not np.isin(part.train, test).any()
    assert not np.isin(part.validation, test).any()
    seen = part.proteins
    assert (~np.isin(part.validation, seen)).any(1).all()  # each has a protein that is new
    assert not np.diag(part.candidates["all"].counted).any()
    assert part.x[seen].mean(0).abs().max() < 1e-5  # scaled by the training proteins
    assert (part.x[seen].std(0, correction=0) - 1).abs().max() < 1e-3
    known = {tuple(pair) for pair in pairs.pairs}
    c = part.candidates["all"]
    for i, j in zip(*np.nonzero(c.known), strict=True):
        assert (c.left[i], c.right[j]) in known
    roles = part.candidates["roles"]
    assert (roles.counted <= c.counted).all()
    assert (roles.known & c.counted <= roles.counted).all()  # no known pair is lost
    assert roles.counted.sum() < c.counted.sum() / 2  # left and right are apart here


def test_trials_differ_and_repeat():
    pairs = simulated()
    first, again = (split(pairs, "clean", 3, 80).candidates["all"].left for _ in range(2))
    assert (first == again).all()
    assert (first != split(pairs, "clean", 4, 80).candidates["all"].left).any()


# --- critics --------------------------------------------------------------------------------------


def trained(objectives, **changes):
    settings = Settings(**{**vars(TINY), "objectives": objectives, **changes})
    training = Training(split(simulated(), "clean", 0, 60), settings, seed=0)
    return training, training.run()


def test_a_member_learns_what_it_would_learn_alone():
    """Others in the stack, and their leaving it, change nothing."""
    longer = {"steps": 3 * TINY.steps}
    _, together = trained(TINY.objectives, **longer)
    assert len({member.stopped for member in together}) > 1, "no member left before another"
    for member in together:
        _, (alone,) = trained((member.objective,), **longer)
        assert (member.step, member.stopped) == (alone.step, alone.stopped)
        assert member.loss == pytest.approx(alone.loss, rel=1e-4)
        part = split(simulated(), "clean", 0, 60).candidates["all"]
        mine, other = (score(m.critic, part.x, part.y) for m in (member, alone))
        assert torch.allclose(mine, other, atol=1e-3)


def test_the_best_state_is_kept():
    training, members = trained(("js",), steps=600, rate=1e-2)
    (member,) = members
    training.active, training.critic = [0], member.critic
    with torch.no_grad():
        again = torch.stack([training._losses(pairs) for pairs in training.held]).mean()
    assert float(again) == pytest.approx(member.loss, rel=1e-5)
    assert member.step < member.stopped < 600


def test_first_losses_replay():
    (one, _), (two, _) = trained(TINY.objectives), trained(TINY.objectives)
    assert len(one.first_losses) == 10
    assert np.allclose(one.first_losses, two.first_losses, rtol=1e-6)


def test_the_scale_is_what_has_to_be_divided_out():
    training, members = trained(("infonce",))
    part = training.split
    y = part.candidates["all"].y[:7]
    free = log_scale(members[0].critic, part, y)
    table = score(members[0].critic, part.x[part.train[:, 0]], y)  # every pair counts once
    assert torch.allclose(free, torch.logsumexp(table, 0) - np.log(len(table)), atol=1e-5)
    assert free.std() > 1e-3  # InfoNCE does leave it free


def test_too_few_pairs_for_a_batch_are_refused():
    with pytest.raises(ValueError, match="fewer than a batch of 4096"):
        trained(("js",), batch=4096)


# --- baselines and LMI ----------------------------------------------------------------------------


def gaussian_split(rho, n=4000, dim=3):
    """Pairs of correlated Gaussian rows, as a split."""
    chance = np.random.default_rng(0)
    x = chance.normal(size=(n, dim))
    y = rho * x + np.sqrt(1 - rho**2) * chance.normal(size=(n, dim))
    rows = torch.from_numpy(np.concatenate([x, y])).float()
    pairs = np.stack([np.arange(n), n + np.arange(n)], 1)
    return Split(rows, rows, pairs, pairs, pairs, {})


def true_log_ratio(u, v, rho):
    cross, squares = u @ v.T, (u**2).sum(1)[:, None] + (v**2).sum(1)[None, :]
    quadratic = (2 * rho * cross - rho**2 * squares) / (2 * (1 - rho**2))
    return quadratic - 0.5 * u.shape[1] * np.log(1 - rho**2)


def test_linear_cca_is_the_log_ratio_of_gaussians(monkeypatch):
    monkeypatch.setattr("companion.experiments.protein_baselines.SHRINKAGE", 0.0)
    u, v = (np.random.default_rng(s).normal(size=(20, 3)) for s in (1, 2))
    found = LinearCCA(gaussian_split(0.7, 40_000))(torch.from_numpy(u), torch.from_numpy(v))
    assert np.abs(found - true_log_ratio(u, v, 0.7)).max() < 0.3


def test_popularity_is_a_sum_and_finds_the_side():
    part = split(simulated(), "clean", 0, 100)
    model = Popularity(part)
    table = model(part.x[:50], part.y[-50:])
    assert np.allclose(table - table[:1] - table[:, :1] + table[0, 0], 0)
    assert table.mean() > model(part.x[-50:], part.y[:50]).mean() + 1  # left and right swapped


def test_ksg_terms_are_those_of_a_loop():
    chance = torch.Generator().manual_seed(0)
    x, y, u, v = (torch.randn(n, 2, generator=chance) for n in (50, 50, 4, 5))
    found = pointwise_ksg(x, y, u, v, k=3)
    for i in range(4):
        for j in range(5):
            of_x, of_y = (u[i] - x).abs().amax(1), (v[j] - y).abs().amax(1)
            radius = torch.maximum(of_x, of_y).sort().values[2]
            terms = [3.0, 50.0, (of_x < radius).sum() + 1.0, (of_y < radius).sum() + 1.0]
            psi = [float(torch.digamma(torch.as_tensor(t))) for t in terms]
            assert found[i, j] == pytest.approx(psi[0] + psi[1] - psi[2] - psi[3], abs=1e-5)
    with pytest.raises(ValueError, match="k=51"):
        pointwise_ksg(x, y, u, v, k=51)


def test_ksg_terms_average_to_the_mutual_information():
    part = gaussian_split(0.8, 3300, dim=1)
    x, y = part.x[:3300], part.y[3300:]
    table = pointwise_ksg(x[300:], y[300:], x[:300], y[:300])  # queries of their own
    truth = -0.5 * np.log(1 - 0.8**2)
    assert np.diag(table).mean() == pytest.approx(truth, abs=0.15)
    off = table[~np.eye(300, dtype=bool)].mean()
    assert off < 0 < np.diag(table).mean()


def test_lmi_ranks_known_pairs_above_others():
    part = split(simulated(), "clean", 0, 100)
    lmi = LatentMI(part, LatentSettings(hidden=(16,), latent=4, batch=128, steps=150, every=50), 0)
    roles = part.candidates["roles"]
    table = lmi.scores(roles)
    assert table[roles.counted & roles.known].mean() > table[roles.counted & ~roles.known].mean()


def test_lmi_keeps_the_best_autoencoder():
    part = split(simulated(), "clean", 0, 100)
    settings = LatentSettings(hidden=(16,), latent=4, batch=64, rate=1e-2, steps=40, every=20)
    lmi = LatentMI(part, settings, 0)
    untrained = latent_mi.CrossAutoencoder((part.x.shape[1],) * 2, settings)
    sides = lmi._sides(part.validation)
    with torch.no_grad():
        assert lmi.model.loss(*sides) < untrained.loss(*sides)


# --- pieces ---------------------------------------------------------------------------------------


def test_the_sweep_knows_proteins():
    assert experiment("proteins") is proteins


@pytest.mark.parametrize("profile", GRID)
def test_pieces_have_names_of_their_own_and_go_through_json(profile):
    listed = pieces("proteins", profile)
    assert len({piece.key for piece in listed}) == len(listed)
    for piece in listed:
        again = json.loads(json.dumps(piece.config))
        assert again["seeds"] and Settings(**again["settings"]) is not None
    for table in GRID[profile]:
        for protocol in table.protocols:
            mine = [p for p in listed if p.key.startswith(f"{table.name}-{protocol}-")]
            assert sorted(s for p in mine for s in p.config["seeds"]) == list(range(20))


def test_the_paper_profile_is_the_papers():
    for table in GRID["paper"]:
        s = table.settings
        assert (s.hidden, s.layers, s.embedding) == (256, 4, 32)
        assert (s.rate, s.batch, s.steps, s.every, s.patience) == (1e-4, 64, 10_000, 500, 500)
        assert (s.held_out, table.trials, table.embedding) == (170, 20, "prott5")


def tiny_config(**changes):
    return {
        "task": "simulated",
        "embedding": "simulated16",
        "protocol": "clean",
        "settings": vars(TINY),
        "latent": {"hidden": [8], "latent": 2, "steps": 20, "every": 10, "batch": 32},
        "curves": True,
        "seeds": [0, 1],
        **changes,
    }


def test_a_piece_stores_every_method_on_every_set_of_candidates():
    found = proteins.run(tiny_config(), "cpu")
    metrics = found[found.record == "metrics"]
    methods = {
        *TINY.objectives,
        "infonce, normalised",
        "anchor + popularity",
        "popularity",
        "cca",
        "lmi",
        "true PMI",
        "true PMI + popularity",
    }
    assert set(metrics.training) == methods
    assert set(metrics.evaluation) == {"all", "roles"}
    assert len(metrics) == len(methods) * 2 * 2
    values = np.array([[float(v) for v in row.split()] for row in metrics["values"]])
    assert ((values[:, :2] > 0) & (values[:, :2] <= 1)).all()
    best = metrics.assign(auroc=values[:, 0]).groupby("training").auroc.mean()
    assert best.drop("true PMI + popularity").max() < best["true PMI + popularity"]
    again = proteins.run(tiny_config(seeds=[1]), "cpu")
    assert again["values"].tolist() == found[found.seed == 1]["values"].tolist()


def test_histograms_hold_every_pair_and_curves_end_at_one():
    found = proteins.run(tiny_config(seeds=[0], protocol="published"), "cpu")
    metrics = found[(found.record == "metrics") & (found.evaluation == "published")]
    for row in metrics.itertuples():
        same = found[(found.training == row.training) & (found.evaluation == "published")]
        stored = {
            r.record: [int(v) for v in r.values.split()]
            for r in same.itertuples()
            if r.record in proteins.DRAWN
        }
        positives, negatives = (int(v) for v in row.values.split()[2:])
        assert sum(stored["histogram-known"]) == positives
        assert sum(stored["histogram-other"]) == negatives == 60 * 60 - positives
        assert stored["roc"][-1] == 1000
        assert stored["roc"] == sorted(stored["roc"])


def test_without_curves_a_piece_is_small():
    found = proteins.run(tiny_config(seeds=[0], curves=False, latent=None), "cpu")
    assert not set(found.record) & set(proteins.DRAWN)
    assert "lmi" not in set(found.training)


if available("proteins"):  # with data

    @pytest.mark.parametrize(
        ("task", "pairs", "proteins_"),
        [("kinase-target", 22_042, 5172), ("ligand-receptor", 3860, 1633)],
    )
    def test_the_real_data_is_what_the_tables_say(task, pairs, proteins_):
        from companion.experiments.protein_tables import PROTEINS

        found = data.interactions(task, "unirep64")
        assert len(found.pairs) == pairs
        assert len(found.rows) == proteins_ == PROTEINS[task]
        assert found.rows.shape[1] == 64 and np.isfinite(found.rows).all()
        part = split(found, "clean", 0)
        assert isinstance(part.candidates["roles"], Candidates)
        assert (part.candidates["roles"].known & part.candidates["roles"].counted).sum() > 5
