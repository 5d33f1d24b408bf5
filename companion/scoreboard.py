"""The scoreboard: every record that the executed notebooks hold, in the order of the book.

There is no list of claims beside the notebooks. A cell that ends in `verdict(...)` leaves its
record in its output; this module collects them.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat

from .cards import known
from .ledger import MIME


@dataclass(frozen=True)
class Row:
    """A record and where it stands: the notebook, its title and the number of the cell."""

    record: Mapping
    page: str
    title: str
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
    cells = nbformat.read(path, as_version=4).cells
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    title = re.search(r"^# (.+)$", prose, re.M)
    for number, cell in enumerate(cells, 1):
        for output in cell.get("outputs", []):
            if record := output.get("data", {}).get(MIME):
                yield Row(record, name, title[1] if title else name, number)


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
