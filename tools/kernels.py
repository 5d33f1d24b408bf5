"""A pytest plugin (`-p tools.kernels`): nbval tries a kernel that did not start once more.

papermill's kernels get the same second chance in `tools.execute`, which says why one may die.
"""

from collections.abc import Callable

from nbval import kernel

from tools.execute import NOT_STARTED


def patient(start: Callable) -> Callable:
    """`start`, called a second time where the kernel died before a cell had run."""

    def start_new_kernel(**options):
        try:
            return start(**options)
        except RuntimeError as error:
            if NOT_STARTED not in str(error):
                raise
        return start(**options)

    return start_new_kernel


def pytest_configure() -> None:
    """In place before the first notebook is opened."""
    kernel.start_new_kernel = patient(kernel.start_new_kernel)
