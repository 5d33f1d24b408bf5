"""Expectations over all batches of a finite pair: what a minibatch form estimates, exactly.

A pair (X, Y) on a finite alphabet is a matrix ``joint[x, y]`` of probabilities, a critic a matrix
``critic[x, y]`` of log ratios. `expectation` runs the torch objective itself on every batch of B
pairs; `population` has the same functionals written out by hand, in nats.
"""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mi_lib import finite
from mi_lib.objectives import Loss, Scores

Joint = Float[np.ndarray, "nx ny"]


def random_joints(count: int, shape: tuple[int, int], seed: int) -> Iterator[Joint]:
    """Joint distributions drawn from Dirichlet(1, ..., 1)."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield rng.dirichlet(np.ones(shape[0] * shape[1])).reshape(shape)


def product_law(joint: Joint) -> Joint:
    """p(x) p(y)."""
    return np.outer(joint.sum(1), joint.sum(0))


def log_ratio(joint: Joint) -> Joint:
    """The true critic, log p(x,y)/(p(x)p(y))."""
    with np.errstate(divide="ignore"):
        return np.log(joint / product_law(joint))


def information(joint: Joint, unit: str = "nats") -> float:
    """I(X;Y)."""
    return finite.kl(joint.ravel(), product_law(joint).ravel(), unit)


def expectation(
    objective: Callable[[Scores], Loss], joint: Joint, critic: Joint | Tensor, b: int
) -> Tensor:
    """E[objective(scores)] over all batches of b independent pairs; differentiable in the critic.

    >>> from mi_lib.objectives import plug_in
    >>> fair = np.array([[0.5, 0.0], [0.0, 0.5]])
    >>> bool(expectation(plug_in, fair, np.log([[2.0, 1.0], [1.0, 2.0]]), 2) == -np.log(2.0))
    True
    """
    critic = torch.as_tensor(critic, dtype=torch.float64, device="cpu")
    cells = [cell for cell in np.ndindex(joint.shape) if joint[cell] > 0]
    chosen = np.array(list(product(range(len(cells)), repeat=b)))
    x, y = np.array(cells)[chosen].transpose(2, 0, 1)
    weights = np.array([joint[cell] for cell in cells])[chosen].prod(1)
    scores = critic[x[:, :, None], y[:, None, :]]
    return (torch.from_numpy(weights) * objective(scores)).sum()


def gradient(
    objective: Callable[[Scores], Loss], joint: Joint, critic: Joint, b: int
) -> Float[np.ndarray, "nx ny"]:
    """Gradient of `expectation` in the critic's entries."""
    variable = torch.tensor(critic, dtype=torch.float64, device="cpu", requires_grad=True)
    expectation(objective, joint, variable, b).backward()
    return variable.grad.numpy()


def population(name: str, joint: Joint, critic: Joint, tau: float = 5.0) -> float:
    """The functional itself (a loss, in nats), from its definition."""
    p, q, c = joint.ravel(), product_law(joint).ravel(), critic.ravel()
    r = np.exp(c)
    return float(
        {
            "plug-in": lambda: -(p @ c),
            "dv": lambda: -(p @ c) + np.log(q @ r),
            "nwj": lambda: -(p @ c) + q @ r - 1,
            "js": lambda: p @ np.log(1 + 1 / r) + q @ np.log(1 + r),
            "chi-square": lambda: -2 * (p @ r) + q @ r**2,
            "hellinger": lambda: p @ r**-0.5 + q @ r**0.5 - 2,
            "clipped-dv": lambda: -(p @ c) + np.log(q @ np.clip(r, np.exp(-tau), np.exp(tau))),
        }[name]()
    )


def conditional_pairs(joint: Joint, contrast: str) -> Iterator[tuple[float, int, tuple]]:
    """For contrast "x": p(y), y and (p(x|y), p(x)); for "y" with the roles of x and y swapped."""
    table = joint if contrast == "x" else joint.T
    for y, weight in enumerate(table.sum(0)):
        yield float(weight), y, (table[:, y] / weight, table.sum(1))


def infonce(joint: Joint, critic: Joint, k: int, contrast: str) -> float:
    """E_y[InfoNCE of c(., y) on p(x|y), p(x)] at K = k, in nats (or with x and y swapped)."""
    table = critic if contrast == "x" else critic.T
    return sum(
        weight * finite.infonce(np.exp(table[:, y]), *pair, k, "nats")
        for weight, y, pair in conditional_pairs(joint, contrast)
    )


def anchored(joint: Joint, critic: Joint, k: int, nu: float, contrast: str = "x") -> float:
    """E_y[population loss of InfoNCE-anchor on p(x|y), p(x)], in nats."""
    table = critic if contrast == "x" else critic.T
    return sum(
        weight * finite.anchored_risk(np.exp(table[:, y]), *pair, k, nu)
        for weight, y, pair in conditional_pairs(joint, contrast)
    )
