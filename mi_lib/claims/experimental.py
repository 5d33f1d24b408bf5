"""What claims about stored experiments share.

Such a check reads `results/`. While a table it rests on is absent or partial it returns only a
supporting part that says so: the verdict is then "not run".
"""

from collections.abc import Callable, Sequence

from ..results import Interval, Stored
from .registry import Part


def waiting(tables: Sequence[tuple[str, Stored]]) -> list[Part]:
    """A part for each table that is not complete: how many of its pieces are there."""
    return [
        Part(
            f"waiting for {name}: {len(table.there)} of {len(table.pieces)} pieces are stored",
            "bound",
            float(len(table.there)),
            0.0,
            len(table.there),
            role="support",
        )
        for name, table in tables
        if not table.complete
    ]


def when_complete(
    tables: Sequence[tuple[str, Stored]], check: Callable[[], list[Part]]
) -> list[Part]:
    """The parts of a check once all its tables are complete, until then what is awaited."""
    return waiting(tables) or check()


def worse(name: str, differences: Sequence[tuple[str, Interval]]) -> Part:
    """A part that holds when every paired difference is positive beyond its interval."""
    case, difference = min(differences, key=lambda item: item[1].low)
    return Part(name, "strict", difference.low, 0.0, len(differences), f"{case}: {difference}")
