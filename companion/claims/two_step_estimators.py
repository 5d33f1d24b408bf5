r"""The rows of the paper's Table 1, Type 2: one functional trains the critic, another reads it."""

import math

import numpy as np
import sympy as sp
import torch

from mi_lib import finite, objectives

from .. import batches
from ..adversary import event_pair
from ..batches import Joint, gradient, information, log_ratio
from .registry import Part, claim, extreme, identity
from .which_estimator import PAGE, joints, no_gradient, nwj_reading, pairs, symbolic_pair


@claim(
    "tab1-mine",
    item="Table 1, MINE row",
    label="tab:mi_estimators",
    statement=r"$-\E_{p(x,y)}[c] + \E_{p(x)p(y)}[e^c]/\mathrm{EMA}$ has the gradient of "
    r"$\Loss_{\mathrm{DV}}$ when the running mean is exact; the reading is $-\Loss_{\mathrm{DV}}$",
    page=PAGE,
    recorded="holds",
    twin={"lag": 2.0},
    twin_says="a running mean twice too large",
)
def table_1_mine(lag: float = 1.0) -> list[Part]:
    """The denominator of the gradient is replaced; with the exact mean the gradient is unbiased."""
    generator = torch.Generator().manual_seed(5)
    own = []
    for _ in range(20):
        scores = torch.randn(4, 4, generator=generator, dtype=torch.float64).requires_grad_()
        log_mean = objectives.log_mean_exp(objectives.negatives(scores), 2) + math.log(lag)
        one = torch.autograd.grad(objectives.mine(scores, log_mean), scores)[0]
        two = torch.autograd.grad(objectives.dv(scores), scores)[0]
        own.append(((one - two).abs().max().item(), ""))
    exact, biased = [], []
    rng = np.random.default_rng(6)
    for joint in joints(4, 30):
        critic = log_ratio(joint) + rng.normal(size=joint.shape)
        p, q = joint, batches.product_law(joint)
        mean = (q * np.exp(critic)).sum()
        true = -p + q * np.exp(critic) / mean  # gradient of the population DV loss
        log_mean = torch.tensor(math.log(lag * mean), dtype=torch.float64)
        mine = gradient(lambda s, m=log_mean: objectives.mine(s, m), joint, critic, 3)
        exact.append((np.abs(mine - true).max(), ""))
        biased.append((np.abs(gradient(objectives.dv, joint, critic, 3) - true).max(), ""))
    p, q, m, c = sp.symbols("p q m c", positive=True)
    free = sp.diff(-p * c + q * sp.exp(c) / m, c).subs(c, sp.log(m * p / q))
    return [
        extreme("running mean = batch mean: the gradient of DV", "equal", own),
        extreme("running mean = true mean: unbiased gradient (batches of 3)", "equal", exact),
        identity("a running mean m has its optimum at c = log(m r): the scale is free", free),
        extreme("DV's own batch gradient is biased", "strict", biased, 1e-4, role="support"),
    ]


@claim(
    "tab1-js",
    item="Table 1, JS row",
    label="tab:mi_estimators",
    statement=r"$\Loss_{\mathrm{JS}}$ has its optimum $2\ln 2 - 2D_{\mathrm{JS}}$ at "
    r"$c = \log r$, where the reading $-\Loss_{\mathrm{NWJ}}(c)$ is $I(X;Y)$",
    page=PAGE,
    recorded="holds with correction",
    twin={"shift": 0.0},
    twin_says="the reading with e^c - 1",
)
def table_1_js(shift: float = 1.0) -> list[Part]:
    """The training is right; the printed reading falls short by 1/e nats at its optimum."""
    (q1, q0), laws = symbolic_pair(), joints(6, 40)
    ratio = [p / q for p, q in zip(q1, q0, strict=True)]
    middle = [(p + q) / 2 for p, q in zip(q1, q0, strict=True)]
    jsd = (finite.kl(q1, middle, "nats") + finite.kl(q0, middle, "nats")) / 2
    anchored = finite.anchored_risk(ratio, q1, q0, 1, 1)

    def gap(joint: Joint, printed: float) -> float:
        return information(joint) - nwj_reading(joint, log_ratio(joint), printed)

    return [
        identity(
            "optimum 2 ln 2 - 2 JSD (two letters, symbolic)", 2 * anchored - 2 * sp.log(2) + 2 * jsd
        ),
        no_gradient("js", laws, 2),
        extreme("reads I there", "equal", [(gap(j, shift), "") for j in laws]),
        extreme(
            "the reading E[c] - E[e^c] + 1 is I there",
            "equal",
            [(gap(j, 0.0), "") for j in laws],
            role="correction",
        ),
    ]


@claim(
    "tab1-smile",
    item="Table 1, SMILE row",
    label="tab:mi_estimators",
    statement=r"$-\Loss_{\mathrm{clippedDV}}(c)$, with $e^c$ clipped to $[e^{-\tau}, e^\tau]$, "
    r"reports $I(X;Y)$ at $c = \log r$",
    page=PAGE,
    recorded="holds with correction",
    twin={"tau": math.inf},
    twin_says="no clipping",
)
def table_1_smile(tau: float = 5.0) -> list[Part]:
    """Clipping shifts the reading at the true ratio: down by very little, up by at most tau."""
    extremal = {f"D={d}": event_pair(d) for d in (0.5, 2.0, 4.0, 8.0, 12.0)}

    def bias(q1: np.ndarray, q0: np.ndarray, tau: float) -> float:
        return -math.log(q0 @ np.clip(q1 / q0, np.exp(-tau), np.exp(tau)))

    def floor(tau: float) -> float:
        return -math.log(1 + math.exp(-tau) - math.exp(-2 * tau))

    levels = (0.5, 1.0, 5.0)
    random = [(bias(*pair, t), t) for pair in pairs(70) for t in levels]
    ends = [(bias(*event_pair(t / math.log(2)), t) - floor(t), f"low, tau={t}") for t in levels]
    ends += [(bias(*event_pair(60.0), t) - t, f"high, tau={t}") for t in levels]
    generator = torch.Generator().manual_seed(7)
    scores = 8 * torch.randn(6, 6, generator=generator, dtype=torch.float64)
    off = scores.numpy()[~np.eye(6, dtype=bool)]
    literal = -np.diag(scores).mean() + np.log(np.clip(np.exp(off), np.exp(-5), np.exp(5)).mean())
    return [
        extreme(
            "reads I at the true ratio, r in {0, 2^D}",
            "equal",
            [(bias(*pair, tau), note) for note, pair in extremal.items()],
        ),
        extreme(
            "bias >= -log(1 + e^-tau - e^-2tau), random pairs",
            "bound",
            [(b - floor(t), f"tau={t}") for b, t in random],
            role="correction",
        ),
        extreme(
            "bias <= tau, random pairs",
            "bound",
            [(t - b, f"tau={t}") for b, t in random],
            role="correction",
        ),
        extreme(
            "lower end attained at r in {0, e^tau}; upper end at D = 60",
            "equal",
            ends,
            role="correction",
        ),
        Part(
            "mi_lib clips e^c in the second term only",
            "equal",
            float(objectives.clipped_dv(scores, 5.0)) - literal,
            1e-9,
            1,
            role="correction",
        ),
    ]
