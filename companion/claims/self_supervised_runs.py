"""Claims of the chapter on self-supervised learning that the laptop table judges: the sentences of
the paper's Section 4.3, and one of ours."""

import math
from collections.abc import Callable

from ..experiments import ssl_tables
from ..results import Stored
from .experimental import at_most, when_complete, worse
from .registry import Part, claim

PAGE = "experiments/self_supervised"
POINT = 1.0  # a gain below one point of accuracy is none


def _judged(flipped: bool, check: Callable[[Stored], list[Part]]) -> list[Part]:
    """The parts of a check of the laptop table."""
    table = ssl_tables.stored("laptop")
    return when_complete([("the laptop table", table)], lambda: check(table), flipped)


@claim(
    "ssl-strongest",
    item="Section 4.3, InfoNCE is the strongest",
    statement="At laptop scale InfoNCE yields the strongest representations: a higher top-1 "
    "accuracy than each of the four other objectives, paired over seeds.",
    page=PAGE,
    recorded="partly",
    twin={"flipped": True},
    twin_says="the opposite",
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
)
def other_score(flipped: bool = False) -> list[Part]:
    """Both ends of the interval of InfoNCE's lead."""

    def check(table: Stored) -> list[Part]:
        gap = ssl_tables.difference(table, "infonce", "spherical-scaled")
        return at_most("lead of InfoNCE", gap, POINT)

    return _judged(flipped, check)
