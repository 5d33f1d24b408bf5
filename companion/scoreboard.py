"""The scoreboard: every record that the executed notebooks hold, as a page and as lines.

There is no list of claims beside the notebooks. A cell that ends in `verdict(...)` leaves its
record in its output; this module collects them in the order of the book.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat

from .cards import known
from .ledger import EXPERIMENT, MIME, THEORY

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


@dataclass(frozen=True)
class Row:
    """A record and where it stands: the notebook and the number of its cell."""

    record: Mapping
    page: str
    cell: int

    @property
    def of_the_paper(self) -> bool:
        """Whether the statement is the paper's; ours have another name."""
        return self.record["item"].startswith("Paper")

    @property
    def experiment(self) -> bool:
        """Whether it rests on stored runs."""
        return self.record["kind"] == "experiment"

    @property
    def proof(self) -> bool:
        """Whether it is a step of a proof, which is no statement."""
        return self.record["kind"] == "proof step"


def pages(root: Path) -> list[Path]:
    """The notebooks of the book, in the order of its table of contents."""
    names = re.findall(r"^\s*- file: (\S+)", (root / "_toc.yml").read_text(encoding="utf-8"), re.M)
    return [path for name in names if (path := root / f"{name}.ipynb").is_file()]


def collect(root: Path) -> list[Row]:
    """Every record of the book's executed notebooks."""
    return [row for path in pages(root) for row in records(path, root)]


def records(path: Path, root: Path) -> Iterator[Row]:
    """The records of one notebook."""
    name = path.relative_to(root).with_suffix("").as_posix()
    for number, cell in enumerate(nbformat.read(path, as_version=4).cells, 1):
        for output in cell.get("outputs", []):
            if record := output.get("data", {}).get(MIME):
                yield Row(record, name, number)


def problems(rows: Sequence[Row], root: Path) -> list[str]:
    """What is wrong: an id twice, a claim that left no record, an anchor that is missing."""
    found = [
        f"{id}: {n} cells give a verdict; give one of them another id"
        for id, n in Counter(row.record["id"] for row in rows).items()
        if n > 1
    ]
    for path in pages(root):
        cells = nbformat.read(path, as_version=4).cells
        targets = {
            id for cell in cells for id in re.findall(r"^\(claim-(.+)\)=$", cell.source, re.M)
        }
        stored = {row.record["id"] for row in records(path, root)}
        found += [
            f"{id}: {path.name} makes this claim and stores no verdict: run `make refresh`"
            for id in made(cells)
            if id not in stored
        ]
        found += [f"{id}: {path.name} lacks the target (claim-{id})=" for id in stored - targets]
        found += [f"{id}: {path.name} has its target and no claim" for id in targets - stored]
    return found


def made(cells: Sequence[nbformat.NotebookNode]) -> list[str]:
    """The ids of the claims that code cells make."""
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    return re.findall(r"\b(?:Claim|claims\.show)\(\s*\"([^\"]+)\"", code)


def lines(rows: Sequence[Row]) -> list[str]:
    """The scoreboard for a terminal."""
    verdict = max((len(row.record["verdict"]) for row in rows), default=0)
    item = max((len(row.record["item"]) for row in rows), default=0)
    return [
        f"{row.record['verdict']:{verdict}}  {row.record['item']:{item}}  {row.record['id']:24}  "
        f"{known(row.record)}"
        for row in rows
    ]


def tally(rows: Sequence[Row], verdicts: Sequence[str]) -> str:
    """How many have each verdict, in words."""
    counts = Counter(row.record["verdict"] for row in rows)
    return ", ".join(f"{counts[v]} {v}" for v in verdicts if counts[v])


HEAD = """# Scoreboard

What of the paper holds. Each row is one statement; its verdict was derived, in the linked cell,
from checks that the reader sees there. Each check stands beside a wrong version that was seen to
fail.

*Evidence* says how a verdict is known: **proved for all** that the statement speaks of; **proved on
the box**, that is for the sizes or on the set of parameters that the cell names; **searched**,
tried on a family without a counterexample; **stored runs**, an experiment. Statements that are
ours, not the paper's {cite}`ryu2025contrastive`, stand apart.

This page is written by `python -m companion claims` from the executed notebooks.
"""


def page(rows: Sequence[Row]) -> str:
    """The book's page: the paper's statements, steps of its proofs, ours, and the experiments."""
    theory = [row for row in rows if not row.experiment]
    paper = [row for row in theory if row.of_the_paper]
    groups = [
        ("The paper's statements", [row for row in paper if not row.proof], THEORY),
        ("Steps of its proofs", [row for row in paper if row.proof], THEORY),
        ("Ours", [row for row in theory if not row.of_the_paper], THEORY),
        ("Experiments", [row for row in rows if row.experiment], EXPERIMENT),
    ]
    text = [HEAD]
    for title, chosen, verdicts in groups:
        if chosen:
            text += [f"## {title}\n", f"{len(chosen)} rows: {tally(chosen, verdicts)}.\n"]
            text += ["| Verdict | Statement | Evidence |", "|---|---|---|", *map(_row, chosen), ""]
    return "\n".join(text)


def _row(row: Row) -> str:
    record = row.record
    parts = record["parts"]
    wrong = sum(bool(part["fails"]) for part in parts)
    checks = f"{len(parts)} check{'s' if len(parts) > 1 else ''}"
    return (
        f"| {{{BADGES[record['verdict']]}}}`{record['verdict']}` "
        f"| {{ref}}`{record['item']} <claim-{record['id']}>`: {record['statement']} "
        f"| {known(record)}; {checks}{f', {wrong} falsified' if wrong else ''} |"
    )
