"""How hard the anchor holds the scale of r: the curvature of the loss in it (ours)."""

from collections.abc import Callable
from itertools import product

import numpy as np
import sympy as sp

from mi_lib import finite

from .. import by_definition
from ..adversary import random_pairs, try_to_break
from ..scale import curvature, curvature_bound, tuple_sums
from .anchor import NU, classes, model, symbolic_pair
from .registry import Part, claim, extreme, identity

PAGE = "theory/anchor_scale"
GRID = tuple(product((1, 2, 5, 16), (0.1, 1.0, 8.0, 50.0)))  # K and nu
WEIGHTS = (0.1, 1.0, 8.0, 63.0, 630.0, 6300.0)  # of the tables at K = 63
SCALE = sp.Symbol("C", positive=True)


def by_log_scale(expression: sp.Expr) -> sp.Expr:
    """Derivative with respect to log C."""
    return SCALE * sp.diff(expression, SCALE)


def sums(x: tuple[int, ...], r: by_definition.Law) -> sp.Expr:
    """S = sum of r over the points of a tuple."""
    return sum(r[i] for i in x)


@claim(
    "scale-curvature",
    item="Curvature in the scale (ours)",
    statement=r"At $r = C\,\qone/\qzero$, $C = 1$: $\partial^2\Loss_{K;\nu}/\partial(\log C)^2 = "
    r"\E[p_0(1-p_0)] = \tfrac{\nu}{K+\nu}\,\E_{\qzero^K}\bigl[\tfrac{S}{\nu+S}\bigr]$",
    page=PAGE,
    recorded="holds",
    twin={"prior": lambda k, nu: 1 / (k + nu)},
    twin_says="1/(K + nu) in place of nu/(K + nu)",
)
def scale_curvature(prior: Callable = lambda k, nu: nu / (k + nu)) -> list[Part]:
    """The curvature is the prior of the anchor times the share of anchor tuples misread."""
    q1, q0 = symbolic_pair()
    ratio = tuple(p / q for p, q in zip(q1, q0, strict=True))
    scaled = [SCALE * r for r in ratio]
    mixture, short = [], []
    for k in (2, 3):  # tuple by tuple; the loss and both expectations are sums over tuples
        for x, masses in classes(q1, q0, k, NU):
            share = zip(masses, model(scaled, x, NU), strict=True)
            loss = -sum(mass * sp.log(eta) for mass, eta in share)
            bend = by_log_scale(by_log_scale(loss)).subs(SCALE, 1)
            p0 = NU / (NU + sums(x, ratio))
            mixture.append(bend - sum(masses) * p0 * (1 - p0))
            short.append(bend - prior(k, NU) * sp.prod(q0[i] for i in x) * (1 - p0))
    differences, shorts, step = [], [], 1e-3
    for i, (p1, p0_) in enumerate(random_pairs(2 * len(GRID), 3, 21)):
        k, nu = GRID[i % len(GRID)]
        losses = [
            finite.anchored_risk(np.exp(t) * p1 / p0_, p1, p0_, k, nu) for t in (-step, 0, step)
        ]
        second = (losses[0] - 2 * losses[1] + losses[2]) / step**2
        s, _, chance = tuple_sums(p1 / p0_, p1, p0_, k)
        differences.append((second - curvature(p1, p0_, k, nu), f"K={k}, nu={nu:g}"))
        value = prior(k, nu) * (chance @ (s / (nu + s)))
        shorts.append((second - value, f"K={k}, nu={nu:g}"))
    return [
        identity("second derivative = E[p0 (1 - p0)] (K = 2, 3; symbolic)", *mixture),
        identity("= nu/(K+nu) E_0[S/(nu+S)] (K = 2, 3; symbolic)", *short),
        extreme("the same by differences of the loss, K to 16", "equal", shorts, 1e-6),
        extreme("mi_lib's curvature is this", "equal", differences, 1e-6, role="support"),
    ]


@claim(
    "scale-bound",
    item="Largest curvature in the scale (ours)",
    statement=r"$\E[p_0(1-p_0)] \le \nu K/(K+\nu)^2 \le \tfrac14$, with equality in the first if "
    r"and only if $\qone = \qzero$ and in the second if and only if $\nu = K$",
    page=PAGE,
    recorded="holds",
    twin={"bound": lambda k, nu: curvature_bound(k, nu) * k / (k + 1)},
    twin_says="K/(K+1) times the bound",
)
def scale_bound(bound: Callable = curvature_bound) -> list[Part]:
    """S/(nu + S) is concave in S, and S has mean K."""
    s, nu, k = sp.symbols("S nu K", positive=True)
    concave = sp.diff(s / (nu + s), s, 2) + 2 * nu / (nu + s) ** 3
    quarter = sp.Rational(1, 4) - nu * k / (k + nu) ** 2 - (k - nu) ** 2 / (4 * (k + nu) ** 2)
    cases = []
    for i, (q1, q0) in enumerate(random_pairs(160, 3, 22)):
        k_, nu_ = GRID[i % len(GRID)]
        cases.append((bound(k_, nu_) / curvature(q1, q0, k_, nu_) - 1, f"K={k_}, nu={nu_:g}"))
    found = [
        (margin, f"K={k_}")
        for k_, nu_ in ((2, 1.0), (5, 8.0))
        for margin, _ in try_to_break(
            lambda q1, q0, k_=k_, nu_=nu_: bound(k_, nu_) - curvature(q1, q0, k_, nu_), 3, 3, k_
        )
    ]
    fair, near = np.array([0.3, 0.7]), np.array([0.4, 0.6])
    attained = [(bound(k_, nu_) - curvature(fair, fair, k_, nu_), f"K={k_}") for k_, nu_ in GRID]
    missed = [
        (
            1e6 * (bound(k_, nu_) / curvature(near, fair, k_, nu_) - 1),
            f"K={k_}, nu={nu_:g}",
        )
        for k_, nu_ in GRID
    ]
    return [
        identity("(S/(nu+S))'' = -2 nu/(nu+S)^3 < 0 (symbolic)", concave),
        identity("1/4 - nu K/(K+nu)^2 = (K-nu)^2/(4 (K+nu)^2)", quarter),
        extreme("bound/curvature - 1 >= 0, random pairs", "bound", cases),
        extreme("an optimiser finds no violation", "bound", found),
        extreme("equality when q1 = q0", "equal", attained),
        extreme("bound/curvature - 1 in 1e-6 when q1 is 0.1 off", "strict", missed, 1e-3),
    ]
