"""How far numbers are from equality, or from a bound, and the worst case in words."""

import math
from collections.abc import Sequence

import numpy as np
import sympy as sp

from . import balls


def number(value: float) -> str:
    """Four digits behind the point, the same on every machine; small ones by their order."""
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 1e4:
        return f"{value:.3g}"
    return f"{value:.4f}".replace("-", "−") if abs(value) >= 5e-5 else "0.0000"


def slack(left: object, right: object, kind: str, refute: bool = False) -> tuple[np.ndarray, bool]:
    """right - left, and whether it is exact: numbers of sympy, of which the lower end of a ball, or
    the upper end where a violation is to be proved."""
    sides = [list(s) if isinstance(s, Sequence | np.ndarray) else [s] for s in (left, right)]
    values = [value for side in sides for value in side]
    symbolic = any(isinstance(value, sp.Basic) for value in values)
    if kind == "equal" or not symbolic or any(isinstance(value, float) for value in values):
        one, two = np.broadcast_arrays(np.asarray(left, float), np.asarray(right, float))
        return (two - one).ravel(), False
    size = max(map(len, sides))
    one, two = (side * size if len(side) == 1 else side for side in sides)
    differences = [balls.ball(b - a) for a, b in zip(one, two, strict=True)]
    return np.array(
        [float(value.upper() if refute else value.lower()) for value in differences]
    ), True


def holds(slack: np.ndarray, kind: str, tolerance: float) -> bool:
    """NaN never holds."""
    tests = {
        "equal": np.abs(slack) <= tolerance,
        "bound": slack >= -tolerance,
        "strict": slack > tolerance,
    }
    return bool(slack.size and tests[kind].all())


def worst(slack: np.ndarray, kind: str, where: Sequence[str] | None) -> str:
    """The worst case in words; among zeros it is a matter of rounding, and not named."""
    order = np.abs(slack) * -1 if kind == "equal" else slack
    i = int(np.argmin(np.where(np.isnan(order), -np.inf, order)))
    text = number(float(slack[i]))
    return f"{text} at {where[i]}" if where is not None and text != "0.0000" else text
