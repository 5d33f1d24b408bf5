"""Our estimator on the suite of known tasks, and the level of its test.

``python -m companion sweep ours`` fits every task of the suite, with more seeds than the rivals
have: coverage rests on at least 200 fits. One piece is one seed on one half. ``sweep independence``
runs the permutation test on independent data sets, with a short fit without the second one.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mi_lib.inference import MIEstimator
from mi_lib.validate import one_of

from ..data import suite as known
from ..sweep import COLUMNS, Piece
from . import suite, tuning

MODULES = (
    *tuning.MODULES,
    "companion.data.known_task",
    "companion.experiments.estimator_runs",
    "mi_lib.inference.calibration",
    "mi_lib.inference.lower_bound",
    "mi_lib.inference.crossfit",
    "mi_lib.diagnostics",
    "mi_lib.inference.estimator",
    "mi_lib.inference.folds",
    "mi_lib.inference.splits",
    "mi_lib.inference.ratio_limits",
    "mi_lib.inference.permutation",
    "mi_lib.inference.network",
    "mi_lib.inference.parametric",
    "mi_lib.inference.uncertainty",
)
SEEDS = {"ci": 1, "laptop": 2, "paper": 6}
SETS = {"ci": 4, "laptop": 100, "paper": 500}
SETS_A_PIECE = 50


def pieces(name: str, profile: str) -> list[Piece]:
    """The pieces of the sweep ``ours`` or ``independence``."""
    given = suite.PROFILES[one_of("profile", profile, suite.PROFILES)]
    common = {"n": given["n"], "steps": given["steps"], "sweep": name}
    if name == "independence":
        starts = range(0, SETS[profile], SETS_A_PIECE)
        groups = [list(range(s, min(s + SETS_A_PIECE, SETS[profile]))) for s in starts]
        return [
            Piece(name, f"{profile}-sets{g[0]:03}", common | {"n": 200, "seeds": g}) for g in groups
        ]
    return [
        Piece(name, f"{profile}-{half}-seed{seed:02}", common | {"half": half, "seeds": [seed]})
        for seed in range(SEEDS[profile])
        for half in given["halves"]
    ]


def run(config: dict[str, Any], device: str, checkpoint: Path) -> pd.DataFrame:
    """One piece; the checkpoint is not needed, a piece being short."""
    work = {"ours": _tasks, "independence": _independence}[config["sweep"]]
    return pd.DataFrame(work(config, device), columns=list(COLUMNS))


def _tasks(config: dict, device: str) -> list[list]:
    """One fit a task and seed."""
    rows = []
    for task in known.tasks(config["half"]):
        for seed in config["seeds"]:
            x, y, _ = task.draw(config["n"], seed)
            started = time.process_time()
            est = MIEstimator(random_state=seed, steps=config["steps"], device=device).fit(x, y)
            values = {
                "truth": task.mi(),
                "mi": est.mi_,
                "low": est.interval_[0],
                "high": est.interval_[1],
                "lower_bound": est.lower_bound_,
                "dv": est.dv_,
                "half": est.half_,
                "p_value": est.p_value_,
                "seconds": time.process_time() - started,
            }
            rows.append(suite.row("estimate", "ours", task.name, seed, **values))
    return rows


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
        rows.append(suite.row("test", "ours", "independent", seed, **values))
    return rows
