"""Closed forms: what InfoNCE can reach at best, and the family of bounds from DV to NWJ.

Notation: ``D = D(q1 || q0)``, ``K`` is the number of points of an InfoNCE tuple (one positive,
``K - 1`` negatives), ``N ~ Binomial(K - 1, exp(-D))`` with ``D`` in nats.
"""

import math

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from .validate import nats_per, nonnegative_array, real_number

# The trapezoidal rule in s = log t: the integrand of `infonce_ceiling` is analytic and bounded for
# |Im s| < pi/2, so the error falls like exp(-pi^2 / step): 1e-34 at a step of 1/8.
_STEP = 0.125
_TAIL = 40.0  # exp(-40) < 1e-17: where the left tail is cut
_T_MAX = 700.0  # exp(-700) underflows nothing and is far below any tolerance


def tuple_sizes(k: ArrayLike) -> Float[np.ndarray, "..."]:
    """K as floats, refused where one is not a whole number of at least 1.

    Parameters
    ----------
    k : array_like of int

    Returns
    -------
    numpy.ndarray

    Examples
    --------
    >>> tuple_sizes([1, 64]).tolist()
    [1.0, 64.0]
    """
    sizes = np.asarray(k)
    if sizes.dtype.kind not in "iu" or (sizes < 1).any():
        raise ValueError(f"k={k!r} must be whole numbers >= 1: the number of points in a tuple")
    return sizes.astype(float)


def infonce_ceiling(
    kl: ArrayLike, k: ArrayLike, unit: str = "bits"
) -> Float[np.ndarray, "..."] | float:
    r"""The largest K-way JSD, hence InfoNCE value, at a given KL divergence (ours; sharp).

    .. math:: B_K(D) = \log K - \mathbb{E}\log(1 + N),
              \qquad N \sim \mathrm{Binomial}(K-1, e^{-D})

    Equality holds if and only if q1 is q0 conditioned on an event of probability ``exp(-D)``.
    Computed for any number of pairs (D, K) at once as the integral of a positive function,

    .. math:: B_K(D) = \int_0^\infty e^{-Kt}
              \bigl[(1 + (1-e^{-D})(e^t-1))^{K-1} - 1\bigr] \frac{dt}{t},

    so that nothing cancels and K may be large.

    Parameters
    ----------
    kl : array_like
        The divergence D(q1 || q0), at least 0; infinity is allowed.
    k : array_like of int
        Points of an InfoNCE tuple, at least 1; broadcast against ``kl``.
    unit : {"bits", "nats"}
        Of ``kl`` and of the answer.

    Returns
    -------
    float or numpy.ndarray
        The ceiling, at most log K; a number where both arguments are numbers.

    Examples
    --------
    >>> round(infonce_ceiling(2.0, 4), 7)
    1.3239896
    >>> infonce_ceiling([0.0, float("inf")], 8).tolist()
    [0.0, 3.0]
    """
    scale = nats_per(unit)
    divergence, sizes = np.broadcast_arrays(nonnegative_array(kl, "kl") * scale, tuple_sizes(k))
    s = np.arange(-(_TAIL + math.log(sizes.max(initial=1.0))), math.log(_T_MAX), _STEP)
    t = np.exp(s)
    k_, hit = sizes[..., None], np.exp(-divergence)[..., None]
    miss = -np.expm1(-divergence)[..., None]
    # exp(-Kt) ((1 + miss (e^t - 1))^(K-1) - 1), with the large powers of e^t cancelled by hand
    with np.errstate(divide="ignore"):
        stay = np.maximum(np.log1p(hit * np.expm1(-t)), -_T_MAX)
    integrand = -np.exp(-t + (k_ - 1) * stay) * np.expm1(-(k_ - 1) * np.log1p(miss * np.expm1(t)))
    ceiling = integrand.sum(-1) * _STEP
    ceiling = np.where(np.isinf(divergence), np.log(sizes), ceiling) / scale
    return float(ceiling) if ceiling.ndim == 0 else ceiling


def certified_kl(
    infonce: ArrayLike, k: ArrayLike, unit: str = "bits"
) -> Float[np.ndarray, "..."] | float:
    r"""The smallest divergence that allows an InfoNCE value: the inverse of `infonce_ceiling`.

    .. math:: D(q_1\|q_0) \ge B_K^{-1}(\mathcal{D}_{\text{InfoNCE}})
              \ge \mathcal{D}_{\text{InfoNCE}}

    A better lower bound than the value itself, and a sharp one.

    Parameters
    ----------
    infonce : array_like
        An InfoNCE value in expectation, from 0 to log K. A larger one is refused, because no critic
        reaches it in expectation.
    k : array_like of int
        Points of an InfoNCE tuple, at least 1; broadcast against ``infonce``.
    unit : {"bits", "nats"}
        Of ``infonce`` and of the answer.

    Returns
    -------
    float or numpy.ndarray
        The lower bound of D(q1 || q0); infinity at log K.

    Examples
    --------
    >>> round(certified_kl(infonce_ceiling(2.0, 4), 4), 9)
    2.0
    """
    scale = nats_per(unit)
    value = nonnegative_array(infonce, "infonce") * scale
    value, sizes = np.broadcast_arrays(value, tuple_sizes(k))
    if (over := value > np.log(sizes) * (1 + 1e-12)).any():
        raise ValueError(
            f"infonce={value[over].flat[0] / scale:g} {unit} is above log K = "
            f"{np.log(sizes[over].flat[0]) / scale:g} {unit}, which no critic reaches in "
            "expectation; check k, or average over more batches"
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        # the bound that the paper prints lies below infonce_ceiling: its inverse lies above
        high = np.log(sizes - 1) - np.log(np.maximum(sizes * np.exp(-value) - 1, 0.0))
    low = value.copy()
    certain = (value == 0) | ~np.isfinite(high)
    high = np.where(certain, low, np.maximum(high, low))
    for _ in range(60):
        middle = (low + high) / 2
        below = infonce_ceiling(middle, sizes.astype(int), "nats") < value
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    answer = np.where(value == 0, 0.0, np.where(certain, np.inf, (low + high) / 2)) / scale
    return float(answer) if answer.ndim == 0 else answer


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
