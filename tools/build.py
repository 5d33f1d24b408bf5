"""Scoreboard and HTML from the staging copy."""

import difflib
import shutil
from pathlib import Path

from tools.project import BUILD, HTML, ROOT, SCOREBOARD, STAGE, StepError, python
from tools.steps import stream

# jupyter-book has no `python -m` entry, and its console script breaks in paths with spaces.
JUPYTER_BOOK = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"


def write_scoreboard(root: Path) -> None:
    """Collect the verdicts of the executed notebooks below `root` into the scoreboard page there.

    The command exits non-zero where a claim left no verdict, or left two.
    """
    stream(python("-m", "companion", "claims", "--book", root), "the claims")


def check_scoreboard() -> None:
    """Fail where the committed scoreboard is not the one that the claims give now."""
    stored, fresh = ROOT / SCOREBOARD, STAGE / SCOREBOARD
    if not stored.is_file():
        raise StepError(f"{SCOREBOARD} does not exist. Run `make refresh` and commit it.")
    difference = list(
        difflib.unified_diff(
            stored.read_text(encoding="utf-8").splitlines(),
            fresh.read_text(encoding="utf-8").splitlines(),
            "stored",
            "computed now",
            lineterm="",
            n=0,
        )
    )
    if difference:
        raise StepError(
            "\n".join([*difference[:12], f"{SCOREBOARD} is out of date: run `make refresh`."])
        )


def build_html() -> Path:
    """Build `_build/html` from the stage, any warning being an error; return its index page."""
    for leftover in (HTML, BUILD / ".doctrees", BUILD / ".jupyter_cache"):
        shutil.rmtree(leftover, ignore_errors=True)
    stream(
        python(
            "-c", JUPYTER_BOOK, "build", STAGE, "--path-output", ROOT, "-W", "-n", "--keep-going"
        ),
        "the book",
        reason=r"\b(WARNING|ERROR|CRITICAL)\b",
    )
    # jupyter-book can exit 0 having built nothing.
    index = HTML / "index.html"
    if not index.is_file():
        raise StepError("jupyter-book reported success but wrote no _build/html/index.html.")
    return index
