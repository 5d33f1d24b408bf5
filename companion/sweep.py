r"""Run a grid of experiments on any `concurrent.futures.Executor`; one small file a finished piece.

A piece is a configuration and the file its result goes to. A worker claims it, goes on from its
checkpoint if that is of the same configuration and code, writes the file under a temporary name and
renames it: a file is whole or absent. A sweep that was killed at any moment goes on with the pieces
that have no file; several sweeps, also of other machines, may share a folder.
"""

import contextlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path

import pandas as pd

from . import ownership, progress, sealed, workers
from .provenance import code_hash
from .stored import (
    COLUMNS,
    DamagedError,
    Piece,
    commit,
    finished,
    missing,
    provenance,
    read,
    write,
)

__all__ = [
    "COLUMNS",
    "DamagedError",
    "Piece",
    "missing",
    "provenance",
    "read",
    "run_piece",
    "sweep",
    "write",
]

BEAT = 5.0  # seconds between two looks at the state that a work has saved
LIVES = 2  # a piece whose worker died so often is left
Work = Callable[..., pd.DataFrame]  # work(config, device=, checkpoint=)


def run_piece(work: Work, piece: Piece, results: Path, code: Mapping[str, str]) -> str:
    """Do one piece and write its file; runs inside a worker. Returns words about it."""
    checkpoint = piece.checkpoint(results)
    claim = ownership.take(checkpoint)
    try:
        if finished(piece, results, lambda line: None) is not None:
            return "was finished by another sweep meanwhile"
        for left in _leftovers(piece, results):
            left.unlink(missing_ok=True)
        belongs_to = {"configuration": piece.config_hash, "code": code["code_hash"]}
        started, cpu_started = time.perf_counter(), time.process_time()
        with _state(checkpoint, belongs_to, claim) as (state, note):
            records = work(piece.config, device=code["device"], checkpoint=state)
        seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
        write(piece.path(results), provenance(piece, code, seconds, cpu_seconds), records)
        checkpoint.unlink(missing_ok=True)
        progress.report_of(checkpoint).unlink(missing_ok=True)
        return f"{seconds:.0f} s{note}"
    finally:
        ownership.release(checkpoint, claim)


@contextlib.contextmanager
def _state(checkpoint: Path, belongs_to: dict[str, str], claim: Path) -> Iterator[tuple[Path, str]]:
    """A file for the state of a work, as it was sealed before, and what to say of that. Whatever
    the work saves there is sealed in the checkpoint, in the background."""
    state, note = checkpoint.with_suffix(".work"), ""
    try:
        content = sealed.unseal(checkpoint, belongs_to)
        state.write_bytes(content)
    except FileNotFoundError:
        pass
    except sealed.SealError as error:
        note = f", from the start: its checkpoint was {error}"
        checkpoint.unlink(missing_ok=True)
    stop, known = threading.Event(), _stamp(state)

    def look() -> None:
        nonlocal known
        ownership.touch(claim)
        now = _stamp(state)
        if now and now != known:
            with contextlib.suppress(OSError):  # a full disk must not end the work
                sealed.seal(checkpoint, belongs_to, state.read_bytes())
                known = now

    def watch() -> None:
        while not stop.wait(BEAT):
            look()

    watcher, whole = threading.Thread(target=watch, daemon=True), False
    watcher.start()
    try:
        yield state, note
        whole = True
    finally:
        stop.set()
        watcher.join()
        if not whole:  # the next sweep goes on from here
            look()
        state.unlink(missing_ok=True)


def _stamp(path: Path) -> tuple[int, int] | None:
    """Tells one saved state from the next: each is a new file under the old name."""
    with contextlib.suppress(FileNotFoundError):
        about = path.stat()
        return about.st_ino, about.st_mtime_ns
    return None


def _leftovers(piece: Piece, results: Path) -> list[Path]:
    """What a killed worker left of a piece: files that were being written, an unsealed state."""
    path, checkpoint = piece.path(results), piece.checkpoint(results)
    folders = {path.parent: [], checkpoint.parent: []}
    for folder in folders:
        with contextlib.suppress(FileNotFoundError):
            folders[folder] = os.listdir(folder)
    return [
        folder / name
        for folder, names in folders.items()
        for name in names
        if name == f"{piece.key}.work" or name.startswith(f"{piece.key}.") and name.endswith(".tmp")
    ]


def _tidy(pieces: Iterable[Piece], todo: Iterable[Piece], results: Path) -> None:
    """Remove what killed workers left of pieces that nobody is at; of finished ones everything."""
    unfinished = {piece.key for piece in todo}
    for piece in pieces:
        checkpoint = piece.checkpoint(results)
        left = _leftovers(piece, results)
        if piece.key not in unfinished:
            left += [checkpoint, progress.report_of(checkpoint)]
        if ownership.forget_the_dead(checkpoint):
            for path in left:
                path.unlink(missing_ok=True)


def sweep(
    pieces: Iterable[Piece],
    work: Work,
    results: Path,
    modules: tuple[str, ...],
    executor: Executor | None = None,
    device: str = "cpu",
    say: Callable[[str], None] = print,
) -> int:
    """Run the pieces that are missing below ``results``; return how many failed.

    ``work(config, device=..., checkpoint=...)`` returns the records of one piece; ``modules`` are
    those whose code decides the numbers. Ctrl-C keeps what is finished. A piece whose worker dies
    is tried once more; one that fails is reported, and the others go on.
    """
    pieces = list(pieces)
    todo = missing(pieces, results, say)
    _tidy(pieces, todo, results)
    say(f"{len(pieces) - len(todo)} of {len(pieces)} pieces are there, {len(todo)} to do")
    if not todo:
        return 0
    # Read now: workers import the code now, and the files may change while they run.
    code = {"code_hash": code_hash(modules), "commit": commit(), "device": device}
    pool = executor or workers.local_workers(1)
    bar = progress.Bar({piece.key: piece.checkpoint(results) for piece in todo})
    ended, deaths = workers.Ended(), Counter[str]()
    futures: dict[Future, Piece] = {}
    failed: list[str] = []
    left_to_others: list[str] = []

    def hand_over(piece: Piece) -> None:
        try:
            future = pool.submit(run_piece, work, piece, results, code)
        except BrokenExecutor as error:
            future = Future()
            future.set_exception(RuntimeError(f"the executor is broken ({error})"))
        futures[future] = piece
        future.add_done_callback(ended.futures.put)

    with workers.interrupts_wait_in(ended):
        try:
            for piece in todo:
                if ended.interrupted:
                    break
                hand_over(piece)
            for future in workers.each(ended, futures, bar.show):
                piece, error = futures.pop(future), future.exception()
                bar.clear()
                if isinstance(error, BrokenExecutor):
                    deaths[piece.key] += 1
                    if deaths[piece.key] < LIVES:
                        say(f"{piece.key}: its worker died (killed, or no memory left); once more")
                        hand_over(piece)
                        continue
                    error = RuntimeError(f"its worker died {LIVES} times (killed, or no memory)")
                if isinstance(error, ownership.BusyError):
                    left_to_others.append(piece.key)
                    note = f"left to {error}"
                elif error is not None:
                    failed.append(piece.key)
                    note = f"FAILED: {error}"
                else:
                    note = future.result()
                bar.finish(piece.key)
                count, left = len(todo) - len(bar.waiting), bar.left()
                say(f"[{count}/{len(todo)}] {piece.key}: {note}{left and f', {left}'}")
            bar.clear()
        except KeyboardInterrupt:
            workers.stop(pool)
            bar.clear()
            say("Stopped. Finished pieces are kept; the same command goes on from here.")
            raise
    if executor is None:
        pool.shutdown()
    if left_to_others:
        say(
            f"{len(left_to_others)} of {len(todo)} pieces are left to other workers, which claim "
            "them; the same command says later whether they are there."
        )
    if failed:
        say(
            f"{len(failed)} of {len(todo)} pieces failed: {', '.join(failed)}. The others are "
            "stored. Cure what is said above (where workers died: free memory, or --workers 1); "
            "the same command then does these alone."
        )
    return len(failed)
