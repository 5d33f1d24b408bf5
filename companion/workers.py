"""The processes that do the pieces of a sweep, and how to wait for them and stop them."""

import contextlib
import ctypes
import multiprocessing
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from mi_lib.validate import whole_number

from . import progress

THREADS = tuple(
    f"{library}_NUM_THREADS"
    for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "NUMBA", "GOTO")
) + ("VECLIB_MAXIMUM_THREADS",)
_ENVIRONMENT = threading.Lock()


class Ended:
    """Futures in the order they end, and whether Ctrl-C was pressed meanwhile."""

    def __init__(self):
        self.futures: queue.SimpleQueue[Future | None] = queue.SimpleQueue()
        self.interrupted = False

    def interrupt(self, *_: object) -> None:
        """Note a Ctrl-C, and wake who waits."""
        self.interrupted = True
        self.futures.put(None)


class Workers(Executor):
    """Processes with one thread each, which do one piece at a time.

    Each is a pool of its own: where a process dies, the piece that it was doing fails with a
    `BrokenProcessPool`, no other does, and a new process takes its place.
    """

    def __init__(self, workers: int):
        self._slots = ThreadPoolExecutor(whole_number(workers, "workers", 1))
        self._of_slot = threading.local()
        self._pools: list[ProcessPoolExecutor] = []

    def submit(self, f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Do ``f(*args, **kwargs)`` in the next free process."""
        return self._slots.submit(self._in_process, f, args, kwargs)

    def _in_process(self, f: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        if (pool := getattr(self._of_slot, "pool", None)) is None:
            spawn = multiprocessing.get_context("spawn")
            pool = self._of_slot.pool = ProcessPoolExecutor(1, spawn, _one_thread)
            self._pools.append(pool)
        try:
            with _threads_of_children():
                future = pool.submit(f, *args, **kwargs)  # here its process starts
            return future.result()
        except BrokenProcessPool:
            self._of_slot.pool = None
            self._pools.remove(pool)
            raise

    @property
    def _processes(self) -> dict[int, Any]:
        """By number, as those of a `ProcessPoolExecutor`."""
        return {n: p for pool in self._pools for n, p in (pool._processes or {}).items()}

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for what is under way, and end the processes."""
        self._slots.shutdown(wait, cancel_futures=cancel_futures)
        for pool in list(self._pools):
            pool.shutdown(wait, cancel_futures=cancel_futures)


def local_workers(workers: int) -> Workers:
    """Processes with one thread each; on Linux they end with their parent, however that ends."""
    return Workers(workers)


@contextlib.contextmanager
def _threads_of_children() -> Iterator[None]:
    """One thread in every pool of the processes that start here: libraries read it once, when they
    are loaded."""
    with _ENVIRONMENT:
        before = {name: os.environ.get(name) for name in THREADS}
        os.environ.update(dict.fromkeys(THREADS, "1"))
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


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
    torch.set_num_interop_threads(1)


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


def each(
    ended: Ended, waiting: Collection[Future], meanwhile: Callable[[], None]
) -> Iterator[Future]:
    """The futures that end, as long as there are ``waiting`` ones, which the caller takes away and
    may add to; a Ctrl-C is raised here, between two of them."""
    while waiting and not ended.interrupted:
        try:
            future = ended.futures.get(timeout=progress.EVERY)
        except queue.Empty:
            future = None
        if future is not None:
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
