"""A simulated bipartite interaction set whose pointwise mutual information is known.

What the chapter on proteins runs where the real data is absent; it is not a model of real proteins.
"""

import math
from functools import cache

import numpy as np

from mi_lib.validate import whole_number

from .proteins import Interactions


@cache
def simulated(
    side: int = 240,
    families: int = 6,
    dim: int = 16,
    pairs: int = 2000,
    fidelity: float = 0.8,
    seed: int = 0,
) -> Interactions:
    r"""A bipartite set with known PMI: proteins of family f on the left seek family f on the right.

    .. math:: p(x, y) = w_x\,w'_y\,M_{f(x) f(y)}, \qquad M_{fg} = F\cdot(\text{fidelity if } f = g
              \text{ else } (1 - \text{fidelity})/(F - 1))

    The popularities w sum to 1/F in every family, so w and w' are the margins and log M is the PMI.
    A row of the embedding shows the family, the log popularity and the side, with noise. Pairs are
    drawn independently, so popular ones occur twice.
    """
    whole_number(side // families, "side // families", 2)
    chance = np.random.default_rng(seed)
    family = np.tile(np.arange(families), (2, side // families + 1))[:, :side]
    popularity = chance.normal(0.0, 1.0, (2, side))
    weight = np.exp(popularity)
    for f in range(families):
        for s in range(2):
            weight[s, family[s] == f] /= families * weight[s, family[s] == f].sum()
    same = family[0][:, None] == family[1][None, :]
    matrix = families * np.where(same, fidelity, (1 - fidelity) / (families - 1))
    joint = (weight[0][:, None] * weight[1][None, :] * matrix).ravel()
    drawn = chance.choice(joint.size, pairs, p=joint / joint.sum())
    left, right = np.unravel_index(drawn, (side, side))
    centres = chance.normal(0.0, 1.0, (2, families, dim))
    rows = np.concatenate([centres[s, family[s]] for s in range(2)])
    rows[:, 0] = popularity.ravel()
    rows[:, 1] = np.repeat([-2.0, 2.0], side)
    rows += chance.normal(0.0, 0.7, rows.shape)
    pmi = np.full((2 * side, 2 * side), -np.inf)
    pmi[:side, side:] = np.log(matrix)
    log_weight = np.full((2, 2 * side), -np.inf)
    log_weight[0, :side], log_weight[1, side:] = np.log(weight) + math.log(2 * side)
    rows, listed = rows.astype(np.float32), np.stack([left, right + side], 1)
    return Interactions("simulated", f"simulated{dim}", rows, listed, pmi, log_weight)
