r"""One small trial, run live, compared with the stored trials of the same small profile.

With data it is a trial on real ligands and receptors, without data one on the simulated set. Its
number is none of the stored ones. A critic that returns a constant has an AUROC of 1/2; the
comparison says how far below the stored trials that would be, so that a pass means something.
"""

import numpy as np
import pandas as pd

from ..data.proteins import Interactions
from ..data.registry import available
from .protein_tables import find_table, metric, stored
from .proteins import Trial, judged, train

LIVE_TRIAL = 100
METHODS = ("js", "anchor", "anchor:nu=k", "infonce, normalised", "cca")
EVALUATION = "roles"


def live_task() -> str:
    """What a live run can use here: the real pairs where they are, else the simulated ones."""
    return "ligand-receptor" if available("proteins") else "simulated"


def label(data: Interactions) -> str:
    """What every title and legend of a live run has to say."""
    if data.simulated:
        return "SIMULATED interactions"
    return f"real {data.name} pairs, {data.embedding}"


def run_live(task: str, profile: str = "ci") -> Trial:
    """Train one new trial of a task under the clean protocol."""
    config = next(p for p in find_table(profile, task).pieces() if p.config["protocol"] == "clean")
    return train(config.config, LIVE_TRIAL)


def compare(task: str, trial: Trial, profile: str = "ci", width: float = 4.0) -> pd.DataFrame:
    """Each method: the live AUROC, mean and sd of the stored trials, whether the live one lies
    inside mean +- ``width`` sd, and how many sd an AUROC of 1/2 would be away."""
    kept = metric(stored(profile, task, "clean").records, EVALUATION)
    candidates = trial.part.candidates[EVALUATION]
    rows = {}
    for method, table in trial.tables(candidates).items():
        if method in METHODS:
            first = next(judged(method, EVALUATION, trial.trial, table, candidates))
            value, mean, sd = float(first[-1].split()[0]), kept[method].mean(), kept[method].std()
            rows[method] = (value, mean, sd, abs(value - mean) <= width * sd, (mean - 0.5) / sd)
    columns = ["live", "mean", "sd", "inside", "chance"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def pmi_of_roles(trial: Trial, methods: tuple[str, ...]) -> tuple[np.ndarray, dict]:
    """True and learned PMI, in bits, of every candidate of the roles (simulated sets only)."""
    if not trial.data.simulated:
        raise ValueError(f"the PMI of {trial.data.name} is not known; use the simulated set")
    candidates = trial.part.candidates[EVALUATION]
    tables = trial.tables(candidates)
    counted = candidates.counted
    return tables["true PMI"][counted], {name: tables[name][counted] for name in methods}
