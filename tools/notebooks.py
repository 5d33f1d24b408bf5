"""Notebooks as files: read, remove what changes from run to run, write, compare."""

from pathlib import Path

import nbformat
from nbformat import NotebookNode

# Written by papermill, Jupyter and editors at every run or by every user; never by an author.
VOLATILE_CELL = ("papermill", "execution", "collapsed", "scrolled", "ExecuteTime")
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def read(path: Path) -> NotebookNode:
    """The notebook in format 4."""
    return nbformat.read(path, as_version=4)


def clean(notebook: NotebookNode) -> NotebookNode:
    """Remove run-dependent metadata in place, and join neighbouring pieces of one stream.

    A kernel sends long printed output in pieces that depend on timing; joined, two runs agree.
    """
    notebook.metadata.pop("papermill", None)
    notebook.metadata.get("language_info", {}).pop("version", None)
    notebook.metadata["kernelspec"] = NotebookNode(KERNEL)
    for cell in notebook.cells:
        for key in VOLATILE_CELL:
            cell.metadata.pop(key, None)
        if cell.metadata.get("tags") == []:
            del cell.metadata["tags"]
        if is_injected(cell):
            cell["id"] = "injected-parameters"  # papermill draws a new one each time
            # A page shows the cell with the parameters; the same values below it say nothing new.
            cell.metadata["tags"] = ["injected-parameters", "remove-cell"]
        if cell.cell_type == "code":
            cell.outputs = joined_streams(cell.outputs)
    return notebook


def joined_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Outputs with consecutive pieces of the same stream made one."""
    joined: list[NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if (
            last is not None
            and output.output_type == last.output_type == "stream"
            and output.name == last.name
        ):
            last.text += output.text
        else:
            joined.append(output)
    return joined


def strip(notebook: NotebookNode) -> NotebookNode:
    """Remove the outputs and the execution counts in place, too."""
    for cell in clean(notebook).cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


def without_pixels(notebook: NotebookNode) -> NotebookNode:
    """Remove the pixels of figures in place: nbval does not compare them, and they are most of a
    file. That there was a figure, its size and its kind stay."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("image/png", None)
    return notebook


def write(notebook: NotebookNode, path: Path) -> bool:
    """Store the notebook; True where the file changed."""
    text = nbformat.writes(notebook).rstrip("\n") + "\n"
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True


def is_injected(cell: NotebookNode) -> bool:
    """Whether papermill wrote this cell to set parameters."""
    return "injected-parameters" in cell.metadata.get("tags", [])


def code(notebook: NotebookNode) -> list[str]:
    """Sources of the code cells, without the parameters that papermill injected."""
    return [
        cell.source for cell in notebook.cells if cell.cell_type == "code" and not is_injected(cell)
    ]
