"""MNIST digits 0 and 1 in a grid, as the benchmark shows them: 2 x 5 digits, resized to 64 x 64.

Training uses the 12,665 digits of the training files, held-out draws the 2,115 of the test files.
A nuisance adds other images, faintly, behind the digits; it carries no information about labels.
"""

import gzip
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float, UInt8
from torch import Tensor

from mi_lib.validate import real_number

from .channel import Chance, Pick, Source, Table, gather
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
    eye = torch.eye(old, device="cpu")
    if old == new:
        return eye
    return F.interpolate(eye[None, None], (new, old), mode="bicubic", antialias=True)[0, 0]


def bands(matrix: Float[Tensor, "new old"], tiles: int) -> tuple[list[int], list[Tensor]]:
    """A resize cut into the parts of equal tiles along its axis: where the new pixels that a tile
    touches begin, and its part of the matrix. All parts have one length."""
    parts = matrix.unflatten(1, (tiles, -1)).unbind(1)
    touched = [part.any(1).nonzero() for part in parts]
    length = max(int(t[-1] - t[0]) + 1 for t in touched)
    starts = [min(int(t[0]), len(matrix) - length) for t in touched]
    return starts, [part[s : s + length] for part, s in zip(parts, starts, strict=True)]


class Placed(NamedTuple):
    """What every image of a table gives to a picture from every slot, and where it begins."""

    pieces: Float[Tensor, "n*slots height width"]
    corners: list[tuple[int, int]]
    shape: tuple[int, int]  # of the picture


def place(table: Table, side: int, slots: int, size: int | None) -> Placed:
    """Put images of ``side`` pixels, values to 255, into two rows (one, if ``slots`` is odd)."""
    counts = (2, slots // 2) if slots % 2 == 0 else (1, slots)
    axes = [resizing(side * n, size or side * n).to(table.device) for n in counts]
    (tops, down), (lefts, across) = (bands(m, n) for m, n in zip(axes, counts, strict=True))
    images = table.float().unflatten(-1, (side, side)) / 255
    pieces = [d @ images @ a.mT for d, a in product(down, across)]
    corners = list(product(tops, lefts))
    return Placed(torch.stack(pieces, 1).flatten(0, 1), corners, tuple(len(m) for m in axes))


class Grid:
    """Joins the images of all slots in two rows and resizes the whole, values in [0, 1].

    Resizing is linear, so a picture is a sum of one piece a slot. The pieces of all images are
    computed once (320 megabytes for MNIST); a batch adds up those that were picked.

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
        self._known: dict[tuple[int, int], tuple[Table, Placed]] = {}
        if nuisance and backgrounds is None:
            raise ValueError(f"nuisance={nuisance:g} needs backgrounds; pass images to add")

    def placed(self, table: Table, slots: int) -> Placed:
        """The pieces of a table, computed when it or the number of slots is new."""
        key = id(table), slots
        if key not in self._known:  # the table is kept with them, so that its id stays its own
            self._known[key] = table, place(table, self.side, slots, self.size)
        return self._known[key][1]

    def __call__(self, table: Table, pick: Pick, chance: Chance) -> Float[Tensor, "s b pixels"]:
        slots = pick.shape[-1]
        pieces, corners, shape = self.placed(table, slots)
        chosen = gather(pieces, pick * slots + torch.arange(slots, device=pick.device))
        height, width = chosen.shape[-2:]
        picture = chosen.new_zeros(*chance.shape, *shape)
        for slot, (top, left) in enumerate(corners):
            picture[..., top : top + height, left : left + width] += chosen[..., slot, :, :]
        picture = picture.flatten(-2).clamp_(0, 1)
        if not self.nuisance:
            return picture
        backgrounds = self.backgrounds.to(picture)
        behind = backgrounds[(chance * len(backgrounds)).long().clamp(max=len(backgrounds) - 1)]
        return (picture + self.nuisance * behind).clamp(0, 1)


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
