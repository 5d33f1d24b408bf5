r"""A staircase run that contrasts y, or both sides, where the engine's own contrasts x.

The loss in direction y is the loss in direction x of the transposed scores,
:math:`L_y(c) = L_x(c^\top)`, and ``"both"`` is the mean of the two. Of the evaluations only InfoNCE
has a direction: it is read in the direction of the training. All other code, and so the starting
weights and the batches, is that of `Run`.

At the end of each level the run also measures, over fresh true pairs, the mean and the standard
deviation of :math:`c - \log r^*` in bits, the error of the critic against the exact log ratio. It
needs no negatives and is finite where :math:`\mathbb{E}_{q_0}[e^c]` is not.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mi_lib.critics import Critic
from mi_lib.objectives import CONTRASTS
from mi_lib.streams import stream
from mi_lib.validate import one_of

from .evaluation import Task, estimates, held_out
from .training import Run, Settings

ERRORS = ("mean", "sd")  # of c - log r* over true pairs


def ways(scores: Float[Tensor, "... b b"], contrast: str) -> tuple[Tensor, ...]:
    """Scores whose direction x is the wanted one: one matrix, or for ``both`` two."""
    turned = {"x": (scores,), "y": (scores.mT,), "both": (scores, scores.mT)}
    return turned[one_of("contrast", contrast, CONTRASTS)]


def mean_of(value: Callable[[Tensor], Tensor], scores: Tensor, contrast: str) -> Tensor:
    """What a function of scores gives in a direction."""
    return torch.stack([value(way) for way in ways(scores, contrast)]).mean(0)


class _Turned:
    """The critic whose scores[i, j] are those of the other with j and i exchanged."""

    def __init__(self, critic: Critic):
        self.critic, self.seeds, self.parameters = critic, critic.seeds, critic.parameters

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        return self.critic(x, y).mT


class DirectedRun(Run):
    """A `Run` in a direction of contrast: x, y or both."""

    def __init__(
        self,
        task: Task,
        seeds: Sequence[int],
        settings: Settings,
        device: str = "auto",
        dtype: torch.dtype = torch.float32,
        contrast: str = "x",
    ):
        self.contrast = one_of("contrast", contrast, CONTRASTS)
        self.errors: list[Float[np.ndarray, "o s e"]] = []
        super().__init__(task, seeds, settings, device, dtype)

    def _loss(self, o: int, scores: Float[Tensor, "s b b"]) -> Float[Tensor, " s"]:
        if self.step % self.settings.every == 0:
            self._turn_the_reading(o, scores.detach())
        if self.settings.trainings[o] == "mine":  # has no direction, but a memory
            return super()._loss(o, scores)
        return mean_of(self.losses[o], scores, self.contrast)

    def _turn_the_reading(self, o: int, scores: Float[Tensor, "s b b"]) -> None:
        """Add to the sum of estimates what tells the wanted direction from x, which `advance` is
        about to add."""
        plain = estimates(scores[None])
        if self._sum is None:
            self._sum = plain.new_zeros(len(self.losses), *plain.shape[1:])
        self._sum[o] += (mean_of(estimates, scores[None], self.contrast) - plain)[0]

    def _on_fresh_data(self, level: float) -> Float[np.ndarray, "2 o s e"]:
        """The estimates of `Run` in the wanted direction, on the same fresh batches; on the large
        ones also the error of the critic."""
        own = self.critic
        critics: dict[str, tuple[Any, ...]] = {"x": (own,), "y": (_Turned(own),)}
        critics["both"] = critics["x"] + critics["y"]
        settings, found = self.settings, []
        for size, repeats in (
            (settings.batch, math.ceil(settings.held_out / settings.batch)),
            (settings.large, settings.large_repeats),
        ):
            readings = [
                held_out(critic, self.task, level, size, repeats).mean(0)
                for critic in critics[self.contrast]
            ]
            found.append(np.mean(readings, 0))
        self.errors.append(self._error(level))
        return np.stack(found)

    @torch.no_grad()
    def _error(self, level: float) -> Float[np.ndarray, "o s e"]:
        """Mean and standard deviation of c - log r* in bits over the true pairs of the large fresh
        batches; NaN for a task without an exact ratio of cubed data."""
        task: Any = self.task
        if getattr(task, "transform", None) != "cubic":
            return np.full((len(self.losses), len(self.seeds), len(ERRORS)), math.nan)
        streams = [stream("held-out", 0, s, device=self.device) for s in self.seeds]
        gaps = []
        for _ in range(self.settings.large_repeats):
            x, y = task.draw(level, self.settings.large, streams, fresh=True)
            exact = torch.stack(
                [
                    task.log_ratio(a, b, level).diagonal()
                    for a, b in zip(x.double(), _uncubed(y.double()), strict=True)
                ]
            )
            scores = self.critic(x.to(self.device, self.dtype), y.to(self.device, self.dtype))
            gaps.append(scores.diagonal(dim1=-2, dim2=-1).double() - exact)
        gap = torch.cat(gaps, -1) / math.log(2)
        return torch.stack([gap.mean(-1), gap.std(-1)], -1).cpu().numpy()

    def state(self) -> dict[str, Any]:
        """That of `Run`, and the errors."""
        return super().state() | {"errors": torch.from_numpy(np.array(self.errors))}

    def load(self, path: Any) -> None:
        """Continue from a saved state."""
        super().load(path)
        state = torch.load(path, map_location="cpu", weights_only=True)
        self.errors = list(state["errors"].numpy())


def _uncubed(y: Tensor) -> Tensor:
    return y.sign() * y.abs() ** (1 / 3)
