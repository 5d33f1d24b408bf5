"""Where things are, which notebooks there are, and the environment child processes get."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "_build"
STAGE = BUILD / "stage"
HTML = BUILD / "html"
REPORTS = BUILD / "reports"
SCOREBOARD = Path("book/reference/scoreboard.md")

# Chapters that take no profile, and chapters that papermill runs with one.
PLAIN = ("book/theory", "book/practice")
EXPERIMENTS = "book/experiments"
PROFILE = {"profile": "ci"}


class StepError(Exception):
    """A step failed for a reason that is worth printing without a traceback."""

    skips: tuple | list = ()


def plain_notebooks(root: Path = ROOT) -> list[Path]:
    """Theory and practice chapters under `root`, sorted."""
    return [path for folder in PLAIN for path in sorted((root / folder).glob("*.ipynb"))]


def experiment_notebooks(root: Path = ROOT) -> list[Path]:
    """Experiment chapters under `root`, sorted."""
    return sorted((root / EXPERIMENTS).glob("*.ipynb"))


def data_states() -> list[str]:
    """The states to test: `nodata` always, `data` where MI_DATA names a folder."""
    if not os.environ.get("MI_DATA"):
        return ["nodata"]
    folder = Path(os.environ["MI_DATA"])
    if not folder.is_dir():
        raise StepError(
            f"MI_DATA={folder} is not a folder. Give the folder that holds the data, or unset it."
        )
    return ["nodata", "data"]


def child_environment(state: str | None = None) -> dict[str, str]:
    """Environment of a child process; `state` is `data` or `nodata` where it matters.

    One thread, so that two notebooks share two cores and sums have one order; a fixed hash seed;
    the kernel and the IPython settings of .venv, not of the user. No MPLBACKEND: a kernel chooses
    its own. Without data MI_DATA names an empty folder, because that variable wins over anything
    an earlier download may have left on the machine.
    """
    environment = {key: value for key, value in os.environ.items() if key != "MPLBACKEND"}
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        environment[name] = "1"
    environment |= {
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        "NO_COLOR": "1",
        # pytest then prints whole reasons in its summary, and hypothesis draws the same examples
        # each time.
        "CI": "1",
        "JUPYTER_PREFER_ENV_PATH": "1",
        "IPYTHONDIR": str(BUILD / "ipython"),
    }
    (BUILD / "ipython").mkdir(parents=True, exist_ok=True)
    if state == "nodata":
        empty = BUILD / "no-data"
        empty.mkdir(parents=True, exist_ok=True)
        environment["MI_DATA"] = str(empty)
    elif environment.get("MI_DATA"):
        # Kernels start in the notebook's folder: a relative path would mean something else there.
        environment["MI_DATA"] = str(Path(environment["MI_DATA"]).resolve())
    return environment


def python(*arguments: object) -> list[str]:
    """Command line of this same Python. Console scripts break in paths with spaces."""
    return [sys.executable, *map(str, arguments)]


def shown(path: Path) -> str:
    """`path` relative to the root, for messages."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
