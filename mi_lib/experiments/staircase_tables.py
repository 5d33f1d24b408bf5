r"""Tables of the staircase runs: plateaus, errors and paired differences over seeds, in bits."""

import math
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import numpy as np
import pandas as pd
import torch

from ..data import Channel, Gaussian, Source
from ..ratio_law import jsd_by_sampling
from ..results import Interval, Stored, paired, results_folder
from ..validate import one_of
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


def find_table(experiment: str, name: str) -> Table:
    """A table of the grid by its name."""
    tables = {t.name: t for profile in GRID[experiment].values() for t in profile}
    return tables[one_of("table", name, tables)]


def stored(experiment: str, name: str) -> Stored:
    """What is stored of a table, with what should be there."""
    table = find_table(experiment, name)
    return Stored(tuple(table.pieces(experiment)), results_folder(), MODULES)


def plateaus(table: Stored, record: str = "train") -> pd.DataFrame:
    """One row a training, evaluation, seed and level: ``value`` and ``truth`` in bits.

    ``record`` is ``train`` (training batches), ``held-out`` (fresh batches of the same size) or
    ``large`` (large fresh batches).
    """
    one_of("record", record, ("train", "held-out", "large"))
    rows = table.records[table.records["record"] == record]
    levels = table.pieces[0].config["settings"]["levels"]
    tidy = rows.loc[rows.index.repeat(len(levels)), ["training", "evaluation", "seed"]].copy()
    tidy["truth"] = np.tile(np.asarray(levels, float), len(rows))
    tidy["value"] = np.concatenate(rows["values"].tolist())
    return tidy.reset_index(drop=True)


def select(frame: pd.DataFrame, estimator: str) -> pd.DataFrame:
    """The rows of one estimator by its name in the figures, or ``training/evaluation``."""
    training, evaluation = ESTIMATORS.get(estimator) or estimator.split("/")
    return frame[(frame["training"] == training) & (frame["evaluation"] == evaluation)]


def rmse_by_seed(frame: pd.DataFrame, estimator: str) -> dict[int, float]:
    """For each seed the root mean square error over the levels."""
    rows = select(frame, estimator)
    squares = (rows["value"] - rows["truth"]).pow(2).groupby(rows["seed"]).mean()
    return {int(seed): math.sqrt(value) for seed, value in squares.items()}


def summary(frame: pd.DataFrame, reference: str = "InfoNCE-anchor") -> pd.DataFrame:
    """A row an estimator: bias at each level, spread over seeds, RMSE, and the paired difference
    of the RMSE to the reference's (positive: worse than the reference)."""
    base = rmse_by_seed(frame, reference)
    rows = []
    for name in ESTIMATORS:
        part = select(frame, name)
        if part.empty:
            continue
        error = part["value"] - part["truth"]
        by_level = error.groupby(part["truth"])
        own = rmse_by_seed(frame, name)
        row = {"estimator": name, "seeds": len(own)}
        row |= {f"bias {truth:g}": bias for truth, bias in by_level.mean().items()}
        row["spread"] = by_level.std(ddof=1).mean() if len(own) > 1 else math.nan
        row["RMSE"] = float(np.mean(list(own.values())))
        row["RMSE - anchor's"] = "" if name == reference else str(paired(own, base))
        rows.append(row)
    return pd.DataFrame(rows).set_index("estimator")


def rmse_difference(frame: pd.DataFrame, a: str, b: str) -> Interval:
    """RMSE of a minus RMSE of b, paired over seeds."""
    return paired(rmse_by_seed(frame, a), rmse_by_seed(frame, b))


@cache
def infonce_target(task_name: str, options: tuple, bits: float, k: int) -> tuple[float, float]:
    """What InfoNCE with K = ``k`` can reach in expectation: value and standard error, in bits.

    Exact for the channel tasks; for the Gaussian by scoring batches with the true ratio.
    """
    if task_name == "gaussian":
        task = Gaussian(dict(options).get("dim", 10))

        def scores(generator: torch.Generator) -> torch.Tensor:
            x, z = task.draw(bits, k, [generator])
            return task.log_ratio(x[0].double(), z[0].double(), bits)

        return jsd_by_sampling(scores, max(200, 200_000 // k))
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
