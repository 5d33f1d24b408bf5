"""`make refresh`: re-execute the notebooks, store their outputs, references and scoreboard.

Everything runs in the staging copy and is copied back only when all of it has succeeded.
Twice in a row gives no difference. ``python -m tools.refresh practice gaussian`` re-executes only
the notebooks whose path contains one of these words.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tools import notebooks
from tools.build import write_scoreboard
from tools.execute import Run, run_all
from tools.experiments import reference_of
from tools.project import (
    PROFILE,
    REFERENCE,
    ROOT,
    SCOREBOARD,
    STAGE,
    StepError,
    data_states,
    experiment_notebooks,
    shown,
    stored_notebooks,
)
from tools.stage import make_stage


def chosen(paths: Iterable[Path], words: Sequence[str]) -> list[Path]:
    """The paths that contain one of the words; all where there is no word."""
    found = [p for p in paths if not words or any(word in shown(p) for word in words)]
    if not found and words:
        raise StepError(f"no notebook has {' or '.join(words)} in its path")
    return found


def refresh(words: Sequence[str] = ()) -> list[str]:
    """Do it; return the files that changed, relative to the root."""
    everything = [*stored_notebooks(), *experiment_notebooks()]
    wanted = set(chosen(everything, words))
    make_stage()
    targets = {}  # file in the project -> executed file in the stage
    runs = []
    for path in sorted(wanted & set(stored_notebooks())):
        staged = STAGE / path.relative_to(ROOT)
        targets[path] = staged
        runs.append(Run(path, staged, staged.parent))
    for chapter in sorted(wanted & set(experiment_notebooks())):
        folder = STAGE / chapter.relative_to(ROOT).parent
        for state in data_states():
            target = reference_of(chapter, state)
            targets[target] = STAGE / "reference" / target.name
            targets[target].parent.mkdir(exist_ok=True)
            runs.append(Run(chapter, targets[target], folder, PROFILE, state))
    run_all(runs)
    write_scoreboard(STAGE)

    changed = []
    for target, staged in targets.items():
        notebook = notebooks.read(staged)
        if target.parent == REFERENCE:  # compared by nbval, never shown
            notebooks.without_pixels(notebook)
        if notebooks.write(notebook, target):
            changed.append(shown(target))
    for orphan in list(REFERENCE.glob("*.ipynb")):
        if not any(orphan.name.startswith(f"{c.stem}.") for c in experiment_notebooks()):
            orphan.unlink()
            changed.append(shown(orphan))
    # Experiment chapters are committed without outputs: their stored run is the reference.
    for chapter in experiment_notebooks():
        if notebooks.write(notebooks.strip(notebooks.read(chapter)), chapter):
            changed.append(shown(chapter))
    fresh = (STAGE / SCOREBOARD).read_text(encoding="utf-8")
    if not (ROOT / SCOREBOARD).is_file() or (ROOT / SCOREBOARD).read_text("utf-8") != fresh:
        (ROOT / SCOREBOARD).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / SCOREBOARD).write_text(fresh, encoding="utf-8")
        changed.append(str(SCOREBOARD))
    return changed


def main() -> int:
    try:
        changed = refresh(sys.argv[1:])
    except StepError as error:
        print(f"\nmake refresh failed, and nothing was stored:\n{error}", flush=True)
        return 1
    for path in changed:
        print(f"  stored {path}")
    print("Nothing changed." if not changed else f"{len(changed)} file(s) changed.", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
