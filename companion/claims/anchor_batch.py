"""The anchored loss on a minibatch, and the divergence that its population form bounds."""

from collections.abc import Callable

import numpy as np
import sympy as sp
import torch
from scipy.optimize import brentq

from mi_lib import finite, objectives

from .. import by_definition, symbolic
from ..adversary import event_pair, random_pairs
from ..batches import anchored, expectation, log_ratio
from .anchor import PAGE, classes, symbolic_pair
from .fisher import JOINT
from .landscape import joint_landscape
from .registry import Part, claim, extreme, identity

CRITIC = np.log([[0.5, 2.0], [1.5, 0.3], [0.7, 1.2]])  # some log r(x, y), not the ratio's
SIZES = (2, 3, 4)
WEIGHTS = (0.5, 1.0, 3.0)


def displayed(rows: torch.Tensor, nu: float, cyclic: bool) -> torch.Tensor:
    """The paper's minibatch display, with r_bj = exp(rows[b, j]).

    Row b leaves out column b - 1 in the first sum. For b = 1 that column does not exist: read
    literally nothing is left out, read cyclically the last column is.
    """
    r, b = rows.exp(), rows.shape[-1]
    k, first, second = b - 1, 0.0, 0.0
    for i in range(b):
        left_out = i - 1 if i > 0 else (b - 1 if cyclic else None)
        kept = [j for j in range(b) if j != left_out]
        others = [j for j in range(b) if j != i]
        first = first + torch.log((nu + r[..., i, kept].sum(-1)) / r[..., i, i])
        second = second + torch.log((nu + r[..., i, others].sum(-1)) / nu)
    return (k * first + nu * second) / (b * (k + nu))


def _bias(loss: Callable, contrast: str) -> list[tuple[float, str]]:
    """E[loss] over all batches minus the population loss, K = B - 1."""
    return [
        (
            expectation(lambda s, nu=nu: loss(s, nu), JOINT, CRITIC, b).item()
            - anchored(JOINT, CRITIC, b - 1, nu, contrast),
            f"B={b}, nu={nu:g}",
        )
        for b in SIZES
        for nu in WEIGHTS
    ]


@claim(
    "minibatch",
    item="Section 3.1, minibatch form",
    statement=r"The loss of $B$ pairs is an unbiased estimate of $\Loss^{(1)}_{B-1;\nu}$ "
    r"(with $[B]\setminus\{b-1\}$ read cyclically: row 1 leaves out $B$)",
    page=PAGE,
    recorded="holds with correction",
    twin={"contrast": "y"},
    twin_says="the contrast transposed",
)
def minibatch(contrast: str = "x") -> list[Part]:
    """Exact expectation over all batches of two to four pairs of a joint law with six cells."""
    target = {"x": "y", "y": "x"}[contrast]
    same = [
        (
            float(
                (objectives.anchor(s, nu) - displayed(s.mT, nu, True)).abs().max()
                + (objectives.anchor(s, nu, contrast="y") - displayed(s, nu, True)).abs().max()
            ),
            f"B={b}, nu={nu:g}",
        )
        for b in SIZES
        for nu in WEIGHTS
        for s in [torch.randn(50, b, b, generator=torch.Generator().manual_seed(b)).double()]
    ]
    fewer = [
        (
            expectation(lambda s, k=k: objectives.anchor(s, 2.0, k=k), JOINT, CRITIC, 4).item()
            - anchored(JOINT, CRITIC, k, 2.0),
            f"K={k}, B=4",
        )
        for k in (1, 2)
    ]
    cyclic = {
        "x": _bias(lambda s, nu: displayed(s.mT, nu, True), contrast),
        "y": _bias(lambda s, nu: displayed(s, nu, True), target),
    }
    literally = _bias(lambda s, nu: displayed(s.mT, nu, False), contrast)
    return [
        extreme("as printed, row 1 keeping all B terms: bias in nats", "equal", literally),
        extreme("cyclic, x's for the same y: bias", "equal", cyclic["x"], role="correction"),
        extreme("cyclic, y's for the same x: bias", "equal", cyclic["y"], role="correction"),
        extreme("mi_lib.objectives.anchor is the cyclic form", "equal", same, role="support"),
        extreme("its bias with fewer strangers, K < B - 1", "equal", fewer, role="support"),
    ]


@claim(
    "listing",
    item="Appendix B, listing",
    statement=r"The listing, given $f(x_i, y_j)$ in row $i$ and column $j$, estimates "
    r"$\Loss^{(1)}$ (it contrasts $y$'s for the same $x$; the transposed scores give "
    r"$\Loss^{(1)}$)",
    page=PAGE,
    recorded="holds with correction",
    twin={"transposed": True},
    twin_says="scores[i, j] = f(x_j, y_i)",
)
def listing(transposed: bool = False) -> list[Part]:
    """Its sums run along a row, that is over y's; L^(1) sums over x's."""

    def loss(scores: torch.Tensor, nu: float) -> torch.Tensor:
        return displayed(scores.mT if transposed else scores, nu, True)

    best = log_ratio(JOINT).ravel()
    both = [
        (np.abs(joint_landscape(JOINT, 3, nu, t).gradient(best)).max(), f"nu={nu:g}")
        for nu in WEIGHTS
        for t in ("x", "y")
    ]
    return [
        extreme("its mean over all batches less L^(1)", "equal", _bias(loss, "x")),
        extreme(
            "its mean less the loss with x and y exchanged",
            "equal",
            _bias(loss, "y"),
            role="correction",
        ),
        extreme(
            "the transposed scores give L^(1)",
            "equal",
            _bias(lambda s, nu: loss(s.mT, nu), "x"),
            role="correction",
        ),
        extreme("nu > 0: the ratio minimises both", "equal", both, 1e-12, role="support"),
    ]


def prior_entropy(k: int, nu: float) -> float:
    """Entropy in nats of the prior (nu, 1, ..., 1)/(K + nu)."""
    return float(np.log(k + nu) - nu / (k + nu) * np.log(nu))


def anchor_divergence(q1: np.ndarray, q0: np.ndarray, k: int, nu: float) -> float:
    """I(z; x_1..K) in nats: what the anchored loss bounds, less its value at q1 = q0."""
    return prior_entropy(k, nu) - finite.anchored_risk(q1 / q0, q1, q0, k, nu)


def equal_jsd_pairs(k: int, divergence: float = 1.0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Two pairs with the same K-way JSD: r in {0, 2^D}, and two mirrored coins."""
    event = event_pair(divergence)
    target = finite.k_way_jsd(*event, k)

    def mirrored(e: float) -> tuple[np.ndarray, np.ndarray]:
        return np.array([e, 1 - e]), np.array([1 - e, e])

    e = brentq(lambda e: finite.k_way_jsd(*mirrored(e), k) - target, 1e-6, 0.5, xtol=1e-15)
    return [event, mirrored(e)]


@claim(
    "thm-6-jsd",
    item="After Theorem 6, InfoNCE-anchor and the K-way JSD",
    statement=r"The InfoNCE-anchor objective is a lower bound of $\JSD(\qone,\qzero)$, as InfoNCE "
    r"is (tight at the ratio, up to the entropy of the prior)",
    page=PAGE,
    recorded="holds with correction",
    twin={"share": lambda k, nu: sp.Integer(1)},
    twin_says="weight 1 on the K-way JSD",
)
def divergence(share: Callable = lambda k, nu: k / (k + nu)) -> list[Part]:
    """It bounds a (K+1)-way JSD with weights, I(z; x), which is no function of the K-way JSD."""
    q1, q0 = symbolic_pair()
    ratio = tuple(p / q for p, q in zip(q1, q0, strict=True))
    psi = symbolic.perspective(symbolic.log_phi)
    mutual, theorem_6, chain = [], [], []
    for k, nu in ((1, sp.Integer(3)), (2, sp.Integer(1))):
        best = finite.anchored_risk(ratio, q1, q0, k, nu)
        entropy = sp.log(k + nu) - nu / (k + nu) * sp.log(nu)
        prior = [nu / (k + nu)] + k * [1 / (k + nu)]
        rows = [joint for _, joint in classes(q1, q0, k, nu)]
        weighted = sum(
            p * sp.log(p / sum(joint) / w)
            for joint in rows
            for p, w in zip(joint, prior, strict=True)
        )
        anchor = sum(
            joint[0] * sp.log(joint[0] / sum(joint) / prior[0])
            + sum(joint[1:]) * (sp.log(sum(joint[1:]) / sum(joint)) + sp.log(k + nu) - sp.log(k))
            for joint in rows
        )
        mean_psi = by_definition.mean(q0, q0, k, lambda x, nu=nu: psi([ratio[i] / nu for i in x]))
        mutual.append(entropy - best - weighted)
        theorem_6.append(-best - nu / (k + nu) * mean_psi)
        chain.append(weighted - share(k, nu) * by_definition.k_way_jsd(q1, q0, k) - anchor)
    grid = [(k, nu) for k in (2, 4, 8) for nu in WEIGHTS]
    same = [equal_jsd_pairs(k) for k in (2, 4, 8)]
    jsd = [
        (finite.k_way_jsd(*a, k, "nats") - finite.k_way_jsd(*b, k, "nats"), f"K={k}")
        for (a, b), k in zip(same, (2, 4, 8), strict=True)
    ]
    gap = [
        (abs(anchor_divergence(*a, k, nu) - anchor_divergence(*b, k, nu)), f"K={k}, nu={nu:g}")
        for (a, b), k in zip(same, (2, 4, 8), strict=True)
        for nu in WEIGHTS
    ]
    _, coins = same[0]
    above = anchor_divergence(*coins, 2, 1.0) - finite.k_way_jsd(*coins, 2, "nats")
    rng = np.random.default_rng(9)

    def slack(r: np.ndarray, p1: np.ndarray, p0: np.ndarray, k: int, nu: float) -> float:
        value = prior_entropy(k, nu) - finite.anchored_risk(r, p1, p0, k, nu)
        return anchor_divergence(p1, p0, k, nu) - value

    below, near, printed, limit = [], [], [], []
    for p1, p0 in random_pairs(60, 3, 11):
        k, nu = grid[rng.integers(len(grid))]
        note, k_way = f"K={k}, nu={nu:g}", finite.k_way_jsd(p1, p0, k, "nats")
        below.append((slack(p1 / p0 * np.exp(rng.normal(size=3)), p1, p0, k, nu), note))
        near.append((1e6 * slack(1.05 * p1 / p0, p1, p0, k, nu), note))
        printed.append((anchor_divergence(p1, p0, k, nu) - k_way, note))
        limit.append((anchor_divergence(p1, p0, k, 1e-9) - k_way, note))
    fair = np.array([0.3, 0.7])
    nothing = [(anchor_divergence(fair, fair, k, nu), f"K={k}") for k, nu in grid]
    return [
        extreme("entropy of the prior - best loss = K-way JSD, nats", "equal", printed),
        identity("it is I(z; x), the JSD of K + 1 classes (symbolic)", *mutual, role="correction"),
        identity("= K/(K+nu) JSD + I(1{z=0}; x) (symbolic)", *chain, role="correction"),
        identity("Theorem 6: - best loss = nu/(K+nu) E Psi(r/nu)", *theorem_6, role="correction"),
        extreme("no critic exceeds it, random pairs", "bound", below, role="correction"),
        extreme(
            "strict at 1.05 times the ratio (in 1e-6 nats)", "strict", near, 1e-3, "correction"
        ),
        extreme("it vanishes when q1 = q0", "equal", nothing, role="correction"),
        extreme("nu = 1e-9: it is the K-way JSD", "equal", limit, 1e-6, "correction"),
        extreme(
            "pairs of equal K-way JSD: difference in I(z; x)", "strict", gap, 1e-3, "correction"
        ),
        extreme("their K-way JSDs are equal", "equal", jsd, role="support"),
        Part(
            "mirrored coins, K = 2, nu = 1: above the K-way JSD",
            "strict",
            above,
            1e-3,
            1,
            role="support",
        ),
    ]
