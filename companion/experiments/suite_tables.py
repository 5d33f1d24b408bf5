"""What the stored runs of the suite say: errors, coverage, the test's level, and our target.

A table is read from `results/` alone and may be partial; every function works on what is there.
"""

from collections.abc import Collection

import numpy as np
import pandas as pd
from scipy import special

from ..data import suite as known
from ..results import Stored, interval, results_folder
from . import experiment, modules_of, suite

OURS = "ours"
# Held-back families that are neither Gaussian nor Student copulas, which our estimator tries first.
OTHER_KINDS = ("additive", "bimodal", "circle", "discrete")


def stored(name: str, profile: str = "paper") -> Stored:
    """The pieces of the sweep ``ours``, ``suite`` or ``independence`` at a profile."""
    pieces = experiment(name).pieces(name, profile)
    return Stored(tuple(pieces), results_folder(), modules_of(name))


def whole(profile: str = "paper") -> pd.DataFrame:
    """Our estimator and its rivals in one table (see `table`)."""
    records = [stored(name, profile).records for name in ("ours", "suite")]
    return table(pd.concat(records, ignore_index=True))


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Stored records with one column a value, the family, the half of the suite, the absolute
    error, and whether the interval covers the truth (empty for methods without one)."""
    values = np.stack(records["values"]) if len(records) else np.empty((0, len(suite.VALUES)))
    values = pd.DataFrame(values, columns=list(suite.VALUES), index=records.index)
    frame = records.drop(columns="values").join(values)
    tasks = {task.name: task for task in known.tasks()}
    frame["family"] = [tasks[n].family if n in tasks else "" for n in frame["evaluation"]]
    frame["half_of_suite"] = [tasks[n].half if n in tasks else "" for n in frame["evaluation"]]
    frame["error"] = (frame["mi"] - frame["truth"]).abs()
    inside = (frame["low"] <= frame["truth"]) & (frame["truth"] <= frame["high"])
    frame["covered"] = inside.astype(float).where(frame["low"].notna())
    return frame


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean and worst absolute error, coverage and seconds of each method (see `table`)."""
    groups = frame[frame["record"] == "estimate"].groupby(["half_of_suite", "training"])
    found = groups.agg(
        mean_error=("error", "mean"),
        worst_error=("error", "max"),
        coverage=("covered", "mean"),
        seconds=("seconds", "mean"),
        fits=("error", "size"),
    )
    return found.sort_values(["half_of_suite", "mean_error"])


def families(frame: pd.DataFrame, half: str) -> pd.DataFrame:
    """Mean absolute error by family (rows; the last one is over all tasks) and method (columns)."""
    part = frame[(frame["half_of_suite"] == half) & (frame["record"] == "estimate")]
    found = part.pivot_table(index="family", columns="training", values="error")
    found.loc["all tasks"] = part.groupby("training")["error"].mean()
    first = [name for name in (OURS,) if name in found]
    return found[first + [name for name in found if name not in first]]


def against(frame: pd.DataFrame, half: str, families: Collection[str] = ()) -> pd.DataFrame:
    """Our mean absolute error over the tasks of a half, or of some of its families, beside half of
    each rival's, paired over seeds.

    ``ratio`` is ours over theirs; ``difference`` is ours less half of theirs, with its interval
    over seeds: the target is met against a rival where the whole interval is below zero. ``ours
    less theirs`` says who is better.
    """
    part = frame[frame["half_of_suite"] == half]
    part = part[part["family"].isin(families)] if families else part
    errors = part.pivot_table(index="seed", columns="training", values="error")
    rows = {}
    for rival in (name for name in errors if name != OURS):
        both = errors[[OURS, rival]].dropna()  # the seeds that this rival has
        gap = interval((both[OURS] - both[rival] / 2).to_numpy())
        plain = interval((both[OURS] - both[rival]).to_numpy())
        mean = both[rival].mean()
        rows[rival] = (mean, both[OURS].mean() / mean, str(gap), gap.high < 0, str(plain))
    columns = ["rival's error", "ratio", "difference", "target met", "ours less theirs"]
    found = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return found.sort_values("rival's error")


def binomial_interval(hits: int, tries: int, level: float = 0.95) -> tuple[float, float]:
    """The Clopper-Pearson interval of a share.

    >>> low, high = binomial_interval(0, 10)
    >>> low, round(high, 4)
    (0.0, 0.3085)
    """
    if not 0 <= hits <= tries or tries < 1:
        raise ValueError(f"{hits} hits in {tries} tries are no share; pass 0 <= hits <= tries")
    tail = (1 - level) / 2
    low = special.betaincinv(hits, tries - hits + 1, tail) if hits else 0.0
    high = special.betaincinv(hits + 1, tries - hits, 1 - tail) if hits < tries else 1.0
    return float(low), float(high)


def coverage(frame: pd.DataFrame) -> pd.DataFrame:
    """How often our interval covers the truth and how often the lower bound exceeds it, by family
    and in all, with the binomial interval of the first."""
    columns = ["fits", "coverage", "low", "high", "bound above truth"]
    ours = frame[(frame["training"] == OURS) & (frame["record"] == "estimate")]
    if ours.empty:
        return pd.DataFrame(columns=columns)
    groups = {
        (half, family): part for (half, family), part in ours.groupby(["half_of_suite", "family"])
    }
    groups |= {(half, "all"): part for half, part in ours.groupby("half_of_suite")}
    groups |= {("both", "all"): ours}
    rows = {}
    for key, part in groups.items():
        hits = int(part["covered"].sum())
        low, high = binomial_interval(hits, len(part))
        wrong = int((part["lower_bound"] > part["truth"]).sum())
        rows[key] = (len(part), hits / len(part), low, high, wrong)
    index = pd.MultiIndex.from_tuples(rows, names=["half_of_suite", "family"])
    return pd.DataFrame(list(rows.values()), index, columns)


def missed(frame: pd.DataFrame, below: float = 0.8, beside: str = "ksg") -> pd.DataFrame:
    """The tasks whose intervals cover the truth in a smaller share of our fits, with the mean of
    estimate less truth of our estimator and of another method."""
    frame = frame.assign(gap=frame["mi"] - frame["truth"])
    keys = ["half_of_suite", "evaluation"]
    own, other = (frame[frame["training"] == name].groupby(keys) for name in (OURS, beside))
    found = pd.DataFrame(
        {"coverage": own["covered"].mean(), OURS: own["gap"].mean(), beside: other["gap"].mean()}
    )
    found = found[found["coverage"] < below].reset_index()
    return found.rename(columns={"half_of_suite": "half", "evaluation": "task"})


def level(frame: pd.DataFrame, nominal: float = 0.05) -> dict[str, float]:
    """How often the test rejects independent data at a nominal level."""
    tests = frame[frame["record"] == "test"]
    hits = int((tests["p_value"] <= nominal).sum())
    low, high = binomial_interval(hits, len(tests))
    return {"sets": len(tests), "rejected": hits / len(tests), "low": low, "high": high}
