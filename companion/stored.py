r"""One small file a finished piece: a line of provenance, then its records; read only if whole.

The header holds the number of records, digests of the records and of the configuration, and a
digest of itself. A file whose content is not the one that was written is *damaged*: it is never
read as numbers, counts as missing, and is named.
"""

import contextlib
import io
import json
import platform
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

from .provenance import text_hash
from .sealed import write_whole

COLUMNS = ("record", "training", "evaluation", "seed", "values")
CHECKPOINTS = ".checkpoints"  # below a results folder; never committed


class DamagedError(ValueError):
    """A stored piece that is not the one that was written."""


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

    @property
    def config_hash(self) -> str:
        """The hash of the configuration."""
        return _hash(self.config)


def _hash(content: Mapping[str, Any]) -> str:
    return text_hash(json.dumps(dict(content), sort_keys=True))


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
        "config_hash": piece.config_hash,
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


def commit() -> str:
    """The commit of the code, with a + where files differ from it; empty outside a checkout."""
    here = Path(__file__).parent

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=here, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    with contextlib.suppress(OSError):
        if found := git("rev-parse", "--short=12", "HEAD"):
            return found + ("+" if git("status", "--porcelain", "--", ".") else "")
    return ""


def write(path: Path, about: Mapping[str, Any], records: pd.DataFrame) -> None:
    """A comment line with the provenance as JSON, then the records as CSV; whole or absent.

    The provenance is completed by the number of records and the digests.
    """
    body = records.to_csv(index=False, columns=list(COLUMNS), lineterminator="\n")
    about = {**about, "config_hash": _hash(about["config"])}
    about |= {"rows": len(records), "body_hash": text_hash(body)}
    about["head_hash"] = _hash(json.loads(json.dumps(about)))
    write_whole(path, f"# {json.dumps(about)}\n{body}".encode())


def read(path: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    """Provenance and records of one piece; a `DamagedError` where they are not as written."""
    try:
        return _read(path.read_bytes())
    except DamagedError as error:
        raise DamagedError(f"{path} {error}; the sweep that made it makes it again") from None


def _read(content: bytes) -> tuple[dict[str, Any], pd.DataFrame]:
    try:
        first, _, body = content.decode().replace("\r\n", "\n").partition("\n")
    except UnicodeDecodeError:
        raise DamagedError("is damaged: it is no text") from None
    if not first.startswith("# {"):
        raise DamagedError("has no provenance line: it was not written by a sweep, or is damaged")
    try:
        about = json.loads(first[2:])
        known = {k: about[k] for k in ("config_hash", "body_hash", "rows")}
        found = {"config_hash": _hash(about["config"]), "body_hash": text_hash(body)}
        # Files of before have no digest of the header.
        whole = "head_hash" not in about or about.pop("head_hash") == _hash(about)
    except (ValueError, LookupError, TypeError):
        raise DamagedError("is damaged: its first line is not a header of ours") from None
    if wrong := [name for name, value in found.items() if known[name] != value]:
        raise DamagedError(f"is damaged: {' and '.join(wrong)} of its header do not fit")
    if not whole:
        raise DamagedError("is damaged: head_hash does not fit its header")
    records = pd.read_csv(io.StringIO(body), keep_default_na=False)
    if tuple(records.columns) != COLUMNS:
        raise DamagedError(f"has columns {list(records.columns)}, expected {list(COLUMNS)}")
    if len(records) != known["rows"]:
        raise DamagedError(f"is damaged: it has {len(records)} records, not {known['rows']}")
    return about, records


def finished(
    piece: Piece, results: Path, say: Callable[[str], None] = print
) -> tuple[dict[str, Any], pd.DataFrame] | None:
    """What is stored of a piece; None where there is no file of this configuration. A damaged one
    counts as none and is named."""
    try:
        about, records = read(piece.path(results))
    except FileNotFoundError:
        return None
    except DamagedError as error:
        say(f"{piece.key} counts as missing: {error}")
        return None
    same = about["config"] == json.loads(json.dumps(dict(piece.config)))
    return (about, records) if same else None


def missing(
    pieces: Iterable[Piece], results: Path, say: Callable[[str], None] = print
) -> list[Piece]:
    """The pieces that have no file yet, a damaged one, or one of another configuration."""
    return [piece for piece in pieces if finished(piece, results, say) is None]
