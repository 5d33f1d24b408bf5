"""Where to compute, and where its random numbers stand."""

from typing import Any

import torch
from torch import Tensor


def pick_device(device: Any = "auto") -> torch.device:
    """``"auto"`` picks cuda, then mps, then cpu; any other name is taken if a tensor can be put
    there, and refused else."""
    if isinstance(device, str) and device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        found = torch.device(device)
        torch.empty(0, device=found)
    except (RuntimeError, AssertionError, TypeError, NotImplementedError):
        raise ValueError(
            f"device={device!r} cannot be used here; pass 'auto', 'cpu', or one that torch can use"
        ) from None
    return found


def random_state(device: torch.device) -> list[Tensor]:
    """The state of torch's global random numbers, of the CPU's and of the device's own."""
    own = [torch.cuda.get_rng_state(device)] if device.type == "cuda" else []
    return [torch.get_rng_state(), *own]


def set_random_state(states: list[Tensor], device: torch.device) -> None:
    """Go back to what `random_state` gave."""
    torch.set_rng_state(states[0].cpu())
    if len(states) > 1:
        torch.cuda.set_rng_state(states[1].cpu(), device)
