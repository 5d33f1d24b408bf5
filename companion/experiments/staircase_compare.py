r"""Staircase tables beside each other: batch sizes, published runs, data trained on or not. All in
bits; factors between errors are paired over the seeds that both tables have."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pandas as pd

from mi_lib.validate import one_of

from ..results import Stored, interval, paired_factor, two_decimals
from .staircase_tables import (
    ANCHOR,
    DIVERGED,
    ESTIMATORS,
    PAPER_EIGHT,
    REASONS,
    plateaus,
    rmse_by_seed,
    rmse_factor,
    select,
)

# Plateaus of the benchmark's own runs at 2, 4, 6, 8, 10 bits: Gaussian without the cube, joint
# critic 256 x 2, rate 5e-4, B = 64, training batches, one run each; NaN where it diverged.
# name there -> (training and evaluation here, readings)
PUBLISHED: Mapping[str, tuple[str, tuple[float, ...]]] = MappingProxyType(
    {
        "MINE": ("mine/dv", (1.93, 3.88, 5.82, 7.83, 10.00)),
        "SMILE-inf": ("js/dv", (1.90, 3.88, 5.83, 7.91, 10.14)),
        "SMILE-5": ("js/clipped-dv", (1.91, 3.93, 6.06, 8.48, 11.10)),
        "NWJ": ("nwj/nwj", (1.93, 3.86, 5.75, 7.64, 8.84)),
        "JS": ("js/nwj", (1.35, 3.31, 5.22, 7.17, 9.16)),
        "DV": ("dv/dv", (1.93, 3.90, 5.84, 11.2, math.nan)),
        "InfoNCE": ("infonce/infonce", (1.83, 3.42, 4.58, 5.31, 5.71)),
    }
)
# Mean absolute error over the five levels of the benchmark's own runs with that joint critic, MNIST
# and IMDB, against the nominal truth.
PUBLISHED_ERRORS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "MINE": (0.23, 0.61),
        "SMILE-inf": (0.22, 0.64),
        "SMILE-5": (0.79, 0.31),
        "NWJ": (0.47, 0.69),
        "JS": (0.87, 1.23),
        "DV": (0.22, 0.59),
        "InfoNCE": (1.76, 1.89),
    }
)


def beside_published(table: Stored) -> pd.DataFrame:
    """Published plateaus and ours (means over seeds, training batches), two rows an estimator; an
    estimator of which nothing is stored has one."""
    frame, rows = plateaus(table), {}
    levels = table.pieces[0].config["settings"]["levels"]
    for name, (ours, readings) in PUBLISHED.items():
        rows[name, "published"] = dict(zip(levels, readings, strict=True))
        part = select(frame, ours)
        if not part.empty:
            seeds = part["seed"].nunique()
            rows[name, f"ours, {seeds} seed(s)"] = part.groupby("truth")["value"].mean().to_dict()
    shown = pd.DataFrame(rows).T
    return shown.rename_axis(index=["estimator", "run"], columns="true MI")


def nwj_of_log_r(plug_in: pd.DataFrame, nwj: pd.DataFrame) -> pd.DataFrame:
    """NWJ's formula with log r where it needs 1 + log r: E_q1[log r] - E_q0[r] / e, in bits.

    NWJ itself is E_q1[log r] + 1 - E_q0[r] nats; the slip costs 1/e nats = 0.53 bits for the true
    ratio. Both are linear in the plug-in and E_q0[r], so one follows from readings of the other.
    """
    mean_r = 1 + (plug_in - nwj) * math.log(2)
    return plug_in - mean_r / (math.e * math.log(2))


def js_by_seed(table: Stored) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Plug-in and NWJ readings of the critics of JS on training batches: seeds by levels."""
    frame = plateaus(table)
    return tuple(
        select(frame, f"js/{reading}").pivot(index="seed", columns="truth", values="value")
        for reading in ("plug-in", "nwj")
    )


def readings_of_js(table: Stored) -> pd.DataFrame:
    """Critics of JS read with and without the slip of `nwj_of_log_r`, below the published row;
    means over seeds, training batches."""
    plug_in, nwj = (readings.mean() for readings in js_by_seed(table))
    rows = {
        "published": pd.Series(PUBLISHED["JS"][1], table.pieces[0].config["settings"]["levels"]),
        "ours, log r": nwj_of_log_r(plug_in, nwj),
        "ours, 1 + log r": nwj,
    }
    return pd.DataFrame(rows).T.rename_axis(index="NWJ's formula with", columns="true MI")


def errors_beside_published(experiment: str, table: Stored) -> pd.DataFrame:
    """Mean absolute errors over the levels: published, one run with a joint critic; ours, the mean
    over seeds of each seed's, with the critic of the table. Training batches, nominal truth."""
    place = ("mnist", "text").index(one_of("experiment", experiment, ("mnist", "text")))
    frame, rows = plateaus(table), {}
    for name, readings in PUBLISHED_ERRORS.items():
        part = select(frame, PUBLISHED[name][0])
        ours = (part["value"] - part["truth"]).abs().mean() if len(part) else math.nan
        rows[name] = {"published, joint": readings[place], "ours, separable": ours}
    return pd.DataFrame(rows).T.rename_axis("mean absolute error")


def against_anchor(frame: pd.DataFrame) -> str:
    """In words: whether the anchor has the smallest RMSE, which estimators have a smaller one,
    which a larger, and of which the seeds cannot tell (at 95 % each, without a correction)."""
    errors = {name: rmse_by_seed(frame, name) for name in ESTIMATORS}
    base = errors.pop(ANCHOR)
    factors = {n: paired_factor(own, base) for n, own in errors.items() if set(own) & set(base)}
    if not factors:
        return "not run"
    group = {
        name: "larger" if f.low > 0 else "smaller" if f.high < 0 else "not separated"
        for name, f in factors.items()
    }
    lines = []
    for title, names in (("the paper's eight", PAPER_EIGHT), ("all in the table", ESTIMATORS)):
        found = {group[name] for name in names if name in group}
        answer = (
            "no" if "smaller" in found else "not certain" if "not separated" in found else "yes"
        )
        lines.append(f"{ANCHOR} has the smallest RMSE of {title}: {answer}")
    for which in ("smaller", "not separated", "larger"):
        for name in (n for n in group if group[n] == which):
            lost = sum(error >= DIVERGED for error in errors[name].values())
            note = f", {lost} of {len(errors[name])} diverged" if lost else ""
            lines.append(f"{which:>13}: {name} {factors[name]}{note}")
    return "\n".join(lines)


def errors_across(tables: Mapping[str, Stored], record: str = "train") -> pd.DataFrame:
    """A row an estimator, a column a table: RMSE, and by which factor it is larger than the
    anchor's, with the interval (above 1: worse than the anchor)."""
    columns = {}
    for title, table in tables.items():
        frame = plateaus(table, record)
        columns[title] = {name: _against_anchor(frame, name) for name in ESTIMATORS}
    return pd.DataFrame(columns, index=pd.Index(list(ESTIMATORS), name="RMSE"))


def _against_anchor(frame: pd.DataFrame, name: str) -> str:
    own = rmse_by_seed(frame, name)
    return beside(own, {} if name == ANCHOR else rmse_by_seed(frame, ANCHOR))


def beside(own: Mapping[int, float], other: Mapping[int, float]) -> str:
    """A mean over seeds and, where another has some of these seeds, the factor between them."""
    if not own:
        return "not run"
    lost = sum(value >= DIVERGED for value in own.values())
    mean = two_decimals(float(np.mean(list(own.values()))))
    shown = f"{lost} of {len(own)} diverged" if lost else mean
    return f"{shown}  {paired_factor(own, other)}" if set(own) & set(other) else shown


def remembered(table: Stored, names: Sequence[str]) -> pd.DataFrame:
    """Estimate on training batches (the last quarter of a level) minus estimate on fresh rows (at
    its end) by level, with the interval over seeds: what a critic owes to rows that it has seen,
    less what it learnt in that last quarter."""
    train, fresh = plateaus(table), plateaus(table, "held-out")
    rows = {}
    for name in names:
        both = [
            select(frame, name).set_index(["truth", "seed"])["value"] for frame in (train, fresh)
        ]
        gaps = (both[0] - both[1]).groupby("truth")
        if len(gaps):
            rows[name] = {truth: str(interval(part.to_numpy())) for truth, part in gaps}
    return pd.DataFrame(rows).T.rename_axis(index="estimator", columns="true MI")


def with_intervals(table: Stored, names: Sequence[str], reading: str) -> pd.DataFrame:
    """One reading of the critics of ``names`` on large fresh batches, by level: mean and interval
    over seeds."""
    one_of("reading", reading, REASONS)
    frame, rows = plateaus(table, "large"), {}
    for name in names:
        part = select(frame, f"{ESTIMATORS[name][0]}/{reading}")
        levels = part.groupby("truth")["value"]
        rows[name] = {truth: str(interval(values.to_numpy())) for truth, values in levels}
    return pd.DataFrame(rows).T.rename_axis(index="training", columns="true MI")


def between_truths(
    frame: pd.DataFrame,
    other: Mapping[float, float],
    names: Sequence[str],
    shares: Sequence[float] = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0),
) -> pd.DataFrame:
    """RMSE over the anchor's, paired over seeds, for truths on the way from ``other`` (nominal
    level -> its truth) to the nominal one; ``top`` is the truth of the last level."""
    rows = {}
    for share in shares:
        truth = share * frame["truth"] + (1 - share) * frame["truth"].map(other)
        moved = frame.assign(truth=truth)
        factors = {name: str(rmse_factor(moved, name, ANCHOR)) for name in names}
        rows[share] = {"top": truth.max(), **factors}
    return pd.DataFrame(rows).T.rename_axis(index="share of the way")
