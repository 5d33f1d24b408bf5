"""Closed forms: the floor of the K-way JSD, and the family of bounds from DV to NWJ."""

import math

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from .ceiling import tuple_sizes
from .validate import nats_per, nonnegative_array, real_number


def chi_square_floor(
    kl: ArrayLike, chi2: ArrayLike, k: ArrayLike, unit: str = "bits"
) -> Float[np.ndarray, "..."] | float:
    r"""What Jensen's inequality does give: a lower bound on the K-way JSD.

    .. math:: D_{K\text{-JS}}(q_1, q_0) \ge D - \log\bigl(1 + \chi^2(q_1\|q_0)/K\bigr)

    Parameters
    ----------
    kl : array_like
        The divergence D(q1 || q0), finite and at least 0.
    chi2 : array_like
        The chi-square divergence of q1 from q0, at least 0; it has no unit.
    k : array_like of int
        Points of an InfoNCE tuple, at least 1.
    unit : {"bits", "nats"}
        Of ``kl`` and of the answer.

    Returns
    -------
    float or numpy.ndarray
        The bound, which may be negative.

    Examples
    --------
    >>> chi_square_floor(1.0, 1.0, 2) == 1 - math.log2(1.5)
    True
    """
    scale = nats_per(unit)
    divergence = nonnegative_array(kl, "kl")
    if np.isinf(divergence).any():
        raise ValueError("kl is infinite, and so is chi2: the floor says nothing; pass a finite kl")
    bound = divergence - np.log1p(nonnegative_array(chi2, "chi2") / tuple_sizes(k)) / scale
    return float(bound) if bound.ndim == 0 else bound


def generalised_dv(mean_log_r: float, mean_r: float, beta: float, unit: str = "bits") -> float:
    r"""The bound that InfoNCE-anchor tends to as K grows with nu/K -> beta (paper, Eq. 5).

    .. math:: \mathbb{E}_{q_1}[\log r] - (1+\beta)
              \log\Bigl(\frac{\beta + \mathbb{E}_{q_0}[r]}{1+\beta}\Bigr) \le D(q_1\|q_0)

    Parameters
    ----------
    mean_log_r : float
        The mean of log r over positives, in ``unit``.
    mean_r : float
        The mean of r over negatives, at least 0.
    beta : float
        The limit of nu/K, at least 0: 0 is Donsker-Varadhan, infinity is NWJ.
    unit : {"bits", "nats"}
        Of ``mean_log_r`` and of the answer.

    Returns
    -------
    float
        The lower bound of D(q1 || q0).

    Examples
    --------
    >>> generalised_dv(1.0, 1.0, 0.0)
    1.0
    >>> generalised_dv(1.0, 2.0, math.inf, unit="nats")
    0.0
    """
    scale = nats_per(unit)
    beta = float(beta)
    if not beta >= 0:
        raise ValueError(f"beta={beta!r} must be >= 0 (0 gives DV, inf gives NWJ)")
    mean_r = float(real_number(mean_r, "mean_r", at_least=0.0))
    excess = mean_r - 1
    if math.isinf(beta):
        return mean_log_r - excess / scale
    if beta == 0 and mean_r == 0:
        raise ValueError("mean_r=0 with beta=0: DV needs E_q0[r] > 0; scale or change the critic")
    inside = (beta + mean_r) / (1 + beta)
    # log1p keeps the digits near 1, log those near 0
    log = math.log(inside) if inside < 0.5 else math.log1p(excess / (1 + beta))
    return mean_log_r - (1 + beta) * log / scale
