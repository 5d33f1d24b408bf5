"""`fit_critic` beside the engine of the staircases, on the plain Gaussian task.

    python benchmarks/fit_against_engine.py        # about five minutes; prints a table

Both train the same critic (separable, 512 x 2, 16 outputs) from the same start on the same stream:
Adam at 1e-4, 4,000 steps of 64 fresh pairs, InfoNCE-anchor at nu = 1, contrast x, cold start. Four
seeds; what is compared is the mean plug-in on fresh batches over the last 1,000 steps, since one
final critic spreads by a third of a bit.
"""

import math

import numpy as np
import torch

from companion.data import make_task
from companion.evaluation import COLUMNS
from companion.training import Run, Settings
from mi_lib import InfoNCEAnchor, Separable, fit_critic
from mi_lib.streams import stream

SEEDS, LEVELS, STEPS, BATCH = (0, 1, 2, 3), (2.0, 6.0), 4000, 64


class Stream:
    """Endless fresh batches of the task at one level."""

    def __init__(self, task, bits, batch, *name):
        self.task, self.bits, self.batch, self.name = task, bits, batch, name

    def __iter__(self):
        generator = stream(*self.name)
        while True:
            x, y = self.task.draw(self.bits, self.batch, [generator])
            yield x[0], y[0]


def by_engine(task, bits):
    """The plateau of each seed, trained as a stack."""
    settings = Settings(("anchor",), (bits,), STEPS, BATCH, warm=False, held_out=64, large=64)
    run = Run(task, SEEDS, settings, "cpu")
    for _ in run.iterate():
        pass
    curves = np.array(run.curves)[:, 0, :, COLUMNS.index("plug-in")]
    return curves[-len(curves) // 4 :].mean(0)


def by_fit(task, bits, seed):
    """The plateau of one seed by `fit_critic`."""
    fresh, found = iter(Stream(task, bits, BATCH, "fresh", seed)), []

    def look(step, critic):
        if step > STEPS * 3 // 4:
            found.append(float(critic(*next(fresh)).diagonal().mean()) / math.log(2))

    fit_critic(
        Separable(task.x_dim, task.y_dim, seeds=(seed,)),
        Stream(task, bits, BATCH, "batches", seed),
        loss=InfoNCEAnchor(nu=1.0, contrast="x"),
        steps=STEPS,
        rate=1e-4,
        held_out=[batch for batch, _ in zip(fresh, range(2), strict=False)],
        patience=None,
        average=None,
        every=10,
        device="cpu",
        seed=seed,
        on_look=look,
    )
    return sum(found) / len(found)


def main() -> None:
    torch.set_num_threads(1)
    task = make_task("gaussian", dim=10)
    print("bits  engine (mean of 4)  fit_critic (mean of 4)  difference")
    for bits in LEVELS:
        engine = by_engine(task, bits).mean()
        fit = sum(by_fit(task, bits, seed) for seed in SEEDS) / len(SEEDS)
        print(f"{bits:4.0f}  {engine:18.3f}  {fit:22.3f}  {fit - engine:+10.3f}", flush=True)


if __name__ == "__main__":
    main()
