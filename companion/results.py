r"""Read what finished runs left in `results/`, and say what is missing or old.

Figures, tables and experimental claims are drawn from these files alone, never from a live run.
"""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import stdtrit

from .provenance import code_hash
from .stored import COLUMNS, Piece, finished


def results_folder() -> Path:
    """The folder named by MI_RESULTS, else `results/` beside the package."""
    if named := os.environ.get("MI_RESULTS"):
        return Path(named)
    return Path(__file__).resolve().parents[1] / "results"


@dataclass(frozen=True)
class Stored:
    """One table: the pieces it should have, and what is there."""

    pieces: tuple[Piece, ...]
    folder: Path
    modules: tuple[str, ...]

    @cached_property
    def _found(self) -> tuple[dict[str, tuple[dict[str, Any], pd.DataFrame]], list[str]]:
        """Provenance and records of each piece that is there; the names of damaged files."""
        found, damaged = {}, []
        for piece in self.pieces:
            name = piece.path(self.folder).name
            whole = finished(piece, self.folder, lambda line, name=name: damaged.append(name))
            if whole is not None:
                found[piece.key] = whole
        return found, damaged

    @cached_property
    def there(self) -> list[Piece]:
        """The pieces whose files exist and are whole, with their configuration."""
        return [piece for piece in self.pieces if piece.key in self._found[0]]

    @property
    def damaged(self) -> list[str]:
        """The files that are there and not as they were written: they count as missing."""
        return self._found[1]

    @property
    def complete(self) -> bool:
        """Whether every piece is there."""
        return len(self.there) == len(self.pieces)

    @cached_property
    def about(self) -> list[dict[str, Any]]:
        """The provenance of each piece that is there."""
        return [about for about, _ in self._found[0].values()]

    @cached_property
    def records(self) -> pd.DataFrame:
        """All records: record, training, evaluation, seed (-1 where a row pools the seeds of its
        piece), piece, and values as an array; empty where nothing is stored."""
        frames = [frame.assign(piece=key) for key, (_, frame) in self._found[0].items()]
        if not frames:
            return pd.DataFrame(columns=[*COLUMNS, "piece"])
        whole = pd.concat(frames, ignore_index=True)
        whole["seed"] = pd.to_numeric(whole["seed"], errors="coerce").fillna(-1).astype(int)
        whole["values"] = [
            np.array([float(v) for v in str(text).split()]) for text in whole["values"]
        ]
        return whole

    @property
    def name(self) -> str:
        """Experiment and table (of several, what their names share): ``gaussian paper-b64``."""
        tables = os.path.commonprefix([piece.key.rsplit("-seed", 1)[0] for piece in self.pieces])
        return f"{self.pieces[0].experiment} {tables.rstrip('-')}".rstrip()

    def short(self) -> str:
        """A few words: which table, and how much of it is there."""
        pieces = f"{len(self.there)} of {len(self.pieces)} pieces, {self.word}"
        return f"{self.name}: {pieces}{'; OLDER CODE' if self.older else ''}{self._left_out()}"

    def _left_out(self) -> str:
        return f"; DAMAGED and left out: {', '.join(self.damaged)}" if self.damaged else ""

    @property
    def older(self) -> bool:
        """Whether a piece was made by other code than today's."""
        return bool({a["code_hash"] for a in self.about} - {code_hash(self.modules)})

    @property
    def word(self) -> str:
        """complete, PARTIAL or not run."""
        return "complete" if self.complete else "PARTIAL" if self.there else "not run"

    def status(self) -> str:
        """Lines for a page: how much is there; with which device, code and time; what was kept."""
        if not self.there:
            pieces = f"0 of {len(self.pieces)} pieces are stored"
            return f"{self.name}: not run; {pieces}{self._left_out()}"
        seeds = sorted({s for piece in self.there for s in piece.config["seeds"]})
        words = []
        if contrasts := {p.config["contrast"] for p in self.there if "contrast" in p.config}:
            words.append(f"contrast {_all(contrasts)}")
        words.append(f"device {_all(a['device'] for a in self.about)}")
        words.append(f"torch {_all(a['versions']['torch'] for a in self.about)}")
        words.append(f"commit {_all(a['commit'] for a in self.about)}")
        words.append(self._hours())
        pieces = f"{len(self.there)} of {len(self.pieces)} pieces, {len(seeds)} seed(s)"
        if self.older:
            pieces += "; made by OLDER CODE than this book's"
        pieces += self._left_out()
        lines = [f"{self.name}: {self.word}; {pieces}", "; ".join(words)]
        if kept := sum("made_by_code" in a for a in self.about):
            lines.append(f"{kept} pieces kept from older code after a check")
        return "\n    ".join(lines)

    def _hours(self) -> str:
        """Processor time; where an older piece did not store it, time by the clock."""
        if all("cpu_seconds" in a for a in self.about):
            return f"{sum(a['cpu_seconds'] for a in self.about) / 3600:.1f} core-hours"
        return f"{sum(a['seconds'] for a in self.about) / 3600:.1f} hours by the clock"


def two_decimals(value: float, sign: str = "") -> str:
    """Two decimals; from ten thousand on, the power of ten: a bound may read millions of bits.

    >>> two_decimals(1.234), two_decimals(1.234, "+"), two_decimals(-17366598.4)
    ('1.23', '+1.23', '-2e+07')
    """
    return f"{value:{sign}.2f}" if not 1e4 <= abs(value) < float("inf") else f"{value:{sign}.0e}"


def _all(values: Iterable[str]) -> str:
    return ", ".join(sorted(set(values)))


@dataclass(frozen=True)
class Interval:
    """A mean over seeds with its 95 % t-interval."""

    mean: float
    low: float
    high: float
    count: int

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside: what 'better' means in this book."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        return self._text(lambda value: two_decimals(value, "+"))

    def _text(self, show: Callable[[float], str]) -> str:
        """The mean and its interval; of one value there is none."""
        if self.count == 1:
            return f"{show(self.mean)}, one value"
        return f"{show(self.mean)} [{show(self.low)}, {show(self.high)}]"


class Factor(Interval):
    """The interval of log2 of a ratio of errors; printed as the ratio."""

    def __str__(self) -> str:
        return "x " + self._text(lambda value: two_decimals(2.0**value))


def interval(values: Sequence[float] | Float[np.ndarray, " n"], level: float = 0.95) -> Interval:
    """The t-interval of a mean; with one value it is unbounded.

    >>> str(interval([1.0, 2.0, 3.0]))
    '+2.00 [-0.48, +4.48]'
    """
    values = np.asarray(values, float)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ValueError(f"an interval needs finite numbers in a list; got {values!r}")
    mean = float(values.mean())
    if len(values) == 1:
        return Interval(mean, -np.inf, np.inf, 1)
    half = stdtrit(len(values) - 1, (1 + level) / 2) * values.std(ddof=1) / len(values) ** 0.5
    return Interval(mean, float(mean - half), float(mean + half), len(values))


def paired(a: Mapping[Any, float], b: Mapping[Any, float]) -> Interval:
    """The interval of a - b over the keys (seeds, trials) that both have."""
    shared = sorted(set(a) & set(b))
    if not shared:
        raise ValueError("the two share no seed; a paired difference needs the same seeds")
    return interval([a[key] - b[key] for key in shared])


def paired_factor(a: Mapping[Any, float], b: Mapping[Any, float]) -> Factor:
    """By which factor the errors ``a`` are larger than ``b``, over the keys that both have.

    The t-interval of the mean log ratio, where a factor of more than 1,024 counts as 1,024: errors
    of bounds reach millions of bits in some seeds. The mean of their differences would be that of
    one seed, and how far a run has diverged says nothing on whether it is worse.

    >>> str(paired_factor({1: 3.0, 2: 4.0}, {1: 1.5, 2: 2.0}))
    'x 2.00 [2.00, 2.00]'
    """
    least, most = 1e-6, 10.0  # bits; log2 of the largest factor that counts
    logs = [{k: math.log2(max(error, least)) for k, error in errors.items()} for errors in (a, b)]
    ratios = {k: max(-most, min(most, logs[0][k] - logs[1][k])) for k in logs[0] if k in logs[1]}
    return Factor(**vars(paired(ratios, dict.fromkeys(ratios, 0.0))))
