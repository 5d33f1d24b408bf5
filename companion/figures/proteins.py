"""Figures of the chapter on protein interactions."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from .style import BLUE, GREY, INK, RED

COLOURS = {
    "anchor": RED,
    "anchor:nu=k": "#7b3294",
    "js": BLUE,
    "chi-square": "#2a9d55",
    "spherical": "#d98c00",
    "lmi": "#8c564b",
    "infonce": "#17a2b8",
    "infonce, normalised": "#0b5d6b",
    "cca": INK,
    "popularity": GREY,
}
Curves = Mapping[str, np.ndarray]


def roc_summary(
    grid: np.ndarray,
    panels: Mapping[str, Curves],
    methods: Sequence[str],
    names: Mapping[str, str],
    legend: str = "",
) -> Figure:
    """Mean ROC curve of each method, a panel a set of candidates; ``legend`` is its title."""
    figure, axes = plt.subplots(
        1, len(panels), figsize=(4.2 * len(panels), 4.2), layout="constrained", squeeze=False
    )
    for axis, (title, curves) in zip(axes[0], panels.items(), strict=True):
        axis.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls=":")
        for method in methods:
            if method in curves:
                style = {"color": COLOURS.get(method, GREY), "label": names[method]}
                axis.plot(grid, curves[method].mean(0), **style)
        axis.set(title=title, xlabel="false-positive rate", xlim=(0, 1), ylim=(0, 1.01))
    axes[0, 0].set_ylabel("true-positive rate")
    if any(panels.values()):
        title = {"title": legend, "title_fontsize": 8} if legend else {}
        axes[0, 0].legend(loc="lower right", fontsize=8, **title)
    return figure


def trial_curves(
    grid: np.ndarray,
    panels: Mapping[str, Curves],
    methods: Sequence[str],
    names: Mapping[str, str],
    axes_names: tuple[str, str],
) -> Figure:
    """Every trial's curve, faint, and their mean: a row a task, a column a method."""
    figure, axes = plt.subplots(
        len(panels),
        len(methods),
        figsize=(2.1 * len(methods), 2.3 * len(panels)),
        sharex=True,
        sharey="row",
        layout="constrained",
        squeeze=False,
    )
    for row, (title, curves) in zip(axes, panels.items(), strict=True):
        for axis, method in zip(row, methods, strict=True):
            if method in curves:
                colour = COLOURS.get(method, GREY)
                axis.plot(grid, curves[method].T, color=colour, alpha=0.2, lw=0.7)
                axis.plot(grid, curves[method].mean(0), color=colour, lw=2)
            axis.set_title(names[method], fontsize=8)
        row[0].set_ylabel(f"{title}\n{axes_names[1]}", fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel(axes_names[0], fontsize=8)
    return figure


def pmi_histograms(
    edges: np.ndarray,
    known: Curves,
    other: Curves,
    methods: Sequence[str],
    names: Mapping[str, str],
) -> Figure:
    """The PMI of known pairs and of the rest, pooled over trials, as shares; a panel a method."""
    figure, axes = plt.subplots(
        1, len(methods), figsize=(2.3 * len(methods), 2.6), sharey=True, layout="constrained"
    )
    for axis, method in zip(np.atleast_1d(axes), methods, strict=True):
        for table, colour, label in (
            (other, GREY, "other pairs"),
            (known, COLOURS.get(method, RED), "known pairs"),
        ):
            if method in table:
                share = table[method].sum(0) / table[method].sum()
                axis.stairs(share, edges, color=colour, fill=True, alpha=0.5, label=label)
        axis.set(xlabel="PMI (bits)", xlim=(edges[0], edges[-1]))
        axis.set_title(names[method], fontsize=8)
    np.atleast_1d(axes)[0].set_ylabel("share of pairs")
    if known:
        np.atleast_1d(axes)[0].legend(fontsize=7)
    return figure


def auroc_differences(
    panels: Mapping[str, Mapping[str, tuple[float, float, float]]], xlabel: str
) -> Figure:
    """Paired differences (mean, low, high) as points with intervals, a panel a comparison set."""
    figure, axes = plt.subplots(
        1, len(panels), figsize=(2.6 * len(panels) + 1.6, 3.4), sharey=True, layout="constrained"
    )
    for axis, (title, rows) in zip(np.atleast_1d(axes), panels.items(), strict=True):
        axis.axvline(0, color=GREY, lw=0.8)
        for place, (mean, low, high) in enumerate(rows.values()):
            sure = low > 0 or high < 0
            axis.plot([low, high], [place, place], color=INK if sure else GREY)
            axis.plot(mean, place, "o", color=RED if sure else GREY)
        axis.set(title=title, xlabel=xlabel)
        axis.set_yticks(range(len(rows)), list(rows))
    np.atleast_1d(axes)[0].invert_yaxis()
    return figure


def learned_against_true(
    truth: np.ndarray, learned: Mapping[str, np.ndarray], names: Mapping[str, str], title: str
) -> Figure:
    """Learned PMI of simulated pairs, grouped by their true PMI (bits): quartiles a group."""
    levels = np.unique(truth)
    figure, axis = plt.subplots(layout="constrained")
    axis.plot(levels, levels, color=GREY, ls="--", label="true PMI")
    width = 0.12
    for place, (method, values) in enumerate(learned.items()):
        shift = (place - (len(learned) - 1) / 2) * width
        low, middle, high = np.stack(
            [np.quantile(values[truth == level], (0.25, 0.5, 0.75)) for level in levels]
        ).T
        axis.errorbar(
            levels + shift,
            middle,
            (middle - low, high - middle),
            fmt="o",
            color=COLOURS.get(method, INK),
            label=names[method],
        )
    axis.set(xlabel="true PMI (bits)", ylabel="learned PMI (bits), quartiles", title=title)
    axis.legend(loc="upper left", title="SIMULATED")
    return figure
