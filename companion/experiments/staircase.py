r"""The staircase benchmark: one critic climbs 2, 4, 6, 8, 10 bits, 4,000 steps each.

`pieces` lists what a profile runs, `run` does one piece. A piece stores, for every training and
seed: the plateau of each evaluation at each level on training batches (the last quarter of the
steps) and on fresh data (batches of the training size, and large ones); the first ten losses, by
which the piece can be replayed; and the curves, as mean and, of several, spread over the seeds of
the piece. A piece whose configuration names a ``contrast`` also stores the error of log r.
"""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..data import make_task
from ..directed import ERRORS, DirectedRun
from ..evaluation import COLUMNS as EVALUATED
from ..progress import Reporter
from ..training import Run, Settings
from .staircase_grid import SHOWN, pieces

__all__ = ["MODULES", "make_run", "pieces", "records", "run"]

# Whose code decides the numbers of a piece, by sweep.
_ENGINE = (
    *(f"mi_lib.{name}" for name in ("scoring", "objectives", "estimators", "streams", "critics")),
    "companion.evaluation",
    "companion.training",
)
_DATA = {
    "gaussian": ("data.gaussian",),
    "gaussian-more": ("data.gaussian",),
    "ablations": ("data.gaussian",),
    "directions": ("data.gaussian", "directed"),
    "mnist": ("data.channel", "data.images"),
    "text": ("data.channel", "data.text"),
    "tables": ("data.channel", "data.images", "data.tables"),
}
MODULES = {
    sweep: (*_ENGINE, *(f"companion.{name}" for name in data)) for sweep, data in _DATA.items()
}
CHECKPOINT_SECONDS = 120.0
FIRST_LOSSES = 10


def make_run(config: Mapping[str, Any], device: str = "auto") -> Run:
    """The run of a configuration, before its first step."""
    task = make_task(config["task"], **config["options"])
    lists = {k: tuple(v) if isinstance(v, list) else v for k, v in config["settings"].items()}
    arguments = task, config["seeds"], Settings(**lists), device
    if "contrast" in config:
        return DirectedRun(*arguments, contrast=config["contrast"])
    return Run(*arguments)


def run(
    config: Mapping[str, Any], device: str = "auto", checkpoint: Path | None = None
) -> pd.DataFrame:
    """Climb the staircase, with a checkpoint every two minutes; return the records."""
    climb = make_run(config, device)
    if checkpoint is not None and checkpoint.is_file():
        climb.load(checkpoint)
    saved, report = time.monotonic(), Reporter(checkpoint)
    for step in climb.iterate():
        report(step, climb.total_steps)
        if checkpoint is not None and time.monotonic() - saved > CHECKPOINT_SECONDS:
            checkpoint.parent.mkdir(parents=True, exist_ok=True)
            climb.save(checkpoint)
            saved = time.monotonic()
    return pd.DataFrame(
        records(climb), columns=["record", "training", "evaluation", "seed", "values"]
    )


def records(climb: Run) -> Iterator[tuple[str, str, str, Any, str]]:
    """What is stored of a finished run, row by row."""
    settings, curves, fresh = climb.settings, np.array(climb.curves), np.array(climb.fresh)
    level = settings.steps // settings.block
    tail = curves.reshape(len(settings.levels), level, *curves.shape[1:])[:, -max(1, level // 4) :]
    plateaus = {"train": tail.mean(1), "held-out": fresh[:, 0], "large": fresh[:, 1]}
    losses = np.array(climb.first_losses)
    for o, training in enumerate(settings.trainings):
        for s, seed in enumerate(climb.seeds):
            for record, values in plateaus.items():
                for e, evaluation in enumerate(EVALUATED):
                    yield record, training, evaluation, seed, joined(values[:, o, s, e])
            yield "loss", training, "", seed, joined(losses[:FIRST_LOSSES, o, s], ".8g")
            if isinstance(climb, DirectedRun):
                for e, name in enumerate(ERRORS):
                    errors = np.array(climb.errors)[:, o, s, e]
                    yield "ratio-error", training, name, seed, joined(errors)
        for evaluation in SHOWN.get(training, ()):
            curve = curves[:, o, :, EVALUATED.index(evaluation)]
            yield "curve-mean", training, evaluation, "", joined(curve.mean(1), ".3g")
            if len(climb.seeds) > 1:
                yield "curve-sd", training, evaluation, "", joined(curve.std(1), ".3g")


def joined(values: np.ndarray, form: str = ".4f") -> str:
    """Numbers as a field of a stored record."""
    return " ".join(f"{value:{form}}" for value in values)
