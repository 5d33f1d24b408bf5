r"""One batch on several processes: embeddings, batch norm and gradients as if it were one process.

Each rank holds a part of the batch, gathers the embeddings of all, and computes the whole loss. By
autograd through `gather` a rank gets the derivative of the *sum* over ranks of their (equal)
losses, so the gradient of the loss is the *mean* over ranks: `average_gradients`. With one process
every function here does nothing.
"""

import tempfile
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn

from mi_lib.validate import whole_number

PATIENCE = timedelta(hours=1)  # the other ranks wait while rank 0 probes


def rank_and_ranks() -> tuple[int, int]:
    """The place of this process and the number of processes: (0, 1) where there is one."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


class _Gather(torch.autograd.Function):
    """All parts in the order of the ranks; backward sums what every rank did with this part."""

    @staticmethod
    def forward(ctx, part):
        ctx.rank, ranks = rank_and_ranks()
        parts = [torch.empty_like(part) for _ in range(ranks)]
        dist.all_gather(parts, part.contiguous())
        ctx.size = len(part)
        return torch.cat(parts)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.contiguous().clone()
        dist.all_reduce(gradient)
        return gradient[ctx.rank * ctx.size : (ctx.rank + 1) * ctx.size]


def gather(part: Float[Tensor, "b ..."]) -> Float[Tensor, "all ..."]:
    """The parts of all ranks, one after the other, with gradients to each."""
    return part if rank_and_ranks()[1] == 1 else _Gather.apply(part)


def average_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Replace each gradient by its mean over the ranks."""
    ranks = rank_and_ranks()[1]
    if ranks == 1:
        return
    for parameter in parameters:
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad)
            parameter.grad /= ranks


class SharedBatchNorm(nn.BatchNorm2d):
    """Batch norm over the pictures of all ranks; with one process, `torch.nn.BatchNorm2d`.

    Unlike `torch.nn.SyncBatchNorm` it also runs on a CPU, and so can be tested there. Every rank
    must hold equally many pictures.
    """

    def forward(self, x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c h w"]:
        ranks = rank_and_ranks()[1]
        if not self.training or ranks == 1:
            return super().forward(x)
        wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        mean = gather(wide.mean((0, 2, 3))[None]).mean(0)
        centred = wide - mean[:, None, None]
        variance = gather(centred.square().mean((0, 2, 3))[None]).mean(0)
        with torch.no_grad():
            count = ranks * x.numel() / x.shape[1]
            self.running_mean.lerp_(mean.to(self.running_mean), self.momentum)
            unbiased = variance * (count / (count - 1))
            self.running_var.lerp_(unbiased.to(self.running_var), self.momentum)
            self.num_batches_tracked += 1
        scale = self.weight * torch.rsqrt(variance + self.eps)
        return (centred * scale[:, None, None] + self.bias[:, None, None]).to(x.dtype)


def on_ranks(ranks: int, device: str, work: Callable[..., Any], *arguments: Any) -> Any:
    """What rank 0 returns of ``work(*arguments)``, run by ``ranks`` processes at once.

    On ``cuda`` rank i uses device i, by NCCL; elsewhere the ranks talk by gloo.
    """
    if whole_number(ranks, "ranks", 1) == 1:
        return work(*arguments)
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(_rank, (ranks, device, folder, work, arguments), ranks)
        return torch.load(Path(folder) / "result.pt", weights_only=False)


def _rank(
    rank: int, ranks: int, device: str, folder: str, work: Callable[..., Any], arguments: tuple
) -> None:
    cuda = device.startswith("cuda")
    if cuda:
        torch.cuda.set_device(rank)
    else:
        torch.set_num_threads(1)
    address = (Path(folder) / "meeting").as_uri()
    backend = "nccl" if cuda else "gloo"
    dist.init_process_group(backend, address, PATIENCE, ranks, rank)
    try:
        result = work(*arguments)
        if rank == 0:
            torch.save(result, Path(folder) / "result.pt")
        dist.barrier()
    finally:
        dist.destroy_process_group()
