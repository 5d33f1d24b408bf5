"""MNIST digits 0 and 1 in a grid, as the benchmark shows them: 2 x 5 digits, resized to 64 x 64.

Training uses the 12,665 digits of the training files, held-out draws the 2,115 of the test files.
A nuisance adds other images, faintly, behind the digits; it carries no information about labels.
"""

import gzip
from functools import cache
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float, UInt8
from torch import Tensor

from ..validate import real_number
from .channel import Chance, Rows, Source
from .registry import locate

SIZE = 64  # pixels a side


def read_idx(path: Path) -> UInt8[np.ndarray, "..."]:
    """An array in the idx format of MNIST, from a gzip file."""
    try:
        raw = gzip.decompress(path.read_bytes())
    except (EOFError, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is not a whole gzip file ({error}); fetch it again") from None
    if len(raw) < 4 or raw[:3] != b"\x00\x00\x08":
        raise ValueError(f"{path} does not begin like an idx file of bytes; fetch it again")
    shape = np.frombuffer(raw, ">i4", raw[3], 4)
    values = np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3])
    if values.size != shape.prod():
        raise ValueError(f"{path} holds {values.size:,} bytes, expected {shape.prod():,}")
    return values.reshape(shape)


@cache
def resizing(old: int, new: int) -> Float[Tensor, "new old"]:
    """The matrix of a smoothed bicubic resize along one axis."""
    eye = torch.eye(old, device="cpu")[None, None]
    return F.interpolate(eye, (new, old), mode="bicubic", antialias=True)[0, 0]


class Grid:
    """Joins the images of all slots in two rows and resizes the whole, values in [0, 1].

    ``backgrounds`` (images, flattened, of the final size) are added with weight ``nuisance``, one
    at random behind each picture.
    """

    def __init__(
        self,
        side: int,
        size: int | None = SIZE,
        backgrounds: Float[Tensor, "n pixels"] | None = None,
        nuisance: float = 0.0,
    ):
        self.side, self.size = side, size
        self.backgrounds, self.nuisance = backgrounds, real_number(nuisance, "nuisance", 0.0)
        if nuisance and backgrounds is None:
            raise ValueError(f"nuisance={nuisance:g} needs backgrounds; pass images to add")

    def __call__(self, rows: Rows, chance: Chance) -> Float[Tensor, "s b pixels"]:
        high = 2 if rows.shape[-2] % 2 == 0 else 1
        wide = rows.shape[-2] // high
        tiles = rows.unflatten(-1, (self.side, self.side)).unflatten(-3, (high, wide))
        picture = tiles.transpose(-3, -2).flatten(-4, -3).flatten(-2)
        if self.size is None:
            picture = picture / 255
        else:
            down, across = (resizing(n, self.size).to(rows) for n in picture.shape[-2:])
            # The wide axis first: fewer products than the other way round.
            picture = (down @ (picture @ (across.mT / 255))).clamp(0, 1)
        if not self.nuisance:
            return picture.flatten(-2)
        backgrounds = self.backgrounds.to(picture)
        behind = backgrounds[(chance * len(backgrounds)).long().clamp(max=len(backgrounds) - 1)]
        return (picture.flatten(-2) + self.nuisance * behind).clamp(0, 1)


def backgrounds_from(
    images: UInt8[np.ndarray, "n h w c"], size: int = SIZE
) -> Float[Tensor, "n size*size"]:
    """Colour images as grey backgrounds of the final size, values in [0, 1]."""
    grey = torch.from_numpy(images).float().mean(-1) / 255
    down, across = (resizing(n, size) for n in grey.shape[-2:])
    return (down @ grey @ across.mT).clamp(0, 1).flatten(-2)


@cache
def mnist(nuisance: float = 0.0) -> Source:
    """The source over MNIST digits 0 and 1; a nuisance needs the CIFAR-100 images."""
    train_x, train_y, test_x, test_y = map(read_idx, locate("mnist"))
    images, labels = np.concatenate([train_x, test_x]), np.concatenate([train_y, test_y])
    keep = np.flatnonzero(labels <= 1)
    held_out = np.flatnonzero(keep >= len(train_y))
    backgrounds = None
    if nuisance:
        with np.load(locate("cifar100-subset")[0], allow_pickle=False) as archive:
            backgrounds = backgrounds_from(archive["x_train"][:2000])
    grid = Grid(images.shape[-1], SIZE, backgrounds, nuisance)
    rows = torch.from_numpy(images[keep].reshape(len(keep), -1))
    return Source(rows, torch.from_numpy(labels[keep].astype(np.int64)), grid, held_out)
