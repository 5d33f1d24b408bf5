r"""What a trained critic reports: every evaluation of Table 1 on one score matrix, in bits.

On *held-out* data the critic meets pairs it was not trained on: fresh draws of a stream, and, for a
finite table, rows that training never shows. Two batch sizes are used. Batches of the training size
ask InfoNCE at its own K; one large batch has many negatives for each pair, so that DV and the mean
of r over negatives are measured well.
"""

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mi_lib.critics import Critic
from mi_lib.estimators import EVALUATIONS
from mi_lib.objectives import log_mean_exp, negatives
from mi_lib.streams import stream

# `scale` is log2 of the mean of r over negatives: 0 for the true ratio, and plug-in minus DV.
COLUMNS = (*EVALUATIONS, "scale")


class Task(Protocol):
    """What the engine needs of data: dimensions, and batches at a level of information."""

    x_dim: int
    y_dim: int

    def draw(
        self, bits: float, batch: int, generators: Sequence[torch.Generator], fresh: bool = False
    ) -> tuple[Tensor, Tensor]: ...


def estimates(scores: Float[Tensor, "o s b b"]) -> Float[Tensor, "o s e"]:
    """Every evaluation of every member, in bits, in the order of `COLUMNS`."""
    values = [-f(scores) for f in EVALUATIONS.values()]
    return torch.stack([*values, log_mean_exp(negatives(scores), 2)], -1) / math.log(2)


@torch.no_grad()
def held_out(
    critic: Critic, task: Task, bits: float, batch: int, repeats: int, seed: int = 0
) -> Float[np.ndarray, "r o s e"]:
    """Estimates of the critic's members on ``repeats`` fresh batches at a level."""
    parameter: Any = next(critic.parameters())
    streams = [stream("held-out", seed, s, device=parameter.device) for s in critic.seeds]
    rows = []
    for _ in range(repeats):
        x, y = task.draw(bits, batch, streams, fresh=True)
        rows.append(estimates(critic(x.to(parameter), y.to(parameter))))
    return torch.stack(rows).double().cpu().numpy()
