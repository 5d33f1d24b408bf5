"""Kill a real sweep with SIGKILL at random moments, again and again, then let it end.

    python benchmarks/resume.py        # 20 kills of the ci sweep `gaussian`

Prints after each kill how many pieces were finished; a run that ended before its kill begins a new
sweep. In the end every piece must be there, and a file that was once finished must never have been
written again. Exit code 1 where that fails.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from companion.experiments import experiment


def finished(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Name of each finished piece -> when it was written, and what is in it."""
    return {p.name: (p.stat().st_mtime_ns, p.read_bytes()) for p in folder.rglob("*.csv")}


def changed(before: dict, after: dict) -> list[str]:
    """Pieces that were lost or written again."""
    return sorted(name for name, content in before.items() if after.get(name) != content)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--longest", type=float, default=20.0, help="seconds until a kill, at most")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    moments = random.Random(given.seed)
    wanted = {f"{piece.key}.csv" for piece in experiment("gaussian").pieces("gaussian", "ci")}
    with tempfile.TemporaryDirectory() as folder:
        wrong, known, kills = [], {}, 0
        results = Path(folder) / "0"
        while kills < given.kills:
            child = subprocess.Popen(command(results), stdout=subprocess.DEVNULL)
            wait = moments.uniform(0, given.longest)
            try:
                child.wait(wait)
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
                child.wait()
                kills += 1
            time.sleep(0.5)  # the workers die with it; a file that they were writing stays hidden
            now = finished(results)
            wrong += changed(known, now)
            known = now
            print(
                f"{kills:3} kills, {wait:4.1f} s: {len(known)} pieces finished, {len(wrong)} wrong"
            )
            if set(known) == wanted:
                results, known = Path(folder) / str(kills), {}
        done = subprocess.run(command(results), stdout=subprocess.DEVNULL)
        now = finished(results)
        wrong += changed(known, now)
    missing = sorted(wanted - set(now))
    print(f"in the end {len(now)} pieces, missing {missing or 'none'}, wrong {wrong or 'none'}")
    return int(bool(wrong) or bool(missing) or bool(done.returncode))


def command(results: Path) -> list[str]:
    """The real command, writing to a folder."""
    given = ["sweep", "gaussian", "--profile", "ci", "--output", str(results)]
    return [sys.executable, "-m", "companion", *given]


if __name__ == "__main__":
    sys.exit(main())
