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

    ``mean_log_r`` is in ``unit``; ``beta=0`` is Donsker-Varadhan, ``beta=inf`` is NWJ.

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
