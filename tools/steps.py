"""Run steps one after another: time them, stop at the first failure, list the skips."""

import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tools.project import REPORTS, ROOT, StepError, child_environment, python

TAIL = 25
# One file of tests is one piece of work: a notebook's cells must run in order, on one kernel.
PARALLEL = ("-n", str(min(os.cpu_count() or 1, 4)), "--dist", "loadfile")
COLOUR = re.compile(r"\x1b\[[\d;]*m")


@dataclass
class Outcome:
    """What a step gives back: notes for the table, and its skips as (test, reason, excused)."""

    note: str = ""
    skips: list[tuple[str, str, bool]] = field(default_factory=list)


def stream(
    command: list[str], what: str, environment: dict[str, str] | None = None, reason: str = ""
) -> None:
    """Run a command, show its output as it comes, raise StepError with its last lines.

    `reason` is a pattern of lines that say why; they are repeated at the very end.
    """
    sys.stdout.flush()
    child = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment or child_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    kept = b""
    # os.read gives pieces as they arrive, so pytest's dots appear one by one.
    while piece := os.read(child.stdout.fileno(), 4096):
        sys.stdout.buffer.write(piece)
        sys.stdout.flush()
        kept = (kept + piece)[-20_000:]
    child.stdout.close()
    if child.wait():
        lines = COLOUR.sub("", kept.decode(errors="replace")).rstrip().splitlines()
        why = [line for line in lines if reason and re.search(reason, line)]
        raise StepError("\n".join([*lines[-TAIL:], f"{what}: exit code {child.returncode}", *why]))


def pytest(name: str, *arguments: object, environment: dict[str, str] | None = None) -> Outcome:
    """Run pytest in a child process and collect its skips from the JUnit report."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    report = REPORTS / f"{name}.xml"
    report.unlink(missing_ok=True)
    command = python("-m", "pytest", f"--junitxml={report}", "-o", "junit_family=xunit2")
    try:
        stream([*command, *map(str, arguments)], "pytest", environment)
    except StepError as error:
        if report.is_file():
            error.skips = read_report(report).skips
        raise
    return read_report(report)


def read_report(report: Path) -> Outcome:
    """Number of tests passed and the list of skips; expected failures are no skips.

    A test may excuse its skip (the property is set by tests/conftest.py: `gpu` without a GPU).
    """
    outcome = Outcome()
    cases = list(ElementTree.parse(report).iter("testcase"))
    for case in cases:
        skipped = case.find("skipped")
        if skipped is not None and skipped.get("type") != "pytest.xfail":
            test = f"{case.get('classname')}::{case.get('name')}"
            excused = any(item.get("name") == "excused" for item in case.iter("property"))
            outcome.skips.append((test, skipped.get("message", ""), excused))
    outcome.note = f"{len(cases) - len(outcome.skips)} passed"
    return outcome


def run_steps(steps: list[tuple[str, Callable[[], Outcome]]]) -> int:
    """Run the steps, print the table, return the exit code of the command."""
    strict = os.environ.get("MI_STRICT") == "1"
    rows, skips, failure = [], [], ""
    for name, step in steps:
        print(f"\n=== {name} ===", flush=True)
        started = time.perf_counter()
        outcome = Outcome()
        try:
            outcome = step()
            skips += [(name, *skip) for skip in outcome.skips]
            refused = [f"{t}: {why}" for t, why, excused in outcome.skips if not excused]
            if strict and refused:
                raise StepError("\n".join(["MI_STRICT=1 and these were skipped:", *refused]))
        except StepError as error:
            failure, outcome.note = f"{error}", "FAILED"
            skips += [(name, *skip) for skip in error.skips]
        rows.append((name, time.perf_counter() - started, outcome.note))
        if failure:
            break
    print_table(rows, skips, [name for name, _ in steps[len(rows) :]])
    if failure:
        print(f"\nThe step '{rows[-1][0]}' failed. Its last lines:\n\n{failure}", flush=True)
        return 1
    print("\nAll steps done.", flush=True)
    return 0


def print_table(rows: list, skips: list, not_reached: list[str]) -> None:
    """Seconds of each step, then every skip with its reason."""
    print(f"\n{'step':<14}{'seconds':>9}  result")
    for name, seconds, note in rows:
        print(f"{name:<14}{seconds:>9.1f}  {note}")
    for name in not_reached:
        print(f"{name:<14}{'-':>9}  not reached")
    print(f"{'together':<14}{sum(row[1] for row in rows):>9.1f}")
    print(f"\nSkipped: {len(skips) or 'nothing'}")
    for step, test, reason, _ in skips:
        print(f"  {step}: {test}: {reason}")
    sys.stdout.flush()
