"""Experiment chapters: run them by papermill, and compare them with their stored references.

A reference `tests/reference/<chapter>.<data|nodata>.ipynb` is a papermill output with the profile
injected; `make refresh` alone writes it.
"""

import shutil
from pathlib import Path

from tools import notebooks
from tools.execute import Run, run_all
from tools.project import (
    EXPERIMENTS,
    PROFILE,
    REFERENCE,
    STAGE,
    StepError,
    child_environment,
    data_states,
    experiment_notebooks,
    shown,
)
from tools.steps import PARALLEL, Outcome, pytest


def reference_of(chapter: Path, state: str) -> Path:
    """Where the stored run of a chapter in a data state lies."""
    return REFERENCE / f"{chapter.stem}.{state}.ipynb"


def check_references(chapters: list[Path]) -> None:
    """Each chapter has both references with its present code, and no reference is an orphan."""
    expected = {reference_of(c, state): c for c in chapters for state in ("data", "nodata")}
    problems = [f"{shown(p)} is missing" for p in expected if not p.is_file()]
    problems += [
        f"{shown(path)} belongs to no chapter: delete it"
        for path in sorted(REFERENCE.glob("*.ipynb"))
        if path not in expected
    ]
    for path, chapter in expected.items():
        if path.is_file():
            stored = notebooks.code(notebooks.read(path))
            if stored != notebooks.code(notebooks.read(chapter)):
                problems.append(f"{shown(path)} was made from other code than the chapter's")
    if problems:
        raise StepError("\n".join([*problems, "Run `make refresh` with MI_DATA set, and commit."]))


def test_experiments() -> Outcome:
    """The chapters once by papermill into the stage, once by nbval against their references."""
    chapters = experiment_notebooks()
    check_references(chapters)
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
        # nbval starts a kernel in the folder of the file, which must be that of the chapter.
        # A folder of its own a state, so that one state's files cannot reach the other.
        copies = []
        for chapter in chapters:
            stored = reference_of(chapter, state)
            copies.append(STAGE / EXPERIMENTS / stored.name)
            shutil.copy2(stored, copies[-1])
        part = compare(f"experiments-{state}", copies, child_environment(state))
        passed.append(f"{state}: {part.note}")
        outcome.skips += part.skips
        for copy in copies:
            copy.unlink()
    if states == ["nodata"]:
        passed.append("with data: not tested, MI_DATA is not set")
    outcome.note = "; ".join(passed)
    return outcome


def compare(name: str, paths: list[Path], environment: dict[str, str]) -> Outcome:
    """Re-execute notebooks under strict nbval against the outputs stored in them."""
    return pytest(
        name,
        *(PARALLEL if len(paths) > 1 else ()),
        "--nbval",
        "--nbval-sanitize-with=tests/nbval_sanitize.cfg",
        "--nbval-cell-timeout=600",
        # The stage has a pyproject.toml: a cache folder in it would become a page of the book.
        "-p",
        "no:cacheprovider",
        *paths,
        environment=environment,
    )
