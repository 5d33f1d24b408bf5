"""The line that a sweep draws: what workers say, what is shown, and to whom."""

import io
import time

import pytest
from test_sweep import pieces, record, run

from companion import progress
from companion.experiments import staircase
from companion.experiments.staircase_tables import find_table
from companion.progress import Bar, Reporter, report_of, share


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved."""
    now = [1000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_worker_reports_once_a_second(tmp_path, clock):
    checkpoint = tmp_path / "new" / "a.pt"
    report = Reporter(checkpoint)
    assert share(checkpoint) == 0.0
    report(1, 4)
    clock[0] += 0.5
    report(2, 4)
    assert share(checkpoint) == 0.25
    clock[0] += 1.0
    report(3, 4)
    assert share(checkpoint) == 0.75
    report_of(checkpoint).write_text("")  # a worker that is just writing
    assert share(checkpoint) == 0.0
    Reporter(None)(1, 2)  # a run without a checkpoint has nobody to tell


def test_the_bar_knows_what_is_done_and_what_is_left(tmp_path, clock):
    paths = {key: tmp_path / f"{key}.pt" for key in "abcd"}
    report_of(paths["a"]).write_text("0.5")  # left by a sweep that was killed
    bar = Bar(paths, Terminal())
    assert bar.left() == "", "nobody knows the speed yet"
    assert bar.line() == "[##------------------] 12 % of 4 pieces; a 50 %"
    clock[0] += 60
    report_of(paths["a"]).write_text("0.75")
    report_of(paths["b"]).write_text("0.25")
    # Half a piece a minute; three are left.
    assert bar.line() == "[#####---------------] 25 % of 4 pieces; a 75 %, b 25 %; about 6 min left"
    bar.finish("a")
    bar.finish("b")
    assert bar.line() == "[##########----------] 50 % of 4 pieces; about 80 s left"
    bar.finish("c")
    bar.finish("d")
    assert bar.line() == "[####################] 100 % of 4 pieces"


def test_only_a_terminal_sees_the_bar(tmp_path):
    paths = {"a": tmp_path / "a.pt"}
    for stream in (io.StringIO(), Terminal()):
        bar = Bar(paths, stream)
        bar.show()
        bar.clear()
        assert bool(stream.getvalue()) == stream.isatty()
    assert stream.getvalue() == "\r[--------------------] 0 % of 1 pieces\x1b[K\r\x1b[K"


def test_a_sweep_draws_while_it_runs_and_leaves_no_report(tmp_path, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(progress, "EVERY", 0.01)

    def work(config, device, checkpoint):
        Reporter(checkpoint)(1, 4)
        time.sleep(0.1)
        return record(config)

    assert run(pieces(2), work, tmp_path) == 0
    assert "12 % of 2 pieces; p0 25 %" in terminal.getvalue()
    assert "62 % of 2 pieces; p1 25 %" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert not list(tmp_path.rglob("*.progress"))


def test_a_staircase_says_how_far_it_is(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(staircase, "Reporter", lambda path: lambda *told: said.append(told))
    config = dict(next(find_table("gaussian", "ci-gaussian").pieces("gaussian")).config)
    config["settings"] = config["settings"] | {"levels": [1.0], "steps": 50}
    staircase.run(config | {"seeds": [0]}, "cpu", tmp_path / "a.pt")
    assert said == [(step, 50) for step in range(1, 51)]
