"""The pretraining and its pieces: the same numbers however a run is cut."""

from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
import torch

from companion.data import available
from companion.experiments import SWEEPS, experiment, self_supervised, ssl_grid
from companion.experiments.ssl_losses import OBJECTIVES, SUPERVISED
from companion.experiments.ssl_probe import probe
from companion.experiments.ssl_start import start_gradients
from companion.experiments.ssl_training import Pretraining, Settings
from companion.results import results_folder
from companion.sweep import read

TINY = Settings(
    data="digits",
    width=8,
    blocks=(1, 1),
    hidden=16,
    output=8,
    batch=200,
    epochs=2,
    warm_up=1,
    points=2,
)


def weights(run):
    return [[p.detach().clone() for p in member.encoder.parameters()] for member in run.members]


def finish(run):
    for _ in run.iterate():
        pass
    return run


def test_a_resumed_run_is_the_run(tmp_path):
    whole = finish(Pretraining(["infonce", "anchor"], 1, TINY, dtype=torch.float64))
    first = Pretraining(["infonce", "anchor"], 1, TINY, dtype=torch.float64)
    for _ in range(5):
        first.advance()
    first.save(tmp_path / "c" / "state.pt")
    second = Pretraining(["infonce", "anchor"], 1, TINY, dtype=torch.float64)
    second.load(tmp_path / "c" / "state.pt")
    finish(second)
    torch.testing.assert_close(weights(second), weights(whole), rtol=0, atol=0)
    for a, b in zip(second.members, whole.members, strict=True):
        assert (a.losses, a.accuracies, a.first_losses) == (b.losses, b.accuracies, b.first_losses)
        assert len(a.losses) == TINY.points


def test_an_objective_does_not_see_its_neighbours():
    alone = Pretraining(["js"], 1, TINY, dtype=torch.float64)
    among = Pretraining(["infonce", "js"], 1, TINY, dtype=torch.float64)
    for run in (alone, among):
        run.advance()
        run.advance()
    torch.testing.assert_close(weights(among)[1], weights(alone)[0], rtol=0, atol=0)
    assert not torch.equal(weights(among)[0][0], weights(among)[1][0])


def test_seeds_and_steps_change_the_batch():
    run, other = Pretraining(["js"], 1, TINY), Pretraining(["js"], 2, TINY)
    first = run.batch()[0]
    assert torch.equal(run.batch()[0], first)
    assert not torch.equal(other.batch()[0], first)
    assert not torch.equal(other.batch()[1], run.batch()[1])
    run.advance()
    assert not torch.equal(run.batch()[0], first)


def test_an_epoch_shows_every_picture_once():
    run = Pretraining(["js"], 1, TINY)
    seen = []
    for _ in range(run.steps_an_epoch):
        seen.append(run.batch()[1])
        run.step += 1
    counts = torch.bincount(torch.cat(seen), minlength=10)
    assert len(torch.cat(seen)) == 7 * 200
    assert (counts <= torch.bincount(run.pictures.train_labels)).all()


def test_training_helps_a_supervised_network():
    settings = replace(ssl_grid.SETTINGS["ci"], epochs=3)
    frame = self_supervised.run(
        {
            "kind": "pretrain",
            "settings": asdict(settings),
            "objectives": [SUPERVISED],
            "seeds": [0],
        }
    )
    start = self_supervised.run({"kind": "start", "settings": asdict(settings), "seeds": [0]})
    assert value(frame, "probe", SUPERVISED, "top-1") > value(start, "probe", "untrained", "top-1")


def value(frame, record, training, evaluation):
    rows = frame[
        (frame["record"] == record)
        & (frame["training"] == training)
        & (frame["evaluation"] == evaluation)
    ]
    assert len(rows) == 1
    return float(rows["values"].iloc[0])


def test_a_piece_stores_what_the_chapter_needs(tmp_path):
    config = {
        "kind": "pretrain",
        "settings": asdict(TINY),
        "objectives": ["infonce", "anchor"],
        "seeds": [0],
    }
    frame = self_supervised.run(config, "cpu", tmp_path / "x.pt")
    assert 0 < value(frame, "cka", "anchor", "infonce") <= 1
    assert value(frame, "probe", "infonce", "top-5") >= value(frame, "probe", "infonce", "top-1")
    assert value(frame, "scale", "infonce", "sd log C") > 0
    assert value(frame, "geometry", "anchor", "uniformity") < 0
    assert 0 < value(frame, "moved", "infonce", "") < 3
    lengths = {
        (row.record, row.evaluation): len(row.values.split())
        for row in frame.itertuples()
        if row.record in ("curve", "loss")
    }
    assert lengths == {("curve", "loss"): 2, ("curve", "top-1"): 2, ("loss", ""): 10}
    half = self_supervised.make_run(config)
    for _ in range(5):
        half.advance()
    half.save(tmp_path / "half.pt")
    resumed = self_supervised.run(config, "cpu", tmp_path / "half.pt")
    pd.testing.assert_frame_equal(frame, resumed)


def test_two_processes_give_the_piece_of_one():
    config = {
        "kind": "pretrain",
        "settings": asdict(replace(TINY, epochs=1, warm_up=0)),
        "objectives": ["anchor"],
        "seeds": [0],
    }
    one, two = (self_supervised.run(config, "cpu", ranks=ranks) for ranks in (1, 2))
    assert one.drop(columns="values").equals(two.drop(columns="values"))
    losses = [
        [float(v) for v in frame[frame["record"] == "loss"]["values"].iloc[0].split()]
        for frame in (one, two)
    ]
    np.testing.assert_allclose(*losses, rtol=1e-2)


def test_mixed_precision_stays_near():
    losses = []
    for bfloat16 in (False, True):
        run = Pretraining(["infonce"], 0, replace(TINY, bfloat16=bfloat16))
        run.advance()
        losses.append(run.members[0].first_losses[0])
        assert run.members[0].encoder.body.stem.weight.grad.dtype == torch.float32
    assert losses[0] != losses[1]
    assert losses[1] == pytest.approx(losses[0], abs=0.05)


@pytest.mark.gpu
def test_a_cuda_run_starts_like_a_cpu_run():
    losses = []
    for device in ("cpu", "cuda"):
        run = Pretraining(list(OBJECTIVES), 0, TINY, device)
        run.advance()
        losses.append([member.first_losses[0] for member in run.members])
    np.testing.assert_allclose(*losses, rtol=1e-3)


def test_the_untrained_row_is_untrained():
    """Its batch norms have seen no picture, not even those of the first gradient."""
    frame = self_supervised.run({"kind": "start", "settings": asdict(TINY), "seeds": [0]})
    fresh = Pretraining(["infonce"], 0, TINY)
    top_1, _ = probe(*fresh.probe_sets(fresh.members[0].encoder))
    assert value(frame, "probe", "untrained", "top-1") == pytest.approx(top_1, abs=1e-3)
    assert value(frame, "probe", "untrained-normed", "top-1") != pytest.approx(top_1, abs=1e-3)


def test_held_out_views_are_of_all_classes():
    """Also where the file is sorted by class, as that of CIFAR-100 is."""
    run = Pretraining(["infonce"], 0, TINY)
    order = run.pictures.test_labels.argsort()
    shown = torch.zeros_like(run.pictures.test)
    shown += run.pictures.test_labels[order].byte()[:, None, None, None]
    run.pictures = replace(run.pictures, test=shown, test_labels=run.pictures.test_labels[order])
    seen, views = [], run.views
    run.views = lambda images, chance: seen.append(images[:, 0, 0, 0]) or views(images, chance)
    x, _ = run.embedded_pairs(run.members[0].encoder, 50)
    assert len(x) == 50 and set(torch.cat(seen).tolist()) == set(range(10))


def test_fitting_norms_leaves_the_weights():
    run = Pretraining(["infonce"], 0, TINY)
    encoder = run.members[0].encoder
    before = self_supervised.untrained(run).members[0].encoder
    self_supervised.fit_norms(run)
    assert self_supervised.moved(encoder, before) == 0
    assert not torch.equal(encoder.body.norm.running_mean, before.body.norm.running_mean)
    with torch.no_grad():
        for weight in encoder.body.parameters():
            weight *= 1.5
    assert self_supervised.moved(encoder, before) == pytest.approx(0.5, rel=1e-4)


def test_the_first_gradient_of_the_spherical_score_is_tiny():
    table = start_gradients(Pretraining(["infonce"], 0, TINY))
    assert table.loc["spherical", "relative"] < 0.05 * table.loc["anchor", "relative"]
    b = TINY.batch
    scaled = table.loc["spherical-scaled", "gradient"] / table.loc["spherical", "gradient"]
    assert scaled == pytest.approx(b, rel=1e-3)
    assert table.loc["infonce", "relative"] == 1


def test_profiles():
    assert experiment("self-supervised") is self_supervised
    assert SWEEPS["self-supervised"] == "self_supervised"
    paper = ssl_grid.SETTINGS["paper"]
    assert (paper.batch, paper.epochs, paper.width, paper.data) == (256, 1000, 64, "cifar100")
    assert ssl_grid.SETTINGS["laptop"].batch == 256
    for profile in ssl_grid.SETTINGS:
        keys = [piece.key for piece in self_supervised.pieces("self-supervised", profile)]
        assert len(set(keys)) == len(keys)
        trained = {
            name
            for piece in self_supervised.pieces("self-supervised", profile)
            for name in piece.config.get("objectives", ())
        }
        assert trained == {*OBJECTIVES, SUPERVISED}
    with pytest.raises(ValueError, match="choose one of ci"):
        self_supervised.pieces("self-supervised", "cluster")


def test_a_batch_must_fit():
    with pytest.raises(ValueError, match="larger than the 1437 training"):
        Pretraining(["js"], 0, replace(TINY, batch=2000))
    with pytest.raises(ValueError, match="batch=1 is too small"):
        replace(TINY, batch=1)
    with pytest.raises(ValueError, match="not a multiple of 8"):
        replace(TINY, width=4)


def stored_pieces():
    return sorted((results_folder() / "self-supervised").glob("*.csv"))


def test_every_stored_piece_belongs_to_a_profile():
    known = {
        piece.key
        for profile in ssl_grid.SETTINGS
        for piece in self_supervised.pieces("self-supervised", profile)
    }
    assert [path.stem for path in stored_pieces() if path.stem not in known] == []


@pytest.mark.parametrize(
    "path",
    [p for p in stored_pieces() if "seed00" in p.name and "start" not in p.name],
    ids=lambda path: path.stem,
)
def test_the_first_steps_of_a_stored_piece_can_be_replayed(path):
    """Five of the ten stored losses, to float32 rounding as it grows."""
    about, frame = read(path)
    data = about["config"]["settings"]["data"]
    if data != "digits" and not available(data):
        pytest.skip(f"data: {data} is not here")
    run = self_supervised.make_run(about["config"], "cpu")
    for _ in range(5):
        run.advance()
    for member in run.members:
        rows = frame[(frame["record"] == "loss") & (frame["training"] == member.objective)]
        kept = [float(v) for v in rows["values"].iloc[0].split()]
        np.testing.assert_allclose(member.first_losses[:5], kept[:5], rtol=2e-2, atol=2e-3)
