"""Two classical estimators to compare with: nearest neighbours, canonical correlations.

scikit-learn's nearest-neighbour estimator takes single columns; here scipy's tree does the search
in any dimension. A test compares the two on single columns.
"""

from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import digamma

from ..validate import nats_per, whole_number
from . import table

JITTER = 1e-10  # breaks ties, relative to the spread of a column


def _numeric(values: Any, name: str) -> np.ndarray:
    columns = table.read(values, name)
    words = [c.name for c in columns if c.symbols and isinstance(c.symbols[0], str)]
    if words:
        raise ValueError(f"{', '.join(words)} holds strings; this baseline takes numbers only")
    return np.column_stack(
        [
            c.values if c.symbols is None else np.array(c.symbols, dtype=float)[c.values]
            for c in columns
        ]
    )


def _pair(x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    first, second = _numeric(x, "x"), _numeric(y, "y")
    if len(first) != len(second):
        raise ValueError(f"x has {len(first)} rows and y {len(second)}; pass pairs")
    # Divided first: the spread of values near the largest float overflows.
    pair = [z / np.abs(z).max(0) for z in (first, second)]
    return tuple((z - z.mean(0)) / z.std(0) for z in pair)


def ksg(x: Any, y: Any, k: int = 3, unit: str = "bits", random_state: int = 0) -> float:
    r"""The first estimator of Kraskov, Stögbauer and Grassberger (2004).

    .. math:: \psi(k) + \psi(n) - \overline{\psi(n_x + 1) + \psi(n_y + 1)}

    with :math:`n_x` the number of points strictly nearer in x than the k-th joint neighbour, in the
    maximum norm. Columns are standardised and ties broken by a tiny jitter.

    Parameters
    ----------
    x, y : array_like, shape (n,) or (n, d)
        Pairs of numbers.
    k : int
        Which neighbour, below n.
    unit : {"bits", "nats"}
    random_state : int

    Returns
    -------
    float
        The estimate, which may be negative.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal(200)
    >>> 1 < ksg(x, x + 0.2 * np.roll(x, 1)) < 3
    True
    """
    scale = nats_per(unit)
    k = whole_number(k, "k", 1)
    rng = np.random.default_rng(random_state)
    x, y = (z + JITTER * rng.standard_normal(z.shape) for z in _pair(x, y))
    n = len(x)
    if k >= n:
        raise ValueError(f"k={k} neighbours of {n} points; pass k < {n}")
    joint = np.hstack([x, y])
    distance = cKDTree(joint).query(joint, k + 1, p=np.inf)[0][:, -1]
    near = np.nextafter(distance, 0)
    counts = [
        cKDTree(z).query_ball_point(z, near, p=np.inf, return_length=True) for z in (x, y)
    ]  # these count the point itself, which is the + 1
    value = digamma(k) + digamma(n) - np.mean(digamma(counts[0]) + digamma(counts[1]))
    return float(value / scale)


def cca(x: Any, y: Any, unit: str = "bits") -> float:
    r"""Mutual information of Gaussian data, from the sample's canonical correlations.

    .. math:: -\tfrac12\sum_k\log(1-\rho_k^2)

    Parameters
    ----------
    x, y : array_like, shape (n,) or (n, d)
        Pairs of numbers.
    unit : {"bits", "nats"}

    Returns
    -------
    float

    Examples
    --------
    >>> x, y = np.repeat(np.eye(2), 50, axis=0).T, np.tile([0, 1], 50)
    >>> abs(cca(x.T, y)) < 1e-12  # uncorrelated columns
    True
    """
    scale = nats_per(unit)
    first, second = (_basis(z) for z in _pair(x, y))
    rho = np.linalg.svd(first.T @ second, compute_uv=False)
    return float(-0.5 * np.log1p(-(np.minimum(rho, 1 - 1e-12) ** 2)).sum() / scale)


def _basis(z: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the space of the columns, which may repeat each other."""
    left, sizes, _ = np.linalg.svd(z, full_matrices=False)
    return left[:, sizes > 1e-9 * sizes[0]]
