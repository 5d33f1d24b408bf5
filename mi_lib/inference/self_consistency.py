r"""Three identities that any estimator should respect, after Song and Ermon (2020).

Shuffled partners carry nothing; a function of y beside y adds nothing; two independent copies side
by side carry twice as much. Each is one more fit, so they are apart from the other diagnostics.
"""

from typing import Any

import numpy as np
import pandas as pd

from . import table
from .estimator import MIEstimator

TOLERANCE = 0.1  # of the estimate, on top of twice the standard error and of what still grows
ADVICE = {
    "independence": "Shuffled pairs look dependent: rows are copied or ordered; look at repeated "
    "rows, and do not trust the estimate.",
    "data processing": "Columns that tell nothing new change the value: the critic is distracted; "
    "leave out columns that others determine, or get more pairs.",
    "additivity": "Two copies do not carry twice as much: the value saturates or does not grow "
    "with the columns; read it as 'at least', and get more pairs.",
}


def self_consistency(x: Any, y: Any, **parameters) -> pd.DataFrame:
    r"""Whether the estimator respects three identities on these data: for partners shuffled,
    :math:`I = 0`; :math:`I(X; (Y, f(Y))) = I(X;Y)`; for two independent copies, :math:`2\,I(X;Y)`.

    Parameters
    ----------
    x, y : array_like, shape (n,) or (n, d)
        Pairs, in no particular order.
    **parameters
        Those of `MIEstimator`.

    Returns
    -------
    pandas.DataFrame
        One row an identity: ``value``, ``expected``, ``ok`` (within the errors), ``advice``.

    Examples
    --------
    >>> x, y = np.random.default_rng(0).standard_normal((2, 100))
    >>> small = {"folds": 2, "seeds": 1, "steps": 5, "permutations": 0, "stability": False}
    >>> self_consistency(x, y, random_state=0, **small).index.tolist()
    ['independence', 'data processing', 'additivity']
    """
    sides = table.read(x, "x"), table.read(y, "y")
    n = table.check_pairs(*sides)
    first, second = (table.frame_of(side) for side in sides)
    est = MIEstimator(**parameters)
    order = np.random.default_rng(0).permutation(n)
    half = n // 2

    def side_by_side(frame: pd.DataFrame) -> pd.DataFrame:
        parts = [frame[:half], frame[half : 2 * half].add_suffix(" again")]
        return pd.concat([part.reset_index(drop=True) for part in parts], axis=1)

    def fit(a: pd.DataFrame, b: pd.DataFrame) -> np.ndarray:
        fitted = MIEstimator(**est.get_params()).fit(a, b)
        return np.array([fitted.mi_, fitted.standard_error_, abs(fitted.growth_[0])])

    whole, halved = fit(first, second), fit(first[:half], second[:half])
    folded = second.select_dtypes("number").pipe(lambda frame: frame - frame.median()).abs()
    more = pd.concat([second, folded.add_suffix(" folded")], axis=1)
    rows = {
        "independence": (fit(first, second.iloc[order]), np.zeros(3)),
        "data processing": (fit(first, more), whole),
        "additivity": (fit(*map(side_by_side, (first, second))), 2 * halved),
    }
    values, goals = (np.array(part) for part in zip(*rows.values(), strict=True))
    found = pd.DataFrame({"value": values[:, 0], "expected": goals[:, 0]}, index=list(rows))
    reach = 2 * np.hypot(values[:, 1], goals[:, 1]) + values[:, 2] + goals[:, 2]
    gap = (found["value"] - found["expected"]).abs()
    found["ok"] = gap <= TOLERANCE * found["expected"] + 0.05 + reach
    found["advice"] = ["" if ok else ADVICE[name] for name, ok in found["ok"].items()]
    return found
