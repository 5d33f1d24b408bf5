"""`fit_critic` beside the engine of the staircases, on the plain Gaussian task.

    python benchmarks/fit_against_engine.py        # about five minutes; prints the table

Both train the same critic (separable, 512 x 2, 16 outputs) from the same start with Adam at 1e-4,
4,000 steps of 64 fresh pairs, InfoNCE-anchor at nu = 1, contrast x, cold start. Four seeds; plug-in
on 8 fresh batches of 1,024 pairs.
"""

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
    """Plug-in of each seed, trained as a stack."""
    settings = Settings(("anchor",), (bits,), STEPS, BATCH, warm=False)
    run = Run(task, SEEDS, settings, "cpu")
    for _ in run.iterate():
        pass
    return run.fresh[0][1, 0, :, COLUMNS.index("plug-in")]


def by_fit(task, bits, seed):
    """Plug-in of one seed by `fit_critic`."""
    apart = [b for b, _ in zip(Stream(task, bits, 1024, "fresh", seed), range(8), strict=False)]
    fit = fit_critic(
        Separable(task.x_dim, task.y_dim, seeds=(seed,)),
        Stream(task, bits, BATCH, "fit", seed),
        loss=InfoNCEAnchor(nu=1.0, contrast="x"),
        steps=STEPS,
        rate=1e-4,
        held_out=apart,
        patience=None,
        average=None,
        every=STEPS,
        device="cpu",
        seed=seed,
    )
    return fit.plug_in_


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
