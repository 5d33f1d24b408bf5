r"""The rows of the paper's Table 1, Type 1: where each loss is smallest, and what is reported.

A critic c is a table of log ratios; "at the true ratio" means c = log p(x,y)/(p(x)p(y)). Values are
in nats unless a part says bits.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import sympy as sp
import torch
from scipy.optimize import minimize

from mi_lib import finite, objectives
from mi_lib.estimators import EVALUATIONS, TABLE_1, TRAININGS, Estimator

from .. import batches
from ..adversary import Pair, random_pairs
from ..batches import (
    Joint,
    expectation,
    gradient,
    information,
    log_ratio,
    population,
    random_joints,
)
from .registry import Part, claim, extreme, identity

PAGE = "theory/which_estimator"
SHAPES = ((2, 2), (2, 3), (3, 2))
COIN = np.array([[0.4, 0.1], [0.1, 0.4]])  # a fair bit through a channel that flips it 1 in 5
Z_CHANNEL = np.array([[0.5, 0.0], [0.25, 0.25]])  # a fair bit; a one is lost every second time


def joints(count: int, seed: int) -> list[Joint]:
    """``count`` random joint laws of each of the three shapes."""
    return [j for i, shape in enumerate(SHAPES) for j in random_joints(count, shape, seed + i)]


def pairs(seed: int) -> list[Pair]:
    """200 random pairs (q1, q0) on each of 2, 3 and 4 letters."""
    return [pair for n in (2, 3, 4) for pair in random_pairs(200, n, seed + n)]


def symbolic_pair() -> tuple[tuple[sp.Expr, ...], tuple[sp.Expr, ...]]:
    """Two letters with unknown probabilities: (a, 1 - a) and (b, 1 - b)."""
    a, b = sp.symbols("a b", positive=True)
    return (a, 1 - a), (b, 1 - b)


def best_value(value: Callable, q1: np.ndarray, q0: np.ndarray, seed: int) -> float:
    """The largest value(r) that quasi-Newton ascent over log r finds from a random start."""
    start = np.random.default_rng(seed).normal(size=q1.size)
    return -minimize(lambda c: -value(np.exp(c), q1, q0), start, options={"gtol": 1e-8}).fun


def nwj_reading(joint: Joint, critic: Joint, shift: float) -> float:
    """E[c] - E[e^(c - shift)] + 1 - shift: Table 1 prints shift = 1, mi_lib has shift = 0."""
    p, q = joint.ravel(), batches.product_law(joint).ravel()
    return float(p @ critic.ravel() - q @ np.exp(critic.ravel() - shift) + 1 - shift)


def no_gradient(name: str, laws: Sequence[Joint], size: int) -> Part:
    """The expected batch gradient of a training vanishes at the true ratio."""
    cases = [(np.abs(gradient(TRAININGS[name], j, log_ratio(j), size)).max(), "") for j in laws]
    return extreme(f"{name}: no gradient at the true ratio (all batches of {size})", "equal", cases)


def unbiased_plug_in(laws: Sequence[Joint]) -> Part:
    """The plug-in mean of the true log ratio is I on average."""
    cases = [
        (-expectation(EVALUATIONS["plug-in"], j, log_ratio(j), 2).item() - information(j), "")
        for j in laws
    ]
    return extreme("plug-in at the true ratio: mean over batches = I", "equal", cases)


def observed_type(estimator: Estimator) -> int:
    """1, 2 or 3 from what an estimator does with random scores, whatever it is called."""
    generator = torch.Generator().manual_seed(3)
    scores = 3 * torch.randn(20, 5, 5, generator=generator, dtype=torch.float64)
    reading = estimator.estimate(scores, unit="nats")
    if torch.allclose(reading, scores.diagonal(dim1=-2, dim2=-1).mean(-1)):
        return 3
    return 1 if torch.allclose(reading, -estimator.loss(scores)) else 2


@claim(
    "types",
    item="Section 2.1, the three types",
    statement="DV, NWJ and InfoNCE report the negative of their loss (Type 1); MINE, JS and SMILE "
    "report another functional (Type 2); the rest report the mean of $c$ over the pairs (Type 3)",
    page=PAGE,
    recorded="holds",
    twin={"moved": {"MINE": 1}},
    twin_says="MINE as Type 1",
)
def three_types(moved: Mapping[str, int] = MappingProxyType({})) -> list[Part]:
    """The type of a row follows from its loss and its reading."""
    kinds = [
        (float(moved.get(e.name, e.type) - observed_type(e)), f"{e.name}, type {e.type}")
        for e in TABLE_1
    ]
    scores = torch.linspace(-1.0, 2.0, 16, dtype=torch.float64).reshape(4, 4)
    units = [
        (float(e.estimate(scores) * math.log(2) - e.estimate(scores, unit="nats")), e.name)
        for e in TABLE_1
    ]
    return [
        extreme("recorded type = type observed on random scores", "equal", kinds),
        extreme("readings in bits are those in nats over ln 2", "equal", units, 1e-12),
    ]


@claim(
    "tab1-dv",
    item="Table 1, DV row",
    label="tab:mi_estimators",
    statement=r"$-\Loss_{\mathrm{DV}}(c) = \E_{p(x,y)}[c] - \log\E_{p(x)p(y)}[e^c] \le I(X;Y)$, "
    r"with equality at $c = \log r + \text{const}$",
    page=PAGE,
    recorded="holds",
    twin={"swap": True},
    twin_says="the roles of p(x,y) and p(x)p(y) exchanged",
)
def table_1_dv(swap: bool = False) -> list[Part]:
    """DV: a lower bound for every critic, tight at the ratio up to a factor."""

    def value(r, q1, q0):
        return finite.dv(r, q0, q1, "nats") if swap else finite.dv(r, q1, q0, "nats")

    (q1, q0), scale = symbolic_pair(), sp.Symbol("C", positive=True)
    exact = value([scale * p / q for p, q in zip(q1, q0, strict=True)], q1, q0)
    rng, below, best = np.random.default_rng(1), [], []
    for i, (p1, p0) in enumerate(pairs(60)[::3]):
        divergence = finite.kl(p1, p0, "nats")
        other = p1 / p0 * np.exp(rng.normal(size=p1.size))
        below.append((divergence - value(other, p1, p0), ""))
        if i % 20 == 0:
            best.append((divergence - best_value(value, p1, p0, i), ""))
    return [
        identity("DV of C q1/q0 is D (two letters, symbolic)", exact - finite.kl(q1, q0, "nats")),
        extreme("DV <= D, random pairs and critics", "bound", below),
        extreme("an optimiser over critics ends at D", "equal", best, 1e-6),
    ]


@claim(
    "tab1-nwj",
    item="Table 1, NWJ row",
    label="tab:mi_estimators",
    statement=r"$-\Loss_{\mathrm{NWJ}}(c) = \E_{p(x,y)}[c] - \E_{p(x)p(y)}[e^{c-1}]$ reports "
    r"$I(X;Y)$ at $c = \log r$",
    page=PAGE,
    recorded="holds with correction",
    twin={"shift": 0.0},
    twin_says="e^c - 1 in place of e^(c-1)",
)
def table_1_nwj(shift: float = 1.0) -> list[Part]:
    """As printed the optimum is c = 1 + log r; at the caption's c = log r it reads I - 1/e."""
    laws = joints(20, 10)
    e_inverse = math.exp(-1)

    def gap(joint: Joint, offset: float, printed: float = shift) -> float:
        return information(joint) - nwj_reading(joint, log_ratio(joint) + offset, printed)

    rng = np.random.default_rng(3)
    any_critic = [(gap(j, rng.normal(size=j.shape), 1.0), "") for j in laws]
    ours = [
        (expectation(objectives.nwj, j, log_ratio(j) + 0.3, 2).item() - population("nwj", j, c), "")
        for j in laws
        for c in [log_ratio(j) + 0.3]
    ]
    return [
        extreme("reads I at c = log r", "equal", [(gap(j, 0.0), "") for j in laws]),
        extreme(
            "printed form reads I - 1/e at c = log r",
            "equal",
            [(gap(j, 0.0, 1.0) - e_inverse, "") for j in laws],
            role="support",
        ),
        extreme(
            "printed form: I - value >= 0 for random critics", "bound", any_critic, role="support"
        ),
        extreme(
            "printed form reads I at c = 1 + log r",
            "equal",
            [(gap(j, 1.0, 1.0), "") for j in laws],
            role="correction",
        ),
        extreme(
            "e^c - 1 in place of e^(c-1) reads I at c = log r",
            "equal",
            [(gap(j, 0.0, 0.0), "") for j in laws],
            role="correction",
        ),
        extreme("mi_lib has that form (all batches of 2)", "equal", ours, role="correction"),
    ]


@claim(
    "tab1-infonce",
    item="Table 1, InfoNCE row",
    label="tab:mi_estimators",
    statement=r"$\E\bigl[\frac1K\sum_i\log\frac{c(x_i,y_i)}{\frac1K\sum_j c(x_i,y_j)}\bigr]$ is "
    r"the InfoNCE value of a critic $c \approx \log r$",
    page=PAGE,
    recorded="holds with correction",
    twin={"link": torch.exp},
    twin_says="e^c in place of c",
)
def table_1_infonce(link: Callable = lambda c: c) -> list[Part]:
    """With c = log r the printed logarithm has negative arguments; e^c is meant, over y."""

    def undefined(scores):
        rows = link(scores)
        argument = rows.diagonal(dim1=-2, dim2=-1) / rows.mean(-1)
        return (argument <= 0).double().mean(-1)

    laws, rng = joints(4, 20), np.random.default_rng(4)
    means = []
    for joint in laws:
        critic = log_ratio(joint) + rng.normal(size=joint.shape)
        for contrast in ("x", "y"):
            for k in (2, 3):
                batch = expectation(
                    lambda s, c=contrast: objectives.infonce(s, c), joint, critic, k
                )
                exact = batches.infonce(joint, critic, k, contrast)
                means.append((batch.item() + exact, f"K={k}, contrast={contrast}"))
    jsd = sum(
        w * finite.k_way_jsd(*pair, 3, "nats")
        for w, _, pair in batches.conditional_pairs(COIN, "y")
    )
    at_truth = -expectation(lambda s: objectives.infonce(s, "y"), COIN, log_ratio(COIN), 3).item()
    one, two = (batches.infonce(Z_CHANNEL, log_ratio(Z_CHANNEL), 2, c) for c in "xy")
    share = expectation(undefined, COIN, log_ratio(COIN), 2).item()
    return [
        Part("share of printed logs that are undefined", "equal", share, 0.0, 1, "a flipped bit"),
        extreme(
            "with e^c: mean over batches of K = E InfoNCE of both contrasts",
            "equal",
            means,
            role="correction",
        ),
        Part(
            "with e^c, c = log r: E_x K-way JSD of p(y|x), p(y) (K = 3)",
            "equal",
            at_truth - jsd,
            1e-9,
            1,
            role="correction",
        ),
        Part(
            "the two contrasts differ: Z-channel, K = 2",
            "strict",
            abs(one - two),
            1e-3,
            1,
            role="support",
        ),
    ]
