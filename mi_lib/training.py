"""The training loop behind `fit_critic`."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from .batches import Batch, Pairs, length, moved
from .critic_fit import scores_of
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
    ):
        self.critic, self.loss, self.pairs = critic, loss, pairs
        self.patience, self.average, self.clip = patience, average, clip
        self.weights = [p for p in (*critic.parameters(), *loss.parameters()) if p.requires_grad]
        if not self.weights:
            raise ValueError("the critic has no parameters that require a gradient; nothing trains")
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
                if length(found[0]) < 2:
                    continue
                done += 1
                if done > self.step:  # else done before the checkpoint
                    self._advance(self._here(found))
                    yield self.step
                elif done == self.step and self.random is not None:
                    self._set_random(self.random)
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
        value = self.loss(self._scores(batch))
        self.optimiser.zero_grad(set_to_none=True)
        self.scaler.scale(value).backward()
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

    def _scores(self, batch: Batch) -> Tensor:
        with torch.autocast(self.device.type, self.autocast, enabled=self.autocast is not None):
            return scores_of(self.critic, batch)

    @torch.no_grad()
    def look(self, on_look: Callable[[int, nn.Module], None] | None) -> None:
        """The held-out loss of the averaged weights; keep them where it is the lowest yet."""
        own = [w.detach().clone() for w in self.weights]
        kept = own if self.mean is None else self.mean
        self._put(kept)
        self.critic.eval()
        self.loss.eval()
        value = sum(float(self.loss(self._scores(b))) for b in self.judging) / len(self.judging)
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
        random = [torch.get_rng_state()]
        random += [torch.cuda.get_rng_state(self.device)] if self.device.type == "cuda" else []
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
            "random": random,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self.critic.load_state_dict(state["critic"])
        self.loss.load_state_dict(state["loss"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.scaler.load_state_dict(state["scaler"])
        for name in ("step", "mean", "best", "lowest", "since", "curve", "random"):
            setattr(self, name, state[name])

    def _set_random(self, states: list[Tensor]) -> None:
        torch.set_rng_state(states[0].cpu())
        if len(states) > 1:
            torch.cuda.set_rng_state(states[1].cpu(), self.device)
