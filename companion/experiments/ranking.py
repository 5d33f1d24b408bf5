r"""How well a score ranks positives above negatives: AUROC, average precision, and both curves.

Ties are handled as everywhere in this field: a tie counts one half for the AUROC, and all pairs
with one score enter the precision-recall curve together.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

Scores, Labels = Float[np.ndarray, " n"], Bool[np.ndarray, " n"]


def _checked(scores: Scores, labels: Labels) -> tuple[np.ndarray, np.ndarray]:
    scores, labels = np.asarray(scores, float).ravel(), np.asarray(labels, bool).ravel()
    if scores.shape != labels.shape:
        raise ValueError(f"{scores.size} scores but {labels.size} labels; pass one label a score")
    if np.isnan(scores).any():
        raise ValueError(f"{np.isnan(scores).sum()} scores are NaN; they cannot be ranked")
    if labels.all() or not labels.any():
        raise ValueError(
            f"{labels.sum()} of {labels.size} labels are positive; a ranking needs both kinds"
        )
    return scores, labels


def auroc(scores: Scores, labels: Labels) -> float:
    r"""P(positive above negative) + half P(tie), from the ranks of the positives:

    .. math:: \frac{\sum_{\text{pos}} \text{rank} - P(P+1)/2}{P N}

    >>> auroc(np.array([3.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False]))
    0.875
    """
    scores, labels = _checked(scores, labels)
    values, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - (count - 1) / 2  # mean rank, from 1, of each value
    positives = int(labels.sum())
    above = middle[place][labels].sum() - positives * (positives + 1) / 2
    return float(above / (positives * (labels.size - positives)))


def counts(scores: Scores, labels: Labels) -> tuple[Int[np.ndarray, " t"], Int[np.ndarray, " t"]]:
    """True and false positives when the threshold is lowered to each distinct score in turn."""
    scores, labels = _checked(scores, labels)
    order = np.argsort(-scores, kind="stable")
    last = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    true = np.cumsum(labels[order])[last]
    return true, last + 1 - true


def average_precision(scores: Scores, labels: Labels) -> float:
    r"""Precision averaged over the recall steps, :math:`\sum_t (R_t - R_{t-1}) P_t`."""
    true, false = counts(scores, labels)
    return float((np.diff(true, prepend=0) * true / (true + false)).sum() / true[-1])


def roc_at(scores: Scores, labels: Labels, grid: Float[np.ndarray, " g"]) -> np.ndarray:
    """True-positive rate at given false-positive rates, linear between thresholds."""
    true, false = counts(scores, labels)
    true, false = np.append(0, true), np.append(0, false)
    # At a rate that several thresholds share, the curve is vertical: its top is wanted.
    keep = np.append(np.diff(false) > 0, True)
    return np.interp(grid, false[keep] / false[-1], true[keep] / true[-1])


def precision_at(scores: Scores, labels: Labels, grid: Float[np.ndarray, " g"]) -> np.ndarray:
    """Precision at the first threshold that reaches each recall of the grid."""
    true, false = counts(scores, labels)
    reached = np.searchsorted(true / true[-1], np.maximum(grid, 1 / true[-1]) - 1e-12)
    return (true / (true + false))[reached]
