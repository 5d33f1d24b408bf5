"""Claims of ours on the ablations of the Gaussian staircase: what nu and K do to the ratio, and to
the plug-in. Both were written down after the tables had been seen."""

from itertools import pairwise

from ..experiments.staircase_compare import ablation_of
from ..experiments.staircase_tables import plateaus, rmse_factor, select
from ..results import Stored, interval, paired
from .experimental import when_complete, worse
from .registry import Part, claim

NUS = ("0.1", "1", "10", "100", "1000")  # as the trainings are named
UPPER = (8.0, 10.0)  # bits


def _scales(table: Stored, training: str) -> dict[int, float]:
    """By seed: log2 of the mean of r over fresh negatives, the mean over levels."""
    rows = select(plateaus(table, "large"), f"{training}/scale")
    return rows.groupby("seed")["value"].mean().to_dict()


def _errors(table: Stored, training: str, truth: float) -> list[float]:
    """Of each seed the error of the plug-in on training batches at one level."""
    rows = select(plateaus(table), f"{training}/plug-in")
    return (rows["value"] - rows["truth"])[rows["truth"] == truth].tolist()


@claim(
    "nu-holds-the-scale",
    item="What nu does (ours)",
    statement="On the Gaussian staircase each tenfold stronger anchor from nu = 0.1 to 1000 lowers "
    "the mean of r over fresh negatives, while the error of the plug-in at 8 and 10 bits goes "
    "through zero: positive at nu = 0.1, negative at nu = 1000.",
    page="experiments/gaussian",
    recorded="partly",
    twin={"flipped": True},
    twin_says="the opposite",
    experiment=True,
)
def nu_holds_the_scale(flipped: bool = False) -> list[Part]:
    """Paired over seeds between neighbouring values of nu."""
    table = ablation_of("nu")

    def check() -> list[Part]:
        scales = {nu: _scales(table, f"anchor:nu={nu}") for nu in NUS}
        steps = [(f"nu={a} to {b}", paired(scales[a], scales[b])) for a, b in pairwise(NUS)]
        over, under = (
            [
                (f"{truth:g} bits", interval([sign * e for e in _errors(table, name, truth)]))
                for truth in UPPER
            ]
            for sign, name in ((1, "anchor:nu=0.1"), (-1, "anchor:nu=1000"))
        )
        return [
            worse("a stronger anchor lowers the scale", steps),
            worse("nu = 0.1: plug-in minus truth is positive", over),
            worse("nu = 1000: truth minus plug-in is positive", under),
        ]

    return when_complete([("ablations laptop-nu", table)], check, flipped)


@claim(
    "k-at-fixed-nu",
    item="What K does at nu = 1 (ours)",
    statement="On the Gaussian staircase with nu = 1 the largest K gives neither the best ratio "
    "nor the best plug-in: K = 63 has a larger mean of r over fresh negatives than K = 8, and a "
    "larger RMSE than K = 32.",
    page="experiments/gaussian",
    recorded="reproduced",
    twin={"flipped": True},
    twin_says="the opposite",
    experiment=True,
)
def k_at_fixed_nu(flipped: bool = False) -> list[Part]:
    """Paired over seeds."""
    table = ablation_of("k")

    def check() -> list[Part]:
        gap = paired(_scales(table, "anchor:k=63"), _scales(table, "anchor:k=8"))
        factor = rmse_factor(plateaus(table), "anchor:k=63/plug-in", "anchor:k=32/plug-in")
        return [
            worse("K = 63 has the larger scale", [("K = 8", gap)]),
            worse("K = 63 has the larger RMSE", [("K = 32", factor)]),
        ]

    return when_complete([("ablations laptop-k", table)], check, flipped)
