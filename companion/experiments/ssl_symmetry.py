r"""Why C(y) is one number in SimCLR: exact losses of a critic on a finite alphabet.

One-sided InfoNCE has the minimisers :math:`c = \log r + a(y)` for every function a (paper,
Section 2.2). SimCLR's critic is symmetric, :math:`c(x,y) = c(y,x)`, and so is the law of two views
of a picture: then :math:`a(y) = a(x)` for all x and y, and a is constant. Contrasting both ways
forces the same without a symmetric critic.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from mi_lib.validate import one_of

Matrix = Float[Tensor, "m m"]


def symmetric_law(letters: int, seed: int) -> Matrix:
    """A law of pairs with p(x, y) = p(y, x), all entries positive."""
    generator = torch.Generator("cpu").manual_seed(seed)
    weights = torch.rand(letters, letters, generator=generator, dtype=torch.float64) + 0.05
    weights = weights + weights.mT
    return weights / weights.sum()


def log_ratio(law: Matrix) -> Matrix:
    """The true critic, log p(x, y) / (p(x) p(y))."""
    return (law / (law.sum(1, keepdim=True) * law.sum(0, keepdim=True))).log()


def exact_infonce(critic: Matrix, law: Matrix, contrast: str = "x") -> float:
    r"""The expected InfoNCE loss at K = 2, by summation over all :math:`(x_1, y, x_2)`:
    :math:`-\E_{p(x_1,y)p(x_2)}\log\bigl(2 r(x_1,y)/(r(x_1,y)+r(x_2,y))\bigr)`, nats."""
    if one_of("contrast", contrast, ("x", "y")) == "y":
        critic, law = critic.mT, law.mT
    own, other = critic[:, None, :], critic[None, :, :]
    weights = law[:, None, :] * law.sum(1)[None, :, None]
    return float((weights * (torch.logaddexp(own, other) - own - math.log(2))).sum())


def exact_both_ways(critic: Matrix, law: Matrix) -> float:
    """The mean of the two one-sided losses: what SimCLR minimises."""
    return (exact_infonce(critic, law, "x") + exact_infonce(critic, law, "y")) / 2


def excess(law: Matrix, free: Float[Tensor, " m"]) -> dict[str, float]:
    """How much worse than the true critic log r + a(y) is, by either loss."""
    true = log_ratio(law)
    moved = true + free[None, :]
    return {
        "one-sided": exact_infonce(moved, law) - exact_infonce(true, law),
        "both ways": exact_both_ways(moved, law) - exact_both_ways(true, law),
    }
