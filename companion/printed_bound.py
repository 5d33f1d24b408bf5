"""The bound of InfoNCE that the paper prints and this book refutes."""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from mi_lib.ceiling import tuple_sizes
from mi_lib.validate import nats_per, nonnegative_array


def printed_ceiling(
    kl: ArrayLike, k: ArrayLike, unit: str = "bits"
) -> Float[np.ndarray, "..."] | float:
    r"""The bound as the paper prints it (Theorem 2, second half). It is **false** for K >= 2.

    .. math:: D - \log\bigl(\tfrac{1}{K}(e^{D}-1) + 1\bigr)
              = \log K - \log\bigl(1 + (K-1)e^{-D}\bigr) = \log K - \log(1 + \mathbb{E}N)

    The last form shows the slip: the expectation has moved inside the concave logarithm.

    >>> round(printed_ceiling(2.0, 4), 5)
    1.19265
    """
    scale = nats_per(unit)
    divergence, sizes = np.broadcast_arrays(nonnegative_array(kl, "kl") * scale, tuple_sizes(k))
    bound = (np.log(sizes) - np.log1p((sizes - 1) * np.exp(-divergence))) / scale
    return float(bound) if bound.ndim == 0 else bound
