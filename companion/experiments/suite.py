"""The suite of known tasks: the rivals of our estimator on every task (`ours` has its own sweep).

``python -m companion sweep suite --profile laptop`` runs the development half; the profile
``paper`` runs both halves with five seeds and is the only one that may be quoted about the half
that was held back. One piece is one group of rivals and one seed on one half.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from mi_lib.validate import one_of

from ..data import suite
from ..sweep import COLUMNS, Piece
from . import tuning
from .author_baselines import usual_estimates
from .neural_baselines import TRAININGS

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
MODULES = (*tuning.MODULES, "companion.experiments.suite", "companion.experiments.author_baselines")
PROFILES = {
    "ci": {"n": 400, "halves": ("development",), "seeds": 1, "steps": 60},
    "laptop": {"n": suite.N, "halves": ("development",), "seeds": 2, "steps": None},
    "paper": {"n": suite.N, "halves": tuple(suite.HALVES), "seeds": 5, "steps": None},
}


def pieces(name: str, profile: str) -> list[Piece]:
    """The pieces of the sweep ``suite``."""
    given = PROFILES[one_of("profile", profile, PROFILES)]
    common = {"n": given["n"], "steps": given["steps"], "sweep": name}
    return [
        Piece(
            name,
            f"{profile}-{half}-{group}-seed{seed:02}",
            common | {"half": half, "method": group, "seeds": [seed]},
        )
        for seed in range(given["seeds"])
        for half in given["halves"]
        for group in RIVALS
    ]


def run(config: dict[str, Any], device: str, checkpoint: Path) -> pd.DataFrame:
    """One piece, on the CPU; the checkpoint is not needed, a piece being short."""
    rows = []
    for task in suite.tasks(config["half"]):
        for seed in config["seeds"]:
            x, y, _ = task.draw(config["n"], seed)
            found = _rivals(config["method"], x, y, seed, config["steps"])
            for method, values in found.items():
                rows.append(row("estimate", method, task.name, seed, truth=task.mi(), **values))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def row(record: str, method: str, task: str, seed: int, **values: float) -> list:
    """A record with one number for each of `VALUES`."""
    numbers = [values.get(name, np.nan) for name in VALUES]
    return [record, method, task, seed, " ".join(f"{v:.6g}" for v in numbers)]


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
