r"""The anchored loss as a smooth function of c = log r on a finite alphabet.

With the log score a tuple enters the loss only through the counts n of its symbols,

    loss(c) = sum_n W_n log(nu + <n, e^c>) - <linear, c> - constant,

so that the loss is convex in c, and everything about its minimum is a finite sum.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from mi_lib.alphabet import Alphabet
from mi_lib.validate import one_of


@dataclass(frozen=True)
class Landscape:
    """The loss as a function of one number c for each symbol (or for each pair of symbols)."""

    counts: np.ndarray  # one row a tuple: how often each symbol occurs in it
    weights: np.ndarray  # probability of the row, over all classes
    linear: np.ndarray  # probability that the tuple has a positive and that it is this symbol
    nu: float

    def value(self, c: np.ndarray) -> np.ndarray:
        """The loss in nats, for any leading dimensions of c."""
        anchor = (1 - self.linear.sum()) * np.log(self.nu) if self.nu else 0.0
        total = np.log(self.nu + np.exp(c) @ self.counts.T)
        return (total * self.weights).sum(-1) - c @ self.linear - anchor

    def _parts(self, c: np.ndarray) -> np.ndarray:
        """For each tuple the posterior mass of each symbol, summed over its places."""
        parts = self.counts * np.exp(c)
        return parts / (self.nu + parts.sum(-1, keepdims=True))

    def gradient(self, c: np.ndarray) -> np.ndarray:
        """Mass that the critic gives to a symbol minus the mass that it has."""
        return self.weights @ self._parts(c) - self.linear

    def hessian(self, c: np.ndarray) -> np.ndarray:
        """The mean over tuples of the posterior covariance of the symbol at place z."""
        p = self._parts(c)
        return np.diag(self.weights @ p) - (p * self.weights[:, None]).T @ p

    def descend(self, start: np.ndarray, rate: float, steps: int) -> np.ndarray:
        """The path of plain gradient descent in c, one row a step."""
        path = [np.asarray(start, float)]
        for _ in range(steps):
            path.append(path[-1] - rate * self.gradient(path[-1]))
        return np.array(path)

    def minimise(self, start: np.ndarray) -> np.ndarray:
        """The minimum that a trust-region Newton method finds from ``start``."""
        options = {"gtol": 1e-12, "maxiter": 500}
        return minimize(
            self.value,
            start,
            jac=self.gradient,
            hess=self.hessian,
            method="trust-exact",
            options=options,
        ).x


def landscape(q1: Sequence[float], q0: Sequence[float], k: int, nu: float) -> Landscape:
    """The loss of Eq. 4 for q1 against q0; q1 may have mass where q0 has none.

    >>> pair = landscape((0.2, 0.8), (0.6, 0.4), 3, 1.0)
    >>> np.exp(pair.minimise(np.zeros(2))).round(6).tolist()
    [0.333333, 2.0]
    """
    q1, q0 = np.asarray(q1, float), np.asarray(q0, float)
    alphabet = Alphabet(q0, q0)
    rest, chance = alphabet.draws(q0, k - 1)
    counts = [rest + own for own in np.eye(len(q0))]
    weights = [k * p * chance for p in q1]
    if nu:
        negatives, chance = alphabet.draws(q0, k)
        counts.append(negatives)
        weights.append(nu * chance)
    joined, w = np.concatenate(counts).astype(float), np.concatenate(weights) / (k + nu)
    return Landscape(joined[w > 0], w[w > 0], k * q1 / (k + nu), float(nu))


def joint_landscape(joint: np.ndarray, k: int, nu: float, tuples: str = "x") -> Landscape:
    """The loss of a joint distribution p[x, y] as a function of c[x, y], flattened.

    ``tuples="x"`` contrasts x's for the same y (the paper's L^(1)), ``"y"`` contrasts y's for the
    same x, ``"pairs"`` contrasts independent pairs (its L^(2), Appendix A).
    """
    one_of("tuples", tuples, ("x", "y", "pairs"))
    px, py = joint.sum(1), joint.sum(0)
    if tuples == "pairs":
        return landscape(joint.ravel(), np.outer(px, py).ravel(), k, nu)
    cells = np.arange(joint.size).reshape(joint.shape)
    rows, shared, other = (joint.T, py, px) if tuples == "x" else (joint, px, py)
    places = cells.T if tuples == "x" else cells
    counts, weights, linear = [], [], np.zeros(joint.size)
    for row, mass, place in zip(rows, shared, places, strict=True):
        one = landscape(row / mass, other, k, nu)
        wide = np.zeros((len(one.counts), joint.size))
        wide[:, place] = one.counts
        counts.append(wide)
        weights.append(mass * one.weights)
        linear[place] = mass * one.linear
    return Landscape(np.concatenate(counts), np.concatenate(weights), linear, float(nu))


def loss_panel(
    pair: tuple[np.ndarray, np.ndarray], k: int, nu: float, steps: int
) -> dict[str, np.ndarray]:
    """What a contour plot of the loss of two symbols needs, in bits.

    ``bits`` is the grid of log2 r, ``excess[i, j]`` the loss above its minimum at r = (bits[j],
    bits[i]), ``ratio`` the true log-ratios, ``paths`` the gradient descents from eight starts.
    """
    loss, best = landscape(*pair, k, nu), np.log(pair[0] / pair[1])
    bits = np.linspace(-6, 6, 121)
    grid = np.stack(np.meshgrid(bits, bits), -1) * np.log(2)
    starts = 3 * np.array([(1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1), (0, 1)])
    paths = [loss.descend(start * np.log(2), 2.0, steps) for start in starts]
    return {
        "bits": bits,
        "excess": (loss.value(grid) - loss.value(best)) / np.log(2),
        "ratio": best / np.log(2),
        "paths": np.array(paths) / np.log(2),
    }


def null_space(hessian: np.ndarray, relative: float = 1e-9) -> np.ndarray:
    """Orthonormal directions along which a positive semidefinite matrix vanishes, as columns."""
    values, vectors = np.linalg.eigh(hessian)
    return vectors[:, values <= relative * values[-1]]


def free_directions(joint: np.ndarray, k: int, nu: float, tuples: str = "x") -> np.ndarray:
    """The null space of the Hessian in log r(x, y) at the ratio, each direction as a table [x, y].

    >>> len(free_directions(np.array([[0.2, 0.1], [0.3, 0.4]]), 3, 0.0))  # one for each y
    2
    """
    ratio = np.log(joint / np.outer(joint.sum(1), joint.sum(0)))
    hessian = joint_landscape(joint, k, nu, tuples).hessian(ratio.ravel())
    return null_space(hessian).T.reshape(-1, *joint.shape)
