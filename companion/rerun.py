"""Execute the notebook of one claim up to its verdict, as a reader would."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from .ledger import MIME
from .scoreboard import made, pages


def rerun(id: str, root: Path) -> tuple[list[str], str]:
    """What the cells of the claim show, as text, and the error that one of them raised, or "".

    The notebook's code runs from its first cell to the claim's verdict, in a fresh kernel.
    """
    path = _notebook(id, root)
    notebook = nbformat.read(path, as_version=4)
    first, last = _span(id, notebook.cells)
    notebook.cells = notebook.cells[: last + 1]
    client = NotebookClient(
        notebook, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    )
    error = ""
    try:
        client.execute()
    except CellExecutionError as problem:
        error = f"{problem.ename}: {problem.evalue}"
    shown = [
        output.get("text") or output.get("data", {}).get("text/plain", "")
        for cell in notebook.cells[first:]
        for output in cell.get("outputs", [])
        if output.output_type != "error"
    ]
    return [text.rstrip() for text in shown if text], error


def _notebook(id: str, root: Path) -> Path:
    known = {}
    for path in pages(root):
        for found in made(nbformat.read(path, as_version=4).cells):
            known[found] = path
    if id not in known:
        raise ValueError(
            f"no notebook makes the claim {id!r}; `python -m companion claims` lists the ids"
        )
    return known[id]


def _span(id: str, cells: list[nbformat.NotebookNode]) -> tuple[int, int]:
    """The cell that opens the claim and the one that holds its verdict, by the stored records."""
    first = next(i for i, cell in enumerate(cells) if id in made([cell]))
    last = next(
        (
            i
            for i, cell in enumerate(cells)
            for output in cell.get("outputs", [])
            if output.get("data", {}).get(MIME, {}).get("id") == id
        ),
        first,
    )
    return first, last
