"""Kill a real sweep with SIGKILL at random moments, again and again, then let it end.

    python benchmarks/resume.py        # 20 kills of `python -m mi_lib sweep gaussian`, profile ci

Prints after each kill how many pieces were finished. In the end every piece must be there, and a
file that was once finished must never have been written again. Exit code 1 where that fails.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


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
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder)
        command = [sys.executable, "-m", "mi_lib", "sweep", "gaussian", "--profile", "ci"]
        command += ["--output", str(results)]
        wrong: list[str] = []
        known = finished(results)
        for kill in range(1, given.kills + 1):
            wait = moments.uniform(0, given.longest)
            child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            try:
                child.wait(wait)
                how = "ended by itself"
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
                child.wait()
                how = f"killed after {wait:4.1f} s"
            time.sleep(0.5)  # the workers die with it; a file that they were writing stays hidden
            now = finished(results)
            wrong += changed(known, now)
            known = now
            print(f"{kill:3}  {how}: {len(known)} pieces finished, {len(wrong)} lost or repeated")
        start = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        print(done.stdout.strip().splitlines()[1])
        now = finished(results)
        wrong += changed(known, now)
        left = sorted(p.name for p in results.rglob("*") if p.is_file() and p.suffix != ".csv")
    print(f"last run: {time.perf_counter() - start:.0f} s, exit code {done.returncode}")
    print(f"{len(now)} pieces in the end; lost or repeated: {wrong or 'none'}")
    print(f"files left over: {len(left)}")
    return int(bool(wrong) or bool(done.returncode))


if __name__ == "__main__":
    sys.exit(main())
