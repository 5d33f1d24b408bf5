r"""Critics: networks that score every x of a batch with every y.

>>> critic = Separable(3, 2, hidden=8)
>>> critic(torch.zeros(5, 3), torch.zeros(5, 2)).shape       # scores[i, j] = c(x_i, y_j)
torch.Size([5, 5])

A critic can also be a stack that trains many at once: ``x[s, i]`` and ``y[s, j]`` (S independent
data streams, one a seed) give ``scores[o, s, i, j]`` for O copies that start equal and are trained
on different objectives. All members live in a few large tensors, so a step is a few large products
instead of O x S small ones. Member (o, s) computes exactly what it would compute alone.
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor, nn

from .validate import one_of, whole_number

X, Y = Float[Tensor, "*s b dx"], Float[Tensor, "*s b dy"]
Scores = Float[Tensor, "*os b b"]


class Critic(nn.Module):
    """What all critics share: how many members there are, and how they start."""

    def __init__(self, seeds: Sequence[int], copies: int, normalise: bool = False):
        super().__init__()
        self.normalise = normalise  # layer normalisation, without parameters, before each ReLU
        self.seeds = tuple(int(seed) for seed in seeds)
        self.copies = whole_number(copies, "copies", 1)
        if not self.seeds:
            raise ValueError("seeds is empty; pass at least one seed")
        self._generators = [torch.Generator().manual_seed(seed) for seed in self.seeds]

    def _uniform(self, fan_in: int, *shape: int) -> Float[Tensor, "s ..."]:
        """One draw for each seed from U(-1/sqrt(fan_in), 1/sqrt(fan_in)), as torch's Linear."""
        bound = 1 / math.sqrt(fan_in)
        draws = [torch.rand(shape, generator=g, device="cpu") for g in self._generators]
        return (2 * torch.stack(draws) - 1) * bound

    def _first(self, fan_in: int, inputs: int, outputs: int) -> nn.Parameter:
        """Weights [s, inputs, copies * outputs]: all copies read the same data in one product."""
        return nn.Parameter(self._uniform(fan_in, inputs, outputs).repeat(1, 1, self.copies))

    def _inner(self, fan_in: int, inputs: int, outputs: int, towers: int) -> nn.Parameter:
        """Weights [towers * copies * s, inputs, outputs]."""
        draws = [self._uniform(fan_in, inputs, outputs) for _ in range(towers)]
        return nn.Parameter(torch.cat([draw.repeat(self.copies, 1, 1) for draw in draws]))

    def _stack_layers(self, sizes: Sequence[int], towers: int) -> None:
        """The layers after the first, from sizes[0] to sizes[-1] units."""
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for inputs, outputs in zip(sizes[:-1], sizes[1:], strict=True):
            self.weights.append(self._inner(inputs, inputs, outputs, towers))
            self.biases.append(self._inner(inputs, 1, outputs, towers))

    def _through_layers(self, hidden: Float[Tensor, "m b h"]) -> Float[Tensor, "m b e"]:
        for weight, bias in zip(self.weights, self.biases, strict=True):
            if self.normalise:
                hidden = F.layer_norm(hidden, hidden.shape[-1:])
            hidden = torch.baddbmm(bias, torch.relu(hidden), weight)
        return hidden

    def _per_copy(self, hidden: Float[Tensor, "s b oh"]) -> Float[Tensor, "os b h"]:
        s, b, width = hidden.shape
        split = hidden.view(s, b, self.copies, width // self.copies)
        return split.permute(2, 0, 1, 3).flatten(0, 1)

    def _check(self, x: X, y: Y) -> None:
        if x.ndim not in (2, 3) or x.ndim != y.ndim or x.shape[:-1] != y.shape[:-1]:
            raise ValueError(
                f"x has shape {tuple(x.shape)} and y {tuple(y.shape)}; pass [batch, dim] for both, "
                "or [seeds, batch, dim], with equal seeds and batch"
            )
        streams = x.shape[0] if x.ndim == 3 else 1
        if streams != len(self.seeds):
            raise ValueError(f"x holds {streams} streams, but the critic has {len(self.seeds)}")

    def forward(self, x: X, y: Y) -> Scores:
        """Scores [b, b] of one batch, or [copies, seeds, b, b] of a batch for each seed."""
        self._check(x, y)
        if x.ndim == 3:
            return self.stacked(x, y)
        if self.copies > 1:
            raise ValueError(f"this critic has {self.copies} copies; pass [seeds, batch, dim]")
        return self.stacked(x[None], y[None])[0, 0]


class Separable(Critic):
    r""":math:`c(x, y) = \langle f(x), g(y)\rangle` with two MLPs (paper: 512 x 2, 16 outputs).

    Parameters
    ----------
    x_dim, y_dim : int
        Columns of x and of y.
    seeds : sequence of int
        The start of the weights, one member of the stack each.
    copies : int
        Members that start equal and see the same batches.
    hidden, layers, embedding : int
        Width and number of the hidden layers, outputs of each tower.
    normalise : bool
        Layer normalisation without parameters before each ReLU: it bounds the scores.
    """

    def __init__(
        self,
        x_dim: int,
        y_dim: int,
        seeds: Sequence[int] = (0,),
        copies: int = 1,
        hidden: int = 512,
        layers: int = 2,
        embedding: int = 16,
        normalise: bool = False,
    ):
        super().__init__(seeds, copies, normalise)
        self.first_x, self.bias_x = (self._first(x_dim, n, hidden) for n in (x_dim, 1))
        self.first_y, self.bias_y = (self._first(y_dim, n, hidden) for n in (y_dim, 1))
        self._stack_layers([hidden] * layers + [embedding], towers=2)

    def stacked(self, x: X, y: Y) -> Scores:
        """Scores of all members."""
        hidden = torch.cat(
            [
                self._per_copy(torch.baddbmm(self.bias_x, x, self.first_x)),
                self._per_copy(torch.baddbmm(self.bias_y, y, self.first_y)),
            ]
        )
        hidden = self._through_layers(hidden)
        f, g = hidden.chunk(2)
        return torch.bmm(f, g.mT).unflatten(0, (self.copies, len(self.seeds)))


class Joint(Critic):
    r""":math:`c(x, y) = h([x; y])` with one MLP; its first layer is split into
    :math:`W_x x + W_y y`, so that it is applied to B inputs and not to B^2.

    Parameters as of `Separable`, without ``embedding``.
    """

    def __init__(
        self,
        x_dim: int,
        y_dim: int,
        seeds: Sequence[int] = (0,),
        copies: int = 1,
        hidden: int = 512,
        layers: int = 2,
        normalise: bool = False,
    ):
        super().__init__(seeds, copies, normalise)
        fan_in = x_dim + y_dim
        self.first_x = self._first(fan_in, x_dim, hidden)
        self.first_y = self._first(fan_in, y_dim, hidden)
        self.bias = self._first(fan_in, 1, hidden)
        self._stack_layers([hidden] * layers + [1], towers=1)

    def stacked(self, x: X, y: Y) -> Scores:
        """Scores of all members."""
        of_x = self._per_copy(torch.bmm(x, self.first_x))
        of_y = self._per_copy(torch.baddbmm(self.bias, y, self.first_y))
        b = x.shape[1]
        hidden = (of_x[:, :, None] + of_y[:, None]).flatten(1, 2)
        hidden = self._through_layers(hidden)
        return hidden.view(self.copies, len(self.seeds), b, b)


class Bilinear(Critic):
    r""":math:`c(x, y) = x^\top W y + b`; parameters as of `Separable`, without the layers."""

    def __init__(self, x_dim: int, y_dim: int, seeds: Sequence[int] = (0,), copies: int = 1):
        super().__init__(seeds, copies)
        self.weight = self._first(x_dim * y_dim, x_dim, y_dim)
        self.bias = self._inner(x_dim * y_dim, 1, 1, 1)

    def stacked(self, x: X, y: Y) -> Scores:
        """Scores of all members."""
        projected = self._per_copy(torch.bmm(x, self.weight))
        scores = torch.bmm(projected, y.repeat(self.copies, 1, 1).mT) + self.bias
        return scores.unflatten(0, (self.copies, len(self.seeds)))


CRITICS = {"separable": Separable, "joint": Joint, "bilinear": Bilinear}


def make_critic(kind: str, x_dim: int, y_dim: int, **settings) -> Critic:
    """A critic by name: separable, joint or bilinear."""
    return CRITICS[one_of("critic", kind, CRITICS)](x_dim, y_dim, **settings)
