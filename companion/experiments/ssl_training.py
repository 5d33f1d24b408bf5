"""Contrastive pretraining: several objectives on the same pictures, views and starting weights.

All chance is a function of the seed and the step, so that a run can be cut anywhere, spread over
any number of processes, or split into runs of single objectives, and sees the same batches.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from mi_lib.streams import stream
from mi_lib.validate import whole_number

from ..data.cifar import Pictures, pictures
from ..training import keep_large_buffers
from .ssl_augment import CHANCES, view
from .ssl_gather import average_gradients, gather, rank_and_ranks
from .ssl_losses import SUPERVISED, loss_of
from .ssl_networks import Encoder, make_encoder
from .ssl_optim import Lars, rate_at
from .ssl_probe import quick_probe

BLOCK = 512  # pictures encoded at once where no gradient is needed
FIRST_LOSSES = 10


@dataclass(frozen=True)
class Settings:
    """One pretraining, except for its objective and its seed."""

    data: str = "cifar100"
    width: int = 64
    blocks: tuple[int, ...] = (2, 2, 2, 2)
    stem: int = 1
    hidden: int = 2048
    output: int = 256
    batch: int = 256
    epochs: int = 1000
    warm_up: int = 10  # epochs
    rate: float = 0.4  # at a batch of 256; scaled with the batch
    decay: float = 1e-5
    eta: float = 0.02
    smallest: float = 0.08  # share of a picture that a crop keeps, at least
    points: int = 20  # of the learning curves
    bfloat16: bool = False  # mixed precision: convolutions in bfloat16, losses never

    def __post_init__(self):
        for name in ("width", "output", "epochs", "points"):
            whole_number(getattr(self, name), name, 1)
        whole_number(self.batch, "batch", 2)
        if self.width % 8:
            raise ValueError(
                f"width={self.width} is not a multiple of 8; pass one: on a CPU, convolutions with "
                "channels last over fewer than 8 channels write beyond their memory (torch 2.13)"
            )


class Member:
    """One objective's encoder on its way."""

    def __init__(self, objective: str, seed: int, settings: Settings, classes: int):
        self.objective, self.loss = objective, loss_of(objective)
        heads = {"hidden": settings.hidden, "output": settings.output}
        if objective == SUPERVISED:
            heads = {"hidden": 0, "output": classes}
        self.encoder = make_encoder(seed, settings.width, settings.blocks, settings.stem, **heads)
        self.first_losses: list[float] = []
        self.losses: list[float] = []  # means between two points of the curve
        self.accuracies: list[float] = []

    def place(self, device: torch.device, dtype: torch.dtype, settings: Settings) -> None:
        """Move to a device and make the optimiser there."""
        self.encoder.to(device, dtype, memory_format=torch.channels_last)
        rate = settings.rate * settings.batch / 256
        self.optimiser = Lars(
            self.encoder.parameters(), rate, decay=settings.decay, eta=settings.eta
        )
        self.sum = torch.zeros((), device=device, dtype=dtype)


class Pretraining:
    """Members that share a seed, trained step by step."""

    def __init__(
        self,
        objectives: Sequence[str],
        seed: int,
        settings: Settings,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ):
        self.seed, self.settings, self.step = seed, settings, 0
        self.device, self.dtype = torch.device(device), dtype
        if self.device.type == "cpu":
            keep_large_buffers()
        self.pictures: Pictures = pictures(settings.data)
        self.steps_an_epoch = len(self.pictures.train) // settings.batch
        if not self.steps_an_epoch:
            raise ValueError(
                f"batch={settings.batch} is larger than the {len(self.pictures.train)} training "
                "pictures; pass a smaller one"
            )
        self.steps = settings.epochs * self.steps_an_epoch
        mean, deviation = self.pictures.statistics()
        self.mean = mean.to(self.device, dtype)[:, None, None]
        self.deviation = deviation.to(self.device, dtype)[:, None, None]
        self.members = [Member(name, seed, settings, self.pictures.classes) for name in objectives]
        for member in self.members:
            member.place(self.device, dtype, settings)

    def standardised(self, values: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b 3 h w"]:
        """Pictures in [0, 1] as the encoder wants them."""
        values = (values.to(self.device, self.dtype) - self.mean) / self.deviation
        return values.contiguous(memory_format=torch.channels_last)

    def views(
        self, images: UInt8[Tensor, "b 3 h w"], chance: Float[Tensor, "b 22"]
    ) -> Float[Tensor, "2b 3 h w"]:
        """Two views of each picture: all first ones, then all second ones."""
        images, smallest = images.to(self.device), self.settings.smallest
        pair = [view(images, part, smallest) for part in chance.split(CHANCES, 1)]
        return self.standardised(torch.cat(pair))

    def batch(self) -> tuple[Float[Tensor, "2b 3 h w"], Tensor]:
        """This rank's part of the next batch: views and labels."""
        epoch, place = divmod(self.step, self.steps_an_epoch)
        order = torch.randperm(
            len(self.pictures.train), generator=stream("ssl-order", self.seed, epoch)
        )
        size = self.settings.batch
        chosen = order[place * size : (place + 1) * size]
        chance = torch.rand(size, 2 * CHANCES, generator=stream("ssl-views", self.seed, self.step))
        rank, ranks = rank_and_ranks()
        if size % ranks:
            raise ValueError(f"batch={size} cannot be shared equally by {ranks} processes")
        own = slice(rank * size // ranks, (rank + 1) * size // ranks)
        chosen = chosen[own]
        labels = self.pictures.train_labels[chosen].to(self.device)
        return self.views(self.pictures.train[chosen], chance[own]), labels

    def advance(self) -> None:
        """One step of every member, all on the same views."""
        views, labels = self.batch()
        labels = gather(labels)
        for member in self.members:
            loss = self.loss(member, views, labels)
            member.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            average_gradients(member.encoder.parameters())
            self._set_rate(member.optimiser)
            member.optimiser.step()
            member.sum += loss.detach()
            if len(member.first_losses) < FIRST_LOSSES:
                member.first_losses.append(float(loss.detach()))
        self.step += 1
        if self._points(self.step) > self._points(self.step - 1):
            self._record()

    def loss(self, member: Member, views: Tensor, labels: Tensor) -> Tensor:
        """The loss of the whole batch, in single precision or better."""
        member.encoder.train()
        with self._precision():
            embedding = member.encoder(views)
        x, y = embedding.to(self.dtype).chunk(2)
        return member.loss(gather(x), gather(y), labels)

    def _precision(self):
        if self.settings.bfloat16:
            return torch.autocast(self.device.type, torch.bfloat16)
        return nullcontext()

    def _set_rate(self, optimiser: Lars) -> None:
        settings = self.settings
        peak = settings.rate * settings.batch / 256
        warm = settings.warm_up * self.steps_an_epoch
        for group in optimiser.param_groups:
            group["lr"] = rate_at(self.step, self.steps, warm, peak)

    def _points(self, step: int) -> int:
        return step * self.settings.points // self.steps

    def _record(self) -> None:
        """A point of the learning curves: mean loss since the last, accuracy of a quick probe."""
        count = sum(self._points(step) == self._points(self.step - 1) for step in range(self.steps))
        for member in self.members:
            member.losses.append(float(member.sum / count))
            member.sum.zero_()
            if rank_and_ranks()[0] == 0:
                member.accuracies.append(quick_probe(*self.probe_sets(member.encoder)))

    def iterate(self) -> Iterator[int]:
        """Run to the end, yielding the number of steps done after each."""
        while self.step < self.steps:
            self.advance()
            yield self.step

    @torch.no_grad()
    def features(self, encoder: Encoder, images: UInt8[Tensor, "n 3 h w"]) -> Float[Tensor, "n d"]:
        """What the probe sees: the body's features of the pictures as they are."""
        encoder.eval()
        parts = []
        for part in images.split(BLOCK):
            with self._precision():
                features = encoder.body(self.standardised(part.float() / 255))
            parts.append(features.to(self.dtype))
        return torch.cat(parts)

    def probe_sets(self, encoder: Encoder) -> tuple[Tensor, Tensor, Tensor, Tensor, int]:
        """Features and labels for training and test, and the number of classes."""
        p, to = self.pictures, self.device
        train, test = self.features(encoder, p.train), self.features(encoder, p.test)
        return train, p.train_labels.to(to), test, p.test_labels.to(to), p.classes

    @torch.no_grad()
    def embedded_pairs(self, encoder: Encoder, count: int) -> tuple[Tensor, Tensor]:
        """Embeddings of two views of each of ``count`` test pictures, evenly spread over the file,
        which may be sorted by class."""
        encoder.eval()
        images = self.pictures.test[:: max(1, len(self.pictures.test) // count)][:count]
        chance = torch.rand(len(images), 2 * CHANCES, generator=stream("ssl-held-out", self.seed))
        pairs = []
        for some, draws in zip(images.split(BLOCK), chance.split(BLOCK), strict=True):
            with self._precision():
                embedding = encoder(self.views(some, draws))
            pairs.append(embedding.to(self.dtype).unflatten(0, (2, -1)))
        return tuple(torch.cat(pairs, 1))

    def state(self) -> dict[str, Any]:
        """Everything a continuation needs; tensors and plain numbers only."""
        members = [
            {
                "encoder": member.encoder.state_dict(),
                "optimiser": member.optimiser.state_dict(),
                "sum": member.sum,
                "first_losses": member.first_losses,
                "losses": member.losses,
                "accuracies": member.accuracies,
            }
            for member in self.members
        ]
        return {"step": self.step, "members": members}

    def save(self, path: Path) -> None:
        """Write the state under a temporary name and rename it: the file is whole or absent."""
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        torch.save(self.state(), temporary)
        os.replace(temporary, path)

    def load(self, path: Path) -> None:
        """Continue from a saved state of the same objectives, seed and settings."""
        state = torch.load(path, map_location=self.device, weights_only=True)
        self.step = state["step"]
        for member, saved in zip(self.members, state["members"], strict=True):
            member.encoder.load_state_dict(saved["encoder"])
            member.optimiser.load_state_dict(saved["optimiser"])
            member.sum, member.first_losses = saved["sum"], saved["first_losses"]
            member.losses, member.accuracies = saved["losses"], saved["accuracies"]
