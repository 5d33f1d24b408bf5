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
    tables: Sequence[tuple[str, Stored]], check: Callable[[], list[Part]], flipped: bool = False
) -> list[Part]:
    """The parts of a check once all its tables are complete, until then what is awaited; flipped,
    the opposite of the check."""
    return waiting(tables) or ([opposite(check())] if flipped else check())


def opposite(parts: Sequence[Part]) -> Part:
    """A part that holds when some part of a statement fails: a twin for a statement of which
    nobody knows, before the run, whether it is true. It differs by construction; that the check
    itself can fail is shown by tests on invented tables."""
    failing = [part.name for part in parts if part.role == "statement" and not part.holds]
    return Part("not all of this", "strict", len(failing), 0.0, len(parts), "; ".join(failing))


def at_most(name: str, gain: Interval, margin: float) -> list[Part]:
    """Two parts: a gain is not positive beyond its interval, and the interval ends below a margin,
    without which the first would hold for want of seeds."""
    return [
        Part(f"{name}: not positive", "bound", -gain.low, 0.0, gain.count, str(gain)),
        Part(f"{name}: below {margin:g}", "strict", margin - gain.high, 0.0, gain.count, str(gain)),
    ]


def worse(name: str, differences: Sequence[tuple[str, Interval]]) -> Part:
    """A part that holds when every paired difference is positive beyond its interval."""
    case, difference = min(differences, key=lambda item: item[1].low)
    return Part(name, "strict", difference.low, 0.0, len(differences), f"{case}: {difference}")
