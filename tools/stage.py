"""The staging copy: what git would commit, copied to `_build/stage` and executed and built there.

So a build never touches the working folder, and an ignored stray file cannot help it to pass. One
command at a time has the copy: a second one is refused, not mixed with the first.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import IO

from tools.project import ROOT, STAGE, StepError, shown

try:
    import fcntl
except ImportError:  # Windows, which has no `make` either
    fcntl = None

# For a downloaded archive, where there is no git to ask.
SKIPPED = {
    ".git",
    ".venv",
    "_build",
    "__pycache__",
    ".ipynb_checkpoints",
    ".pytest_cache",
    ".ruff_cache",
    ".hypothesis",
}


def git_files(root: Path) -> list[Path] | None:
    """Tracked and untracked-not-ignored files, or None where `root` is not a git checkout.

    An unpacked archive inside somebody else's repository is not a checkout of this project.
    """

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
        except OSError:
            return None
        return done.stdout if done.returncode == 0 else None

    top = git("rev-parse", "--show-toplevel")
    if top is None or Path(top.strip()).resolve() != root.resolve():
        return None
    listed = git("ls-files", "-co", "--exclude-standard", "-z")
    return None if listed is None else [Path(name) for name in listed.split("\0") if name]


def walked_files(root: Path) -> list[Path]:
    """Every file below `root` but those in folders that commands and editors make."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f not in SKIPPED and not f.endswith(".egg-info")]
        found += [(Path(folder) / name).relative_to(root) for name in names]
    return sorted(found)


HELD: dict[Path, IO[str]] = {}  # locks of this process; the system takes them when it ends


def hold(stage: Path) -> None:
    """Keep other commands from `stage` until this process ends, however it ends."""
    path = stage.with_name(f"{stage.name}.lock")
    if path in HELD or fcntl is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a+", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        owner = file.read().strip() or "another process"
        file.close()
        raise StepError(
            f"Another command ({owner}) is working in {shown(stage)}, and two would mix their "
            "files. Wait until it has ended, or end it, and start this one again."
        ) from None
    file.truncate(0)
    module = getattr(sys.modules["__main__"], "__spec__", None)
    file.write(f"process {os.getpid()}, {module.name if module else 'python'}")
    file.flush()
    HELD[path] = file


def make_stage(root: Path = ROOT, stage: Path = STAGE) -> Path:
    """Copy the project's files to an emptied `stage` and return it; a `StepError` where another
    command has it."""
    hold(stage)
    shutil.rmtree(stage, ignore_errors=True)
    files = git_files(root)
    for relative in walked_files(root) if files is None else files:
        source = root / relative
        # git still lists a file that was deleted but not yet committed as such.
        if source.is_file():
            target = stage / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    return stage
