"""MLInfoNCE: m positives and m (k - 1) negatives in one denominator, and what that buys."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import sympy as sp

from mi_lib import finite
from mi_lib.alphabet import Alphabet
from mi_lib.ceiling import infonce_ceiling

from ..adversary import event_pair, random_pairs
from .registry import Part, claim, extreme, identity
from .skew import maximiser, mixture
from .variants import PAGE, near_ratio, symbols

SHAPES = ((2, 2), (2, 3), (3, 2), (4, 2))  # (k, m)


def printed(r: np.ndarray, q1: np.ndarray, q0: np.ndarray, k: int, m: int) -> float:
    """The paper's display in bits: a sum over the m positives, without the factors 1/m and mk."""
    return m * (finite.ml_infonce(r, q1, q0, k, m) - math.log2(m * k))


def weighted(r: np.ndarray, q1: np.ndarray, q0: np.ndarray, k: int, m: int, alpha: float) -> float:
    """MLInfoNCE in bits with weight alpha on each positive and (k - alpha)/(k - 1) on each
    negative (Song and Ermon's weighted form); alpha = 1 is MLInfoNCE.

    >>> case = (1.0, 3.0), (0.25, 0.75), (0.5, 0.5), 3, 2
    >>> abs(weighted(*case, 1.0) - finite.ml_infonce(*case)) < 1e-12
    True
    """
    letters = Alphabet(q1, q0, r, "bits")
    positives, w1 = letters.draws(letters.q1, m)
    negatives, w0 = letters.draws(letters.q0, m * (k - 1))
    own = positives[w1 > 0] @ letters.r / m
    rest = negatives @ letters.r / (m * (k - 1))
    logs = np.log(alpha / k * own[:, None] + (1 - alpha / k) * rest)
    return letters.answer(letters.mean_log_r() - w1[w1 > 0] @ logs @ w0)


def value_table(q1: np.ndarray, q0: np.ndarray, k: int, labels: Sequence[int]) -> pd.DataFrame:
    """Best values in bits against m: MLInfoNCE, its limit, the weighted form, and InfoNCE on as
    many points."""
    rows = {}
    for m in labels:
        points = m * (k - 1) + 1
        plain = maximiser(lambda r, m=m: finite.ml_infonce(r, q1, q0, k, m, "nats"), q1.size)
        tuned = maximiser(lambda r, m=m, a=k / points: weighted(r, q1, q0, k, m, a), q1.size)
        rows[m] = [
            finite.ml_infonce(plain, q1, q0, k, m),
            finite.kl(q1, mixture(q1, q0, 1 / k)),
            weighted(tuned, q1, q0, k, m, k / points),
            finite.k_way_jsd(q1, q0, points),
        ]
    names = ["MLInfoNCE", "its limit, the skew divergence", "with weighted positives"]
    names.append("InfoNCE on m(k-1) + 1 points")
    return pd.DataFrame.from_dict(rows, orient="index", columns=names)


@claim(
    "ml-definition",
    item="Section 3.3, the definition of MLInfoNCE",
    statement=r"the display, a sum over $w$ of $\log\bigl(r_\theta(x_{w1})/\text{sum of all "
    r"}r_\theta\bigr)$, is the estimator: 0 for a constant critic, InfoNCE for $m=1$",
    page=PAGE,
    recorded="holds with correction",
    twin={"display": lambda r, q1, q0, k, m: finite.ml_infonce(r, q1, q0, k, m)},
    twin_says="with the factors 1/m and mk",
)
def definition(display: Callable = printed) -> list[Part]:
    """The display lacks 1/m in front of the sum and mk inside the logarithm."""
    cases = near_ratio(31, 10)
    flat = [
        (display(np.ones(q1.size), q1, q0, k, m), f"k={k}, m={m}")
        for _, q1, q0 in cases[:3]
        for k, m in SHAPES
    ]
    one = [
        (display(r, q1, q0, k, 1) - finite.infonce(r, q1, q0, k), f"k={k}")
        for r, q1, q0 in cases
        for k in (2, 4)
    ]
    sign = [(-printed(r, q1, q0, k, m), f"k={k}, m={m}") for r, q1, q0 in cases for k, m in SHAPES]
    (u, v), q1, q0 = symbols()
    pairs = [((u, v)[i], (u, v)[j], q1[i] * q1[j]) for i in (0, 1) for j in (0, 1)]
    by_hand = sum(w * sp.log(2 * a / (a + b)) for a, b, w in pairs)  # m = 2, k = 1
    repaired = [
        (finite.ml_infonce(r, q1, q0, k, 1) - finite.infonce(r, q1, q0, k), f"k={k}")
        for r, q1, q0 in cases
        for k in (2, 4)
    ]
    return [
        extreme("a constant critic has the value 0", "equal", flat),
        extreme("m = 1 is InfoNCE", "equal", one),
        extreme("with 1/m and mk, m = 1 is InfoNCE", "equal", repaired, role="correction"),
        identity(
            "and m = 2, k = 1 is E log(2 r/(r + r')) (symbolic)",
            finite.ml_infonce((u, v), q1, q0, 1, 2, "nats") - by_hand,
            role="correction",
        ),
        extreme("as printed, no critic reaches above 0", "bound", sign, role="support"),
    ]


@claim(
    "ml-bound",
    item="Section 3.3, MLInfoNCE is a lower bound",
    statement=r"$\mathcal{D}_{\text{MLInfoNCE}}(\theta) \le \KL{\qone}{\qzero}$ "
    r"(with the factors $1/m$ and $mk$)",
    page=PAGE,
    recorded="holds",
    twin={"scale": lambda m: m},
    twin_says="without the factor 1/m",
)
def bound(scale: Callable[[int], float] = lambda m: 1.0) -> list[Part]:
    """Random pairs and critics, and the best critic of each pair."""
    cases = [
        (finite.kl(q1, q0) - scale(m) * finite.ml_infonce(r, q1, q0, k, m), f"k={k}, m={m}")
        for r, q1, q0 in near_ratio(32, 20)
        for k, m in SHAPES
    ]
    best = []
    for q1, q0 in random_pairs(6, 2, 33):
        for k, m in SHAPES:
            r = maximiser(lambda v, a=(q1, q0, k, m): finite.ml_infonce(v, *a, "nats"), 2)
            best.append(
                (finite.kl(q1, q0) - scale(m) * finite.ml_infonce(r, q1, q0, k, m), f"k={k}, m={m}")
            )
    return [
        extreme("value <= D, random pairs and critics", "bound", cases),
        extreme("also at the critic that maximises it", "bound", best),
    ]


@claim(
    "ml-below-infonce",
    item="MLInfoNCE stays below InfoNCE on k points (ours)",
    statement=r"for every critic, $\mathcal{D}_{\text{DV}}(\theta;\qone,\tfrac1k\qone + "
    r"\tfrac{k-1}{k}\qzero)$ $\le \mathcal{D}_{\text{MLInfoNCE}}(\theta)$ "
    r"$\le \InfoNCE(\theta)$ at $K=k$, falling in $m$; so its ceiling is below "
    r"$\log k$, not $\log mk$",
    page=PAGE,
    recorded="holds",
    twin={"points": lambda k, m: m * k, "sign": -1},
    twin_says="at least InfoNCE on mk points",
)
def below_infonce(points: Callable[[int, int], int] = lambda k, m: k, sign: int = 1) -> list[Part]:
    """The logarithm of a mean of m blocks is at least the mean of their logarithms."""
    upper, lower, falls, ceiling = [], [], [], []
    for r, q1, q0 in near_ratio(34, 15):
        for k, m in SHAPES:
            note, value = f"k={k}, m={m}", finite.ml_infonce(r, q1, q0, k, m)
            upper.append((sign * (finite.infonce(r, q1, q0, points(k, m)) - value), note))
            lower.append((value - finite.dv(r, q1, mixture(q1, q0, 1 / k)), note))
            falls.append((finite.ml_infonce(r, q1, q0, k, m - 1) - value, note))
            ceiling.append((float(infonce_ceiling(finite.kl(q1, q0), k)) - value, note))
    far = [
        (math.log2(k) - finite.ml_infonce((0.0, 1.0), *event_pair(40.0), k, m), f"k={k}, m={m}")
        for k, m in SHAPES
    ]
    q1, q0, k = np.array([0.1, 0.9]), np.array([0.6, 0.4]), 2
    skew = mixture(q1, q0, 1 / k)
    large = finite.ml_infonce(q1 / skew, q1, q0, k, 300) - finite.kl(q1, skew)
    return [
        extreme("value <= InfoNCE, random pairs and critics", "bound", upper),
        extreme("value >= DV against the mixture", "bound", lower),
        extreme("it falls from m - 1 to m", "bound", falls),
        extreme("below the sharp ceiling at K = k", "bound", ceiling),
        extreme("log k is approached: D = 40 bits", "equal", far, 1e-9),
        Part(
            "m = 300: the best value of the limit is the skew divergence", "equal", large, 5e-3, 1
        ),
    ]


def _slope(q1: np.ndarray, q0: np.ndarray, k: int, m: int) -> float:
    """Derivative of MLInfoNCE (nats) in log r of the largest ratio, at r = q1/q0."""
    r, h = q1 / q0, 1e-5
    up, down = (r * np.exp(np.eye(r.size)[r.argmax()] * e) for e in (h, -h))
    rise = finite.ml_infonce(up, q1, q0, k, m, "nats")
    return (rise - finite.ml_infonce(down, q1, q0, k, m, "nats")) / (2 * h)


@claim(
    "ml-classification",
    item="Section 3.3, MLInfoNCE is not a classification loss",
    statement=r"for $m\ge2$ the density ratio does not maximise MLInfoNCE, whose factors are no "
    r"probabilities of a choice of $m$ places",
    page=PAGE,
    recorded="holds",
    twin={"shapes": ((2, 1), (3, 1))},
    twin_says="m = 1",
)
def classification(shapes: tuple[tuple[int, int], ...] = SHAPES) -> list[Part]:
    """The gradient at the true ratio pulls the largest ratio down."""
    pairs = [(np.array([0.1, 0.9]), np.array([0.6, 0.4])), *random_pairs(4, 3, 35)]
    pulled = [(-1e3 * _slope(q1, q0, k, m), f"k={k}, m={m}") for q1, q0 in pairs for k, m in shapes]
    still = [(_slope(q1, q0, k, 1), f"k={k}") for q1, q0 in pairs for k in (2, 3)]
    a = sp.symbols("r1:5", positive=True)
    total = sum(a)
    defect = sum(a[i] * a[j] for i in range(4) for j in range(4) if i != j) / total**2
    lost = defect - 1 + sum(v**2 for v in a) / total**2
    return [
        extreme("at q1/q0 the largest ratio is pulled down (1e-3 nats)", "strict", pulled, 1e-3),
        extreme("not so for m = 1", "equal", still, 1e-7, role="support"),
        identity(
            "m = k = 2: products of fractions sum to 1 - sum p^2",
            lost,
            role="support",
        ),
    ]


@claim(
    "ml-appendix-a",
    item="Appendix A, the comparison with MLInfoNCE",
    statement=r"maximising MLInfoNCE gives $r_\theta = C\,\qone/\qzero$ with one constant $C$, as "
    r"$\Loss^{(2)}_{K;0}$ does",
    page=PAGE,
    recorded="holds with correction",
    twin={"shapes": ((2, 1), (3, 1))},
    twin_says="m = 1",
)
def appendix_a(shapes: tuple[tuple[int, int], ...] = SHAPES) -> list[Part]:
    """One constant is free, but the function is another: less contrast than the ratio."""
    q1, q0 = np.array([0.1, 0.3, 0.6]), np.array([0.5, 0.3, 0.2])
    ratio, found = q1 / q0, {}
    for k, m in shapes:
        value = lambda r, k=k, m=m: finite.ml_infonce(r, q1, q0, k, m, "nats")  # noqa: E731
        found[k, m] = maximiser(value, 3)
    same = [
        (float(np.log(r[2] / r[0]) / np.log(ratio[2] / ratio[0]) - 1), f"k={k}, m={m}")
        for (k, m), r in found.items()
    ]
    free = [
        (finite.ml_infonce(c * r, q1, q0, k, m) - finite.ml_infonce(r, q1, q0, k, m), "")
        for (k, m), r in found.items()
        for c in (0.2, 5.0)
    ]
    rng, strict = np.random.default_rng(36), []
    for (k, m), r in found.items():
        step = rng.normal(size=3) * 0.1
        step -= step.mean()
        strict.append(
            (
                1e3
                * (
                    finite.ml_infonce(r, q1, q0, k, m)
                    - finite.ml_infonce(r * np.exp(step), q1, q0, k, m)
                ),
                f"k={k}, m={m}",
            )
        )
    return [
        extreme("log range of the maximiser over that of q1/q0, minus 1", "equal", same, 1e-4),
        extreme("a constant factor is free", "equal", free, role="correction"),
        extreme(
            "and nothing else: strict off the ray (1e-3 bits)",
            "strict",
            strict,
            1e-2,
            role="correction",
        ),
        extreme(
            "the maximiser has less contrast than q1/q0",
            "strict",
            [(-gap, note) for gap, note in same],
            1e-2,
            role="correction",
        ),
    ]


@claim(
    "ml-weighted",
    item="MLInfoNCE with weighted positives (ours)",
    statement=r"MLInfoNCE with weight $\alpha$ on each positive is at most "
    r"$\tfrac\alpha k$-InfoNCE on $K = m(k-1)+1$ points; so at most $D$ for $\alpha \ge k/K$, and "
    r"at most InfoNCE on $K$ points at $\alpha = k/K$",
    page=PAGE,
    recorded="holds",
    twin={"share": 0.2},
    twin_says="from alpha = 0.2 k/K on",
)
def weighted_positives(share: float = 1.0) -> list[Part]:
    """Jensen's inequality for the mean of the positives."""
    cases, below, over = [], [], []
    for r, q1, q0 in near_ratio(37, 15):
        for k, m in SHAPES:
            points = m * (k - 1) + 1
            for a in (share * k / points, 1.0):
                note, value = f"k={k}, m={m}, alpha={a:.2f}", weighted(r, q1, q0, k, m, a)
                cases.append((finite.alpha_infonce(r, q1, q0, points, a / k) - value, note))
                below.append((finite.kl(q1, q0) - value, note))
    for k, m in SHAPES:
        points = m * (k - 1) + 1
        pair = event_pair(6.0)
        value = weighted((0.0, 1.0), *pair, k, m, k / points)
        over.append((value - math.log2(k), f"k={k}, m={m}"))
        level = event_pair(0.5)
        below.append(
            (0.5 - weighted((0.0, 1.0), *level, k, m, share * k / points), f"k={k}, m={m}")
        )
    return [
        extreme("value <= (alpha/k)-InfoNCE on m(k-1)+1 points", "bound", cases),
        extreme("value <= D for alpha >= k/(m(k-1)+1)", "bound", below),
        extreme("it can pass log2 k: D = 6 bits", "strict", over, 1e-6, role="support"),
    ]
