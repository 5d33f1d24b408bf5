"""Pictures of handwritten digits with their labels: MNIST where it is, else scikit-learn's."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from sklearn.datasets import load_digits
from torch import Tensor

from .images import read_idx
from .registry import available, locate


class Pictures(NamedTuple):
    """Pictures with values in [0, 1], and which digit each shows."""

    images: Float[Tensor, "n 1 side side"]
    labels: Int[Tensor, " n"]


def digit_pictures() -> tuple[str, Pictures, Pictures]:
    """The name of the data set, its training and its test pictures."""
    if available("mnist"):
        parts = [read_idx(path) for path in locate("mnist")]
        arrays = (parts[0] / 255, parts[1]), (parts[2] / 255, parts[3])
        name = "MNIST"
    else:
        images, labels = load_digits(return_X_y=True)
        images = images.reshape(-1, 8, 8) / 16
        test = np.arange(len(labels)) % 4 == 0
        arrays = (images[~test], labels[~test]), (images[test], labels[test])
        name = "scikit-learn's digits"
    sides = [
        Pictures(torch.from_numpy(x).float()[:, None], torch.from_numpy(y.astype(np.int64)))
        for x, y in arrays
    ]
    return name, *sides
