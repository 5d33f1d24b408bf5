"""Claims of the chapter on self-supervised learning that need no run: three of ours that are exact,
and the sentences of the paper's Section 4.3 that its own table can judge."""

import torch

from ..experiments import ssl_tables
from ..experiments.ssl_sphere import cross_polytope, least_mean_ratio, mean_ratio, spread
from ..experiments.ssl_start import ALPHAS, alpha_sweep
from ..experiments.ssl_symmetry import excess, symmetric_law
from .registry import Part, claim, extreme

PAGE = "experiments/self_supervised"
POINT = 1.0  # a gain below one point of accuracy is none


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
