r"""Run a grid of experiments on any `concurrent.futures.Executor`; one small file a finished piece.

A piece is a configuration and the file its result goes to. A worker writes that file under a
temporary name and renames it, so a file is whole or absent: a sweep that was killed at any moment
goes on with the pieces that have no file. Executors on other machines need a shared file system.
"""

import contextlib
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

from . import progress, workers
from .provenance import code_hash, text_hash

COLUMNS = ("record", "training", "evaluation", "seed", "values")
CHECKPOINTS = ".checkpoints"  # below a results folder; never committed
Work = Callable[..., pd.DataFrame]  # work(config, device=, checkpoint=)


@dataclass(frozen=True)
class Piece:
    """One file of results: where it goes and everything that decides what is in it."""

    experiment: str
    key: str
    config: Mapping[str, Any]

    def path(self, results: Path) -> Path:
        """The file of this piece below a results folder."""
        return results / self.experiment / f"{self.key}.csv"

    def checkpoint(self, results: Path) -> Path:
        """Where a worker keeps what it needs to go on."""
        return results / self.experiment / CHECKPOINTS / f"{self.key}.pt"


def provenance(
    piece: Piece, code: Mapping[str, str], seconds: float, cpu_seconds: float
) -> dict[str, Any]:
    """What a reader needs to judge a stored piece, and to make it again.

    ``seconds`` go by the clock, ``cpu_seconds`` by the worker's processor; both since the last
    start, so a piece that went on from a checkpoint shows less than it took.
    """
    return {
        "experiment": piece.experiment,
        "key": piece.key,
        "config": dict(piece.config),
        "config_hash": text_hash(json.dumps(dict(piece.config), sort_keys=True)),
        **code,
        "machine": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in ("torch", "numpy")},
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu_seconds, 1),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _commit() -> str:
    """The commit of the code, with a + where files differ from it; empty outside a checkout."""
    here = Path(__file__).parent

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=here, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    with contextlib.suppress(OSError):
        if commit := git("rev-parse", "--short=12", "HEAD"):
            return commit + ("+" if git("status", "--porcelain", "--", ".") else "")
    return ""


def write(path: Path, about: Mapping[str, Any], records: pd.DataFrame) -> None:
    """A comment line with the provenance as JSON, then the records as CSV; whole or absent.

    The provenance is completed by the number of records and a digest of their text.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    body = records.to_csv(index=False, columns=list(COLUMNS), lineterminator="\n")
    about = {**about, "rows": len(records), "body_hash": text_hash(body)}
    with temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"# {json.dumps(about)}\n{body}")
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def read(path: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    """Provenance and records of one piece."""
    with path.open(encoding="utf-8") as file:
        first = file.readline()
        if not first.startswith("# {"):
            raise ValueError(f"{path} has no provenance line; it was not written by a sweep")
        records = pd.read_csv(file, keep_default_na=False)
    if tuple(records.columns) != COLUMNS:
        raise ValueError(f"{path} has columns {list(records.columns)}, expected {list(COLUMNS)}")
    return json.loads(first[2:]), records


def missing(pieces: Iterable[Piece], results: Path) -> list[Piece]:
    """The pieces that have no file yet, or one of another configuration."""
    return [piece for piece in pieces if not _done(piece, piece.path(results))]


def _done(piece: Piece, path: Path) -> bool:
    if not path.is_file():
        return False
    return read(path)[0]["config"] == json.loads(json.dumps(dict(piece.config)))


def run_piece(work: Work, piece: Piece, results: Path, code: Mapping[str, str]) -> str:
    """Do one piece and write its file; runs inside a worker."""
    checkpoint = piece.checkpoint(results)
    started, cpu_started = time.perf_counter(), time.process_time()
    records = work(piece.config, device=code["device"], checkpoint=checkpoint)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    write(piece.path(results), provenance(piece, code, seconds, cpu_seconds), records)
    checkpoint.unlink(missing_ok=True)
    progress.report_of(checkpoint).unlink(missing_ok=True)
    return f"{seconds:.0f} s"


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
    those whose code decides the numbers. Ctrl-C keeps what is finished.
    """
    pieces = list(pieces)
    todo = missing(pieces, results)
    say(f"{len(pieces) - len(todo)} of {len(pieces)} pieces are there, {len(todo)} to do")
    if not todo:
        return 0
    # Read now: workers import the code now, and the files may change while they run.
    code = {"code_hash": code_hash(modules), "commit": _commit(), "device": device}
    pool, failed = executor or workers.local_workers(1), 0
    bar = progress.Bar({piece.key: piece.checkpoint(results) for piece in todo})
    ended = workers.Ended()
    with workers.interrupts_wait_in(ended):
        try:
            futures = {}
            for piece in todo:
                if ended.interrupted:
                    break
                future = pool.submit(run_piece, work, piece, results, code)
                futures[future] = piece
                future.add_done_callback(ended.futures.put)
            for future in workers.each(ended, len(todo), bar.show):
                piece, error = futures[future], future.exception()
                failed += error is not None
                note = future.result() if error is None else f"FAILED: {error}"
                bar.finish(piece.key)
                bar.clear()
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
    return failed
