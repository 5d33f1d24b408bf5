r"""What an objective does to the first step: gradients before any training, exact on one batch.

An untrained encoder gives all pairs nearly the same score. At equal probabilities of the K + 1
classes the pseudo-spherical score of *every* alpha has the gradient of the log score times
:math:`1/(K+1)`: its factor :math:`(K+1)^{-1/\alpha}` and the factor
:math:`(\eta_z/\|\eta\|_\alpha)^{\alpha-1} = (K+1)^{-(\alpha-1)/\alpha}` multiply to that. The PD
factorisation takes away more: :math:`\log r = \log\cos + \ldots` moves by :math:`1/\cos` where the
PMI factorisation moves by :math:`1/\tau`.
"""

from collections.abc import Iterable

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from mi_lib.objectives import negatives

from .ssl_losses import OBJECTIVES, Objective, get, pseudo_spherical
from .ssl_optim import trust
from .ssl_training import Pretraining

ALPHAS = (0.5, 0.9, 1.1, 1.5, 2.0, 3.0, 4.0)


def start_gradients(run: Pretraining) -> pd.DataFrame:
    """Of each objective on the first batch of a run: ``gradient``, its norm over all weights;
    ``relative``, that over InfoNCE's; ``clipped``, the share of weight matrices whose gradient is
    so small that LARS falls back to plain SGD at the peak rate; ``cosine``, the mean over
    strangers."""
    member = run.members[0]
    encoder, settings = member.encoder.train(), run.settings
    weights = [p for p in encoder.parameters() if p.ndim > 1]
    x, y = encoder(run.batch()[0]).chunk(2)
    peak = settings.rate * settings.batch / 256
    rows = {}
    for name, objective in OBJECTIVES.items():
        gradients = torch.autograd.grad(objective(x, y), weights, retain_graph=True)
        factors = [
            float(trust(w.detach(), g, peak, settings.eta, settings.decay))
            for w, g in zip(weights, gradients, strict=True)
        ]
        cosines = objective.model(x, y).detach() * objective.temperature
        rows[name] = {
            "gradient": float(torch.stack([g.norm() for g in gradients]).norm()),
            "clipped": sum(factor >= 1 for factor in factors) / len(factors),
            "cosine": float(negatives(cosines).mean()),
        }
    table = pd.DataFrame(rows).T
    table.insert(1, "relative", table["gradient"] / table.loc["infonce", "gradient"])
    return table


def score_gradient(objective: Objective, cosines: Float[Tensor, "b b"]) -> float:
    """Norm of the derivative of a loss in the cosines of all pairs."""
    cosines = cosines.detach().double().requires_grad_()
    loss = objective.loss(cosines / objective.temperature)
    return float(torch.autograd.grad(loss, cosines)[0].norm())


def alpha_sweep(
    cosines: Float[Tensor, "b b"], alphas: Iterable[float] = ALPHAS
) -> Float[pd.Series, " alpha"]:
    """Gradient of the anchored pseudo-spherical loss over that of the log score, by alpha."""
    log = score_gradient(get("anchor"), cosines)
    ratios = {a: score_gradient(pseudo_spherical(a), cosines) / log for a in alphas}
    return pd.Series(ratios, name="relative gradient").rename_axis("alpha")


def trained_cosines(batch: int, own: float = 0.9, other: float = 0.0) -> Float[Tensor, "b b"]:
    """Cosines as a trained encoder has them: ``own`` for the pairs, ``other`` elsewhere."""
    cosines = torch.full((batch, batch), other, dtype=torch.float64, device="cpu")
    return cosines.fill_diagonal_(own)
