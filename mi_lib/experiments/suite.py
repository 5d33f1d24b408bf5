"""The suite of known tasks: every method on every task, coverage, and the level of the test.

``python -m mi_lib sweep suite --profile laptop`` runs the development half; the profile ``paper``
runs both halves with five seeds and is the only one that may be quoted about the held-back half.
``python -m mi_lib sweep independence`` runs the permutation test on independent data sets. One
piece is one method and one seed on one half.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from ..data import suite
from ..inference import MIEstimator
from ..sweep import Piece
from ..validate import one_of
from . import tuning
from .neural_baselines import TRAININGS
from .usual import usual_estimates

VALUES = ("truth", "mi", "low", "high", "lower_bound", "dv", "half", "p_value", "seconds")
USUAL = "as their authors run them"
# What `tuning.choose` says of the stored table of candidates.
TUNED: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(TRAININGS, "separable-64, rate 0.0005"),
        "ksg": "ksg, k = 1, normal scores",
        "cca": "cca, as given",
    }
)
# Rivals by group: the candidate of `tuning` that each method runs with.
RIVALS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "ksg": {"ksg": "ksg, k = 3, as given"},
        "cca": {"cca": "cca, as given"},
        "neural": dict.fromkeys(TRAININGS, USUAL),
        "tuned": TUNED,
    }
)
METHODS = ("ours", *RIVALS)
MODULES = (
    *tuning.MODULES,
    "mi_lib.experiments.suite",
    "mi_lib.experiments.usual",
    "mi_lib.inference.calibration",
    "mi_lib.inference.certificate",
    "mi_lib.inference.crossfit",
    "mi_lib.inference.estimator",
    "mi_lib.inference.folds",
    "mi_lib.inference.groups",
    "mi_lib.inference.limits",
    "mi_lib.inference.permutation",
    "mi_lib.inference.residual",
    "mi_lib.inference.starts",
    "mi_lib.inference.uncertainty",
)
PROFILES = {
    "ci": {"n": 400, "halves": ("development",), "seeds": 1, "sets": 4, "steps": 60},
    "laptop": {"n": suite.N, "halves": ("development",), "seeds": 2, "sets": 100, "steps": None},
    "paper": {"n": suite.N, "halves": tuple(suite.HALVES), "seeds": 5, "sets": 500, "steps": None},
}
SETS_A_PIECE = 50


def pieces(name: str, profile: str) -> list[Piece]:
    """The pieces of the sweep ``suite`` or ``independence``."""
    given = PROFILES[one_of("profile", profile, PROFILES)]
    common = {"n": given["n"], "steps": given["steps"]}
    if name == "independence":
        starts = range(0, given["sets"], SETS_A_PIECE)
        groups = [list(range(s, min(s + SETS_A_PIECE, given["sets"]))) for s in starts]
        return [
            Piece(name, f"{profile}-sets{g[0]:03}", common | {"n": 200, "seeds": g, "sweep": name})
            for g in groups
        ]
    return [
        Piece(
            name,
            f"{profile}-{half}-{method}-seed{seed:02}",
            common | {"half": half, "method": method, "seeds": [seed], "sweep": name},
        )
        for seed in range(given["seeds"])
        for half in given["halves"]
        for method in METHODS
    ]


def run(config: dict[str, Any], device: str, checkpoint: Path) -> pd.DataFrame:
    """One piece; the checkpoint is not needed, a piece being short."""
    rows = _independence(config, device) if config["sweep"] == "independence" else []
    if config["sweep"] == "suite":
        for task in suite.tasks(config["half"]):
            for seed in config["seeds"]:
                rows += _task(task, seed, config, device)
    columns = ["record", "training", "evaluation", "seed", "values"]
    return pd.DataFrame(rows, columns=columns)


def _row(record: str, method: str, task: str, seed: int, **values: float) -> list:
    numbers = [values.get(name, np.nan) for name in VALUES]
    return [record, method, task, seed, " ".join(f"{v:.6g}" for v in numbers)]


def _task(task, seed: int, config: dict, device: str) -> list[list]:
    """All methods of the piece on one data set."""
    x, y, _ = task.draw(config["n"], seed)
    if config["method"] == "ours":
        started = time.process_time()
        values = _ours(x, y, seed, config["steps"], device)
        found = {"ours": values | {"seconds": time.process_time() - started}}
    else:
        found = _rivals(config["method"], x, y, seed, config["steps"])
    return [
        _row("estimate", method, task.name, seed, truth=task.mi(), **values)
        for method, values in found.items()
    ]


def _ours(x, y, seed: int, steps: int | None, device: str) -> dict[str, float]:
    est = MIEstimator(random_state=seed, steps=steps, device=device).fit(x, y)
    return {
        "mi": est.mi_,
        "low": est.interval_[0],
        "high": est.interval_[1],
        "lower_bound": est.lower_bound_,
        "dv": est.dv_,
        "half": est.half_,
        "p_value": est.p_value_,
    }


def _rivals(group: str, x, y, seed: int, steps: int | None) -> dict[str, dict[str, float]]:
    """Every rival of a group; those that share a candidate are trained once, side by side."""
    found = {}
    for candidate in dict.fromkeys(RIVALS[group].values()):
        started = time.process_time()
        if candidate == USUAL:
            values = usual_estimates(x, y, seed, steps)
        else:
            values = tuning.run_candidate(candidate, x, y, seed, steps)
        seconds = (time.process_time() - started) / len(values)
        for method, name in RIVALS[group].items():
            if name == candidate:
                key = f"{method}, tuned" if group == "tuned" else method
                found[key] = {"mi": values[method], "seconds": seconds}
    return found


def _independence(config: dict, device: str) -> list[list]:
    """The test on independent Gaussian pairs of two coordinates each."""
    rows = []
    for seed in config["seeds"]:
        rng = np.random.default_rng([seed, 77])
        x, y = rng.standard_normal((2, config["n"], 2))
        est = MIEstimator(
            random_state=seed,
            steps=config["steps"] or 100,
            seeds=1,
            stability=False,
            permutations=99,
            device=device,
        ).fit(x, y)
        values = {"truth": 0.0, "mi": est.mi_, "p_value": est.p_value_}
        values |= {"lower_bound": est.lower_bound_, "high": est.interval_[1]}
        rows.append(_row("test", "ours", "independent", seed, **values))
    return rows
