r"""What InfoNCE and the log-score anchor need of a row of scores: three numbers, and no matrix.

The points of row i in cyclic order are the positive, the negatives, and the last negative, which
the anchored tuple with the pair leaves out. Both losses see all others only through one sum,

.. math:: \mathrm{own}_i = s_{ii}, \quad \mathrm{last}_i = s_{i,i-1}, \quad
          \mathrm{rest}_i = \log\sum_{j\notin\{i,i-1\}} e^{s_{ij}}.

Positive and last negative are masked *before* the sum: subtracted afterwards, they would leave
nothing but rounding where one of them dominates the row. `of_matrix` takes a score matrix and
needs one copy of it in each direction; `of_products` takes two embeddings, and computes their
products in square blocks, once more in the backward pass, so that no matrix is ever held.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

Rows = Float[Tensor, "... b n"]
Sums = Float[Tensor, "... 3 b"]


def _last(b: int, n: int, device: torch.device) -> Tensor:
    """The column of each row's last negative: the one before the positive, cyclically."""
    return (torch.arange(b, device=device) - 1) % n


def _mask(block: Rows, row: int, column: int, n: int) -> Rows:
    """Fill the positives and the last negatives of a block that begins at (row, column)."""
    for gap in (0, -1, n - 1):
        offset = gap + row - column
        if -block.shape[-2] < offset < block.shape[-1]:
            block.diagonal(offset, -2, -1).fill_(-math.inf)
    return block


def _finite(rest: Tensor) -> Tensor:
    """Zero where a row has no other points: what is summed there is nothing."""
    return rest.masked_fill(rest.isneginf(), 0.0)


class _OfMatrix(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(rows):
        b, n = rows.shape[-2:]
        last = _last(b, n, rows.device).expand(rows.shape[:-1])[..., None]
        own, last = rows.diagonal(0, -2, -1), rows.gather(-1, last)[..., 0]
        kept = _mask(rows.clone(memory_format=torch.contiguous_format), 0, 0, n)
        most = _finite(kept.amax(-1, keepdim=True))
        rest = kept.sub_(most).exp_().sum(-1).log_() + most[..., 0]
        return torch.stack([own, last, rest], -2)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx, gradient):
        rows, sums = ctx.saved_tensors
        b, n = rows.shape[-2:]
        own, last, rest = gradient.unbind(-2)
        kept = _mask(rows.clone(), 0, 0, n)
        kept = kept.sub_(_finite(sums[..., 2, :])[..., None]).exp_()
        again = torch.is_grad_enabled()  # somebody wants a second derivative
        kept = kept * rest[..., None] if again else kept.mul_(rest[..., None])
        kept.diagonal(0, -2, -1).copy_(own)
        return kept.scatter_(
            -1, _last(b, n, rows.device).expand(rows.shape[:-1])[..., None], last[..., None]
        )


def of_matrix(rows: Rows) -> Sums:
    """own, last and rest of each row, the positives on the diagonal."""
    return _OfMatrix.apply(rows)


def _blocks(size: int, block: int) -> list[slice]:
    return [slice(first, min(first + block, size)) for first in range(0, size, block)]


def _products(left: Tensor, right: Tensor, r: slice, c: slice) -> Tensor:
    """The masked scores of a block, in full precision also where backward is called in autocast."""
    with torch.autocast(left.device.type, enabled=False):
        return _mask(left[r] @ right[c].T, r.start, c.start, len(right))


@torch.library.custom_op("mi_lib::row_sums", mutates_args=())
def _of_products(left: Tensor, right: Tensor, block: int) -> Tensor:
    b, n = len(left), len(right)
    sums = left.new_empty(3, b)
    sums[0] = torch.linalg.vecdot(left, right[:b])
    sums[1] = torch.linalg.vecdot(left, right[_last(b, n, left.device)])
    for r in _blocks(b, block):
        parts = [_products(left, right, r, c).logsumexp(-1) for c in _blocks(n, block)]
        sums[2, r] = torch.stack(parts).logsumexp(0)
    return sums


@torch.library.custom_op("mi_lib::row_sums_backward", mutates_args=())
def _gradients(
    gradient: Tensor, left: Tensor, right: Tensor, sums: Tensor, block: int
) -> tuple[Tensor, Tensor]:
    b, n = len(left), len(right)
    own, last, weight = gradient[..., None]
    rest, before = _finite(sums[2])[:, None], _last(b, n, left.device)
    of_left, of_right = right[:b] * own, torch.zeros_like(right)
    of_left.addcmul_(right[before], last)
    of_right[:b].addcmul_(left, own)
    of_right.index_add_(0, before, left * last)
    for r in _blocks(b, block):
        for c in _blocks(n, block):
            share = _products(left, right, r, c).sub_(rest[r]).exp_().mul_(weight[r])
            of_left[r].addmm_(share, right[c])
            of_right[c].addmm_(share.T, left[r])
    return of_left, of_right


@_of_products.register_fake
def _(left, right, block):
    return left.new_empty(3, len(left))


@_gradients.register_fake
def _(gradient, left, right, sums, block):
    return torch.empty_like(left), torch.empty_like(right)


def _remember(ctx, inputs, output):
    ctx.save_for_backward(inputs[0], inputs[1], output)
    ctx.block = inputs[2]


def _backward(ctx, gradient):
    return *_gradients(gradient, *ctx.saved_tensors, ctx.block), None


def _refuse(ctx, *gradients):
    raise NotImplementedError(
        "a loss that is computed in blocks has no second derivative; pass block=None to the loss"
    )


_of_products.register_autograd(_backward, setup_context=_remember)
_gradients.register_autograd(_refuse)


def of_products(
    left: Float[Tensor, "b e"], right: Float[Tensor, "n e"], block: int
) -> Float[Tensor, "3 b"]:
    """own, last and rest of the rows ``left @ right.T``, in blocks of ``block`` x ``block``."""
    return _of_products(left, right, block)
