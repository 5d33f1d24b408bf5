"""A claim: a statement, the function that checks it, and the verdict that follows from its numbers.

A check returns a list of parts. A part carries a margin (positive: slack; negative: violated), a
tolerance, how many cases were tried and which was worst; whether it holds follows from these. The
verdict of a claim follows from its parts and is compared with the recorded one. Each claim also has
a falsified twin: the same check on a statement with a flipped sign, a dropped factor or a swapped
bound. A check that gives the twin the same verdict proves nothing and is reported as an error.

An experimental claim reads stored results. Its check returns no statement while its table is absent
or partial: the verdict is then "not run", and the twin has nothing to tell apart.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from mi_lib.normal_form import reduce
from mi_lib.validate import one_of

from .. import cards
from ..ledger import MIME, Judgement

VERDICTS = (
    "holds",
    "holds with correction",
    "refuted",
    "reproduced",
    "partly",
    "not reproduced",
    "not run",
)


@dataclass(frozen=True)
class Part:
    """One number that a check computed.

    kind "bound": holds when margin >= -tolerance; "strict": when margin > tolerance; "equal": when
    the margin is within the tolerance of 0.

    role "statement": what is claimed; "correction": what is true instead, where the statement as
    printed fails; "support": about the evidence (an exact counterexample, say), and must hold
    whatever the verdict is.
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
        one_of("role", self.role, ("statement", "correction", "support"))
        return {
            "bound": self.margin >= -self.tolerance,
            "strict": self.margin > self.tolerance,
            "equal": abs(self.margin) <= self.tolerance,
        }[one_of("kind", self.kind, ("bound", "strict", "equal"))]

    def text(self) -> str:
        """Two lines for people, with digits that are the same on every machine."""
        margin = f"{self.margin:+.4f}".replace("-0.0000", "+0.0000")
        tie = margin == "+0.0000"  # which of many zeros is the worst is a matter of rounding
        tolerance = f"tolerance {self.tolerance:.0e}" if self.tolerance else "exact"
        worst = f", worst at {self.worst}" if self.worst and not tie else ""
        prefix = {"correction": "corrected: ", "support": "support: "}.get(self.role, "")
        cases = "1 case" if self.cases == 1 else f"{self.cases:,} cases"
        return (
            f"  {'ok' if self.holds else 'NO'}  {prefix}{self.name}\n"
            f"      {self.kind:6} {margin} ({tolerance}; {cases}{worst})"
        )


def identity(name: str, *residuals: sp.Expr, role: str = "statement") -> Part:
    """A part that holds when every symbolic residual reduces to zero."""
    reduced = [reduce(residual) for residual in residuals]
    left = [r for r in reduced if r != 0]
    worst = f"{sp.srepr(left[0])[:60]} is left" if left else ""
    return Part(name, "equal", float(len(left)), 0.0, len(reduced), worst, role)


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
    label: str
    statement: str
    page: str
    recorded: str
    check: Callable[..., list[Part]]
    twin: Mapping[str, Any]
    twin_says: str
    experiment: bool = False

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
        """holds when the statement's parts hold; otherwise, holds with correction when there are
        parts of a correction and these hold; otherwise refuted. Of an experiment: reproduced,
        partly or not reproduced when all, some or none of the statement's parts hold."""
        statement = [p.holds for p in self.parts if p.role == "statement"]
        if not statement:
            return "not run"
        if self.claim.experiment:
            if all(statement):
                return "reproduced"
            return "partly" if any(statement) else "not reproduced"
        if all(statement):
            return "holds"
        correction = [p.holds for p in self.parts if p.role == "correction"]
        return "holds with correction" if correction and all(correction) else "refuted"

    @property
    def broken(self) -> list[Part]:
        """Supporting parts that fail: the evidence itself is wrong."""
        return [p for p in self.parts if p.role == "support" and not p.holds]

    def report(self) -> str:
        """The verdict and the numbers behind it."""
        title = f"{self.claim.item}: {self.verdict}"
        return "\n".join([title, *(part.text() for part in self.parts)])


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
    label: str = "",
    experiment: bool = False,
) -> Callable[[Callable[..., list[Part]]], Callable[..., list[Part]]]:
    """Register a check under ``id``; ``label`` is the paper's LaTeX label where it has one."""
    one_of("recorded", recorded, VERDICTS)

    def register(check: Callable[..., list[Part]]) -> Callable[..., list[Part]]:
        if id in _CLAIMS:
            raise ValueError(f"claim {id!r} is registered twice; give one of them another id")
        _CLAIMS[id] = Claim(
            id, item, label, statement, page, recorded, check, twin, twin_says, experiment
        )
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


SETTINGS = {
    "experiments/self_supervised": "laptop settings",
    "experiments/proteins": "substitute embeddings",
}


def judgement(outcome: Outcome, quiet: bool = False) -> Judgement:
    """The outcome of an experimental claim in the form that cells show and leave."""
    claim = outcome.claim
    setting = SETTINGS.get(claim.page, "paper's settings")
    judged = Judgement(claim.id, claim.item, claim.statement, setting, quiet=quiet)
    for part in outcome.parts:
        judged.measured(part.name, part.text().splitlines()[1].strip(), part.holds, part.role)
    return judged


def show(id: str) -> None:
    """Check one claim, show what it found, leave its record; an error if the record differs."""
    outcome = get(id).run()
    if wrong := problems(outcome, get(id).run_twin()):
        raise AssertionError("; ".join(wrong))
    if outcome.claim.experiment:
        judgement(outcome).verdict(outcome.verdict, "")
        return
    found = _record(outcome)
    cards.show(cards.card_html(found), outcome.report(), {MIME: found})


def _record(outcome: Outcome) -> dict[str, Any]:
    claim = outcome.claim
    parts = [
        {
            "name": part.name,
            "role": part.role,
            "evidence": "searched",
            "found": part.text().splitlines()[1].strip(),
            "wrong": claim.twin_says,
            "fails": "another verdict",
            "not_falsified": "",
            "formula": "",
        }
        for part in outcome.parts
    ]
    words = {"holds with correction": "holds with a correction", "refuted": "false as printed"}
    return {
        "id": claim.id,
        "item": claim.item,
        "statement": claim.statement,
        "verdict": words.get(outcome.verdict, outcome.verdict),
        "evidence": "searched",
        "sentence": "",
        "key": "",
        "kind": "statement",
        "parts": parts,
    }
