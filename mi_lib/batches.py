"""Pairs for `fit_critic`: arrays, a Dataset, a DataLoader or any iterable become batches.

A batch is ``(x, y)``: tensors, or mappings of tensors (tokens and masks, say), whose first
dimension counts the pairs. Training goes through the data in epochs; held-out batches are set aside
first, are all of one size, and are never trained on. Under `torch.distributed` every rank is given
the same data, and trains on its share of each batch.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Subset,
)

from .ranks import rank_and_ranks
from .streams import stream
from .validate import whole_number

LARGEST = 128  # pairs a batch, unless told otherwise
APART = 8  # batches that a held-out share makes at least, unless told otherwise
STREAMED = 2048  # pairs held out of data whose number is unknown, unless told otherwise
Side = Tensor | Mapping[str, Tensor]
Batch = tuple[Side, Side]
Share = Callable[[int], slice]  # of a batch of so many pairs, which of them


@dataclass(frozen=True)
class Pairs:
    """What to train on, epoch by epoch, and the batches that are held out."""

    epoch: Callable[[int], Iterator[Batch]]
    held_out: list[Batch]


def length(side: Side) -> int:
    """How many pairs a side of a batch has."""
    return len(next(iter(side.values())) if isinstance(side, Mapping) else side)


def part_of(side: Side, part: slice) -> Side:
    """Some of the pairs of a side."""
    return {k: v[part] for k, v in side.items()} if isinstance(side, Mapping) else side[part]


def slices(pairs: int, size: int) -> list[slice]:
    """Consecutive parts of so many pairs."""
    return [slice(first, first + size) for first in range(0, pairs, size)]


def share_of(count: int) -> slice:
    """This rank's share of a batch of so many pairs."""
    rank, ranks = rank_and_ranks()
    if count % ranks:
        raise ValueError(
            f"a batch of {count} pairs cannot be shared equally by {ranks} processes; pass another "
            "`batch`, or drop_last=True"
        )
    return slice(rank * count // ranks, (rank + 1) * count // ranks)


def all_of(count: int) -> slice:
    """All of the pairs."""
    return slice(count)


def moved(side: Side, device: torch.device, dtype: torch.dtype) -> Side:
    """A side on another device, its floats in another precision."""
    if isinstance(side, Mapping):
        return {key: moved(value, device, dtype) for key, value in side.items()}
    return side.to(device, dtype if side.is_floating_point() else side.dtype)


def pairs_of(data: Any, batch: int | None, held_out: Any, seed: int) -> Pairs:
    """Training epochs and held-out batches of whatever a caller has.

    Parameters
    ----------
    data : (x, y) arrays or tensors, Dataset, DataLoader, or iterable of batches
    batch : int, optional
        Pairs a batch; a DataLoader or an iterable brings its own. Where left out, 128, or fewer so
        that the held-out pairs make eight batches.
    held_out : share in (0, 1), number of pairs, or data of its own
        What is set aside. Of an iterable a share cannot be taken: the first 2,048 pairs are.
    seed : int
        Decides the split and the order.
    """
    if batch is not None:
        whole_number(batch, "batch", 2)
    if isinstance(held_out, float | int) and not isinstance(held_out, bool):
        return _split(data, batch, held_out, seed, share_of)
    apart = _split(held_out, batch, 0, seed, all_of)
    return Pairs(_split(data, batch, 0, seed, share_of).epoch, _equal(apart.epoch(0)))


def _size(batch: int | None, held_out: int) -> int:
    """Pairs a batch, where so many are held out."""
    if batch is not None:
        return batch
    return LARGEST if not held_out else max(2, min(LARGEST, held_out // APART))


def _split(data: Any, batch: int | None, held_out: float, seed: int, share: Share) -> Pairs:
    if isinstance(data, DataLoader) and not isinstance(data.dataset, IterableDataset):
        return _split_dataset(data.dataset, partial(_like, data), held_out, seed, share)
    if isinstance(data, Dataset) and not isinstance(data, IterableDataset):
        size = _size(batch, _counted(len(data), held_out))
        return _split_dataset(data, partial(_like, DataLoader(data, size)), held_out, seed, share)
    if _are_arrays(data):
        return _split_arrays(data, batch, held_out, seed, share)
    if isinstance(data, IterableDataset):
        data = DataLoader(data, batch or LARGEST)
    if not isinstance(data, Iterable) or isinstance(data, str | bytes | Mapping):
        raise ValueError(
            f"data is a {type(data).__name__}; pass (x, y) arrays, a Dataset, a DataLoader, or an "
            "iterable of batches (x, y)"
        )
    return _split_iterable(data, STREAMED if 0 < held_out < 1 else held_out, share)


def _are_arrays(data: Any) -> bool:
    return (
        isinstance(data, tuple)
        and len(data) == 2
        and all(isinstance(s, np.ndarray | Tensor | list) or hasattr(s, "to_numpy") for s in data)
    )


def _counted(n: int, held_out: float) -> int:
    """How many of n pairs are held out."""
    count = round(held_out * n) if 0 < held_out < 1 else held_out
    if count != int(count) or not 0 <= count < n:
        raise ValueError(
            f"held_out={held_out!r} of {n} pairs cannot be set aside; pass a share between 0 and "
            "1, a smaller number of pairs, or data of its own"
        )
    return int(count)


def _split_arrays(
    data: tuple, batch: int | None, held_out: float, seed: int, share: Share
) -> Pairs:
    x, y = (_tensor(side, name) for side, name in zip(data, "xy", strict=True))
    if len(x) != len(y):
        raise ValueError(f"x has {len(x)} rows and y {len(y)}; pass rows that belong together")
    count = _counted(len(x), held_out)
    order = torch.randperm(len(x), generator=stream("held-out pairs", seed), device="cpu")
    apart, rest = order[:count], order[count:]
    size = min(_size(batch, count), len(rest))
    if size < 2:
        raise ValueError(f"{len(x)} pairs leave {len(rest)} to train on; pass at least 4 pairs")

    def epoch(number: int) -> Iterator[Batch]:
        drawn = stream("batches of pairs", seed, number)
        shuffled = rest[torch.randperm(len(rest), generator=drawn, device="cpu")]
        for part in shuffled.split(size):
            if len(part) == size:
                own = part[share(size)]
                yield x[own], y[own]

    return Pairs(epoch, _equal((x[part], y[part]) for part in apart.split(size)))


def _tensor(values: Any, name: str) -> Tensor:
    """Rows as a tensor; one column where there is one dimension."""
    values = values.to_numpy() if hasattr(values, "to_numpy") else values
    try:
        tensor = _made_here(np.asarray(values) if isinstance(values, list) else values)
    except (TypeError, ValueError):
        raise ValueError(f"{name} cannot be read as numbers; encode it first") from None
    tensor = tensor.detach().cpu()
    if not torch.isfinite(tensor).all():
        raise ValueError(f"{name} contains NaN or inf; drop or fill these rows first")
    return tensor[:, None] if tensor.ndim == 1 else tensor


@dataclass(frozen=True)
class _Shuffled:
    """Indices of full batches in random order, of each batch a share."""

    data: Dataset
    size: int
    share: Share

    def __iter__(self) -> Iterator[list[int]]:
        for drawn in BatchSampler(RandomSampler(self.data), self.size, drop_last=True):
            yield drawn[self.share(self.size)]

    def __len__(self) -> int:
        return len(self.data) // self.size


def _like(loader: DataLoader, part: Dataset, share: Share | None) -> DataLoader:
    """The same loader on a part of its data, shuffled where a share is trained on."""
    size = loader.batch_size
    if size is None:
        raise ValueError("the DataLoader has no batch_size; pass its batches as an iterable")
    order = {"batch_size": size, "drop_last": True}
    if share is not None:
        order = {"batch_sampler": _Shuffled(part, size, share)}
    return DataLoader(
        part,
        num_workers=loader.num_workers,
        collate_fn=loader.collate_fn,
        pin_memory=loader.pin_memory,
        **order,
    )


def _split_dataset(dataset: Any, make: Callable, held_out: float, seed: int, share: Share) -> Pairs:
    n = len(dataset)
    if n < 4:
        raise ValueError(f"the data set has {n} pairs; pass at least 4")
    count = _counted(n, held_out)
    order = torch.randperm(n, generator=stream("held-out pairs", seed), device="cpu").tolist()
    apart = _equal(map(as_batch, make(Subset(dataset, order[:count]), None))) if count else []
    training = make(Subset(dataset, sorted(order[count:])), share)
    return Pairs(lambda number: map(as_batch, training), apart)


def _split_iterable(data: Iterable, held_out: float, share: Share) -> Pairs:
    """The first batches are set aside, and skipped in every epoch."""
    once = iter(data)
    one_shot = once is data
    apart, taken = [], 0
    while taken < held_out:
        found = next(once, None)
        if found is None:
            raise ValueError(
                f"the data ended after {taken} pairs, before {held_out} could be held out; pass a "
                "smaller held_out, or data that are not used up or empty"
            )
        apart.append(as_batch(found))
        taken += length(apart[-1][0])

    def epoch(number: int) -> Iterator[Batch]:
        again = once if one_shot else iter(data)
        for place, found in enumerate(again):
            if one_shot or place >= len(apart):
                x, y = as_batch(found)
                part = share(length(x))
                yield part_of(x, part), part_of(y, part)

    return Pairs(epoch, _equal(apart))


def as_batch(found: Any) -> Batch:
    """A pair of sides of one length, or a ValueError that says what came instead."""
    if not isinstance(found, tuple | list) or len(found) != 2:
        what = f"{len(found)} parts" if isinstance(found, tuple | list) else type(found).__name__
        raise ValueError(
            f"the data gave a batch of {what}; each batch must be a pair (x, y): map yours to that"
        )
    x, y = (_side(part) for part in found)
    if length(x) != length(y):
        raise ValueError(
            f"a batch has {length(x)} x's and {length(y)} y's; row i of both must belong together"
        )
    return x, y


def _side(part: Any) -> Side:
    if isinstance(part, Mapping) and part:
        return {key: _made_here(value) for key, value in part.items()}
    if not isinstance(part, Tensor | np.ndarray) or part.ndim == 0:
        raise ValueError(
            f"a side of a batch is a {type(part).__name__}; pass a tensor or array whose first "
            "dimension counts the pairs, or a mapping of them"
        )
    return _made_here(part)


def _made_here(values: Any) -> Tensor:
    """A tensor as it is, anything else as one in main memory, whatever the default device is."""
    return values if isinstance(values, Tensor) else torch.as_tensor(values, device="cpu")


def _equal(batches: Iterable[Batch]) -> list[Batch]:
    """The batches that are as large as the first, of at least two pairs: K must be one number."""
    kept = [batch for batch in batches if length(batch[0]) >= 2]
    return [batch for batch in kept if length(batch[0]) == length(kept[0][0])]
