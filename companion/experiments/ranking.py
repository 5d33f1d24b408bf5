r"""How well a score ranks positives above negatives: AUROC, average precision, and both curves.

The counting is scikit-learn's; here is what it leaves open: which scores are refused, and what a
curve is between its thresholds. A tie counts one half for the AUROC, and all pairs with one score
enter the precision-recall curve together.
"""

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

Scores, Labels = Float[np.ndarray, " n"], Bool[np.ndarray, " n"]


def _checked(scores: Scores, labels: Labels) -> tuple[Labels, Int[np.ndarray, " n"]]:
    """Labels, and the places of the scores in their order: scikit-learn refuses infinite scores."""
    scores, labels = np.asarray(scores, float).ravel(), np.asarray(labels, bool).ravel()
    if scores.shape != labels.shape:
        raise ValueError(f"{scores.size} scores but {labels.size} labels; pass one label a score")
    if np.isnan(scores).any():
        raise ValueError(f"{np.isnan(scores).sum()} scores are NaN; they cannot be ranked")
    if labels.all() or not labels.any():
        raise ValueError(
            f"{labels.sum()} of {labels.size} labels are positive; a ranking needs both kinds"
        )
    return labels, np.unique(scores, return_inverse=True)[1]


def auroc(scores: Scores, labels: Labels) -> float:
    """P(positive above negative) + half P(tie).

    >>> auroc(np.array([3.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False]))
    0.875
    """
    return float(roc_auc_score(*_checked(scores, labels)))


def average_precision(scores: Scores, labels: Labels) -> float:
    r"""Precision averaged over the recall steps, :math:`\sum_t (R_t - R_{t-1}) P_t`."""
    return float(average_precision_score(*_checked(scores, labels)))


def roc_at(scores: Scores, labels: Labels, grid: Float[np.ndarray, " g"]) -> np.ndarray:
    """True-positive rate at given false-positive rates, linear between thresholds."""
    false, true, _ = roc_curve(*_checked(scores, labels), drop_intermediate=False)
    # At a rate that several thresholds share, the curve is vertical: its top is wanted.
    keep = np.append(np.diff(false) > 0, True)
    return np.interp(grid, false[keep], true[keep])


def precision_at(scores: Scores, labels: Labels, grid: Float[np.ndarray, " g"]) -> np.ndarray:
    """Precision at the first threshold that reaches each recall of the grid."""
    labels, places = _checked(scores, labels)
    precision, recall, _ = precision_recall_curve(labels, places)
    # Searched from the highest threshold on; at least one pair, for at recall 0 there is none.
    reached = np.searchsorted(recall[::-1], np.maximum(grid, 1 / labels.sum()) - 1e-12)
    return precision[::-1][reached]
