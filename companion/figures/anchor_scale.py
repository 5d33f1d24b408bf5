"""Figures of the chapter on how hard the anchor holds the scale."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from .style import BLUE, GREY, INK, RED


def scale_curvature(table: pd.DataFrame, k: int) -> Figure:
    """Curvature of the loss in log C against nu, for pairs of several divergences.

    ``table`` has columns ``nu``, ``bits`` (the divergence) and ``curvature``.
    """
    figure, axis = plt.subplots(layout="constrained")
    levels = sorted(table["bits"].unique())
    for bits, color in zip(levels, sns.color_palette("viridis", len(levels)), strict=True):
        part = table[table["bits"] == bits]
        label = "D = 0: the bound" if bits == 0 else f"D = {bits:g} bits"
        axis.loglog(part["nu"], part["curvature"], color=color, label=label)
    for nu, name in ((1, r"$\nu$ = 1"), (k, r"$\nu$ = K")):
        axis.axvline(nu, color=GREY, ls=":", lw=1)
        axis.annotate(name, (nu * 1.15, 4e-6), color=GREY, fontsize=10)
    axis.set(xlabel=r"anchor weight $\nu$", ylabel=f"curvature in log C, K = {k}", ylim=(2e-6, 0.5))
    axis.legend(loc="upper left", fontsize=9)
    return figure


def scale_variances(table: pd.DataFrame, k: int) -> Figure:
    """n Var(log C) against nu; one column of ``table`` (indexed by nu) for each way to sample."""
    figure, axis = plt.subplots(layout="constrained")
    styles = ((GREY, "--"), (INK, "-"), (BLUE, "-"))
    for name, (color, style) in zip(table.columns, styles, strict=True):
        axis.loglog(table.index, table[name], color=color, ls=style, label=name)
    for nu in (1, k):
        axis.axvline(nu, color=GREY, ls=":", lw=1)
    axis.set(xlabel=r"anchor weight $\nu$", ylabel=f"n Var(log C), K = {k}")
    axis.legend(fontsize=9)
    return figure


def scale_paths(paths: Mapping[str, pd.DataFrame], truth: float, k: int) -> Figure:
    """Plug-in value against nu for critics of several shapes, each with its DV value."""
    figure, axis = plt.subplots(layout="constrained")
    for (name, path), color in zip(paths.items(), (RED, INK, BLUE), strict=True):
        axis.semilogx(path["nu"], path["plug-in"], color=color, label=f"plug-in, {name}")
        axis.semilogx(path["nu"], path["DV"], color=color, ls="--", lw=1)
    axis.axhline(truth, color=GREY, lw=1)
    axis.annotate("truth", (path["nu"].iloc[0], truth + 0.04), color=GREY, fontsize=10)
    low = axis.get_ylim()[0] - 0.2
    axis.set_ylim(bottom=low)
    for nu, name in ((1, r"$\nu$ = 1"), (k, r"$\nu$ = K")):
        axis.axvline(nu, color=GREY, ls=":", lw=1)
        axis.annotate(name, (nu * 1.15, low + 0.03), color=GREY, fontsize=10)
    axis.set(xlabel=r"anchor weight $\nu$", ylabel="bits (dashed: DV of the same critic)")
    axis.legend(fontsize=9, loc="upper right")
    return figure
