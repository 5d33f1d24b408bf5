"""Claims of the chapter on self-supervised learning: three of ours that are exact, and each
sentence of the paper's Section 4.3 that can be judged by the laptop table."""

import math
from collections.abc import Callable

import torch

from ..experiments import ssl_tables
from ..experiments.ssl_sphere import cross_polytope, least_mean_ratio, mean_ratio, spread
from ..experiments.ssl_start import ALPHAS, alpha_sweep
from ..experiments.ssl_symmetry import excess, symmetric_law
from ..results import Stored
from .experimental import at_most, when_complete, worse
from .registry import Part, claim, extreme

PAGE = "experiments/self_supervised"
POINT = 1.0  # a gain below one point of accuracy is none


def _judged(flipped: bool, check: Callable[[Stored], list[Part]]) -> list[Part]:
    """The parts of a check of the laptop table."""
    table = ssl_tables.stored("laptop")
    return when_complete([("the laptop table", table)], lambda: check(table), flipped)


@claim(
    "ssl-symmetry",
    item="Section 4.3, C(y) in SimCLR (ours)",
    statement="On a symmetric law, adding a function a(y) to the true critic costs one-sided "
    "InfoNCE nothing; contrasting both ways it costs something unless a is constant.",
    page=PAGE,
    recorded="holds",
    twin={"seen": "one-sided"},
    twin_says="already the one-sided loss sees a(y)",
)
def symmetry(seen: str = "both ways", laws: int = 40) -> list[Part]:
    """Exact losses at K = 2 on random symmetric laws of 2 to 6 letters."""
    free, costly, constant = [], [], []
    for seed in range(laws):
        letters = 2 + seed % 5
        law = symmetric_law(letters, seed)
        generator = torch.Generator("cpu").manual_seed(seed)
        a = torch.randn(letters, generator=generator, dtype=torch.float64)
        cost, case = excess(law, a / a.std()), f"{letters} letters, seed {seed}"
        free.append((cost["one-sided"], case))
        costly.append((cost[seen], case))
        constant.append((excess(law, torch.ones_like(a))["both ways"], case))
    return [
        extreme("one-sided: a(y) is free", "equal", free, 1e-12),
        extreme(f"{seen}: a(y) costs", "strict", costly, 1e-6),
        extreme("both ways: a constant is free", "equal", constant, 1e-12),
    ]


@claim(
    "ssl-first-gradient",
    item="Section 4.3, the spherical score at the start (ours)",
    statement="Where all K + 1 classes are equally likely, the pseudo-spherical score of every "
    "alpha has the gradient of the log score divided by K + 1.",
    page=PAGE,
    recorded="holds",
    twin={"power": 0.5},
    twin_says="divided by the square root of K + 1, the factor that the score shows",
)
def first_gradient(power: float = 1.0) -> list[Part]:
    """Gradients in the scores by automatic differentiation, B = K + 1 = 4, 32 and 256."""
    cases = [
        (float(ratio) * batch**power - 1, f"alpha = {alpha:g}, B = {batch}")
        for batch in (4, 32, 256)
        for alpha, ratio in alpha_sweep(torch.zeros(batch, batch), ALPHAS).items()
    ]
    return [extreme("ratio of the gradients times K + 1, less 1", "equal", cases, 1e-9)]


@claim(
    "ssl-scale-floor",
    item="Section 4.3, unit embeddings cannot have the scale of the ratio (ours)",
    statement="With r = exp(cos / tau) of unit embeddings in d dimensions the mean of r over "
    "strangers is above 1 + 1/(2 d tau^2), where the true ratio has 1; no larger bound of that "
    "form holds.",
    page=PAGE,
    recorded="holds",
    twin={"factor": 2.0},
    twin_says="above 1 + 1/(d tau^2)",
)
def scale_floor(factor: float = 1.0, steps: int = 60) -> list[Part]:
    """Exact means over finite sets of points: random ones, the same after gradient descent on the
    mean, and the points on the axes, where the bound is nearly attained."""
    cases = []
    for dim in (1, 2, 3, 8):
        generator = torch.Generator("cpu").manual_seed(dim)
        drawn = torch.randn(3 * dim, dim, generator=generator, dtype=torch.float64)
        for temperature in (0.1, 0.2, 1.0, 5.0):
            found = {
                "random": drawn,
                "attacked": spread(drawn, temperature, steps),
                "axes": cross_polytope(dim),
            }
            least = factor * (least_mean_ratio(dim, temperature) - 1)
            for name, points in found.items():
                share = float(mean_ratio(points, temperature) - 1) / least
                # Rounded: points on the axes give one number in every dimension.
                cases.append((round(share - 1, 9), f"{name}, d = {dim}, tau = {temperature:g}"))
    nearest = min(margin for margin, _ in cases)
    return [
        extreme("excess over 1 as a share of the bound's, less 1", "strict", cases, 0.0),
        Part("some points come within 1 %", "bound", 0.01 - nearest, 0.0, len(cases)),
    ]


@claim(
    "ssl-large-k",
    item="Section 4.3, JS shows the importance of large K",
    statement="In the published table, K = 1 explains the gap of JS: chi-square, which has K = 1 "
    "too, trails InfoNCE by at least half as much.",
    page=PAGE,
    recorded="refuted",
    twin={"first": "js", "second": "chi-square"},
    twin_says="JS trails by at least half as much as chi-square",
)
def large_k(first: str = "chi-square", second: str = "js") -> list[Part]:
    """Published top-1 numbers, one run each."""
    top = {name: numbers[0] for name, numbers in ssl_tables.PUBLISHED.items()}
    gaps = {name: top["infonce"] - top[name] for name in (first, second)}
    shown = ", ".join(f"{name} trails by {gap:.2f} points" for name, gap in gaps.items())
    return [
        Part("gap less half of the other", "bound", gaps[first] - gaps[second] / 2, 0, 1, shown)
    ]


@claim(
    "ssl-what-matters",
    item="Section 4.3, what matters are PMI, large K and the log score",
    statement="In the published table an objective that has none of the three, a factorised PMI, "
    "large K and the log score, trails InfoNCE by more than a point.",
    page=PAGE,
    recorded="refuted",
    twin={"without": ("spherical-root",)},
    twin_says="one without PMI and the log score does",
)
def what_matters(without: tuple[str, ...] = ("chi-square",)) -> list[Part]:
    """Published top-1 numbers, one run each."""
    top = {name: numbers[0] for name, numbers in ssl_tables.PUBLISHED.items()}
    cases = [(top["infonce"] - top[name] - POINT, name) for name in without]
    return [extreme("gap to InfoNCE less a point", "strict", cases, 0.0)]


@claim(
    "ssl-similar-rules",
    item="Section 1, several scoring rules perform alike",
    statement="In the published table the best objectives of at least two scoring rules are within "
    "a point of each other.",
    page=PAGE,
    recorded="holds",
    twin={"rules": 3},
    twin_says="of all three rules",
)
def similar_rules(rules: int = 2) -> list[Part]:
    """The log score, chi-square and the spherical score at their best published top-1."""
    top = {name: numbers[0] for name, numbers in ssl_tables.PUBLISHED.items()}
    best = sorted((top["infonce"], top["chi-square"], top["spherical-root"]), reverse=True)
    spread = best[0] - best[rules - 1]
    return [Part("a point less the spread", "bound", POINT - spread, 0.0, rules, f"{spread:.2f}")]


@claim(
    "ssl-strongest",
    item="Section 4.3, InfoNCE is the strongest",
    statement="At laptop scale InfoNCE yields the strongest representations: a higher top-1 "
    "accuracy than each of the four other objectives, paired over seeds.",
    page=PAGE,
    recorded="partly",
    twin={"flipped": True},
    twin_says="the opposite",
    experiment=True,
)
def strongest(flipped: bool = False) -> list[Part]:
    """One part an objective, so that a part of the statement can be true."""

    def check(table: Stored) -> list[Part]:
        leads = ssl_tables.strongest(table)
        return [worse(f"ahead of {name}", [(name, gap)]) for name, gap in leads.items()]

    return _judged(flipped, check)


@claim(
    "ssl-anchor",
    item="Abstract and Section 4.3, the anchor does not improve the features",
    statement="At laptop scale the anchor does not give a better top-1 accuracy than InfoNCE: its "
    "gain is not above zero beyond the interval, and below one point.",
    page=PAGE,
    recorded="partly",
    twin={"flipped": True},
    twin_says="the opposite",
    experiment=True,
)
def no_gain(flipped: bool = False) -> list[Part]:
    """Both ends of the interval of the paired gain."""

    def check(table: Stored) -> list[Part]:
        return at_most("gain of the anchor", ssl_tables.anchor_gain(table), POINT)

    return _judged(flipped, check)


@claim(
    "ssl-constant",
    item="Section 4.3, C(y) is nearly constant or irrelevant",
    statement="At laptop scale C(y) of InfoNCE is nearly constant: the spread of log C(y) over "
    "held-out y is below a quarter of the spread of c over strangers.",
    page=PAGE,
    recorded="reproduced",
    twin={"flipped": True},
    twin_says="the opposite",
    experiment=True,
)
def nearly_constant(flipped: bool = False) -> list[Part]:
    """The upper end of the interval over seeds decides."""

    def check(table: Stored) -> list[Part]:
        found = ssl_tables.scale_spread(table)
        return [
            Part(
                "a quarter less the share", "bound", 0.25 - found.high, 0.0, found.count, str(found)
            )
        ]

    return _judged(flipped, check)


@claim(
    "ssl-ratio",
    item="Section 4.3, ratio recovery is not essential",
    statement="At laptop scale the anchor recovers the scale of the ratio (mean of log C(y) nearer "
    "0 than InfoNCE's, and within a factor of two) and its features are not better.",
    page=PAGE,
    recorded="partly",
    twin={"flipped": True},
    twin_says="the opposite",
    experiment=True,
)
def ratio_not_needed(flipped: bool = False) -> list[Part]:
    """Two parts on the scale, two on the accuracy."""

    def check(table: Stored) -> list[Part]:
        gap, far = ssl_tables.scale_gap(table), ssl_tables.scale_distance(table, "anchor")
        two = math.log(2)
        return [
            worse("nearer to 0 than InfoNCE's", [("mean log C", gap)]),
            Part("within a factor of two", "strict", two - far.high, 0.0, far.count, str(far)),
            *at_most("gain of the anchor", ssl_tables.anchor_gain(table), POINT),
        ]

    return _judged(flipped, check)


@claim(
    "ssl-js",
    item="Section 4.3, JS performs poorly",
    statement="At laptop scale JS has a lower top-1 accuracy than InfoNCE.",
    page=PAGE,
    recorded="reproduced",
    twin={"flipped": True},
    twin_says="the opposite",
    experiment=True,
)
def js_is_poor(flipped: bool = False) -> list[Part]:
    """The paired difference over seeds."""

    def check(table: Stored) -> list[Part]:
        gap = ssl_tables.difference(table, "infonce", "js")
        return [worse("InfoNCE is ahead", [("js", gap)])]

    return _judged(flipped, check)


@claim(
    "ssl-collapse",
    item="Section 4.3, the spherical score collapses",
    statement="At laptop scale features trained with the spherical loss of Table 6 are no better "
    "than the untrained network's with fitted norms: no gain beyond the interval, and below one "
    "point.",
    page=PAGE,
    recorded="not reproduced",
    twin={"flipped": True},
    twin_says="the opposite",
    experiment=True,
)
def collapse(flipped: bool = False) -> list[Part]:
    """Both ends of the interval of the paired gain."""

    def check(table: Stored) -> list[Part]:
        return at_most("gain on the start", ssl_tables.spherical_collapse(table), POINT)

    return _judged(flipped, check)


@claim(
    "ssl-dynamics",
    item="Section 4.3, unfavourable optimisation dynamics",
    statement="The collapse is one of optimisation: at laptop scale the spherical loss times B, "
    "which has the same minimum, gives a higher accuracy than in the sizes of Tables 4 and 6, and "
    "than the untrained network with fitted norms.",
    page=PAGE,
    recorded="reproduced",
    twin={"flipped": True},
    twin_says="the opposite",
    experiment=True,
)
def dynamics(flipped: bool = False) -> list[Part]:
    """Three paired differences."""

    def check(table: Stored) -> list[Part]:
        gaps = {
            other: ssl_tables.difference(table, "spherical-scaled", other)
            for other in ("spherical", "spherical-root", ssl_tables.START)
        }
        return [worse(f"above {other}", [(other, gap)]) for other, gap in gaps.items()]

    return _judged(flipped, check)


@claim(
    "ssl-other-score",
    item="Section 4.3, neither the log score nor PMI is needed (ours)",
    statement="At laptop scale the spherical score with a factorised ratio, its loss multiplied by "
    "B, gives features that are not behind InfoNCE's: no gap beyond the interval, and below one "
    "point. (Written after the table had been seen.)",
    page=PAGE,
    recorded="reproduced",
    twin={"flipped": True},
    twin_says="the opposite",
    experiment=True,
)
def other_score(flipped: bool = False) -> list[Part]:
    """Both ends of the interval of InfoNCE's lead."""

    def check(table: Stored) -> list[Part]:
        gap = ssl_tables.difference(table, "infonce", "spherical-scaled")
        return at_most("lead of InfoNCE", gap, POINT)

    return _judged(flipped, check)
