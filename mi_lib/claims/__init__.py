"""Every statement the book makes, as a function that returns the numbers its verdict rests on."""

from importlib import import_module

from .registry import Claim, Outcome, Part, all_claims, get, show
from .scoreboard import run_all, scoreboard

__all__ = ["Claim", "Outcome", "Part", "all_claims", "get", "run_all", "scoreboard", "show"]

# In the order of the book; importing a module registers its claims.
CHAPTERS = (
    "infonce_ceiling",
    "sharp_ceiling",
)
for _chapter in CHAPTERS:
    import_module(f".{_chapter}", __name__)
