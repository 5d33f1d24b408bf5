"""Notebooks as files: read, remove what changes from run to run, write."""

import base64
import io
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


def small_figures(notebook: NotebookNode) -> NotebookNode:
    """Store figures with 256 colours, in place: a third of the bytes, and no difference to see.

    A picture with transparent parts stays as it is.
    """
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                data["image/png"] = _with_palette(data["image/png"])
    return notebook


def _with_palette(png: str) -> str:
    # Imported here: papermill's parent process needs no pictures.
    from PIL import Image

    picture = Image.open(io.BytesIO(base64.b64decode(png)))
    if picture.mode == "P" or picture.convert("RGBA").getchannel("A").getextrema()[0] < 255:
        return png
    small = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    small.save(buffer, "PNG", optimize=True, dpi=picture.info.get("dpi", (72, 72)))
    return min(png, base64.b64encode(buffer.getvalue()).decode(), key=len)


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


def executed(notebook: NotebookNode) -> bool:
    """Whether every code cell has been executed."""
    return all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
