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
from torch import nn

from mi_lib import InfoNCEAnchor, Separable, fit_critic
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
    sides = [torch.from_numpy(as_numbers(v, name)).float() for v, name in ((x, "x"), (y, "y"))]
    n, rows = len(sides[0]), []
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    parts = order.tensor_split([round(0.6 * n), round(0.8 * n)])
    train, judge, held = ([side[part] for side in sides] for part in parts)

    half = len(held[0]) // 2
    halves = slice(half), slice(half, 2 * half)
    for nu in nus:

        def look(step: int, critic: nn.Module, nu: float = nu) -> None:
            scores = (critic(*(side[:400] for side in part)) for part in (train, judge, held))
            found = _estimates(*(matrix.double() for matrix in scores), nu)
            rows.append({"step": step, "nu": nu, **found})

        fit_critic(
            Separable(*(side.shape[1] for side in sides), (seed,), hidden=128),
            tuple(train),
            held_out=[[side[part] for side in held] for part in halves],
            loss=InfoNCEAnchor(nu=nu),
            steps=steps,
            batch=batch,
            patience=None,
            average=None,
            every=20,
            seed=seed,
            device="cpu",
            on_look=look,
        )
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
