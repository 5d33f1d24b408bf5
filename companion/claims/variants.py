"""alpha-InfoNCE against the divergence: for which alpha and K it is a lower bound of D."""

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import sympy as sp

from mi_lib import finite

from .. import by_definition
from ..adversary import event_pair, random_pairs
from .alpha_map import (
    checked_from,
    event_excess,
    fails_below,
    proved_from,
    searched_excess,
    simplex_slack,
    slope_at_zero,
)
from .registry import Part, claim, extreme, identity

PAGE = "theory/variants"
SIZES = (2, 3, 4, 8)
_RATIONAL_PAIR = [(sp.Rational(1, 4), sp.Rational(3, 4)), (sp.Rational(1, 2), sp.Rational(1, 2))]


def near_ratio(seed: int, count: int = 40) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Random pairs on 2 and 3 letters with critics at and around the ratio."""
    rng = np.random.default_rng(seed)
    return [
        (q1 / q0 * np.exp(spread * rng.normal(size=q1.size)), q1, q0)
        for letters in (2, 3)
        for q1, q0 in random_pairs(count, letters, seed + letters)
        for spread in (0.0, 1.0)
    ]


def symbols() -> tuple[tuple, tuple, tuple]:
    """A critic, q1 and q0 on two letters."""
    a, b, u, v = sp.symbols("a b u v", positive=True)
    return (u, v), (a, 1 - a), (b, 1 - b)


@claim(
    "alpha-recovers",
    item="Section 3.3, alpha = 1/K",
    statement=r"$\alpha$-InfoNCE at $\alpha=\frac1K$ is InfoNCE",
    page=PAGE,
    recorded="holds",
    twin={"shift": 1},
    twin_says="alpha = 1/(K+1)",
)
def recovers(shift: int = 0) -> list[Part]:
    """The weights are then equal."""
    r, *pair = symbols()
    laws = {2: pair, 3: _RATIONAL_PAIR}
    same = [
        finite.alpha_infonce(r, *q, k, sp.Rational(1, k + shift), "nats")
        - finite.infonce(r, *q, k, "nats")
        for k, q in laws.items()
    ]
    alpha = sp.Rational(1, 5)

    def ratio(x: tuple) -> sp.Expr:
        rest = sum(r[i] for i in x[1:]) / (len(x) - 1)
        return sp.log(r[x[0]] / (alpha * r[x[0]] + (1 - alpha) * rest))

    definition = [
        finite.alpha_infonce(r, *q, k, alpha, "nats") - by_definition.mean(*q, k, ratio)
        for k, q in laws.items()
    ]
    return [
        identity("symbolic critic, K = 2 (symbolic pair) and 3", *same),
        identity("enumeration equals the definition (alpha = 1/5, K = 2, 3)", *definition),
    ]


@claim(
    "alpha-above-kl",
    item="Section 3.3, not a lower bound below 1/K",
    statement=r"for every $\alpha<\frac1K$ there are laws and a critic with "
    r"$\mathcal{D}_{\alpha\text{-InfoNCE}}(\theta) > \KL{\qone}{\qzero}$",
    page=PAGE,
    recorded="holds with correction",
    twin={"reach": lambda k: fails_below(k)},
    twin_says="for alpha < alpha_0(K) only",
)
def above_kl(reach: Callable[[int], float] = lambda k: 1 / k) -> list[Part]:
    """True for alpha below about 1/(2K); false near 1/K."""
    half, eighth = sp.Rational(1, 2), sp.Rational(1, 8)
    exact = finite.alpha_infonce((eighth, 1), (0, 1), (half, half), 2, eighth)
    found = []
    for k in SIZES:
        for f in (0.3, 0.6, 0.98):
            margin, _ = event_excess(f * reach(k), k)
            if margin < 1e-6:
                margin = max(margin, searched_excess(f * reach(k), k, 2, 2, k))
            found.append((margin, f"K={k}, {f} of the range"))
    below = [
        (event_excess(f * fails_below(k), k)[0], f"K={k}, {f} alpha_0")
        for k in (*SIZES, 16, 64)
        for f in (0.3, 0.6, 0.9)
    ]
    q1, q0, k_large = np.array([0.25, 0.75]), np.array([0.5, 0.5]), 4096
    at_ratio = {
        f: finite.alpha_infonce(q1 / q0, q1, q0, k_large, f / k_large, "nats")
        for f in (0.0, 0.4, 0.6, 1.0)
    }
    gone, alpha = sp.symbols("gone alpha", positive=True)
    slopes, roots = [], []
    for k in (2, 3, 4):
        g = 1 - gone
        excess = sp.log(g) - sum(
            sp.binomial(k - 1, n)
            * g**n
            * gone ** (k - 1 - n)
            * sp.log(alpha + (1 - alpha) * sp.Rational(n, k - 1))
            for n in range(k)
        )
        slope = sp.diff(excess, gone).subs(gone, 0)
        closed = -1 - (k - 1) * sp.log(1 - (1 - alpha) / (k - 1))
        slopes.append(slope - closed)
        threshold = 1 - (k - 1) * (1 - sp.exp(-sp.Rational(1, k - 1)))
        roots.append(float(closed.subs(alpha, threshold)))
    return [
        extreme(
            "a violation is found at 0.3, 0.6 and 0.98 of that range",
            "strict",
            found,
            1e-6,
        ),
        extreme("exceeded for alpha < alpha_0(K)", "strict", below, 1e-6, role="correction"),
        Part(
            "K = 2, alpha = 1/8, r = (1/8, 1): V - D = log2(64/60)/2",
            "strict",
            float(exact - 1),
            0.0,
            1,
            role="support",
        ),
        identity(
            "slope of V - D at an event of probability 1 (K = 2, 3, 4)", *slopes, role="support"
        ),
        extreme("it vanishes at alpha_0(K)", "equal", [(r, "") for r in roots], role="support"),
        extreme(
            "at r = q1/q0, K = 4096: K (V - D) = (1/2 - alpha K) chi2 nats",
            "equal",
            [
                (
                    k_large * (value - finite.kl(q1, q0, "nats"))
                    - (0.5 - f) * finite.chi_square(q1, q0),
                    f"alpha K={f}",
                )
                for f, value in at_ratio.items()
            ],
            1e-2,
            role="support",
        ),
    ]


@claim(
    "alpha-at-least",
    item="alpha-InfoNCE from 1/K upwards (ours)",
    statement=r"for $\frac1K\le\alpha\le1$: $\mathcal{D}_{\alpha\text{-InfoNCE}}(\theta)$ "
    r"$\le \tfrac{(1-\alpha)K}{K-1}\,\InfoNCE(\theta)$ $\le \KL{\qone}{\qzero}$",
    page=PAGE,
    recorded="holds",
    twin={"power": 2},
    twin_says="the factor squared",
)
def at_least(power: int = 1) -> list[Part]:
    """The denominator is a mixture of r(x_1) and InfoNCE's; the logarithm is concave."""
    own, rest, alpha = sp.symbols("r m alpha", positive=True)
    split = []
    for k in (2, 3, 7):
        w = (1 - alpha) * k / (k - 1)
        mean = own / k + (1 - sp.Rational(1, k)) * rest
        split.append(alpha * own + (1 - alpha) * rest - ((1 - w) * own + w * mean))
    cases, below = [], []
    for i, (r, q1, q0) in enumerate(near_ratio(21)):
        k = SIZES[i % len(SIZES)]
        for share in (0.0, 0.2, 0.6, 1.0):
            a = 1 / k + share * (1 - 1 / k)
            factor = ((1 - a) * k / (k - 1)) ** power
            value = finite.alpha_infonce(r, q1, q0, k, min(a, 1.0))
            cases.append((factor * finite.infonce(r, q1, q0, k) - value, f"K={k}"))
            below.append((finite.kl(q1, q0) - value, f"K={k}"))
    search = [
        (-searched_excess(f / k, k, 2, 2, k), f"K={k}, alpha={f}/K")
        for k in (2, 4)
        for f in (1.0, 1.3)
    ]
    return [
        identity("the denominator as a mixture (K = 2, 3, 7)", *split),
        extreme("value <= factor times InfoNCE, random pairs and critics", "bound", cases),
        extreme("value <= D", "bound", below),
        extreme("an optimiser finds no excess over D", "bound", search, 1e-9),
    ]


def _by_places(r: tuple, q1: tuple, q0: tuple, k: int, alpha: sp.Expr) -> sp.Expr:
    """alpha-InfoNCE averaged over the place z of the positive, with p_z = r(x_z)/sum of r."""
    total = 0
    for x in product(range(len(q0)), repeat=k):
        norm = sum(r[i] for i in x)
        for z in range(k):
            density = sp.prod((q1 if i == z else q0)[x[i]] for i in range(k))
            p = r[x[z]] / norm
            s = p * (k - 1) / (1 - alpha - (1 - alpha * k) * p)
            total += density * sp.log(s) / k
    return total


@claim(
    "alpha-below",
    item="alpha-InfoNCE just below 1/K (ours)",
    statement=r"with $c = (K-1)\ln\tfrac{K}{K-1} < 1$: for $\tfrac{1+c}{2K-1+c} \le \alpha \le "
    r"\tfrac1K$, $\;\mathcal{D}_{\alpha\text{-InfoNCE}}(\theta) \le \JSD/c \le "
    r"\KL{\qone}{\qzero}$",
    page=PAGE,
    recorded="holds",
    twin={"share": 0.7},
    twin_says="from 0.7 times that on",
)
def just_below(share: float = 1.0) -> list[Part]:
    """Symmetrise over the places, then Gibbs; what is left is a concave function of p."""
    r, *pair = symbols()
    places = [
        finite.alpha_infonce(r, *q, k, sp.Rational(1, 5), "nats")
        - _by_places(r, *q, k, sp.Rational(1, 5))
        for k, q in {2: pair, 3: _RATIONAL_PAIR}.items()
    ]
    p, top, delta, c, k_, alpha = sp.symbols("p A delta c K alpha", positive=True)
    f = p / (top - delta * p)
    curve = sp.diff(f**c, p, 2) / f**c
    bend = curve - c * top * (2 * delta * p - top * (1 - c)) / (p * (top - delta * p)) ** 2
    edge = (2 * (1 - alpha * k_) - (1 - alpha) * (1 - c)).subs(alpha, (1 + c) / (2 * k_ - 1 + c))
    sizes = (2, 3, 4, 8, 16)
    start = {k: share * proved_from(k) for k in sizes}
    rng = np.random.default_rng(22)
    simplex = [
        (float(simplex_slack(rng.dirichlet(np.full(k, w), 2000), k, a).min()), f"K={k}")
        for k in sizes
        for a in (start[k], share * checked_from(k))
        for w in (0.1, 1.0)
    ]
    cases = []
    for i, (v, q1, q0) in enumerate(near_ratio(23, 20)):
        k = SIZES[i % len(SIZES)]
        best = finite.k_way_jsd(q1, q0, k) / slope_at_zero(k)
        cases.append((best - finite.alpha_infonce(v, q1, q0, k, start[k]), f"K={k}"))
    search = [(-searched_excess(start[k], k, 3, 2, k), f"K={k}") for k in (2, 3)]
    return [
        identity("value = mean over the places of the positive (K = 2, 3)", *places),
        identity("curvature of (p/(A - delta p))^c: negative for p < A (1-c)/(2 delta)", bend),
        identity("which is 1 at alpha = (1+c)/(2K-1+c)", edge),
        extreme(
            "that is below 1/K: K (1 - K alpha)",
            "strict",
            [(k * (1 - k * proved_from(k)), f"K={k}") for k in (*sizes, 1024)],
            1e-3,
        ),
        extreme("mean of s(p_z)^c <= 1, random p; also at checked_from(K)", "bound", simplex),
        extreme("value <= JSD/c, random pairs and critics", "bound", cases),
        extreme("an optimiser finds no excess over D", "bound", search, 1e-9),
    ]


@claim(
    "alpha-pretends",
    item="What alpha-InfoNCE pretends (ours)",
    statement=r"at fixed $\alpha$, $\alpha$-InfoNCE falls with $K$: for $K\le\tfrac1\alpha$ it "
    r"lies between InfoNCE on $\tfrac1\alpha$ points and $\log\tfrac1\alpha$; as $\alpha\to0$ no "
    r"function of $D$ bounds it",
    page=PAGE,
    recorded="holds",
    twin={"step": -1},
    twin_says="it rises with K",
)
def pretends(step: int = 1) -> list[Part]:
    """Repeated negatives stand in for fresh ones; averaging more of them lowers the value."""
    falls, low, high = [], [], []
    for r, q1, q0 in near_ratio(29, 25):
        for a in (1 / 8, 0.5):
            values = [finite.alpha_infonce(r, q1, q0, k, a) for k in (2, 3, 4, 8)]
            falls.append((-step * np.diff(values).max(), f"alpha={a}"))
            high.append((-math.log2(a) - max(values), f"alpha={a}"))
        low.append((finite.alpha_infonce(r, q1, q0, 4, 1 / 8) - finite.infonce(r, q1, q0, 8), ""))
    half, n = sp.Rational(1, 2), 10
    tiny = finite.alpha_infonce((0, 1), (0, 1), (half, half), 2, sp.Rational(1, 2**n))
    q1, q0 = np.array([0.25, 0.75]), np.array([0.5, 0.5])
    r, a = np.array([0.5, 2.0]), 0.2
    aim = q1 @ np.log2(r / (a * r + (1 - a) * (q0 @ r)))
    return [
        extreme("it falls as K goes 2, 3, 4, 8", "bound", falls),
        extreme("K = 4, alpha = 1/8 is at least InfoNCE on 8 points", "bound", low),
        extreme("it is at most log2(1/alpha)", "bound", high),
        identity("D = 1, K = 2, alpha = 2^-10: value 5", tiny - sp.Rational(n, 2)),
        Part(
            "limit in K: E log r/(alpha r + (1-alpha) E r), at K = 2048",
            "equal",
            finite.alpha_infonce(r, q1, q0, 2048, a) - aim,
            1e-3,
            1,
        ),
        extreme(
            "K = 2, D = 1: the value passes any level as alpha -> 0",
            "strict",
            [
                (finite.alpha_infonce((0.0, 1.0), *event_pair(1.0), 2, 2.0**-j) - j / 2.01, "")
                for j in (8, 64, 512)
            ],
            1e-6,
        ),
    ]
