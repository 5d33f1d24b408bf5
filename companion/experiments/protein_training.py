r"""Train one critic an objective on the same pairs, each stopped by its own validation loss.

All objectives start from the same weights and see the same batches. They live in one stack; a
member whose validation loss has not improved for ``patience`` steps leaves it, and what remains
goes on. The state that counts is the one with the lowest validation loss.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mi_lib.critics import Separable
from mi_lib.devices import pick_device
from mi_lib.streams import stream
from mi_lib.validate import whole_number

from ..training import keep_large_buffers, loss_of
from .protein_protocols import Split, log_margin


@dataclass(frozen=True)
class Settings:
    """The critics and their training; the defaults are the paper's."""

    objectives: tuple[str, ...] = (
        "chi-square",
        "js",
        "anchor",
        "anchor:nu=k",
        "spherical",
        "infonce",
    )
    held_out: int = 170
    batch: int = 64
    rate: float = 1e-4
    steps: int = 10_000
    every: int = 500  # steps between looks at the validation loss
    patience: int = 500  # steps without improvement before stopping
    hidden: int = 256
    layers: int = 4
    embedding: int = 32

    def __post_init__(self):
        for name in self.objectives:
            loss_of(name)
        for name in ("held_out", "steps", "every", "patience", "hidden", "layers", "embedding"):
            whole_number(getattr(self, name), name, 1)
        whole_number(self.batch, "batch", 2)


@dataclass
class Member:
    """One objective: its best critic so far, and where that was."""

    objective: str
    critic: Separable | None = None
    loss: float = float("inf")
    step: int = 0
    stopped: int = 0


class Training:
    """The stack of one trial."""

    def __init__(self, split: Split, settings: Settings, seed: int, device: str = "cpu"):
        self.split, self.settings, self.device = split, settings, pick_device(device)
        if self.device.type == "cpu":
            keep_large_buffers()
        self.x, self.y = split.x.to(self.device), split.y.to(self.device)
        for name in ("train", "validation"):
            if len(getattr(split, name)) < settings.batch:
                raise ValueError(
                    f"{len(getattr(split, name))} {name} pairs are fewer than a batch of "
                    f"{settings.batch}; hold out another number of proteins or use a smaller batch"
                )
        self.members = [Member(name) for name in settings.objectives]
        self.active = list(range(len(self.members)))
        self.chance = stream("protein batches", seed)
        self.seed, self.first_losses, self.step = seed, [], 0
        self.critic = self._stack(len(self.active))
        self.optimiser = self._optimiser()
        order = torch.randperm(len(split.validation), generator=self.chance, device="cpu").numpy()
        whole = len(order) // settings.batch * settings.batch
        self.held = np.split(split.validation[order[:whole]], whole // settings.batch)

    def _stack(self, copies: int) -> Separable:
        s = self.settings
        shape = {"hidden": s.hidden, "layers": s.layers, "embedding": s.embedding}
        dims = self.x.shape[1], self.y.shape[1]
        return Separable(*dims, seeds=(self.seed,), copies=copies, **shape).to(self.device)

    def _optimiser(self) -> torch.optim.Adam:
        fused = self.device.type in ("cpu", "cuda")
        return torch.optim.Adam(self.critic.parameters(), self.settings.rate, fused=fused)

    def _losses(self, pairs: np.ndarray) -> Float[Tensor, " o"]:
        scores = self.critic(self.x[pairs[:, 0]][None], self.y[pairs[:, 1]][None])
        named = (loss_of(self.members[m].objective) for m in self.active)
        return torch.cat([loss(scores[o]) for o, loss in enumerate(named)])

    def advance(self) -> None:
        """One step of every member that still runs."""
        pairs = self.split.train
        drawn = torch.randint(
            len(pairs), (self.settings.batch,), generator=self.chance, device="cpu"
        )
        losses = self._losses(pairs[drawn.numpy()])
        self.optimiser.zero_grad(set_to_none=True)
        losses.sum().backward()
        self.optimiser.step()
        if len(self.first_losses) < 10:
            self.first_losses.append(losses.detach().double().cpu().tolist())
        self.step += 1

    @torch.no_grad()
    def look(self) -> None:
        """Compare the validation losses with the best so far; drop the members that are done."""
        losses = torch.stack([self._losses(pairs) for pairs in self.held]).mean(0)
        going = []
        for o, m in enumerate(self.active):
            member, value = self.members[m], float(losses[o])
            if value < member.loss:
                member.critic, member.loss, member.step = self._kept([o]), value, self.step
            member.stopped = self.step
            # A loss that is not a number never improves again.
            if self.step - member.step < self.settings.patience:
                going.append(o)
        if len(going) < len(self.active):
            self._shrink(going)

    def _kept(self, places: Sequence[int]) -> Separable:
        """A critic of some members of the stack, with their present weights."""
        kept = self._stack(len(places))
        state = self.critic.state_dict()
        kept.load_state_dict({k: self._slice(k, v, places) for k, v in state.items()})
        return kept

    def _slice(self, name: str, values: Tensor, places: Sequence[int]) -> Tensor:
        """The part of a parameter (or of Adam's memory of it) that belongs to some members."""
        copies = self.critic.copies
        if name.startswith(("first_", "bias_")):
            split = values.unflatten(-1, (copies, -1))[..., list(places), :]
            return split.flatten(-2).clone()
        return values.unflatten(0, (2, copies))[:, list(places)].flatten(0, 1).clone()

    def _shrink(self, places: list[int]) -> None:
        """Go on with some members only, as if the others had never been in the stack."""
        self.active = [self.active[o] for o in places]
        if not places:
            return
        memory = {
            name: self.optimiser.state.get(parameter, {})
            for name, parameter in self.critic.named_parameters()
        }
        kept = self._kept(places)
        memory = {
            name: {
                key: self._slice(name, value, places) if value.ndim else value.clone()
                for key, value in state.items()
            }
            for name, state in memory.items()
        }
        self.critic = kept
        self.optimiser = self._optimiser()
        for name, parameter in kept.named_parameters():
            self.optimiser.state[parameter] = memory[name]

    def run(self) -> list[Member]:
        """Train until every member has stopped or the steps are used up."""
        while self.active and self.step < self.settings.steps:
            self.advance()
            if self.step % self.settings.every == 0 or self.step == self.settings.steps:
                self.look()
        return self.members


@torch.no_grad()
def score(
    critic: Separable, x: Float[Tensor, "a d"], y: Float[Tensor, "b d"]
) -> Float[Tensor, "a b"]:
    """c(x_i, y_j) of a trained critic for any numbers of left and right proteins; nats."""
    device = critic.first_x.device
    size = max(len(x), len(y))
    wide = [torch.cat([r, r.new_zeros(size - len(r), r.shape[1])]).to(device) for r in (x, y)]
    return critic(wide[0][None], wide[1][None])[0, 0, : len(x), : len(y)].double().cpu()


def log_scale(critic: Separable, split: Split, y: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
    r""":math:`\log\mathbb{E}_{p(x)}[e^{c(x,y)}]` over the left proteins of the training pairs.

    It is 0 for a critic that is the log ratio. InfoNCE leaves it free: it is the C(y) of the paper,
    and subtracting it from c(x, y) removes that freedom.
    """
    proteins, log_weight = log_margin(split.train, 0)
    table = score(critic, split.x[proteins], y)
    return torch.logsumexp(table + log_weight.double()[:, None], 0)
