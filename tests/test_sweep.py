"""Sweeps: a file is whole or absent, finished pieces are kept, nothing is done twice."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

from companion import sweep, workers
from companion.provenance import code_hash
from companion.sweep import COLUMNS, Piece, missing, read

CODE = ("companion.provenance",)


def pieces(count=4, **extra):
    return [Piece("toy", f"p{n}", {"n": n, "seeds": [n], **extra}) for n in range(count)]


def record(config):
    return pd.DataFrame([("train", "toy", "", config["n"], "1 2")], columns=list(COLUMNS))


def counting(log):
    def work(config, device, checkpoint):
        log.append(config["n"])
        return record(config)

    return work


def run(todo, work, folder, **options):
    with ThreadPoolExecutor(1) as pool:
        return sweep.sweep(todo, work, folder, CODE, pool, say=lambda line: None, **options)


def test_pieces_are_run_once(tmp_path):
    log = []
    assert run(pieces(2), counting(log), tmp_path) == 0
    assert run(pieces(4), counting(log), tmp_path) == 0
    assert log == [0, 1, 2, 3]
    assert missing(pieces(4), tmp_path) == []


def test_another_configuration_is_another_piece(tmp_path):
    log = []
    run(pieces(1), counting(log), tmp_path)
    run(pieces(1, steps=5), counting(log), tmp_path)
    assert log == [0, 0]
    assert read(tmp_path / "toy" / "p0.csv")[0]["config"]["steps"] == 5


def test_a_failing_piece_leaves_the_others(tmp_path):
    said = []

    def work(config, device, checkpoint):
        if config["n"] == 1:
            raise ValueError("no such batch")
        return record(config)

    with ThreadPoolExecutor(1) as pool:
        assert sweep.sweep(pieces(3), work, tmp_path, CODE, pool, say=said.append) == 1
    assert any("p1: FAILED: no such batch" in line for line in said)
    assert [p.key for p in missing(pieces(3), tmp_path)] == ["p1"]


def test_provenance_names_code_config_and_versions(tmp_path):
    run(pieces(1), counting([]), tmp_path, device="cpu")
    about, _ = read(tmp_path / "toy" / "p0.csv")
    assert about["code_hash"] == code_hash(CODE)
    assert about["device"] == "cpu"
    assert set(about["versions"]) == {"torch", "numpy"}
    assert about["seconds"] >= 0 and about["cpu_seconds"] >= 0
    assert about["config"] == {"n": 0, "seeds": [0]}


SCRIPT = """
import sys, time
from pathlib import Path
import pandas as pd
from companion import sweep
folder = Path(sys.argv[1])
def work(config, device, checkpoint):
    with (folder / "log").open("a") as log:
        log.write(f"{config['n']}\\n")
    time.sleep(0.05)
    row = ("train", "toy", "", config["n"], "1")
    return pd.DataFrame([row] * 2000, columns=list(sweep.COLUMNS))
class Here:
    def submit(self, f, *a):
        from concurrent.futures import Future
        done = Future()
        done.set_result(f(*a))
        return done
pieces = [sweep.Piece("toy", f"p{n:02}", {"n": n, "seeds": []}) for n in range(40)]
print("ready", flush=True)
sweep.sweep(pieces, work, folder, ("companion.provenance",), Here(), say=lambda line: None)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_killed_sweep_loses_and_repeats_nothing_that_is_finished(tmp_path):
    """Killed at a random moment after its start, again and again, then left alone."""
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, tmp_path / "script.py", tmp_path]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    chance, finished_before = random.Random(0), set()
    for attempt in range(4):
        child = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
        child.stdout.readline()
        if attempt < 3:
            time.sleep(chance.uniform(0.0, 0.8))
            child.kill()
        child.communicate()
        finished = {p.name for p in (tmp_path / "toy").glob("*.csv")}
        assert finished_before <= finished
        for path in (tmp_path / "toy").glob("*.csv"):
            assert len(read(path)[1]) == 2000
        finished_before = finished
    assert len(finished) == 40
    started = [int(n) for n in (tmp_path / "log").read_text().split()]
    # A piece starts again only when it was cut: at most one a kill.
    assert len(started) <= 40 + 3


INTERRUPTED = """
import signal, sys, time
from pathlib import Path
import pandas as pd
from companion import sweep, workers

def work(config, device, checkpoint):
    time.sleep(0.3)
    return pd.DataFrame([("train", "toy", "", config["n"], "1")], columns=list(sweep.COLUMNS))

if __name__ == "__main__":
    # A job in the background of a shell inherits a SIGINT that is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    pieces = [sweep.Piece("toy", f"p{n:02}", {"n": n, "seeds": []}) for n in range(200)]
    try:
        with workers.local_workers(1) as pool:
            sweep.sweep(pieces, work, Path(sys.argv[1]), ("companion.provenance",), pool)
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C in another way")
def test_ctrl_c_keeps_what_is_finished_and_ends_the_workers(tmp_path):
    (tmp_path / "script.py").write_text(INTERRUPTED)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    child = subprocess.Popen(
        [sys.executable, tmp_path / "script.py", tmp_path],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    lines = iter(child.stdout.readline, "")
    assert any(line.startswith("[2/200]") for line in lines)
    child.send_signal(signal.SIGINT)
    rest, _ = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "Finished pieces are kept" in rest
    files = list((tmp_path / "toy").glob("*.csv"))
    assert 2 <= len(files) < 200
    assert all(len(read(path)[1]) == 1 for path in files)


class InterruptedInside(ThreadPoolExecutor):
    """Ctrl-C comes while a piece is handed over, when locks may be taken."""

    whole = 0

    def submit(self, *args):
        signal.raise_signal(signal.SIGINT)
        self.whole += 1
        return super().submit(*args)


def test_ctrl_c_waits_until_no_lock_is_held(tmp_path):
    """Raised inside the executor it left locks behind, and the program hung at its end."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    said = []
    try:
        with InterruptedInside(1) as pool, pytest.raises(KeyboardInterrupt):
            sweep.sweep(pieces(2), counting([]), tmp_path, CODE, pool, say=said.append)
        assert pool.whole == 1, "the piece under way is handed over whole, and no other"
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert said[-1].startswith("Stopped. Finished pieces are kept")


@pytest.mark.parametrize("line", ["[1/9]", "Stopped", "[9/9]"])
def test_ctrl_c_while_a_line_is_printed_is_not_lost(tmp_path, line):
    """Again while it says that it stops, or in the line of the last piece: it still stops."""
    log, said = [], []

    def say(text):
        said.append(text)
        if text.startswith((line, "[1/9]" if line == "Stopped" else line)):
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with ThreadPoolExecutor(1) as pool, pytest.raises(KeyboardInterrupt):
            sweep.sweep(pieces(9), slow(counting(log)), tmp_path, CODE, pool, say=say)
    finally:
        signal.signal(signal.SIGINT, before)
    assert said[-1].startswith("Stopped. Finished pieces are kept")
    assert len(log) == 9 if line == "[9/9]" else len(log) < 9


def slow(work):
    """The same, a tenth of a second later."""

    def later(*args, **kwargs):
        time.sleep(0.1)
        return work(*args, **kwargs)

    return later


def test_stopping_workers_that_have_ended_is_no_error():
    pool = workers.local_workers(1)
    pool.submit(os.getpid).result()
    (process,) = pool._processes.values()
    process.kill()
    process.join()
    workers.stop(pool)


def test_a_handler_of_the_caller_is_left_alone(tmp_path):
    heard, failed = [], None
    before = signal.signal(signal.SIGINT, lambda *_: heard.append("Ctrl-C"))
    try:
        # A KeyboardInterrupt here would end pytest itself, not this test.
        with InterruptedInside(1) as pool, contextlib.suppress(KeyboardInterrupt):
            failed = sweep.sweep(pieces(2), counting([]), tmp_path, CODE, pool, say=str)
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == ["Ctrl-C"] * 2
    assert failed == 0
