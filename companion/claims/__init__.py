"""Every statement the book makes, as a function that returns the numbers its verdict rests on."""

from importlib import import_module

from .registry import Claim, Outcome, Part, all_claims, get, show
from .scoreboard import run_all

__all__ = ["Claim", "Outcome", "Part", "all_claims", "get", "run_all", "show"]

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
