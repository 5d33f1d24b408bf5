r"""SimCLR's augmentations on tensors: crop and resize, flip, colour jitter, grey.

A view is one affine map of the plane (a crop that is resized, perhaps mirrored) and one affine map
of colour (brightness, contrast, saturation, a rotation of hue in YIQ, perhaps grey). Both are built
from uniform numbers that the caller draws, a row a picture, so that a view is a pure function.
Colours are clamped once, at the end. There is no blur: the reference recipe switches it off for
32 x 32 pictures.
"""

import math

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float, UInt8
from torch import Tensor

CHANCES = 11  # uniform numbers a view
JITTER, HUE = 0.8, 0.2  # brightness, contrast, saturation; turns of the colour circle
LUMA = (0.299, 0.587, 0.114)
YIQ = (LUMA, (0.596, -0.274, -0.322), (0.211, -0.523, 0.312))


def view(
    pictures: UInt8[Tensor, "b 3 h w"], chance: Float[Tensor, "b 11"], smallest: float = 0.08
) -> Float[Tensor, "b 3 h w"]:
    """One augmented view of each picture, values in [0, 1]; crops cover ``smallest`` to all."""
    chance = chance.to(pictures.device)
    crops = crop(pictures.float() / 255, chance[:, :5], smallest)
    return recolour(crops, chance[:, 5:])


def crop(
    pictures: Float[Tensor, "b c h w"], chance: Float[Tensor, "b 5"], smallest: float
) -> Float[Tensor, "b c h w"]:
    """A random part of each picture (area, shape 3/4 to 4/3, place), resized, half mirrored."""
    area = smallest + (1 - smallest) * chance[:, 0]
    root = torch.exp(math.log(4 / 3) * (chance[:, 1] - 0.5))  # root of width over height
    wide, high = (area.sqrt() * root).clamp(max=1), (area.sqrt() / root).clamp(max=1)
    x, y = (1 - wide) * (2 * chance[:, 2] - 1), (1 - high) * (2 * chance[:, 3] - 1)
    mirror = torch.where(chance[:, 4] < 0.5, -wide, wide)
    zero = torch.zeros_like(x)
    plane = torch.stack([mirror, zero, x, zero, high, y], 1).unflatten(1, (2, 3))
    grid = F.affine_grid(plane, list(pictures.shape), align_corners=False)
    return F.grid_sample(pictures, grid, padding_mode="reflection", align_corners=False)


def recolour(
    pictures: Float[Tensor, "b 3 h w"], chance: Float[Tensor, "b 6"]
) -> Float[Tensor, "b 3 h w"]:
    """Jitter the colours of four pictures in five; make one in five grey."""
    luma = torch.tensor(LUMA, device=pictures.device, dtype=pictures.dtype)
    yiq = torch.tensor(YIQ, device=pictures.device, dtype=pictures.dtype)
    grey = luma.expand(3, 3)
    jittered = (chance[:, 0] < 0.8).to(pictures)
    bright, contrast, saturation = (
        1 + jittered * JITTER * (2 * chance[:, place] - 1) for place in (1, 2, 3)
    )
    angle = jittered * HUE * (2 * chance[:, 4] - 1) * 2 * math.pi
    one, zero, c, s = torch.ones_like(angle), torch.zeros_like(angle), angle.cos(), angle.sin()
    turn = torch.stack([one, zero, zero, zero, c, -s, zero, s, c], 1).unflatten(1, (3, 3))
    hue = torch.linalg.inv(yiq) @ turn @ yiq
    colour = saturation[:, None, None] * hue + (1 - saturation)[:, None, None] * grey
    colour = torch.where((chance[:, 5] < 0.2)[:, None, None], grey @ colour, colour)
    # Hue, saturation and grey leave grey alone, so contrast may come first.
    mean = pictures.mean((2, 3)) @ luma
    matrix = (bright * contrast)[:, None, None] * colour
    offset = bright * (1 - contrast) * mean
    mixed = torch.baddbmm(offset[:, None, None], matrix, pictures.flatten(2))
    return mixed.clamp(0, 1).unflatten(2, pictures.shape[2:])
