r"""`MIEstimator`: fit two arrays, read off the mutual information."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
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

    Parameters, all by name:

    - ``unit``: "bits" or "nats" of all values;
    - ``random_state``: a seed; the same one gives the same result on the same machine;
    - ``confidence`` of ``interval_`` and ``lower_bound_``;
    - ``folds``, ``seeds``, ``hidden``, ``batch``, ``steps``: size of the fit; None chooses by the
      number of pairs;
    - ``permutations`` of the test of independence; 0 leaves it out;
    - ``stability``: also fit with half of the training pairs, to see how the estimate grows;
    - ``device``: "auto", "cpu", "cuda" or "mps".

    After the fit:

    - ``mi_``: the estimate, not below zero;
    - ``plug_in_``: the mean of ``pmi_``, before anything is added;
    - ``growth_``: the gain from the last doubling of training pairs, and its standard error;
    - ``interval_``: (low, high); ``standard_error_``: its random part. On tasks with a known answer
      it covers somewhat less often than ``confidence`` says, and seldom where the critics miss a
      part (the book's chapter on choosing an estimator has the counts);
    - ``lower_bound_``: exceeded by the true value with the stated confidence;
    - ``dv_``: the held-out Donsker-Varadhan value of the same critic, an estimate;
    - ``p_value_`` of the permutation test; None where it was left out;
    - ``half_``: the plug-in from half of the training pairs; None where left out;
    - ``pmi_``: the held-out log ratio of each fitted pair;
    - ``diagnostics_``: a list of checks.
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
        device = _device(self.device)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return crossfit.plan_for(n, seed, str(device), folds=self.folds, seeds=self.seeds, **given)

    def fit(self, x: Any, y: Any) -> "MIEstimator":
        """Estimate from row-wise pairs; (n,) or (n, d), numbers or strings."""
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
        self.lower_bound_ = self._lower_bound(scored) / unit
        self.p_value_ = self._tested(scored, plan.seed) if self.permutations else None
        self.reliability_ = diagnostics.reliability(own, scored.scores[:, 1:])
        repeated = _repeated(*columns)
        self.diagnostics_ = diagnostics.check(
            scored.scores,
            scored.slopes,
            spread,
            None if half is None else growth.gain,
            training,
            plan.batch,
            repeated,
        )
        self.members_ = [_without_data(member) for member in scored.members]
        return self

    def _lower_bound(self, scored: crossfit.Scored) -> float:
        held = [scored.scores[member.split.fold.held_out] for member in scored.members]
        levels = [
            lower_bound.choose_level(
                member.validated,
                len(part),
                (1 - self.confidence) / len(held),
                math.log(self.n_pairs_) - 1,
            )
            for member, part in zip(scored.members, held, strict=True)
        ]
        return lower_bound.lower_bound(held, levels, self.confidence)

    def _tested(self, scored: crossfit.Scored, seed: int) -> float:
        blocks = []
        for member in scored.members:
            held = member.split.fold.held_out
            parts = np.array_split(held, math.ceil(len(held) / permutation.BLOCK))
            blocks += [crossfit.block_scores(member, part) for part in parts]
        return permutation.p_value(blocks, self.permutations, seed)

    def pmi(self, x: Any, y: Any) -> Float[np.ndarray, " m"]:
        """The log ratio of new pairs, the mean over the critics of all folds.

        For the pairs of the fit use ``pmi_``: there each is scored by critics that never saw it.
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


def _device(name: Any) -> torch.device:
    """The device of that name, if a tensor can be put there."""
    try:
        device = pick_device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError, NotImplementedError):
        raise ValueError(
            f"device={name!r} cannot be used here; pass 'auto', 'cpu', or one that torch can use"
        ) from None
    return device


def _empty(columns: list[table.Column]) -> list[table.Column]:
    return [replace(column, values=column.values[:0]) for column in columns]


def _without_data(member: crossfit.Member) -> crossfit.Member:
    nothing = dict.fromkeys(("x", "y", "side_x", "side_y", "most_x", "most_y", "fold"))
    return replace(member, split=replace(member.split, **nothing), validated=None)


def _repeated(x: list[table.Column], y: list[table.Column]) -> float:
    """Share of rows that copy an earlier one; 0 where all columns are symbols: they repeat."""
    if all(column.symbols is not None for column in [*x, *y]):
        return 0.0
    frame = pd.DataFrame({str(i): column.values for i, column in enumerate([*x, *y])})
    return float(frame.duplicated().mean())
