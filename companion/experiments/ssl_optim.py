r"""LARS and its schedule, as the reference recipe uses them.

For a weight matrix p with gradient g, rate lr and trust coefficient eta,

.. math:: v \leftarrow \mu v + \min\Bigl(\frac{\eta\|p\|}{lr\,(\|g\| + \beta\|p\|)}, 1\Bigr)
          (g + \beta p), \qquad p \leftarrow p - lr\,v .

The minimum with 1 is the recipe's clipping: a layer with a large gradient moves by a set share of
its norm, a layer with a *small* one as in plain SGD. So the scale of a loss matters once it is
small. Biases and batch norms are plain SGD without decay.
"""

import math
from collections.abc import Iterable

import torch
from torch import nn

from mi_lib.validate import real_number

WARM_UP_START = 3e-5


def trust(
    weight: torch.Tensor, gradient: torch.Tensor, rate: float, eta: float, decay: float
) -> torch.Tensor:
    """The factor of the gradient before clipping; 1 where either norm is 0."""
    w, g = weight.norm(), gradient.norm()
    ratio = eta * w / (rate * (g + decay * w))
    return torch.where((w > 0) & (g > 0), ratio, torch.ones_like(ratio))


class Lars(torch.optim.Optimizer):
    """Clipped LARS with momentum."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        rate: float,
        momentum: float = 0.9,
        decay: float = 1e-5,
        eta: float = 0.02,
    ):
        for name, value in {"rate": rate, "momentum": momentum, "decay": decay}.items():
            real_number(value, name, at_least=0.0)
        super().__init__(parameters, {"lr": rate, "momentum": momentum, "decay": decay, "eta": eta})

    @torch.no_grad()
    def step(self, closure=None):
        """Move every parameter that has a gradient."""
        for group in self.param_groups:
            rate, decay = group["lr"], group["decay"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                move = p.grad
                if p.ndim > 1 and rate > 0:
                    factor = trust(p, p.grad, rate, group["eta"], decay).clamp(max=1)
                    move = (p.grad + decay * p) * factor
                velocity = self.state[p].setdefault("velocity", torch.zeros_like(p))
                velocity.mul_(group["momentum"]).add_(move)
                p.sub_(velocity, alpha=rate)


def rate_at(step: int, steps: int, warm_up: int, peak: float) -> float:
    """Linear warm-up to ``peak``, then a cosine to 0.

    >>> [round(rate_at(step, 10, 2, 1.0), 2) for step in (0, 1, 2, 6, 9)]
    [0.0, 0.5, 1.0, 0.5, 0.04]
    """
    if step < warm_up:
        return WARM_UP_START + (peak - WARM_UP_START) * step / warm_up
    return peak * (1 + math.cos(math.pi * (step - warm_up) / (steps - warm_up))) / 2
