r"""The ablations of the Gaussian staircase, which change one setting at a time. All in bits."""

import math

import numpy as np
import pandas as pd

from mi_lib.validate import one_of

from ..results import Stored
from .staircase_compare import beside
from .staircase_grid import GRID
from .staircase_tables import ESTIMATORS, plateaus, rmse_by_seed, select, stored, targets

THREE = ("InfoNCE", "InfoNCE-anchor", "anchor, nu = K")
TRAINED = tuple(ESTIMATORS[name][0] for name in THREE)


def stored_of(name: str) -> Stored:
    """What is stored of an ablation of the Gaussian task."""
    return stored("ablations", f"laptop-{name}")


def _frames(record: str) -> tuple[int, dict[str, pd.DataFrame]]:
    """How many seeds the ablations have that train all three of InfoNCE, nu = 1 and nu = K; and
    their plateaus by name, at these seeds, after those of the setting that all depart from."""
    grids = [g for g in GRID["ablations"]["laptop"] if g.settings.trainings == TRAINED]
    seeds = min(grid.seeds for grid in grids)
    tables = {"none": stored("gaussian", "laptop-b64")}
    tables |= {g.name.removeprefix("laptop-"): stored("ablations", g.name) for g in grids}
    return seeds, {n: plateaus(t, record).query(f"seed < {seeds}") for n, t in tables.items()}


def errors(record: str = "train") -> pd.DataFrame:
    """A row an ablation: how many of its seeds are stored, the RMSE of each of the three and by
    which factor it is larger than where nothing is changed, and how far InfoNCE is below its
    target, the mean over levels."""
    seeds, frames = _frames(record)
    aims = targets("gaussian", "laptop-b64").set_index("truth")["target"]
    rows = {}
    for title, frame in frames.items():
        rows[title] = {"seeds": f"{frame['seed'].nunique()} of {seeds}"}
        for name in THREE:
            other = {} if title == "none" else rmse_by_seed(frames["none"], name)
            rows[title][name] = beside(rmse_by_seed(frame, name), other)
        read = select(frame, "InfoNCE")
        rows[title]["InfoNCE below target"] = (read["truth"].map(aims) - read["value"]).mean()
    return pd.DataFrame(rows).T.rename_axis("ablation")


def readings(estimator: str) -> pd.DataFrame:
    """A row an ablation: the columns of `option_readings` for one of the three."""
    train, large = (_frames(record)[1] for record in ("train", "large"))
    training = ESTIMATORS[one_of("estimator", estimator, THREE)][0]
    rows = {name: _readings(train[name], large[name], training) for name in train}
    return pd.DataFrame(rows).T.rename_axis("ablation")


def _value(training: str, option: str) -> float:
    """The number that an option has in the name of a training."""
    options = dict(part.split("=") for part in training.partition(":")[2].split(","))
    return float(options[option])


def option_errors(table: Stored, option: str, record: str = "train") -> pd.DataFrame:
    """Errors of the anchor's plug-in for trainings like ``anchor:nu=0.1``: columns the option,
    truth and error."""
    frame = plateaus(table, record)
    frame = frame[frame["evaluation"] == "plug-in"]
    values = [_value(training, option) for training in frame["training"]]
    return pd.DataFrame(
        {option: values, "truth": frame["truth"], "error": frame["value"] - frame["truth"]}
    ).sort_values([option, "truth"])


def option_readings(table: Stored, option: str) -> pd.DataFrame:
    """A row a value of the option: RMSE of the anchor's plug-in on training batches, and of plug-in
    and DV of the same critics on large fresh batches; and the means over levels, there, of DV, of
    the scale, log2 of the mean of r over negatives (0 for the true ratio), and of InfoNCE, the
    larger the better the ratio is up to a factor of one side. Means over seeds."""
    train, large = plateaus(table), plateaus(table, "large")
    rows = {
        _value(training, option): _readings(train, large, training)
        for training in dict.fromkeys(train["training"])
    }
    shown = pd.DataFrame(rows).T.sort_index()
    return shown.set_axis([f"{value:g}" for value in shown.index]).rename_axis(option)


def _readings(train: pd.DataFrame, large: pd.DataFrame, training: str) -> dict[str, float]:
    return {
        "RMSE, plug-in, training": _mean_rmse(train, f"{training}/plug-in"),
        "RMSE, plug-in": _mean_rmse(large, f"{training}/plug-in"),
        "RMSE, DV": _mean_rmse(large, f"{training}/dv"),
        "mean DV": select(large, f"{training}/dv")["value"].mean(),
        "mean scale": select(large, f"{training}/scale")["value"].mean(),
        "mean InfoNCE": select(large, f"{training}/infonce")["value"].mean(),
    }


def _mean_rmse(frame: pd.DataFrame, estimator: str) -> float:
    """The mean over seeds; NaN where nothing is stored."""
    values = rmse_by_seed(frame, estimator).values()
    return float(np.mean(list(values))) if values else math.nan
