r"""The trap of nu = 1 on a finite table: plain critics, one for each nu, on the same batches.

The loss sees a wrong scale :math:`C` of the ratio with curvature at most
:math:`\nu K/(K+\nu)^2` in :math:`\log C`: weak at nu = 1, strongest at nu = K. A critic that begins
to memorise its training pairs is over-confident on others, and nothing holds the scale of its
plug-in.
"""

import math
from typing import Any

import numpy as np
import pandas as pd
import torch

from mi_lib.critics import Separable
from mi_lib.inference import calibration
from mi_lib.objectives import anchor, log_mean_exp, negatives, positives

from .neural_baselines import as_numbers


def curvature(nu: float, k: int) -> float:
    r"""The most that the loss can bend in the log of the scale, :math:`\nu K/(K+\nu)^2`.

    >>> curvature(64, 64)
    0.25
    """
    return nu * k / (k + nu) ** 2


def train_plain(
    x: Any, y: Any, nus: tuple[float, ...], seed: int = 0, steps: int = 300, batch: int = 128
) -> pd.DataFrame:
    """Curves, in bits, of separable critics 128 x 2 trained with each nu on 60 % of the pairs.

    Columns: step, nu, ``training`` (plug-in on training pairs), ``plug_in`` and ``dv`` on 20 % held
    out, ``calibrated`` (plug-in after a, b are fitted to the other 20 %), ``loss`` (held out).
    """
    generator = torch.Generator().manual_seed(seed)
    sides = [torch.from_numpy(as_numbers(v, name)).float() for v, name in ((x, "x"), (y, "y"))]
    n = len(sides[0])
    order = torch.randperm(n, generator=generator)
    fit, judge, held = order.tensor_split([round(0.6 * n), round(0.8 * n)])
    critic = Separable(
        sides[0].shape[1], sides[1].shape[1], (seed,), copies=len(nus), hidden=128, embedding=16
    )
    optimiser = torch.optim.Adam(critic.parameters(), 1e-3, fused=True)

    def scores_of(rows: torch.Tensor) -> torch.Tensor:
        return critic(*(side[rows][None] for side in sides))[:, 0]

    rows = []
    for step in range(steps + 1):
        if step % 20 == 0:
            with torch.no_grad():
                looks = [scores_of(part[:400]).double() for part in (fit, judge, held)]
            rows += [
                {"step": step, "nu": nu, **_estimates(*(look[i] for look in looks), nu)}
                for i, nu in enumerate(nus)
            ]
        chosen = fit[torch.randint(len(fit), (batch,), generator=generator)]
        scores = scores_of(chosen)
        optimiser.zero_grad(set_to_none=True)
        sum(anchor(scores[i], nu=nu) for i, nu in enumerate(nus)).backward()
        optimiser.step()
    return pd.DataFrame(rows)


def _estimates(fit: torch.Tensor, judge: torch.Tensor, held: torch.Tensor, nu: float) -> dict:
    """All estimates from one critic, in bits."""
    own, others = positives(judge).numpy(), negatives(judge).flatten().numpy()
    a = calibration.fit(own[:, None], others[:, None])
    value = positives(held)
    bits = {
        "training": positives(fit).mean(),
        "plug_in": value.mean(),
        "dv": value.mean() - log_mean_exp(negatives(held), 2),
        "calibrated": np.mean(calibration.apply(a, value.numpy()[:, None])),
        "loss": anchor(held, nu=nu),
    }
    return {name: float(number) / math.log(2) for name, number in bits.items()}
