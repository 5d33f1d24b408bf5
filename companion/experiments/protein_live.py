r"""A few small trials, run live, compared with the stored trials of the same small profile.

With data they are trials on real ligands and receptors, without data on the simulated set. Their
numbers are none of the stored ones. A critic that returns a constant has an AUROC of 1/2. One trial
on real pairs cannot tell it from a trained critic, since trials differ too much (1/2 is three
standard deviations from their mean); the mean of four can.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ..data.proteins import Interactions
from ..data.registry import available
from .live_check import COLUMNS, beside
from .protein_tables import NAMES, find_table, metric, stored
from .proteins import Trial, auroc, roc_at, train

LIVE_TRIALS = (100, 101, 102, 103)
METHODS = ("js", "anchor", "anchor:nu=k", "infonce, normalised", "cca")
EVALUATION = "roles"
CHANCE = 0.5  # the AUROC of a constant score


def live_task() -> str:
    """What a live run can use here: the real pairs where they are, else the simulated ones."""
    return "ligand-receptor" if available("proteins") else "simulated"


def label(data: Interactions) -> str:
    """What every title and legend of a live run has to say."""
    if data.simulated:
        return "SIMULATED interactions"
    return f"real {data.name} pairs, {data.embedding}"


def run_live(
    task: str, profile: str = "ci", trials: Sequence[int] = LIVE_TRIALS
) -> tuple[Trial, ...]:
    """Train new trials of a task under the clean protocol, without LMI, which is not compared."""
    table = find_table(profile, task)
    config = next(p.config for p in table.pieces() if p.config["protocol"] == "clean")
    return tuple(train({**config, "latent": None}, trial) for trial in trials)


def scored(trial: Trial) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Which candidates of the roles are known, and their scores by every method; bits."""
    candidates = trial.part.candidates[EVALUATION]
    counted = candidates.counted
    tables = trial.tables(candidates)
    return candidates.known[counted], {name: table[counted] for name, table in tables.items()}


def compare(task: str, trials: Sequence[Trial], profile: str = "ci") -> pd.DataFrame:
    """Each method: its mean AUROC over the live trials beside that of the stored ones, and how far
    off it and an AUROC of 1/2 are (see `live_check`)."""
    table = stored(profile, task, "clean")
    kept = metric(table.records, EVALUATION) if table.there else pd.DataFrame(columns=METHODS)
    pairs = [scored(trial) for trial in trials]
    rows = {}
    for method in METHODS:
        live = [auroc(scores[method], known) for known, scores in pairs]
        rows[NAMES[method]] = beside(live, kept[method], CHANCE, of_means=True)
    return pd.DataFrame.from_dict(rows, orient="index", columns=COLUMNS)


def roc_curves(trials: Sequence[Trial], grid: np.ndarray) -> dict[str, np.ndarray]:
    """True-positive rates at the false-positive rates of a grid: by method, a row a trial."""
    pairs = [scored(trial) for trial in trials]
    return {
        m: np.stack([roc_at(scores[m], known, grid) for known, scores in pairs]) for m in METHODS
    }


def pmi_of_roles(trial: Trial, methods: tuple[str, ...]) -> tuple[np.ndarray, dict]:
    """True and learned PMI, in bits, of every candidate of the roles (simulated sets only)."""
    if not trial.data.simulated:
        raise ValueError(f"the PMI of {trial.data.name} is not known; use the simulated set")
    scores = scored(trial)[1]
    return scores["true PMI"], {name: scores[name] for name in methods}
