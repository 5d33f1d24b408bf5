r"""Tables of the staircase runs: plateaus, errors and paired differences over seeds, in bits."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

import numpy as np
import pandas as pd
import torch

from mi_lib.validate import one_of

from ..data import Channel, Gaussian, Source
from ..ratio_distribution import jsd_by_sampling
from ..results import Factor, Stored, paired_factor, results_folder
from .staircase import MODULES
from .staircase_grid import GRID, Table

# name in the figures -> (training, evaluation)
PAPER_EIGHT: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "NWJ": ("nwj", "nwj"),
        "NWJ plug-in": ("nwj", "plug-in"),
        "JS": ("js", "nwj"),
        "JS plug-in": ("js", "plug-in"),
        "InfoNCE": ("infonce", "infonce"),
        "DRF": ("chi-square", "plug-in"),
        "Spherical": ("spherical", "plug-in"),
        "InfoNCE-anchor": ("anchor", "plug-in"),
    }
)
OTHERS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "anchor, nu = K": ("anchor:nu=k", "plug-in"),
        "SMILE": ("js", "clipped-dv"),
        "DV": ("dv", "dv"),
        "MINE": ("mine", "dv"),
    }
)
ESTIMATORS: Mapping[str, tuple[str, str]] = MappingProxyType({**PAPER_EIGHT, **OTHERS})


ANCHOR = "InfoNCE-anchor"
MORE = "gaussian-more"
BY_BATCH = MappingProxyType({16: MORE, 64: "gaussian", 256: MORE})  # batch size -> its sweep
# One name for each training: the critics whose scale and DV are compared.
CRITICS = (
    *("NWJ", "JS", "InfoNCE", "DRF", "Spherical", "InfoNCE-anchor"),
    *("anchor, nu = K", "DV", "MINE"),
)
REASONS = ("plug-in", "dv", "scale", "infonce")  # what tells a right ratio from a right reading
DIVERGED = 1e30  # bits: stands for the error of a run whose reading is not a finite number
POINTS, ROUNDS = 4096, 40  # pairs a round, for targets by sampling


def find_table(experiment: str, name: str) -> Table:
    """A table of the grid by its name."""
    tables = {t.name: t for profile in GRID[experiment].values() for t in profile}
    return tables[one_of("table", name, tables)]


def stored(experiment: str, *names: str) -> Stored:
    """What is stored of a table, or of several with the same levels and steps, with what should be
    there."""
    pieces = [p for name in names for p in find_table(experiment, name).pieces(experiment)]
    return Stored(tuple(pieces), results_folder(), MODULES[experiment])


def every_stored(*experiments: str) -> list[Stored]:
    """What is stored of every table at the paper's settings, then of every `laptop` one."""
    return [
        stored(experiment, table.name)
        for profile in ("paper", "laptop")
        for experiment in experiments
        for table in GRID[experiment].get(profile, ())
    ]


def plateaus(table: Stored, record: str = "train") -> pd.DataFrame:
    """One row a training, evaluation, seed and level: ``value`` and ``truth`` in bits.

    ``record`` is ``train`` (training batches), ``held-out`` (fresh batches of the same size) or
    ``large`` (large fresh batches).
    """
    one_of("record", record, ("train", "held-out", "large"))
    rows = table.records[table.records["record"] == record]
    if rows.empty:
        return pd.DataFrame(columns=["training", "evaluation", "seed", "truth", "value"])
    return by_level(rows, table.pieces[0].config["settings"]["levels"])


def by_level(rows: pd.DataFrame, levels: Sequence[float]) -> pd.DataFrame:
    """Rows whose ``values`` have one number a level, as a row a number."""
    tidy = rows.loc[rows.index.repeat(len(levels)), ["training", "evaluation", "seed"]].copy()
    tidy["truth"] = np.tile(np.asarray(levels, float), len(rows))
    tidy["value"] = np.concatenate(rows["values"].tolist())
    return tidy.reset_index(drop=True)


def ratio_errors(table: Stored) -> pd.DataFrame:
    """How far log r is from the truth over fresh true pairs, where a table has it (those of the
    sweep ``directions``): a row a training, seed and level, with the ``mean`` and the ``sd`` of
    c - log r* in bits."""
    rows = table.records[table.records["record"] == "ratio-error"]
    if rows.empty:
        return pd.DataFrame(columns=["training", "seed", "truth", "mean", "sd"])
    tidy = by_level(rows, table.pieces[0].config["settings"]["levels"])
    wide = tidy.pivot(index=["training", "seed", "truth"], columns="evaluation", values="value")
    return wide.rename_axis(columns=None).reset_index()


def select(frame: pd.DataFrame, estimator: str) -> pd.DataFrame:
    """The rows of one estimator by its name in the figures, or ``training/evaluation``."""
    training, evaluation = ESTIMATORS.get(estimator) or estimator.split("/")
    return frame[(frame["training"] == training) & (frame["evaluation"] == evaluation)]


def at_level(frame: pd.DataFrame, estimator: str, truth: float) -> dict[int, float]:
    """What each seed reads at one level."""
    rows = select(frame, estimator)
    return rows[rows["truth"] == truth].set_index("seed")["value"].to_dict()


def rmse_by_seed(frame: pd.DataFrame, estimator: str) -> dict[int, float]:
    """For each seed the root mean square error over the levels; `DIVERGED` where the reading at
    some level is not finite."""
    rows = select(frame, estimator)
    squares = (rows["value"] - rows["truth"]).pow(2).fillna(math.inf)
    means = squares.groupby(rows["seed"]).mean()
    return {int(seed): min(math.sqrt(mean), DIVERGED) for seed, mean in means.items()}


def fresh_by_seed(
    table: Stored, training: str, evaluation: str, size: bool = False
) -> dict[int, float]:
    """By seed: a reading on large fresh batches, or its size, the mean over levels."""
    rows = select(plateaus(table, "large"), f"{training}/{evaluation}")
    values = rows["value"].abs() if size else rows["value"]
    return values.groupby(rows["seed"]).mean().to_dict()


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """A row an estimator: bias at each level, spread over seeds, RMSE, and by which factor the RMSE
    is larger than the anchor's, paired over seeds (above 1: worse than the anchor)."""
    base = rmse_by_seed(frame, ANCHOR)
    rows = []
    for name in ESTIMATORS:
        part = select(frame, name)
        if part.empty:
            continue
        by_level = (part["value"] - part["truth"]).groupby(part["truth"])
        own = rmse_by_seed(frame, name)
        row = {"estimator": name, "seeds": len(own)}
        row |= {f"bias {truth:.3g}": level.mean(skipna=False) for truth, level in by_level}
        row["spread"] = by_level.std(ddof=1).mean() if len(own) > 1 else math.nan
        row["RMSE"] = float(np.mean(list(own.values())))
        pairs = name != ANCHOR and set(own) & set(base)
        row["RMSE / anchor's"] = str(paired_factor(own, base)) if pairs else ""
        rows.append(row)
    return pd.DataFrame(rows, columns=None if rows else ["estimator"]).set_index("estimator")


def rmse_factor(frame: pd.DataFrame, a: str, b: str) -> Factor:
    """By which factor the RMSE of a is larger than that of b, paired over seeds."""
    return paired_factor(rmse_by_seed(frame, a), rmse_by_seed(frame, b))


@cache
def infonce_target(task_name: str, options: tuple, bits: float, k: int) -> tuple[float, float]:
    """What InfoNCE with K = ``k`` can reach in expectation: value and standard error, in bits.

    Exact for the channel tasks; for the Gaussian by scoring batches with the true ratio.
    """
    if task_name == "gaussian":
        task = Gaussian(dict(options).get("dim", 10))

        def scores(generator: torch.Generator) -> torch.Tensor:
            x, z = (side[0].double() for side in task.draw(bits, POINTS, [generator]))
            batches = x.unflatten(0, (-1, k)), z.unflatten(0, (-1, k))
            return torch.vmap(lambda a, b: task.log_ratio(a, b, bits))(*batches)

        return jsd_by_sampling(scores, ROUNDS)
    return labels_only(dict(options).get("slots", 10)).k_way_jsd(bits, k), 0.0


def labels_only(slots: int) -> Channel:
    """The channel with the bare labels as data: same ratio, same targets, no files."""
    values = torch.tensor([[0.0], [1.0]], device="cpu")
    return Channel(Source(values, values[:, 0].long()), slots=slots)


def targets(experiment: str, name: str) -> pd.DataFrame:
    """InfoNCE's target at every level of a table: columns truth, target, error, K."""
    table = find_table(experiment, name)
    options, k = tuple(sorted(table.options.items())), table.settings.batch
    rows = [
        (bits, *infonce_target(table.task, options, bits, k), k) for bits in table.settings.levels
    ]
    return pd.DataFrame(rows, columns=["truth", "target", "error", "K"])


def curves(table: Stored) -> pd.DataFrame:
    """The stored curves over all seeds: training, evaluation, step, mean, sd and seeds."""
    settings = table.pieces[0].config["settings"]
    seeds = {piece.key: len(piece.config["seeds"]) for piece in table.there}
    rows = table.records[table.records["record"].str.startswith("curve")]
    pooled = []
    for (training, evaluation), part in rows.groupby(["training", "evaluation"]):
        by_piece = part.pivot(index="piece", columns="record", values="values")
        means = np.stack(by_piece["curve-mean"].tolist())
        sds = np.zeros_like(means)  # a piece of one seed stores no spread
        for place, values in enumerate(by_piece.get("curve-sd", [])):
            if isinstance(values, np.ndarray):
                sds[place] = values
        weight = np.array([seeds[key] for key in by_piece.index])
        mean = weight @ means / weight.sum()
        spread = weight @ (sds**2 + means**2) / weight.sum() - mean**2
        frame = pd.DataFrame({"mean": mean, "sd": np.sqrt(np.maximum(spread, 0))})
        frame["step"] = (np.arange(len(mean)) + 0.5) * settings["block"]
        frame["training"], frame["evaluation"] = training, evaluation
        frame["seeds"] = weight.sum()
        pooled.append(frame)
    names = ["mean", "sd", "step", "training", "evaluation", "seeds"]
    return pd.concat(pooled, ignore_index=True) if pooled else pd.DataFrame(columns=names)


def reasons(table: Stored, estimators: tuple[str, ...], record: str = "large") -> pd.DataFrame:
    """On large fresh batches, for trainings named by their figure names: plug-in, DV, scale (log2
    of the mean of r over negatives, 0 for the true ratio) and InfoNCE, which a wrong scale leaves
    alone, by level, over seeds. ``record`` may be another of `plateaus`."""
    frame = plateaus(table, record)
    rows = []
    for name in estimators:
        training = ESTIMATORS[name][0]
        for truth, part in frame[frame["training"] == training].groupby("truth"):
            values = part.pivot(index="seed", columns="evaluation", values="value")
            row = {"training": name, "truth": truth, "seeds": len(values)}
            for column in REASONS:
                row[column] = values[column].mean()
                row[f"{column} sd"] = values[column].std(ddof=1) if len(values) > 1 else math.nan
            rows.append(row)
    names = ["training", "truth", "seeds", *REASONS]
    return pd.DataFrame(rows, columns=None if rows else names)


def of_every_critic(table: Stored, evaluation: str) -> pd.DataFrame:
    """One reading of every training on large fresh batches: a row a training, a column a level,
    medians over seeds (the seeds of a critic that diverges may read anything)."""
    one_of("evaluation", evaluation, REASONS)
    frame, rows = plateaus(table, "large"), {}
    for name in CRITICS:
        part = select(frame, f"{ESTIMATORS[name][0]}/{evaluation}")
        if not part.empty:
            rows[name] = part.groupby("truth")["value"].median()
    return pd.DataFrame(rows).T.rename_axis(index="training", columns="truth")


def infonce_gaps(experiment: str, table: Stored) -> pd.DataFrame:
    """By level: InfoNCE's target, its mean over seeds on fresh batches, the gap between them and
    the standard error of the gap."""
    name = table.pieces[0].key.rsplit("-seed", 1)[0]
    values = select(plateaus(table, "held-out"), "InfoNCE").groupby("truth")["value"]
    frame = targets(experiment, name)
    frame["InfoNCE"] = frame["truth"].map(values.mean())
    frame["gap"] = frame["target"] - frame["InfoNCE"]
    frame["standard error"] = np.hypot(frame["truth"].map(values.sem()), frame["error"])
    return frame.drop(columns="error")
