"""Tables from files for the shell command: CSV, Parquet or NPZ; nothing in a file is executed."""

import re
from pathlib import Path

import pandas as pd

from ..archives import read_arrays


def read_table(path: Path) -> pd.DataFrame:
    """The table in a file, told by its ending."""
    readers = {".csv": _csv, ".tsv": _tsv, ".parquet": _parquet, ".npz": _npz}
    kind = path.suffix.lower()
    if kind not in readers:
        raise ValueError(f"{path} ends in {kind or 'nothing'}; pass one of {', '.join(readers)}")
    if not path.is_file():
        raise ValueError(f"{path} does not exist or is not a file")
    return readers[kind](path)


def select(frame: pd.DataFrame, names: str, side: str) -> pd.DataFrame:
    """The columns of a comma-separated list; ``a`` also means ``a[0], a[1], ...`` of an array."""
    chosen = []
    for name in filter(None, (part.strip() for part in names.split(","))):
        parts = re.compile(re.escape(name) + r"\[\d+\]")
        found = [c for c in frame.columns if c == name or parts.fullmatch(str(c))]
        if not found:
            known = ", ".join(map(str, frame.columns[:20]))
            raise ValueError(f"--{side} names the column {name!r}, but the file has: {known}")
        chosen += found
    if not chosen:
        raise ValueError(f"--{side} names no column; pass names with commas between them")
    return frame[chosen]


def _csv(path: Path, separator: str = ",") -> pd.DataFrame:
    try:
        return pd.read_csv(path, sep=separator)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a readable table: {error}") from None


def _tsv(path: Path) -> pd.DataFrame:
    return _csv(path, "\t")


def _parquet(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except ImportError:
        raise ValueError(
            f"reading {path} needs the package pyarrow; install it, or save the table as CSV"
        ) from None
    except Exception as error:
        # The engines raise their own errors, which cannot be named where none is installed.
        raise ValueError(f"{path} is not a readable Parquet file: {error}") from None


def _npz(path: Path) -> pd.DataFrame:
    """Each one-dimensional array is a column, each column of array ``a`` becomes ``a[j]``."""
    try:
        arrays = read_arrays(path)
    except Exception:  # a damaged archive raises errors of many kinds
        raise ValueError(
            f"{path} is not an NPZ file of plain arrays (object arrays would need pickle, "
            "which can run code, and are refused)"
        ) from None
    columns, lengths = {}, {}
    for name, array in arrays.items():
        if array.ndim not in (1, 2):
            raise ValueError(f"{name} in {path} has shape {array.shape}; pass (n,) or (n, d)")
        lengths[name] = len(array)
        parts = {name: array} if array.ndim == 1 else {}
        if array.ndim == 2:
            parts = {f"{name}[{j}]": array[:, j] for j in range(array.shape[1])}
        columns |= parts
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the arrays of {path} have different lengths: {lengths}")
    return pd.DataFrame(columns)
