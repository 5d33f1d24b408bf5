"""Workers: one that dies loses nothing but its piece, and each has one thread in every pool."""

import os
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest
from test_sweep import CODE, counting, pieces, record

from companion import ownership, sweep, workers
from companion.sweep import missing, read

ROOT = Path(__file__).resolve().parents[1]
DEADLY = """
import os, sys
from pathlib import Path
import pandas as pd
from companion import sweep, workers

def work(config, device, checkpoint):
    n, log = config["n"], checkpoint.parent / "log"
    with log.open("a") as file:
        file.write(f"{n}\\n")
    once = log.read_text().split().count(str(n)) == 1
    if n == 1 or (n == 3 and once):
        os._exit(9)
    if n == 2:
        raise ValueError("no such batch")
    return pd.DataFrame([("train", "toy", "", n, "1")], columns=list(sweep.COLUMNS))

if __name__ == "__main__":
    pieces = [sweep.Piece("toy", f"p{n}", {"n": n, "seeds": []}) for n in range(7)]
    with workers.local_workers(2) as pool:
        failed = sweep.sweep(pieces, work, Path(sys.argv[1]), ("companion.provenance",), pool)
    sys.exit(1 if failed else 0)
"""


def run_script(folder, text):
    (folder / "script.py").write_text(text)
    done = subprocess.run(
        [sys.executable, folder / "script.py", folder],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stdout


def test_a_worker_that_dies_loses_no_other_piece(tmp_path):
    """One kills its worker always, one once, one raises; four are as they should be."""
    code, output = run_script(tmp_path, DEADLY)
    assert code == 1, output
    assert [p.stem for p in sorted((tmp_path / "toy").glob("*.csv"))] == [
        "p0",
        "p3",
        "p4",
        "p5",
        "p6",
    ]
    lines = output.splitlines()
    for key in ("p1", "p3"):
        once_more = f"{key}: its worker died (killed, or no memory left); once more"
        assert lines.count(once_more) == 1
    assert any(" p1: FAILED: its worker died 2 times" in line for line in lines)
    assert any(" p2: FAILED: no such batch" in line for line in lines)
    assert lines[-1].startswith("2 of 7 pieces failed: ") and "the same command" in lines[-1]
    started = (tmp_path / "toy" / ".checkpoints" / "log").read_text().split()
    assert sorted(started) == ["0", "1", "1", "2", "3", "3", "4", "5", "6"]


def test_a_process_that_dies_is_replaced():
    with workers.local_workers(1) as pool:
        first = pool.submit(os.getpid).result()
        with pytest.raises(BrokenProcessPool):
            pool.submit(os._exit, 1).result()
        assert pool.submit(os.getpid).result() != first


def test_a_piece_whose_worker_died_is_tried_once_more(tmp_path):
    class Deadly(Here):
        """Workers die on p1 always, on p2 once; p3 is left to others."""

        def submit(self, f, work, piece, *rest):
            log.append(piece.key)
            dies = piece.key == "p1" or (piece.key == "p2" and log.count("p2") == 1)
            return super().submit(died if dies else f, work, piece, *rest)

    def died(*_):
        raise BrokenProcessPool("gone")

    log, said = [], []
    assert sweep.sweep(pieces(4), counting([]), tmp_path, CODE, Deadly(), say=said.append) == 1
    assert sorted(log) == ["p0", "p1", "p1", "p2", "p2", "p3"]
    assert [p.key for p in missing(pieces(4), tmp_path)] == ["p1"]
    assert sum("once more" in line for line in said) == 2
    assert said[-1].startswith("1 of 4 pieces failed: p1. The others are stored.")
    assert [line[:5] for line in said if line[0] == "["] == [f"[{n}/4]" for n in (1, 2, 3, 4)]


def test_an_executor_that_is_broken_is_an_error_for_each_piece(tmp_path):
    """Of another kind than ours, which nothing replaces."""

    class Broken:
        def submit(self, *_):
            raise BrokenProcessPool("gone")

    said = []
    failed = sweep.sweep(pieces(3), counting([]), tmp_path, CODE, Broken(), say=said.append)
    assert failed == 3 and sum("the executor is broken (gone)" in line for line in said) == 3


def threads():
    """Of every pool that this process has, after loading what a sweep loads."""
    import scipy.linalg  # noqa: F401
    import sklearn.cluster  # noqa: F401
    import torch
    from threadpoolctl import threadpool_info

    pools = {pool["user_api"]: pool["num_threads"] for pool in threadpool_info()}
    return pools | {
        "torch": torch.get_num_threads(),
        "between operations": torch.get_num_interop_threads(),
        "environment": {os.environ.get(name) for name in workers.THREADS},
    }


def test_a_worker_has_one_thread_in_every_pool(monkeypatch):
    """Whatever the environment of its parent says, which keeps it."""
    for name in workers.THREADS:
        monkeypatch.setenv(name, "3")
    monkeypatch.delenv(workers.THREADS[-1])
    before = dict(os.environ)
    with workers.local_workers(1) as pool:
        found = pool.submit(threads).result()
    assert found.pop("environment") == {"1"}
    assert {"blas", "openmp", "torch"} <= set(found) and set(found.values()) == {1}, found
    assert dict(os.environ) == before


def test_what_a_killed_sweep_left_is_removed_by_the_next_one(tmp_path):
    assert sweep.sweep(pieces(1), counting([]), tmp_path, CODE, Here(), say=str) == 0
    folder = tmp_path / "toy"
    hidden = folder / ".checkpoints"
    held = ownership.take(hidden / "p2.pt")  # somebody is at this one
    left = [folder / "p0.csv.77.tmp", folder / "p1.csv.77.tmp", folder / "p2.csv.77.tmp"]
    left += [hidden / name for name in ("p0.work", "p0.pt", "p0.77.tmp", "p1.77.tmp", "p2.work")]
    (hidden / "p1.claim-0").write_text('{"host": "elsewhere", "pid": 1, "name": "elsewhere"}')
    os.utime(hidden / "p1.claim-0", (0, 0))
    for path in left:
        path.touch()
    others = folder / "p10.csv.77.tmp"
    others.touch()
    said = []
    assert sweep.sweep(pieces(3), counting([]), tmp_path, CODE, Here(), say=said.append) == 0
    assert any("p2: left to process" in line for line in said)
    assert said[-1].startswith("1 of 2 pieces are left to other workers")
    kept = {"p2.csv.77.tmp", "p2.work", held.name, "p10.csv.77.tmp", "p0.csv", "p1.csv"}
    assert {path.name for path in folder.rglob("*") if path.is_file()} == kept


class Here:
    """Does the work at once, as a worker in this process."""

    def submit(self, f, *arguments):
        from concurrent.futures import Future

        done = Future()
        try:
            done.set_result(f(*arguments))
        except Exception as error:
            done.set_exception(error)
        return done


def test_a_piece_that_another_sweep_finished_meanwhile_is_not_done_again(tmp_path, monkeypatch):
    """Between the look at what is missing and the claim."""
    log, said = [], []
    sweep.sweep(pieces(1), counting(log), tmp_path, CODE, Here(), say=str)
    monkeypatch.setattr(sweep, "missing", lambda pieces, *_: list(pieces))
    assert sweep.sweep(pieces(1), counting(log), tmp_path, CODE, Here(), say=said.append) == 0
    assert log == [0] and "p0: was finished by another sweep meanwhile" in said[-1]


def test_a_failed_piece_is_free_for_the_next_sweep(tmp_path):
    def fails(config, device, checkpoint):
        raise ValueError("no")

    assert sweep.sweep(pieces(1), fails, tmp_path, CODE, Here(), say=str) == 1
    assert not list((tmp_path / "toy" / ".checkpoints").iterdir())
    assert sweep.sweep(pieces(1), counting([]), tmp_path, CODE, Here(), say=str) == 0
    assert missing(pieces(1), tmp_path) == []
    assert (
        read(tmp_path / "toy" / "p0.csv")[1]["seed"].tolist() == record({"n": 0})["seed"].tolist()
    )


def test_what_a_sweep_writes_meanwhile_is_ignored_by_git(tmp_path):
    names = ["results/a/p0.csv.77.tmp", "results/a/.checkpoints/p0.claim-0"]
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", *names, "results/a/p0.csv"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if done.returncode > 1:
        pytest.skip("not a git checkout")
    assert done.stdout.split() == names
