"""The scoreboard as a page: tiles with the tally, then a table for each part and chapter.

The page is whole without JavaScript; `book/_static/scoreboard.js` adds a search and filters.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from .cards import known
from .judgement import EXPERIMENT
from .ledger import THEORY
from .scoreboard import Row

BADGES = {
    "holds": "bdg-success",
    "holds with a correction": "bdg-warning",
    "wrong step": "bdg-warning",
    "false as printed": "bdg-danger",
    "reproduced": "bdg-success",
    "partly": "bdg-warning",
    "undecided": "bdg-warning",
    "not reproduced": "bdg-danger",
    "not testable here": "bdg-secondary",
    "not run": "bdg-secondary",
}

HEAD = """# Scoreboard

**What of the paper holds?** Each row is one statement {cite}`ryu2025contrastive`. Its verdict was
derived in the linked cell, from checks that you see there, each beside a wrong version that fails.
"""

WORDS = """*Proved for all*: for everything the statement speaks of. *Proved on the box*: for the
sizes, or on the set of parameters, that the cell names. *Searched*: tried on a family without a
counterexample. *Stored runs*: an experiment. `python -m companion claims` writes this page from the
executed notebooks.
"""


def page(rows: Sequence[Row]) -> str:
    """The book's page: the paper's statements, steps of its proofs, ours, and the experiments."""
    theory = [row for row in rows if not row.experiment]
    paper = [row for row in theory if row.of_the_paper]
    parts = [
        ("The paper's statements", [row for row in paper if not row.proof], THEORY),
        ("Steps of its proofs", [row for row in paper if row.proof], THEORY),
        ("Our statements", [row for row in theory if not row.of_the_paper], THEORY),
        ("Experiments", [row for row in rows if row.experiment], EXPERIMENT),
    ]
    parts = [part for part in parts if part[1]]
    text = [HEAD, *_tiles(parts), WORDS]
    for title, chosen, _ in parts:
        text += [f"## {title}\n", *_tables(chosen)]
    return "\n".join(text)


def _tiles(parts: Sequence[tuple[str, Sequence[Row], Sequence[str]]]) -> Iterator[str]:
    """A card for each part: how many rows it has, and how many have each verdict."""
    yield f"::::{{grid}} 1 2 {len(parts)} {len(parts)}\n:gutter: 2\n"
    for title, rows, verdicts in parts:
        counts = Counter(row.record["verdict"] for row in rows)
        lines = [f"**{counts[v]}** {v}" for v in verdicts if counts[v]]
        body = "\\\n".join(lines)
        yield f":::{{grid-item-card}} {len(rows)} · {title}\n{body}\n:::\n"
    yield "::::\n"


def _tables(rows: Sequence[Row]) -> Iterator[str]:
    """A table for each chapter."""
    for chapter, group in groupby(rows, key=lambda row: (row.page, row.title)):
        yield f"### {{doc}}`{chapter[1]} </{chapter[0]}>`\n"
        yield "\n".join(
            ["| Verdict | Statement | Evidence |", "|---|---|---|", *map(_row, group), ""]
        )


def without_bars(statement: str) -> str:
    r"""The statement with its bars spelt out: a bar would end the cell of a table.

    >>> without_bars(r"$D(p(x|y)\|q)$")
    '$D(p(x\\vert y)\\Vert q)$'
    """
    return statement.replace(r"\|", r"\Vert ").replace("|", r"\vert ")


def _row(row: Row) -> str:
    record, parts = row.record, row.record["parts"]
    wrong = sum(bool(part["fails"]) for part in parts)
    checks = f"{len(parts)} check{'s' if len(parts) > 1 else ''}"
    return (
        f"| {{{BADGES[record['verdict']]}}}`{record['verdict']}` "
        f"| {{ref}}`{record['item']} <claim-{record['id']}>`: "
        f"{without_bars(record['statement'])} "
        f"| {known(record)}; {checks}{f', {wrong} wrong versions' if wrong else ''} |"
    )
