r"""The rivals as their authors run them.

InfoNCE has a separable critic and takes the other pairs of the batch as negatives. NWJ, DV and MINE
have a network on :math:`(x, y)` and shuffle the partners of the batch, so that there is one random
pair for each true one:

.. math:: \text{DV: } \bar c - \log\overline{e^{\tilde c}}, \qquad
          \text{NWJ: } \bar c - \overline{e^{\tilde c - 1}},

and MINE is DV whose gradient divides by a running mean. Two hidden layers of 256 units, Adam at
5e-4, batches of 64 (InfoNCE) or 256; standardised inputs; half of the pairs train, and the largest
value on the other half is reported.
"""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mi_lib.streams import stream
from mi_lib.validate import nats_per

from ..training import EMA_RATE
from .neural_baselines import Usual, as_numbers, estimates

SHUFFLED = ("NWJ", "DV", "MINE")
INFONCE = Usual(critic="separable")
BATCH = 256


def usual_estimates(x: Any, y: Any, seed: int, steps: int | None = None) -> dict[str, float]:
    """All four values of one table, in bits."""
    settings = Usual(**{**vars(INFONCE), "steps": steps or INFONCE.steps})
    found = {"InfoNCE": estimates(x, y, seed, settings)["InfoNCE"]}
    numbers = np.column_stack([as_numbers(v, name) for v, name in ((x, "x"), (y, "y"))])
    dims = as_numbers(x, "x").shape[1]
    for name in SHUFFLED:
        found[name] = _train(name, torch.from_numpy(numbers).float(), dims, seed, settings)
    return found


def _network(inputs: int, hidden: int, seed: int) -> nn.Sequential:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(torch.randint(2**31, (1,), generator=stream("usual start", seed))))
        return nn.Sequential(
            nn.Linear(inputs, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )


def _train(name: str, z: Tensor, dims: int, seed: int, settings: Usual) -> float:
    """Train one of the three; the largest held-out value, in bits."""
    generator = stream("usual pairs", seed)
    order = torch.randperm(len(z), generator=generator)
    training, held = order.tensor_split(2)
    network = _network(z.shape[1], settings.hidden, seed)
    optimiser = torch.optim.Adam(network.parameters(), settings.rate)
    batch, running, best, since = min(BATCH, len(training)), None, -math.inf, 0
    for step in range(1, settings.steps + 1):
        rows = training[torch.randint(len(training), (batch,), generator=generator)]
        own, other = _scores(network, z[rows], dims, generator)
        now = (other.logsumexp(0) - math.log(batch)).detach()
        old = now if running is None else running
        running = torch.logaddexp(old + math.log1p(-EMA_RATE), now + math.log(EMA_RATE))
        if name == "MINE":
            value = own.mean() - (other - running).exp().mean()
        else:
            value = _value(name, own, other)
        optimiser.zero_grad(set_to_none=True)
        (-value).backward()
        optimiser.step()
        if step % settings.every == 0 or step == settings.steps:
            with torch.no_grad():
                found = float(_value(name, *_scores(network, z[held], dims, generator)))
            since = 0 if found > best else since + 1
            best = max(best, found)
            if since >= settings.patience:
                break
    return best / nats_per("bits")


def _scores(
    network: nn.Module, z: Tensor, dims: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Scores of the pairs, and of as many with shuffled partners."""
    partners = torch.randperm(len(z), generator=generator)
    shuffled = torch.cat([z[:, :dims], z[partners, dims:]], 1)
    return network(torch.cat([z, shuffled]))[:, 0].tensor_split(2)


def _value(name: str, own: Tensor, other: Tensor) -> Tensor:
    """The bound of these scores, in nats."""
    if name == "NWJ":
        return own.mean() - (other - 1).exp().mean()
    return own.mean() - other.logsumexp(0) + math.log(len(other))
