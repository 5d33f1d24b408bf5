r"""Does the PMI of two proteins say whether they interact? (The paper's second experiment.)

`pieces` lists what a profile runs, `run` does one piece: some trials of one task under one
protocol. Stored for every trial, method and set of candidates: AUROC, average precision and the
numbers of positives and negatives; the ROC curve, the precision-recall curve and histograms of the
PMI on fixed grids; and for the critics the step and loss they stopped at, how free they left the
scale C(y), and the first ten losses, by which a piece can be replayed.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from mi_lib.validate import nats_per

from ..data.proteins import Interactions, interactions
from ..data.simulated_proteins import simulated
from .latent_mi import LatentMI, latent_settings
from .protein_baselines import LinearCCA, Popularity
from .protein_grid import pieces
from .protein_protocols import Candidates, split
from .protein_training import Settings, Training, log_scale, score
from .ranking import auroc, average_precision, precision_at, roc_at

__all__ = [
    "EDGES",
    "FALSE_POSITIVE_RATES",
    "MODULES",
    "RECALLS",
    "Trial",
    "auroc",
    "pieces",
    "roc_at",
    "run",
    "train",
]

# Whose code decides the numbers of a piece.
MODULES = (
    "mi_lib.scoring",
    "mi_lib.objectives",
    "mi_lib.estimators",
    "mi_lib.critics",
    "mi_lib.streams",
    "companion.data.proteins",
    "companion.data.simulated_proteins",
    "companion.experiments.ranking",
    "companion.experiments.latent_mi",
    "companion.experiments.protein_protocols",
    "companion.experiments.protein_baselines",
    "companion.experiments.protein_training",
)
FALSE_POSITIVE_RATES = np.linspace(0, 1, 26)
RECALLS = np.linspace(0, 1, 26)
EDGES = np.arange(-12.0, 13.0)  # bits; the outermost bins hold everything beyond
DRAWN = ("roc", "precision", "histogram-known", "histogram-other")
CURVES = ("published", "all", "roles")  # candidates whose curves are stored

Row = tuple[str, str, str, Any, str]


def run(
    config: Mapping[str, Any], device: str = "auto", checkpoint: Path | None = None
) -> pd.DataFrame:
    """Run the trials of a piece and return its records; a piece is too short for a checkpoint."""
    rows = [row for trial in config["seeds"] for row in train(config, trial, device).records()]
    rows = [row for row in rows if config["curves"] or row[0] not in DRAWN]
    return pd.DataFrame(rows, columns=["record", "training", "evaluation", "seed", "values"])


def train(config: Mapping[str, Any], trial: int, device: str = "cpu") -> "Trial":
    """One trial of a configuration, trained."""
    data = load(config["task"], config["embedding"])
    given = dict(config["settings"]) | {"objectives": tuple(config["settings"]["objectives"])}
    return Trial(data, config["protocol"], trial, Settings(**given), config["latent"], device)


def load(task: str, embedding: str) -> Interactions:
    """The interactions of a task; ``simulated`` has its own embedding and needs no file."""
    return simulated() if task == "simulated" else interactions(task, embedding)


class Trial:
    """Everything trained for one trial, ready to score candidates."""

    def __init__(
        self,
        data: Interactions,
        protocol: str,
        trial: int,
        settings: Settings,
        latent: Mapping | None,
        device: str = "cpu",
    ):
        self.data, self.trial = data, trial
        self.part = split(data, protocol, trial, settings.held_out)
        training = Training(self.part, settings, trial, device)
        self.members, self.first_losses = training.run(), training.first_losses
        self.critics = {m.objective: m.critic for m in self.members if m.critic is not None}
        self.baselines = {"popularity": Popularity(self.part), "cca": LinearCCA(self.part)}
        given = None if latent is None else latent_settings(latent)
        self.lmi = None if given is None else LatentMI(self.part, given, trial)

    def tables(self, candidates: Candidates) -> dict[str, np.ndarray]:
        """The score of every left with every right protein by every method; bits."""
        sides = candidates.x, candidates.y
        tables = {name: score(critic, *sides).numpy() for name, critic in self.critics.items()}
        tables |= {name: model(*sides) for name, model in self.baselines.items()}
        if "infonce" in tables:
            free = log_scale(self.critics["infonce"], self.part, candidates.y).numpy()
            tables["infonce, normalised"] = tables["infonce"] - free
        if "anchor" in tables:
            tables["anchor + popularity"] = tables["anchor"] + tables["popularity"]
        if self.lmi is not None:
            tables["lmi"] = self.lmi.scores(candidates)
        tables |= truth(self.data, candidates)
        return {name: table / nats_per("bits") for name, table in tables.items()}

    def records(self) -> Iterator[Row]:
        """Everything that is stored of the trial, row by row."""
        everyone = torch.cat([c.y for c in self.part.candidates.values()])
        for place, member in enumerate(self.members):
            first = [losses[place] for losses in self.first_losses]
            yield "loss", member.objective, "", self.trial, joined(first, ".8g")
            stopped = (member.step, member.stopped, member.loss)
            yield "stop", member.objective, "", self.trial, joined(stopped, ".6g")
            if member.critic is not None:
                scale = log_scale(member.critic, self.part, everyone) / nats_per("bits")
                numbers = joined((scale.mean(), scale.std()))
                yield "scale", member.objective, "", self.trial, numbers
        scored, tables = None, {}
        for name, candidates in self.part.candidates.items():
            if candidates.x is not scored:  # sets that differ in what counts share their scores
                scored, tables = candidates.x, self.tables(candidates)
            for method, table in tables.items():
                yield from judged(method, name, self.trial, table, candidates)


def truth(data: Interactions, candidates: Candidates) -> dict[str, np.ndarray]:
    """Where the law is known: the true PMI, alone and with the true popularity; nats."""
    if data.pmi is None or data.popularity is None:
        return {}
    pmi = data.pmi[np.ix_(candidates.left, candidates.right)]
    of_x, of_y = data.popularity[0, candidates.left], data.popularity[1, candidates.right]
    popular = np.maximum(of_x[:, None] + of_y[None, :], -1e6)
    pmi = np.maximum(pmi, -1e6)  # outside the roles: below everything, but still a number
    return {"true PMI": pmi, "true PMI + popularity": pmi + popular}


def judged(
    method: str, name: str, trial: int, table: np.ndarray, candidates: Candidates
) -> Iterator[Row]:
    """Metrics, curves and histograms of one score table, in bits."""
    scores, labels = table[candidates.counted], candidates.known[candidates.counted]
    metrics = auroc(scores, labels), average_precision(scores, labels)
    numbers = f"{labels.sum()} {(~labels).sum()}"
    yield "metrics", method, name, trial, f"{joined(metrics)} {numbers}"
    if name not in CURVES:
        return
    yield "roc", method, name, trial, per_mille(roc_at(scores, labels, FALSE_POSITIVE_RATES))
    yield "precision", method, name, trial, per_mille(precision_at(scores, labels, RECALLS))
    inside = np.clip(scores, EDGES[0], np.nextafter(EDGES[-1], 0))
    for record, chosen in (("histogram-known", labels), ("histogram-other", ~labels)):
        yield record, method, name, trial, joined(np.histogram(inside[chosen], EDGES)[0], "d")


def per_mille(values: np.ndarray) -> str:
    """Rates as whole thousandths, to keep the files small."""
    return joined(np.rint(1000 * values).astype(int), "d")


def joined(values: Any, form: str = ".4f") -> str:
    """Numbers as one field of a CSV file."""
    return " ".join(f"{value:{form}}" for value in values)
