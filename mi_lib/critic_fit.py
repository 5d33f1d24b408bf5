"""What a trained critic says on held-out pairs, and about new ones."""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from scipy import stats
from torch import Tensor, nn

from .archives import all_finite, read_arrays
from .batches import Batch, Side, as_batch, length, moved, part_of, slices
from .diagnostics import Diagnostic, check_batches
from .losses import Loss
from .validate import nats_per

LEVEL = 0.95
FORMAT = 1
WHOLE = 1024  # pairs whose scores are looked at one by one; larger batches in equal parts


class TwoEncoders(nn.Module):
    r"""The critic of two encoders: :math:`c(x, y) = \langle f(x), g(y)\rangle / \tau`.

    Where no gradient is asked for, they see at most ``chunk`` pairs at once.
    """

    def __init__(
        self,
        f: nn.Module,
        g: nn.Module,
        temperature: float | Tensor = 1.0,
        chunk: int | None = None,
    ):
        super().__init__()
        self.f, self.g, self.temperature, self.chunk = f, g, temperature, chunk

    def _encoded(self, encoder: nn.Module, side: Side) -> Tensor:
        if self.chunk is None or torch.is_grad_enabled() or length(side) <= self.chunk:
            return encoder(side)
        return torch.cat(
            [encoder(part_of(side, part)) for part in slices(length(side), self.chunk)]
        )

    def embed(self, x: Side, y: Side) -> tuple[Float[Tensor, "b e"], Float[Tensor, "b e"]]:
        """The embeddings of both sides."""
        left, right = self._encoded(self.f, x), self._encoded(self.g, y)
        if left.ndim != 2 or left.shape != right.shape or len(left) != length(x):
            raise ValueError(
                f"the encoders returned shapes {tuple(left.shape)} and {tuple(right.shape)} for "
                f"{length(x)} pairs; both must return [B, e] with the same width e"
            )
        return left, right

    def forward(self, x: Side, y: Side) -> Float[Tensor, "b b"]:
        """Scores of every x with every y."""
        left, right = self.embed(x, y)
        return left @ right.mT / self.temperature


def scores_of(critic: nn.Module, batch: Batch) -> Float[Tensor, "b b"]:
    """The critic's scores of a batch, refused where they are no square matrix."""
    b = length(batch[0])
    try:
        scores = critic(*batch)
    except torch.OutOfMemoryError:
        raise
    except (RuntimeError, IndexError) as error:
        shapes = " and ".join(map(_shape, batch))
        raise ValueError(f"the critic cannot score x and y of {shapes}: {error}") from error
    if not isinstance(scores, Tensor) or scores.shape != (b, b):
        shape = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
        raise ValueError(
            f"the critic returned {shape} for {b} pairs; it must return scores of shape ({b}, {b}),"
            " scores[i, j] = c(x_i, y_j)"
        )
    return scores


def _shape(side: Side) -> str:
    if isinstance(side, Mapping):
        return str({key: tuple(value.shape) for key, value in side.items()})
    return str(tuple(side.shape))


def has_embeddings(critic: nn.Module, loss: Loss) -> bool:
    """Whether a loss can be had of the critic's embeddings, without a matrix of scores."""
    return isinstance(critic, TwoEncoders) and critic.temperature is loss.temperature


def loss_of(critic: nn.Module, loss: Loss, batch: Batch) -> Tensor:
    """The loss of a batch, of its embeddings where there are any."""
    if has_embeddings(critic, loss):
        return loss(*critic.embed(*batch))
    return loss(scores_of(critic, batch))


@dataclass
class CriticFit:
    """A trained critic with its estimates on held-out pairs, in ``unit``.

    Attributes
    ----------
    mi_ : float
        The estimate of I(X;Y), not below zero: what the loss reports (`reports_`).
    interval_ : (float, float)
        95 % interval of it over held-out batches (jackknife). It says how far another held-out
        sample would move the value, not what the critic has failed to learn.
    plug_in_, dv_ : float
        The mean of c over pairs; that less `scale_`.
    scale_ : float
        Log of the mean of r over negatives: 0 for the true ratio. In batches of more than 1,024
        pairs the negatives are taken, here and for the checks, from parts of at most so many.
    bound_, certified_ : float or None
        The lower bound of I that the loss's own value is, and the least I that this value allows
        (`certified_kl`) at its lower 95 % limit over held-out batches; None where there is none.
    pairs_, held_out_ : int
        Pairs a held-out batch, and in all of those that the answer is estimated from.
    steps_ : int
        Steps trained; `stopped_` says why it ended.
    curve_ : list of (step, loss)
        The held-out loss at every look, in nats.
    diagnostics_ : list of Diagnostic
        The checks that scores alone allow; each has ``.ok`` and advice. Empty where the loss leaves
        the scale of the ratio free (InfoNCE, DV, MINE): there is no ratio to check.
    """

    critic: nn.Module
    loss: Loss
    unit: str
    mi_: float
    interval_: tuple[float, float]
    plug_in_: float
    dv_: float
    scale_: float
    bound_: float | None
    certified_: float | None
    reports_: str
    pairs_: int
    held_out_: int
    steps_: int
    stopped_: str
    curve_: list[tuple[int, float]] = field(repr=False)
    diagnostics_: list[Diagnostic] = field(repr=False)

    @staticmethod
    @torch.no_grad()
    def of(
        critic: nn.Module,
        loss: Loss,
        held_out: list[Batch],
        unit: str,
        curve: list[tuple[int, float]],
        step: int,
        most: int,
    ) -> "CriticFit":
        """Evaluate a critic, in its evaluation mode, on held-out batches of one size."""
        per, pairs = nats_per(unit), length(held_out[0][0])
        found = [_evaluated(critic, loss, batch) for batch in held_out]
        losses, parts = np.array([value for value, _ in found]), [part for _, part in found]
        matrices = sum(parts, [])
        values = _values(matrices)
        worst = losses.mean() + stats.t.isf(1 - LEVEL, len(losses) - 1) * stats.sem(losses)
        bound, certified = loss.bound(losses.mean(), pairs), loss.certified(worst, pairs)
        jack = [
            _reported(
                loss, _values(sum(parts[:i] + parts[i + 1 :], [])), np.delete(losses, i), pairs
            )
            for i in range(len(parts))
        ]
        value = _reported(loss, values, losses, pairs)
        reach = stats.t.isf((1 - LEVEL) / 2, len(jack) - 1) * math.sqrt(
            (len(jack) - 1) * np.var(jack)
        )
        steps = "steps: raise `steps`" if step == most else "patience: the held-out loss rose"
        return CriticFit(
            critic,
            loss,
            unit,
            max(0.0, value / per),
            (max(0.0, (value - reach) / per), max(0.0, (value + reach) / per)),
            values["plug-in"] / per,
            values["dv"] / per,
            values["scale"] / per,
            None if bound is None else bound / per,
            None if certified is None else certified / per,
            loss.reports,
            pairs,
            pairs * len(parts),
            step,
            steps,
            curve,
            check_batches(matrices) if loss.reports == "plug-in" else [],
        )

    @torch.no_grad()
    def pmi(self, x: Any, y: Any) -> Float[np.ndarray, " n"]:
        """The log ratio c(x_i, y_i) of new pairs, in ``unit``; of a critic whose loss leaves the
        scale free (InfoNCE, DV, MINE), up to what that loss does not see.

        Parameters
        ----------
        x, y : arrays, tensors or mappings of them
            Row i of both is a pair.

        Returns
        -------
        array [n]
        """
        x, y = as_batch((_columns(x), _columns(y)))
        weight, found = next(self.critic.parameters()), []
        for part in slices(length(x), min(self.pairs_, WHOLE)):
            batch = [moved(part_of(side, part), weight.device, weight.dtype) for side in (x, y)]
            found.append(scores_of(self.critic, tuple(batch)).diagonal().double().cpu())
        return torch.cat(found).numpy() / nats_per(self.unit) if found else np.empty(0)

    def report(self) -> "FitReport":
        """All numbers with what they mean, and the checks; ``print`` it."""
        return FitReport(self)

    def save(self, path: str | Path) -> Path:
        """Write weights and numbers to one NPZ file of plain arrays (no pickle)."""
        path = Path(path)
        path = path if path.suffix == ".npz" else path.with_name(f"{path.name}.npz")
        if not path.parent.is_dir():
            raise ValueError(f"the folder {path.parent} does not exist; make it first")
        names = [n for n in self.__dataclass_fields__ if n not in ("critic", "loss")]
        plain = {n: getattr(self, n) for n in names}
        plain["diagnostics_"] = [vars(found) for found in self.diagnostics_]
        meta = {"format": FORMAT, "loss": repr(self.loss), "values": plain}
        arrays = {f"critic/{k}": _plain(v) for k, v in self.critic.state_dict().items()}
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        with temporary.open("wb") as file:
            np.savez_compressed(file, meta=np.array(json.dumps(meta)), **arrays)
        os.replace(temporary, path)
        return path

    @staticmethod
    def load(path: str | Path, critic: Any, loss: Loss) -> "CriticFit":
        """Read what `save` wrote into a critic (or pair of encoders) of the same shape.

        Parameters
        ----------
        path : path
        critic : module, or pair of encoders
            Its weights are replaced by the stored ones.
        loss : Loss
            The loss that it was trained with.
        """
        path = Path(path)
        if not path.is_file():
            raise ValueError(f"{path} does not exist or is not a file")
        critic = TwoEncoders(*critic, loss.temperature) if isinstance(critic, tuple) else critic
        try:
            arrays = read_arrays(path)
            meta = json.loads(str(arrays.pop("meta")))
            stored, values = meta["loss"], _values_of(meta["values"])
            state = _state_of(critic, arrays)
        except Exception:  # damage can surface anywhere: in the archive, an array, a shape
            raise ValueError(
                f"{path} is damaged, not saved by a CriticFit, or of a critic of another shape"
            ) from None
        if stored != repr(loss):
            raise ValueError(f"{path} was trained with {stored}, not with {loss!r}; pass that")
        critic.load_state_dict(state)
        return CriticFit(critic.eval(), loss, **values)


def _values_of(stored: dict) -> dict[str, Any]:
    """The attributes of a fit, each of its type; an exception where one is not."""
    values = dict(stored)
    values["diagnostics_"] = [Diagnostic(**found) for found in values["diagnostics_"]]
    values["interval_"] = low, high = tuple(values["interval_"])
    values["curve_"] = [(step, value) for step, value in values["curve_"]]
    nats_per(values["unit"])
    kinds = {"unit": str, "reports_": str, "stopped_": str, "interval_": tuple}
    kinds |= dict.fromkeys(("pairs_", "held_out_", "steps_"), int)
    kinds |= dict.fromkeys(("curve_", "diagnostics_"), list)
    kinds |= dict.fromkeys(("bound_", "certified_"), float | int | None)
    names = [n for n in CriticFit.__dataclass_fields__ if n not in ("critic", "loss")]
    if values.keys() != set(names) or any(
        not isinstance(values[n], kinds.get(n, float | int)) or values[n] != values[n]
        for n in names
    ):
        raise TypeError("a value of another type, or NaN")
    rest = [low, high, *(v for point in values["curve_"] for v in point)]
    rest += [found.value for found in values["diagnostics_"]]
    if any(not isinstance(v, float | int) or math.isnan(v) for v in rest):
        raise TypeError("a number that is none")
    return values


def _state_of(critic: nn.Module, arrays: dict[str, np.ndarray]) -> dict[str, Tensor]:
    """Weights for this critic, of its names, shapes and kinds of numbers."""
    known = {f"critic/{name}": value for name, value in critic.state_dict().items()}
    if known.keys() != arrays.keys() or not all_finite(arrays):
        raise ValueError("other weights, or such as are no numbers")
    state = {}
    for name, value in known.items():
        part = torch.from_numpy(arrays[name])
        if part.shape != value.shape or part.is_floating_point() != value.is_floating_point():
            raise ValueError("weights of another shape")
        state[name.removeprefix("critic/")] = part.to(value)
    return state


def _columns(values: Any) -> Any:
    """One column where there is one dimension, as in the fit; floats stay what they are."""
    values = values.to_numpy() if hasattr(values, "to_numpy") else values
    if isinstance(values, Mapping) or not hasattr(values, "ndim"):
        return values
    return values[:, None] if values.ndim == 1 else values


def _plain(tensor: Tensor) -> np.ndarray:
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor).numpy()


def _evaluated(
    critic: nn.Module, loss: Loss, batch: Batch
) -> tuple[float, list[Float[np.ndarray, "b b"]]]:
    """The loss of a batch, and its scores: of a large one in equal parts."""
    pairs = length(batch[0])
    if pairs <= WHOLE:
        scores = [scores_of(critic, batch)]
        value = loss(scores[0])
    else:
        count = math.ceil(pairs / WHOLE)
        parts = slices(pairs, pairs // count)[:count]
        scores = [scores_of(critic, tuple(part_of(s, part) for s in batch)) for part in parts]
        value = loss_of(critic, loss, batch)
    return float(value), [part.double().cpu().numpy() for part in scores]


def _values(matrices: list[Float[np.ndarray, "b b"]]) -> dict[str, float]:
    """Plug-in, scale and DV, in nats, of all batches together."""
    own = np.concatenate([scores.diagonal() for scores in matrices])
    others = [scores[~np.eye(len(scores), dtype=bool)] for scores in matrices]
    scale = float(np.logaddexp.reduce(np.concatenate(others)) - math.log(sum(map(len, others))))
    return {"plug-in": float(own.mean()), "scale": scale, "dv": float(own.mean()) - scale}


def _reported(loss: Loss, values: dict[str, float], losses: np.ndarray, pairs: int) -> float:
    return loss.bound(losses.mean(), pairs) if loss.reports == "bound" else values[loss.reports]


@dataclass(frozen=True)
class FitReport:
    """The numbers of a fit in words; ``str`` is a table with all checks."""

    fit: CriticFit

    def rows(self) -> list[tuple[str, float, str]]:
        """Name, value and meaning of each number."""
        fit = self.fit
        found = [
            ("mutual information", fit.mi_, f"{fit.reports_} of the held-out pairs"),
            ("interval, low", fit.interval_[0], "95 %, over held-out batches"),
            ("interval, high", fit.interval_[1], "not what the critic failed to learn"),
            ("plug-in", fit.plug_in_, "mean log ratio of pairs"),
            ("DV value", fit.dv_, "plug-in less the scale"),
            ("scale", fit.scale_, "log mean ratio of random pairs; 0 is right"),
        ]
        if fit.bound_ is not None:
            found.append(("own bound", fit.bound_, f"of the loss, {fit.loss.setting(fit.pairs_)}"))
            found.append(("certified", fit.certified_, "least information that allows it, 95 %"))
        return found

    def __str__(self) -> str:
        fit = self.fit
        head = f"I(X;Y) by {fit.loss!r}, in {fit.unit}; {fit.held_out_} held-out pairs"
        lines = [f"  {name:<18}  {value:8.4f}  {what}" for name, value, what in self.rows()]
        end = f"  {fit.steps_} steps, ended by {fit.stopped_}"
        checks = [f"  {found}" for found in fit.diagnostics_]
        checks = checks or ["  this loss leaves the scale of the ratio free: no ratio to check"]
        return "\n".join([head, *lines, end, *checks])

    __repr__ = __str__
