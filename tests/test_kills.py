"""Real sweeps, killed in the middle of pieces and between them: nothing is lost, done twice, or
another number.

Staircases of a tiny critic; the parent or a worker gets SIGKILL, while the state of a piece lies in
a checkpoint and when a piece has just ended, in turn.
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

from companion.experiments import staircase, staircase_grid
from companion.sweep import read, write
from companion.training import Settings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="finds workers in /proc"),
]
SETTINGS = {
    "trainings": ("infonce", "anchor"),
    "levels": (1.0, 2.0),
    "steps": 400,
    "batch": 8,
    "every": 5,
    "block": 100,
    "critic_settings": {"hidden": 8},
    "held_out": 16,
    "large": 8,
    "large_repeats": 1,
}
PIECES = staircase_grid.Table("tiny", "gaussian", Settings(**SETTINGS), 3, {"dim": 2})
SCRIPT = f"""
import sys
from pathlib import Path
from companion import sweep, workers
from companion.experiments import staircase, staircase_grid
from companion.training import Settings

sweep.BEAT = staircase.CHECKPOINT_SECONDS = 0.1
TINY = Settings(**{SETTINGS})

def work(config, device, checkpoint):
    with (checkpoint.parent / "log").open("a") as log:
        log.write(f"{{config['seeds'][0]}} {{checkpoint.is_file()}}\\n")
    return staircase.run(config, device, checkpoint)

if __name__ == "__main__":
    table = staircase_grid.Table("tiny", "gaussian", TINY, 3, {{"dim": 2}})
    def say(line):
        print(line, flush=True)
    with workers.local_workers(1) as pool:
        modules = staircase.MODULES["gaussian"]
        pieces = table.pieces("toy")
        sys.exit(sweep.sweep(pieces, work, Path(sys.argv[1]), modules, pool, say=say))
"""


class Sweep:
    """A sweep in a process of its own, what it says, and its folder."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        script = folder / "script.py"
        script.write_text(SCRIPT)
        root = str(Path(__file__).resolve().parents[1])
        self.process = subprocess.Popen(
            [sys.executable, script, folder],
            env={**os.environ, "PYTHONPATH": root},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout))
        self.reader.start()

    @property
    def running(self):
        return self.process.poll() is None

    def wait_for(self, what):
        """Until something is there that was not, or the sweep has ended."""
        before = set(self.found(what))
        while self.running and not set(self.found(what)) - before:
            time.sleep(0.005)
        return self.running

    def found(self, what):
        folder = self.folder / "toy"
        patterns = {
            "state": ".checkpoints/*.pt",
            "claim": ".checkpoints/*.claim-*",
            "piece": "*.csv",
        }
        return list(folder.glob(patterns[what]))

    def kill_a_worker(self):
        """One that is at a piece; False where there is none at this moment."""
        for path in self.found("claim"):
            try:
                worker = json.loads(path.read_text())["pid"]
                parent = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1]
                if int(parent) == self.process.pid:
                    os.kill(worker, signal.SIGKILL)
                    return True
            except (OSError, ValueError):  # it is just being written, or has ended
                continue
        return False

    def end(self):
        self.process.wait(300)
        self.reader.join()
        return self.process.returncode


def finished(folder):
    return {p.name: (p.stat().st_mtime_ns, p.read_bytes()) for p in (folder / "toy").glob("*.csv")}


def log(folder):
    lines = (folder / "toy" / ".checkpoints" / "log").read_text().splitlines()
    return [(int(seed), resumed == "True") for seed, resumed in (line.split() for line in lines)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The records of every piece as they come without a sweep, by name."""
    folder, threads, found = tmp_path_factory.mktemp("undisturbed"), torch.get_num_threads(), {}
    torch.set_num_threads(1)
    for piece in PIECES.pieces("toy"):
        path = piece.path(folder)
        write(path, {"config": piece.config}, staircase.run(piece.config, "cpu"))
        found[path.name] = read(path)[1]
    torch.set_num_threads(threads)
    return found


def check(folder, undisturbed):
    assert {n: True for n in undisturbed} == {
        path.name: read(path)[1].equals(undisturbed[path.name])
        for path in (folder / "toy").glob("*.csv")
    }
    left = [path.name for path in (folder / "toy").rglob("*") if path.is_file()]
    assert sorted(left) == sorted([*undisturbed, "log"])


def few_and_many(few, many):
    return pytest.mark.parametrize("kills", [few, pytest.param(many, marks=pytest.mark.long)])


@few_and_many(3, 20)
def test_a_sweep_whose_parent_is_killed_goes_on(tmp_path, undisturbed, kills):
    chance, done, folders, resumed = random.Random(kills), 0, 0, 0
    while done < kills:
        folder, known = tmp_path / str(folders), {}
        folders += 1
        while len(known) < len(undisturbed):
            one = Sweep(folder)
            if done < kills and one.wait_for(("state", "piece")[done % 2]):
                time.sleep(chance.uniform(0, 0.2) * (done % 3))
                one.process.kill()
                done += 1
            code = one.end()
            now = finished(folder)
            assert {name: now[name] for name in known} == known, "written again, or lost"
            known = now
        if code:  # killed after its last piece
            assert Sweep(folder).end() == 0
        check(folder, undisturbed)
        resumed += sum(known for _, known in log(folder))
    assert resumed >= kills // 3, "pieces went on from checkpoints"


@few_and_many(3, 20)
def test_a_sweep_whose_workers_are_killed_goes_on(tmp_path, undisturbed, kills):
    """The parent lives and replaces them; a piece that loses two is left to the next sweep."""
    chance, done, folders, resumed = random.Random(kills), 0, 0, 0
    while done < kills:
        folder = tmp_path / str(folders)
        folders += 1
        one = Sweep(folder)
        while done < kills and one.wait_for(("state", "piece")[done % 2]):
            time.sleep(chance.uniform(0, 0.1))
            done += one.kill_a_worker()
        code = one.end()
        assert code == sum("FAILED" in line for line in one.lines), one.lines
        assert any("once more" in line for line in one.lines)
        if code:
            assert Sweep(folder).end() == 0
        check(folder, undisturbed)
        resumed += sum(known for _, known in log(folder))
    assert resumed >= kills // 4, "pieces went on from checkpoints"


def test_two_sweeps_on_one_folder_do_no_piece_twice(tmp_path, undisturbed):
    both = [Sweep(tmp_path / "shared") for _ in range(2)]
    assert [one.end() for one in both] == [0, 0], [one.lines for one in both]
    assert sorted(seed for seed, _ in log(tmp_path / "shared")) == [0, 1, 2]
    assert any("left to process" in line for one in both for line in one.lines)
    check(tmp_path / "shared", undisturbed)
