"""Labelled tables that scikit-learn ships: what the chapters run on where the real data is absent.

They go through the same channel as the benchmark's data, and say on every figure what they are.
"""

from functools import cache

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_digits

from .channel import Source
from .images import Grid


def _every_fifth(n: int) -> np.ndarray:
    return np.arange(0, n, 5)


@cache
def digits() -> Source:
    """The 8 x 8 digits 0 and 1 (360 images), in a grid of two rows, as they are."""
    images, labels = load_digits(return_X_y=True)
    keep = labels <= 1
    rows = torch.from_numpy(images[keep] * (255 / 16)).float()
    grid = Grid(8, size=None)
    return Source(rows, torch.from_numpy(labels[keep]), grid, _every_fifth(len(rows)))


@cache
def breast_cancer() -> Source:
    """The Wisconsin table: 569 tumours, 30 measurements, benign or malignant; standardised."""
    values, labels = load_breast_cancer(return_X_y=True)
    values = (values - values.mean(0)) / values.std(0)
    rows = torch.from_numpy(values).float()
    return Source(rows, torch.from_numpy(labels), held_out=_every_fifth(len(rows)))
