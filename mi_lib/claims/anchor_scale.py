"""How hard the anchor holds the scale of r, and what nu decides (ours)."""

from collections.abc import Callable
from itertools import product

import numpy as np
import sympy as sp
import torch

from .. import finite, objectives
from . import literal
from .anchor import CRITIC, NU, classes, literal_loss, model, symbolic_pair
from .batches import expectation, log_ratio, product_law, random_joints
from .registry import Part, claim, extreme, identity
from .scale import (
    batch_variance,
    channel,
    channel_law,
    curvature,
    curvature_bound,
    finite_rows,
    fitted_scale,
    gaussian_rows,
    scale_limits,
    simulated_variance,
    swap_covariance,
    tuple_sums,
)
from .search import event_pair, random_pairs, try_to_break

PAGE = "theory/anchor_scale"
GRID = tuple(product((1, 2, 5, 16), (0.1, 1.0, 8.0, 50.0)))  # K and nu
WEIGHTS = (0.1, 1.0, 8.0, 63.0, 630.0, 6300.0)  # of the tables at K = 63


SCALE = sp.Symbol("C", positive=True)


def _by_log_scale(expression: sp.Expr) -> sp.Expr:
    return SCALE * sp.diff(expression, SCALE)


def _sums(x: tuple[int, ...], r: literal.Law) -> sp.Expr:
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
            bend = _by_log_scale(_by_log_scale(loss)).subs(SCALE, 1)
            p0 = NU / (NU + _sums(x, ratio))
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


@claim(
    "scale-variance",
    item="Variance of a fitted scale, separate rows (ours)",
    statement=r"For $n$ rows of one positive and $K$ negatives, $n\operatorname{Var}(\log C) \to "
    r"\chi^2/K$ to leading order in $1/K$ for every $\nu$; it is not the inverse curvature",
    page=PAGE,
    recorded="holds",
    twin={"sampling": "likelihood"},
    twin_says="the inverse curvature instead",
)
def scale_variance(sampling: str = "shared") -> list[Part]:
    """Fixed class weights take the label noise away, and with it all of the curvature's effect."""
    gauss = gaussian_rows(1.0, 63)
    values = [gauss.scale_variance(nu) for nu in WEIGHTS]
    rows = finite_rows(*event_pair(4.0), 63)
    flat = max(v[sampling] for v in values) / min(v[sampling] for v in values)
    steep = max(v["likelihood"] for v in values) / min(v["likelihood"] for v in values)
    limit = [
        (finite_rows(q1, q0, k).scale_variance(1e6 * k)[sampling] * k / chi2 - 1, f"K={k}")
        for q1, q0 in random_pairs(6, 2, 23)
        for k, chi2 in ((4, finite.chi_square(q1, q0)), (63, finite.chi_square(q1, q0)))
    ]
    leading = []
    for d in (0.5, 2.0, 4.0):
        for beta in (0.01, 1.0, 100.0):
            ratio = finite_rows(*event_pair(d), 1023).scale_variance(1023 * beta)[sampling]
            leading.append((abs(ratio * 1023 / (2**d - 1) - 1), f"D={d}, nu/K={beta:g}"))
    simulated = [
        (
            simulated_variance(rows, nu, 400, 2000, 24) / rows.scale_variance(nu)[sampling] - 1,
            f"nu={nu:g}",
        )
        for nu in (1.0, 63.0)
    ]
    return [
        Part(
            "Gaussian shift, nu = 0.1 to 6300: 1.1 less largest/smallest",
            "bound",
            1.1 - flat,
            0.0,
            len(WEIGHTS),
        ),
        Part(
            "while the inverse curvature varies more than 100-fold",
            "strict",
            steep - 100,
            0.0,
            len(WEIGHTS),
            role="support",
        ),
        extreme("nu -> infinity: K n Var/chi2 - 1", "equal", limit, 1e-4),
        extreme("K = 1023: distance of K n Var/chi2 from 1", "equal", leading, 0.05),
        extreme("2000 simulated fits to 400 rows, r in {0, 16}, K = 63", "equal", simulated, 0.13),
    ]


def _enumerated_variance(b: int, nu: float, error: float) -> float:
    """B Var(score)/curvature^2 over all 4^B batches of a binary channel, from the torch loss."""
    joint = channel_law(2, error)

    def squared_score(scores: torch.Tensor) -> torch.Tensor:
        shift = torch.zeros(len(scores), 1, 1, dtype=torch.float64, requires_grad=True)
        (score,) = torch.autograd.grad(objectives.anchor(scores + shift, nu).sum(), shift)
        return score.flatten().square()

    bend = curvature(2 * joint[0], np.array([0.5, 0.5]), b - 1, nu)
    return b * expectation(squared_score, joint, log_ratio(joint), b).item() / bend**2


@claim(
    "scale-minibatch",
    item="Variance of a fitted scale, shared rows (ours)",
    statement=r"In the paper's minibatch $n\operatorname{Var}(\log C)$ depends on $\nu$, and tends "
    r"to $(\chi^2 + \kappa)/K$ as $\nu \to \infty$, "
    r"$\kappa = \operatorname{Cov}(r(x_1,y_2), r(x_2,y_1))$",
    page=PAGE,
    recorded="holds",
    twin={"swap": 0.0},
    twin_says="without kappa",
)
def scale_minibatch(swap: float = 1.0) -> list[Part]:
    """Rows that share their negatives are not independent, and normalise each other."""
    exact = [
        (batch_variance(channel(2, e), b, nu) - _enumerated_variance(b, nu, e), f"B={b}, nu={nu}")
        for b in (4, 5)
        for nu in (0.5, 3.0)
        for e in (0.05, 0.2)
    ]
    limit, small, dip = [], [], []
    for m, e in ((2, 0.01), (2, 0.1), (16, 0.0), (16, 0.05), (16, 0.3)):
        joint = channel_law(m, e)
        kappa = swap * swap_covariance(joint)
        chi2 = finite.chi_square(joint.ravel(), np.full(m * m, m**-2.0))
        far = batch_variance(channel(m, e), 64, 1e6)
        limit.append((far * 63 / (chi2 + kappa) - 1, f"m={m}, error {e:g}"))
        kept = [batch_variance(channel(m, e), 64, nu) / far for nu in (0.1, 1.0, 8.0, 63.0)]
        small.append((1 - max(kept), f"m={m}, error {e:g}"))
        dip.append((min(kept), f"m={m}, error {e:g}"))
    spectrum = []
    for joint in random_joints(20, (3, 4), 27):
        whitened = joint / np.sqrt(product_law(joint))
        squares = np.linalg.svd(whitened, compute_uv=False)[1:] ** 2
        spectrum += [
            (swap_covariance(joint) - (squares**2).sum(), "kappa"),
            (finite.chi_square(joint.ravel(), product_law(joint).ravel()) - squares.sum(), "chi2"),
        ]
    return [
        extreme("moments of three pairs of rows = all 4^B batches", "equal", exact),
        extreme("nu = 10^6: K n Var/(chi2 + kappa) - 1, B = 64", "equal", limit, 1e-3),
        extreme("chi2 = sum of sigma^2 and kappa = sum of sigma^4", "equal", spectrum),
        extreme("nu <= K: how far below that limit, five channels", "strict", small, 0.1),
        Part(
            "somewhere below K it is less than a tenth of the limit",
            "bound",
            0.1 - min(dip)[0],
            0.0,
            len(dip),
            min(dip)[1],
        ),
    ]


def confident_pair(
    rng: np.random.Generator, over: bool, letters: int = 3
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """r, q1, q0 with r*/r a decreasing function of r (over-confident) or an increasing one."""
    r = np.sort(rng.lognormal(sigma=1.5, size=letters))
    share = np.sort(rng.lognormal(size=letters))
    share = share[::-1] if over else share
    q0 = rng.dirichlet(np.ones(letters))
    q1 = q0 * r * share
    return r, q1 / q1.sum(), q0


@claim(
    "scale-limits",
    item="Where the scale of a misfit lands (ours)",
    statement=r"The fitted scale solves $\E_{\qzero^K}\bigl[(S^* - CS)/(\nu + CS)\bigr] = 0$; "
    r"$C \to \E_{\qzero^K}[S^*/S]$ as $\nu \to 0$ and $C \to 1/\E_{\qzero}[r]$ as $\nu \to \infty$",
    page=PAGE,
    recorded="holds",
    twin={"harmonic": False},
    twin_says="K over the mean of S in class 1",
)
def limits(harmonic: bool = True) -> list[Part]:
    """Stationarity in log C, for a critic of any shape."""
    q1, q0 = symbolic_pair()
    ratio = tuple(p / q for p, q in zip(q1, q0, strict=True))
    scaled = [SCALE * r for r in CRITIC]
    slopes, swap = [], []
    for k in (1, 2):
        slope = _by_log_scale(literal_loss(scaled, q1, q0, k, NU))
        balance = literal.mean(
            q0, q0, k, lambda x: (_sums(x, ratio) - _sums(x, scaled)) / (NU + _sums(x, scaled))
        )
        slopes.append(slope + NU / (k + NU) * balance)
        one = literal.mean(q1, q0, k, lambda x, k=k: k / _sums(x, CRITIC))
        swap.append(one - literal.mean(q0, q0, k, lambda x: _sums(x, ratio) / _sums(x, CRITIC)))
    rng = np.random.default_rng(25)
    least, low, high = [], [], []
    for i in range(24):
        r, p1, p0 = confident_pair(rng, over=bool(i % 2))
        k = (1, 3, 8)[i % 3]
        s, true, chance = tuple_sums(r, p1, p0, k)
        at_zero, at_infinity = scale_limits(r, p1, p0, k)
        if not harmonic:
            at_zero = k / float(chance @ (s * true / k))
        low.append((np.log(fitted_scale(r, p1, p0, k, 1e-9) / at_zero), f"K={k}"))
        high.append((np.log(fitted_scale(r, p1, p0, k, 1e9) / at_infinity), f"K={k}"))
        best = fitted_scale(r, p1, p0, k, 1.0)
        risk = [finite.anchored_risk(best * np.exp(d) * r, p1, p0, k, 1) for d in (-1e-3, 0, 1e-3)]
        least.append((1e6 * (min(risk[0], risk[2]) - risk[1]), f"K={k}, in 1e-6 nats"))
    return [
        identity("dL/dlog C = -nu/(K+nu) E_0[(S* - CS)/(nu + CS)] (symbolic)", *slopes),
        identity("E_1[K/S] = E_0[S*/S] (K = 1, 2; symbolic)", *swap),
        extreme("nu = 10^-9: log of C over the first limit", "equal", low, 1e-6),
        extreme("nu = 10^9: log of C over the second", "equal", high, 1e-6),
        extreme("the loss is larger at C e^0.001 and C e^-0.001", "strict", least, 1e-4),
    ]


UNEVEN = ((0.04, 0.34, 2.8), (0.27, 0.21, 0.52), (0.39, 0.59, 0.02))  # r, q1, q0


@claim(
    "scale-path",
    item="Plug-in against DV (ours)",
    statement=r"If $r^*/r$ decreases in $r$ (an over-confident critic), $C(\nu)$ decreases and "
    r"plug-in $>$ DV at every $\nu$; if it increases, the reverse; the gap vanishes as "
    r"$\nu \to \infty$",
    page=PAGE,
    recorded="holds",
    twin={"under": 1},
    twin_says="plug-in > DV for under-confident critics, too",
)
def path(under: int = -1) -> list[Part]:
    """C is a mean of r*/r with weights that favour small r, the more so the smaller nu is."""
    rng = np.random.default_rng(26)
    weights = np.geomspace(1e-3, 1e4, 12)
    sign, fall, end, fair = [], [], [], []
    for i in range(40):
        over = bool(i % 2)
        side, k = (1 if over else under), (1, 2, 4, 8)[i % 4]
        r, q1, q0 = confident_pair(rng, over)
        at_zero, at_infinity = scale_limits(r, q1, q0, k)
        widest = abs(np.log(at_zero / at_infinity))  # the gap plug-in - DV as nu -> 0
        gap = np.log([fitted_scale(r, q1, q0, k, nu) / at_infinity for nu in weights]) / widest
        note = f"K={k}, {'over' if over else 'under'}-confident"
        sign.append((side * gap[:-4].min() if side > 0 else -gap[:-4].max(), note))
        fall.append((-(side * np.diff(gap)).max(), note))
        end.append((np.log(fitted_scale(r, q1, q0, k, 1e9) / at_infinity), note))
        fair.append((np.log(fitted_scale(q1 / q0, q1, q0, k, weights[i % 12])), note))
    found = [
        (margin, f"K={k}, nu={nu:g}")
        for k, nu in ((2, 1.0), (5, 0.1))
        for margin, _ in try_to_break(
            lambda q1, q0, k=k, nu=nu: np.log(
                fitted_scale((q1 / q0) ** 1.5, q1, q0, k, nu) * (q0 @ (q1 / q0) ** 1.5)
            ),
            3,
            2,
            k,
        )
    ]
    r, q1, q0 = (np.array(law) for law in UNEVEN)
    at_zero, at_infinity = scale_limits(r, q1, q0, 2)
    crossing = [
        (np.log(at_zero / at_infinity), "nu -> 0"),
        (-np.log(fitted_scale(r, q1, q0, 2, 1.0) / at_infinity), "nu=1"),
    ]
    return [
        extreme("gap plug-in - DV over its limit at nu = 0, nu to 23", "strict", sign, 1e-4),
        extreme("the gap shrinks from each nu to the next", "bound", fall, 1e-10),
        extreme("an optimiser finds no r = (r*)^1.5 with plug-in < DV", "bound", found),
        extreme("nu = 10^9: the gap", "equal", end, 1e-6),
        extreme("the true ratio keeps C = 1 at every nu", "equal", fair),
        extreme(
            "r*/r not monotone: above DV at nu -> 0, below at nu = 1",
            "strict",
            crossing,
            0.01,
            role="support",
        ),
    ]
