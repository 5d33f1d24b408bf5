"""Skips: where a GPU is missing, and how MI_STRICT=1 refuses the others."""

import os

import pytest

STRICT = os.environ.get("MI_STRICT") == "1"
NO_GPU = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items):
    """Skip `gpu` tests where there is no CUDA device; this skip is excused under MI_STRICT."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if torch.cuda.is_available():
        return
    for item in marked:
        item.stash[NO_GPU] = True
        # Read by tools/steps.py from the JUnit report.
        item.user_properties.append(("excused", "no GPU"))
        item.add_marker(pytest.mark.skip(reason="gpu: this machine has no CUDA device"))


def refuse(report):
    """Turn a skip into a failure that keeps the reason."""
    where, line, reason = report.longrepr
    report.outcome = "failed"
    report.longrepr = f"MI_STRICT=1 turns this skip into a failure: {reason} ({where}:{line})"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    expected = hasattr(report, "wasxfail")
    if STRICT and report.skipped and not expected and not item.stash.get(NO_GPU, False):
        refuse(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """A whole module can be skipped, too: `pytest.importorskip` at its top."""
    report = yield
    if STRICT and report.skipped:
        refuse(report)
    return report
