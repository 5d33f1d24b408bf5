"""Run the claims of the registry together."""

from collections.abc import Sequence

from .registry import Claim, Outcome, all_claims, problems


def run_all(claims: Sequence[Claim] | None = None) -> list[tuple[Outcome, Outcome]]:
    """Each claim's outcome and its twin's."""
    chosen = all_claims() if claims is None else claims
    return [(claim.run(), claim.run_twin()) for claim in chosen]


def all_problems(results: Sequence[tuple[Outcome, Outcome]]) -> list[str]:
    """Every disagreement, in words."""
    return [problem for outcome, twin in results for problem in problems(outcome, twin)]
