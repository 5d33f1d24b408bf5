"""From columns to scores of pairs that no part of their critic has seen."""

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from . import calibration, parametric
from .folds import Fold, make_folds
from .network import Fitted, Residual, Stack, combine, train
from .splits import Group, encoded, prepare
from .table import Column

PARTNERS = 64  # strangers that each held-out x is scored with
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
    """One problem's held-out scores: column 0 is the pair itself, the others are strangers."""

    scores: Float[np.ndarray, "n 1+p"]
    fold_of: np.ndarray
    by_seed: Float[np.ndarray, "s n"]
    start_only: Float[np.ndarray, " n"]
    slopes: Float[np.ndarray, "f 3"]
    members: list["Member"]
    curve: list[list[float]] = field(default_factory=list)
    steps: int = 0


@dataclass
class Member:
    """Everything that scores new pairs for one fold."""

    group: Group
    critic: Residual
    which: slice
    slopes: Float[np.ndarray, " 3"]
    validated: Float[np.ndarray, "v 1+p"] | None = None


def stack_of(groups: list[Group], device: str) -> Stack:
    """Groups of one shape as tensors."""
    at = torch.device(device)

    def tensor(parts, dtype=torch.float32):
        return torch.from_numpy(np.stack(parts)).to(at, dtype)

    shortest = min(len(group.fold.validation) for group in groups)
    return Stack(
        tensor([group.x for group in groups]),
        tensor([group.y for group in groups]),
        parametric.stacked([group.side_x for group in groups], at),
        parametric.stacked([group.side_y for group in groups], at),
        tensor([np.float64(group.start.freedom) for group in groups]),
        tensor([np.float64(group.start.weight) for group in groups]),
        tensor([group.fold.training for group in groups], torch.long),
        tensor([group.fold.validation[:shortest] for group in groups], torch.long),
    )


@torch.no_grad()
def towers(critic: Residual, which: slice, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Tower outputs [s, b, e + 1] of the members of one group, a few thousand rows at a time."""
    count = which.stop - which.start
    outputs = []
    for rows in torch.arange(len(x), device=x.device).split(ROWS_AT_ONCE):
        sides = (z[rows].expand(count, -1, -1) for z in (x, y))
        outputs.append(critic.towers(*sides, which))
    return tuple(torch.cat(parts, 1) for parts in zip(*outputs, strict=True))


def partners(count: int, shifts: int) -> Int[np.ndarray, "b 1+p"]:
    """For each of ``count`` rows: itself, the row before, the one after, the one after that, ...
    (cyclically): the pair, then strangers."""
    steps = [0, -1, *range(1, shifts)][: min(shifts, count - 1) + 1]
    return (np.arange(count)[:, None] + np.array(steps)) % count


def shifted(
    f: Tensor, g: Tensor, group: Group, rows: np.ndarray, shifts: int
) -> Float[np.ndarray, "s b 1+p 2"]:
    """Start and residual of the x of each of ``rows`` with the y of its `partners`."""
    sx = parametric.Side(*(part[rows] for part in vars(group.side_x).values()))
    sy = parametric.Side(*(part[rows] for part in vars(group.side_y).values()))
    columns = partners(len(rows), shifts).T
    made = np.empty((len(f), len(rows), len(columns), 2))
    weight, freedom = group.start.weight, group.start.freedom
    for shift, to in enumerate(columns):
        q = sx.own + sy.own[to] - 2 * (sx.s * sy.s[to]).sum(1)
        log = np.log1p(np.maximum(q / freedom, -1 + 1e-6))
        made[:, :, shift, 0] = sx.alone + sy.alone[to] - weight * log
        other = g[:, torch.from_numpy(to).to(g.device)]
        inner = (f[..., :-1] * other[..., :-1]).sum(-1) + f[..., -1] + other[..., -1]
        made[:, :, shift, 1] = inner.double().cpu().numpy()
    return made


def score_fold(member: Member, rows: np.ndarray, shifts: int) -> Float[np.ndarray, "s b 1+p 2"]:
    """Uncalibrated scores of the rows of the group's own table."""
    group, device = member.group, member.critic.first_x.device
    x, y = (torch.from_numpy(z[rows]).float().to(device) for z in (group.x, group.y))
    f, g = towers(member.critic, member.which, x, y)
    return shifted(f, g, group, rows, shifts)


def score_new(member: Member, x: list[Column], y: list[Column]) -> Float[np.ndarray, " m"]:
    """Calibrated scores of new pairs by the critic of one fold."""
    group = encoded(member.group, x, y)
    rows = np.arange(len(group.x))
    raw = score_fold(replace(member, group=group), rows, 0).mean(0)
    return group.within(calibration.apply(member.slopes, raw), rows, partners(len(rows), 0))[:, 0]


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
    groups = [prepare(x, y, fold) for x, y in problems for fold in folds]
    stack = stack_of(groups, plan.device)
    steps = max(1, round(subsample * plan.steps))
    fitted = train(stack, plan.seeds, plan.seed, plan.hidden, plan.batch, steps)
    return [
        _collect(groups[p * plan.folds : (p + 1) * plan.folds], p, fitted, plan, n)
        for p in range(len(problems))
    ]


def _collect(groups: list[Group], problem: int, fitted: Fitted, plan: Plan, n: int) -> Scored:
    """Calibrate each fold on its validation pairs, then score its held-out pairs."""
    shifts = min(PARTNERS, min(len(group.fold.held_out) for group in groups) - 1)
    scores, by_seed = np.empty((n, 1 + shifts)), np.empty((plan.seeds, n))
    start_only, fold_of = np.empty(n), np.empty(n, dtype=np.int64)
    members = []
    for k, group in enumerate(groups):
        first = (problem * plan.folds + k) * plan.seeds
        which = slice(first, first + plan.seeds)
        member = Member(group, fitted.critic, which, np.array([1.0, 1.0, 0.0]))
        rows, held = group.fold.validation, group.fold.held_out
        seen = score_fold(member, rows, PARTNERS).mean(0)
        member.slopes = calibration.fit(seen[:, 0], seen[:, 1:].reshape(-1, 2))
        validated = calibration.apply(member.slopes, seen)
        member.validated = group.within(validated, rows, partners(len(rows), PARTNERS))
        raw, to = score_fold(member, held, shifts), partners(len(held), shifts)
        scores[held] = group.within(calibration.apply(member.slopes, raw.mean(0)), held, to)
        own = calibration.apply(member.slopes, raw[:, :, :1])
        by_seed[:, held] = group.within(own, held, to[:, :1])[..., 0]
        start_only[held], fold_of[held] = raw[0, :, 0, 0], k
        members.append(member)
    mine = slice(problem * plan.folds * plan.seeds, (problem + 1) * plan.folds * plan.seeds)
    curve = [look[mine] for look in fitted.curve]
    slopes = np.stack([member.slopes for member in members])
    return Scored(scores, fold_of, by_seed, start_only, slopes, members, curve, fitted.steps)


def block_scores(member: Member, rows: np.ndarray) -> Float[np.ndarray, "b b"]:
    """Uncalibrated ensemble score of every x of ``rows`` with every y of them."""
    group, device = member.group, member.critic.first_x.device
    x, y = (torch.from_numpy(z[rows]).float().to(device) for z in (group.x, group.y))
    f, g = towers(member.critic, member.which, x, y)
    sides = (
        parametric.Side(*(part[rows] for part in vars(side).values()))
        for side in (group.side_x, group.side_y)
    )
    start = parametric.pair_scores(*sides, group.start.freedom, group.start.weight)
    return start + combine(f, g).mean(0).double().cpu().numpy()
