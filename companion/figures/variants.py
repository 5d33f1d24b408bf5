"""Figures of the chapter on the variants of InfoNCE."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from .style import BLUE, GREY, INK, RED


def alpha_excess(excess: pd.DataFrame) -> Figure:
    """How far alpha-InfoNCE can exceed D; columns ``k``, ``share`` (alpha K) and ``bits``."""
    figure, axis = plt.subplots(layout="constrained")
    sizes = list(excess["k"].unique())
    for k, color in zip(sizes, sns.color_palette("viridis", len(sizes)), strict=True):
        part = excess[(excess["k"] == k) & (excess["bits"] > 1e-5)]
        axis.semilogy(part["share"], part["bits"], color=color, label=f"K = {k}")
    axis.axvline(1, color=GREY, ls=":", lw=1)
    axis.annotate("InfoNCE", (0.99, 1.0), rotation=90, color=GREY, ha="right", va="center")
    axis.set(xlabel=r"$\alpha K$", ylabel="largest excess over D (bits)", ylim=(1e-4, 10))
    axis.legend()
    return figure


def alpha_map(edges: pd.DataFrame) -> Figure:
    """For which alpha and K alpha-InfoNCE is a lower bound of D.

    ``edges`` is indexed by K and has, in units of 1/K, ``fails below``, ``events reach``,
    ``checked from`` and ``proved from``.
    """
    figure, axis = plt.subplots(layout="constrained")
    k = edges.index.to_numpy()
    axis.fill_between(k, 0, edges["fails below"], color=RED, alpha=0.25, lw=0)
    axis.fill_between(k, edges["proved from"], 1.25, color=BLUE, alpha=0.25, lw=0)
    axis.plot(k, edges["events reach"], color=RED, label="events exceed D below")
    axis.plot(k, edges["fails below"], color=RED, ls=":", label=r"$\alpha_0(K)\,K$")
    axis.plot(k, edges["checked from"], color=BLUE, label="a lower bound from here")
    axis.plot(k, edges["proved from"], color=BLUE, ls=":", label="proved by concavity")
    axis.axhline(1, color=GREY, ls=":", lw=1)
    axis.annotate("not a lower bound of D", (k[0] * 1.1, 0.3), color=INK)
    axis.annotate("a lower bound of D", (k[0] * 1.1, 1.12), color=INK)
    axis.annotate("no excess found", (k[-1] * 0.9, 0.69), color=GREY, ha="right")
    axis.set_xscale("log", base=2)
    axis.set_xticks(k[k == 2 ** np.log2(k).astype(int)])
    axis.xaxis.set_major_formatter("{x:.0f}")
    axis.set(xlabel="tuple size K", ylabel=r"$\alpha K$", ylim=(0, 1.25))
    axis.legend(fontsize=9, loc="lower right")
    return figure


def learnt_contrast(table: pd.DataFrame, truth: float) -> Figure:
    """The contrast r(2)/r(1) of the best critic, a column a K, indexed by alpha K."""
    figure, axis = plt.subplots(layout="constrained")
    for name, color in zip(
        table.columns, sns.color_palette("viridis", table.shape[1]), strict=True
    ):
        axis.semilogy(table.index, table[name], color=color, label=name)
    axis.axhline(truth, color=INK, ls="--", lw=1, label="density ratio")
    axis.axvline(1, color=GREY, ls=":", lw=1)
    axis.set(xlabel=r"$\alpha K$", ylabel="contrast of the best critic")
    axis.set_yticks([1, 2, 3, 5, 10, 20], ["1", "2", "3", "5", "10", "20"])
    axis.minorticks_off()
    axis.legend(fontsize=9)
    return figure


def multilabel_values(table: pd.DataFrame, divergence: float, k: int) -> Figure:
    """Best values against the number m of positives; ``table`` is indexed by m, bits."""
    figure, axis = plt.subplots(layout="constrained")
    axis.axhline(divergence, color=GREY, ls=":", lw=1)
    axis.annotate("D", (table.index[-1], divergence), color=GREY, va="bottom", ha="right")
    styles = ((INK, "-", "o"), (BLUE, "--", ""), (RED, "-", "s"), (GREY, "--", ""))
    for name, (color, style, marker) in zip(table.columns, styles, strict=True):
        axis.plot(table.index, table[name], color=color, ls=style, marker=marker, label=name)
    axis.set(xlabel=f"positives m, at k = {k}", ylabel="value at the best critic (bits)")
    axis.set(xticks=table.index, ylim=(0, np.ceil(divergence * 5.5) / 5))
    axis.legend(fontsize=9, loc="lower right")
    return figure
