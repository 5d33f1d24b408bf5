r"""Losses that compare pairs one by one with all negatives of a batch: DV, MINE, NWJ, JS, ..."""

import math
from typing import Any

import torch

from .. import objectives
from ..validate import real_number
from .tuples import Loss, inverse


class DV(Loss):
    r"""Donsker-Varadhan: :math:`-\mathbb{E}_{p(x,y)}[c] + \log\mathbb{E}_{p(x)p(y)}[e^c]`."""

    reports = "dv"

    def objective(self, scores: objectives.Scores) -> objectives.Loss:
        return objectives.dv(scores)


class MINE(Loss):
    r"""DV with the denominator of its gradient replaced by a running mean.

    Parameters
    ----------
    rate : number in (0, 1]
        How much of the running mean each batch replaces.
    temperature, check
        See `Loss`.
    """

    reports = "dv"

    def __init__(self, *, rate: float = 0.01, **shared: Any):
        super().__init__(**shared)
        if not 0 < real_number(rate, "rate") <= 1:
            raise ValueError(f"rate={rate!r} is outside (0, 1]: the share that a batch replaces")
        self.rate = rate
        self.register_buffer("log_mean", torch.tensor(math.nan))

    def objective(self, scores: objectives.Scores) -> objectives.Loss:
        own = objectives.log_mean_exp(objectives.negatives(scores), 2).detach()
        if not self.training:
            return objectives.dv(scores)
        before = torch.where(self.log_mean.isnan(), own, self.log_mean.to(own))
        rest = math.log1p(-self.rate) if self.rate < 1 else -math.inf
        self.log_mean = torch.logaddexp(before + rest, own + math.log(self.rate)).to(self.log_mean)
        return objectives.mine(scores, self.log_mean)


class NWJ(Loss):
    r"""NWJ: :math:`-\mathbb{E}_{p(x,y)}[c] + \mathbb{E}_{p(x)p(y)}[e^c] - 1`, a lower bound of the
    mutual information; optimal at the log ratio."""

    def objective(self, scores: objectives.Scores) -> objectives.Loss:
        return objectives.nwj(scores)

    def bound(self, loss: float, pairs: int) -> float:
        return -loss


class JS(Loss):
    r"""Jensen-Shannon, or noise-contrastive:
    :math:`\mathbb{E}_{p(x,y)}[\mathrm{sp}(-c)] + \mathbb{E}_{p(x)p(y)}[\mathrm{sp}(c)]`, twice the
    anchored loss at K = nu = 1; optimal at the log ratio."""

    def objective(self, scores: objectives.Scores) -> objectives.Loss:
        return objectives.js(scores)

    def setting(self, pairs: int) -> str:
        return "K = nu = 1"

    def bound(self, loss: float, pairs: int) -> float:
        return math.log(2) - loss / 2

    def certified(self, loss: float, pairs: int) -> float:
        return inverse(self.bound(loss, pairs), 1, 1.0)


class ChiSquare(Loss):
    r"""Density-ratio fitting:
    :math:`-2\,\mathbb{E}_{p(x,y)}[e^c] + \mathbb{E}_{p(x)p(y)}[e^{2c}]`; optimal at the log
    ratio."""

    def objective(self, scores: objectives.Scores) -> objectives.Loss:
        return objectives.chi_square(scores)


class Hellinger(Loss):
    r"""Hellinger: :math:`\mathbb{E}_{p(x,y)}[e^{-c/2}] + \mathbb{E}_{p(x)p(y)}[e^{c/2}] - 2`;
    optimal at the log ratio."""

    def objective(self, scores: objectives.Scores) -> objectives.Loss:
        return objectives.hellinger(scores)
