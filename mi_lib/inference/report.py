"""What a fit says, as text, as a table and as a figure."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..diagnostics import Diagnostic


@dataclass(frozen=True)
class Report:
    """The numbers of one fit; ``str(report)`` is the table with all checks."""

    table: pd.DataFrame
    diagnostics: tuple[Diagnostic, ...]
    unit: str
    curve: list[list[float]]
    reliability: tuple[np.ndarray, np.ndarray, np.ndarray]
    pmi: np.ndarray
    interval: tuple[float, float]
    confidence: float

    @staticmethod
    def of(est: Any) -> "Report":
        """The report of a fitted estimator."""
        percent = f"{100 * est.confidence:g} %"
        rows = {
            "mutual information": (est.mi_, "plug-in, and the gain where it still grows"),
            "plug-in": (est.plug_in_, "mean held-out log ratio, calibrated"),
            "interval, low": (est.interval_[0], f"{percent}; pairs, folds, seeds, growth"),
            "interval, high": (est.interval_[1], f"{percent}; pairs, folds, seeds, growth"),
            "lower bound": (est.lower_bound_, f"holds with confidence {percent}, any critic"),
            "DV value": (est.dv_, "same critic, normalised; an estimate"),
        }
        if est.half_ is not None:
            rows["from half the pairs"] = (est.half_, "how it grows with data")
        if est.p_value_ is not None:
            rows["p-value"] = (est.p_value_, "independence, by permutation; no unit")
        table = pd.DataFrame(rows, index=["value", "meaning"]).T
        return Report(
            table.astype({"value": float}),
            tuple(est.diagnostics_),
            est.unit,
            est.curve_,
            est.reliability_,
            est.pmi_,
            est.interval_,
            est.confidence,
        )

    @property
    def warnings(self) -> list[Diagnostic]:
        """The checks that failed."""
        return [found for found in self.diagnostics if not found.ok]

    def __str__(self) -> str:
        width = max(map(len, self.table.index))
        lines = [f"I(X;Y), {len(self.pmi)} pairs, in {self.unit}"]
        lines += [
            f"  {name:<{width}}  {row.value:8.4f}  {row.meaning}"
            for name, row in self.table.iterrows()
        ]
        return "\n".join([*lines, *(f"  {found}" for found in self.diagnostics)])

    __repr__ = __str__

    def plot(self) -> Any:
        """Convergence, calibration and the pairs, side by side: a matplotlib figure."""
        from .figure import report_figure

        return report_figure(
            self.curve, self.reliability, self.pmi, self.interval, self.unit, self.confidence
        )
