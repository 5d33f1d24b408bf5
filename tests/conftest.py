"""Skips: where a GPU or the data is missing, and how MI_STRICT=1 refuses the others; and the tests
that only `make test-long` runs."""

import os

import pytest

LONG = os.environ.get("MI_LONG") == "1"
STRICT = os.environ.get("MI_STRICT") == "1"
EXCUSED = pytest.StashKey[bool]()


def skip(item, reason, excused):
    """Skip a test; an excused skip is none under MI_STRICT."""
    item.stash[EXCUSED] = excused
    if excused:
        # Read by tools/steps.py from the JUnit report.
        item.user_properties.append(("excused", reason))
    item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_modifyitems(config, items):
    """Leave out `long` tests unless MI_LONG=1. Skip `gpu` tests where there is no CUDA device, and
    `needs_data` tests where the files are absent. Without MI_DATA that is the no-data state; with
    it, a missing file is no excuse."""
    left_out = [item for item in items if item.get_closest_marker("long") and not LONG]
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
    gpu = [item for item in items if item.get_closest_marker("gpu")]
    data = [item for item in items if item.get_closest_marker("needs_data")]
    if gpu:
        import torch

        for item in gpu if not torch.cuda.is_available() else []:
            skip(item, "gpu: this machine has no CUDA device", True)
    if data:
        from companion.data import available

        for item in data:
            name = item.get_closest_marker("needs_data").args[0]
            if not available(name):
                skip(item, f"data: {name} is not here", not os.environ.get("MI_DATA"))


def refuse(report):
    """Turn a skip into a failure that keeps the reason."""
    where, line, reason = report.longrepr
    report.outcome = "failed"
    report.longrepr = f"MI_STRICT=1 turns this skip into a failure: {reason} ({where}:{line})"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    expected = hasattr(report, "wasxfail")
    if STRICT and report.skipped and not expected and not item.stash.get(EXCUSED, False):
        refuse(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """A whole module can be skipped, too: `pytest.importorskip` at its top."""
    report = yield
    if STRICT and report.skipped:
        refuse(report)
    return report


@pytest.fixture
def results(tmp_path, monkeypatch):
    """An empty folder that takes the place of `results/`."""
    monkeypatch.setenv("MI_RESULTS", str(tmp_path))
    return tmp_path
