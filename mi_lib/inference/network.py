r"""The network on top of the parametric ratio, trained for all folds and seeds at once.

Member (split, seed) has :math:`c(x, y) = c_{\text{parametric}}(x, y) + f(x)\cdot g(y) + a(x) +
b(y)`, with f, a and b zero at the beginning. The loss is InfoNCE-anchor with :math:`K = B - 1` and
:math:`\nu = K`, so that the scale of r is held as strongly as its shape (`objectives.anchor`), the
mean of the two directions of contrast. A split is a fold of a problem; several problems may share a
stack.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..critics import Separable
from ..streams import stream
from .parametric import GAUSSIAN

EMBEDDING = 16
RATE = 3e-3
DECAY = 0.02
AVERAGE = 0.98  # weight of the past in the running mean of the parameters
PATIENCE = 8
LARGEST_SQUARE = 16.0
JUDGED = 512


class RatioNetwork(Separable):
    """f(x) . g(y) + a(x) + b(y): the last output of each tower is the additive term.

    A tower reads each coordinate and its square: spreads and lengths matter as often as places.
    """

    def __init__(self, x_dim: int, y_dim: int, seeds, hidden: int, embedding: int = EMBEDDING):
        super().__init__(
            2 * x_dim, 2 * y_dim, seeds, hidden=hidden, layers=2, embedding=embedding + 1
        )
        last, bias = self.weights[-1].data, self.biases[-1].data
        bias.zero_()
        last[: len(self.seeds)] = 0  # f and a
        last[:, :, -1] = 0  # b, too

    def _uniform(self, fan_in: int, *shape: int) -> Float[Tensor, "s ..."]:
        """The draws of `Critic` in single precision, whatever the caller's default is."""
        bound, kind = 1 / math.sqrt(fan_in), torch.float32
        draws = [torch.rand(shape, generator=g, device="cpu", dtype=kind) for g in self._generators]
        return (2 * torch.stack(draws) - 1) * bound

    def towers(self, x: Tensor, y: Tensor, which: slice = slice(None)) -> tuple[Tensor, Tensor]:
        """Outputs [m, b, e + 1] of both sides, of the members ``which``."""
        x, y = (torch.cat([z, _square(z)], -1) for z in (x, y))
        hidden = torch.cat(
            [
                torch.baddbmm(self.bias_x[which], x, self.first_x[which]),
                torch.baddbmm(self.bias_y[which], y, self.first_y[which]),
            ]
        )
        for weights, biases in zip(self.weights, self.biases, strict=True):
            weight, bias = (
                part.unflatten(0, (2, -1))[:, which].flatten(0, 1) for part in (weights, biases)
            )
            hidden = torch.baddbmm(bias, nn.functional.silu(hidden), weight)
        return hidden.chunk(2)

    def forward(self, x: Tensor, y: Tensor) -> Float[Tensor, "m b b"]:
        self._check(x, y)
        return combine(*self.towers(x, y))


def _square(z: Tensor) -> Tensor:
    """The second Hermite polynomial; the cap is above any normal score, not any indicator."""
    return ((z.square() - 1) / math.sqrt(2)).clamp(max=LARGEST_SQUARE)


def combine(f: Float[Tensor, "m b e"], g: Float[Tensor, "m c e"]) -> Float[Tensor, "m b c"]:
    """Scores of every x with every y from the outputs of the towers."""
    return torch.baddbmm(f[..., -1:] + g[..., -1:].mT, f[..., :-1], g[..., :-1].mT)


def anchored(scores: Float[Tensor, "m b b"]) -> Float[Tensor, " m"]:
    """`objectives.anchor` with nu = K = B - 1, the mean over both contrasts.

    One exponential for the four sums of negatives, which are masked before they are summed: the
    same numbers as there, several times faster. Scores above 60 are shifted before the exponential.
    """
    b = scores.shape[-1]
    shift = (scores.detach().amax((-2, -1)) - 60).clamp(0, 80)
    own = scores.diagonal(dim1=-2, dim2=-1)
    eye = torch.eye(b, device=scores.device, dtype=scores.dtype)
    ratio = torch.exp((scores - shift[:, None, None]).clamp(max=80))
    anchor = ((b - 1) * torch.exp(-shift))[:, None]
    alone = torch.diagonal(ratio, dim1=-2, dim2=-1)
    negatives = ratio * (1 - eye)
    # For each y one negative is left out beside its partner: both terms have the same K.
    fewer = negatives * (1 - eye.roll(1, 0)), negatives * (1 - eye.roll(1, 1))
    total = 0.0
    for dim, rest in ((-2, fewer[1]), (-1, fewer[0])):
        with_pair = torch.log(anchor + alone + rest.sum(dim)) + shift[:, None] - own
        without = torch.log1p(negatives.sum(dim) / anchor)
        total = total + (with_pair + without).mean(-1) / 4
    return total


@dataclass(frozen=True)
class Stack:
    """Data of G splits: encoded points, the sides of the ratios, and the rows to use."""

    x: Float[Tensor, "g n dx"]
    y: Float[Tensor, "g n dy"]
    parametric_x: tuple[Tensor, Tensor, Tensor]
    parametric_y: tuple[Tensor, Tensor, Tensor]
    freedom: Float[Tensor, " g"]
    weight: Float[Tensor, " g"]
    training: Int[Tensor, "g t"]
    validation: Int[Tensor, "g v"]

    @property
    def gaussian(self) -> bool:
        """Whether no ratio has heavy tails; then the logarithm of q is a plain product."""
        return bool((self.freedom == GAUSSIAN).all())

    def parametric(self, splits: Tensor, rows: Int[Tensor, "m b"], columns: Int[Tensor, "m c"]):
        """Parametric log ratios of these splits: x of ``rows`` with y of ``columns``."""
        g = splits[:, None]
        s, own_x, alone_x = (part[g, rows] for part in self.parametric_x)
        t, own_y, alone_y = (part[g, columns] for part in self.parametric_y)
        q = torch.baddbmm(own_x[..., None] + own_y[:, None], s, t.mT, alpha=-2)
        if self.gaussian:
            return alone_x[..., None] + alone_y[:, None] - q / 2
        freedom, weight = (v[splits, None, None] for v in (self.freedom, self.weight))
        # Rounding may make q a little smaller than -freedom where the copula is nearly singular.
        log = torch.log1p((q / freedom).clamp(min=-1 + 1e-6))
        return alone_x[..., None] + alone_y[:, None] - weight * log


@dataclass
class Fitted:
    """What training leaves: the critic with its best parameters, and the curve it went through."""

    critic: RatioNetwork
    splits: Int[Tensor, " m"]
    curve: list[list[float]]  # validation loss of each member at each look
    steps: int


def train(stack: Stack, seeds: int, seed: int, hidden: int, batch: int, steps: int, rate=RATE):
    """Train ``seeds`` members a split; keep of each the averaged parameters that validated best."""
    g, n, dx = stack.x.shape
    device = stack.x.device
    names = [seed * 10_007 + 101 * k + s for k in range(g) for s in range(seeds)]
    splits = torch.arange(g, device=device).repeat_interleave(seeds)
    critic = RatioNetwork(dx, stack.y.shape[2], names, hidden).to(device)
    parameters = list(critic.parameters())
    optimiser = torch.optim.AdamW(parameters, rate, weight_decay=DECAY, fused=device.type != "mps")
    average = [p.detach().clone() for p in parameters]
    best = [p.detach().clone() for p in parameters]
    # Own streams: a member sees the same batches whatever else is in the stack.
    generators = [stream("residual batches", name) for name in names]
    t = stack.training.shape[1]
    batch = min(batch, t)
    per_epoch = max(1, t // batch)
    every = min(max(per_epoch, 10), 100)
    looked = stack.validation[splits, :JUDGED]
    parametric = stack.parametric(splits, looked, looked)
    lowest = anchored(parametric)  # without the network, which must beat it
    curve, since, done = [lowest.tolist()], torch.zeros_like(lowest), 0
    order = None
    while done < steps:
        if done % per_epoch == 0:
            drawn = [torch.randperm(t, generator=own, device="cpu") for own in generators]
            order = torch.stack(drawn).to(device)
        part = done % per_epoch
        rows = stack.training[splits].gather(1, order[:, part * batch : (part + 1) * batch])
        scores = critic(*_points(stack, splits, rows)) + stack.parametric(splits, rows, rows)
        optimiser.zero_grad(set_to_none=True)
        anchored(scores).sum().backward()
        optimiser.step()
        done += 1
        with torch.no_grad():
            keep = min(AVERAGE, done / (done + 10))
            torch._foreach_lerp_(average, [p.detach() for p in parameters], 1 - keep)
            if done % every == 0 or done == steps:
                loss = _with(critic, average, stack, splits, looked, parametric)
                better = loss < lowest
                lowest = torch.where(better, loss, lowest)
                for kept, new in zip(best, average, strict=True):
                    _copy_members(kept, new, better)
                since = torch.where(better, 0, since + 1)
                curve.append(loss.tolist())
                if bool((since >= PATIENCE).all()):
                    break
    with torch.no_grad():
        for p, kept in zip(parameters, best, strict=True):
            p.copy_(kept)
    return Fitted(critic, splits, curve, done)


def _points(stack: Stack, splits: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    return stack.x[splits[:, None], rows], stack.y[splits[:, None], rows]


def _with(critic, values, stack, splits, rows, parametric) -> Float[Tensor, " m"]:
    """Validation loss of the critic with other parameter values."""
    parameters = list(critic.parameters())
    own = [p.detach().clone() for p in parameters]
    for p, value in zip(parameters, values, strict=True):
        p.copy_(value)
    loss = anchored(critic(*_points(stack, splits, rows)) + parametric)
    for p, value in zip(parameters, own, strict=True):
        p.copy_(value)
    return loss


def _copy_members(kept: Tensor, new: Tensor, chosen: Tensor) -> None:
    """Copy the parameters of the chosen members; inner layers hold two towers of them."""
    towers = kept.shape[0] // len(chosen)
    kept[chosen.repeat(towers)] = new[chosen.repeat(towers)]
