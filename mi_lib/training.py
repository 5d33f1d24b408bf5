"""The training loop behind `fit_critic`."""

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from . import ranks
from .batches import Batch, Pairs, length, moved
from .critic_fit import has_embeddings, loss_of
from .devices import random_state, set_random_state
from .gradient_cache import backward_in_chunks
from .losses import Loss
from .streams import stream

PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}


class Training:
    """A critic, its loss and its data on their way; the state can be saved after any step."""

    optimiser: torch.optim.Optimizer
    random: list[Tensor] | None = None

    def __init__(
        self,
        critic: nn.Module,
        loss: Loss,
        pairs: Pairs,
        patience: int | None,
        average: float | None,
        clip: float | None,
        precision: str,
        chunk: int | None = None,
    ):
        self.critic, self.loss, self.pairs = critic, loss, pairs
        self.patience, self.average, self.clip, self.chunk = patience, average, clip, chunk
        both = dict.fromkeys((*critic.parameters(), *loss.parameters()))  # a shared one once
        self.weights = [p for p in both if p.requires_grad]
        if not self.weights:
            raise ValueError("the critic has no parameters that require a gradient; nothing trains")
        if any(w.is_inference() for w in self.weights):
            raise ValueError(
                "the critic's weights were made inside torch.inference_mode and can have no "
                "gradient; make the critic outside of it"
            )
        self.encoders = has_embeddings(critic, loss)
        self.rank, self.ranks = ranks.rank_and_ranks()
        if not self.encoders and (self.ranks > 1 or chunk is not None):
            why = f"chunk={chunk}" if chunk is not None else f"a fit on {self.ranks} processes"
            raise ValueError(f"{why} needs a pair of encoders (f, g), not a critic of scores")
        ranks.start_equal(critic, loss)
        self.device, self.dtype = self.weights[0].device, self.weights[0].dtype
        self.autocast = PRECISIONS[precision]
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=precision == "float16")
        self.mean = [w.detach().clone() for w in self.weights] if average else None
        self.best = [w.detach().clone() for w in self.weights]
        self.lowest, self.since, self.step = math.inf, 0, 0
        self.curve: list[tuple[int, float]] = []
        judging, estimated = pairs.held_out[::2], pairs.held_out[1::2]
        if patience is None:
            judging = estimated = pairs.held_out
        if len(estimated) < 2:
            raise ValueError(
                f"{len(pairs.held_out)} held-out batches are too few to stop by and to estimate "
                "from; hold out at least 4 batches' pairs, lower `batch`, or pass patience=None (2)"
            )
        self.judging, self.estimated = (
            [self._here(b) for b in part] for part in (judging, estimated)
        )
        self.size = length(self.estimated[0][0])

    def agree(self) -> None:
        """Refuse ranks that are not given the same data, or not at the same step."""
        x = self.estimated[0][0]
        x = next(iter(x.values())) if isinstance(x, dict) else x
        ranks.agree(
            self.device,
            [self.step, self.size, float(x.float().nan_to_num().abs().sum())],
            "the ranks start at different steps or hold out different pairs (step x pairs x sum: "
            "{}); pass the same data and checkpoint to every rank, and no DistributedSampler: "
            "fit_critic shares each batch out itself",
        )

    def _here(self, batch: Batch) -> Batch:
        return tuple(moved(side, self.device, self.dtype) for side in batch)

    def batches(self, steps: int, seed: int) -> Iterator[int]:
        """Train, and yield the number of steps done after each."""
        done = number = 0
        if self.patient_no_more:  # a checkpoint of the end
            return
        while done < steps:
            before = done
            torch.manual_seed(stream("epoch", seed, number).initial_seed())
            for found in self.pairs.epoch(number):
                if length(found[0]) * self.ranks < 2:
                    continue
                done += 1
                if done > self.step:  # else done before the checkpoint
                    self._advance(self._here(found))
                    yield self.step
                elif done == self.step and self.random is not None:
                    set_random_state(self.random, self.device)
                if done == steps:
                    return
            if done == before:
                raise ValueError(
                    f"the data gave no batch of two pairs or more after {done} of {steps} steps; "
                    "pass data that can be gone through again, larger batches, or fewer steps"
                )
            number += 1

    def _advance(self, batch: Batch) -> None:
        self.critic.train()
        self.loss.train()
        self.optimiser.zero_grad(set_to_none=True)
        with self._own_noise():
            if self.chunk is None:
                with self._precision():
                    value = self._value(batch)
                self.scaler.scale(value).backward()
            else:
                with self._precision():
                    encoders = (self.critic.f, self.critic.g)
                    backward_in_chunks(self._scaled, encoders, batch, self.chunk)
        ranks.average(w.grad for w in self.weights if w.grad is not None)
        if self.clip is not None:
            self.scaler.unscale_(self.optimiser)
            nn.utils.clip_grad_norm_(self.weights, self.clip)
        self.scaler.step(self.optimiser)
        self.scaler.update()
        self.step += 1
        if self.mean is not None:
            keep = min(self.average, self.step / (self.step + 10))
            with torch.no_grad():
                torch._foreach_lerp_(self.mean, [w.detach() for w in self.weights], 1 - keep)

    def _precision(self) -> AbstractContextManager:
        return torch.autocast(self.device.type, self.autocast, enabled=self.autocast is not None)

    @contextmanager
    def _own_noise(self) -> Iterator[None]:
        """On several ranks, dropout of this one's own; order and data stay the same on all."""
        if self.ranks == 1:
            yield
            return
        before = random_state(self.device)
        torch.manual_seed(stream("noise", self.step, self.rank).initial_seed())
        yield
        set_random_state(before, self.device)

    def _value(self, batch: Batch) -> Tensor:
        if self.ranks == 1:
            return loss_of(self.critic, self.loss, batch)
        return self.loss.over_ranks(*self.critic.embed(*batch))

    def _scaled(self, x: Tensor, y: Tensor) -> Tensor:
        return self.scaler.scale(self.loss(x, y) if self.ranks == 1 else self.loss.over_ranks(x, y))

    @torch.no_grad()
    def look(self, on_look: Callable[[int, nn.Module], None] | None) -> None:
        """The held-out loss of the averaged weights; keep them where it is the lowest yet."""
        own = [w.detach().clone() for w in self.weights]
        kept = own if self.mean is None else self.mean
        self._put(kept)
        ranks.average(b for b in self.critic.buffers() if b.is_floating_point())
        self.critic.eval()
        self.loss.eval()
        with self._precision():
            values = [float(loss_of(self.critic, self.loss, batch)) for batch in self.judging]
        value = sum(values) / len(values)
        self.curve.append((self.step, value))
        if self.patience is None or value < self.lowest:
            self.best, self.lowest, self.since = [w.clone() for w in kept], value, 0
        else:
            self.since += 1
        if on_look is not None:
            on_look(self.step, self.critic)
        self._put(own)

    @property
    def patient_no_more(self) -> bool:
        """Whether the held-out loss has not fallen for too long."""
        return self.patience is not None and self.since >= self.patience

    @torch.no_grad()
    def _put(self, values: list[Tensor]) -> None:
        for weight, value in zip(self.weights, values, strict=True):
            weight.copy_(value)

    def finish(self) -> None:
        """Leave the critic with the weights that are kept, ready to score."""
        self._put(self.best)
        self.critic.eval()
        self.loss.eval()

    def state(self) -> dict[str, Any]:
        """Everything a continuation needs; tensors and plain numbers only."""
        return {
            "step": self.step,
            "critic": self.critic.state_dict(),
            "loss": self.loss.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "scaler": self.scaler.state_dict(),
            "mean": self.mean,
            "best": self.best,
            "lowest": self.lowest,
            "since": self.since,
            "curve": self.curve,
            "random": random_state(self.device),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self.critic.load_state_dict(state["critic"])
        self.loss.load_state_dict(state["loss"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.scaler.load_state_dict(state["scaler"])
        for name in ("step", "mean", "best", "lowest", "since", "curve", "random"):
            setattr(self, name, state[name])
