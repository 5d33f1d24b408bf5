r"""What the cube of the Gaussian task does to means of r, as stored critics show it (ours).

Under q0 X and Y are independent. Let :math:`Y = Z^3` with Z Gaussian. Where a score grows along
some directions of y, as that of a ReLU critic does, :math:`\mathbb{E}_{q_0}[e^c]` is infinite: its
logarithm on a sample grows with the sample, and no sample is large enough. The claim on stored
critics of the cubed task was written down after their tables had been seen, that on runs without
the cube before any of them.
"""

from ..experiments.staircase_tables import MORE, at_level, plateaus, rmse_by_seed, stored
from ..results import Interval, Stored, interval, paired
from .experimental import when_complete, worse
from .registry import Part, claim, extreme

LEVELS = (4.0, 6.0, 8.0, 10.0)  # bits
DIVERGES = 10.0  # bits of RMSE: as much as there is
NUS = (("nu = 1", "anchor"), ("nu = K", "anchor:nu=k"))


def _growth(table: Stored, training: str, truth: float) -> dict[int, float]:
    """By seed: the scale on large fresh batches minus that on batches of the training size."""
    large, small = (
        at_level(plateaus(table, record), f"{training}/scale", truth)
        for record in ("large", "held-out")
    )
    return {seed: large[seed] - small[seed] for seed in large}


def _less(name: str, one: Stored, other: Stored) -> Part:
    """In the other table the scale grows less from small batches to large ones."""
    gains = [
        (f"{title}, {truth:g} bits", paired(*(_growth(t, training, truth) for t in (one, other))))
        for title, training in NUS
        for truth in LEVELS
    ]
    return worse(name, gains)


@claim(
    "scale-grows-with-the-sample",
    item="The scale on cubed data grows with the sample (ours)",
    statement="On the Gaussian staircase the mean of r over negatives is larger on fresh batches "
    "of 1,024 pairs than on batches of 64, at every level from 4 bits on, at nu = 1 and at nu = K; "
    "with layer normalisation it grows less, at each of these levels.",
    page="experiments/staircase",
    recorded="partly",
    twin={"flipped": True},
    twin_says="the opposite",
)
def scale_grows(flipped: bool = False) -> list[Part]:
    """Paired over seeds: between batch sizes, and with and without layer normalisation."""
    plain, normed = (stored("gaussian", f"paper-{name}") for name in ("b64", "normalise-b64"))

    def growth(training: str, truth: float) -> Interval:
        return interval([*_growth(plain, training, truth).values()])

    def check() -> list[Part]:
        parts = [
            worse(
                f"{title}: log2 of the mean of r, 1,024 pairs minus 64",
                [(f"{truth:g} bits", growth(training, truth)) for truth in LEVELS],
            )
            for title, training in NUS
        ]
        return [*parts, _less("layer normalisation: how much less it grows", plain, normed)]

    return when_complete([(t.name, t) for t in (plain, normed)], check, flipped)


@claim(
    "without-the-cube",
    item="The Gaussian task without the cube (ours)",
    statement="Without the cube, at the same settings, NWJ, its plug-in and the bound of JS do not "
    "diverge: their RMSE is below 10 bits in every seed. The mean of r over negatives grows less "
    "from 64 to 1,024 pairs than with it, at every level from 4 bits on, at nu = 1 and at nu = K.",
    page="experiments/gaussian",
    recorded="partly",
    twin={"flipped": True},
    twin_says="the opposite",
)
def without_the_cube(flipped: bool = False) -> list[Part]:
    """On training batches; growth paired over the seeds of both tables."""
    cubed, plain = stored("gaussian", "paper-b64"), stored(MORE, "paper-plain-b64")

    def check() -> list[Part]:
        frame = plateaus(plain)
        errors = [
            (DIVERGES - error, f"{name}, seed {seed}")
            for name in ("NWJ", "NWJ plug-in", "JS")
            for seed, error in rmse_by_seed(frame, name).items()
        ]
        return [
            extreme("10 bits minus RMSE", "strict", errors, 0.0),
            _less("without the cube: how much less the scale grows", cubed, plain),
        ]

    return when_complete([(t.name, t) for t in (cubed, plain)], check, flipped)
