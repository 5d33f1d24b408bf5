"""`make refresh`: re-execute the notebooks, store their outputs and the scoreboard.

Everything runs in the staging copy and is copied back only when all of it has succeeded. A file
that was edited meanwhile is not overwritten: it is named, and the others are stored.
Twice in a row gives no difference. ``python -m tools.refresh practice gaussian`` re-executes only
the notebooks whose path contains one of these words. Experiment chapters are stored as run with
data; without MI_DATA they are left as they are.
"""

import hashlib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tools import notebooks
from tools.build import write_scoreboard
from tools.execute import Run, run_all
from tools.project import (
    ROOT,
    SCOREBOARD,
    STAGE,
    StepError,
    data_states,
    experiment_notebooks,
    plain_notebooks,
    shown,
)
from tools.stage import make_stage

NO_DATA = (
    "Experiment chapters are stored as run with data, and MI_DATA is not set: {names} were not "
    "stored. Set MI_DATA to the folder that holds the data, and run `make refresh` again."
)


def chosen(paths: Iterable[Path], words: Sequence[str]) -> list[Path]:
    """The paths that contain one of the words; all where there is no word."""
    found = [p for p in paths if not words or any(word in shown(p) for word in words)]
    if not found and words:
        raise StepError(f"no notebook has {' or '.join(words)} in its path")
    return found


def allowed(paths: Sequence[Path]) -> tuple[list[Path], str]:
    """The paths that may be stored in this data state, and why others may not."""
    experiments = [path for path in paths if path in experiment_notebooks()]
    if not experiments or "data" in data_states():
        return list(paths), ""
    why = NO_DATA.format(names=", ".join(path.stem for path in experiments))
    others = [path for path in paths if path not in experiments]
    if not others:
        raise StepError(why)
    return others, why


def content(path: Path) -> str:
    """A digest of a file; empty where there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def refresh(words: Sequence[str] = ()) -> tuple[list[str], list[str], str]:
    """Do it; return the files that changed and those that were edited meanwhile, relative to the
    root, and what was left out and why."""
    wanted, left_out = allowed(chosen([*plain_notebooks(), *experiment_notebooks()], words))
    make_stage()
    targets = {path: STAGE / path.relative_to(ROOT) for path in wanted}
    staged_as = {path: content(staged) for path, staged in targets.items()}
    # No parameters: the defaults are those of profile ci (tested), and a stored chapter has no
    # cell that papermill has injected.
    run_all([Run(path, staged, staged.parent) for path, staged in targets.items()])
    write_scoreboard(STAGE)

    edited = [path for path in targets if content(path) != staged_as[path]]
    changed = [
        shown(target)
        for target, staged in targets.items()
        if target not in edited and notebooks.write(notebooks.read(staged), target)
    ]
    fresh = (STAGE / SCOREBOARD).read_text(encoding="utf-8")
    if not (ROOT / SCOREBOARD).is_file() or (ROOT / SCOREBOARD).read_text("utf-8") != fresh:
        (ROOT / SCOREBOARD).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / SCOREBOARD).write_text(fresh, encoding="utf-8")
        changed.append(str(SCOREBOARD))
    return changed, [shown(path) for path in edited], left_out


def main() -> int:
    try:
        changed, edited, left_out = refresh(sys.argv[1:])
    except StepError as error:
        print(f"\nmake refresh failed, and nothing was stored:\n{error}", flush=True)
        return 1
    for path in changed:
        print(f"  stored {path}")
    print("Nothing changed." if not changed else f"{len(changed)} file(s) changed.", flush=True)
    if left_out:
        print(left_out, flush=True)
    for path in edited:
        print(
            f"  NOT stored: {path} was edited while it ran. Your edits are kept; run "
            "`make refresh` again to store its outputs.",
            flush=True,
        )
    return 1 if edited else 0


if __name__ == "__main__":
    sys.exit(main())
