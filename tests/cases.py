"""What several test files share: the rules to try, and one run of all claims a session."""

import functools
from dataclasses import dataclass
from pathlib import Path

from companion.claims import all_claims
from companion.claims.scoreboard import run_all
from companion.scoreboard import collect
from mi_lib import InverseLog, Kliep, Log, Power, PseudoSpherical, RobustDRE, SymmetricInverseLog

ALPHAS = (-1, 0.5, 1.5, 2, 3)
SYMMETRIC = [
    Log(),
    *(Power(alpha) for alpha in ALPHAS),
    *(PseudoSpherical(alpha) for alpha in ALPHAS),
    SymmetricInverseLog(),
]
ASYMMETRIC = [Kliep(), *(RobustDRE(alpha) for alpha in ALPHAS), InverseLog()]
RULES = SYMMETRIC + ASYMMETRIC


@functools.cache
def claim_results():
    """Each claim's outcome and its twin's; about 20 s, so once for all tests."""
    return run_all()


@dataclass(frozen=True)
class Recorded:
    """A claim of the book: registered in `companion.claims`, or made in a cell of a notebook."""

    id: str
    item: str
    verdict: str
    experiment: bool
    label: str = ""


@functools.cache
def recorded_claims():
    """Every claim with the verdict that is stored for it; none is run."""
    registered = [
        Recorded(c.id, c.item, c.recorded, bool(c.experiment), c.label) for c in all_claims()
    ]
    known = {c.id for c in registered}
    rows = [row for row in collect(Path(__file__).parents[1]) if row.record["id"] not in known]
    return registered + [
        Recorded(
            row.record["id"],
            row.record["item"].removeprefix("Paper, "),
            row.record["verdict"],
            row.experiment,
        )
        for row in rows
    ]
