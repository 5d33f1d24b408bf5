r"""A live run beside the stored runs of the same small profile.

Two distances are given, in standard deviations: how far the live number is from the stored mean,
and how far that of a critic that returns a constant would be. A live number must be near, a
constant must be far: otherwise a critic that learnt nothing would pass.
"""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

WIDTH = 4.0  # how many standard deviations from the stored mean a live number may be
COLUMNS = ("live", "stored", "sd", "off", "constant")


def beside(
    live: Sequence[float], kept: Sequence[float], constant: float, of_means: bool = False
) -> tuple[float, ...]:
    r"""A row of `COLUMNS`: the mean of the live runs, mean and deviation of the stored ones, and
    how many deviations from that mean the live one is and a constant critic's would be.

    The deviation s is that of one stored run; with ``of_means`` that of the difference between the
    means of n live and of m stored runs, :math:`s\sqrt{1/n + 1/m}`. Of fewer than two stored runs
    there is none, and nothing is near.
    """
    value, kept = float(np.mean(live)), np.asarray(kept, float)
    if len(kept) < 2:
        return value, math.nan, math.nan, math.nan, math.nan
    mean, sd = kept.mean(), kept.std(ddof=1)
    if of_means:
        sd *= math.sqrt(1 / len(live) + 1 / len(kept))
    return value, mean, sd, abs(value - mean) / sd, abs(constant - mean) / sd


def problems(found: pd.DataFrame) -> list[str]:
    """What is wrong with a live run, in sentences; none where every number is within `WIDTH`
    deviations of the stored mean and, for every estimator (the first level of the index), a
    constant critic would be outside somewhere."""
    said = []
    for name, row in found.iterrows():
        if math.isnan(row["sd"]):
            said.append(f"{name}: fewer than two runs are stored, so nothing is compared")
        elif not row["off"] <= WIDTH:
            said.append(
                f"{name}: {row['live']:.3g} is {row['off']:.1f} deviations of {row['sd']:.2g} from "
                f"the stored {row['stored']:.3g}; at most {WIDTH:g} were expected"
            )
    for name, far in found["constant"].groupby(level=0).max().items():
        if not far > WIDTH:
            said.append(
                f"{name}: a constant critic would be {far:.1f} deviations away and pass; compare "
                "a mean of more runs"
            )
    return said if len(found) else ["nothing was compared"]
