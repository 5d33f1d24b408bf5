"""The paper's Theorem 3 and its use for mutual information: what the minimum determines."""

from collections.abc import Sequence

import numpy as np
import sympy as sp

from mi_lib import finite, objective_variants

from .. import by_definition
from ..batches import expectation, log_ratio, product_law
from .anchor import (
    CRITIC,
    NU,
    PAGE,
    classes,
    literal_loss,
    model,
    symbolic_pair,
    three_letter_pairs,
)
from .landscape import joint_landscape, landscape, null_space
from .registry import Part, claim, extreme, identity


@claim(
    "thm-3",
    item="Theorem 3",
    label="thm:fisher",
    statement=r"For $K \ge 1$ and $\nu > 0$ the only minimiser is $r_{\theta^*} = \qone/\qzero$",
    page=PAGE,
    recorded="holds",
    twin={"anchored": False},
    twin_says="nu = 0",
)
def fisher(anchored: bool = True) -> list[Part]:
    """The loss is strictly convex in log r when there is an anchor."""
    nu = NU if anchored else sp.Integer(0)
    q1, q0 = symbolic_pair()
    hessian = _literal_hessian(2, nu)
    v = sp.symbols("v_0:2")
    spread = sum(
        sum(masses) * _variance([0, *(v[i] for i in x)], model(CRITIC, x, nu))
        for x, masses in classes(q1, q0, 2, nu)
    )
    second = sum(v[i] * v[j] * hessian[i][j] for i in range(2) for j in range(2))
    rng = np.random.default_rng(3)
    library, found, curved, slope = [], [], [], []
    for q1_, q0_ in three_letter_pairs(2, 4):
        for k in (1, 2, 5) if anchored else (2, 5):
            for weight in (0.1, 1.0, 8.0) if anchored else (0.0,):
                loss, best = landscape(q1_, q0_, k, weight), np.log(q1_ / q0_)
                note = f"K={k}, nu={weight:g}"
                any_c = rng.normal(scale=2, size=3)
                risk = finite.anchored_risk(np.exp(any_c), q1_, q0_, k, weight)
                library.append((loss.value(any_c) - risk, note))
                slope.append((np.abs(loss.gradient(best)).max(), note))
                for c in (best, any_c):
                    curved.append((np.linalg.eigvalsh(loss.hessian(c))[0], note))
                for _ in range(4):
                    end = loss.minimise(rng.normal(scale=3, size=3))
                    found.append((np.abs(end - best).max(), note))
    return [
        identity("K = 2: v' H v = E Var(v(x_z)) with v = 0 on the anchor", second - spread),
        extreme("the gradient vanishes at log q1/q0", "equal", slope, 1e-12),
        extreme("smallest eigenvalue of H, there and at random r", "strict", curved, 1e-6),
        extreme("Newton's method from random starts ends at log q1/q0", "equal", found, 1e-5),
        extreme("the loss is that of mi_lib.finite", "equal", library, 1e-12, role="support"),
    ]


def _literal_hessian(k: int, nu: sp.Expr) -> list[list[sp.Expr]]:
    """Second derivatives of the literal loss in the logs of the critic's two values."""
    loss = literal_loss(CRITIC, *symbolic_pair(), k, nu) if nu != 0 else _literal_infonce(k)
    slope = [r * sp.diff(loss, r) for r in CRITIC]
    return [[r * sp.diff(s, r) for r in CRITIC] for s in slope]


def _literal_infonce(k: int) -> sp.Expr:
    q1, q0 = symbolic_pair()
    zero = sp.Integer(0)
    return by_definition.mean(q1, q0, k, lambda x: -sp.log(model(CRITIC, x, zero)[1]))


def _variance(values: Sequence[sp.Expr], law: Sequence[sp.Expr]) -> sp.Expr:
    mean = sum(p * v for p, v in zip(law, values, strict=True))
    return sum(p * v**2 for p, v in zip(law, values, strict=True)) - mean**2


@claim(
    "thm-3-ray",
    item="Theorem 3, nu = 0",
    label="thm:fisher",
    statement=r"For $K \ge 2$ and $\nu = 0$ the minimisers are $C\,\qone/\qzero$, $C > 0$",
    page=PAGE,
    recorded="holds",
    twin={"nu": 0.5},
    twin_says="nu = 1/2",
)
def ray(nu: float = 0.0) -> list[Part]:
    """Without an anchor exactly one direction is free: log r -> log r + constant."""
    rng = np.random.default_rng(5)
    flat, free, rest, ratio, moves = [], [], [], [], []
    for q1, q0 in three_letter_pairs(3, 6):
        for k in (2, 3, 8):
            loss, best, note = landscape(q1, q0, k, nu), np.log(q1 / q0), f"K={k}"
            for c in (best, rng.normal(scale=2, size=3)):
                values = np.linalg.eigvalsh(loss.hessian(c))
                free.append((values[0], note))
                rest.append((values[1], note))
                flat += [(loss.value(c + t) - loss.value(c), note) for t in (-4.0, 1.0, 4.0)]
                moves.append((loss.gradient(c).sum(), note))
            for _ in range(4):
                end = loss.minimise(rng.normal(scale=2, size=3)) - best
                ratio.append((end.max() - end.min(), note))
    return [
        extreme("the loss does not change from r to C r", "equal", flat, 1e-9),
        extreme("smallest eigenvalue of the Hessian in log r", "equal", free, 1e-9),
        extreme("the second smallest", "strict", rest, 1e-6),
        extreme("minimisers from random starts are proportional to q1/q0", "equal", ratio, 1e-5),
        extreme("a gradient step never moves the mean of log r", "equal", moves, 1e-12),
    ]


def best_log_linear(q1: np.ndarray, q0: np.ndarray, k: int, nu: float) -> np.ndarray:
    """log r of the best critic of the form log r(x) = a + b x, x = 0, 1, 2, ..."""
    loss, basis = landscape(q1, q0, k, nu), np.stack([np.ones(len(q0)), np.arange(len(q0))], 1)
    ab = np.zeros(2)
    for _ in range(100):  # Newton; the restriction of a convex loss is convex
        step = np.linalg.solve(
            basis.T @ loss.hessian(basis @ ab) @ basis, basis.T @ loss.gradient(basis @ ab)
        )
        ab = ab - step / max(1.0, np.abs(step).max())
    return basis @ ab


@claim(
    "thm-3-hypotheses",
    item="Theorem 3, its hypotheses (ours)",
    statement=r"Each is needed: $\nu > 0$ at $K = 1$; a critic that can be $\qone/\qzero$; "
    r"$\qone \ll \qzero$; and nothing is said where $\qzero = 0$",
    page=PAGE,
    recorded="holds",
    twin={"bend": 0.0},
    twin_says="a model class that contains the ratio",
)
def hypotheses(bend: float = 1.0) -> list[Part]:
    """What happens to the minimiser when a hypothesis is dropped."""
    q0 = np.array([0.5, 0.3, 0.2])
    log_ratio = np.array([-1.0, 0.0, 1.0]) + bend * np.array([0.0, 1.0, 0.0])
    q1 = q0 * np.exp(log_ratio) / (q0 @ np.exp(log_ratio))
    fits = {nu: best_log_linear(q1, q0, 3, nu) for nu in (0.1, 1.0, 10.0)}
    misfit = [(np.abs(c - np.log(q1 / q0)).max(), f"nu={nu:g}") for nu, c in fits.items()]
    scale = [(abs(np.log(q0 @ np.exp(c))), f"nu={nu:g}") for nu, c in fits.items()]
    alone = landscape((0.2, 0.8), (0.6, 0.4), 1, 0.0)
    random = np.random.default_rng(7).normal(size=(20, 2))
    # the third letter has q1 = 0.3 and q0 = 0
    outside = landscape((0.2, 0.5, 0.3), (0.6, 0.4, 0.0), 3, 1.0)
    inside = [np.log(0.2 / 0.6), np.log(0.5 / 0.4)]
    fall = [outside.value(np.array([*inside, c])) for c in range(0, 12, 2)]
    far = outside.gradient(np.array([*inside, 40.0]))
    # the third letter has q1 = q0 = 0
    nowhere = landscape((0.2, 0.8, 0.0), (0.6, 0.4, 0.0), 3, 1.0)
    free = [
        (nowhere.value(np.array([0.1, 0.2, c])) - nowhere.value(np.zeros(3) + [0.1, 0.2, 0]), "")
        for c in (-5.0, 5.0)
    ]
    # the first letter has q1 = 0 and q0 > 0: the ratio is 0
    silent = landscape((0.0, 1.0), (0.5, 0.5), 3, 1.0)
    sink = [silent.value(np.array([-c, np.log(2)])) for c in range(0, 12, 2)]
    return [
        Part(
            "K = 1, nu = 0: the loss is 0 for every critic",
            "equal",
            float(np.abs(alone.value(random)).max()),
            1e-12,
            len(random),
        ),
        extreme("no theta_0: the best log-linear critic is not the ratio", "strict", misfit, 1e-3),
        extreme("nor is its mean under q0 equal to 1", "strict", scale, 1e-3),
        Part(
            "q1 > 0 = q0 at a letter: the loss falls for ever as r grows there",
            "strict",
            -float(np.diff(fall).max()),
            1e-6,
            len(fall) - 1,
        ),
        Part(
            "and the other letters still tend to q1/q0",
            "equal",
            float(np.abs(far).max()),
            1e-9,
            1,
        ),
        extreme("q1 = q0 = 0 at a letter: r is free there", "equal", free, 1e-12),
        Part(
            "q1 = 0 < q0 at a letter: the loss falls as r tends to 0 there",
            "strict",
            -float(np.diff(sink).max()),
            1e-6,
            len(sink) - 1,
        ),
    ]


JOINT = np.array([[0.20, 0.10], [0.05, 0.25], [0.15, 0.25]])  # p(x, y), three x's and two y's


def free_directions(tuples: str, nu: float, k: int = 3, joint: np.ndarray = JOINT) -> np.ndarray:
    """The null space of the Hessian in log r(x, y), each direction as an array [x, y]."""
    null = null_space(joint_landscape(joint, k, nu, tuples).hessian(log_ratio(joint).ravel()))
    return null.T.reshape(-1, *joint.shape)


def _freedom(tuples: str, depends_on: str, nu: float) -> list[Part]:
    """Parts: how many directions are free, and that they depend on the named variable alone."""
    expected = {"y": JOINT.shape[1], "x": JOINT.shape[0], "": 1}[depends_on]
    counts, stray = [], []
    for k in (2, 3, 5):
        directions = free_directions(tuples, nu, k)
        counts.append((len(directions) - expected, f"K={k}"))
        axes = {"y": (1,), "x": (2,), "": (1, 2)}[depends_on]  # over which it is constant
        stray += [(np.ptp(d[None], axis=axes).max(), f"K={k}") for d in directions]
    name = {"y": "C(y)", "x": "C(x)", "": "C"}[depends_on]
    return [
        extreme(f"free directions less {expected} (K = 2, 3, 5)", "equal", counts),
        extreme(f"each of them is a {name}", "equal", stray or [(0.0, "")], 1e-6),
    ]


@claim(
    "section-3-1-free",
    item="Section 3.1, C(y) without anchor",
    statement=r"With $\nu = 0$, $\Loss^{(1)}$ determines $r(x,y)$ up to a factor $C(y)$; "
    r"with $\nu > 0$ it determines $r$",
    page=PAGE,
    recorded="holds",
    twin={"tuples": "y"},
    twin_says="contrasting y's for the same x",
)
def conditional_freedom(tuples: str = "x") -> list[Part]:
    """One null direction of the Hessian for each y, none with an anchor."""
    anchored = [
        (float(len(free_directions(t, nu, k))), f"K={k}, nu={nu:g}")
        for t in ("x", "y")
        for nu in (0.1, 1.0)
        for k in (1, 2, 3)
    ]
    exchanged = [
        Part(p.name, p.kind, p.margin, p.tolerance, p.cases, p.worst, "support")
        for p in _freedom("y", "x", 0.0)
    ]
    return [
        *_freedom(tuples, "y", 0.0),
        extreme("free directions with an anchor, K = 1, 2, 3", "equal", anchored),
        *exchanged,
    ]


@claim(
    "appendix-a",
    item="Appendix A, one constant",
    statement=r"With $\nu = 0$, $\Loss^{(2)}$ determines $r(x,y)$ up to one constant $C$",
    page=PAGE,
    recorded="holds",
    twin={"tuples": "x"},
    twin_says="L^(1) in place of L^(2)",
)
def product_freedom(tuples: str = "pairs") -> list[Part]:
    """Pairs with different y's are compared with each other, which ties their scales."""
    anchored = [
        (float(len(free_directions("pairs", nu, k))), f"K={k}, nu={nu:g}")
        for nu in (0.1, 1.0)
        for k in (1, 2)
    ]
    best = log_ratio(JOINT).ravel()
    slope = [
        (np.abs(joint_landscape(JOINT, k, nu, "pairs").gradient(best)).max(), f"K={k}")
        for k in (2, 3)
        for nu in (0.0, 1.0)
    ]
    some = np.log([[0.5, 2.0], [1.5, 0.3], [0.7, 1.2]])
    laws = JOINT.ravel(), product_law(JOINT).ravel()
    batches = [
        (
            expectation(
                lambda s, nu=nu: objective_variants.anchor_product(s, nu), JOINT, some, b
            ).item()
            - finite.anchored_risk(np.exp(some).ravel(), *laws, b // 2, nu),
            f"B={b}, nu={nu:g}",
        )
        for b, nu in ((2, 1.0), (3, 2.0), (4, 0.0), (4, 1.0))
    ]
    return [
        *_freedom(tuples, "", 0.0),
        extreme("the gradient vanishes at the ratio", "equal", slope, 1e-12),
        extreme("free directions with an anchor, K = 1, 2", "equal", anchored),
        extreme("mi_lib's minibatch form of it: bias", "equal", batches, role="support"),
    ]
