r"""The gradient of a batch whose activations do not fit into memory.

A contrastive loss needs the embeddings of the whole batch at once, but not what the encoders
computed on the way. So: embed without a graph, take the loss of the embeddings and its gradient
there, then embed again in chunks and pass that gradient on,

.. math:: \nabla_\theta L = \sum_i \Bigl(\frac{\partial L}{\partial f_i}\Bigr)^{\!\top}
          \frac{\partial f_\theta(x_i)}{\partial\theta}.

It costs one more pass forward, and the memory of one chunk.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from .batches import Batch, as_batch, length, part_of, slices
from .devices import random_state, set_random_state
from .validate import whole_number


def backward_in_chunks(
    loss: Callable[[Tensor, Tensor], Tensor],
    encoders: Sequence[nn.Module],
    batch: Batch,
    chunk: int,
) -> Tensor:
    """Add to all gradients what ``loss(f(x), g(y)).backward()`` would, one chunk after another.

    Equal to the plain step with encoders that see the batch chunk by chunk: the second pass draws
    the same random numbers (dropout) as the first, buffers (running means) change once, and batch
    norm normalises within a chunk.

    Parameters
    ----------
    loss : function of two embeddings
        `InfoNCEAnchor`, its ``over_ranks``, or your own.
    encoders : (f, g)
        Modules; the same twice where they share all weights.
    batch : (x, y)
        Tensors, or mappings of tensors, whose first dimension counts the pairs.
    chunk : int
        Pairs a chunk.

    Returns
    -------
    The value of the loss, without graph.
    """
    whole_number(chunk, "chunk", 1)
    if [isinstance(encoder, nn.Module) for encoder in encoders] != [True, True]:
        raise ValueError(f"encoders={encoders!r}; pass two modules (f, g)")
    batch = as_batch(batch)
    pieces = [
        (encoder, part_of(side, part))
        for encoder, side in zip(encoders, batch, strict=True)
        for part in slices(length(side), chunk)
    ]
    buffers = {id(b): b for encoder in encoders for b in encoder.buffers()}.values()
    device = next(p.device for encoder in encoders for p in encoder.parameters())
    random, before = random_state(device), [b.clone() for b in buffers]
    with torch.no_grad():
        found = [encoder(piece) for encoder, piece in pieces]
    half = len(pieces) // 2
    leaves = [torch.cat(part).requires_grad_() for part in (found[:half], found[half:])]
    value = loss(*leaves)
    _backward(value)
    set_random_state(random, device)
    for buffer, old in zip(buffers, before, strict=True):
        buffer.copy_(old)
    gradients = [part for leaf in leaves for part in leaf.grad.split(chunk)]
    for (encoder, piece), gradient in zip(pieces, gradients, strict=True):
        again = encoder(piece)
        if again.requires_grad:  # not of a frozen encoder
            _backward(again, gradient)
    return value.detach()


def _backward(value: Tensor, gradient: Tensor | None = None) -> None:
    """Backward is never taken in autocast, also where the caller is in it."""
    with torch.autocast(value.device.type, enabled=False):
        value.backward(gradient)
