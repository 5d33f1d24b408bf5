"""Speed of the training engine, as ratios within one run.

    python benchmarks/engine.py | tee benchmarks/engine.txt

1. On one core: a stack of seeds against a plain loop over seeds, with default and with fused Adam,
   separable critic of the paper's size; and what products and Adam alone would take, as one stack
   and one seed after another, whose weights stay in the cache.
2. On all cores, as people run it: the workers of a sweep, one stack each, against the same plain
   loop with the threads that torch takes by itself.
3. Batches from one table in memory against loaders that make one sample at a time.
4. The split first layer of the joint critic against the tiled one, on inputs of the text task.
"""

import datetime
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from companion.data import Channel, Gaussian, Source
from companion.data.images import Grid
from companion.training import Run, Settings, keep_large_buffers
from companion.workers import local_workers
from mi_lib import objectives
from mi_lib.critics import Joint

REPEATS, SEEDS = 5, 8
SIZES = ((16, 100), (64, 40))  # batch sizes, and steps that are timed at once
WORKERS = max(n for n in (1, 2, 4, 8) if n <= (os.cpu_count() or 1))  # each trains equally many


def seconds(work: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def medians(*works: Callable[[], object]) -> list[float]:
    """Median seconds of each, over interleaved runs, after one warm-up."""
    for work in works:
        work()
    rows = [[seconds(work) for work in works] for _ in range(REPEATS)]
    return [statistics.median(column) for column in zip(*rows, strict=True)]


class PlainSeparable(nn.Module):
    """Two ordinary MLPs, one critic, as most code writes it."""

    def __init__(self, dim: int, hidden: int = 512, embedding: int = 16):
        super().__init__()
        self.f, self.g = (
            nn.Sequential(
                nn.Linear(dim, hidden),
                nn.ReLU(),
                nn.Linear(hidden, hidden),
                nn.ReLU(),
                nn.Linear(hidden, embedding),
            )
            for _ in range(2)
        )

    def forward(self, x, y):
        return self.f(x) @ self.g(y).mT


def plain_loop(batch: int, steps: int, fused: bool) -> Callable[[], None]:
    """Train SEEDS critics one after another."""
    critics = [PlainSeparable(10) for _ in range(SEEDS)]
    adams = [torch.optim.Adam(c.parameters(), 1e-4, fused=fused or None) for c in critics]
    streams = [torch.Generator().manual_seed(s) for s in range(SEEDS)]
    task = Gaussian(10, "cubic")

    def work() -> None:
        for critic, adam, stream in zip(critics, adams, streams, strict=True):
            for _ in range(steps):
                x, y = task.draw(4.0, batch, [stream])
                loss = objectives.anchor(critic(x[0], y[0]))
                adam.zero_grad()
                loss.backward()
                adam.step()

    return work


def stacked(batch: int, steps: int, seeds: int = SEEDS) -> Callable[[], None]:
    """Train them as one stack with the engine."""
    settings = Settings(("anchor",), (4.0,), steps=10**6, batch=batch, every=100, block=100)
    run = Run(Gaussian(10, "cubic"), range(seeds), settings, "cpu")

    def work() -> None:
        for _ in range(steps):
            run.advance()

    return work


_kept: dict[tuple[int, int, int], Callable[[], None]] = {}  # a worker's own stacks


def advance_stack(*which: int) -> None:
    """In a worker: train its stack of (batch, steps, seeds), made at the first call."""
    if which not in _kept:
        _kept[which] = stacked(*which)
    _kept[which]()


def all_cores() -> None:
    """The plain loop with torch's own threads against processes with one thread each."""
    with ExitStack() as stack:
        workers = [stack.enter_context(local_workers(1)) for _ in range(WORKERS)]
        for batch, steps in SIZES:
            which = (batch, steps, SEEDS // WORKERS)

            def as_a_sweep(which=which) -> None:
                futures = [worker.submit(advance_stack, *which) for worker in workers]
                for future in futures:
                    future.result()

            default, fused, ours = medians(
                plain_loop(batch, steps, False), plain_loop(batch, steps, True), as_a_sweep
            )
            print(
                f"B = {batch:3}, {SEEDS} seeds  {default / ours:8.2f} x a plain loop, "
                f"{fused / ours:.2f} x with fused Adam"
            )


def floor(batch: int, steps: int, seeds: int) -> Callable[[], None]:
    """The products of a step (forward and backward) and one fused Adam, and nothing else."""
    shapes = [(10, 512), (512, 512), (512, 16)]
    inputs = [torch.randn(2 * seeds, batch, a) for a, _ in shapes]
    grads = [torch.randn(2 * seeds, batch, b) for _, b in shapes]
    weights = [nn.Parameter(torch.randn(2 * seeds, a, b)) for a, b in shapes]
    for weight in weights:
        weight.grad = torch.randn_like(weight)
    adam = torch.optim.Adam(weights, 1e-4, fused=True)

    def work() -> None:
        with torch.no_grad():
            for _ in range(steps):
                for n, (x, g, w) in enumerate(zip(inputs, grads, weights, strict=True)):
                    torch.bmm(x, w)
                    torch.bmm(x.mT, g)
                    if n:
                        torch.bmm(g, w.mT)
                adam.step()

    return work


def text_samples(folder: Path, slots: int, batch: int) -> Callable[[], torch.Tensor]:
    """A loader as the benchmark's: each review is a file of its own, read when it is shown."""
    chooser = np.random.default_rng(0)

    def sample() -> torch.Tensor:
        names = [f"{c}-{chooser.integers(500)}.npy" for c in chooser.integers(2, size=slots)]
        return torch.cat([torch.from_numpy(np.load(folder / name)) for name in names])

    return lambda: [torch.stack([sample() for _ in range(batch)]) for _ in "xy"]


def image_samples(digits: torch.Tensor, batch: int) -> Callable[[], torch.Tensor]:
    """A loader as the benchmark's: digits are copied to a canvas one by one, then it is resized."""
    chooser = np.random.default_rng(0)

    def sample() -> torch.Tensor:
        canvas = torch.empty(1, 1, 56, 140)
        for row in range(2):
            for column in range(5):
                digit = digits[chooser.integers(len(digits))].float().view(28, 28) / 255
                canvas[0, 0, row * 28 : row * 28 + 28, column * 28 : column * 28 + 28] = digit
        resized = F.interpolate(canvas, (64, 64), mode="bicubic", antialias=True)
        return resized.clamp(0, 1).flatten()

    return lambda: [torch.stack([sample() for _ in range(batch)]) for _ in "xy"]


def ten(batch: Callable[[], object]) -> Callable[[], None]:
    """Ten batches one after another, as a loader delivers them."""

    def work() -> None:
        for _ in range(10):
            batch()

    return work


def loaders() -> None:
    """Batches of 64 pairs with ten slots: 768 numbers a review, 28 x 28 pixels a digit."""
    stream, labels = [torch.Generator().manual_seed(0)], torch.arange(1000) >= 500
    with tempfile.TemporaryDirectory() as name:
        rows = np.random.default_rng(0).normal(size=(1000, 768)).astype(np.float32)
        for n, row in enumerate(rows):
            np.save(Path(name) / f"{n // 500}-{n % 500}.npy", row)
        task = Channel(Source(torch.from_numpy(rows), labels))
        samples = text_samples(Path(name), 10, 64)
        slow, fast = medians(ten(samples), ten(lambda: task.draw(4.0, 64, stream)))
    print(f"batches of text   {slow / fast:8.1f} x a file a review")
    digits = (torch.rand(1000, 784) * 255).to(torch.uint8)
    pictures = Channel(Source(digits, labels, Grid(28)))
    samples = image_samples(digits, 64)
    slow, fast = medians(ten(samples), ten(lambda: pictures.draw(4.0, 64, stream)))
    print(f"batches of images {slow / fast:8.1f} x a canvas a picture")


def joint_layer() -> None:
    """First layer on all pairs: W_x x + W_y y broadcast, against W [x; y] tiled."""
    dim, batch, hidden = 7680, 64, 512
    x, y = torch.randn(1, batch, dim), torch.randn(1, batch, dim)
    critic, layer = Joint(dim, dim, hidden=hidden), nn.Linear(2 * dim, hidden)

    def split() -> None:
        of_x, of_y = x @ critic.first_x, torch.baddbmm(critic.bias, y, critic.first_y)
        (of_x[:, :, None] + of_y[:, None]).sum().backward()

    def tiled() -> None:
        pairs = torch.cat([x[0].repeat_interleave(batch, 0), y[0].repeat(batch, 1)], 1)
        layer(pairs).sum().backward()

    slow, fast = medians(tiled, split)
    print(f"joint first layer {slow / fast:8.1f} x the tiled one, 2 x {dim} inputs")


def main() -> None:
    """Print where and when this is, then the ratios."""
    keep_large_buffers()
    print(
        f"{datetime.date.today()}, {platform.system()} {platform.machine()} "
        f"({torch.backends.cpu.get_cpu_capability()}), torch {torch.__version__},\n"
        f"medians of {REPEATS} interleaved runs"
    )
    print(
        f"\n{WORKERS} processes with one thread, against {torch.get_num_threads()} thread(s) of one"
    )
    all_cores()
    torch.set_num_threads(1)
    print("\none process with one thread, against the same")
    for batch, steps in SIZES:
        default, fused, ours, floor_of_all, floor_of_one = medians(
            plain_loop(batch, steps, False),
            plain_loop(batch, steps, True),
            stacked(batch, steps),
            floor(batch, steps, SEEDS),
            floor(batch, SEEDS * steps, 1),
        )
        print(
            f"B = {batch:3}, {SEEDS} seeds  {default / ours:8.2f} x a plain loop, "
            f"{fused / ours:.2f} x with fused Adam\n"
            f"    products and Adam {default / floor_of_all:8.2f} x as one stack, "
            f"{floor_of_all / ours:.0%} of our step\n"
            f"                      {default / floor_of_one:8.2f} x one seed after another"
        )
    loaders()
    joint_layer()


if __name__ == "__main__":
    main()
