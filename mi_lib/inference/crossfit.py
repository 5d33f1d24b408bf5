"""From columns to scores of pairs that no part of their critic has seen."""

import math
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from . import calibration, parametric
from .folds import Fold, make_folds
from .network import Fitted, RatioNetwork, Stack, combine, train
from .splits import Split, encoded, prepare
from .table import Column

PARTNERS = 64  # negatives that each held-out x is scored with
ROWS_AT_ONCE = 4_096


@dataclass(frozen=True)
class Plan:
    """How to fit: everything but the data."""

    folds: int
    seeds: int
    hidden: int
    batch: int
    steps: int
    seed: int
    device: str = "cpu"


def plan_for(n: int, seed: int, device: str, **given) -> Plan:
    """Settings for n pairs; those given win."""
    sizes = {"folds": 5, "seeds": 2}
    sizes |= {"hidden": 64, "batch": 64, "steps": 400} if n <= 1_500 else {}
    sizes |= {"hidden": 128, "batch": 128, "steps": 1_500} if n > 1_500 else {}
    sizes |= {"batch": 256, "steps": 3_000} if n > 20_000 else {}
    sizes |= {key: value for key, value in given.items() if value is not None}
    return Plan(**sizes, seed=seed, device=device)


@dataclass
class Scored:
    """One problem's held-out scores: column 0 is the pair itself, the others are negatives."""

    scores: Float[np.ndarray, "n 1+p"]
    fold_of: np.ndarray
    by_seed: Float[np.ndarray, "s n"]
    parametric_only: Float[np.ndarray, " n"]
    slopes: Float[np.ndarray, "f 3"]
    members: list["Member"]
    curve: list[list[float]] = field(default_factory=list)
    steps: int = 0

    def held_out(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The scores of each fold's held-out pairs, and of its validation pairs."""
        held = [self.scores[member.split.fold.held_out] for member in self.members]
        return held, [member.validated for member in self.members]

    def blocks(self, size: int) -> list[Float[np.ndarray, "b b"]]:
        """`block_scores` of the held-out pairs of every fold, at most ``size`` pairs a block."""
        made = []
        for member in self.members:
            held = member.split.fold.held_out
            parts = np.array_split(held, math.ceil(len(held) / size))
            made += [block_scores(member, part) for part in parts]
        return made


@dataclass
class Member:
    """Everything that scores new pairs for one fold."""

    split: Split
    critic: RatioNetwork
    which: slice
    slopes: Float[np.ndarray, " 3"]
    validated: Float[np.ndarray, "v 1+p"] | None = None

    def without_data(self) -> "Member":
        """What new pairs are scored with, and nothing else."""
        nothing = dict.fromkeys(("x", "y", "side_x", "side_y", "most_x", "most_y", "fold"))
        return replace(self, split=replace(self.split, **nothing), validated=None)


def stack_of(splits: list[Split], device: str) -> Stack:
    """Splits of one shape as tensors."""
    at = torch.device(device)

    def tensor(parts, dtype=torch.float32):
        return torch.from_numpy(np.stack(parts)).to(at, dtype)

    shortest = min(len(split.fold.validation) for split in splits)
    return Stack(
        tensor([split.x for split in splits]),
        tensor([split.y for split in splits]),
        parametric.stacked([split.side_x for split in splits], at),
        parametric.stacked([split.side_y for split in splits], at),
        tensor([np.float64(split.ratio.freedom) for split in splits]),
        tensor([np.float64(split.ratio.weight) for split in splits]),
        tensor([split.fold.training for split in splits], torch.long),
        tensor([split.fold.validation[:shortest] for split in splits], torch.long),
    )


@torch.no_grad()
def towers(critic: RatioNetwork, which: slice, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Tower outputs [s, b, e + 1] of the members of one split, a few thousand rows at a time."""
    count = which.stop - which.start
    outputs = []
    for rows in torch.arange(len(x), device=x.device).split(ROWS_AT_ONCE):
        sides = (z[rows].expand(count, -1, -1) for z in (x, y))
        outputs.append(critic.towers(*sides, which))
    return tuple(torch.cat(parts, 1) for parts in zip(*outputs, strict=True))


def partners(count: int, shifts: int) -> Int[np.ndarray, "b 1+p"]:
    """For each of ``count`` rows: itself, the row before, the one after, the one after that, ...
    (cyclically): the pair, then negatives."""
    steps = [0, -1, *range(1, shifts)][: min(shifts, count - 1) + 1]
    return (np.arange(count)[:, None] + np.array(steps)) % count


def shifted(
    f: Tensor, g: Tensor, split: Split, rows: np.ndarray, shifts: int
) -> Float[np.ndarray, "s b 1+p 2"]:
    """Parametric ratio and network output of each x of ``rows`` with the y of its `partners`."""
    sx = parametric.Side(*(part[rows] for part in vars(split.side_x).values()))
    sy = parametric.Side(*(part[rows] for part in vars(split.side_y).values()))
    columns = partners(len(rows), shifts).T
    made = np.empty((len(f), len(rows), len(columns), 2))
    weight, freedom = split.ratio.weight, split.ratio.freedom
    for shift, to in enumerate(columns):
        q = sx.own + sy.own[to] - 2 * (sx.s * sy.s[to]).sum(1)
        log = np.log1p(np.maximum(q / freedom, -1 + 1e-6))
        made[:, :, shift, 0] = sx.alone + sy.alone[to] - weight * log
        other = g[:, torch.from_numpy(to).to(g.device)]
        inner = (f[..., :-1] * other[..., :-1]).sum(-1) + f[..., -1] + other[..., -1]
        made[:, :, shift, 1] = inner.double().cpu().numpy()
    return made


def score_fold(member: Member, rows: np.ndarray, shifts: int) -> Float[np.ndarray, "s b 1+p 2"]:
    """Uncalibrated scores of the rows of the split's own table."""
    split, device = member.split, member.critic.first_x.device
    x, y = (torch.from_numpy(z[rows]).float().to(device) for z in (split.x, split.y))
    f, g = towers(member.critic, member.which, x, y)
    return shifted(f, g, split, rows, shifts)


def score_new(member: Member, x: list[Column], y: list[Column]) -> Float[np.ndarray, " m"]:
    """Calibrated scores of new pairs by the critic of one fold."""
    split = encoded(member.split, x, y)
    rows = np.arange(len(split.x))
    raw = score_fold(replace(member, split=split), rows, 0).mean(0)
    return split.within(calibration.apply(member.slopes, raw), rows, partners(len(rows), 0))[:, 0]


@torch.inference_mode(False)
@torch.enable_grad()
def cross_fit(
    problems: list[tuple[list[Column], list[Column]]], plan: Plan, subsample: float = 1.0
) -> list[Scored]:
    """Fit every problem (all with equal n and dimensions) in one stack and score each held-out
    pair. ``subsample`` trains on that share of the training pairs, for learning curves."""
    n = len(problems[0][0][0].values)
    folds = make_folds(n, plan.folds, plan.seed)
    if subsample < 1:
        size = round(subsample * len(folds[0].training))
        folds = [Fold(f.training[:size], f.validation, f.held_out) for f in folds]
    splits = [prepare(x, y, fold) for x, y in problems for fold in folds]
    stack = stack_of(splits, plan.device)
    steps = max(1, round(subsample * plan.steps))
    fitted = train(stack, plan.seeds, plan.seed, plan.hidden, plan.batch, steps)
    return [
        _collect(splits[p * plan.folds : (p + 1) * plan.folds], p, fitted, plan, n)
        for p in range(len(problems))
    ]


def _collect(splits: list[Split], problem: int, fitted: Fitted, plan: Plan, n: int) -> Scored:
    """Calibrate each fold on its validation pairs, then score its held-out pairs."""
    shifts = min(PARTNERS, min(len(split.fold.held_out) for split in splits) - 1)
    scores, by_seed = np.empty((n, 1 + shifts)), np.empty((plan.seeds, n))
    parametric_only, fold_of = np.empty(n), np.empty(n, dtype=np.int64)
    members = []
    for k, split in enumerate(splits):
        first = (problem * plan.folds + k) * plan.seeds
        which = slice(first, first + plan.seeds)
        member = Member(split, fitted.critic, which, np.array([1.0, 1.0, 0.0]))
        rows, held = split.fold.validation, split.fold.held_out
        seen = score_fold(member, rows, PARTNERS).mean(0)
        member.slopes = calibration.fit(seen[:, 0], seen[:, 1:].reshape(-1, 2))
        validated = calibration.apply(member.slopes, seen)
        member.validated = split.within(validated, rows, partners(len(rows), PARTNERS))
        raw, to = score_fold(member, held, shifts), partners(len(held), shifts)
        scores[held] = split.within(calibration.apply(member.slopes, raw.mean(0)), held, to)
        own = calibration.apply(member.slopes, raw[:, :, :1])
        by_seed[:, held] = split.within(own, held, to[:, :1])[..., 0]
        parametric_only[held], fold_of[held] = raw[0, :, 0, 0], k
        members.append(member)
    mine = slice(problem * plan.folds * plan.seeds, (problem + 1) * plan.folds * plan.seeds)
    curve = [look[mine] for look in fitted.curve]
    slopes = np.stack([member.slopes for member in members])
    return Scored(scores, fold_of, by_seed, parametric_only, slopes, members, curve, fitted.steps)


def block_scores(member: Member, rows: np.ndarray) -> Float[np.ndarray, "b b"]:
    """Uncalibrated ensemble score of every x of ``rows`` with every y of them."""
    split, device = member.split, member.critic.first_x.device
    x, y = (torch.from_numpy(z[rows]).float().to(device) for z in (split.x, split.y))
    f, g = towers(member.critic, member.which, x, y)
    sides = (
        parametric.Side(*(part[rows] for part in vars(side).values()))
        for side in (split.side_x, split.side_y)
    )
    log_ratio = parametric.pair_scores(*sides, split.ratio.freedom, split.ratio.weight)
    return log_ratio + combine(f, g).mean(0).double().cpu().numpy()
