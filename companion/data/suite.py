"""The suite of tasks with known mutual information, and its two halves.

The halves were fixed, by family, before the first design choice of `mi_lib.inference`.
``development`` tasks may be looked at while an estimator is being designed; ``held-back`` tasks may
not. The five families of the first trials, which were looked at before the split, are in the
development half, and so is one kind of independent data. A task never changes sides.

Two things a reader should know. Cubic, half-cube, cdf, sparse and dense tasks are all Gaussian
copulas: a method that ranks each coordinate sees the same kind of data in all of them. The asinh
tasks are Student copulas. The held-back half has three families without a relative among the
development tasks: additive and bimodal, discrete, circle.
"""

import math

import numpy as np

from mi_lib.validate import one_of

from .discrete import Independent, InflatedPoisson, Staggered, symmetric_channel, uneven_table
from .elliptical import Elliptical, dense, sparse
from .known_task import Distribution, KnownTask
from .one_dimensional import Bimodal, Circle, UniformNoise

N = 5_000  # pairs in one data set of the suite

DEVELOPMENT = (
    "gaussian-dense",
    "half-cube",
    "spiral",
    "swiss-roll",
    "student",
    "independent-gaussian",
)
HELD_BACK = (
    "gaussian-sparse",
    "cubic",
    "cdf",
    "asinh",
    "additive",
    "bimodal",
    "circle",
    "discrete",
    "independent-mixed",
)
HALVES = {"development": DEVELOPMENT, "held-back": HELD_BACK}


def _gaussian(n, rng, dim):
    return rng.standard_normal((n, dim))


def _paired(dim: int, bits: float) -> np.ndarray:
    """Equal correlation in each of ``dim`` coordinates, ``bits`` in all."""
    return sparse(dim, dim, math.sqrt(1 - 2 ** (-2 * bits / dim)))


def _distributions() -> list[tuple[str, str, Distribution]]:
    one = np.eye
    return [
        *[(f"dense {d}x{d}", "gaussian-dense", Elliptical(dense(d, 0.5))) for d in (2, 10, 25, 50)],
        *[
            (
                f"half-cube, sparse {d}x{d}",
                "half-cube",
                Elliptical(sparse(d, 2, 0.8), map_x="half-cube", map_y="half-cube"),
            )
            for d in (3, 25)
        ],
        *[
            (
                f"spiral, sparse {d}x{d}",
                "spiral",
                Elliptical(sparse(d, 2, 0.8), map_x="spiral", map_y="spiral"),
            )
            for d in (3, 5, 25)
        ],
        ("Swiss roll 2x1", "swiss-roll", Elliptical(sparse(1, 1, 0.75), map_x="swiss-roll")),
        ("Student 2x2, nu 1", "student", Elliptical(one(4), 1)),
        ("Student 5x5, nu 3", "student", Elliptical(one(10), 3)),
        ("Student 3x3, nu 2, sparse", "student", Elliptical(sparse(3, 2, 0.8), 2)),
        (
            "independent 1x1",
            "independent-gaussian",
            Independent(lambda n, r: _gaussian(n, r, 1), lambda n, r: _gaussian(n, r, 1)),
        ),
        (
            "independent 10x10",
            "independent-gaussian",
            Independent(lambda n, r: _gaussian(n, r, 10), lambda n, r: _gaussian(n, r, 10)),
        ),
        ("sparse 5x5", "gaussian-sparse", Elliptical(sparse(5, 2, 0.8))),
        ("sparse 25x25", "gaussian-sparse", Elliptical(sparse(25, 10, 0.5))),
        ("sparse 50x50", "gaussian-sparse", Elliptical(sparse(50, 2, 0.8))),
        ("cubic 10x10, 2 bits", "cubic", Elliptical(_paired(10, 2), map_y="cubic")),
        ("cubic 10x10, 4 bits", "cubic", Elliptical(_paired(10, 4), map_y="cubic")),
        ("cdf 1x1", "cdf", Elliptical(sparse(1, 1, 0.75), map_x="cdf", map_y="cdf")),
        ("cdf, dense 5x5", "cdf", Elliptical(dense(5, 0.5), map_x="cdf", map_y="cdf")),
        ("asinh, Student 1x1, nu 1", "asinh", Elliptical(one(2), 1, "asinh", "asinh")),
        ("asinh, Student 4x4, nu 2", "asinh", Elliptical(sparse(4, 1, 0.6), 2, "asinh", "asinh")),
        ("additive, width 0.1", "additive", UniformNoise(0.1)),
        ("additive, width 0.75", "additive", UniformNoise(0.75)),
        ("bimodal, noise 0.3", "bimodal", Bimodal(0.3, 0.3)),
        ("bimodal, noise 1", "bimodal", Bimodal(0.1, 1.0)),
        ("circle, noise 0.1", "circle", Circle(0.1)),
        ("circle, noise 0.3", "circle", Circle(0.3)),
        ("channel of 8 letters", "discrete", symmetric_channel(8, 0.2)),
        ("uneven table 5x4", "discrete", uneven_table()),
        ("staggered, 5 letters", "discrete", Staggered(5)),
        ("inflated Poisson", "discrete", InflatedPoisson(0.15)),
        (
            "independent, heavy tails 5x5",
            "independent-mixed",
            Independent(
                lambda n, r: r.standard_t(2, (n, 5)), lambda n, r: r.standard_t(1, (n, 5)) ** 3
            ),
        ),
        (
            "independent, letters and numbers",
            "independent-mixed",
            Independent(
                lambda n, r: np.array(list("abcdefgh"))[r.integers(0, 8, n)],
                lambda n, r: np.exp(3 * _gaussian(n, r, 2)),
            ),
        ),
    ]


def tasks(half: str | None = None) -> tuple[KnownTask, ...]:
    """The tasks of one half, or of both."""
    if half is not None:
        one_of("half", half, HALVES)
    side = {family: name for name, families in HALVES.items() for family in families}
    known = (
        KnownTask(name, family, side[family], joint) for name, family, joint in _distributions()
    )
    return tuple(task for task in known if half in (None, task.half))


def task(name: str) -> KnownTask:
    """The task of that name."""
    known = {task.name: task for task in tasks()}
    return known[one_of("task", name, known)]
