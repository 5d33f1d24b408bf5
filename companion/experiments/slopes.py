r"""How fast the scores of trained critics grow far out on the Gaussian task.

Along a ray :math:`y = t u` a ReLU critic is linear from some t on, and so has a slope there,
:math:`\lim_{t\to\infty} c(x, t u) / t`. On cubed data :math:`\mathbb{E}_{q_0}[e^c]` is infinite as
soon as one pair of x and u has a positive slope. A piece climbs the staircase as those of
`staircase` do, and stores, at the end of each level, the share of pairs whose score grows and the
largest slope.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from mi_lib.critics import Critic
from mi_lib.streams import stream
from mi_lib.validate import one_of

from ..progress import Reporter
from ..results import Stored, results_folder
from ..sweep import COLUMNS, Piece
from ..training import Settings
from .staircase import FIRST_LOSSES, joined, make_run
from .staircase import MODULES as STAIRCASE
from .staircase_grid import CUBIC, PAPER, Table
from .staircase_tables import by_level

MODULES = (*STAIRCASE["gaussian"], "companion.experiments.slopes")
DIM = CUBIC["dim"]
POINTS = 32  # x and directions of y of each critic: 1,024 pairs
FAR = 1e8  # how far out a slope is measured
FLAT = 1e-6  # what counts as no slope
# Kinds of critics, separable unless the name says another; batch sizes of the chapters.
KINDS: Mapping[str, Mapping[str, Any]] = {
    "b64": {},
    "normalise-b64": {"critic_settings": {"normalise": True}},
    "b16": {"batch": 16},
    "joint-b16": {"batch": 16, "critic": "joint", "large": 128},
}


def slopes(critic: Critic) -> Float[Tensor, "o s pairs"]:
    """How fast the score of random x grows along random directions of y = z^3, far out."""
    generators = [stream("cubed", seed, device="cpu") for seed in critic.seeds]

    def draw() -> Float[Tensor, "s b d"]:
        return torch.stack(
            [torch.randn(POINTS, DIM, generator=g, device="cpu").double() for g in generators]
        )

    x, direction = draw(), draw() ** 3
    direction = direction / direction.norm(dim=-1, keepdim=True)
    exact = deepcopy(critic).cpu().double()
    with torch.no_grad():
        near, far = (exact(x, t * direction) for t in (FAR, 2 * FAR))
    return ((far - near) / FAR).flatten(2)


def table(kind: str, profile: str = "laptop") -> Table:
    """One kind of critic: three seeds, 1,000 steps a level."""
    small = {"steps": 20, "every": 10, "block": 20, "held_out": 64, "large": 64}
    sizes = {"laptop": {"steps": 1000, "block": 50, "large_repeats": 1}, "ci": small}
    settings = {"trainings": PAPER, **sizes[one_of("profile", profile, sizes)]}
    changes = KINDS[one_of("kind", kind, KINDS)]
    return Table(f"{profile}-{kind}", "gaussian", Settings(**(settings | changes)), 3, CUBIC)


def pieces(experiment: str, profile: str) -> list[Piece]:
    """One piece a kind and seed."""
    return [piece for kind in KINDS for piece in table(kind, profile).pieces(experiment)]


def run(
    config: Mapping[str, Any], device: str = "auto", checkpoint: Path | None = None
) -> pd.DataFrame:
    """Climb the staircase; return the shares, the largest slopes and the first losses."""
    climb, report, found = make_run(config, device), Reporter(checkpoint), []
    for step in climb.iterate():
        report(step, climb.total_steps)
        if step % climb.settings.steps == 0:
            found.append(slopes(climb.critic).numpy())
    losses = np.array(climb.first_losses)[:FIRST_LOSSES]

    def rows() -> Iterator[tuple[str, str, str, int, str]]:
        far = np.stack(found)
        readings = {"share": (far > FLAT).mean(-1), "largest": far.max(-1)}
        for o, training in enumerate(climb.settings.trainings):
            for s, seed in enumerate(climb.seeds):
                for evaluation, values in readings.items():
                    yield "slope", training, evaluation, seed, joined(values[:, o, s], ".6g")
                yield "loss", training, "", seed, joined(losses[:, o, s], ".8g")

    return pd.DataFrame(rows(), columns=list(COLUMNS))


def stored(*kinds: str) -> Stored:
    """What is stored of these kinds of critics, with what should be there."""
    wanted = [piece for kind in kinds for piece in table(kind).pieces("slopes")]
    return Stored(tuple(wanted), results_folder(), MODULES)


def readings(kind: str, evaluation: str) -> pd.DataFrame:
    """The share of pairs whose score grows (``share``) or the ``largest`` slope: columns training,
    evaluation, seed, truth and value."""
    one_of("evaluation", evaluation, ("share", "largest"))
    rows = stored(kind).records
    rows = rows[(rows["record"] == "slope") & (rows["evaluation"] == evaluation)]
    return by_level(rows, table(kind).settings.levels)


def summary() -> pd.DataFrame:
    """The share of pairs whose score grows: a row a training, a column a kind of critic; means over
    seeds and levels."""
    columns = {kind: readings(kind, "share").groupby("training")["value"].mean() for kind in KINDS}
    return pd.DataFrame(columns).reindex(PAPER)
