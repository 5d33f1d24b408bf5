"""Bring `.venv` up to date with requirements.txt, requirements.lock and pyproject.toml.

Run by tools/environment.sh with a Python in range, from the root. Uses the standard library
alone, because nothing is installed yet. A stamp in `.venv` remembers what was installed, so the
second run does nothing.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "installed.sha256"
INPUTS = ("requirements.txt", "requirements.lock", "pyproject.toml")


def version_of(python: Path) -> str:
    """`3.12` of an interpreter, or an empty string where it does not run."""
    code = "import sys, pip; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def fingerprint() -> str:
    """What the environment depends on: these files, the Python, and where the folder lies.

    The folder counts because the editable install stores its path: after a move it must be redone.
    """
    digest = hashlib.sha256()
    for name in INPUTS:
        digest.update((ROOT / name).read_bytes())
    digest.update(f"{sys.version_info[:2]} {ROOT}".encode())
    return digest.hexdigest()


def create() -> None:
    """Make an empty `.venv` with this interpreter."""
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        sys.exit(
            f"{sys.executable} has no venv or no ensurepip module, so no environment can be made.\n"
            f"On Debian or Ubuntu: apt install python3-venv. Or name another Python: "
            f"make book PYTHON=python3.12"
        )
    if VENV.exists():
        print("Removing the old .venv (broken, or made by another Python version)", flush=True)
        shutil.rmtree(VENV)
    print(f"Making .venv with Python {sys.version.split()[0]}", flush=True)
    if subprocess.run([sys.executable, "-m", "venv", VENV]).returncode:
        sys.exit("Making .venv failed; the reason is above. On Debian or Ubuntu: python3-venv.")


def pip_install(*arguments: str) -> None:
    """`pip install`, with its own progress on the screen; stops the command when it fails."""
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    command = [PYTHON, "-m", "pip", "install", *arguments]
    if subprocess.run(command, cwd=ROOT, env=environment).returncode:
        sys.exit(f"pip install {' '.join(arguments)} failed; the reason is in the lines above.")


def share_root() -> None:
    """Let `.venv` import what lies in the root from any folder: the companion is not installed."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    found = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True)
    Path(found.stdout.strip(), "companion.pth").write_text(f"{ROOT}\n", encoding="utf-8")


def main() -> None:
    wanted = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if version_of(PYTHON) != wanted:
        create()
    mark = fingerprint()
    if STAMP.is_file() and STAMP.read_text() == mark:
        return
    print("Installing requirements.txt into .venv (two to ten minutes the first time)", flush=True)
    STAMP.unlink(missing_ok=True)
    pip_install("-r", "requirements.txt", "-c", "requirements.lock")
    pip_install("--quiet", "--no-deps", "--no-build-isolation", "-e", ".")
    share_root()
    STAMP.write_text(mark)


if __name__ == "__main__":
    main()
