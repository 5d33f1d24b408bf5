"""alpha-InfoNCE against the skew divergence, and what its best critic is."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import sympy as sp
from scipy.optimize import minimize

from mi_lib import finite
from mi_lib.alphabet import Alphabet

from .. import by_definition
from ..adversary import random_pairs
from .registry import Part, claim, extreme, identity
from .variants import PAGE, SIZES, near_ratio, symbols

ALPHAS = (0.05, 0.2, 0.5, 0.8)


def mixture(q1: np.ndarray, q0: np.ndarray, alpha: float) -> np.ndarray:
    """alpha q1 + (1 - alpha) q0."""
    return alpha * np.asarray(q1) + (1 - alpha) * np.asarray(q0)


def maximiser(value: Callable[[np.ndarray], float], letters: int) -> np.ndarray:
    """The critic that maximises a value that is concave in log r; its last entry is 1."""
    best = minimize(lambda v: -value(np.exp(np.append(v, 0.0))), np.zeros(letters - 1), tol=1e-9)
    return np.exp(np.append(best.x, 0.0))


def contrast_table(
    q1: np.ndarray, q0: np.ndarray, sizes: Sequence[int], shares: Sequence[float]
) -> pd.DataFrame:
    """r(2)/r(1) of the critic that maximises alpha-InfoNCE on two letters, alpha = share/K."""

    def contrast(k: int, alpha: float) -> float:
        return 1 / maximiser(lambda r: finite.alpha_infonce(r, q1, q0, k, alpha, "nats"), 2)[0]

    columns = {f"K = {k}": [contrast(k, f / k) for f in shares] for k in sizes}
    return pd.DataFrame(columns, index=shares)


def pull(q1: np.ndarray, q0: np.ndarray, k: int, alpha: float) -> np.ndarray:
    """Derivative of alpha-InfoNCE (nats) in log r at r = q1/q0, letter by letter."""
    letters = Alphabet(q1, q0, None)
    counts, weights = letters.draws(letters.q0, k - 1)
    r, slopes = letters.r, []
    for own in r:
        total = own + counts @ r

        def shared(value: np.ndarray, total: np.ndarray = total) -> np.ndarray:
            return ((1 - alpha) * total - (1 - alpha * k) * value) / (k - 1)

        pulls = sum(
            counts[:, j] * r[j] * (own - r[j]) / (shared(own) * shared(r[j]))
            for j in range(r.size)
            if r[j] > 0
        )
        slopes.append((weights * pulls).sum())
    return letters.q1 * np.array(slopes) * (1 - alpha) * (1 - alpha * k) / (k - 1) ** 2


@claim(
    "alpha-skew",
    item="Section 3.3, Lee and Shin's bound (cited)",
    statement=r"$\mathcal{D}_{\alpha\text{-InfoNCE}}(\theta)$ "
    r"$\le \KL{\qone}{\alpha\qone+(1-\alpha)\qzero}$",
    page=PAGE,
    recorded="refuted",
    twin={"bound": lambda q1, q0, alpha: -math.log2(alpha)},
    twin_says="log(1/alpha) instead",
)
def skew_bound(
    bound: Callable = lambda q1, q0, alpha: finite.kl(q1, mixture(q1, q0, alpha)),
) -> list[Part]:
    """It fails for every pair of different laws, every K and every alpha < 1."""
    grid = [(k, a) for k in SIZES for a in (*ALPHAS, 1 / k)]
    pairs = list(random_pairs(25, 3, 24))
    cases, always = [], []
    for q1, q0 in pairs:
        for k, a in grid:
            note = f"K={k}, alpha={a:.2f}"
            value = finite.alpha_infonce(q1 / mixture(q1, q0, a), q1, q0, k, a)
            cases.append((bound(q1, q0, a) - value, note))
            always.append((value / finite.kl(q1, mixture(q1, q0, a)) - 1, note))
    half = sp.Rational(1, 2)
    exact = finite.infonce((0, 1), (0, 1), (half, half), 2)
    skew = finite.kl((0, 1), (half * half, 3 * half * half))
    return [
        extreme("value at r = q1/mixture stays below", "bound", cases),
        extreme(
            "relative excess there, every pair, K and alpha", "strict", always, 1e-6, role="support"
        ),
        identity(
            "K = 2, alpha = 1/2, fair coin against heads: V = 1/2", exact - half, role="support"
        ),
        Part(
            "and the skew divergence is 2 - log2(3) < 1/2",
            "strict",
            float(exact - skew),
            0.0,
            1,
            role="support",
        ),
    ]


@claim(
    "alpha-dv",
    item="Section 3.3, the inequality that is left",
    statement=r"$\mathcal{D}_{\alpha\text{-InfoNCE}}(\theta)$ "
    r"$\ge \mathcal{D}_{\text{DV}}(\theta; \qone, \alpha\qone+(1-\alpha)\qzero)$",
    page=PAGE,
    recorded="holds",
    twin={"mix": lambda q1, q0, alpha: q0},
    twin_says="q0 in place of the mixture",
)
def dv_below(mix: Callable = mixture) -> list[Part]:
    """Jensen's inequality for the denominator, whose mean is that of r under the mixture."""
    r, q1, q0 = symbols()
    alpha = sp.Symbol("alpha", positive=True)
    mean = [
        by_definition.mean(
            q1,
            q0,
            k,
            lambda x: alpha * r[x[0]] + (1 - alpha) * sum(r[i] for i in x[1:]) / (len(x) - 1),
        )
        - sum((alpha * p + (1 - alpha) * q) * v for p, q, v in zip(q1, q0, r, strict=True))
        for k in (2, 3)
    ]
    cases = [
        (
            finite.alpha_infonce(v, p1, p0, SIZES[i % 4], a) - finite.dv(v, p1, mix(p1, p0, a)),
            f"K={SIZES[i % 4]}, alpha={a}",
        )
        for i, (v, p1, p0) in enumerate(near_ratio(25))
        for a in (0.0, *ALPHAS)
    ]
    return [
        identity("mean of the denominator = E_mixture[r] (K = 2, 3; symbolic)", *mean),
        extreme("value >= DV, random pairs and critics", "bound", cases),
    ]


@claim(
    "alpha-equality",
    item="Section 3.3, equality in that inequality (ours)",
    statement=r"for $0\le\alpha<1$, $\alpha$-InfoNCE equals DV against the mixture if and only if "
    r"$r_\theta$ is constant $\qzero$-almost surely; then both are 0",
    page=PAGE,
    recorded="holds",
    twin={"critic": lambda q1, q0, alpha: q1 / mixture(q1, q0, alpha)},
    twin_says="equality at the DV optimum q1/mixture",
)
def equality(critic: Callable = lambda q1, q0, alpha: np.full(q1.size, 3.0)) -> list[Part]:
    """A sum of independent terms is constant only if each is."""
    pairs = list(random_pairs(20, 3, 26))

    def gap(r: np.ndarray, q1: np.ndarray, q0: np.ndarray, k: int, a: float) -> float:
        return finite.alpha_infonce(r, q1, q0, k, a) - finite.dv(r, q1, mixture(q1, q0, a))

    grid = [(q1, q0, k, a) for q1, q0 in pairs for k in (2, 4) for a in ALPHAS]
    attained = [(gap(critic(q1, q0, a), q1, q0, k, a), f"alpha={a}") for q1, q0, k, a in grid]
    zero = [(finite.alpha_infonce(critic(q1, q0, a), q1, q0, k, a), "") for q1, q0, k, a in grid]
    q1, q0 = np.array([0.3, 0.7]), np.array([0.5, 0.5])
    near = [
        (1e6 * gap(np.array([1.05, 1.0]), q1, q0, k, a), f"K={k}, alpha={a}")
        for k in SIZES
        for a in ALPHAS
    ]
    return [
        extreme("equality at constant critics", "equal", attained),
        extreme("and the value there is 0", "equal", zero),
        extreme("strict when one entry is 5 % off (in 1e-6 bits)", "strict", near, 1e-2),
    ]


@claim(
    "alpha-classification",
    item="Section 3.3, not a classification loss",
    statement=r"for $\alpha\ne\frac1K$ the density ratio does not maximise $\alpha$-InfoNCE, nor "
    r"does any fixed function of the ratio",
    page=PAGE,
    recorded="holds",
    twin={"share": (1.0,)},
    twin_says="alpha = 1/K",
)
def classification(share: tuple[float, ...] = (0.3, 0.7, 1.5)) -> list[Part]:
    """At q1/q0 the gradient pushes the largest ratio up for alpha < 1/K, down for alpha > 1/K."""
    (u, v), q1, q0 = symbols()
    alpha, formula = sp.Rational(1, 5), []
    beta = 1 - alpha
    ratio = (q1[0] / q0[0], q1[1] / q0[1])
    value = finite.alpha_infonce((u, v), q1, q0, 2, alpha, "nats")
    slope = (u * sp.diff(value, u)).subs({u: ratio[0], v: ratio[1]}, simultaneous=True)
    x, y = ratio
    formula.append(
        slope
        - q1[0]
        * beta
        * (beta - alpha)
        * q0[1]
        * y
        * (x - y)
        / ((alpha * x + beta * y) * (alpha * y + beta * x))
    )
    numeric, pushed = [], []
    for i, (p1, p0) in enumerate(random_pairs(12, 3, 27)):
        k = (2, 3, 5)[i % 3]
        for f in share:
            a, r, h = f / k, p1 / p0, 1e-5
            up, down = (r * np.exp(np.eye(3)[r.argmax()] * e) for e in (h, -h))
            rise = finite.alpha_infonce(up, p1, p0, k, a, "nats")
            rise -= finite.alpha_infonce(down, p1, p0, k, a, "nats")
            slopes = pull(p1, p0, k, a)
            numeric.append((rise / (2 * h) - slopes[r.argmax()], f"K={k}"))
            pushed.append((np.sign(1 - f) * slopes[r.argmax()] * 1e3, f"K={k}, alpha={f}/K"))
    at_uniform = [
        (float(abs(pull(p1, p0, k, 1 / k)).max()), f"K={k}")
        for k in (2, 3, 5)
        for p1, p0 in random_pairs(5, 3, 28)
    ]
    learnt = {}
    for c in (0.1, 0.3):  # ratios (1/2, 1, 2) under two different q0
        p0 = np.array([2 * c, 1 - 3 * c, c])
        p1 = p0 * [0.5, 1.0, 2.0]
        learnt[c] = [
            math.log(
                1
                / maximiser(
                    lambda r, a=f / 4, p=(p1, p0): finite.alpha_infonce(r, *p, 4, a, "nats"), 3
                )[0]
            )
            for f in share
        ]
    differ = [
        (abs(one - two), f"alpha={f}/K")
        for one, two, f in zip(*learnt.values(), share, strict=True)
    ]
    return [
        identity("the gradient at q1/q0 in closed form (K = 2, alpha = 1/5, symbolic)", *formula),
        extreme("and for K = 2, 3, 5, against difference quotients", "equal", numeric, 1e-6),
        extreme("it vanishes at alpha = 1/K", "equal", at_uniform, role="support"),
        extreme("it moves the largest ratio (in 1e-3 nats)", "strict", pushed, 1e-6),
        extreme("same ratios, other q0: the maximiser's log range differs", "strict", differ, 1e-3),
    ]
