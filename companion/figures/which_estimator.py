"""Figures of the chapter on which estimator is which."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from .style import BLUE, GREY, INK, RED

_LINES = {
    "plug-in": (INK, "-"),
    "DV": (BLUE, "-"),
    "NWJ": (RED, "-"),
    "NWJ as printed": (RED, "--"),
    "clipped DV": ("#7b3294", "-."),
    "InfoNCE": (GREY, "-"),
}


def _draw(axis: plt.Axes, table: pd.DataFrame) -> None:
    for name in table.columns:
        key = name if name in _LINES else name.split(",")[0]
        color, style = _LINES[key]
        axis.plot(table.index, table[name], color=color, ls=style, label=name)


def readings_at_truth(table: pd.DataFrame) -> Figure:
    """What the true ratio is made to report, less the truth."""
    figure, axis = plt.subplots(layout="constrained")
    _draw(axis, table.sub(table.index, axis=0))
    axis.set(xlabel="mutual information I (bits)", ylabel="reading minus I (bits)")
    axis.set(xlim=(table.index[0], table.index[-1]))
    axis.legend(loc="lower left")
    return figure


def readings_of_scaled(table: pd.DataFrame, truth: float) -> Figure:
    """Readings of the critic C r against log2 C."""
    figure, axis = plt.subplots(layout="constrained")
    axis.axhspan(truth, truth + 20, color=RED, alpha=0.06, lw=0)
    _draw(axis, table)
    axis.set(xlabel=r"log$_2$ C of the critic C r", ylabel="reading (bits)")
    axis.set(ylim=(truth - 6, truth + 8), xlim=(table.index[0], table.index[-1]))
    axis.text(table.index[0] + 0.1, truth + 7.2, "above the truth", color=RED, fontsize=10)
    axis.legend(loc="lower right", fontsize=9)
    return figure


def certificates(sizes: Sequence[int], certified: Sequence[float], level: float) -> Figure:
    """What N pairs can certify: the two limits and one certificate that exists."""
    figure, axis = plt.subplots(layout="constrained")
    n = np.asarray(sizes)
    axis.fill_between(n, 2 * np.log2(n), 2 * np.log2(n) + 60, color=RED, alpha=0.08, lw=0)
    axis.plot(n, 2 * np.log2(n), color=RED, label=r"2 log$_2$ N: out of reach above")
    axis.plot(n, certified, color=INK, lw=2, label=f"a certificate at level {level:g}")
    axis.plot(n, np.log2(n), color=GREY, ls="--", label=r"log$_2$ N, the limit in the paper")
    axis.set(xscale="log", xlabel="number of pairs N", ylabel="certified information (bits)")
    axis.set(xlim=(n[0], n[-1]), ylim=(0, 2 * np.log2(n[-1])))
    axis.legend(loc="upper left")
    return figure
