"""The processes that do the pieces of a sweep, and how to wait for them and stop them."""

import contextlib
import ctypes
import multiprocessing
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor

from mi_lib.validate import whole_number

from . import progress


class Ended:
    """Futures in the order they end, and whether Ctrl-C was pressed meanwhile."""

    def __init__(self):
        self.futures: queue.SimpleQueue[Future | None] = queue.SimpleQueue()
        self.interrupted = False

    def interrupt(self, *_: object) -> None:
        """Note a Ctrl-C, and wake who waits."""
        self.interrupted = True
        self.futures.put(None)


def local_workers(workers: int) -> ProcessPoolExecutor:
    """Processes with one thread each; on Linux they end with their parent, however that ends."""
    whole_number(workers, "workers", 1)
    return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _one_thread)


def _one_thread() -> None:
    """Begin a worker: it dies with its parent, leaves Ctrl-C to it, and uses one thread."""
    parent = multiprocessing.parent_process()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            pr_set_pdeathsig = 1
            ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    if parent is not None and os.getppid() != parent.pid:
        os._exit(1)  # it died before we asked to die with it
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    import torch

    torch.set_num_threads(1)


@contextlib.contextmanager
def interrupts_wait_in(ended: Ended) -> Iterator[None]:
    """Let Ctrl-C be noted instead of raising wherever the main thread happens to be.

    An exception in the middle of `Executor.submit` or `concurrent.futures.wait` leaves locks of
    futures taken, and the thread that manages the workers then waits for them for ever.
    """
    before = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or before is not signal.default_int_handler:  # ignored, or the caller's own
        yield
        return
    signal.signal(signal.SIGINT, ended.interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def each(ended: Ended, count: int, meanwhile: Callable[[], None]) -> Iterator[Future]:
    """The next ``count`` futures to end; a Ctrl-C is raised here, between two of them."""
    while count and not ended.interrupted:
        try:
            future = ended.futures.get(timeout=progress.EVERY)
        except queue.Empty:
            future = None
        if future is not None:
            count -= 1
            yield future
        meanwhile()
    if ended.interrupted:
        raise KeyboardInterrupt


def stop(pool: Executor) -> None:
    """Cancel what waits, and end this machine's workers now: they write whole files or none."""
    processes = list(getattr(pool, "_processes", None) or {})  # shutdown forgets them
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        with contextlib.suppress(OSError):  # it has ended by itself
            os.kill(process, signal.SIGTERM)
