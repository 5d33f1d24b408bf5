"""The paper's Theorem 7: what is left of InfoNCE-anchor when K grows. Everything is in nats."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import sympy as sp
from scipy.optimize import minimize

from mi_lib import finite
from mi_lib.alphabet import Alphabet

from .. import by_definition
from ..adversary import random_pairs, try_to_break
from .registry import Part, claim, extreme, identity

PAGE = "theory/large_k"
BETAS = (0.0, 0.25, 1.0, 4.0)


def value(r: np.ndarray, q1: np.ndarray, q0: np.ndarray, k: int, nu: float) -> float:
    """-L_{K;nu} + K log K/(K + nu), from the counts of letters (fast enough for large K).

    >>> r, q1, q0 = (1.0, 3.0), (0.25, 0.75), (0.5, 0.5)
    >>> direct = -finite.anchored_risk(r, q1, q0, 8, 2.0) + 8 * math.log(8) / 10
    >>> abs(value(r, q1, q0, 8, 2.0) - direct) < 1e-12
    True
    """
    letters, b = Alphabet(q1, q0, r), nu / k
    counts, weights = letters.draws(letters.q0, k - 1)
    total = letters.mean_log_r()
    for i in letters.support:
        logs = np.log(b + (letters.r[i] + counts @ letters.r) / k)
        total -= letters.q1[i] * (weights * logs).sum()
    if nu > 0:
        counts, weights = letters.draws(letters.q0, k)
        total += b * (math.log(b) - (weights * np.log(b + counts @ letters.r / k)).sum())
    return float(total / (1 + b))


def limit(r: np.ndarray, q1: np.ndarray, q0: np.ndarray, beta: float) -> float:
    """The right-hand side of Theorem 7."""
    letters = Alphabet(q1, q0, r)
    m = letters.mean(letters.r, letters.q0)
    anchor = beta * math.log(beta) if beta > 0 else 0.0
    return float((anchor + letters.mean_log_r()) / (1 + beta) - np.log(beta + m))


def first_order(r: np.ndarray, q1: np.ndarray, q0: np.ndarray, beta: float) -> float:
    """lim K (value - limit) for nu = beta K: the coefficient of 1/K."""
    r, q1, q0 = (np.asarray(v, dtype=float) for v in (r, q1, q0))
    m, m1 = q0 @ r, q1 @ r
    variance = q0 @ (r - m) ** 2
    return float(variance / (2 * (beta + m) ** 2) - (m1 - m) / ((1 + beta) * (beta + m)))


def _cases() -> list[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Four critics of one pair on two letters: true, tempered, scaled, upside down."""
    q1, q0 = np.array([0.1, 0.9]), np.array([0.6, 0.4])
    t = q1 / q0
    critics = {"true ratio": t, "its root": np.sqrt(t), "3 times it": 3 * t, "its inverse": 1 / t}
    return [(name, r, q1, q0) for name, r in critics.items()]


def convergence_table(sizes: Sequence[int]) -> pd.DataFrame:
    """Distance of `value` at the true ratio from its limit, in bits, for four ways to grow nu."""
    _, r, q1, q0 = _cases()[0]
    schedules: dict[str, tuple[float, Callable[[int], float]]] = {
        "nu = 0": (0.0, lambda k: 0.0),
        "nu = 1": (0.0, lambda k: 1.0),
        "nu = sqrt(K)": (0.0, math.sqrt),
        "nu = K": (1.0, float),
    }
    rows = [
        (k, name, abs(value(r, q1, q0, k, nu(k)) - limit(r, q1, q0, beta)) / math.log(2))
        for name, (beta, nu) in schedules.items()
        for k in sizes
    ]
    return pd.DataFrame(rows, columns=["k", "schedule", "distance"])


def random_critics(seed: int, count: int = 40) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Random pairs on 2, 3 and 4 letters, each with a random critic of random scale."""
    rng = np.random.default_rng(seed)
    return [
        (q1 / q0 * np.exp(rng.normal(size=q1.size) + rng.normal()), q1, q0)
        for letters in (2, 3, 4)
        for q1, q0 in random_pairs(count, letters, seed + letters)
    ]


def search_critics(
    margin: Callable[[np.ndarray, np.ndarray, np.ndarray], float], seed: int
) -> list:
    """The smallest margin(r, q1, q0) that an optimiser over critics finds, from ten starts."""
    rng, found = np.random.default_rng(seed), []
    for q1, q0 in random_pairs(10, 3, seed):
        best = minimize(
            lambda v, p=(q1, q0): margin(np.exp(v), *p), rng.normal(size=3), bounds=[(-8, 8)] * 3
        )
        found.append((float(best.fun), ""))
    return found


def symbols() -> tuple[tuple, tuple, tuple]:
    """A critic, q1 and q0 on two letters."""
    a, b, u, v = sp.symbols("a b u v", positive=True)
    return (u, v), (a, 1 - a), (b, 1 - b)


@claim(
    "thm-7-limit",
    item="Theorem 7, the limit",
    label="thm:generalized_dv",
    statement=r"$-\Loss_{K;\nu}(\theta) + \tfrac{K\log K}{K+\nu}$ tends to "
    r"$\tfrac{\beta}{\beta+1}\log\beta$ $+\,\tfrac{1}{\beta+1}\E_{\qone}[\log r_\theta]$ "
    r"$-\,\log(\beta + \E_{\qzero}[r_\theta])$ as $K\to\infty$, $\nu/K\to\beta$",
    page=PAGE,
    recorded="holds",
    twin={"shift": 1.0},
    twin_says="log(beta + 1 + E r) instead",
)
def theorem_7_limit(shift: float = 0.0) -> list[Part]:
    """An exact identity at each K, and the law of large numbers for the mean of r."""
    (u, v), q1, q0 = symbols()
    r, residuals = (u, v), []
    for k, nu in ((2, sp.Integer(1)), (2, sp.Integer(0)), (3, sp.Integer(1))):
        b = nu / k

        def log_mean(x: tuple, b: sp.Expr = b, k: int = k) -> sp.Expr:
            return sp.log(b + sum(r[i] for i in x) / k)

        split = q1[0] * sp.log(u) + q1[1] * sp.log(v) - by_definition.mean(q1, q0, k, log_mean)
        if nu != 0:
            split += b * (sp.log(b) - by_definition.mean(q0, q0, k, log_mean))
        exact = -finite.anchored_risk(r, q1, q0, k, nu) + k * sp.log(k) / (k + nu)
        residuals.append(exact - split / (1 + b))

    def error(name: str, r: np.ndarray, q1: np.ndarray, q0: np.ndarray, k: int, beta: float):
        aim = limit(r, q1, q0, beta) + math.log(beta + q0 @ r) - math.log(beta + shift + q0 @ r)
        return value(r, q1, q0, k, beta * k) - aim, f"{name}, beta={beta:g}"

    grid = [(case, beta) for case in _cases() for beta in BETAS]
    slow = {"nu = 1": 1.0, "nu = sqrt K": 64.0}
    along = [
        (value(r, q1, q0, 4096, nu) - limit(r, q1, q0, nu / 4096), f"{name}, {how}")
        for name, r, q1, q0 in _cases()
        for how, nu in slow.items()
    ]
    b = sp.Symbol("b", positive=True)
    return [
        identity("-L + K log K/(K+nu) in terms of log(nu/K + mean r) (K = 2, 3)", *residuals),
        extreme(
            "anchored_risk at K = 64 has the same form",
            "equal",
            [
                (
                    value(r, q1, q0, 64, beta * 64)
                    + finite.anchored_risk(r, q1, q0, 64, beta * 64)
                    - math.log(64) / (1 + beta),
                    name,
                )
                for (name, r, q1, q0), beta in grid
            ],
        ),
        extreme(
            "distance from the limit at K = 4096, nu = beta K",
            "equal",
            [error(*case, 4096, beta) for case, beta in grid],
            1e-3,
        ),
        extreme("nu = 1 and nu = sqrt K: from the limit at beta = nu/K", "equal", along, 1e-3),
        identity("which tends to that at beta = 0: b log b -> 0", sp.limit(b * sp.log(b), b, 0)),
    ]


@claim(
    "thm-7-rate",
    item="Theorem 7, the rate (ours)",
    statement=r"for $\nu=\beta K$ the distance from the limit is $\tfrac1K\bigl["
    r"\tfrac{\operatorname{Var}_{\qzero}(r)}{2(\beta+m)^2} - "
    r"\tfrac{\E_{\qone}[r]-m}{(1+\beta)(\beta+m)}\bigr] + o(1/K)$, $m = \E_{\qzero}[r]$; at the "
    r"true ratio $-\chi^2/(2K(1+\beta)^2)$",
    page=PAGE,
    recorded="holds",
    twin={"half": 1.0},
    twin_says="without the factor 1/2",
)
def theorem_7_rate(half: float = 0.5) -> list[Part]:
    """The delta method for E log(beta + mean r)."""

    def left(k: int, r: np.ndarray, q1: np.ndarray, q0: np.ndarray, beta: float) -> float:
        m = q0 @ r
        coefficient = first_order(r, q1, q0, beta)
        coefficient += (half - 0.5) * (q0 @ (r - m) ** 2) / (beta + m) ** 2
        return k * (value(r, q1, q0, k, beta * k) - limit(r, q1, q0, beta)) - coefficient

    cases = [
        (left(4096, r, q1, q0, beta), f"{name}, beta={beta:g}")
        for name, r, q1, q0 in _cases()
        for beta in BETAS
    ]
    truth = [
        (
            first_order(q1 / q0, q1, q0, beta) + finite.chi_square(q1, q0) / (2 * (1 + beta) ** 2),
            f"beta={beta:g}",
        )
        for q1, q0 in random_pairs(20, 3, 3)
        for beta in BETAS
    ]
    return [
        extreme("K (value - limit) - coefficient at K = 4096", "equal", cases, 5e-3),
        extreme("at the true ratio: -chi2/(2 (1+beta)^2)", "equal", truth),
    ]


@claim(
    "thm-7-inequality",
    item="Theorem 7, the inequality and its equality cases",
    label="thm:generalized_dv",
    statement=r"the limit is at most $\tfrac{\beta}{\beta+1}\log\beta + \tfrac{1}{\beta+1}D - "
    r"\log(\beta+1)$; equality if and only if $r_\theta = \qone/\qzero$ ($\beta>0$), "
    r"$r_\theta = C\,\qone/\qzero$ ($\beta=0$)",
    page=PAGE,
    recorded="holds",
    twin={"scale": 1.1},
    twin_says="equality at 1.1 q1/q0 for beta > 0",
)
def theorem_7_inequality(scale: float = 1.0) -> list[Part]:
    """Both sides at once: random critics, an optimiser, the equality cases, near misses."""

    def margin(r: np.ndarray, q1: np.ndarray, q0: np.ndarray, beta: float) -> float:
        best = finite.kl(q1, q0, "nats") / (1 + beta) - math.log(1 + beta)
        return best + (beta * math.log(beta) if beta else 0.0) / (1 + beta) - limit(r, q1, q0, beta)

    cases = [
        (margin(*case, beta), f"beta={beta:g}") for case in random_critics(11) for beta in BETAS
    ]
    search = [
        found
        for beta in (0.0, 1.0)
        for found in search_critics(lambda r, q1, q0, b=beta: margin(r, q1, q0, b), 12)
    ]
    pairs = list(random_pairs(20, 3, 13))
    exact = [
        (margin(scale * q1 / q0, q1, q0, b), f"beta={b:g}") for q1, q0 in pairs for b in BETAS[1:]
    ]
    constant = [
        (margin(c * q1 / q0, q1, q0, 0.0), f"C={c}") for q1, q0 in pairs for c in (0.1, 1.0, 7.0)
    ]
    q1, q0 = np.array([0.1, 0.9]), np.array([0.6, 0.4])
    scaled = [(1e4 * margin(1.05 * q1 / q0, q1, q0, b), f"beta={b:g}") for b in BETAS[1:]]
    bent = [(1e4 * margin(q1 / q0 * [1.05, 1.0], q1, q0, b), f"beta={b:g}") for b in BETAS]
    return [
        extreme("limit <= right-hand side, random pairs and critics", "bound", cases),
        extreme("an optimiser over critics finds no violation", "bound", search),
        extreme("beta > 0: equality at r = q1/q0", "equal", exact),
        extreme("beta = 0: equality at r = C q1/q0, C = 0.1, 1, 7", "equal", constant),
        extreme("beta > 0: strict at r = 1.05 q1/q0 (in 1e-4 nats)", "strict", scaled, 1e-2),
        extreme("strict when one ratio is 5 % off (in 1e-4 nats)", "strict", bent, 1e-2),
    ]


@claim(
    "finite-k-bound",
    item="Equation (5) before the limit (ours)",
    statement=r"at every finite $K$, $(1+\tfrac{\nu}{K})\bigl(-\Loss_{K;\nu}(\theta)$ $+\,"
    r"\log(K+\nu) - \tfrac{\nu}{K+\nu}\log\nu\bigr)$ $\le \KL{\qone}{\qzero}$",
    page=PAGE,
    recorded="holds",
    twin={"power": 2},
    twin_says="the factor 1 + nu/K squared",
)
def finite_k_bound(power: int = 1) -> list[Part]:
    """-L + H(Z) is at most the information I(Z; X), and that is at most D K/(K + nu)."""

    def lower(r: np.ndarray, q1: np.ndarray, q0: np.ndarray, k: int, nu: float) -> float:
        entropy = math.log(k + nu) - (nu * math.log(nu) if nu else 0.0) / (k + nu)
        return (1 + nu / k) ** power * (entropy - finite.anchored_risk(r, q1, q0, k, nu))

    grid = [(1, 1.0), (2, 0.0), (2, 3.0), (4, 4.0), (8, 1.0), (8, 40.0)]
    pairs = list(random_pairs(30, 3, 16))
    cases, best = [], []
    rng = np.random.default_rng(16)
    for q1, q0 in pairs:
        divergence = finite.kl(q1, q0, "nats")
        for k, nu in grid:
            note = f"K={k}, nu={nu:g}"
            r = q1 / q0 * np.exp(rng.normal(size=3))
            cases.append((divergence - lower(r, q1, q0, k, nu), note))
            best.append((divergence - lower(q1 / q0, q1, q0, k, nu), note))
    q1, q0 = np.array([0.1, 0.9]), np.array([0.6, 0.4])
    tight = [
        (
            k * (finite.kl(q1, q0, "nats") - lower(q1 / q0, q1, q0, k, b * k))
            - finite.chi_square(q1, q0) / (2 * (1 + b)),
            f"beta={b:g}",
        )
        for k in (512,)
        for b in BETAS
    ]
    tried = [
        found
        for k, nu in ((2, 3.0), (8, 1.0))
        for found in try_to_break(
            lambda a, b, k=k, nu=nu: finite.kl(a, b, "nats") - lower(a / b, a, b, k, nu), 2, 2, k
        )
    ]
    same = [(lower(np.ones(2), q0, q0, k, nu), f"K={k}, nu={nu:g}") for k, nu in grid]
    return [
        extreme("value <= D, random pairs and critics", "bound", cases),
        extreme("an optimiser over pairs finds no violation", "bound", tried),
        extreme("equality when q1 = q0 and r = 1", "equal", same),
        extreme("also at the true ratio", "bound", best),
        extreme("there K (D - value) = chi2/(2 (1+beta)) at K = 512", "equal", tight, 0.02),
    ]


def circle(tau: float, places: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Critic exp(cos(angle)/tau) around one place of a circle, letters of equal angle merged.

    Positives are at the same place with probability 0.7, at each neighbour with 0.15.

    >>> r, q1, q0 = circle(0.5)
    >>> q0.tolist(), q1.tolist()
    ([0.25, 0.5, 0.25], [0.7, 0.3, 0.0])
    """
    angles = np.arange(places // 2 + 1) * 2 * np.pi / places
    copies = np.array([1, *[2] * (places // 2 - 1), 1])
    q1 = np.zeros(angles.size)
    q1[:2] = 0.7, 0.3
    return np.exp(np.cos(angles) / tau), q1, copies / places


@claim(
    "wang-isola",
    item="Section 3.2, Wang and Isola's limit",
    statement=r"for $\nu=0$ and $r = e^{f(x)^\top f(y)/\tau}$ with unit vectors $f$: "
    r"InfoNCE tends to $\tfrac1\tau\E[f(x)^\top f(y)]$ $-\,\E_y\log\E_x e^{f(x)^\top f(y)/\tau}$",
    page=PAGE,
    recorded="holds",
    twin={"factor": 2.0},
    twin_says="alignment counted twice",
)
def wang_isola(factor: float = 1.0) -> list[Part]:
    """Alignment and uniformity are the two terms of the DV bound; here on four places."""
    near, rates = [], []
    for tau in (0.5, 1.0, 2.0):
        r, q1, q0 = circle(tau)
        align, uniform = q1 @ np.log2(r), np.log2(q0 @ r)
        gaps = [finite.infonce(r, q1, q0, k) - (factor * align - uniform) for k in (64, 256)]
        near.append((gaps[1], f"tau={tau}"))
        rates.append((gaps[0] / gaps[1] - 4, f"tau={tau}"))
    return [
        extreme("distance from the limit at K = 256 (bits)", "equal", near, 0.02),
        extreme("K = 64 is four times further off", "equal", rates, 0.1),
    ]
