"""The encoder of self-supervised learning: a ResNet for small pictures, and its projector."""

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor, nn

from .ssl_gather import SharedBatchNorm


class Block(nn.Module):
    """Two 3 x 3 convolutions with batch norm, added to their input."""

    def __init__(self, old: int, new: int, stride: int):
        super().__init__()
        self.first, self.norm1 = _convolution(old, new, 3, stride), SharedBatchNorm(new)
        self.second, self.norm2 = _convolution(new, new, 3, 1), SharedBatchNorm(new)
        self.skip = (
            nn.Identity()
            if old == new and stride == 1
            else nn.Sequential(_convolution(old, new, 1, stride), SharedBatchNorm(new))
        )

    def forward(self, x: Float[Tensor, "b old h w"]) -> Float[Tensor, "b new h2 w2"]:
        inner = F.relu(self.norm1(self.first(x)))
        return F.relu(self.norm2(self.second(inner)) + self.skip(x))


def _convolution(old: int, new: int, size: int, stride: int) -> nn.Conv2d:
    layer = nn.Conv2d(old, new, size, stride, size // 2, bias=False)
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return layer


class ResNet(nn.Module):
    """ResNet for small pictures: a 3 x 3 stem without pooling, stages of doubling width.

    ``width=64, blocks=(2, 2, 2, 2), stem=1`` is ResNet-18 as it is used on 32 x 32 pictures;
    ``stem=2`` halves the resolution at the start, at a quarter of the cost.
    """

    def __init__(self, width: int = 64, blocks: tuple[int, ...] = (2, 2, 2, 2), stem: int = 1):
        super().__init__()
        self.stem, self.norm = _convolution(3, width, 3, stem), SharedBatchNorm(width)
        layers, old = [], width
        for stage, count in enumerate(blocks):
            for place in range(count):
                new = width * 2**stage
                layers.append(Block(old, new, 2 if stage and not place else 1))
                old = new
        self.stages, self.features = nn.Sequential(*layers), old

    def forward(self, x: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b features"]:
        return self.stages(F.relu(self.norm(self.stem(x)))).mean((2, 3))


class Encoder(nn.Module):
    """A ResNet and what the objective sees of it.

    ``head`` maps features to the embedding: two layers for contrastive learning, or one to the
    classes where ``hidden`` is 0. The probe sees the features, never the embedding.
    """

    def __init__(self, body: ResNet, hidden: int, output: int):
        super().__init__()
        self.body = body
        self.head = (
            nn.Sequential(nn.Linear(body.features, hidden), nn.ReLU(), nn.Linear(hidden, output))
            if hidden
            else nn.Linear(body.features, output)
        )

    def forward(self, x: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b output"]:
        return self.head(self.body(x))


def make_encoder(
    seed: int, width: int, blocks: tuple[int, ...], stem: int, hidden: int, output: int
) -> Encoder:
    """An encoder whose weights depend on the seed alone; the body does not depend on the head."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Encoder(ResNet(width, blocks, stem), hidden, output)
