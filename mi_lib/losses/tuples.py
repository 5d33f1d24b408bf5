r"""What all losses share, and those with K points a tuple: InfoNCE and InfoNCE-anchor."""

import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from .. import objectives, ranks
from ..ceiling import certified_kl, prior_entropy
from ..scoring import Kliep, Log, ScoringRule
from ..validate import one_of, real_number, whole_number
from . import row_sums

HALF = (torch.float16, torch.bfloat16)
SUMMED = (Log, Kliep)  # rules that see the classes of other points only through their sum
LEAN = 512  # points of a row from which on its sums are quicker than its classes one by one
LARGE, BLOCK = 2048**2, 512  # from so many scores on they come in blocks; side of a block


class Loss(nn.Module):
    """What all losses share: scores or embeddings in, one number (a leading index) out.

    Parameters
    ----------
    temperature : number > 0 or tensor
        Divides the products of two embeddings; a score matrix is taken as it is. Embeddings are
        not normalised: `torch.nn.functional.normalize` them for a cosine critic.
    check : bool
        Refuse scores that are NaN or +inf with a sentence. The look waits for the device, as
        ``loss.item()`` does; it is left out inside `torch.compile` and `torch.func` transforms.
    """

    reports = "plug-in"  # which evaluation of the trained critic estimates the mutual information

    def __init__(self, *, temperature: float | Tensor = 1.0, check: bool = True):
        super().__init__()
        if not isinstance(temperature, Tensor) and not real_number(temperature, "temperature") > 0:
            raise ValueError(f"temperature={temperature!r} must be > 0: it divides the scores")
        if isinstance(temperature, Tensor) and temperature.numel() != 1:
            raise ValueError(f"temperature has shape {tuple(temperature.shape)}; pass one number")
        if not isinstance(check, bool):
            raise ValueError(f"check={check!r} is neither True nor False")
        self.temperature, self.check = temperature, check

    def objective(self, scores: objectives.Rows) -> objectives.Loss:
        """The loss of a score matrix, in nats."""
        raise TypeError(f"{type(self).__name__} has no objective; use one of its subclasses")

    def forward(self, scores: Tensor, other: Tensor | None = None) -> objectives.Loss:
        """The loss of a score matrix, or of embeddings of x and of y."""
        if other is not None:
            scores = self._products(scores, other)
        refuse_other_than_floats(scores, "scores")
        if scores.ndim < 2:
            raise ValueError(
                f"scores have shape {tuple(scores.shape)}; pass a matrix of critic values"
            )
        scores = self._looked_at(single(scores), "scores")
        with torch.autocast(scores.device.type, enabled=False):
            return self.objective(scores)

    def over_ranks(self, x: Float[Tensor, "b e"], y: Float[Tensor, "b e"]) -> objectives.Loss:
        """The loss of all processes' pairs together; InfoNCE and InfoNCE-anchor have it."""
        raise TypeError(
            f"{type(self).__name__} cannot be shared by processes; use InfoNCE or InfoNCEAnchor"
        )

    def _products(self, x: Tensor, y: Tensor) -> Float[Tensor, "... b n"]:
        for side in (x, y):
            refuse_other_than_floats(side, "embeddings")
        if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-1]:
            raise ValueError(
                f"embeddings have shapes {tuple(x.shape)} and {tuple(y.shape)}; pass [B, e] for "
                "both, with equal width e, or one score matrix"
            )
        if x.shape[:-2] != y.shape[:-2] or x.dtype != y.dtype:
            raise ValueError(
                f"embeddings have shapes {tuple(x.shape)}, {tuple(y.shape)} and dtypes {x.dtype}, "
                f"{y.dtype}; pass equal leading dimensions and one dtype"
            )
        return x @ y.mT / self.temperature

    def _looked_at(self, values: Tensor, what: str) -> Tensor:
        if self.check and values.numel() and not torch.compiler.is_compiling():
            _refuse_nan(values, what)
        return values

    def setting(self, pairs: int) -> str:
        """K and nu of the tuples on batches of so many pairs, in words."""
        return f"batches of {pairs}"

    def bound(self, loss: float, pairs: int) -> float | None:
        """The lower bound of the mutual information, in nats, that a population loss on batches of
        so many pairs is; None where it is none."""
        return None

    def certified(self, loss: float, pairs: int) -> float | None:
        """The largest such bound that is known, in nats."""
        return self.bound(loss, pairs)


def refuse_other_than_floats(values: Any, what: str) -> None:
    """A ValueError for what is no tensor of real floats: torch would name an operation of its
    own."""
    if not isinstance(values, Tensor) or not values.is_floating_point():
        kind = values.dtype if isinstance(values, Tensor) else type(values).__name__
        raise ValueError(f"{what} are of {kind}; pass a tensor of floating-point numbers")


def single(values: Tensor) -> Tensor:
    """Half precision as single; the rest as it is."""
    return values.float() if values.dtype in HALF else values


def _refuse_nan(values: Tensor, what: str) -> None:
    try:
        fine = bool(values.amax() < math.inf)  # NaN is larger than all: one look, and no copy
    except RuntimeError:  # inside vmap nobody can look
        return
    if not fine:
        count = int((values.isnan() | values.isposinf()).sum())
        raise ValueError(
            f"{count} of {values.numel()} {what} are NaN or +inf; look at the encoders' outputs, "
            "lower the learning rate, clip gradients, or raise the temperature"
        )


class Tuples(Loss):
    """What InfoNCE and InfoNCE-anchor share: rows of points, one way or both, whole or in blocks.

    Parameters
    ----------
    contrast : "x", "y" or "both"
        Which side the negatives are drawn from: other x's for one y (the paper's text), other y's
        for one x, or the mean of both losses.
    block : "auto", int or None
        Side of the blocks in which the products of two embeddings are computed, once forth and once
        back, so that no matrix is held: the value is the same, in memory that grows with B and not
        with its square. "auto" does so from 2,048 pairs on, None never. Needs the log score or
        `Kliep` without ``k``; products are then never taken in half precision, and there is no
        second derivative.
    temperature, check
        See `Loss`.
    """

    def __init__(
        self,
        *,
        contrast: str = "x",
        block: int | str | None = "auto",
        summed: bool = True,
        **shared: Any,
    ):
        super().__init__(**shared)
        self.contrast = one_of("contrast", contrast, objectives.CONTRASTS)
        if block not in ("auto", None):
            whole_number(block, "block", 1)
            if not summed:
                raise ValueError(
                    f"block={block} needs a rule that sees the negatives only through their sum, "
                    "Log or Kliep, and no k; leave block out"
                )
        self.block, self.summed = block, summed

    def of_classes(self, rows: objectives.Rows) -> objectives.Loss:
        """The loss of one way: of rows whose positives are on the diagonal."""
        raise TypeError(f"{type(self).__name__} has no objective; use one of its subclasses")

    def of_sums(self, sums: row_sums.Sums, n: int) -> objectives.Loss:
        """The same from the sums of rows of n points."""
        raise TypeError(f"{type(self).__name__} has no objective; use one of its subclasses")

    def of_rows(self, rows: objectives.Rows) -> objectives.Loss:
        """The same by the quicker of the two."""
        n = rows.shape[-1]
        if self.summed and n >= LEAN and rows.is_floating_point():
            return self.of_sums(row_sums.of_matrix(rows), n)
        return self.of_classes(rows)

    def objective(self, scores: objectives.Rows) -> objectives.Loss:
        objectives.rows_of(scores, self.contrast)
        return self._each_way(lambda way: self.of_rows(objectives.rows_of(scores, way)))

    def forward(self, scores: Tensor, other: Tensor | None = None) -> objectives.Loss:
        """The loss of a score matrix, or of embeddings of x and of y."""
        both = isinstance(scores, Tensor) and isinstance(other, Tensor)
        if not both or not self._side_of_blocks(scores, other):
            return super().forward(scores, other)
        x, y = scores, other
        objectives.rows_of(x.new_empty(()).expand(len(x), len(y)), self.contrast)
        ways = {"x": (y, x), "y": (x, y)}
        return self._each_way(lambda way: self.of_embeddings(*ways[way]))

    def over_ranks(self, x: Float[Tensor, "b e"], y: Float[Tensor, "b e"]) -> objectives.Loss:
        r"""The loss of the pairs of all processes of `torch.distributed`, called by each.

        .. math:: L = \frac1R\sum_{r=1}^R L_r, \qquad
                  L_r \text{ of the rows of rank } r \text{ with the points of all ranks}

        Each rank computes its own rows, and no rank holds the whole matrix; K counts the points of
        all. The value is L on every rank. Average gradients over ranks, as
        `torch.nn.parallel.DistributedDataParallel` does, to have that of L.

        Parameters
        ----------
        x, y : tensors [b, e]
            The embeddings of this rank's pairs, as many and as wide on each.
        """
        if x.ndim != 2 or x.shape != y.shape:
            raise ValueError(
                f"embeddings have shapes {tuple(x.shape)} and {tuple(y.shape)}; pass [b, e] for "
                "both, on every rank"
            )
        if self.check:
            ranks.agree(
                x.device,
                x.shape,
                "the ranks hold embeddings of unequal shapes: {}; give each rank as many pairs "
                "(drop_last=True) and the same width",
            )
        ways = {"x": lambda: (y, ranks.gather(x)), "y": lambda: (x, ranks.gather(y))}
        return ranks.mean_value(self._each_way(lambda way: self.of_embeddings(*ways[way]())))

    def of_embeddings(
        self, left: Float[Tensor, "b e"], right: Float[Tensor, "n e"]
    ) -> objectives.Loss:
        """The loss of one way, of rows that are products of embeddings."""
        block = self._side_of_blocks(left, right)
        scores = None if block else self._products(left, right)
        with torch.autocast(left.device.type, enabled=False):
            if not block:
                return self.of_rows(self._looked_at(single(scores), "scores"))
            sums = row_sums.of_products(single(left) / self.temperature, single(right), block)
            return self.of_sums(self._looked_at(sums, "sums of scores"), len(right))

    def _side_of_blocks(self, left: Tensor, right: Tensor) -> int | None:
        """The side of the blocks; None where the whole matrix is computed."""
        flat = left.ndim == right.ndim == 2 and left.shape[1] == right.shape[1]
        enough = max(len(left), len(right)) > 1 and left.is_floating_point()
        if not (flat and enough and self.summed) or self.block is None:
            return None
        if self.block == "auto":
            return BLOCK if len(left) * len(right) >= LARGE else None
        return self.block

    def _each_way(self, loss: Callable[[str], objectives.Loss]) -> objectives.Loss:
        if self.contrast == "both":
            return (loss("x") + loss("y")) / 2
        return loss(self.contrast)


class InfoNCE(Tuples):
    r"""InfoNCE on tuples of all K = B points of a batch.

    .. math:: -\mathbb{E}\log\frac{r(x_1,y)}{\frac1K\sum_z r(x_z,y)}

    The critic is the ratio up to a factor of the shared side; the value, minus the loss, is at most
    log K.

    Parameters
    ----------
    contrast : "x", "y" or "both"
        Which side the negatives are drawn from: other x's for one y (the paper's text), other y's
        for one x, or the mean of both losses.
    block : "auto", int or None
        Side of the blocks in which large products of embeddings are computed; see `Tuples`.
    temperature, check
        See `Loss`.
    """

    reports = "bound"

    def of_classes(self, rows: objectives.Rows) -> objectives.Loss:
        return objectives.infonce(rows, "y")

    def of_sums(self, sums: row_sums.Sums, n: int) -> objectives.Loss:
        return -sums.log_softmax(-2)[..., 0, :].mean(-1) - math.log(n)

    def setting(self, pairs: int) -> str:
        return f"K = {pairs}"

    def bound(self, loss: float, pairs: int) -> float:
        return -loss

    def certified(self, loss: float, pairs: int) -> float:
        return inverse(-loss, pairs, 0.0)

    def extra_repr(self) -> str:
        return f"contrast={self.contrast!r}"


class InfoNCEAnchor(Tuples):
    r"""InfoNCE-anchor: InfoNCE with one more class, "none of these is the partner".

    .. math:: \frac{K}{K+\nu}\,\mathbb{E}[\lambda_1(\eta)] + \frac{\nu}{K+\nu}\,
              \mathbb{E}[\lambda_0(\eta)], \qquad
              \eta \propto (\nu, e^{c(x_1,y)}, \dots, e^{c(x_K,y)})

    (paper, Eq. 4). The anchor fixes the scale: the critic is the log ratio itself, so its mean over
    pairs, the plug-in, estimates the mutual information. K = B - 1 of B pairs.

    Parameters
    ----------
    nu : number > 0, "k", or tensor
        Weight of the anchor. ``nu=1``, the paper's, hardly holds the scale at large K: the plug-in
        may be right because two errors cancel. ``nu="k"`` (nu = K) weighs both kinds of tuples
        equally: a better ratio, and plug-ins that err low. A tensor keeps its gradient.
    rule : mi_lib.ScoringRule, optional
        The proper scoring rule; the log score where it is left out.
    contrast : "x", "y" or "both"
        Which side the negatives are drawn from; see `InfoNCE`.
    k : int, optional
        Points in a tuple; one less than the batch where it is left out.
    block : "auto", int or None
        Side of the blocks in which large products of embeddings are computed; see `Tuples`.
    temperature, check
        See `Loss`.
    """

    def __init__(
        self,
        *,
        nu: float | str | Tensor,
        rule: ScoringRule | None = None,
        k: int | None = None,
        **shared: Any,
    ):
        rule = Log() if rule is None else rule
        if not callable(getattr(rule, "loss", None)):
            raise ValueError(f"rule={rule!r} is no scoring rule; pass one of mi_lib, Log() say")
        super().__init__(summed=isinstance(rule, SUMMED) and k is None, **shared)
        self.nu, self.rule = _checked_weight(nu), rule
        self.k = None if k is None else whole_number(k, "k", 1)

    def of_classes(self, rows: objectives.Rows) -> objectives.Loss:
        return objectives.anchor(rows, self.nu, self.rule, self.k, "y")

    def of_sums(self, sums: row_sums.Sums, n: int) -> objectives.Loss:
        own, last, rest = sums[..., None].unbind(-3)
        k, nu = n - 1, float(n - 1) if isinstance(self.nu, str) else self.nu
        return objectives.two_terms(own, rest, torch.cat([last, rest], -1), nu, self.rule, k)

    def sizes(self, pairs: int) -> tuple[int, float]:
        """K and nu on batches of so many pairs."""
        k = pairs - 1 if self.k is None else self.k
        return k, float(k if isinstance(self.nu, str) else self.nu)

    def setting(self, pairs: int) -> str:
        k, nu = self.sizes(pairs)
        return f"K = {k}, nu = {nu:g}"

    def bound(self, loss: float, pairs: int) -> float | None:
        if not isinstance(self.rule, Log):
            return None  # other rules bound other divergences
        return prior_entropy(*self.sizes(pairs), "nats") - loss

    def certified(self, loss: float, pairs: int) -> float | None:
        bound = self.bound(loss, pairs)
        return None if bound is None else inverse(bound, *self.sizes(pairs))

    def extra_repr(self) -> str:
        k = "" if self.k is None else f", k={self.k}"
        return f"nu={self.nu!r}, rule={self.rule!r}, contrast={self.contrast!r}{k}"


def _checked_weight(nu: Any) -> Any:
    """nu, refused where there would be no anchor."""
    if isinstance(nu, str):
        if nu != "k":
            raise ValueError(
                f"nu={nu!r} is unknown; pass a number > 0, a tensor, or 'k' for nu = K"
            )
        return nu
    smallest = float(nu.detach().min()) if isinstance(nu, Tensor) else real_number(nu, "nu")
    if not smallest > 0:
        raise ValueError(
            f"nu={smallest!r} leaves no anchor, and no scale; pass nu > 0, or use InfoNCE"
        )
    return nu


def inverse(value: float, k: int, nu: float) -> float:
    """What a value certifies; a negative one certifies nothing, one at the cap infinitely much."""
    most = prior_entropy(k, nu, "nats")
    return certified_kl(min(max(0.0, value), most), k, nu, "nats")
