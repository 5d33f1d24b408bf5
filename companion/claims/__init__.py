"""Sentences about experiments, each with the function that judges it on stored runs."""

from importlib import import_module

from .registry import Claim, Outcome, Part, all_claims, get, show

__all__ = ["Claim", "Outcome", "Part", "all_claims", "get", "show"]

# In the order of the book; importing a module registers its claims.
CHAPTERS = (
    "staircase",
    "staircase_reasons",
    "staircase_published",
    "cubed",
    "trained_slopes",
    "staircase_ablations",
    "staircase_fresh",
    "decodable",
    "self_supervised_runs",
    "proteins",
)
for _chapter in CHAPTERS:
    import_module(f".{_chapter}", __name__)
