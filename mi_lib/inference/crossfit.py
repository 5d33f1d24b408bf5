"""From columns to scores of pairs that no part of their critic has seen."""

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from . import calibration, starts
from .encoding import Encoder
from .folds import Fold, make_folds
from .residual import Fitted, Residual, Stack, combine, train
from .table import Column

PARTNERS = 64  # strangers that each held-out x is scored with
ROWS_AT_ONCE = 4_096
ROWS_A_LETTER = 10  # training pairs a letter, from which on letters are not rare


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


@dataclass(frozen=True)
class Group:
    """One fold of one problem, ready to be stacked."""

    fold: Fold | None
    encode_x: Encoder
    encode_y: Encoder
    start: starts.AnyStart
    x: Float[np.ndarray, "n dx"] | None = None
    y: Float[np.ndarray, "n dy"] | None = None
    side_x: starts.Side | None = None
    side_y: starts.Side | None = None


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


def joint_codes(columns: list[Column]) -> tuple[np.ndarray, int] | None:
    """One code for all columns of letters together, where there are few; None otherwise."""
    if any(column.letters is None for column in columns):
        return None
    codes, size = np.zeros(len(columns[0].values), dtype=np.int64), 1
    for column in columns:
        codes = codes * len(column.letters) + column.values
        size *= len(column.letters)
        if size > starts.MOST_CELLS:
            return None
    return codes, size


def encoded(group: Group, x: list[Column], y: list[Column]) -> Group:
    """The group with these columns as its data."""
    zx, zy = group.encode_x(x), group.encode_y(y)
    letters = "xy" if isinstance(group.start, starts.Counts) else ""
    if isinstance(group.start, starts.Classes):
        letters = group.start.letters
    side_x = group.start.side(joint_codes(x)[0] if "x" in letters else zx, "x")
    side_y = group.start.side(joint_codes(y)[0] if "y" in letters else zy, "y")
    return replace(group, x=zx, y=zy, side_x=side_x, side_y=side_y)


def prepare(x: list[Column], y: list[Column], fold: Fold) -> Group:
    """Encode both sides and choose the start of one fold."""
    encoders = [Encoder.fit(columns, fold.training) for columns in (x, y)]
    codes = joint_codes(x), joint_codes(y)
    if all(codes):
        sizes = codes[0][1], codes[1][1]
        start = starts.counts_start(codes[0][0], codes[1][0], sizes, fold.training)
    else:
        zx, zy = encoders[0](x), encoders[1](y)
        tails = all(encoder.numeric for encoder in encoders)
        start = starts.choose(zx, zy, fold.training, fold.validation, tails)
        if any(codes):
            start = _or_classes(start, (zx, zy), codes, fold)
    return encoded(Group(fold, *encoders, start), x, y)


def _or_classes(start: starts.Start, z, codes, fold: Fold) -> starts.AnyStart:
    """A Gaussian for each letter, common covariance or own, by the validation score. A Gaussian
    copula of indicators is no probability law; it competes only where letters are rare."""
    which = 0 if codes[0] else 1
    values, size = codes[which]
    rows = fold.validation[: starts.JUDGED]

    def score(candidate: starts.AnyStart) -> float:
        given = list(z)
        if isinstance(candidate, starts.Classes):
            given[which] = values
        sides = candidate.side(given[0][rows], "x"), candidate.side(given[1][rows], "y")
        return starts.judge(*sides, candidate)

    t = fold.training
    classes = starts.class_starts(z[1 - which][t], values[t], size, "xy"[which])
    rare = len(t) < ROWS_A_LETTER * size
    return min([start, *classes] if rare else classes, key=score)


def stack_of(groups: list[Group], device: str) -> Stack:
    """Groups of one shape as tensors."""
    at = torch.device(device)

    def tensor(parts, dtype=torch.float32):
        return torch.from_numpy(np.stack(parts)).to(at, dtype)

    shortest = min(len(group.fold.validation) for group in groups)
    return Stack(
        tensor([group.x for group in groups]),
        tensor([group.y for group in groups]),
        starts.stacked([group.side_x for group in groups], at),
        starts.stacked([group.side_y for group in groups], at),
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


def shifted(
    f: Tensor, g: Tensor, group: Group, rows: np.ndarray, shifts: int
) -> Float[np.ndarray, "s b 1+p 2"]:
    """Start and residual of row i's x with the y of row i, i - 1, i + 1, i + 2, ... of ``rows``
    (cyclically): the pair itself, then strangers."""
    sx = starts.Side(*(part[rows] for part in vars(group.side_x).values()))
    sy = starts.Side(*(part[rows] for part in vars(group.side_y).values()))
    count = min(shifts, len(rows) - 1)
    made = np.empty((len(f), len(rows), count + 1, 2))
    weight, freedom = group.start.weight, group.start.freedom
    for shift, step in enumerate([0, -1, *range(1, count)][: count + 1]):
        to = (np.arange(len(rows)) + step) % len(rows)
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
    return calibration.apply(member.slopes, raw[:, 0])


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
    partners = min(PARTNERS, min(len(group.fold.held_out) for group in groups) - 1)
    scores, by_seed = np.empty((n, 1 + partners)), np.empty((plan.seeds, n))
    start_only, fold_of = np.empty(n), np.empty(n, dtype=np.int64)
    members = []
    for k, group in enumerate(groups):
        first = (problem * plan.folds + k) * plan.seeds
        which = slice(first, first + plan.seeds)
        member = Member(group, fitted.critic, which, np.array([1.0, 1.0, 0.0]))
        seen = score_fold(member, group.fold.validation, PARTNERS).mean(0)
        member.slopes = calibration.fit(seen[:, 0], seen[:, 1:].reshape(-1, 2))
        member.validated = calibration.apply(member.slopes, seen)
        held = group.fold.held_out
        raw = score_fold(member, held, partners)
        scores[held] = calibration.apply(member.slopes, raw.mean(0))
        by_seed[:, held] = calibration.apply(member.slopes, raw[:, :, 0])
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
        starts.Side(*(part[rows] for part in vars(side).values()))
        for side in (group.side_x, group.side_y)
    )
    start = starts.pair_scores(*sides, group.start.freedom, group.start.weight)
    return start + combine(f, g).mean(0).double().cpu().numpy()
