r"""How much of the text benchmark's information can be decoded from a review it has not seen.

The benchmark's nominal MI counts labels. A critic sees embeddings, and a classifier that learns the
label from other reviews makes mistakes. With its posterior :math:`\pi(x) = P(1|x)` the ratio of one
slot is

.. math:: r(x, y) = 2\bigl[(1-p)\{\pi_x\pi_y + (1-\pi_x)(1-\pi_y)\}
          + p\{\pi_x(1-\pi_y) + (1-\pi_x)\pi_y\}\bigr]

and the mean of log2 r over held-out pairs, times the slots, is what a critic can reach that
generalises and does not memorise. Posteriors are calibrated (a sigmoid, by inner cross-validation
on the training folds), so that a confident mistake costs what such mistakes cost on average.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from sklearn.base import ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mi_lib.validate import one_of

from ..data.channel import crossover
from ..data.text import imdb_arrays
from ..sweep import Piece

MODULES = ("companion.experiments.decodable", "companion.data.channel", "companion.data.text")
LEVELS = (2.0, 4.0, 6.0, 8.0, 10.0)
SLOTS, FOLDS = 10, 5
CLASSIFIERS = ("logistic", "lda", "mlp")


def classifier(name: str) -> ClassifierMixin:
    """A classifier with a posterior, by name; components first, to keep them quick."""
    models = {
        "logistic": lambda: LogisticRegression(C=0.1, max_iter=500),
        "lda": lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        "mlp": lambda: MLPClassifier((64,), early_stopping=True, random_state=0, max_iter=60),
    }
    model = models[one_of("classifier", name, models)]()
    pipeline = make_pipeline(StandardScaler(), PCA(0.99, random_state=0), model)
    return CalibratedClassifierCV(pipeline, method="sigmoid", cv=3)


def slot_ratio(
    px: Float[np.ndarray, "..."], py: Float[np.ndarray, "..."], p: float
) -> Float[np.ndarray, "..."]:
    """The ratio of one slot from the two posteriors and the crossover."""
    same = px * py + (1 - px) * (1 - py)
    return 2 * ((1 - p) * same + p * (1 - same))


def decoded(
    posterior: Float[np.ndarray, " n"], labels: Int[np.ndarray, " n"], bits: float
) -> float:
    """Bits of all slots at a nominal level: the mean of log2 r over every held-out pair whose
    labels agree, weighted 1 - p, or differ, weighted p."""
    p, value = crossover(bits / SLOTS), 0.0
    for label in (0, 1):
        for other, weight in ((label, 1 - p), (1 - label, p)):
            px, py = posterior[labels == label], posterior[labels == other]
            value += weight / 2 * np.log2(slot_ratio(px[:, None], py[None], p)).mean()
    return SLOTS * float(value)


def pieces(experiment: str, profile: str) -> list[Piece]:
    """One piece a classifier; the smallest profile decodes a table that scikit-learn ships."""
    tables = {"ci": "breast-cancer", "laptop": "text", "paper": "text"}
    table = tables[one_of("profile", profile, tables)]
    names = ("logistic",) if profile == "ci" else CLASSIFIERS
    return [
        Piece(experiment, f"{table}-{name}", {"table": table, "classifier": name, "seeds": [0]})
        for name in names
    ]


def run(
    config: Mapping[str, Any], device: str = "cpu", checkpoint: Path | None = None
) -> pd.DataFrame:
    """Cross-validate one classifier: a record a fold, with its error and the decoded bits."""
    x, labels = _arrays(config["table"])
    rows, name = [], config["classifier"]
    splits = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(x, labels)
    for fold, (train, test) in enumerate(splits):
        model = classifier(name).fit(x[train], labels[train])
        posterior = model.predict_proba(x[test])[:, 1]
        error = float(((posterior > 0.5) != labels[test]).mean())
        bits = [decoded(posterior, labels[test], level) for level in LEVELS]
        rows.append(("error", name, "", fold, f"{error:.5f}"))
        rows.append(("decoded", name, "", fold, " ".join(f"{b:.4f}" for b in bits)))
    return pd.DataFrame(rows, columns=["record", "training", "evaluation", "seed", "values"])


def _arrays(table: str) -> tuple[np.ndarray, np.ndarray]:
    if table == "breast-cancer":
        return load_breast_cancer(return_X_y=True)
    x0, x1 = imdb_arrays()
    return np.concatenate([x0, x1]).astype(np.float32), np.repeat([0, 1], [len(x0), len(x1)])
