r"""InfoNCE, NWJ, DV and MINE on a finite table, all pairs of a batch as negatives.

Standardised inputs (or normal scores), one critic, Adam; half of the pairs train, the value on the
other half is looked at every ``every`` steps, and the largest is reported. Training ends when no
method has gained in ``patience`` looks. All four start equal and see the same batches.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from mi_lib.critics import make_critic
from mi_lib.inference import table
from mi_lib.inference.encoding import NormalScore
from mi_lib.objectives import dv, infonce, log_mean_exp, mine, negatives, nwj
from mi_lib.streams import stream
from mi_lib.validate import nats_per

from ..training import EMA_RATE

TRAININGS = ("InfoNCE", "NWJ", "DV", "MINE")
LOSSES = {"InfoNCE": infonce, "NWJ": nwj, "DV": dv, "MINE": dv}  # minus what is reported


@dataclass(frozen=True)
class Usual:
    """Settings of a training; the defaults are those of the published staircase runs."""

    critic: str = "joint"
    hidden: int = 256
    rate: float = 5e-4
    batch: int = 64
    steps: int = 2_000
    every: int = 50
    patience: int = 10
    ranks: bool = False


def as_numbers(values: Any, name: str, ranks: bool = False) -> Float[np.ndarray, "n d"]:
    """Standardised numbers; a column of symbols becomes one indicator a symbol. With ``ranks`` a
    column of numbers becomes its normal scores first."""
    parts = []
    for column in table.read(values, name):
        if column.symbols is not None:
            part = (column.values[:, None] == np.arange(len(column.symbols))).astype(float)
        elif ranks:
            part = NormalScore.fit(column.values)(column.values)[:, None]
        else:
            part = column.values[:, None] / np.abs(column.values).max()
        parts.append((part - part.mean(0)) / part.std(0))
    return np.column_stack(parts)


def estimates(
    x: Any, y: Any, seed: int, settings: Usual | None = None, unit: str = "bits"
) -> dict[str, float]:
    """The four values of one table."""
    settings = settings or Usual()
    generator = stream("usual estimators", seed)
    numbers = (as_numbers(v, name, settings.ranks) for v, name in ((x, "x"), (y, "y")))
    sides = [torch.from_numpy(part).float() for part in numbers]
    order = torch.randperm(len(sides[0]), generator=generator)
    half = len(order) // 2
    dims = [side.shape[1] for side in sides]
    critic = make_critic(
        settings.critic, *dims, seeds=(seed,), copies=len(TRAININGS), hidden=settings.hidden
    )
    optimiser = torch.optim.Adam(critic.parameters(), settings.rate, fused=True)
    running, best, since = None, np.full(len(TRAININGS), -math.inf), 0
    for step in range(1, settings.steps + 1):
        rows = order[torch.randint(half, (settings.batch,), generator=generator)]
        scores = critic(*(side[rows][None] for side in sides))[:, 0]
        mean = log_mean_exp(negatives(scores[3]), 2).detach()
        old = mean if running is None else running
        running = torch.logaddexp(old + math.log1p(-EMA_RATE), mean + math.log(EMA_RATE))
        losses = [LOSSES[name](scores[i]) for i, name in enumerate(TRAININGS[:3])]
        optimiser.zero_grad(set_to_none=True)
        (sum(losses) + mine(scores[3], running)).backward()
        optimiser.step()
        if step % settings.every == 0 or step == settings.steps:
            found = _held_out(critic, sides, order[half:], settings.batch)
            since = 0 if (found > best).any() else since + 1
            best = np.fmax(best, found)
            if since >= settings.patience:
                break
    return dict(zip(TRAININGS, (best / nats_per(unit)).tolist(), strict=True))


@torch.no_grad()
def _held_out(critic, sides, rows, batch) -> np.ndarray:
    """The mean over whole batches of the other half."""
    found, batch = [], min(batch, len(rows))
    for part in rows.split(batch):
        if len(part) == batch:
            scores = critic(*(side[part][None] for side in sides))[:, 0]
            found.append([-float(LOSSES[name](scores[i])) for i, name in enumerate(TRAININGS)])
    return np.mean(found, axis=0)
