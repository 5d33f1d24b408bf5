"""Run the claims and lay the verdicts out: lines for a terminal, a page for the book."""

from collections.abc import Sequence

from .registry import Claim, Outcome, all_claims, problems

_BADGES = {
    "holds": "bdg-success",
    "holds with correction": "bdg-warning",
    "refuted": "bdg-danger",
    "reproduced": "bdg-success",
    "partly": "bdg-warning",
    "not reproduced": "bdg-danger",
    "not run": "bdg-secondary",
}

_HEAD = """# Scoreboard

What of the paper holds. Each row is one statement; its verdict was computed from the numbers in the
linked cell, not typed. A *falsified twin* is the same check run on a deliberately wrong version of
the statement: it must come out differently, or the check could not fail. (Of experiments whose
outcome nobody knew the twin is the opposite, which differs by construction; that such a check can
fail is tested on invented tables.) Statements marked *ours* are not in the paper
{cite}`ryu2025contrastive`.

This page is written by `python -m companion claims`; a disagreement between a computed and a
recorded verdict is an error there and fails the build.

| Verdict | Statement | Evidence |
|---|---|---|
"""


def run_all(claims: Sequence[Claim] | None = None) -> list[tuple[Outcome, Outcome]]:
    """Each claim's outcome and its twin's."""
    chosen = all_claims() if claims is None else claims
    return [(claim.run(), claim.run_twin()) for claim in chosen]


def scoreboard(results: Sequence[tuple[Outcome, Outcome]]) -> str:
    """The book's page."""
    rows = [_row(outcome, twin) for outcome, twin in results]
    return _HEAD + "\n".join(rows) + "\n"


def _row(outcome: Outcome, twin: Outcome) -> str:
    claim = outcome.claim
    cases = sum(part.cases for part in outcome.parts)
    link = f"{{ref}}`{claim.item} <claim-{claim.id}>`"
    return (
        f"| {{{_BADGES[outcome.verdict]}}}`{outcome.verdict}` "
        f"| {link}: {claim.statement} "
        f"| {len(outcome.parts)} checks, {cases:,} cases. "
        f"Twin ({claim.twin_says}): {twin.verdict} |"
    )


def lines(results: Sequence[tuple[Outcome, Outcome]]) -> list[str]:
    """The scoreboard for a terminal."""
    width = max(len(outcome.claim.item) for outcome, _ in results)
    return [
        f"{outcome.verdict:8}  {outcome.claim.item:{width}}  {outcome.claim.id:24}  "
        f"twin ({outcome.claim.twin_says}): {twin.verdict}"
        for outcome, twin in results
    ]


def all_problems(results: Sequence[tuple[Outcome, Outcome]]) -> list[str]:
    """Every disagreement, in words."""
    return [problem for outcome, twin in results for problem in problems(outcome, twin)]
