"""Random streams: one generator for each purpose and seed, and none shared by accident.

On a CPU torch uses only 32 bits of a seed, so ``2**32 + 5`` and ``5`` start the same stream.
Purposes are therefore hashed with their numbers, not added to them.
"""

import hashlib

import torch


def stream(purpose: str, *numbers: int, device: torch.device | str = "cpu") -> torch.Generator:
    """A generator on ``device`` that belongs to this purpose and these numbers alone.

    >>> one, two = stream("batches", 5), stream("held-out", 5)
    >>> bool(torch.rand(1, generator=one) == torch.rand(1, generator=two))
    False
    """
    digest = hashlib.sha256(repr((purpose, *map(int, numbers))).encode()).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest[:4], "big"))
