"""Exact expectations for distributions on finite alphabets.

A tuple of K symbols enters every objective here only through how often each symbol occurs, so an
expectation over K draws is a sum over multinomial counts: C(K + n - 1, n - 1) terms for n symbols
instead of n^K. Give floats for floating-point answers; give sympy numbers or symbols (or
`fractions.Fraction`) for exact ones, at small K.

>>> round(k_way_jsd((0, 1), (0.75, 0.25), 4), 7)
1.3239896
>>> k_way_jsd((0, 1), (sp.Rational(1, 2), sp.Rational(1, 2)), 2)
1/2

Arguments are in the paper's order, q1 (positives) before q0 (negatives); a critic ``r`` is the
ratio model itself, not its logarithm.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp
import torch

from . import bounds
from .alphabet import Alphabet, Numbers, is_exact
from .scoring import Log, ScoringRule
from .symtorch import SymTensor
from .validate import anchor_weight, real_number, whole_number

_ROWS = 1 << 14  # tuples scored at once by `anchored_risk`


def kl(q1: Numbers, q0: Numbers, unit: str = "bits") -> Any:
    r"""Kullback-Leibler divergence :math:`D(q_1\|q_0) = \mathbb{E}_{q_1}[\log(q_1/q_0)]`.

    Parameters
    ----------
    q1, q0 : sequence of numbers
        Probability of each symbol among positives (q1), among negatives (q0).
    unit : {"bits", "nats"}

    Returns
    -------
    float or sympy.Expr
        The divergence; exact where the arguments are.

    Examples
    --------
    >>> kl((0, 1), (0.75, 0.25))
    2.0
    """
    alphabet = Alphabet(q1, q0, None, unit)
    return alphabet.answer(alphabet.mean_log_r())


def chi_square(q1: Numbers, q0: Numbers) -> Any:
    r"""Chi-square divergence :math:`\chi^2(q_1\|q_0) = \mathbb{E}_{q_1}[q_1/q_0] - 1`.

    Parameters
    ----------
    q1, q0 : sequence of numbers
        Probability of each symbol among positives (q1), among negatives (q0).

    Returns
    -------
    float or sympy.Expr
        The divergence, which has no unit.

    Examples
    --------
    >>> chi_square((0, 1), (0.75, 0.25))
    3.0
    """
    alphabet = Alphabet(q1, q0, None)
    return alphabet.answer(alphabet.mean(alphabet.r, alphabet.q1) - 1)


def infonce(r: Numbers, q1: Numbers, q0: Numbers, k: int, unit: str = "bits") -> Any:
    r"""InfoNCE value of a critic on tuples of K points (paper, Section 2.2).

    .. math:: \mathcal{D}_{\text{InfoNCE}} = \mathbb{E}_{q_1(x_1)q_0(x_2)\cdots q_0(x_K)}
              \log\frac{r(x_1)}{\frac1K\sum_z r(x_z)}

    Parameters
    ----------
    r, q1, q0 : sequence of numbers
        One number a symbol: the critic r, the probability among positives (q1), negatives (q0).
    k : int
        Points of a tuple: one positive and K - 1 negatives.
    unit : {"bits", "nats"}

    Returns
    -------
    float or sympy.Expr

    Examples
    --------
    >>> infonce((1, 1), (0, 1), (0.5, 0.5), 2)
    0.0
    """
    k = whole_number(k, "k", 1)
    return _tuple_value(Alphabet(q1, q0, r, unit), k, lambda own, rest: (own + rest) / k)


def k_way_jsd(q1: Numbers, q0: Numbers, k: int, unit: str = "bits") -> Any:
    r"""The K-way Jensen-Shannon divergence, what InfoNCE can reach at best (paper, Theorem 2).

    .. math:: D_{K\text{-JS}}(q_1, q_0) = \frac1K\sum_{z=1}^K D\Bigl(p(x_{1:K}|z)\,\Big\|\,
              \frac1K\sum_{z'}p(x_{1:K}|z')\Bigr)

    It is the InfoNCE value of the critic r = q1/q0.

    Parameters
    ----------
    q1, q0 : sequence of numbers
        Probability of each symbol among positives (q1), among negatives (q0).
    k : int
        Points of a tuple: one positive and K - 1 negatives.
    unit : {"bits", "nats"}

    Returns
    -------
    float or sympy.Expr
        The divergence, at most log K and at most D(q1 || q0).

    Examples
    --------
    >>> k_way_jsd((0, 1), (0.5, 0.5), 2)
    0.5
    """
    k = whole_number(k, "k", 1)
    return _tuple_value(Alphabet(q1, q0, None, unit), k, lambda own, rest: (own + rest) / k)


def alpha_infonce(
    r: Numbers, q1: Numbers, q0: Numbers, k: int, alpha: Any, unit: str = "bits"
) -> Any:
    r"""alpha-InfoNCE (Poole et al. 2019); alpha = 1/K is InfoNCE.

    .. math:: \mathbb{E}_{q_1(x_1)q_0(x_2)\cdots q_0(x_K)}
              \log\frac{r(x_1)}{\alpha r(x_1) + \frac{1-\alpha}{K-1}\sum_{z\ge2} r(x_z)}

    Parameters
    ----------
    r, q1, q0 : sequence of numbers
        One number a symbol: the critic r, the probability among positives (q1), negatives (q0).
    k : int
        Points of a tuple: one positive and K - 1 negatives.
    alpha : number
        Weight of the positive in the mean, from 0 to 1.
    unit : {"bits", "nats"}

    Returns
    -------
    float or sympy.Expr

    Examples
    --------
    >>> alpha_infonce((0.5, 2), (0.25, 0.75), (0.5, 0.5), 2, 1.0)
    0.0
    """
    k = whole_number(k, "k", 2)
    alphabet = Alphabet(q1, q0, r, unit)
    if not 0 <= float(real_number(alpha, "alpha")) <= 1:
        raise ValueError(f"alpha={alpha!r} is outside [0, 1]; it weights the positive in the mean")
    alpha = sp.sympify(alpha) if alphabet.exact else float(alpha)
    return _tuple_value(alphabet, k, lambda own, rest: alpha * own + (1 - alpha) * rest / (k - 1))


def _tuple_value(alphabet: Alphabet, k: int, denominator: Callable) -> Any:
    """E log r(x1)/denominator(r(x1), sum of r over the K - 1 negatives)."""
    counts, weights = alphabet.draws(alphabet.q0, k - 1)
    rest, drawn = counts @ alphabet.r, weights != 0
    value = 0
    for i in alphabet.support:
        logs = alphabet.log(denominator(alphabet.r[i], rest[drawn]))
        value = value + alphabet.q1[i] * (
            alphabet.log(alphabet.r[i]) - (weights[drawn] * logs).sum()
        )
    return alphabet.answer(value)


def ml_infonce(r: Numbers, q1: Numbers, q0: Numbers, k: int, m: int, unit: str = "bits") -> Any:
    r"""Multi-label InfoNCE (Song & Ermon 2020) with m positives and m (k - 1) negatives.

    .. math:: \mathbb{E}\,\frac1m\sum_{w=1}^m \log\frac{mk\,r(x_{w1})}
              {\sum_{w'=1}^m\bigl(r(x_{w'1}) + \sum_{z=2}^k r(x_{w'z})\bigr)}

    The factors 1/m and mk are missing in the paper's display; with them m = 1 is InfoNCE and the
    value is at most D(q1 || q0).

    Parameters
    ----------
    r, q1, q0 : sequence of numbers
        One number a symbol: the critic r, the probability among positives (q1), negatives (q0).
    k, m : int
        There are m positives, and k - 1 negatives for each.
    unit : {"bits", "nats"}

    Returns
    -------
    float or sympy.Expr

    Examples
    --------
    >>> ml_infonce((1, 3), (0.25, 0.75), (0.5, 0.5), 3, 1) == infonce(
    ...     (1, 3), (0.25, 0.75), (0.5, 0.5), 3)
    True
    """
    k, m = whole_number(k, "k", 1), whole_number(m, "m", 1)
    alphabet = Alphabet(q1, q0, r, unit)
    counts, weights = alphabet.draws(alphabet.q0, m * (k - 1))
    rest, drawn = counts @ alphabet.r, weights != 0
    value = alphabet.mean_log_r()
    for positives, weight in zip(*alphabet.draws(alphabet.q1, m), strict=True):
        if weight != 0:
            logs = alphabet.log((positives @ alphabet.r + rest[drawn]) / (m * k))
            value = value - weight * (weights[drawn] * logs).sum()
    return alphabet.answer(value)


def anchored_risk(
    r: Numbers, q1: Numbers, q0: Numbers, k: int, nu: Any, rule: ScoringRule | None = None
) -> Any:
    r"""Population loss of InfoNCE-anchor for any scoring rule (paper, Eq. 4 and Proposition 20).

    .. math:: \frac{K}{K+\nu}\,\mathbb{E}_{q_1(x_1)q_0(x_2)\cdots}[\lambda_1(\eta_\theta)]
              + \frac{\nu}{K+\nu}\,\mathbb{E}_{q_0(x_1)q_0(x_2)\cdots}[\lambda_0(\eta_\theta)],
              \qquad \eta_\theta \propto (\nu, r(x_1), \dots, r(x_K))

    Parameters
    ----------
    r, q1, q0 : sequence of numbers
        One number a symbol: the critic r, the probability among positives (q1), negatives (q0).
    k : int
        Points of a tuple.
    nu : number
        Weight of the anchor, at least 0. Without it (0) there is no class 0, and K is at least 2.
    rule : mi_lib.scoring.ScoringRule, optional
        Must treat classes 1..K alike, as all rules of this library do; `Log` by default.

    Returns
    -------
    float or sympy.Expr
        The loss in the rule's own unit (nats for `Log`).

    Examples
    --------
    >>> anchored_risk((1, 1), (0, 1), (0.5, 0.5), 1, 1) == math.log(2)
    True
    """
    rule = Log() if rule is None else rule
    k = whole_number(k, "k", 1)
    anchor_weight(nu, k, rule)
    alphabet = Alphabet(q1, q0, r)
    nu = sp.sympify(nu) if alphabet.exact else float(nu)
    value = 0
    for i in alphabet.support:
        value = value + k * alphabet.q1[i] * _mean_loss(alphabet, [i], k - 1, nu, rule)
    if nu != 0:
        value = value + nu * _mean_loss(alphabet, [], k, nu, rule)
    return alphabet.answer(value / (k + nu))


def _mean_loss(alphabet: Alphabet, own: list[int], draws: int, nu: Any, rule: ScoringRule) -> Any:
    """E lambda_z over tuples of the symbols ``own`` and ``draws`` more from q0.

    z is the class of the first symbol of ``own``, or class 0 when ``own`` is empty.
    """
    counts, weights = alphabet.draws(alphabet.q0, draws)
    counts, weights = counts[weights != 0], weights[weights != 0]
    anchor = [nu] if nu != 0 else []
    z = len(anchor) if own else 0
    head = np.array(anchor + [alphabet.r[i] for i in own], dtype=alphabet.r.dtype)
    mean = 0
    for start in range(0, len(counts), _ROWS):
        rows = counts[start : start + _ROWS]
        tuples = np.repeat(np.tile(np.arange(alphabet.r.size), len(rows)), rows.ravel())
        log_eta = _log_posteriors(alphabet, head, tuples.reshape(len(rows), draws))
        mean = mean + (weights[start : start + _ROWS] * np.asarray(rule.loss(log_eta, z))).sum()
    return mean


def _log_posteriors(alphabet: Alphabet, head: np.ndarray, tuples: np.ndarray) -> Any:
    """Log class probabilities proportional to (head, r at the symbols of each tuple)."""

    def rows(first: np.ndarray, table: np.ndarray) -> np.ndarray:
        return np.concatenate([np.tile(first, (len(tuples), 1)), table[tuples]], 1)

    if alphabet.exact:
        scores = rows(head, alphabet.r)
        return SymTensor(scores / scores.sum(1, keepdims=True)).log()
    with np.errstate(divide="ignore"):
        log_scores = rows(np.log(head), np.log(alphabet.r))
    return torch.from_numpy(log_scores).log_softmax(-1)


def generalised_dv(r: Numbers, q1: Numbers, q0: Numbers, beta: Any, unit: str = "bits") -> Any:
    r"""Generalised Donsker-Varadhan value of a critic (paper, Eq. 5); see `mi_lib.bounds`.

    .. math:: \mathbb{E}_{q_1}[\log r] - (1+\beta)
              \log\Bigl(\frac{\beta + \mathbb{E}_{q_0}[r]}{1+\beta}\Bigr)

    Parameters
    ----------
    r, q1, q0 : sequence of numbers
        One number a symbol: the critic r, the probability among positives (q1), negatives (q0).
    beta : number
        At least 0: 0 is Donsker-Varadhan, infinity is NWJ.
    unit : {"bits", "nats"}

    Returns
    -------
    float or sympy.Expr
        The value, at most D(q1 || q0).

    Examples
    --------
    >>> generalised_dv((0, 4), (0, 1), (0.75, 0.25), 1.0)
    2.0
    """
    alphabet = Alphabet(q1, q0, r, unit)
    mean_r = alphabet.mean(alphabet.r, alphabet.q0)
    if not alphabet.exact:
        return bounds.generalised_dv(
            float(alphabet.mean_log_r() / alphabet.scale), mean_r, beta, unit
        )
    beta = sp.sympify(beta)
    if beta is sp.nan or beta.is_negative:
        raise ValueError(f"beta={beta} must be >= 0 (0 gives DV, inf gives NWJ)")
    if beta == sp.oo:
        return alphabet.answer(alphabet.mean_log_r() - mean_r + 1)
    return alphabet.answer(
        alphabet.mean_log_r() - (1 + beta) * sp.log((beta + mean_r) / (1 + beta))
    )


def dv(r: Numbers, q1: Numbers, q0: Numbers, unit: str = "bits") -> Any:
    r"""Donsker-Varadhan value :math:`\mathbb{E}_{q_1}[\log r] - \log\mathbb{E}_{q_0}[r]`.

    Parameters
    ----------
    r, q1, q0 : sequence of numbers
        One number a symbol: the critic r, the probability among positives (q1), negatives (q0).
    unit : {"bits", "nats"}

    Returns
    -------
    float or sympy.Expr
        The value, at most D(q1 || q0).

    Examples
    --------
    >>> dv((0, 1), (0, 1), (0.75, 0.25))
    2.0
    """
    return generalised_dv(r, q1, q0, 0, unit)


def nwj(r: Numbers, q1: Numbers, q0: Numbers, unit: str = "bits") -> Any:
    r"""NWJ value :math:`\mathbb{E}_{q_1}[\log r] - \mathbb{E}_{q_0}[r] + 1` (in nats).

    Parameters
    ----------
    r, q1, q0 : sequence of numbers
        One number a symbol: the critic r, the probability among positives (q1), negatives (q0).
    unit : {"bits", "nats"}

    Returns
    -------
    float or sympy.Expr
        The value, at most D(q1 || q0).

    Examples
    --------
    >>> nwj((0, 4), (0, 1), (0.75, 0.25))
    2.0
    """
    return generalised_dv(r, q1, q0, sp.oo if is_exact(r, q1, q0) else math.inf, unit)
