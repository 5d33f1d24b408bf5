r"""LMI: compress both sides by autoencoders, then count neighbours in the latent space (KSG).

The method is that of Gowri et al. (2024), the small implementation ours. Two encoders of eight
latent numbers each are trained to reconstruct their own side and, crosswise, the other. The PMI of
a query (x, y) then follows from the distances in the latent space of N reference pairs: with
:math:`\varepsilon` the (max-norm) distance to the k-th nearest reference pair and n_x, n_y the
numbers of references nearer than that on either side (Kraskov et al. 2004, pointwise),

.. math:: \mathrm{pmi}(x, y) = \psi(k) + \psi(N) - \psi(n_x + 1) - \psi(n_y + 1).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from mi_lib.streams import stream

from .protein_protocols import Candidates, Split

NEIGHBOURS = 3


@dataclass(frozen=True)
class LatentSettings:
    """The autoencoders and their training; the defaults are small, `protein_grid` says what ran."""

    hidden: tuple[int, ...] = (128,)
    latent: int = 8
    batch: int = 512
    rate: float = 1e-3
    steps: int = 1000
    every: int = 100  # steps between looks at the validation loss
    patience: int = 3  # looks without improvement before stopping


def _mlp(sizes: tuple[int, ...]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in zip(sizes[:-1], sizes[1:], strict=True):
        layers += [nn.Linear(inputs, outputs), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1])


class CrossAutoencoder(nn.Module):
    """Two encoders, four decoders: each side from its own latent numbers and from the other's."""

    def __init__(self, dims: tuple[int, int], settings: LatentSettings):
        super().__init__()
        down = [(dim, *settings.hidden, settings.latent) for dim in dims]
        self.encoders = nn.ModuleList(_mlp(sizes) for sizes in down)
        self.decoders = nn.ModuleList(_mlp(down[i][::-1]) for i in (0, 1, 0, 1))

    def loss(self, x: Float[Tensor, "b dx"], y: Float[Tensor, "b dy"]) -> Float[Tensor, ""]:
        """Four mean squared errors: x and y from both latents."""
        of_x, of_y = self.encoders[0](x), self.encoders[1](y)
        latents, wanted = (of_x, of_y, of_y, of_x), (x, y, x, y)
        parts = zip(self.decoders, latents, wanted, strict=True)
        return sum(nn.functional.mse_loss(decode(z), side) for decode, z, side in parts)


class LatentMI:
    """LMI trained on a split; `scores` gives the PMI of its candidates."""

    def __init__(self, split: Split, settings: LatentSettings, seed: int):
        self.split = split
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.model = CrossAutoencoder((split.x.shape[1], split.y.shape[1]), settings)
        self._train(settings, stream("latent batches", seed))
        x, y = self._sides(split.reference)
        with torch.no_grad():
            self.reference = self.model.encoders[0](x), self.model.encoders[1](y)

    def _sides(self, pairs: np.ndarray) -> tuple[Tensor, Tensor]:
        return self.split.x[pairs[:, 0]], self.split.y[pairs[:, 1]]

    def _train(self, settings: LatentSettings, chance: torch.Generator) -> None:
        optimiser = torch.optim.Adam(self.model.parameters(), settings.rate, fused=True)
        x, y = self._sides(self.split.train)
        best, state, waited = float("inf"), None, 0
        for step in range(1, settings.steps + 1):
            chosen = torch.randint(len(x), (settings.batch,), generator=chance, device="cpu")
            optimiser.zero_grad(set_to_none=True)
            self.model.loss(x[chosen], y[chosen]).backward()
            optimiser.step()
            if step % settings.every:
                continue
            with torch.no_grad():
                value = float(self.model.loss(*self._sides(self.split.validation)))
            waited = 0 if value < best else waited + 1
            if value < best:
                best, state = value, {k: v.clone() for k, v in self.model.state_dict().items()}
            if waited >= settings.patience:
                break
        if state is not None:
            self.model.load_state_dict(state)

    @torch.no_grad()
    def scores(self, candidates: Candidates) -> Float[np.ndarray, "a b"]:
        """The PMI, in nats, of every left protein with every right one."""
        u, v = self.model.encoders[0](candidates.x), self.model.encoders[1](candidates.y)
        return pointwise_ksg(*self.reference, u, v)


def pointwise_ksg(
    x: Float[Tensor, "n dx"],
    y: Float[Tensor, "n dy"],
    u: Float[Tensor, "a dx"],
    v: Float[Tensor, "b dy"],
    k: int = NEIGHBOURS,
) -> Float[np.ndarray, "a b"]:
    """KSG terms of every u_i with every v_j, given the reference pairs (x_n, y_n); nats.

    The distance to a reference pair is the larger of the two sides', so a table of distances on
    each side is enough, whatever the number of combinations.
    """
    if not 1 <= k <= len(x):
        raise ValueError(f"k={k} neighbours among {len(x)} reference pairs; use 1 <= k <= that")
    to_x, to_y = (torch.cdist(q, r, p=torch.inf) for q, r in ((u, x), (v, y)))
    sorted_x, sorted_y = to_x.sort(-1).values, to_y.sort(-1).values
    result = torch.empty(len(u), len(v), dtype=torch.float64, device=u.device)
    for i in range(len(u)):
        radius = torch.maximum(to_x[i], to_y).topk(k, -1, largest=False, sorted=True).values[:, -1]
        radius = radius.contiguous()
        n_x = torch.searchsorted(sorted_x[i], radius)
        n_y = torch.searchsorted(sorted_y, radius[:, None])[:, 0]
        result[i] = -torch.digamma(n_x + 1.0).double() - torch.digamma(n_y + 1.0).double()
    whole = torch.tensor([float(k), float(len(x))], dtype=torch.float64, device="cpu")
    return (result.cpu() + torch.digamma(whole).sum()).numpy()


def latent_settings(given: Mapping | None) -> LatentSettings:
    """Settings from a configuration that went through JSON."""
    given = dict(given or {})
    if "hidden" in given:
        given["hidden"] = tuple(given["hidden"])
    return LatentSettings(**given)
