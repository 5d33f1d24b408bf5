"""Figures of the chapter on the anchor class."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.figure import Figure

from .style import BLUE, GREY, INK, RED


def loss_landscapes(panels: Mapping[str, Mapping[str, np.ndarray]]) -> Figure:
    """Contours of the loss over (log r(a), log r(b)), with paths of gradient descent.

    Each panel has ``bits``, ``excess``, ``ratio`` and ``paths`` (see
    `companion.landscape.loss_panel`); the name is its title.
    """
    figure, axes = plt.subplots(
        1, len(panels), figsize=(8.0, 3.1), sharey=True, layout="constrained"
    )
    for axis, (title, panel) in zip(np.atleast_1d(axes), panels.items(), strict=True):
        bits, levels = panel["bits"], np.geomspace(0.002, 2, 13)
        axis.contour(bits, bits, panel["excess"], levels=levels, colors=GREY, linewidths=0.7)
        for path in panel["paths"]:
            axis.plot(*path.T, color=BLUE, lw=0.8, marker=".", ms=3)
            axis.plot(*path[-1], color=INK, marker="o", ms=5)
        axis.plot(*panel["ratio"], color=RED, marker="X", ms=10, ls="")
        axis.set(title=title, xlabel=r"log$_2$ r(a)", xlim=(-6, 6), ylim=(-6, 6), aspect="equal")
    np.atleast_1d(axes)[0].set_ylabel(r"log$_2$ r(b)")
    return figure


def free_scales(tables: Mapping[str, np.ndarray]) -> Figure:
    """Heat maps of log2 of the fitted r(x, y) over the true ratio, one for each loss."""
    figure, axes = plt.subplots(
        1, len(tables), figsize=(8.4, 2.6), sharey=True, layout="constrained"
    )
    top = max(np.abs(table).max() for table in tables.values())
    for axis, (title, table) in zip(axes, tables.items(), strict=True):
        sns.heatmap(
            np.round(table, 2) + 0.0,  # no -0.00
            ax=axis,
            vmin=-top,
            vmax=top,
            cmap="vlag",
            annot=True,
            fmt="+.2f",
            cbar=False,
            linewidths=1,
            xticklabels=range(1, table.shape[1] + 1),
            yticklabels=range(1, table.shape[0] + 1),
        )
        axis.set(title=title, xlabel="y")
        axis.title.set_fontsize(10)
    axes[0].set_ylabel("x")
    return figure
