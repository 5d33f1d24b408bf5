"""Where to compute, and where its random numbers stand."""

import torch
from torch import Tensor


def pick_device(device: str | torch.device = "auto") -> torch.device:
    """``"auto"`` picks cuda, then mps, then cpu; any other name is taken as it is."""
    if device != "auto":
        return torch.device(device)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def random_state(device: torch.device) -> list[Tensor]:
    """The state of torch's global random numbers, of the CPU's and of the device's own."""
    own = [torch.cuda.get_rng_state(device)] if device.type == "cuda" else []
    return [torch.get_rng_state(), *own]


def set_random_state(states: list[Tensor], device: torch.device) -> None:
    """Go back to what `random_state` gave."""
    torch.set_rng_state(states[0].cpu())
    if len(states) > 1:
        torch.cuda.set_rng_state(states[1].cpu(), device)
