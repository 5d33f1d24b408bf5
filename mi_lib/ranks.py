"""Several processes, one batch: parts gathered with exact gradients, and gradients averaged.

Each rank of `torch.distributed`'s default group holds a part of the batch. By autograd through
`gather` a rank gets the derivative of the *sum* of all ranks' losses, so the gradient of their mean
is the *mean* of the gradients over ranks: what `DistributedDataParallel` takes, and `average`. With
one process every function here does nothing.
"""

from collections.abc import Iterable, Sequence

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn


def rank_and_ranks() -> tuple[int, int]:
    """The place of this process and the number of processes: (0, 1) where there is one."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


class _Gather(torch.autograd.Function):
    """All parts in the order of the ranks; backward sums what every rank did with this part."""

    @staticmethod
    def forward(ctx, part):
        ctx.size = len(part)
        parts = [torch.empty_like(part) for _ in range(rank_and_ranks()[1])]
        dist.all_gather(parts, part)
        return torch.cat(parts)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        gradient = gradient.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(gradient)
        return gradient.split(ctx.size)[rank_and_ranks()[0]]


def gather(part: Float[Tensor, "b ..."]) -> Float[Tensor, "all ..."]:
    """The equally long parts of all ranks, this one's first, then cyclically; with gradients.

    The own part first puts the positives of this rank's rows on the diagonal.
    """
    rank, ranks = rank_and_ranks()
    if ranks == 1:
        return part
    return _Gather.apply(part.contiguous()).roll(-rank * len(part), 0)


def mean_value(own: Tensor) -> Tensor:
    """The mean of a value over ranks, with the gradient of this rank's."""
    ranks = rank_and_ranks()[1]
    if ranks == 1:
        return own
    mean = own.detach().clone()
    dist.all_reduce(mean)
    return own + (mean / ranks - own.detach())


def average(values: Iterable[Tensor]) -> None:
    """Replace each value by its mean over ranks, all in one message."""
    ranks, values = rank_and_ranks()[1], list(values)
    if ranks == 1 or not values:
        return
    whole = torch.cat([value.detach().flatten() for value in values])
    dist.all_reduce(whole)
    for value, part in zip(values, whole.split([v.numel() for v in values]), strict=True):
        value.detach().copy_(part.view_as(value) / ranks)


def start_equal(*modules: nn.Module) -> None:
    """Give every rank the weights and buffers of the first."""
    if rank_and_ranks()[1] > 1:
        for module in modules:
            for value in (*module.parameters(), *module.buffers()):
                dist.broadcast(value.detach(), 0)


def agree(device: torch.device, numbers: Sequence[float], sentence: str) -> None:
    """Refuse, on every rank alike, numbers that are not the same on all.

    ``sentence`` says what to do; ``{}`` in it is filled with what the ranks hold.
    """
    ranks = rank_and_ranks()[1]
    if ranks == 1:
        return
    whole = torch.float32 if device.type == "mps" else torch.float64
    own = torch.tensor(list(numbers), dtype=whole, device=device)
    parts = [torch.empty_like(own) for _ in range(ranks)]
    dist.all_gather(parts, own)
    held = torch.stack(parts).tolist()
    if any(part != held[0] for part in held):
        raise ValueError(sentence.format("; ".join(" x ".join(f"{v:g}" for v in p) for p in held)))
