"""The paper's Proposition 1 and Theorem 2: what InfoNCE can reach, and the half that fails."""

from collections.abc import Callable, Iterator

import numpy as np
import sympy as sp

from companion.printed_bound import printed_ceiling
from mi_lib import finite
from mi_lib.bounds import chi_square_floor
from mi_lib.ceiling import infonce_ceiling

from .. import by_definition
from ..adversary import Pair, event_pair, random_pairs, try_to_break
from .registry import Part, claim, extreme, identity

PAGE = "theory/infonce_ceiling"
SIZES = (2, 3, 4, 8, 16)
LEVELS = (0.1, 0.5, 1.0, 2.0, 4.0, 6.0)


def _enumerated(seed: int) -> Iterator[tuple[Pair, int]]:
    """200 random pairs on each of 2, 3 and 4 letters, with K cycling through `SIZES`."""
    for letters in (2, 3, 4):
        for i, pair in enumerate(random_pairs(200, letters, seed + letters)):
            yield pair, SIZES[i % len(SIZES)]


def _symbolic_pair() -> tuple[tuple[sp.Expr, ...], tuple[sp.Expr, ...]]:
    a, b = sp.symbols("a b", positive=True)
    return (a, 1 - a), (b, 1 - b)


@claim(
    "prop-1",
    item="Proposition 1",
    label="prop:cpc_loose",
    statement=r"$\InfoNCE(\theta) \le \min\{\log K, \KL{\qone}{\qzero}\}$",
    page=PAGE,
    recorded="holds",
    twin={"shrink": 0.9},
    twin_says="ceiling times 0.9",
)
def proposition_1(shrink: float = 1.0) -> list[Part]:
    """Any critic's InfoNCE value is below log K and below the divergence."""

    def ceiling(q1: np.ndarray, q0: np.ndarray, k: int) -> float:
        return shrink * min(np.log2(k), finite.kl(q1, q0))

    rng = np.random.default_rng(1)
    cases = []
    for (q1, q0), k in _enumerated(10):
        ratio = q1 / q0
        for spread in (0.0, 0.5, 2.0):  # the true ratio and critics further and further from it
            r = ratio * np.exp(spread * rng.normal(size=q1.size))
            cases.append((ceiling(q1, q0, k) - finite.infonce(r, q1, q0, k), f"K={k}"))
    r1, r2, r3 = sp.symbols("r1:4", positive=True)
    symmetric = [
        sum(k * r / sum(rs) for r in rs) / k - 1 for k, rs in ((2, (r1, r2)), (3, (r1, r2, r3)))
    ]
    search = [
        case
        for k in (2, 8)
        for case in try_to_break(
            lambda q1, q0, k=k: ceiling(q1, q0, k) - finite.k_way_jsd(q1, q0, k), 3, 3, k
        )
    ]
    return [
        identity("by symmetry r(x1)/mean r has mean 1 under q0^K (K = 2, 3)", *symmetric),
        extreme("value <= min(log K, D), random pairs and critics", "bound", cases),
        extreme("an optimiser finds no violation", "bound", [(m, "") for m, _ in search]),
    ]


@claim(
    "thm-2-variational",
    item="Theorem 2, first inequality",
    label="thm:cpc",
    statement=r"$\InfoNCE(\theta) \le \JSD(\qone,\qzero)$, with equality if and only if "
    r"$r_\theta \propto \qone/\qzero$",
    page=PAGE,
    recorded="holds",
    twin={"tempered": 0.9},
    twin_says="equality at r = (q1/q0)^0.9",
)
def theorem_2_variational(tempered: float = 1.0) -> list[Part]:
    """InfoNCE is a variational lower bound of the K-way JSD, tight at the density ratio."""
    (q1, q0), (u, v) = _symbolic_pair(), sp.symbols("u v", positive=True)
    definition = [
        finite.k_way_jsd(q1, q0, k, "nats") - by_definition.k_way_jsd(q1, q0, k) for k in (2, 3)
    ]
    gap = [
        finite.k_way_jsd(q1, q0, k, "nats")
        - finite.infonce((u, v), q1, q0, k, "nats")
        - by_definition.posterior_gap((u, v), q1, q0, k)
        for k in (2, 3)
    ]
    rng = np.random.default_rng(2)
    below, attained, missed = [], [], []
    for (p1, p0), k in _enumerated(20):
        best, ratio, note = finite.k_way_jsd(p1, p0, k), p1 / p0, f"K={k}"
        other = ratio * np.exp(rng.normal(size=ratio.size))
        below.append((best - finite.infonce(other, p1, p0, k), note))
        scaled = rng.lognormal() * ratio**tempered
        attained.append((best - finite.infonce(scaled, p1, p0, k), note))
    for q in (0.1, 0.3, 0.5):
        p1, p0 = np.array([q, 1 - q]), np.array([0.5, 0.5])
        near = p1 / p0 * np.array([1.05, 1.0])
        for k in SIZES:
            miss = finite.k_way_jsd(p1, p0, k) - finite.infonce(near, p1, p0, k)
            missed.append((1e6 * miss, f"K={k}, q1={p1}, in 1e-6 bits"))
    return [
        identity("enumeration equals the definition (K = 2, 3; symbolic pairs)", *definition),
        identity("gap = E KL(posterior || model posterior) (K = 2, 3; symbolic)", *gap),
        extreme("value <= K-way JSD, random pairs and critics", "bound", below),
        extreme("equality at r = C q1/q0, random C", "equal", attained),
        extreme("strict when one ratio is 5 % off", "strict", missed, 1e-3),
    ]


@claim(
    "thm-2-log-k",
    item=r"Theorem 2, the log K half",
    label="thm:cpc",
    statement=r"$\JSD(\qone,\qzero) \le \log K$",
    page=PAGE,
    recorded="holds",
    twin={"classes": lambda k: k - 1},
    twin_says="log(K - 1)",
)
def theorem_2_log_k(classes: Callable[[int], int] = lambda k: k) -> list[Part]:
    """The K-way JSD is an information about which of K places holds the positive."""
    q1, q0 = _symbolic_pair()
    ratio = (q1[0] / q0[0], q1[1] / q0[1])
    slack = [
        sp.log(k)
        - finite.k_way_jsd(q1, q0, k, "nats")
        - by_definition.mean(q1, q0, k, lambda x: sp.log(sum(ratio[i] for i in x) / ratio[x[0]]))
        for k in (2, 3)
    ]
    far = [(k, event_pair(40.0)) for k in SIZES]
    return [
        identity("log K - JSD = E log(1 + (r2 + ... + rK)/r1) (K = 2, 3; symbolic)", *slack),
        extreme(
            "JSD <= log K, random pairs",
            "bound",
            [
                (np.log2(classes(k)) - finite.k_way_jsd(q1, q0, k), f"K={k}")
                for (q1, q0), k in _enumerated(30)
            ],
        ),
        extreme(
            "log K is approached: D = 40 bits",
            "equal",
            [(np.log2(classes(k)) - finite.k_way_jsd(*pair, k), f"K={k}") for k, pair in far],
            1e-9,
        ),
    ]


@claim(
    "thm-2-printed",
    item="Theorem 2, the other half",
    label="thm:cpc",
    statement=r"$\JSD(\qone,\qzero) \le D - \log\bigl(\tfrac1K(2^D-1)+1\bigr)$",
    page=PAGE,
    recorded="refuted",
    twin={"ceiling": infonce_ceiling},
    twin_says="the sharp ceiling instead",
)
def theorem_2_printed(ceiling: Callable = printed_ceiling) -> list[Part]:
    """The printed bound fails for every K >= 2 and every finite D > 0."""
    half = sp.Rational(1, 2)
    exact = finite.k_way_jsd((0, 1), (half, half), 2)
    printed = 2 - sp.log(3, 2)
    margin = {
        (k, d): finite.k_way_jsd(*event_pair(d), k) - printed_ceiling(d, k)
        for k in (*SIZES, 64)
        for d in LEVELS
    }
    gamma = sp.Symbol("gamma", positive=True)
    jensen = sp.log(1 + gamma) - gamma * sp.log(2)  # K = 2: log(1 + E N) - E log(1 + N)
    return [
        extreme(
            "JSD <= the bound on r in {0, 2^D}",
            "bound",
            [
                (ceiling(d, k) - finite.k_way_jsd(*event_pair(d), k), f"K={k}, D={d}")
                for k, d in margin
            ],
        ),
        identity("K = 2, q0 = (1/2, 1/2), q1 = (0, 1): JSD = 1/2", exact - half, role="support"),
        Part(
            "and 1/2 > 2 - log2(3), as 9 > 8",
            "strict",
            float(exact - printed),
            0.0,
            1,
            role="support",
        ),
        extreme(
            "violated at every K >= 2 and D of the grid",
            "strict",
            [(excess, f"K={k}, D={d}") for (k, d), excess in margin.items()],
            1e-6,
            role="support",
        ),
        identity(
            "K = 2: the excess ln(1+g) - g ln 2 vanishes at 0 and 1 and is concave",
            jensen.subs(gamma, 0),
            jensen.subs(gamma, 1),
            sp.diff(jensen, gamma, 2) + 1 / (1 + gamma) ** 2,
            role="support",
        ),
    ]


@claim(
    "thm-2-numbers",
    item="After Theorem 2, the two numbers",
    statement=r"At $D=2$: $\InfoNCE \le 1.19\ldots$ for $K=4$ and $\le 1.93\ldots$ for $K=64$",
    page=PAGE,
    recorded="refuted",
    twin={"numbers": {4: 1.33, 64: 1.97}},
    twin_says="1.33 and 1.97 instead",
)
def theorem_2_numbers(numbers: dict[int, float] | None = None) -> list[Part]:
    """The paper's two worked numbers are exceeded by an explicit pair."""
    numbers = numbers or {4: 1.20, 64: 1.94}  # the printed digits, rounded up
    values = {k: finite.k_way_jsd(*event_pair(2.0), k) for k in numbers}
    quarter = sp.Rational(1, 4)
    exact = finite.k_way_jsd((0, 1), (1 - quarter, quarter), 4)
    closed = 2 - sp.Rational(29, 64) - sp.Rational(9, 64) * sp.log(3) / sp.log(2)
    return [
        extreme(
            "value at q0 = (3/4, 1/4), q1 = (0, 1) stays below",
            "bound",
            [(numbers[k] - values[k], f"K={k}: value {values[k]:.5f}") for k in numbers],
        ),
        identity("K = 4: JSD = 2 - 29/64 - (9/64) log2 3", exact - closed, role="support"),
    ]


@claim(
    "thm-2-message",
    item="After Theorem 2, the message",
    statement=r"$\InfoNCE(\theta) < \KL{\qone}{\qzero}$ for every finite $K$ "
    r"(when $0 < D < \infty$)",
    page=PAGE,
    recorded="holds",
    twin={"fraction": 0.9},
    twin_says="InfoNCE < 0.9 D",
)
def theorem_2_message(fraction: float = 1.0) -> list[Part]:
    """What the paper concludes from the false bound is true all the same."""
    grid = [(d, k) for d in LEVELS for k in (2, 4, 64, 1024, 10**6)]
    pairs = [
        (fraction - finite.k_way_jsd(q1, q0, k) / finite.kl(q1, q0), f"K={k}")
        for (q1, q0), k in _enumerated(40)
    ]
    gaps = [(k * (fraction * d - infonce_ceiling(d, k)), f"K={k}, D={d}") for d, k in grid]
    return [
        extreme("1 - JSD/D > 0, random pairs", "strict", pairs, 1e-6),
        extreme("K (D - sharp ceiling) > 0 up to K = 10^6", "strict", gaps, 1e-3),
    ]


@claim(
    "chi-square-floor",
    item="What the Jensen step gives (ours)",
    statement=r"$\JSD(\qone,\qzero) \ge D - \log\bigl(1 + \chi^2(\qone\Vert\qzero)/K\bigr)$",
    page=PAGE,
    recorded="holds",
    twin={"chi2": lambda q1, q0: 2 ** finite.kl(q1, q0) - 1},
    twin_says="2^D - 1 in place of chi-square",
)
def jensen_floor(chi2: Callable = finite.chi_square) -> list[Part]:
    """Jensen's inequality, used in the direction in which it holds."""
    q1, q0 = _symbolic_pair()
    ratio = (q1[0] / q0[0], q1[1] / q0[1])
    means = [
        by_definition.mean(q1, q0, k, lambda x: sum(ratio[i] for i in x) / len(x))
        - (1 + finite.chi_square(q1, q0) / k)
        for k in (2, 3)
    ]

    def slack(p1: np.ndarray, p0: np.ndarray, k: int) -> float:
        floor = finite.kl(p1, p0) - np.log2(1 + chi2(p1, p0) / k)
        return finite.k_way_jsd(p1, p0, k) - floor

    cases = [(slack(*pair, k), f"K={k}") for pair, k in _enumerated(50)]
    tried = [c for k in (2, 8) for c in try_to_break(lambda a, b, k=k: slack(a, b, k), 2, 2, k)]
    same = np.array([0.2, 0.8])
    trivial = finite.k_way_jsd(same, same, 4) - chi_square_floor(0.0, 0.0, 4)
    near = [(1e6 * slack(np.array([0.21, 0.79]), same, k), f"K={k}") for k in (2, 4, 16)]
    return [
        identity("mean of the average ratio is 1 + chi2/K (K = 2, 3; symbolic)", *means),
        extreme("JSD >= the floor, random pairs", "bound", cases),
        extreme("an optimiser finds no violation", "bound", tried),
        Part("equality when q1 = q0", "equal", trivial, 1e-12, 1),
        extreme("strict when q1 is 0.01 off (in 1e-6 bits)", "strict", near, 1e-3),
    ]
