r"""Self-supervised learning: contrastive pretraining, then a linear probe.

`pieces` lists what a profile runs, `run` does one piece. A pretraining stores, for every objective:
top-1 and top-5 accuracy of the probe; the learning curves; alignment and uniformity of held-out
views; the scale of the learnt ratio, that is the mean and spread over y of :math:`\log C(y)`, the
log of the mean of r over strangers; how far the weights moved; CKA with the untrained network and
between objectives trained side by side; and the first ten losses. On several CUDA devices a piece
uses all of them.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from mi_lib.devices import pick_device
from mi_lib.objectives import negatives, positives

from ..data.cifar import pictures
from ..sweep import COLUMNS
from .ssl_gather import on_ranks, rank_and_ranks
from .ssl_grid import pieces
from .ssl_losses import SUPERVISED, alignment, get, linear_cka, uniformity
from .ssl_networks import Encoder
from .ssl_probe import probe
from .ssl_start import start_gradients
from .ssl_training import FIRST_LOSSES, Member, Pretraining, Settings

__all__ = ["FIRST_LOSSES", "MODULES", "make_run", "pieces", "run"]

# Whose code decides the numbers of a piece.
MODULES = (
    "mi_lib.scoring",
    "mi_lib.objective_variants",
    "mi_lib.objectives",
    "mi_lib.streams",
    "companion.data.cifar",
    "companion.experiments.ssl_augment",
    "companion.experiments.ssl_gather",
    "companion.experiments.ssl_losses",
    "companion.experiments.ssl_networks",
    "companion.experiments.ssl_optim",
    "companion.experiments.ssl_probe",
    "companion.experiments.ssl_start",
    "companion.experiments.ssl_training",
    "companion.experiments.self_supervised",
)
CHECKPOINT_SECONDS = 120.0
HELD_OUT = 2000  # test pictures whose views measure geometry and scale
Record = tuple[str, str, str, Any, str]


def make_run(config: Mapping[str, Any], device: torch.device | str = "cpu") -> Pretraining:
    """The pretraining of a configuration, before its first step."""
    lists = {k: tuple(v) if isinstance(v, list) else v for k, v in config["settings"].items()}
    return Pretraining(
        config.get("objectives", ["infonce"]), config["seeds"][0], Settings(**lists), device
    )


def run(
    config: Mapping[str, Any],
    device: str = "auto",
    checkpoint: Path | None = None,
    ranks: int | None = None,
) -> pd.DataFrame:
    """Do one piece; a pretraining keeps a checkpoint every two minutes."""
    device = str(pick_device(device))
    if ranks is None:
        ranks = torch.cuda.device_count() if device == "cuda" else 1
    work = {"pixels": _pixels, "start": _start, "pretrain": _pretrain}[config["kind"]]
    if config["kind"] != "pretrain":
        ranks = 1
    records = on_ranks(ranks, device, _records, work, config, device, checkpoint)
    return pd.DataFrame(records, columns=list(COLUMNS))


def _records(work, config, device: str, checkpoint: Path | None) -> list[Record]:
    return list(work(config, device, checkpoint))


def _pixels(config: Mapping[str, Any], device: str, _: Path | None) -> Iterator[Record]:
    """The probe on the pictures themselves."""
    p = pictures(config["settings"]["data"])
    flat = [part.flatten(1).float().to(device) / 255 for part in (p.train, p.test)]
    labels = [part.to(device) for part in (p.train_labels, p.test_labels)]
    yield from _probed("pixels", "", (flat[0], labels[0], flat[1], labels[1], p.classes))


def _start(config: Mapping[str, Any], device: str, _: Path | None) -> Iterator[Record]:
    """The untrained network: its probe, its geometry, and every objective's first gradient."""
    seed = config["seeds"][0]
    for name, row in start_gradients(make_run(config, device)).iterrows():
        for column, value in row.items():
            yield "start", str(name), str(column), seed, _joined([value], ".6g")
    pretraining = make_run(config, device)  # afresh: the norms have seen nothing
    encoder = pretraining.members[0].encoder
    for name in ("untrained", "untrained-normed"):
        if name == "untrained-normed":
            fit_norms(pretraining)
        yield from _geometry(name, encoder, pretraining, seed)
        yield from _probed(name, seed, pretraining.probe_sets(encoder))


@torch.no_grad()
def fit_norms(pretraining: Pretraining) -> None:
    """Show the encoder an epoch of views so that its batch norms know the pictures; the weights
    stay as they are."""
    encoder = pretraining.members[0].encoder.train()
    for _ in range(pretraining.steps_an_epoch):
        encoder(pretraining.batch()[0])
        pretraining.step += 1


def _pretrain(config: Mapping[str, Any], device: str, checkpoint: Path | None) -> Iterator[Record]:
    rank, _ = rank_and_ranks()
    pretraining = make_run(config, device)
    if checkpoint is not None and checkpoint.is_file():
        pretraining.load(checkpoint)
    saved = time.monotonic()
    for _ in pretraining.iterate():
        due = checkpoint is not None and time.monotonic() - saved > CHECKPOINT_SECONDS
        if due and rank == 0:
            pretraining.save(checkpoint)
            saved = time.monotonic()
    start = untrained(pretraining)
    fit_norms(start)  # on every rank: norms are shared
    if rank == 0:
        yield from _trained(pretraining, start, config["seeds"][0])


def _trained(pretraining: Pretraining, start: Pretraining, seed: int) -> Iterator[Record]:
    """What is stored of finished members, row by row; ``start`` is what they began with."""
    test = {"untrained-normed": start.features(start.members[0].encoder, start.pictures.test)}
    for member in pretraining.members:
        name, sets = member.objective, pretraining.probe_sets(member.encoder)
        yield from _probed(name, seed, sets)
        if name != SUPERVISED:
            yield from _geometry(name, member.encoder, pretraining, seed)
            yield from _scale(member, pretraining, seed)
        yield "curve", name, "loss", seed, _joined(member.losses)
        yield "curve", name, "top-1", seed, _joined(member.accuracies, ".2f")
        yield "loss", name, "", seed, _joined(member.first_losses, ".8g")
        distance = moved(member.encoder, start.members[0].encoder)
        yield "moved", name, "", seed, _joined([distance])
        for other, features in test.items():
            yield "cka", name, other, seed, _joined([linear_cka(sets[2], features)])
        test[name] = sets[2]


def untrained(pretraining: Pretraining) -> Pretraining:
    """The same before the first step, with the first objective only."""
    first = [pretraining.members[0].objective]
    settings, device, dtype = pretraining.settings, pretraining.device, pretraining.dtype
    return Pretraining(first, pretraining.seed, settings, device, dtype)


@torch.no_grad()
def moved(encoder: Encoder, start: Encoder) -> float:
    """How far the body's weight matrices went, as a share of their length at the start."""
    pairs = zip(encoder.body.parameters(), start.body.parameters(), strict=True)
    squares = [((w - v).square().sum(), v.square().sum()) for w, v in pairs if w.ndim > 1]
    return float((sum(far for far, _ in squares) / sum(long for _, long in squares)).sqrt())


def _probed(name: str, seed: Any, sets: tuple) -> Iterator[Record]:
    for evaluation, value in zip(("top-1", "top-5"), probe(*sets), strict=True):
        yield "probe", name, evaluation, seed, _joined([value], ".3f")


def _geometry(name: str, encoder: Encoder, pretraining: Pretraining, seed: int) -> Iterator[Record]:
    x, y = pretraining.embedded_pairs(encoder, HELD_OUT)
    yield "geometry", name, "alignment", seed, _joined([alignment(x, y)])
    yield "geometry", name, "uniformity", seed, _joined([uniformity(x)])


def _scale(member: Member, pretraining: Pretraining, seed: int) -> Iterator[Record]:
    r"""Mean and deviation over y of log C(y); for a log ratio also the deviation of c over
    strangers, and the mean over pairs (the plug-in estimate, nats)."""
    objective = get(member.objective)
    model = objective.model(*pretraining.embedded_pairs(member.encoder, HELD_OUT)).cpu().double()
    logs = objective.log_means(model)
    values = {"mean log C": logs.mean(), "sd log C": logs.std()}
    if not objective.pd:
        values |= {"sd log r": negatives(model).std(), "plug-in": positives(model).mean()}
    for evaluation, value in values.items():
        yield "scale", member.objective, evaluation, seed, _joined([float(value)])


def _joined(values: Iterable[float], form: str = ".4f") -> str:
    return " ".join(f"{value:{form}}" for value in values)
