"""Claims of the chapter on self-supervised learning: two of ours that are exact, and each sentence
of the paper's Section 4.3 that can be judged by the laptop table."""

import torch

from ..experiments import ssl_tables
from ..experiments.ssl_start import ALPHAS, alpha_sweep
from ..experiments.ssl_symmetry import excess, symmetric_law
from ..results import Interval
from .experimental import when_complete, worse
from .registry import Part, claim, extreme

PAGE = "experiments/self_supervised"


def _laptop():
    return [("the laptop table", ssl_tables.stored("laptop"))]


def _no_better(name: str, gap: Interval) -> Part:
    """A part that holds unless the paired difference is positive beyond its interval."""
    return Part(name, "bound", -gap.low, 0.0, gap.count, str(gap))


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
    "ssl-strongest",
    item="Section 4.3, InfoNCE is the strongest",
    statement="At laptop scale InfoNCE yields the strongest representations: a higher top-1 "
    "accuracy than each of the four other objectives, paired over seeds.",
    page=PAGE,
    recorded="not run",
    twin={"best": "spherical"},
    twin_says="the spherical score is the strongest",
    experiment=True,
)
def strongest(best: str = "infonce") -> list[Part]:
    """One part an objective, so that a part of the statement can be true."""
    tables = _laptop()

    def check() -> list[Part]:
        leads = ssl_tables.strongest(tables[0][1], best)
        return [worse(f"ahead of {name}", [(name, gap)]) for name, gap in leads.items()]

    return when_complete(tables, check)


@claim(
    "ssl-anchor",
    item="Abstract and Section 4.3, the anchor does not improve the features",
    statement="At laptop scale the anchor does not give a better top-1 accuracy than InfoNCE.",
    page=PAGE,
    recorded="not run",
    twin={"name": "supervised"},
    twin_says="labels do not give a better accuracy",
    experiment=True,
)
def no_gain(name: str = "anchor") -> list[Part]:
    """Holds unless the paired gain is positive beyond its interval."""
    tables = _laptop()

    def check() -> list[Part]:
        gap = ssl_tables.difference(tables[0][1], name, "infonce")
        return [_no_better(f"{name} is not better than InfoNCE", gap)]

    return when_complete(tables, check)


@claim(
    "ssl-constant",
    item="Section 4.3, C(y) is nearly constant or irrelevant",
    statement="At laptop scale C(y) of InfoNCE is nearly constant: the spread of log C(y) over "
    "held-out y is below a quarter of the spread of c over strangers.",
    page=PAGE,
    recorded="not run",
    twin={"share": 0.0},
    twin_says="exactly constant",
    experiment=True,
)
def nearly_constant(share: float = 0.25) -> list[Part]:
    """The upper end of the interval over seeds decides."""
    tables = _laptop()

    def check() -> list[Part]:
        found = ssl_tables.scale_spread(tables[0][1])
        return [Part("share less the spread", "bound", share - found.high, 0.0, 3, str(found))]

    return when_complete(tables, check)


@claim(
    "ssl-ratio",
    item="Section 4.3, ratio recovery is not essential",
    statement="At laptop scale the anchor's ratio is better normalised than InfoNCE's (mean of "
    "log C(y) nearer 0) and its features are not better.",
    page=PAGE,
    recorded="not run",
    twin={"swapped": True},
    twin_says="InfoNCE's ratio is better normalised",
    experiment=True,
)
def ratio_not_needed(swapped: bool = False) -> list[Part]:
    """Two parts: the scale, and the accuracy."""
    tables = _laptop()

    def check() -> list[Part]:
        gap, gain = ssl_tables.scale_gap(tables[0][1]), ssl_tables.anchor_gain(tables[0][1])
        low = -gap.high if swapped else gap.low
        return [
            Part("distance of log C from 0: InfoNCE's less the anchor's", "strict", low, 0.0, 3),
            _no_better("the anchor's accuracy is not better", gain),
        ]

    return when_complete(tables, check)


@claim(
    "ssl-js",
    item="Section 4.3, JS performs poorly",
    statement="At laptop scale JS has a lower top-1 accuracy than InfoNCE.",
    page=PAGE,
    recorded="not run",
    twin={"swapped": True},
    twin_says="InfoNCE has the lower accuracy",
    experiment=True,
)
def js_is_poor(swapped: bool = False) -> list[Part]:
    """The paired difference over seeds."""
    pair = ("js", "infonce") if swapped else ("infonce", "js")
    tables = _laptop()
    return when_complete(
        tables,
        lambda: [worse(f"{pair[1]} is lower", [(pair[1], _gap(tables, *pair))])],
    )


@claim(
    "ssl-collapse",
    item="Section 4.3, the spherical score collapses",
    statement="At laptop scale features trained with the spherical score are no better than the "
    "untrained network's.",
    page=PAGE,
    recorded="not run",
    twin={"name": "supervised"},
    twin_says="nor are those trained with labels",
    experiment=True,
)
def collapse(name: str = "spherical") -> list[Part]:
    """Holds unless the paired gain is positive beyond its interval."""
    tables = _laptop()
    return when_complete(
        tables,
        lambda: [_no_better(f"{name} on the untrained network", _gap(tables, name, "untrained"))],
    )


@claim(
    "ssl-dynamics",
    item="Section 4.3, unfavourable optimisation dynamics",
    statement="The collapse is one of optimisation: at laptop scale, multiplying the spherical "
    "loss by B, which moves no minimum, gives a higher accuracy than without it, and than the "
    "untrained network's.",
    page=PAGE,
    recorded="not run",
    twin={"scaled": "spherical", "plain": "spherical-scaled"},
    twin_says="dividing it by B does",
    experiment=True,
)
def dynamics(scaled: str = "spherical-scaled", plain: str = "spherical") -> list[Part]:
    """Two paired differences."""
    tables = _laptop()
    return when_complete(
        tables,
        lambda: [
            worse(f"{scaled} above {other}", [(other, _gap(tables, scaled, other))])
            for other in (plain, "untrained")
        ],
    )


def _gap(tables, a: str, b: str) -> Interval:
    return ssl_tables.difference(tables[0][1], a, b)
