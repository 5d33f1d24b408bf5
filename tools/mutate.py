"""Apply each deliberate error of tests/mutations*.py and see that the named tests notice.

    python -m tools.mutate                 # all
    python -m tools.mutate mi_lib.fit      # those of some modules
    python -m tools.mutate --sample 60     # some of all; which ones the last commit decides

The heavy packages are imported once; each mutation then runs in a forked child, in which the
module's text is changed on import. Nothing on disk is touched.
"""

import argparse
import importlib
import importlib.abc
import importlib.util
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.project import ROOT

sys.path.insert(0, str(ROOT / "tests"))
from mutations import Group

FILES = sorted(path.stem for path in (ROOT / "tests").glob("mutations*.py"))
GROUPS = [Group(*group) for name in FILES for group in importlib.import_module(name).GROUPS]

HEAVY = (
    "_pytest.assertion.rewrite",
    "hypothesis.extra.numpy",
    "jaxtyping",
    "matplotlib.pyplot",
    "pandas",
    "pytest",
    "scipy.integrate",
    "scipy.optimize",
    "scipy.spatial",
    "scipy.stats",
    "seaborn",
    "sklearn.covariance",
    "sklearn.datasets",
    "sklearn.metrics",
    "sklearn.utils.validation",
    "sympy",
    "torch.func",
    "torch.optim",
)
SHOWN = 5  # of the slowest
CAUGHT, SURVIVED = 1, 0  # pytest's exit codes: some test failed, all passed


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module with one piece of its text replaced."""

    def __init__(self, module: str, old: str, new: str):
        self.module, self.old, self.new = module, old, new

    def find_spec(self, name, path=None, target=None):
        if name != self.module:
            return None
        spec = importlib.util.spec_from_loader(name, self, origin=str(source_of(name)))
        spec.has_location = True  # gives the module its __file__
        return spec

    def exec_module(self, module):
        text = source_of(self.module).read_text(encoding="utf-8").replace(self.old, self.new)
        exec(compile(text, str(source_of(self.module)), "exec"), module.__dict__)


def source_of(module: str) -> Path:
    """The file of a module of this project."""
    return ROOT / (module.replace(".", "/") + ".py")


def applicable(group: Group) -> list[str]:
    """Complaints about entries whose text does not occur exactly once."""
    text = source_of(group.module).read_text(encoding="utf-8")
    return [
        f"{group.module}: {old!r} occurs {text.count(old)} times, not once; bring it up to date"
        for old, _ in group.errors
        if text.count(old) != 1
    ]


def exit_code(group: Group, old: str, new: str) -> int:
    """Run the group's tests in a child in which the error is present."""
    child = os.fork()
    if child == 0:
        code = 3
        try:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            os.chdir(ROOT)
            sys.meta_path.insert(0, Changed(group.module, old, new))
            import pytest

            options = ["-x", "-q", "-p", "no:nbval", "-p", "no:cacheprovider", "-k", group.select]
            code = int(pytest.main([*options, *group.tests.split()]))
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def timed(group: Group, old: str, new: str) -> tuple[int, float]:
    """The exit code, and the seconds it took."""
    start = time.perf_counter()
    return exit_code(group, old, new), time.perf_counter() - start


def sampled(jobs: list, count: int) -> list:
    """``count`` of the jobs, others after every commit, the same for one commit everywhere."""
    asked = ["git", "rev-parse", "HEAD"]
    head = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return random.Random(head).sample(jobs, min(count, len(jobs)))


def main(arguments: list[str]) -> int:
    """Try the errors; 1 when one survives."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutate", description=__doc__)
    parser.add_argument("modules", nargs="*")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--sample", type=int, default=None)
    which.add_argument("--all", action="store_true", help="as without a number")
    given = parser.parse_args(arguments)
    modules = given.modules
    for package in HEAVY:
        importlib.import_module(package)
    import torch

    torch.set_num_threads(1)
    groups = [g for g in GROUPS if not modules or g.module in modules]
    stale = [complaint for group in groups for complaint in applicable(group)]
    for complaint in stale:
        print(complaint)
    if stale:
        return 1
    jobs = [(group, old, new) for group in groups for old, new in group.errors]
    if given.sample is not None:
        print(f"{given.sample} of {len(jobs)} deliberate errors; `make test-long` tries all")
        jobs = sampled(jobs, given.sample)
    start = time.perf_counter()
    codes, times = [], []
    with ThreadPoolExecutor(max_workers=2) as pool:
        for code, took in pool.map(lambda job: timed(*job), jobs):
            codes.append(code)
            times.append(took)
            print("." if code == CAUGHT else "S", end="", flush=True)
    print()
    failed = 0
    for (group, old, new), code in zip(jobs, codes, strict=True):
        if code != CAUGHT:
            failed += 1
            what = "survived" if code == SURVIVED else f"could not be tried (exit code {code})"
            print(f"{group.module}: {old!r} -> {new!r} {what}")
    seconds = time.perf_counter() - start
    for took, (group, _, new) in sorted(zip(times, jobs, strict=True), key=lambda t: -t[0])[:SHOWN]:
        print(f"  {took:5.1f} s  {group.module}: {new!r}")
    print(f"{len(jobs)} deliberate errors, {len(jobs) - failed} caught, {seconds:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
