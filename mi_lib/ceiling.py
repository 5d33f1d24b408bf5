r"""What InfoNCE and InfoNCE-anchor can reach at best, and what a value of theirs certifies.

Notation, in nats: :math:`D = D(q_1\|q_0)`, K points in a tuple, nu the weight of the anchor. The
classes are z = 0 (all points from q0) with prior :math:`\nu/(K+\nu)`, and z = i (point i from q1)
with prior :math:`1/(K+\nu)` each. :math:`D_{K,\nu} = I(z; x_{1:K})` is the largest value of
entropy of the prior less log loss: the K-way JSD at nu = 0, the ordinary JSD at K = nu = 1.
"""

import math

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from .validate import nats_per, nonnegative_array, plain_array

# The trapezoidal rule in s = log t: the integrand of `infonce_ceiling` is analytic and bounded for
# |Im s| < pi/2, so the error falls like exp(-pi^2 / step): 1e-34 at a step of 1/8.
_STEP = 0.125
_TAIL = 40.0  # exp(-40) < 1e-17: where the left tail is cut
_T_MAX = 700.0  # exp(-700) underflows nothing and is far below any tolerance
_SMALLEST = 1e-12  # an anchor's weight below it moves no digit that is shown

Answer = Float[np.ndarray, "..."] | float


def tuple_sizes(k: ArrayLike) -> Float[np.ndarray, "..."]:
    """K as floats, refused where one is not a whole number of at least 1."""
    sizes = plain_array(k, "k")
    if sizes.dtype.kind not in "iu" or (sizes < 1).any():
        raise ValueError(f"k={k!r} must be whole numbers >= 1: the number of points in a tuple")
    return sizes.astype(float)


def _weights(nu: ArrayLike) -> Float[np.ndarray, "..."]:
    """nu as floats; a word there is a unit in the place that it once had."""
    if isinstance(nu, str):
        raise ValueError(f"nu={nu!r} is no number; a unit is passed by name, unit={nu!r}")
    return nonnegative_array(nu, "nu")


def prior_entropy(k: ArrayLike, nu: ArrayLike = 0.0, unit: str = "bits") -> Answer:
    r"""The entropy of the classes, :math:`H = \log(K+\nu) - \frac{\nu}{K+\nu}\log\nu`.

    No value of the (K, nu) loss exceeds it; it is log K without an anchor.

    Parameters
    ----------
    k : whole numbers >= 1
        Points in a tuple.
    nu : numbers >= 0
        Weight of the anchor.
    unit : "bits" or "nats"

    Returns
    -------
    float, or an array where k or nu is one

    >>> prior_entropy(8), prior_entropy(1, 1)
    (3.0, 1.0)
    """
    sizes, weights = np.broadcast_arrays(tuple_sizes(k), _weights(nu))
    own = np.where(weights > 0, weights * np.log(np.where(weights > 0, weights, 1.0)), 0.0)
    entropy = (np.log(sizes + weights) - own / (sizes + weights)) / nats_per(unit)
    return float(entropy) if entropy.ndim == 0 else entropy


@np.errstate(under="ignore")  # what vanishes is meant to
def infonce_ceiling(kl: ArrayLike, k: ArrayLike, nu: ArrayLike = 0.0, unit: str = "bits") -> Answer:
    r"""The largest :math:`D_{K,\nu}`, hence value of InfoNCE(-anchor), at a given KL divergence.

    .. math:: B_{K,\nu}(D) = \tfrac{K}{K+\nu} D
              - \mathbb{E}\,\phi\Bigl(\tfrac{\nu + N e^D}{K+\nu}\Bigr), \qquad
              N \sim \mathrm{Binomial}(K, e^{-D}), \quad \phi(m) = m \log m

    (ours; sharp). Equality holds if and only if q1 is q0 conditioned on an event of probability
    ``exp(-D)``. At nu = 0, InfoNCE, it is :math:`\log K - \mathbb{E}\log(1+N)` with
    :math:`N \sim \mathrm{Binomial}(K-1, e^{-D})`. Computed as the integral of a positive function,

    .. math:: \int_0^\infty \Bigl(\tfrac{K}{K+\nu} \mathbb{E} e^{-At}
              + \tfrac{\nu}{K+\nu}\mathbb{E} e^{-Ct} - e^{-(K+\nu)t}\Bigr)\frac{dt}{t},\qquad
              A = 1 + N' + \nu e^{-D},\quad C = \nu + N e^D,

    N' with one trial less, so that nothing cancels and K may be large.

    Parameters
    ----------
    kl : numbers >= 0
        The divergence :math:`D(q_1\|q_0)`, or the mutual information.
    k : whole numbers >= 1
        Points in a tuple: B for InfoNCE on B pairs, B - 1 for the anchored loss.
    nu : numbers >= 0
        Weight of the anchor; 0 is InfoNCE.
    unit : "bits" or "nats"
        Of ``kl`` and of the answer.

    Returns
    -------
    float, or an array where an argument is one

    >>> round(infonce_ceiling(2.0, 4), 7), round(infonce_ceiling(2.0, 1, nu=1), 7)
    (1.3239896, 0.5487949)
    >>> infonce_ceiling([0.0, float("inf")], 8).tolist()
    [0.0, 3.0]
    """
    scale = nats_per(unit)
    divergence, sizes, weights = np.broadcast_arrays(
        nonnegative_array(kl, "kl") * scale, tuple_sizes(k), _weights(nu)
    )
    anchored = weights[weights > 0]
    right = math.log(_T_MAX) - math.log(min(1.0, max(_SMALLEST, anchored.min(initial=1.0))))
    left = _TAIL + math.log((sizes + weights).max(initial=1.0))
    t = np.exp(np.arange(-left, right, _STEP))
    k_, nu_, d = sizes[..., None], weights[..., None], divergence[..., None]
    total = k_ + nu_
    integrand = k_ / total * _with_pair(t, k_, nu_, d) + nu_ / total * _without(t, k_, nu_, d)
    ceiling = integrand.sum(-1) * _STEP / scale
    ceiling = np.where(
        np.isinf(divergence), prior_entropy(sizes.astype(int), weights, unit), ceiling
    )
    return float(ceiling) if ceiling.ndim == 0 else ceiling


def _with_pair(t: np.ndarray, k: np.ndarray, nu: np.ndarray, d: np.ndarray) -> np.ndarray:
    """E exp(-At) - exp(-(K + nu) t), with the large powers of e^t cancelled by hand."""
    hit, miss = np.exp(-d), -np.expm1(-d)
    with np.errstate(divide="ignore"):
        stay = np.maximum(np.log1p(hit * np.expm1(-t)), -_T_MAX)
    grown = (k - 1) * np.log1p(miss * np.expm1(np.minimum(t, _T_MAX)))
    return -np.exp(-(1 + nu * hit) * t + (k - 1) * stay) * np.expm1(-grown - nu * miss * t)


def _without(t: np.ndarray, k: np.ndarray, nu: np.ndarray, d: np.ndarray) -> np.ndarray:
    """E exp(-Ct) - exp(-(K + nu) t), likewise; t + stay in the form in which less cancels."""
    hit, miss = np.exp(-d), -np.expm1(-d)
    far = np.exp(np.minimum(d + np.log(t), _T_MAX))  # t e^D
    with np.errstate(divide="ignore"):
        stay = np.logaddexp(np.log(miss), -d - far)  # log(miss + hit exp(-far))
    near = np.minimum(far, _T_MAX)
    small = np.log1p(miss * np.expm1(near)) - miss * near  # miss t e^D = (e^D - 1) t
    direct = t + np.log1p(np.maximum(hit * np.expm1(-far), -0.5))
    grown = np.where(hit <= 0.5, direct, np.where(far < _T_MAX, small, t + stay))
    return -np.exp(-nu * t + k * stay) * np.expm1(-k * np.maximum(grown, 0.0))


def certified_kl(value: ArrayLike, k: ArrayLike, nu: ArrayLike = 0.0, unit: str = "bits") -> Answer:
    r"""The smallest divergence that allows a value: the inverse of `infonce_ceiling`.

    .. math:: D(q_1\|q_0) \ge B_{K,\nu}^{-1}(v) \ge v

    for the population value v = prior entropy less log loss of any fixed critic (of InfoNCE: its
    usual value, which contains log K). A better lower bound than v itself, and a sharp one. A value
    of `prior_entropy` gives infinity; a larger one is refused, because no critic reaches it in
    expectation. A mean over a sample certifies nothing by itself: pass a lower confidence limit.

    Parameters
    ----------
    value : numbers >= 0
    k : whole numbers >= 1
        Points in a tuple: B for InfoNCE on B pairs, B - 1 for the anchored loss.
    nu : numbers >= 0
        Weight of the anchor; 0 is InfoNCE.
    unit : "bits" or "nats"
        Of ``value`` and of the answer.

    Returns
    -------
    float, or an array where an argument is one

    >>> round(certified_kl(infonce_ceiling(2.0, 4), 4), 9)
    2.0
    """
    scale = nats_per(unit)
    given = nonnegative_array(value, "value") * scale
    given, sizes, weights = np.broadcast_arrays(given, tuple_sizes(k), _weights(nu))
    whole = sizes.astype(int)
    most = np.asarray(prior_entropy(whole, weights, "nats"))
    if (over := given > most * (1 + 1e-12)).any():
        raise ValueError(
            f"value={given[over].flat[0] / scale:g} {unit} is above the entropy of the classes, "
            f"{most[over].flat[0] / scale:g} {unit} (log K without an anchor), which no critic "
            "reaches in expectation; check k and nu, or average over more batches"
        )
    certain = given >= most * (1 - 1e-15)
    low, high = given.copy(), given + 1.0
    while (short := ~certain & (infonce_ceiling(high, whole, weights, "nats") < given)).any():
        certain = certain | (short & (high > _T_MAX))  # nearer to the entropy than digits tell
        high = np.where(short, 2 * high, high)
    for _ in range(60):
        middle = (low + high) / 2
        below = infonce_ceiling(middle, whole, weights, "nats") < given
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    answer = np.where(given == 0, 0.0, np.where(certain, np.inf, (low + high) / 2)) / scale
    return float(answer) if answer.ndim == 0 else answer
