r"""The contrastive objectives of the paper's Section 4.3, with its temperatures.

With unit embeddings z_i, z'_j of two views the model of the pair is the cosine over a temperature:
the PMI factorisation sets :math:`c_{ij} = z_i\cdot z'_j/\tau` (a log ratio), the PD factorisation
:math:`r_{ij} = z_i\cdot z'_j/\tau` (the ratio itself, which may be negative). Either view contrasts
the other, and the two losses are averaged, as in SimCLR: the joint minimum then leaves one constant
of r free where the one-sided InfoNCE leaves a function C(y).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor

from mi_lib import objective_variants, objectives
from mi_lib.objectives import Loss, Scores, log_mean_exp, negatives
from mi_lib.scoring import PseudoSpherical
from mi_lib.validate import one_of


def both_ways(loss: Callable[..., Loss], scores: Scores) -> Loss:
    """The mean of a loss over the two sides that can be contrasted."""
    return (loss(scores, contrast="x") + loss(scores, contrast="y")) / 2


def scaled_spherical(ratio: Scores, power: float = 1.0) -> Loss:
    """The spherical loss times B = K + 1, which makes its gradient at equal ratios that of the log
    score (see `ssl_start`), or times a power of B. The root of B gives the loss of the paper's
    Table 6, which has the score of its Table 4 without the factor."""
    return len(ratio) ** power * both_ways(objective_variants.spherical_pd, ratio)


@dataclass(frozen=True)
class Objective:
    """A loss of the pair model, its temperature, and whether the model is r itself."""

    title: str
    loss: Callable[[Scores], Loss]
    temperature: float = 0.2
    pd: bool = False
    k: str = "B-1"

    def model(self, x: Float[Tensor, "b d"], y: Float[Tensor, "b d"]) -> Float[Tensor, "b b"]:
        """c or r of every pair of embeddings."""
        return F.normalize(x, dim=-1) @ F.normalize(y, dim=-1).mT / self.temperature

    def __call__(self, x: Float[Tensor, "b d"], y: Float[Tensor, "b d"]) -> Loss:
        return self.loss(self.model(x, y))

    def log_means(self, model: Scores) -> Float[Tensor, " b"]:
        r"""For every column y the log of the mean of r over strangers x: :math:`\log C(y)` where
        r is the true ratio times C(y). NaN where that mean is not positive."""
        others = negatives(model.mT)
        return others.mean(-1).log() if self.pd else log_mean_exp(others)


OBJECTIVES: Mapping[str, Objective] = MappingProxyType(
    {
        "infonce": Objective("InfoNCE", partial(both_ways, objectives.infonce), k="B"),
        "anchor": Objective("InfoNCE-anchor", partial(both_ways, objectives.anchor)),
        "spherical": Objective(
            "spherical, Table 4", partial(both_ways, objective_variants.spherical_pd), pd=True
        ),
        "js": Objective("JS", objectives.js, k="1"),
        "chi-square": Objective(
            "chi-square", objective_variants.chi_square_pd, temperature=0.1, pd=True, k="1"
        ),
        "spherical-root": Objective(
            "spherical, Table 6", partial(scaled_spherical, power=0.5), pd=True
        ),
        "spherical-scaled": Objective("spherical times B", scaled_spherical, pd=True),
    }
)
SUPERVISED = "supervised"


def get(name: str) -> Objective:
    """The objective of that name."""
    return OBJECTIVES[one_of("objective", name, OBJECTIVES)]


def pseudo_spherical(alpha: float) -> Objective:
    """The anchored loss with the pseudo-spherical score of any alpha, PMI factorisation."""
    loss = partial(objectives.anchor, rule=PseudoSpherical(alpha))
    return Objective(f"pseudo-spherical {alpha:g}", partial(both_ways, loss))


def cross_entropy(
    x: Float[Tensor, "b classes"], y: Float[Tensor, "b classes"], labels: Tensor
) -> Loss:
    """The supervised reference: both views must name the class."""
    return (F.cross_entropy(x, labels) + F.cross_entropy(y, labels)) / 2


def loss_of(name: str) -> Callable[[Tensor, Tensor, Tensor], Loss]:
    """loss(x, y, labels) of an objective or of the supervised reference."""
    if name == SUPERVISED:
        return cross_entropy
    objective = get(name)
    return lambda x, y, labels: objective(x, y)


def linear_cka(x: Float[Tensor, "n d"], y: Float[Tensor, "n e"]) -> float:
    r"""Linear CKA of two sets of features of the same pictures,
    :math:`\|Y^\top X\|_F^2 / (\|X^\top X\|_F\,\|Y^\top Y\|_F)` after centring: 1 where one is a
    rotation and scaling of the other."""
    x, y = (part - part.mean(0) for part in (x.cpu().double(), y.cpu().double()))
    norm = torch.linalg.matrix_norm
    return float(norm(y.mT @ x) ** 2 / (norm(x.mT @ x) * norm(y.mT @ y)))


def alignment(x: Float[Tensor, "n d"], y: Float[Tensor, "n d"]) -> float:
    """Mean squared distance of the unit embeddings of two views of a picture (less is closer)."""
    return float((F.normalize(x, dim=-1) - F.normalize(y, dim=-1)).square().sum(-1).mean())


def uniformity(x: Float[Tensor, "n d"]) -> float:
    """log of the mean of exp(-2 distance^2) over pairs of unit embeddings (less is more even)."""
    cosines = F.normalize(x, dim=-1) @ F.normalize(x, dim=-1).mT
    return float(log_mean_exp(negatives(-2 * (2 - 2 * cosines)), 2))
