r"""`MIEstimator`: fit two arrays, read off the mutual information."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import diagnostics
from ..devices import pick_device
from ..validate import nats_per, whole_number
from . import crossfit, lower_bound, permutation, storage, table, uncertainty
from .report import Report


class MIEstimator(BaseEstimator):
    r"""Mutual information of paired samples, by cross-fitted InfoNCE-anchor critics.

    The plug-in is the mean over pairs of a calibrated log ratio that was fitted without the pair:
    :math:`\frac1n\sum_i c_{-k(i)}(x_i, y_i)`. Where a fit with half of the training pairs shows
    that it still grows, the estimate is the plug-in plus the gain from that last doubling.

    Parameters
    ----------
    unit : {"bits", "nats"}
        Of all values.
    random_state : int, numpy.random.RandomState or None
        A seed; the same one gives the same result on the same machine. None draws one from the
        system, not from numpy's global stream.
    confidence : float
        Of ``interval_`` and ``lower_bound_``.
    folds : int
        Parts of the pairs that are held out in turn.
    seeds : int
        Networks trained for each fold, and averaged.
    hidden, batch, steps : int or None
        Size of the fit; None chooses by the number of pairs.
    permutations : int
        Of the test of independence; 0 leaves it out.
    stability : bool
        Also fit with half of the training pairs, to see how the estimate grows.
    device : {"auto", "cpu", "cuda", "mps"}

    Attributes
    ----------
    mi_ : float
        The estimate, not below zero.
    interval_ : tuple of float
        (low, high). It covers somewhat less often than ``confidence`` says, and seldom where the
        critics miss a part; the book counts this on tasks with a known answer.
    lower_bound_ : float
        Exceeded by the true value with the stated confidence, whatever the critic.
    p_value_ : float or None
        Of the permutation test.
    pmi_ : numpy.ndarray
        The held-out log ratio of each fitted pair.
    plug_in_ : float
        The mean of ``pmi_``, before anything is added.
    standard_error_ : float
        Of the plug-in: over pairs, folds and seeds.
    growth_ : tuple of float
        The gain from the last doubling of training pairs, and its standard error.
    half_ : float or None
        The plug-in from half of the training pairs.
    dv_ : float
        The held-out Donsker-Varadhan value of the same critic, an estimate.
    diagnostics_ : list
        Checks, each with ``name``, ``value``, ``expected``, ``ok`` and ``advice``.

    Notes
    -----
    A fit neither relies on nor changes the caller's default dtype and device, gradient mode, random
    streams or number of threads. One thing is torch's and stays: its products start threads, which
    a process forked afterwards lacks and waits for. Start worker processes before the first fit, or
    with ``multiprocessing.get_context("spawn")``, or call ``torch.set_num_threads(1)`` first.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal(100)
    >>> y = np.where(x + rng.standard_normal(100) > 0, "high", "low")
    >>> est = MIEstimator(random_state=0, folds=2, seeds=1, steps=20, permutations=0).fit(x, y)
    >>> bool(est.interval_[0] <= est.mi_ <= est.interval_[1])
    True
    """

    def __init__(
        self,
        *,
        unit: str = "bits",
        random_state: Any = None,
        confidence: float = 0.95,
        folds: int = 5,
        seeds: int = 2,
        hidden: int | None = None,
        batch: int | None = None,
        steps: int | None = None,
        permutations: int = 199,
        stability: bool = True,
        device: str = "auto",
    ):
        self.unit = unit
        self.random_state = random_state
        self.confidence = confidence
        self.folds = folds
        self.seeds = seeds
        self.hidden = hidden
        self.batch = batch
        self.steps = steps
        self.permutations = permutations
        self.stability = stability
        self.device = device

    def _plan(self, n: int) -> crossfit.Plan:
        """Settings for n pairs, after a look at the parameters."""
        for name, least in (("folds", 2), ("seeds", 1), ("permutations", 0)):
            whole_number(getattr(self, name), name, least)
        given = {}
        for name, least in (("hidden", 1), ("batch", 8), ("steps", 1)):
            value = getattr(self, name)
            given[name] = None if value is None else whole_number(value, name, least)
        if not isinstance(self.confidence, float | int) or not 0 < self.confidence < 1:
            raise ValueError(f"confidence={self.confidence!r} is not between 0 and 1; try 0.95")
        if n // self.folds < 10:
            raise ValueError(f"{n} pairs in {self.folds} folds leave fewer than 10 in a fold")
        device = pick_device(self.device)
        # None: a seed of its own, so that the caller's global stream stays where it is.
        state = np.random.RandomState() if self.random_state is None else self.random_state
        seed = int(check_random_state(state).randint(2**31 - 1))
        return crossfit.plan_for(n, seed, str(device), folds=self.folds, seeds=self.seeds, **given)

    def fit(self, x: Any, y: Any) -> "MIEstimator":
        """Estimate from row-wise pairs.

        Parameters
        ----------
        x, y : array_like, shape (n,) or (n, d)
            Numbers or strings: arrays, tensors, lists, pandas series or frames, in pairs of rows.

        Returns
        -------
        MIEstimator
            The estimator itself, with its attributes.
        """
        nats_per(self.unit)
        columns = table.read(x, "x"), table.read(y, "y")
        n = table.check_pairs(*columns)
        plan = self._plan(n)
        scored = crossfit.cross_fit([columns], plan)[0]
        half = crossfit.cross_fit([columns], plan, 0.5)[0] if self.stability else None
        return self._take(columns, plan, scored, half)

    def _take(self, columns, plan, scored, half) -> "MIEstimator":
        """Turn scores into the attributes."""
        unit, own = nats_per(self.unit), scored.scores[:, 0]
        n, value = len(own), float(own.mean())
        spread = uncertainty.spread_of(own, scored.fold_of, scored.by_seed)
        growth = uncertainty.Growth()
        if half is not None:
            growth = uncertainty.growth_of(own, half.scores[:, 0])
        training = len(scored.members[0].split.fold.training)
        self.n_pairs_, self.plan_ = n, plan
        self.x_columns_, self.y_columns_ = (_empty(side) for side in columns)
        self.slopes_, self.curve_, self.steps_ = scored.slopes, scored.curve, scored.steps
        self.plug_in_ = value / unit
        self.mi_ = max(0.0, (value + growth.added) / unit)
        self.growth_ = growth.gain / unit, growth.error / unit
        self.half_ = None if half is None else float(half.scores[:, 0].mean()) / unit
        self.standard_error_ = spread.total / unit
        ends = uncertainty.interval(value, spread, growth, self.confidence)
        self.interval_ = tuple(end / unit for end in ends)
        self.pmi_ = own / unit
        scale = diagnostics.mean_of_exp(scored.scores[:, 1:])[0]
        self.dv_ = (value - math.log(scale)) / unit
        self.lower_bound_ = lower_bound.of_folds(*scored.held_out(), self.confidence) / unit
        self.p_value_ = None
        if self.permutations:
            blocks = scored.blocks(permutation.BLOCK)
            self.p_value_ = permutation.p_value(blocks, self.permutations, plan.seed)
        self.reliability_ = diagnostics.reliability(own, scored.scores[:, 1:])
        self.diagnostics_ = diagnostics.check(
            scored.scores,
            scored.slopes,
            spread,
            None if half is None else growth.gain,
            training,
            plan.batch,
            table.repeated_share(*columns),
        )
        self.members_ = [member.without_data() for member in scored.members]
        return self

    def pmi(self, x: Any, y: Any) -> Float[np.ndarray, " m"]:
        """The log ratio of new pairs, the mean over the critics of all folds.

        For the pairs of the fit use ``pmi_``: there each is scored by critics that never saw it.

        Parameters
        ----------
        x, y : array_like
            Pairs with the columns of the fit.

        Returns
        -------
        numpy.ndarray, shape (m,)
        """
        check_is_fitted(self, "members_")
        columns = (
            table.read_like(x, "x", self.x_columns_),
            table.read_like(y, "y", self.y_columns_),
        )
        m = table.check_pairs(*columns)
        if m == 0:
            return np.empty(0)
        values = [crossfit.score_new(member, *columns) for member in self.members_]
        return np.mean(values, axis=0) / nats_per(self.unit)

    def report(self) -> Report:
        """A table with the diagnostics; ``report().plot()`` draws it."""
        check_is_fitted(self, "members_")
        return Report.of(self)

    def save(self, path: str | Path) -> Path:
        """Write the fitted estimator to one file of plain arrays (NPZ, no pickle)."""
        check_is_fitted(self, "members_")
        return storage.save(self, Path(path))

    @staticmethod
    def load(path: str | Path) -> "MIEstimator":
        """Read what `save` wrote; nothing in the file is executed."""
        parameters, fitted = storage.load(Path(path))
        est = MIEstimator(**parameters)
        vars(est).update(fitted)
        return est


def _empty(columns: list[table.Column]) -> list[table.Column]:
    return [replace(column, values=column.values[:0]) for column in columns]
