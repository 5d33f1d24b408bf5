"""Figures of the chapter on large K."""

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from .style import BLUE, GREY, INK, RED


def convergence(table: pd.DataFrame) -> Figure:
    """Distance from the limit against K, one line for each way in which nu grows.

    ``table`` has columns ``k``, ``schedule`` and ``distance`` (bits).
    """
    figure, axis = plt.subplots(layout="constrained")
    names = list(table["schedule"].unique())
    for name, color in zip(names, (BLUE, GREY, RED, INK), strict=True):
        part = table[table["schedule"] == name]
        axis.loglog(part["k"], part["distance"], color=color, marker="o", ms=3, label=name)
    axis.set(xlabel="tuple size K", ylabel="distance from the limit (bits)")
    axis.legend()
    return figure


def between_dv_and_nwj(table: pd.DataFrame, divergence: float) -> Figure:
    """The generalised DV value against beta/(1 + beta), one line for each critic.

    ``table`` is indexed by beta/(1 + beta), from 0 to 1; each column is a critic, in bits.
    """
    figure, axis = plt.subplots(layout="constrained")
    axis.axhline(divergence, color=GREY, ls=":", lw=1)
    axis.annotate("D", (0.5, divergence), color=GREY, va="bottom", ha="center")
    for name, color in zip(table.columns, (INK, BLUE, RED, "#31a354"), strict=True):
        axis.plot(table.index, table[name], color=color, label=name)
    axis.set(
        xlabel=r"$\beta/(1+\beta)$:  DV at 0, NWJ at 1",
        ylabel="lower bound of D (bits)",
        xlim=(0, 1),
        ylim=(None, divergence * 1.08),
    )
    axis.legend(fontsize=9)
    return figure


def scale_cost(table: pd.DataFrame) -> Figure:
    """What a wrong scale of the critic costs; ``table`` is indexed by the scale m, a column a
    beta, in bits."""
    figure, axis = plt.subplots(layout="constrained")
    for name, color in zip(
        table.columns, sns.color_palette("viridis", table.shape[1]), strict=True
    ):
        axis.plot(table.index, table[name], color=color, label=name)
    axis.set_xscale("log", base=2)
    axis.set(xlabel=r"scale m = E$_{q_0}$[r]", ylabel="loss of the bound (bits)", ylim=(-0.05, 2))
    axis.legend(fontsize=9)
    return figure
