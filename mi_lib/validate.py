"""Checks on what callers hand in, and the conversion between nats and bits.

Everything inside the library is in nats; everything a person sees is in bits unless they ask for
``unit="nats"``. Every message says what was given, what was expected and what to do.
"""

import math
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

NATS_PER_UNIT = {"bits": math.log(2), "nats": 1.0}


def nats_per(unit: str) -> float:
    """How many nats one ``unit`` holds: ln 2 for bits, 1 for nats.

    >>> nats_per("nats")
    1.0
    """
    if not isinstance(unit, str) or unit not in NATS_PER_UNIT:
        raise ValueError(f'unit={unit!r} is unknown; use "bits" or "nats"')
    return NATS_PER_UNIT[unit]


def whole_number(value: Any, name: str, at_least: int) -> int:
    """``value`` as an int, refused when it is not whole or is below ``at_least``."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(
            f"{name}={value!r} is not a whole number; pass an integer >= {at_least}"
        ) from None
    if number < at_least:
        raise ValueError(f"{name}={number} is too small; pass an integer >= {at_least}")
    return number


def real_number(value: Any, name: str, at_least: float = -math.inf) -> Any:
    """``value`` unchanged, refused when it is NaN, infinite or below ``at_least``."""
    try:
        number = math.nan if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}={value!r} is not a number; pass a real number") from None
    if not math.isfinite(number):
        raise ValueError(f"{name}={value!r} is not finite; pass a finite real number")
    if number < at_least:
        raise ValueError(f"{name}={value!r} is below {at_least:g}; pass a number >= {at_least:g}")
    return value


def plain_array(values: Any, name: str) -> np.ndarray:
    """``values`` as an array; a tensor that numpy cannot see into is refused."""
    try:
        return np.asarray(values)
    except RuntimeError:  # with a gradient, or on another device
        raise ValueError(f"{name} is a tensor; pass {name}.detach().cpu(), or numbers") from None


def nonnegative_array(values: Any, name: str) -> np.ndarray:
    """``values`` as a float array, refused when an entry is NaN or negative (inf is allowed)."""
    array = plain_array(values, name).astype(float)
    if np.isnan(array).any():
        raise ValueError(f"{name} contains NaN; pass numbers >= 0")
    if (array < 0).any():
        raise ValueError(f"{name} contains {array.min():g}; pass numbers >= 0")
    return array


def one_of(name: str, value: str, known: Iterable[str]) -> str:
    """``value`` unchanged, refused with the list of known names when it is not among them."""
    known = sorted(known)
    if value not in known:
        raise ValueError(f"{name}={value!r} is unknown; choose one of {', '.join(known)}")
    return value


def anchor_weight(nu: Any, k: int, rule: Any) -> Any:
    """``nu`` unchanged, refused when negative, or zero where a class 0 is needed.

    The values of a tensor are not looked at: that would wait for its device.
    """
    if hasattr(nu, "requires_grad"):
        return nu
    real_number(nu, "nu", at_least=0.0)
    if nu == 0 and k == 1:
        raise ValueError("nu=0 with k=1 leaves a single class; use nu > 0 or k >= 2")
    if nu == 0 and rule.needs_anchor:
        raise ValueError(
            f"nu=0 leaves out class 0, which {rule!r} needs; use nu > 0 or a symmetric rule"
        )
    return nu
