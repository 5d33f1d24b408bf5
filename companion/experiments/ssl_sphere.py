r"""What unit embeddings can say of the scale: their mean ratio over strangers is above 1.

Views of two different pictures have independent embeddings z, z' with one law on the unit sphere of
:math:`\mathbb{R}^d`. Every power of their cosine has a mean that is a square,
:math:`\mathbb{E}(z\cdot z')^k = \|\mathbb{E}\,z^{\otimes k}\|^2 \ge 0`, and for k = 2 it is at
least 1/d, since :math:`\mathbb{E}\,zz^\top` has trace 1. So :math:`r = e^{z\cdot z'/\tau}` has

.. math:: \mathbb{E}\,r = \sum_k \frac{\mathbb{E}(z\cdot z')^k}{k!\,\tau^k}
          > 1 + \frac{1}{2d\tau^2},

while the true ratio has mean 1.
"""

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor

from mi_lib.validate import real_number, whole_number


def least_mean_ratio(dim: int, temperature: float) -> float:
    r"""The bound :math:`1 + 1/(2d\tau^2)`.

    >>> round(least_mean_ratio(128, 0.2), 3)
    1.098
    """
    whole_number(dim, "dim", 1)
    if not real_number(temperature, "temperature") > 0:
        raise ValueError(f"temperature={temperature!r} must be above 0")
    return 1 + 1 / (2 * dim * temperature**2)


def mean_ratio(embeddings: Float[Tensor, "n d"], temperature: float) -> Float[Tensor, ""]:
    r"""The mean of :math:`e^{z\cdot z'/\tau}` over two independent draws of the given points, which
    are put on the unit sphere first: exact, over all ordered pairs."""
    z = F.normalize(embeddings, dim=-1)
    return (z @ z.mT / temperature).exp().mean()


def cross_polytope(dim: int) -> Float[Tensor, "n d"]:
    """The 2 d points plus and minus each axis: they attain the bound as the temperature grows."""
    eye = torch.eye(dim, dtype=torch.float64, device="cpu")
    return torch.cat([eye, -eye])


def spread(embeddings: Float[Tensor, "n d"], temperature: float, steps: int) -> Tensor:
    """The points after ``steps`` of gradient descent on the log of their mean ratio: an attack on
    the bound."""
    points = embeddings.clone().requires_grad_()
    adam = torch.optim.Adam([points], 0.05)
    for _ in range(steps):
        adam.zero_grad()
        mean_ratio(points, temperature).log().backward()
        adam.step()
    return points.detach()
