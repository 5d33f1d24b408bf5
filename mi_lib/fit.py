r"""`fit_critic`: train a critic of yours, or of ours, on your pairs, and read off the information.

>>> import torch
>>> from mi_lib import Separable, fit_critic
>>> x = torch.randn(2000, 1, generator=torch.Generator().manual_seed(0))
>>> y = x + torch.randn(2000, 1, generator=torch.Generator().manual_seed(1))
>>> fit = fit_critic(Separable(1, 1, hidden=32), (x, y), steps=300)
>>> 0.3 < fit.mi_ < 0.7                                        # the truth is half a bit
True
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from . import checkpoints
from .batches import pairs_of
from .critic_fit import CriticFit, TwoEncoders
from .devices import pick_device
from .losses import InfoNCEAnchor, Loss
from .streams import stream
from .training import PRECISIONS, Training
from .validate import nats_per, one_of, real_number, whole_number

SAVED_EVERY = 60.0  # seconds


def fit_critic(
    critic: nn.Module | tuple[nn.Module, nn.Module],
    data: Any,
    *,
    loss: Loss | None = None,
    steps: int = 2000,
    batch: int | None = None,
    rate: float = 1e-3,
    held_out: Any = 0.2,
    patience: int | None = 10,
    every: int = 50,
    average: float | None = 0.99,
    clip: float | None = None,
    precision: str = "float32",
    chunk: int | None = None,
    optimiser: Callable[[list[Tensor]], torch.optim.Optimizer] | None = None,
    device: str | torch.device = "auto",
    seed: int = 0,
    unit: str = "bits",
    checkpoint: str | Path | None = None,
    progress: bool | None = None,
    on_look: Callable[[int, nn.Module], None] | None = None,
) -> CriticFit:
    r"""Train a critic by a contrastive loss and evaluate it on pairs it has not seen.

    Under `torch.distributed` (``torchrun``, after ``init_process_group``) all ranks make the same
    call with the same data: each trains two encoders on its share of every batch, against the
    negatives of all shares, and all return the same numbers as one process would. Batch norm
    normalises within a share (`torch.nn.SyncBatchNorm` is there).

    Parameters
    ----------
    critic : module, or pair of encoders
        A module ``(x, y) -> scores [B, B]`` (`Separable`, `Joint`, your own), or two encoders whose
        outputs are multiplied and divided by the loss's temperature. It is trained in place.
    data : (x, y) arrays or tensors, Dataset, DataLoader, or iterable of batches
    loss : Loss, optional
        ``InfoNCEAnchor(nu="k")`` where left out.
    steps, rate : int, float
        Largest number of steps; rate of Adam.
    batch : int, optional
        Pairs a batch; a DataLoader or an iterable brings its own. Where left out, 128, or fewer so
        that the held-out pairs make eight batches.
    held_out : share in (0, 1), number of pairs, or data of its own
        Pairs that training never sees. With ``patience`` every other batch of them decides when to
        stop, and the rest is what the answer is estimated from.
    patience : int or None
        Stop after so many looks without a better held-out loss, and keep the best weights; None
        trains all steps and keeps the last.
    every : int
        Steps between two looks at the held-out loss.
    average : number in (0, 1) or None
        Weight of the past in a running mean of the weights, which is what is evaluated and kept.
    clip : number > 0 or None
        Largest norm of a gradient.
    precision : "float32", "bfloat16" or "float16"
        Of the critic's products (autocast); the loss is always computed in float32.
    chunk : int, optional
        Pairs that two encoders see at once: the gradient of the batch is then put together chunk by
        chunk, in the memory of one (`backward_in_chunks`).
    optimiser : function of the parameters, optional
        Adam where left out.
    device : "auto", "cpu", "cuda", "mps" or torch.device
    seed : int
        Decides split, batches and dropout; not the weights, which are the caller's.
    unit : "bits" or "nats"
    checkpoint : path, optional
        Where to save once a minute; the same call goes on from there, to the same result.
    progress : bool, optional
        A progress bar; where left out, on terminals only.
    on_look : function of (step, critic), optional
        Called at every look, with the weights that are evaluated in place.

    Returns
    -------
    CriticFit
    """
    for name, value in (("steps", steps), ("every", every)):
        whole_number(value, name, 1)
    if patience is not None:
        whole_number(patience, "patience", 1)
    for name, value in (("rate", rate), ("clip", 1.0 if clip is None else clip)):
        if not real_number(value, name) > 0:
            raise ValueError(f"{name}={value!r} must be > 0")
    if average is not None and not 0 < real_number(average, "average") < 1:
        raise ValueError(f"average={average!r} is outside (0, 1); None leaves it out")
    if chunk is not None:
        whole_number(chunk, "chunk", 1)
    one_of("precision", precision, PRECISIONS)
    if not isinstance(progress, bool | None):
        raise ValueError(f"progress={progress!r} is neither True nor False nor None")
    nats_per(unit)
    loss = InfoNCEAnchor(nu="k") if loss is None else loss
    if not isinstance(loss, Loss):
        raise ValueError(f"loss={loss!r} is no loss of mi_lib; pass InfoNCEAnchor(nu=...), say")
    critic = _as_critic(critic, loss, chunk)
    at = pick_device(device)
    file = None if checkpoint is None else checkpoints.writable(Path(checkpoint))
    with _own_state(at, seed):
        pairs = pairs_of(data, batch, held_out, seed)
        run = Training(critic.to(at), loss.to(at), pairs, patience, average, clip, precision, chunk)
        make = optimiser or (lambda p: torch.optim.Adam(p, rate, fused=at.type != "mps"))
        run.optimiser = make(run.weights)
        about = {"loss": repr(loss), "batch": run.size, "rate": rate, "seed": seed}
        about |= {"every": every, "average": average or 0.0, "clip": clip or 0.0}
        if file is not None and file.is_file():
            run.load(checkpoints.read(file, about, at))
        run.agree()
        file = file if run.rank == 0 else None  # one rank writes
        saved = time.monotonic()
        for step in _shown(run.batches(steps, seed), steps, progress if run.rank == 0 else False):
            if step % every == 0 or step == steps:
                run.look(on_look)
            if file is not None and time.monotonic() - saved > SAVED_EVERY:
                checkpoints.write(file, about, run.state())
                saved = time.monotonic()
            if run.patient_no_more:
                break
        if file is not None:
            checkpoints.write(file, about, run.state())
        run.finish()
    return CriticFit.of(critic, loss, run.estimated, unit, run.curve, run.step, steps)


def _as_critic(critic: Any, loss: Loss, chunk: int | None) -> nn.Module:
    if isinstance(critic, tuple | list) and len(critic) == 2:
        critic = TwoEncoders(*critic, loss.temperature, chunk)
    if not isinstance(critic, nn.Module):
        raise ValueError(
            f"critic is a {type(critic).__name__}; pass a module (x, y) -> scores, or a pair of "
            "encoder modules"
        )
    return critic


@contextmanager
def _own_state(device: torch.device, seed: int) -> Iterator[None]:
    """Gradients on, random numbers of our own; the caller's are as they were afterwards."""
    devices = [device] if device.type == "cuda" else []
    with (
        torch.random.fork_rng(devices),
        torch.inference_mode(False),
        torch.enable_grad(),
    ):
        torch.manual_seed(stream("fit", seed).initial_seed())
        yield


def _shown(done: Iterator[int], steps: int, progress: bool | None) -> Iterator[int]:
    from tqdm.std import tqdm

    off = not sys.stderr.isatty() if progress is None else not progress
    return tqdm(done, "fit_critic", steps, disable=off)
