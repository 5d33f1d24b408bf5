"""Labelled pictures for representation learning: CIFAR-100, a subset of it, and 8 x 8 digits.

The official archive holds Python pickles, which can run any code when they are read. They are read
here by an unpickler that knows numpy arrays and nothing else.
"""

import io
import pickle
import tarfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64, UInt8
from sklearn.datasets import load_digits
from torch import Tensor

from mi_lib.validate import one_of

from .registry import locate

_ARRAYS = MappingProxyType(
    {
        (module, name): thing
        for name, thing in {
            "_reconstruct": np.zeros(1).__reduce__()[0],
            "ndarray": np.ndarray,
            "dtype": np.dtype,
        }.items()
        for module in ("numpy", "numpy.core.multiarray", "numpy._core.multiarray")
    }
)


@dataclass(frozen=True)
class Pictures:
    """Training and test pictures, bytes, with their classes."""

    train: UInt8[Tensor, "n c h w"]
    train_labels: Int64[Tensor, " n"]
    test: UInt8[Tensor, "m c h w"]
    test_labels: Int64[Tensor, " m"]
    classes: int

    def statistics(self) -> tuple[Float[Tensor, " c"], Float[Tensor, " c"]]:
        """Mean and standard deviation of each colour over the training pictures, in [0, 1]."""
        values = self.train.double() / 255
        return values.mean((0, 2, 3)).float(), values.std((0, 2, 3)).float()


class ArrayUnpickler(pickle.Unpickler):
    """Reads pickles of plain containers and numpy arrays; anything else is refused."""

    def find_class(self, module: str, name: str) -> Any:
        """One of the three names that an array needs."""
        if (module, name) not in _ARRAYS:
            raise ValueError(
                f"the file asks for {module}.{name}, which arrays do not need: it is not the "
                "official archive; delete it and fetch it again"
            )
        return _ARRAYS[module, name]


def read_archive(path: Path) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Pictures and fine labels of ``train`` and ``test`` in the official archive."""
    found = {}
    with tarfile.open(path) as archive:
        for part in ("train", "test"):
            member = archive.extractfile(f"cifar-100-python/{part}")
            content = ArrayUnpickler(io.BytesIO(member.read()), encoding="bytes").load()
            pixels = np.asarray(content[b"data"], np.uint8).reshape(-1, 3, 32, 32)
            found[part] = pixels, np.asarray(content[b"fine_labels"], np.int64)
    return found


@cache
def pictures(name: str) -> Pictures:
    """Pictures by name: ``cifar100``, ``cifar100-subset`` or ``digits``."""
    known = {"cifar100": _cifar100, "cifar100-subset": _subset, "digits": _digits}
    return known[one_of("pictures", name, known)]()


def _cifar100() -> Pictures:
    parts = read_archive(locate("cifar100")[0])
    return _pictures(*parts["train"], *parts["test"])


def _subset() -> Pictures:
    """160 training and 40 test pictures a class; the split is not the official one."""
    with np.load(locate("cifar100-subset")[0], allow_pickle=False) as archive:
        x, y = archive["x_train"], archive["y_train"]
        test_x, test_y = archive["x_test"], archive["y_test"]
    return _pictures(x.transpose(0, 3, 1, 2), y, test_x.transpose(0, 3, 1, 2), test_y)


def _digits() -> Pictures:
    """scikit-learn's digits as grey pictures of three equal colours; every fifth is for test."""
    values, labels = load_digits(return_X_y=True)
    pixels = np.rint(values * (255 / 16)).astype(np.uint8).reshape(-1, 1, 8, 8).repeat(3, 1)
    test = np.arange(len(pixels)) % 5 == 0
    return _pictures(pixels[~test], labels[~test], pixels[test], labels[test])


def _pictures(x: np.ndarray, y: np.ndarray, test_x: np.ndarray, test_y: np.ndarray) -> Pictures:
    y, test_y = torch.from_numpy(y.astype(np.int64)), torch.from_numpy(test_y.astype(np.int64))
    x, test_x = (torch.from_numpy(np.ascontiguousarray(part)) for part in (x, test_x))
    return Pictures(x, y, test_x, test_y, int(y.max()) + 1)
