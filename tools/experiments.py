"""Experiment chapters: run them by papermill, and compare them with the outputs stored in them.

A chapter is stored as run with data. Cells whose output depends on data or on training are tagged
`nbval-ignore-output` and followed by a hidden cell that asserts what they show; all others give the
same output in both data states.
"""

from pathlib import Path

from tools import notebooks
from tools.execute import Run, run_all
from tools.project import (
    EXPERIMENTS,
    PROFILE,
    STAGE,
    StepError,
    child_environment,
    data_states,
    experiment_notebooks,
    shown,
)
from tools.steps import PARALLEL, Outcome, pytest


def test_experiments() -> Outcome:
    """The chapters once by papermill into the stage, once by nbval in each data state."""
    chapters = experiment_notebooks()
    if not chapters:
        print("no experiment chapters yet")
        return Outcome(note="no experiment chapters yet")
    states = data_states()
    run_all(
        [
            Run(chapter, STAGE / EXPERIMENTS / chapter.name, STAGE / EXPERIMENTS, PROFILE)
            for chapter in chapters
        ]
    )
    passed, outcome = [], Outcome()
    for state in states:
        part = compare(f"experiments-{state}", chapters, child_environment(state))
        passed.append(f"{state}: {part.note}")
        outcome.skips += part.skips
    if states == ["nodata"]:
        passed.append("with data: not tested, MI_DATA is not set")
    outcome.note = "; ".join(passed)
    return outcome


def compare(name: str, paths: list[Path], environment: dict[str, str]) -> Outcome:
    """Re-execute notebooks under strict nbval against the outputs stored in them."""
    # nbval compares nothing where a cell was never executed.
    bare = [shown(path) for path in paths if not notebooks.executed(notebooks.read(path))]
    if bare:
        raise StepError(f"{', '.join(bare)} stores no outputs to compare with: run `make refresh`.")
    return pytest(
        name,
        *(PARALLEL if len(paths) > 1 else ()),
        "--nbval",
        "--nbval-sanitize-with=tests/nbval_sanitize.cfg",
        "--nbval-cell-timeout=600",
        "-p",
        "tools.kernels",
        # A cache folder beside a pyproject.toml would become a page of the book.
        "-p",
        "no:cacheprovider",
        *paths,
        environment=environment,
    )
