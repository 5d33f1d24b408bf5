r"""What all losses share, and those with K points a tuple: InfoNCE and InfoNCE-anchor."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from .. import objectives
from ..ceiling import certified_kl, prior_entropy
from ..scoring import Log, ScoringRule
from ..validate import one_of, real_number, whole_number

HALF = (torch.float16, torch.bfloat16)


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
        self.temperature, self.check = temperature, check

    def objective(self, scores: objectives.Rows) -> objectives.Loss:
        """The loss of a score matrix, in nats."""
        raise TypeError(f"{type(self).__name__} has no objective; use one of its subclasses")

    def forward(self, scores: Tensor, other: Tensor | None = None) -> objectives.Loss:
        """The loss of a score matrix, or of embeddings of x and of y."""
        if other is not None:
            scores = self._products(scores, other)
        if scores.dtype in HALF:
            scores = scores.float()
        if self.check and not torch.compiler.is_compiling():
            _refuse_nan(scores)
        with torch.autocast(scores.device.type, enabled=False):
            return self.objective(scores)

    def _products(self, x: Tensor, y: Tensor) -> Float[Tensor, "... b n"]:
        if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-1]:
            raise ValueError(
                f"embeddings have shapes {tuple(x.shape)} and {tuple(y.shape)}; pass [B, e] for "
                "both, with equal width e, or one score matrix"
            )
        return x @ y.mT / self.temperature

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


def _refuse_nan(scores: Tensor) -> None:
    try:
        bad = bool((scores.isnan() | scores.isposinf()).any())
    except RuntimeError:  # inside vmap nobody can look
        return
    if bad:
        count = int((scores.isnan() | scores.isposinf()).sum())
        raise ValueError(
            f"{count} of {scores.numel()} scores are NaN or +inf; look at the encoders' outputs, "
            "lower the learning rate, clip gradients, or raise the temperature"
        )


class InfoNCE(Loss):
    r"""InfoNCE on tuples of all K = B points of a batch.

    .. math:: -\mathbb{E}\log\frac{r(x_1,y)}{\frac1K\sum_z r(x_z,y)}

    The critic is the ratio up to a factor of the shared side; the value, minus the loss, is at most
    log K.

    Parameters
    ----------
    contrast : "x", "y" or "both"
        Which side the negatives are drawn from: other x's for one y (the paper's text), other y's
        for one x, or the mean of both losses.
    temperature, check
        See `Loss`.
    """

    reports = "bound"

    def __init__(self, *, contrast: str = "x", **shared: Any):
        super().__init__(**shared)
        self.contrast = one_of("contrast", contrast, objectives.CONTRASTS)

    def objective(self, scores: objectives.Rows) -> objectives.Loss:
        return objectives.infonce(scores, self.contrast)

    def setting(self, pairs: int) -> str:
        return f"K = {pairs}"

    def bound(self, loss: float, pairs: int) -> float:
        return -loss

    def certified(self, loss: float, pairs: int) -> float:
        return inverse(-loss, pairs, 0.0)

    def extra_repr(self) -> str:
        return f"contrast={self.contrast!r}"


class InfoNCEAnchor(Loss):
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
    temperature, check
        See `Loss`.
    """

    def __init__(
        self,
        *,
        nu: float | str | Tensor,
        rule: ScoringRule | None = None,
        contrast: str = "x",
        k: int | None = None,
        **shared: Any,
    ):
        super().__init__(**shared)
        self.nu, self.rule = _checked_weight(nu), Log() if rule is None else rule
        self.contrast = one_of("contrast", contrast, objectives.CONTRASTS)
        self.k = None if k is None else whole_number(k, "k", 1)

    def objective(self, scores: objectives.Rows) -> objectives.Loss:
        return objectives.anchor(scores, self.nu, self.rule, self.k, self.contrast)

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
