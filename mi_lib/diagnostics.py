r"""What may be wrong with an estimate, each with a sentence on what to do.

The true ratio has :math:`\mathbb{E}_{p(x)p(y)}[r] = 1` and :math:`\mathbb{E}_{p(x,y)}[1/r] \le 1`,
its posterior :math:`r/(1+r)` is calibrated, more training pairs do not change it, and its value is
far below the log of the number of pairs. All are checked on held-out pairs.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import special

BINS = 10
SCORES_ALONE = (
    "mean ratio of random pairs",
    "mean inverse ratio of true pairs",
    "calibration gap of the posterior",
    "plug-in less DV, bits",
)


@dataclass(frozen=True)
class Spread:
    """Standard errors, in nats, of a mean over held-out pairs."""

    pairs: float
    folds: float
    seeds: float

    @property
    def total(self) -> float:
        """All three together."""
        return float(np.sqrt(self.pairs**2 + self.folds**2 + self.seeds**2))


@dataclass(frozen=True)
class Diagnostic:
    """One check: what was found, what a good fit has, and advice where the two differ."""

    name: str
    value: float
    expected: str
    ok: bool
    advice: str

    def __str__(self) -> str:
        mark = "ok     " if self.ok else "WARNING"
        line = f"{mark} {self.name}: {self.value:.3g} (expected {self.expected})"
        return line if self.ok else f"{line}\n        {self.advice}"


def mean_of_exp(values: Float[np.ndarray, "n p"]) -> tuple[float, float]:
    """The mean of exp over all entries and its standard error, rows being independent."""
    rows = np.exp(np.minimum(values, 60)).mean(1)
    return float(rows.mean()), float(rows.std(ddof=1) / math.sqrt(len(rows)))


def reliability(
    own: Float[np.ndarray, " n"], negatives: Float[np.ndarray, "n p"]
) -> tuple[Float[np.ndarray, " b"], Float[np.ndarray, " b"], Float[np.ndarray, " b"]]:
    """Posterior that a pair is true, against how often it is: mean posterior, frequency and weight
    of each bin. True and random pairs are equally likely beforehand."""
    chance = special.expit(np.concatenate([own, negatives.ravel()]))
    weight = np.repeat([0.5 / len(own), 0.5 / negatives.size], [len(own), negatives.size])
    bins = np.minimum((chance * BINS).astype(int), BINS - 1)
    total = np.bincount(bins, weight, BINS)
    true = np.bincount(bins[: len(own)], weight[: len(own)], BINS)
    mean = np.bincount(bins, weight * chance, BINS)
    used = total > 0
    return mean[used] / total[used], true[used] / total[used], total[used]


def check_matrix(scores: Float[np.ndarray, "n n"]) -> list[Diagnostic]:
    r"""The checks that need scores alone, for any critic: what the true ratio has,
    :math:`\mathbb{E}_{p(x)p(y)}[r] = 1`, :math:`\mathbb{E}_{p(x,y)}[1/r] \le 1` and a calibrated
    posterior :math:`r/(1+r)`.

    Parameters
    ----------
    scores : array_like, shape (n, n)
        ``scores[i, j] = c(x_i, y_j)`` in nats on at least 10 pairs that the critic has not seen.

    Returns
    -------
    list of Diagnostic
        Each with ``name``, ``value``, ``expected``, ``ok`` and ``advice``.

    Examples
    --------
    >>> [found.ok for found in check_matrix(np.zeros((20, 20)))]  # log of the ratio 1
    [True, True, True, True]
    """
    scores = np.asarray(scores, dtype=float)
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1] or len(scores) < 10:
        raise ValueError(f"scores have shape {scores.shape}; pass a square matrix of 10 pairs up")
    return check_batches([scores])


def check_batches(matrices: list[Float[np.ndarray, "b b"]]) -> list[Diagnostic]:
    """The checks of `check_matrix` for score matrices of several batches, all of one size."""
    steps = range(min(len(matrices[0]), 65))  # the pair itself, then negatives
    columns = [[np.roll(m, -step, axis=1).diagonal() for step in steps] for m in matrices]
    scores, n = np.concatenate([np.stack(part, 1) for part in columns]), len(matrices[0])
    found = check(scores, np.ones((1, 3)), Spread(0.0, 0.0, 0.0), None, n, n, 0.0)
    return [d for d in found if d.name in SCORES_ALONE]


def check(
    scores: Float[np.ndarray, "n 1+p"],
    slopes: Float[np.ndarray, "f 3"],
    spread: Spread,
    growth: float | None,
    training: int,
    batch: int,
    duplicates: float,
) -> list[Diagnostic]:
    """All checks of one fit; scores and spreads are in nats, what is shown is in bits."""
    own, negatives = scores[:, 0], scores[:, 1:]
    value, bit = float(own.mean()), math.log(2)
    scale, scale_error = mean_of_exp(negatives)
    inverse, inverse_error = mean_of_exp(-own[:, None])
    posterior, frequency, weight = reliability(own, negatives)
    gap = float((weight * np.abs(posterior - frequency)).sum())
    slope = float(np.median(slopes[:, :-1].min(1)))
    held_dv = value - math.log(scale)
    found = [
        Diagnostic(
            "mean ratio of random pairs",
            scale,
            "1",
            abs(scale - 1) <= 0.05 + 3 * scale_error,
            "The scale of r is off, and the plug-in with it: compare with dv_, get more pairs, or "
            "lower `hidden`.",
        ),
        Diagnostic(
            "mean inverse ratio of true pairs",
            inverse,
            "at most 1",
            # A few impossible pairs make the mean large and its error larger.
            inverse <= 1.05 + min(3 * inverse_error, 0.45),
            "Some true pairs look impossible to the critic: look at the pairs of lowest pmi for "
            "outliers or wrongly joined rows.",
        ),
        Diagnostic(
            "calibration gap of the posterior",
            gap,
            "below 0.03",
            gap < 0.03,
            "r is not a probability ratio yet: do not read single pmi values; raise `steps` or "
            "get more pairs.",
        ),
        Diagnostic(
            "slope of the calibration",
            slope,
            "above 0.7",
            slope > 0.7 or value < 0.02,
            "The critics were over-confident before calibration, which means too few pairs for "
            "what they try to learn: lower `hidden` or add pairs.",
        ),
        Diagnostic(
            "plug-in less DV, bits",
            (value - held_dv) / bit,
            "within 0.05 + 5 %",
            abs(value - held_dv) / bit <= 0.05 + 0.05 * value / bit,
            "Two estimates from one critic disagree: report the lower one.",
        ),
        Diagnostic(
            "folds beyond chance, bits",
            spread.folds / bit,
            "below 0.05 + 5 %",
            spread.folds / bit <= 0.05 + 0.05 * max(0.0, value) / bit,
            "Folds disagree: are the rows in an order that matters, or of several sources?",
        ),
        Diagnostic(
            "log2 of training pairs less the estimate, bits",
            (math.log(training) - value) / bit,
            "above 3",
            (math.log(training) - value) / bit > 3,
            "So much information cannot be told from infinitely much with so few pairs: is y a "
            "function of x? Take the value as 'at least'.",
        ),
        Diagnostic(
            "log2 of the batch less the estimate, bits",
            (math.log(batch) - value) / bit,
            "above 1",
            (math.log(batch) - value) / bit > 1,
            "The batch shows too few negatives for so large a ratio: raise `batch`.",
        ),
        Diagnostic(
            "share of repeated rows",
            duplicates,
            "below 0.01",
            duplicates < 0.01,
            "A row in training and in the held-out fold is no longer held out: remove copies, or "
            "give one row a subject.",
        ),
    ]
    if growth is not None:
        found.append(
            Diagnostic(
                "gain from the last doubling of pairs, bits",
                growth / bit,
                "within 0.05 + 5 %",
                abs(growth) / bit <= 0.05 + 0.05 * max(0.0, value) / bit,
                "The plug-in still moves with the number of pairs: mi_ has one such gain added and "
                "may still be too low; get more pairs if you can.",
            )
        )
    return found
