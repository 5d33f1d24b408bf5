"""Every statement the book makes, as a function that returns the numbers its verdict rests on."""

from . import infonce_ceiling, sharp_ceiling  # noqa: F401  (they register their claims)
from .registry import Claim, Outcome, Part, all_claims, get, show
from .scoreboard import run_all, scoreboard

__all__ = ["Claim", "Outcome", "Part", "all_claims", "get", "run_all", "scoreboard", "show"]
