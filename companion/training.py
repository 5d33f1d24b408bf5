r"""The engine: S seeds times O objectives, trained as one stack on shared batches.

Each seed has its own data stream, and all objectives see the same batches from the same starting
point: differences between them are paired. One training serves every evaluation. The state of a run
can be saved at any step and continued to the same result.
"""

import contextlib
import ctypes
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mi_lib import objectives
from mi_lib.critics import make_critic
from mi_lib.devices import pick_device
from mi_lib.estimators import TRAININGS
from mi_lib.objectives import log_mean_exp, negatives
from mi_lib.streams import stream
from mi_lib.validate import one_of, whole_number

from .evaluation import Task, estimates, held_out

EMA_RATE = 0.01  # MINE's running mean


@dataclass(frozen=True)
class Settings:
    """One training run, except for its data and its seeds."""

    trainings: tuple[str, ...] = ("nwj", "js", "infonce", "anchor", "chi-square", "spherical")
    levels: tuple[float, ...] = (2.0, 4.0, 6.0, 8.0, 10.0)
    steps: int = 4000  # at each level
    batch: int = 64
    rate: float = 1e-4
    critic: str = "separable"
    critic_settings: Mapping[str, Any] = field(default_factory=dict)
    warm: bool = True  # one critic climbs the levels; False: a new one at each level
    every: int = 10  # steps between estimates on the training batch
    block: int = 100  # steps averaged into one point of the curve
    held_out: int = (
        4096  # pairs of fresh data at the end of each level, in batches of the same size
    )
    large: int = 1024  # pairs of one large fresh batch
    large_repeats: int = 8

    def __post_init__(self):
        for name in self.trainings:
            loss_of(name)
        for name in ("steps", "every", "block", "held_out", "large_repeats"):
            whole_number(getattr(self, name), name, 1)
        for name in ("batch", "large"):
            whole_number(getattr(self, name), name, 2)
        if self.block % self.every or self.steps % self.block:
            raise ValueError(
                f"every={self.every}, block={self.block}, steps={self.steps}: each must divide the "
                "next, so that blocks hold equally many estimates and levels whole blocks"
            )


def loss_of(training: str) -> Callable[[Tensor], Tensor]:
    """The loss of a training by name; ``anchor:nu=63`` and ``anchor:k=8`` set its parameters, and
    ``anchor:nu=k`` takes nu = K = B - 1."""
    name, _, options = training.partition(":")
    one_of("training", name, TRAININGS)
    if training == "anchor:nu=k":
        return lambda scores: objectives.anchor(scores, nu=scores.shape[-1] - 1)
    if not options:
        return TRAININGS[name]
    given = dict(option.split("=") for option in options.split(","))
    types = {"nu": float, "k": int}
    for key in given:
        one_of("option", key, types)
    return partial(TRAININGS[name], **{key: types[key](value) for key, value in given.items()})


def keep_large_buffers() -> None:
    """Ask glibc to keep freed memory instead of returning it to the system.

    Gradients of a stack are tens of megabytes; mapping and zeroing them anew at each step takes as
    long as the arithmetic. Elsewhere (other C libraries) this does nothing.
    """
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        m_trim_threshold, m_mmap_max = -1, -4
        libc.mallopt(m_mmap_max, 0)
        libc.mallopt(m_trim_threshold, 2**31 - 1)


class Run:
    """A stack of critics on its way up the levels."""

    def __init__(
        self,
        task: Task,
        seeds: Sequence[int],
        settings: Settings,
        device: str = "auto",
        dtype: torch.dtype = torch.float32,
    ):
        self.task, self.seeds, self.settings = task, tuple(seeds), settings
        self.device, self.dtype = pick_device(device), dtype
        if self.device.type == "cpu":
            keep_large_buffers()
        self.losses = [loss_of(name) for name in settings.trainings]
        self.step = 0
        self.generators = [stream("batches", seed, device=self.device) for seed in self.seeds]
        self.first_losses: list[list[list[float]]] = []
        self.curves: list[Float[np.ndarray, "o s e"]] = []
        self.fresh: list[Float[np.ndarray, "2 o s e"]] = []  # a level: own batch size, large
        self._sum: Tensor | None = None
        self._new_critic()

    def _new_critic(self) -> None:
        settings = self.settings
        self.critic = make_critic(
            settings.critic,
            self.task.x_dim,
            self.task.y_dim,
            seeds=self.seeds,
            copies=len(settings.trainings),
            **settings.critic_settings,
        ).to(self.device, self.dtype)
        fused = self.device.type in ("cpu", "cuda")
        self.optimiser = torch.optim.Adam(self.critic.parameters(), settings.rate, fused=fused)
        self.log_ema = torch.zeros(
            len(settings.trainings), len(self.seeds), device=self.device, dtype=self.dtype
        )
        self.steps_of_critic = 0

    @property
    def total_steps(self) -> int:
        """Steps of the whole schedule."""
        return self.settings.steps * len(self.settings.levels)

    @property
    def level(self) -> float:
        """The level, in bits, of the next step."""
        return self.settings.levels[self.step // self.settings.steps]

    def draw(self) -> tuple[Tensor, Tensor]:
        """The next batch of every stream at the present level."""
        x, y = self.task.draw(self.level, self.settings.batch, self.generators)
        return x.to(self.device, self.dtype), y.to(self.device, self.dtype)

    def advance(self) -> None:
        """One step of every member."""
        if self.step % self.settings.steps == 0 and self.step and not self.settings.warm:
            self._new_critic()
        scores = self.critic(*self.draw())
        losses = torch.stack([self._loss(o, scores[o]) for o in range(len(self.losses))])
        self.optimiser.zero_grad(set_to_none=True)
        losses.sum().backward()
        self.optimiser.step()
        if len(self.first_losses) < 10:
            self.first_losses.append(losses.detach().double().cpu().tolist())
        if self.step % self.settings.every == 0:
            values = estimates(scores.detach())
            self._sum = values if self._sum is None else self._sum + values
        level = self.level
        self.step += 1
        self.steps_of_critic += 1
        if self.step % self.settings.block == 0:
            count = self.settings.block // self.settings.every
            self.curves.append((self._sum / count).double().cpu().numpy())
            self._sum = None
        if self.step % self.settings.steps == 0:
            self.fresh.append(self._on_fresh_data(level))

    def _on_fresh_data(self, level: float) -> Float[np.ndarray, "2 o s e"]:
        settings = self.settings
        sizes = [
            (settings.batch, math.ceil(settings.held_out / settings.batch)),
            (settings.large, settings.large_repeats),
        ]
        return np.stack([held_out(self.critic, self.task, level, *size).mean(0) for size in sizes])

    def _loss(self, o: int, scores: Float[Tensor, "s b b"]) -> Float[Tensor, " s"]:
        if self.settings.trainings[o] != "mine":
            return self.losses[o](scores)
        mean = log_mean_exp(negatives(scores), 2).detach()
        old = self.log_ema[o] if self.steps_of_critic else mean
        weights = math.log1p(-EMA_RATE), math.log(EMA_RATE)
        self.log_ema[o] = torch.logaddexp(old + weights[0], mean + weights[1])
        return objectives.mine(scores, self.log_ema[o])

    def iterate(self) -> Iterator[int]:
        """Run to the end, yielding the number of steps done after each."""
        while self.step < self.total_steps:
            self.advance()
            yield self.step

    def state(self) -> dict[str, Any]:
        """Everything a continuation needs; tensors and plain numbers only."""
        return {
            "step": self.step,
            "steps_of_critic": self.steps_of_critic,
            "critic": self.critic.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "generators": [g.get_state() for g in self.generators],
            "log_ema": self.log_ema,
            "sum": self._sum,
            "first_losses": self.first_losses,
            "curves": torch.from_numpy(np.array(self.curves)),
            "fresh": torch.from_numpy(np.array(self.fresh)),
        }

    def save(self, path: Path) -> None:
        """Write the state under a temporary name and rename it: the file is whole or absent."""
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        torch.save(self.state(), temporary)
        os.replace(temporary, path)

    def load(self, path: Path) -> None:
        """Continue from a saved state of the same task, seeds and settings."""
        state = torch.load(path, map_location=self.device, weights_only=True)
        self.step, self.steps_of_critic = state["step"], state["steps_of_critic"]
        self.critic.load_state_dict(state["critic"])
        self.optimiser.load_state_dict(state["optimiser"])
        for generator, saved in zip(self.generators, state["generators"], strict=True):
            generator.set_state(saved.cpu())
        self.log_ema, self._sum = state["log_ema"], state["sum"]
        self.first_losses = state["first_losses"]
        self.curves = list(state["curves"].cpu().numpy())
        self.fresh = list(state["fresh"].cpu().numpy())
