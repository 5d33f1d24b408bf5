r"""The K-way Jensen-Shannon divergence from the distribution of the ratio alone.

What InfoNCE can reach depends on q1 and q0 only through the distribution Q of r(x) = q1(x)/q0(x),
x ~ q0. So the value is known before any training wherever that distribution is known.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import ArrayLike
from torch import Tensor

from mi_lib.objectives import infonce
from mi_lib.validate import nats_per, nonnegative_array, whole_number

_STEP, _LOW, _HIGH = 0.02, -50.0, 60.0  # of log t; the integrand is analytic in log t


def jsd_of_distribution(ratios: ArrayLike, weights: ArrayLike, k: int, unit: str = "bits") -> float:
    r"""The K-way JSD of any pair whose ratio takes ``ratios`` with q0-probabilities ``weights``.

    .. math:: D_{K\text{-JS}} = D + \log K
              - \int_0^\infty \bigl(e^{-t} + L'(t) L(t)^{K-1}\bigr)\frac{dt}{t},
              \qquad L(t) = \mathbb{E}_Q e^{-tr}

    by the trapezoidal rule in log t.

    >>> round(jsd_of_distribution([0, 4], [3 / 4, 1 / 4], 4), 4)
    1.324
    """
    k = whole_number(k, "k", 2)
    r, q = nonnegative_array(ratios, "ratios"), nonnegative_array(weights, "weights")
    if r.shape != q.shape or r.ndim != 1:
        raise ValueError(f"ratios have shape {r.shape} and weights {q.shape}; pass equal lists")
    if abs(q.sum() - 1) > 1e-9 or abs(q @ r - 1) > 1e-9:
        raise ValueError(
            f"weights sum to {q.sum():g} and the mean ratio is {q @ r:g}; both must be 1"
        )
    t = np.exp(np.arange(_LOW, _HIGH, _STEP))[:, None]
    decay = q * np.exp(-t * r)
    integrand = np.exp(-t[:, 0]) - (decay @ r) * decay.sum(1) ** (k - 1)
    inside = r > 0
    divergence = (q[inside] * r[inside]) @ np.log(r[inside])
    return float((divergence + math.log(k) - integrand.sum() * _STEP) / nats_per(unit))


def jsd_by_sampling(
    true_scores: Callable[[torch.Generator], Float[Tensor, "m b b"]],
    rounds: int,
    seed: int = 0,
    unit: str = "bits",
) -> tuple[float, float]:
    """Mean and standard error of InfoNCE (K = B) over batches scored by the true log ratio.

    ``true_scores`` draws m batches and returns log r of every pair in each.
    """
    whole_number(rounds, "rounds", 1)
    generator = torch.Generator("cpu").manual_seed(seed)
    values = torch.cat([-infonce(true_scores(generator)).flatten() for _ in range(rounds)])
    spread = values.std() / math.sqrt(len(values))
    return float(values.mean() / nats_per(unit)), float(spread / nats_per(unit))
