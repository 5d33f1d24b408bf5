r"""Losses for your own training loop: `nn.Module`s over the pure functions of `objectives`.

Each takes a score matrix ``scores[..., i, j] = c(x_i, y_j)`` with the positives on the diagonal, or
two embeddings ``[B, e]`` whose products, divided by ``temperature``, are the scores:

>>> import torch
>>> from mi_lib import InfoNCEAnchor
>>> loss = InfoNCEAnchor(nu="k")
>>> x = torch.randn(8, 16, generator=torch.Generator().manual_seed(0), requires_grad=True)
>>> value = loss(x, x.detach())              # or loss(x @ x.detach().T)
>>> value.backward()
>>> loss
InfoNCEAnchor(nu='k', rule=Log(), contrast='x')

Losses are in nats. Half-precision scores are computed with in float32. Given two embeddings,
InfoNCE and the anchor hold no matrix of a large batch (`Tuples`). A loss knows which value of
a critic estimates the mutual information (`reports`), and, where there is one, the lower bound that
its value is (`bound`) and certifies (`certified`).
"""

from .pairwise import DV, JS, MINE, NWJ, ChiSquare, Hellinger
from .tuples import InfoNCE, InfoNCEAnchor, Loss

__all__ = ["DV", "JS", "MINE", "NWJ", "ChiSquare", "Hellinger", "InfoNCE", "InfoNCEAnchor", "Loss"]
