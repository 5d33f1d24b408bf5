"""How far the running pieces of a sweep are.

A worker leaves the share of its piece that is done in a small file beside its checkpoint. Whoever
started the sweep reads these files, wherever the workers are, and draws one line on a terminal.
"""

import contextlib
import math
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

EVERY = 1.0  # seconds between two looks, and between two reports of a worker
CELLS = 20  # of the bar


def report_of(checkpoint: Path) -> Path:
    """The file in which the worker of this checkpoint says how far it is."""
    return checkpoint.with_suffix(".progress")


class Reporter:
    """Call it with (done, total) after every step: it writes once a second."""

    def __init__(self, checkpoint: Path | None):
        self.path = None if checkpoint is None else report_of(checkpoint)
        self.told = -math.inf

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self.path is None or now - self.told < EVERY:
            return
        self.told = now
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(f"{done / total:.4f}", encoding="utf-8")


def share(checkpoint: Path) -> float:
    """What a worker last said; 0 where it has said nothing, or is just writing."""
    with contextlib.suppress(OSError, ValueError):
        return float(report_of(checkpoint).read_text(encoding="utf-8"))
    return 0.0


class Bar:
    """One line on a terminal for all pieces of a sweep; on anything else, nothing.

    ``checkpoints`` has the pieces to do by name. What an earlier, killed sweep has done of them
    counts as done, and not as this one's speed.
    """

    def __init__(self, checkpoints: Mapping[str, Path], stream: TextIO | None = None):
        self.stream = sys.stderr if stream is None else stream
        self.waiting, self.total = dict(checkpoints), len(checkpoints)
        self.before, self.started = self.done(), time.monotonic()

    def shares(self) -> dict[str, float]:
        """The pieces that are begun and not finished, and how far they are."""
        found = {key: share(checkpoint) for key, checkpoint in self.waiting.items()}
        return {key: value for key, value in found.items() if value > 0}

    def done(self) -> float:
        """Pieces that are done, with the shares of those under way."""
        return self.total - len(self.waiting) + sum(self.shares().values())

    def finish(self, key: str) -> None:
        """This piece has ended, well or not."""
        del self.waiting[key]

    def left(self) -> str:
        """About how long it will take; empty while nobody can know, and at the end."""
        done, passed = self.done(), time.monotonic() - self.started
        if done <= self.before or not self.waiting:
            return ""
        seconds = passed * (self.total - done) / (done - self.before)
        return (
            f"about {seconds:.0f} s left" if seconds < 90 else f"about {seconds / 60:.0f} min left"
        )

    def line(self) -> str:
        """The bar, the pieces under way, and the time that is left."""
        part = self.done() / self.total
        filled = int(CELLS * part)
        running = ", ".join(f"{key} {100 * value:.0f} %" for key, value in self.shares().items())
        bar = f"[{'#' * filled}{'-' * (CELLS - filled)}] {100 * part:.0f} % of {self.total} pieces"
        return "; ".join(text for text in (bar, running, self.left()) if text)

    def show(self) -> None:
        """Draw the line over the last one."""
        if self.stream.isatty():
            width = shutil.get_terminal_size().columns - 1
            self.stream.write(f"\r{self.line()[:width]}\x1b[K")
            self.stream.flush()

    def clear(self) -> None:
        """Make room for a line of text."""
        if self.stream.isatty():
            self.stream.write("\r\x1b[K")
            self.stream.flush()
