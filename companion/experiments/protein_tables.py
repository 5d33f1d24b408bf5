r"""Tables of the protein runs: AUROC and average precision over trials, and paired differences.

Trials share most of their data, so their results are not independent, and the plain t-interval of
a mean over trials is too narrow. The intervals here use the corrected variance for repeated random
splits (Nadeau and Bengio 2003): with J trials, a test set of m proteins, a training set of n and
the sample standard deviation s,

.. math:: \bar d \pm t_{J-1}\, s\,\sqrt{\tfrac1J + \tfrac mn} .
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from mi_lib.validate import one_of

from ..results import Interval, Stored, results_folder
from .protein_grid import GRID, LOOKS, Table
from .proteins import MODULES

TASKS = ("kinase-target", "ligand-receptor")
PROTEINS = {"kinase-target": 5172, "ligand-receptor": 1633, "simulated": 480}
EVALUATIONS = {
    "published": "published",
    "same-scale": "published",
    "all": "clean",
    "roles": "clean",
}
METRICS = ("auroc", "average precision")

# How methods are called in tables and figures, in the paper's order, then ours.
NAMES: Mapping[str, str] = MappingProxyType(
    {
        "lmi": "LMI",
        "chi-square": "chi-square (DRF)",
        "js": "JS",
        "anchor": "InfoNCE-anchor, nu = 1",
        "spherical": "Spherical",
        "anchor:nu=k": "InfoNCE-anchor, nu = K",
        "infonce": "InfoNCE, raw score",
        "infonce, normalised": "InfoNCE, C(y) divided out",
        "cca": "linear CCA",
        "popularity": "popularity alone",
        "anchor + popularity": "anchor + popularity",
        "true PMI": "true PMI",
        "true PMI + popularity": "true PMI + popularity",
    }
)
# The paper's table: mean and standard deviation of the AUROC over 20 runs, ProtT5 embeddings.
PAPER: Mapping[str, Mapping[str, tuple[float, float]]] = MappingProxyType(
    {
        "kinase-target": {
            "lmi": (0.74, 0.08),
            "chi-square": (0.76, 0.07),
            "js": (0.77, 0.08),
            "anchor": (0.80, 0.06),
            "spherical": (0.73, 0.07),
        },
        "ligand-receptor": {
            "lmi": (0.87, 0.04),
            "chi-square": (0.92, 0.03),
            "js": (0.95, 0.02),
            "anchor": (0.97, 0.01),
            "spherical": (0.87, 0.05),
        },
    }
)


def find_table(profile: str, task: str) -> Table:
    """The table of a task at a profile."""
    tables = {table.task: table for table in GRID[one_of("profile", profile, GRID)]}
    return tables[one_of("task", task, tables)]


@cache
def stored(profile: str, task: str, protocol: str = "") -> Stored:
    """What is stored of a table, with what should be there; of one protocol or of both."""
    chosen = [
        piece
        for piece in find_table(profile, task).pieces()
        if piece.config["protocol"] == protocol or not protocol
    ]
    return Stored(tuple(chosen), results_folder(), MODULES)


def metric(records: pd.DataFrame, evaluation: str, which: str = "auroc") -> pd.DataFrame:
    """One row a trial, one column a method."""
    place = METRICS.index(one_of("metric", which, METRICS))
    rows = records[(records.record == "metrics") & (records.evaluation == evaluation)]
    if rows.empty:
        raise ValueError(f"no trial of {evaluation!r} is stored; run the sweep of proteins first")
    values = rows.assign(value=[values[place] for values in rows["values"]])
    return values.pivot(index="seed", columns="training", values="value")


def interval(values: pd.Series, tested: int, trained: int, level: float = 0.95) -> Interval:
    """The corrected interval of a mean over trials (see above); one trial bounds nothing."""
    values = np.asarray(values.dropna(), float)
    mean = float(values.mean())
    if len(values) < 2:
        return Interval(mean, -np.inf, np.inf, len(values))
    spread = values.std(ddof=1) * np.sqrt(1 / len(values) + tested / trained)
    half = float(stdtrit(len(values) - 1, (1 + level) / 2) * spread)
    return Interval(mean, mean - half, mean + half, len(values))


def difference(
    profile: str, task: str, evaluation: str, a: str, b: str, which: str = "auroc"
) -> Interval:
    """The interval of a minus b over the trials of a stored table."""
    protocol = EVALUATIONS[one_of("evaluation", evaluation, EVALUATIONS)]
    values = metric(stored(profile, task, protocol).records, evaluation, which)
    return _corrected(values[a] - values[b], find_table(profile, task), protocol)


def _corrected(gaps: pd.Series, table: Table, protocol: str) -> Interval:
    """The interval of differences by trial. (The clean protocol keeps as many proteins for
    validation as for the test away from training.)"""
    held_out = table.settings.held_out
    away = {"published": 1, "clean": 2}[protocol] * held_out
    return interval(gaps, held_out, PROTEINS[table.task] - away)


def summary(profile: str, task: str, which: str = "auroc") -> pd.DataFrame:
    """Mean and standard deviation over trials: one row a method, two columns a set of candidates.

    The first two columns are the paper's own numbers.
    """
    columns: dict[tuple[str, str], Mapping[str, float]] = {}
    if which == "auroc" and task in PAPER:
        columns[("paper", "mean")] = {k: v[0] for k, v in PAPER[task].items()}
        columns[("paper", "sd")] = {k: v[1] for k, v in PAPER[task].items()}
    for evaluation, protocol in EVALUATIONS.items():
        table = stored(profile, task, protocol)
        if table.there:
            values = metric(table.records, evaluation, which)
            columns[(evaluation, "mean")] = values.mean().to_dict()
            columns[(evaluation, "sd")] = values.std(ddof=1).to_dict()
    frame = pd.DataFrame(columns)
    order = [name for name in NAMES if name in frame.index]
    return frame.loc[order].rename(index=NAMES)


def curves(records: pd.DataFrame, evaluation: str, record: str) -> dict[str, np.ndarray]:
    """The stored curves or histograms of every method: one row a trial."""
    rows = records[(records.record == record) & (records.evaluation == evaluation)]
    scale = 1000 if record in ("roc", "precision") else 1
    return {
        str(name): np.stack(list(group["values"])) / scale
        for name, group in rows.groupby("training", sort=False)
    }


def panels(profile: str, evaluation: str, record: str) -> dict[str, dict[str, np.ndarray]]:
    """The stored curves of both tasks, for a figure; empty where nothing is stored."""
    found = {}
    for task in TASKS:
        table = stored(profile, task, EVALUATIONS[evaluation])
        found[task] = curves(table.records, evaluation, record) if table.there else {}
    return found


def differences(
    profile: str, task: str, reference: str, rivals: tuple[str, ...], which: str = "auroc"
) -> dict[str, dict[str, tuple[float, float, float]]]:
    """Reference minus each rival, (mean, low, high), by set of candidates, for a figure."""
    found: dict[str, dict[str, tuple[float, float, float]]] = {}
    for evaluation, protocol in EVALUATIONS.items():
        found[evaluation] = {}
        if len(stored(profile, task, protocol).there) > 1:
            for rival in rivals:
                gap = difference(profile, task, evaluation, reference, rival, which)
                found[evaluation][NAMES[rival]] = (gap.mean, gap.low, gap.high)
    return found


def against(
    profile: str, task: str, reference: str, rivals: tuple[str, ...], which: str = "auroc"
) -> pd.DataFrame:
    """Reference minus each rival with its corrected interval, as text; a star where it excludes
    zero."""
    columns = {}
    for evaluation, protocol in EVALUATIONS.items():
        if len(stored(profile, task, protocol).there) > 1:
            gaps = {r: difference(profile, task, evaluation, reference, r, which) for r in rivals}
            columns[evaluation] = {NAMES[rival]: _starred(gap) for rival, gap in gaps.items()}
    return pd.DataFrame(columns)


def _starred(gap: Interval, digits: int = 2) -> str:
    shown = f"{gap.mean:+.{digits}f} [{gap.low:+.{digits}f}, {gap.high:+.{digits}f}]"
    return f"{shown}{' *' if gap.excludes_zero else ''}"


def stops(records: pd.DataFrame) -> pd.DataFrame:
    """Where early stopping took each critic from: the median of its best step over trials, the
    share of trials in which that was the first look, and the largest best step."""
    rows = records[records.record == "stop"]
    if rows.empty:
        raise ValueError("no stop is stored; run the sweep of proteins first")
    steps = pd.Series([values[0] for values in rows["values"]], rows.index)
    groups = steps.groupby(rows["training"])
    frame = pd.DataFrame(
        {
            "median best step": groups.median(),
            "share at the first look": groups.agg(lambda step: (step == steps.min()).mean()),
            "largest": groups.max(),
        }
    )
    return frame.loc[[name for name in NAMES if name in frame.index]].rename(index=NAMES)


def scales(records: pd.DataFrame) -> pd.DataFrame:
    """How free each objective left C(y): mean and spread over y of its log2, averaged over
    trials."""
    rows = records[records.record == "scale"]
    if rows.empty:
        raise ValueError("no scale is stored; run the sweep of proteins first")
    values = pd.DataFrame(np.stack(list(rows["values"])), columns=["mean", "spread over y"])
    frame = values.groupby(rows["training"].to_numpy()).mean()
    return frame.loc[[name for name in NAMES if name in frame.index]].rename(index=NAMES)


def looks() -> Stored:
    """What is stored of the ligand-receptor trials with finer looks at the validation loss."""
    return Stored(tuple(LOOKS["laptop"][0].pieces()), results_folder(), MODULES)


def finer_looks(which: str = "auroc") -> pd.DataFrame:
    """A row a critic: the median of its best step (over both protocols) with a look every 500 and
    every 50 steps, and the gain of the finer looks by set of candidates, paired over the same
    trials; a star where the interval excludes zero. Empty where nothing is stored."""
    table, fine = LOOKS["laptop"][0], looks()
    if not fine.complete:
        return pd.DataFrame()
    records = {500: stored("laptop", table.task).records, table.settings.every: fine.records}
    columns = {
        f"best step, every {every}": stops(rows)["median best step"]
        for every, rows in records.items()
    }
    coarse, fine = records.values()
    for evaluation, protocol in EVALUATIONS.items():
        gains = metric(fine, evaluation, which) - metric(coarse, evaluation, which)
        found = {NAMES[m]: _corrected(gains[m], table, protocol) for m in table.settings.objectives}
        columns[evaluation] = pd.Series({name: _starred(gap, 3) for name, gap in found.items()})
    return pd.DataFrame(columns).loc[[NAMES[m] for m in NAMES if m in table.settings.objectives]]
