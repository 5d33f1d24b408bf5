"""The caller's values as columns: numbers, or symbols of a small alphabet. All checks are here."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch

FEW = 20  # a numeric column with so few distinct values is treated as symbols
MOST_SYMBOLS = 500
LEAST_ROWS = 50


@dataclass(frozen=True)
class Column:
    """One column: float values, or the codes of its symbols."""

    name: str
    values: np.ndarray
    symbols: tuple[Any, ...] | None = None


def read(values: Any, name: str) -> list[Column]:
    """Columns of ``values``, an array, tensor, frame, series or list, of shape (n,) or (n, d)."""
    frame = _as_frame(values, name)
    if frame.shape[1] == 0:
        raise ValueError(f"{name} has no columns; pass at least one")
    if len(frame) < LEAST_ROWS:
        raise ValueError(
            f"{name} has {len(frame)} rows; an estimate needs at least {LEAST_ROWS} pairs"
        )
    columns = [_column(frame.iloc[:, i], f"{name}[{c}]") for i, c in enumerate(frame.columns)]
    varying = [column for column in columns if not _is_constant(column)]
    if not varying:
        raise ValueError(
            f"{name} is constant; a constant has mutual information 0 with everything, "
            "and there is nothing to estimate"
        )
    return varying


def names_of(values: Any, name: str) -> list[str]:
    """The names of all columns, constant ones too, as `read` gives them."""
    return [f"{name}[{column}]" for column in _as_frame(values, name).columns]


def read_like(values: Any, name: str, fitted: list[Column]) -> list[Column]:
    """Columns of new values, in the form that the fitted ones have."""
    frame = _as_frame(values, name)
    by_name = {f"{name}[{column}]": i for i, column in enumerate(frame.columns)}
    if not isinstance(values, pd.DataFrame | pd.Series) and len(by_name) == len(fitted):
        by_name = {column.name: i for i, column in enumerate(fitted)}  # no names: by place
    missing = [column.name for column in fitted if column.name not in by_name]
    if missing:
        raise ValueError(
            f"{name} lacks the columns {', '.join(missing)} that the estimator was fitted on; "
            f"it has {frame.shape[1]}"
        )
    return [_like(frame.iloc[:, by_name[old.name]], old) for old in fitted]


def _like(series: pd.Series, old: Column) -> Column:
    if old.symbols is None:
        return Column(old.name, _numbers(series, old.name))
    known = {symbol: code for code, symbol in enumerate(old.symbols)}
    values = _symbols(series, old.name)
    unknown = sorted({str(v) for v in values if v not in known})
    if unknown:
        raise ValueError(
            f"{old.name} has values that were not there at the fit: {', '.join(unknown[:5])}"
        )
    return Column(old.name, np.array([known[v] for v in values], dtype=np.int64), old.symbols)


def _as_frame(values: Any, name: str) -> pd.DataFrame:
    """A frame with string column names."""
    if isinstance(values, torch.Tensor):
        values = _from_tensor(values, name)
    if isinstance(values, pd.Series):
        values = values.to_frame()
    if not isinstance(values, pd.DataFrame):
        array = _as_array(values, name)
        values = pd.DataFrame(array if array.ndim == 2 else array[:, None])
    values = values.set_axis([str(column) for column in values.columns], axis=1)
    if values.columns.has_duplicates:
        twice = sorted(set(values.columns[values.columns.duplicated()]))
        raise ValueError(f"{name} has several columns named {', '.join(twice)}; rename them")
    return values.reset_index(drop=True)


def _from_tensor(values: torch.Tensor, name: str) -> np.ndarray:
    try:
        values = values.detach().to_dense().cpu().resolve_conj().resolve_neg()
        if values.is_floating_point() and values.dtype != torch.float64:
            values = values.float()  # some narrow types have no numpy counterpart
        return values.numpy()
    except (RuntimeError, TypeError, NotImplementedError):
        raise ValueError(
            f"{name}, a tensor of {values.dtype} on {values.device}, cannot be read; pass one that "
            "holds numbers"
        ) from None


def _as_array(values: Any, name: str) -> np.ndarray:
    if np.ma.is_masked(values):
        count = int(np.ma.count_masked(values))
        raise ValueError(f"{name} has {count} masked values; drop or fill these rows")
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, RuntimeError):
        raise ValueError(
            f"{name} is ragged or no array; pass an array of shape (n,) or (n, d)"
        ) from None
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} has shape {array.shape}; pass an array of shape (n,) or (n, d)")
    if array.dtype.kind not in "biufOUS":
        raise ValueError(
            f"{name} has dtype {array.dtype}; pass numbers, booleans or strings "
            "(split complex numbers in two, turn dates into numbers)"
        )
    return array


def _column(series: pd.Series, name: str) -> Column:
    """Numbers, or symbols where the values are words, or few numbers."""
    if _is_words(series):
        return _coded(_symbols(series, name), name)
    values = _numbers(series, name)
    distinct = len(np.unique(values))
    if distinct <= min(FEW, len(values) // 10):
        return _coded([_key(v) for v in values], name)
    return Column(name, values)


def _is_words(series: pd.Series) -> bool:
    if isinstance(series.dtype, pd.CategoricalDtype) or series.dtype == bool:
        return True
    if pd.api.types.is_numeric_dtype(series.dtype):
        return False
    return any(isinstance(value, str | bytes | np.bool_ | bool) for value in series)


def _numbers(series: pd.Series, name: str) -> np.ndarray:
    kind = series.dtype
    if pd.api.types.is_complex_dtype(kind) or pd.api.types.is_datetime64_any_dtype(kind):
        raise ValueError(f"{name} has dtype {kind}; pass numbers or strings")
    try:
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError, OverflowError):
        odd = next(
            (v for v in series if not isinstance(v, int | float | np.number)), series.iloc[0]
        )
        raise ValueError(
            f"{name} holds {odd!r} of type {type(odd).__name__} among its values; "
            "pass numbers only, or strings only"
        ) from None
    for what, bad in (("NaN", np.isnan(values)), ("infinite", np.isinf(values))):
        if bad.any():
            raise ValueError(
                f"{name} has {bad.sum()} {what} of {len(values)} values (first in row "
                f"{int(bad.argmax())}); drop or fill these rows"
            )
    return values


def _symbols(series: pd.Series, name: str) -> list[Any]:
    missing = series.isna()
    if missing.any():
        raise ValueError(
            f"{name} has {missing.sum()} missing of {len(series)} values (first in row "
            f"{int(missing.argmax())}); drop or fill these rows"
        )
    values = [_key(value) for value in series]
    if len({type(value) for value in values}) > 1:
        kinds = sorted({type(value).__name__ for value in values})
        raise ValueError(f"{name} mixes {' and '.join(kinds)}; pass numbers only, or strings only")
    return values


def _key(value: Any) -> str | float:
    """A symbol: a string stays one, anything else is a number. Equal values have equal keys."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, str):
        return str(value)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"a value {value!r} of type {type(value).__name__} is no symbol; pass strings"
        ) from None


def _coded(values: list[Any], name: str) -> Column:
    symbols = tuple(sorted(set(values)))
    if len(symbols) > min(MOST_SYMBOLS, len(values) // 2):
        raise ValueError(
            f"{name} has {len(symbols)} distinct strings in {len(values)} rows; pass at most "
            f"{min(MOST_SYMBOLS, len(values) // 2)} (merge rare ones, or pass numbers)"
        )
    code = {symbol: i for i, symbol in enumerate(symbols)}
    return Column(name, np.array([code[v] for v in values], dtype=np.int64), symbols)


def _is_constant(column: Column) -> bool:
    return bool((column.values == column.values[0]).all())


def check_pairs(x: list[Column], y: list[Column]) -> int:
    """The common number of rows."""
    n, m = len(x[0].values), len(y[0].values)
    if n != m:
        raise ValueError(f"x has {n} rows and y {m}; row i of x belongs to row i of y")
    return n


def repeated_share(x: list[Column], y: list[Column]) -> float:
    """Share of rows that copy an earlier one; 0 where all columns are symbols: they repeat."""
    if all(column.symbols is not None for column in [*x, *y]):
        return 0.0
    frame = pd.DataFrame({str(i): column.values for i, column in enumerate([*x, *y])})
    return float(frame.duplicated().mean())


def frame_of(columns: list[Column]) -> pd.DataFrame:
    """The columns as a frame of numbers and symbols."""
    return pd.DataFrame(
        {
            column.name: column.values
            if column.symbols is None
            else np.array(column.symbols)[column.values]
            for column in columns
        }
    )
