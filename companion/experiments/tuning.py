"""Rivals tuned as our estimator was: on the development half of the suite, by absolute error.

``python -m companion sweep tuning --profile laptop`` runs every candidate on the development half
with one seed. A candidate of the neural methods trains until held-out values stop growing, and gets
our map to normal scores. `choose` takes for each method the candidate with the smallest mean
absolute error; the choice is written down in `suite.TUNED` and compared with the stored table by a
test.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from mi_lib.inference import cca, ksg
from mi_lib.validate import one_of

from ..data import suite
from ..sweep import COLUMNS, Piece
from .neural_baselines import Usual, as_numbers, estimates

MODULES = (
    "mi_lib.critics",
    "mi_lib.objectives",
    "mi_lib.streams",
    "companion.data.discrete",
    "companion.data.elliptical",
    "companion.data.one_dimensional",
    "companion.data.suite",
    "companion.experiments.neural_baselines",
    "companion.experiments.tuning",
    "mi_lib.inference.baselines",
    "mi_lib.inference.encoding",
    "mi_lib.inference.table",
)
PROFILES = {
    "ci": {"n": 400, "steps": 60},
    "laptop": {"n": suite.N, "steps": None},
    "paper": {"n": suite.N, "steps": None},
}

# Separable critics of two sizes and a small joint one, slow and fast.
NEURAL: Mapping[str, Usual] = MappingProxyType(
    {
        f"{critic}-{hidden}, rate {rate:g}": Usual(
            critic=critic, hidden=hidden, rate=rate, batch=batch, ranks=True
        )
        for critic, hidden, batch in (
            ("separable", 64, 128),
            ("separable", 256, 128),
            ("joint", 64, 64),
        )
        for rate in (5e-4, 2e-3)
    }
)
NEIGHBOURS = (1, 3, 5, 10)
CLASSICAL = tuple(
    f"{method}, {map_}"
    for method in ("cca", *(f"ksg, k = {k}" for k in NEIGHBOURS))
    for map_ in ("as given", "normal scores")
)
CANDIDATES = (*NEURAL, *CLASSICAL)


def run_candidate(name: str, x: Any, y: Any, seed: int, steps: int | None) -> dict[str, float]:
    """The values of one candidate on one table, by method, in bits."""
    if name in NEURAL:
        settings = NEURAL[name]
        if steps:
            settings = Usual(**{**vars(settings), "steps": steps})
        return estimates(x, y, seed, settings)
    ranks = name.endswith("normal scores")
    numbers = [as_numbers(v, side, ranks) for v, side in ((x, "x"), (y, "y"))]
    if name.startswith("cca"):
        return {"cca": cca(*numbers)}
    return {"ksg": ksg(*numbers, k=int(name.split("k = ")[1].split(",")[0]))}


def pieces(name: str, profile: str) -> list[Piece]:
    """One piece a candidate, always on the development half."""
    one_of("sweep", name, ("tuning",))
    given = PROFILES[one_of("profile", profile, PROFILES)]
    return [
        Piece(name, f"{profile}-candidate{i:02}", {**given, "candidate": candidate, "seeds": [0]})
        for i, candidate in enumerate(CANDIDATES)
    ]


def run(config: Mapping[str, Any], device: str, checkpoint: Path) -> pd.DataFrame:
    """One candidate on every development task: truth, estimate and processor seconds."""
    rows = []
    for task in suite.tasks("development"):
        for seed in config["seeds"]:
            x, y, _ = task.draw(config["n"], seed)
            started = time.process_time()
            found = run_candidate(config["candidate"], x, y, seed, config["steps"])
            seconds = time.process_time() - started
            rows += [
                [
                    config["candidate"],
                    method,
                    task.name,
                    seed,
                    f"{task.mi():.6g} {value:.6g} {seconds:.3g}",
                ]
                for method, value in found.items()
            ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Mean absolute error and seconds of each method (rows) and candidate, from stored records."""
    values = np.stack(records["values"])
    frame = records.assign(error=np.abs(values[:, 1] - values[:, 0]), seconds=values[:, 2])
    return frame.groupby(["training", "record"])[["error", "seconds"]].mean()


def choose(means: pd.DataFrame) -> dict[str, str]:
    """The candidate with the smallest error of each method, from `table`."""
    errors = means["error"]
    return {method: str(errors[method].idxmin()) for method in errors.index.unique(0)}
