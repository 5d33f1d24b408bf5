"""Claims on stored runs: a sentence, the function that judges it, and the verdict on record.

A check reads `results/` and returns parts. A part carries a margin (positive: slack; negative:
violated), a tolerance, how many cases were tried and which was worst; whether it holds follows from
these, and the verdict of the claim from its parts (`companion.ledger.Judgement`). While a table is
absent or partial a check returns no statement: the verdict is then "not run".

Each claim has a twin: the same check with other arguments, for a sentence that must come out
differently. Where nobody knew the outcome before the run the twin is the opposite, which differs by
construction; that each part can fail is then shown by tests on invented tables.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mi_lib.validate import one_of

from ..judgement import EXPERIMENT, Judgement

# Where the runs were not made at the paper's settings.
SETTINGS = {
    "experiments/self_supervised": "laptop settings",
    "experiments/proteins": "substitute embeddings",
}


@dataclass(frozen=True)
class Part:
    """One number that a check computed.

    kind "bound": holds when margin >= -tolerance; "strict": when margin > tolerance; "equal": when
    the margin is within the tolerance of 0.

    role "statement": what is claimed; "support": about the evidence, such as which pieces are
    awaited; must hold whatever the verdict is.
    """

    name: str
    kind: str
    margin: float
    tolerance: float
    cases: int
    worst: str = ""
    role: str = "statement"

    @property
    def holds(self) -> bool:
        """Whether the numbers bear the part out (NaN never does)."""
        one_of("role", self.role, ("statement", "support"))
        return {
            "bound": self.margin >= -self.tolerance,
            "strict": self.margin > self.tolerance,
            "equal": abs(self.margin) <= self.tolerance,
        }[one_of("kind", self.kind, ("bound", "strict", "equal"))]

    @property
    def found(self) -> str:
        """The numbers in words, with digits that are the same on every machine."""
        margin = f"{self.margin:+.4f}".replace("-0.0000", "+0.0000")
        tie = margin == "+0.0000"  # which of many zeros is the worst is a matter of rounding
        tolerance = f"tolerance {self.tolerance:.0e}" if self.tolerance else "exact"
        worst = f", worst at {self.worst}" if self.worst and not tie else ""
        cases = "1 case" if self.cases == 1 else f"{self.cases:,} cases"
        return f"{self.kind} {margin} ({tolerance}; {cases}{worst})"


def extreme(
    name: str,
    kind: str,
    cases: Sequence[tuple[float, str]],
    tolerance: float = 1e-9,
    role: str = "statement",
) -> Part:
    """A part from many cases (margin, description): the worst of them decides."""
    pick = (lambda case: -abs(case[0])) if kind == "equal" else (lambda case: case[0])
    nan = [case for case in cases if case[0] != case[0]]  # `min` may pass over one
    margin, worst = nan[0] if nan else min(cases, key=pick)
    return Part(name, kind, float(margin), tolerance, len(cases), worst, role)


@dataclass(frozen=True)
class Claim:
    """A statement of the paper (or ours), where it stands and how it is checked."""

    id: str
    item: str
    statement: str
    page: str
    recorded: str
    check: Callable[..., list[Part]]
    twin: Mapping[str, Any]
    twin_says: str

    def run(self) -> "Outcome":
        """Check the statement as it is recorded."""
        return Outcome(self, self.check())

    def run_twin(self) -> "Outcome":
        """Check the falsified statement."""
        return Outcome(self, self.check(**self.twin))


@dataclass(frozen=True)
class Outcome:
    """What a check found, and the verdict that follows."""

    claim: Claim
    parts: list[Part]

    @property
    def verdict(self) -> str:
        """The verdict that follows from the parts."""
        return self.judgement(quiet=True).derived()

    def judgement(self, quiet: bool = False) -> Judgement:
        """The parts in the form that cells show and leave."""
        claim = self.claim
        setting = SETTINGS.get(claim.page, "paper's settings")
        judged = Judgement(claim.id, claim.item, claim.statement, setting, quiet=quiet)
        for part in self.parts:
            judged.measured(part.name, part.found, part.holds, part.role)
        return judged

    @property
    def broken(self) -> list[Part]:
        """Supporting parts that fail: the evidence itself is wrong."""
        return [p for p in self.parts if p.role == "support" and not p.holds]


_CLAIMS: dict[str, Claim] = {}


def claim(
    id: str,
    *,
    item: str,
    statement: str,
    page: str,
    recorded: str,
    twin: Mapping[str, Any],
    twin_says: str,
) -> Callable[[Callable[..., list[Part]]], Callable[..., list[Part]]]:
    """Register a check under ``id``."""
    one_of("recorded", recorded, EXPERIMENT)

    def register(check: Callable[..., list[Part]]) -> Callable[..., list[Part]]:
        if id in _CLAIMS:
            raise ValueError(f"claim {id!r} is registered twice; give one of them another id")
        _CLAIMS[id] = Claim(id, item, statement, page, recorded, check, twin, twin_says)
        return check

    return register


def all_claims() -> list[Claim]:
    """Every claim, in the order of the book."""
    return list(_CLAIMS.values())


def get(id: str) -> Claim:
    """The claim of that id."""
    return _CLAIMS[one_of("claim", id, _CLAIMS)]


def problems(outcome: Outcome, twin: Outcome) -> list[str]:
    """What is wrong with a claim: a verdict that differs from the record, broken evidence, or a
    twin that the check cannot tell apart."""
    claim, found = outcome.claim, []
    if outcome.verdict != claim.recorded:
        found.append(f"{claim.id}: recorded {claim.recorded!r}, but computed {outcome.verdict!r}")
    found += [f"{claim.id}: evidence fails: {part.name}" for part in outcome.broken]
    if twin.verdict == outcome.verdict and outcome.verdict != "not run":
        found.append(f"{claim.id}: its falsified twin ({claim.twin_says}) is also {twin.verdict!r}")
    return found


def show(id: str) -> None:
    """Check one claim, show what it found, leave its record; an error if the record differs."""
    outcome = get(id).run()
    if wrong := problems(outcome, get(id).run_twin()):
        raise AssertionError("; ".join(wrong))
    outcome.judgement().verdict(outcome.verdict, "")
