r"""Our theorem: the best ceiling in terms of D and K alone, with each step of its proof checked.

phi(t) = t log t throughout, and r is the ratio under q0, a law Q on [0, inf) with mean 1.
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from companion.printed_bound import printed_ceiling
from mi_lib import finite
from mi_lib.alphabet import compositions
from mi_lib.ceiling import infonce_ceiling

from ..adversary import binomial_pmf, event_pair, multinomial_pmf, try_to_break
from .infonce_ceiling import LEVELS, PAGE, SIZES, _enumerated
from .registry import Part, claim, extreme, identity


def _phi(t: np.ndarray) -> np.ndarray:
    return np.where(t > 0, t * np.log(np.maximum(t, 1e-300)), 0.0)


def tangent_gap(r: np.ndarray, divergence: float, k: int) -> np.ndarray:
    """Step 3 in numbers: k(r) - b r - c phi(r) >= 0, zero at r = 0 and r = M = 2^D (nats)."""
    m = 2.0**divergence
    n = np.arange(k)
    weights = binomial_pmf(n, k - 1, 1 / m)

    def eta_mean(log_r: np.ndarray) -> np.ndarray:
        y = n * m / np.exp(np.asarray(log_r))[..., None]
        return ((_phi(1 + y) - _phi(y)) * weights).sum(-1)

    slope = 1 - (weights[1:] * n[1:] * np.log1p(1 / n[1:])).sum()  # d/dlog r of k(r)/r at M
    at_m = eta_mean(np.log(m)) + np.log(m)
    with np.errstate(divide="ignore"):
        log_r = np.log(r)
    safe = np.where(r > 0, log_r, 0.0)
    gap = eta_mean(safe) + safe - at_m - slope * (safe - np.log(m))
    return np.where(r > 0, r * gap, 0.0)


@claim(
    "sharp-representation",
    item="Sharp ceiling, step 1: convexity (ours)",
    statement=r"$Q \mapsto \E_{Q^K}[T\log T]$, $T = \sum_i r_i$, is convex",
    page=PAGE,
    recorded="holds",
    twin={"sign": -1},
    twin_says="concave instead",
)
def step_1(sign: int = 1) -> list[Part]:
    """T log T is a mixture of exp(-tT), whose mean is the K-th power of an affine function of Q."""
    t, total = sp.symbols("t T", positive=True)
    integrand = (sp.exp(-t * total) - 1 + total * (1 - sp.exp(-t))) / t**2
    second = sp.integrate(sp.simplify(sp.diff(integrand, total, 2)), (t, 0, sp.oo))
    rng = np.random.default_rng(5)
    atoms = np.array([0.0, 0.3, 1.0, 2.5, 6.0])
    cases = []
    for k in (2, 3, 6):
        counts = compositions(k, atoms.size)
        values = _phi(counts @ atoms)

        def mean(law: np.ndarray, counts=counts, values=values) -> float:
            return float((multinomial_pmf(counts, law) * values).sum())

        for _ in range(60):
            one, two = rng.dirichlet(np.ones(atoms.size), 2)
            chord = (mean(one) + mean(two)) / 2
            cases.append((sign * (chord - mean((one + two) / 2)), f"K={k}"))
    return [
        identity(
            "T log T and the integral agree at T = 0, 1 and in second derivative",
            integrand.subs(total, 0),
            integrand.subs(total, 1),
            second - 1 / total,
            sp.diff(total * sp.log(total), total, 2) - 1 / total,
        ),
        extreme("midpoint convexity on random laws over five atoms", "bound", cases),
    ]


@claim(
    "sharp-linear",
    item="Sharp ceiling, step 2: linearisation (ours)",
    statement=r"The slope of $\tfrac1K\E_{Q^K}[\varphi(T)]$ at $Q^*$ towards an atom $r$ is "
    r"$\E_N[\varphi(r + NM)]$",
    page=PAGE,
    recorded="holds",
    twin={"draws": 0},
    twin_says="K draws in place of K - 1",
)
def step_2(draws: int = -1) -> list[Part]:
    """The derivative of a K-fold mean drops one draw; nothing about phi is used."""
    phi, r, m = sp.Function("phi"), *sp.symbols("r M", positive=True)
    atoms, laws = (sp.Integer(0), r, m), sp.symbols("p_0:3", positive=True)

    def mean(k: int, shift: sp.Expr) -> sp.Expr:
        return sum(
            sp.factorial(k)
            * sp.prod(p**c / sp.factorial(c) for p, c in zip(laws, counts, strict=True))
            * phi(sp.expand(shift + sum(c * a for c, a in zip(counts, atoms, strict=True))))
            for counts in compositions(k, 3).tolist()
        )

    residuals = [
        sp.expand(sp.diff(mean(k, 0), p) / k - mean(k + draws, atom))
        for k in (2, 3, 4)
        for p, atom in zip(laws, atoms, strict=True)
    ]
    left = sum(residual != 0 for residual in residuals)
    name = "d/dp_a (1/K) E phi(T) = E phi(a + T') for any phi (K = 2, 3, 4)"
    return [Part(name, "equal", float(left), 0.0, len(residuals))]


@claim(
    "sharp-tangent",
    item="Sharp ceiling, step 3: the tangent (ours)",
    statement=r"$k(r) \ge b\,r + c\,\varphi(r)$ for all $r \ge 0$, with equality at $0$ and $M$",
    page=PAGE,
    recorded="holds",
    twin={"sign": -1},
    twin_says="the reverse inequality",
)
def step_3(sign: int = 1) -> list[Part]:
    """k(r)/r is convex in log r, so it lies above its tangent at log M."""
    r, m, n, y, x = sp.symbols("r M n y x", positive=True)

    def phi(t: sp.Expr) -> sp.Expr:
        return t * sp.log(t)

    eta = phi(1 + y) - phi(y)
    split = (phi(r + n * m) - phi(n * m)) / r - eta.subs(y, n * m / r) - sp.log(r)
    curvature = y * sp.diff(y * sp.diff(eta, y), y)  # (y d/dy)^2 eta: in a = log y
    h = sp.log(1 + x) - x / (1 + x)  # the curvature is y h(1/y)
    cases, touch = [], []
    for k in SIZES:
        for d in LEVELS:
            grid = 2.0**d * np.geomspace(1e-4, 1e4, 400)
            gap = tangent_gap(grid, d, k)
            cases.append((sign * float((gap / np.maximum(grid, 1)).min()), f"K={k}, D={d}"))
            touch.append((float(tangent_gap(np.array([0.0, 2.0**d]), d, k).max()), f"K={k}"))
    return [
        identity("(phi(r+nM) - phi(nM))/r = eta(nM/r) + log r (symbolic)", split),
        identity("second derivative of eta(e^a) is y h(1/y)", curvature - y * h.subs(x, 1 / y)),
        identity("h(0) = 0 and h' = x/(1+x)^2 > 0", h.subs(x, 0), sp.diff(h, x) - x / (1 + x) ** 2),
        extreme("k(r) - b r - c phi(r) >= 0 on 400 points each", "bound", cases, 1e-9),
        extreme("equality at r = 0 and r = M", "equal", touch, 1e-9),
    ]


@claim(
    "sharp-ceiling",
    item="The sharp ceiling (ours)",
    statement=r"$\JSD(\qone,\qzero) \le \ceil(D) = \log K - \E\log(1+N)$, "
    r"$N\sim\Bin(K-1, 2^{-D})$, with equality if and only if $r\in\{0, 2^D\}$",
    page=PAGE,
    recorded="holds",
    twin={"ceiling": printed_ceiling},
    twin_says="the printed bound instead",
)
def sharp_ceiling(ceiling: Callable = infonce_ceiling) -> list[Part]:
    """No bound that depends on D and K alone can be better."""

    def margin(q1: np.ndarray, q0: np.ndarray, k: int) -> float:
        return float(ceiling(finite.kl(q1, q0), k)) - finite.k_way_jsd(q1, q0, k)

    cases = [(margin(*pair, k), f"K={k}") for pair, k in _enumerated(60)]
    search = [
        (found, f"K={k}, {letters} letters")
        for letters in (2, 3, 4)
        for k in (2, 4, 8)
        for found, _ in try_to_break(lambda q1, q0, k=k: margin(q1, q0, k), letters, 3, 7 * k)
    ]
    attained = [(margin(*event_pair(d), k), f"K={k}, D={d}") for k in (*SIZES, 64) for d in LEVELS]
    two_letters = [
        (margin(np.array([0.0, 0.4, 0.6]), np.array([0.5, 0.2, 0.3]), k), f"K={k}") for k in SIZES
    ]
    leaking = [(margin(np.array([0.02, 0.98]), np.array([0.75, 0.25]), k), f"K={k}") for k in SIZES]
    return [
        extreme("JSD <= ceiling, random pairs", "bound", cases),
        extreme("an optimiser finds no violation", "bound", search, 1e-9),
        extreme("equality when r is 0 or 2^D", "equal", attained, 1e-9),
        extreme("and on an event of two letters", "equal", two_letters),
        extreme("strict when 2 % of q1 leaves the event", "strict", leaking, 1e-3),
    ]


@claim(
    "ceiling-facts",
    item="What follows for mutual information (ours)",
    statement=r"$\ceil$ is increasing and concave, below $\min(D, \log K)$, and "
    r"$\E_y\bigl[\JSD(p(x \mid y), p(x))\bigr] \le \ceil(I(X;Y))$, sharp for every $I$",
    page=PAGE,
    recorded="holds",
    twin={"power": 2.0},
    twin_says="its square over log K",
)
def consequences(power: float = 1.0) -> list[Part]:
    """Concavity carries the ceiling from one divergence to a mean of divergences."""
    grid = np.linspace(0, 12, 481)

    def bound(d: np.ndarray | float, k: int) -> np.ndarray:
        return infonce_ceiling(d, k) ** power / np.log2(k) ** (power - 1)

    rising, bent, below, slope = [], [], [], []
    for k in (*SIZES, 64):
        values = bound(grid, k)
        rising.append((np.diff(values).min(), f"K={k}"))
        bent.append((-np.diff(values, 2).max(), f"K={k}"))
        below.append(((np.minimum(grid, np.log2(k)) - values)[1:].min(), f"K={k}"))
        n, d, h = np.arange(1, k), 3.0, 1e-4
        exact = (binomial_pmf(n, k - 1, 2.0**-d) * n * np.log1p(1 / n)).sum()
        slope.append(((bound(d + h, k) - bound(d - h, k)) / (2 * h) - exact, f"K={k}"))
    rng = np.random.default_rng(8)
    joint = []
    for _ in range(200):
        p = rng.dirichlet(np.full(12, 0.3)).reshape(4, 3)
        k = int(rng.choice(SIZES))
        value, mi = _mean_over_y(p, k)
        joint.append((float(bound(mi, k)) - value, f"K={k}"))
    arcs = []
    for k in SIZES:  # 8 places on a circle, X given Y uniform on the 2 from Y on: I = 2 bits
        p = sum(np.roll(np.eye(8), shift, axis=0) for shift in range(2)) / 16
        value, mi = _mean_over_y(p, k)
        arcs.append((float(bound(mi, k)) - value, f"K={k}, I={mi:.1f}"))
    return [
        extreme("increasing on 0 to 12 bits", "strict", rising),
        extreme("concave", "bound", bent),
        extreme("below min(D, log K)", "strict", below),
        extreme("slope E[N ln(1 + 1/N)]", "equal", slope, 1e-6),
        extreme("mean over y <= ceiling of I, random joints", "bound", joint),
        extreme("equality for arcs on a circle", "equal", arcs, 1e-9),
    ]


def _mean_over_y(joint: np.ndarray, k: int) -> tuple[float, float]:
    """E_y of the K-way JSD of p(x|y) against p(x), and I(X;Y), in bits."""
    px, py = joint.sum(1), joint.sum(0)
    given = [joint[:, j] / py[j] for j in range(len(py))]
    value = sum(w * finite.k_way_jsd(q, px, k) for w, q in zip(py, given, strict=True))
    mi = sum(w * finite.kl(q, px) for w, q in zip(py, given, strict=True))
    return float(value), float(mi)
