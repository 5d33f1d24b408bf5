"""Figures of the staircase chapters."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .style import BLUE, GREY, INK, RED


def staircases(
    curves: pd.DataFrame,
    estimators: Mapping[str, tuple[str, str]],
    levels: Sequence[float],
    targets: pd.DataFrame | None = None,
    other_truth: tuple[Sequence[float], Sequence[float]] | None = None,
) -> Figure:
    """One panel an estimator: the curve with its band over seeds, the truth as a staircase.

    ``targets`` (columns truth, target) is what InfoNCE can reach, drawn in its panel;
    ``other_truth`` is a band (low, high) at each level, for data with a second reading of the
    truth.
    """
    columns = min(4, len(estimators))
    lines = -(-len(estimators) // columns)
    figure, axes = _panels(lines, columns, 2.6, 2.3)
    for axis, (name, choice) in zip(axes.flat, estimators.items(), strict=False):
        _panel(axis, curves, choice, levels, targets, other_truth)
        axis.set_title(name, fontsize=10)
    for axis in axes.flat[len(estimators) :]:
        axis.set_visible(False)
    axes[0, 0].set_ylim(-0.5, 1.25 * max(levels))
    return figure


def staircase_rows(
    rows: Mapping[str, tuple[pd.DataFrame, pd.DataFrame]],
    estimators: Mapping[str, tuple[str, str]],
    levels: Sequence[float],
) -> Figure:
    """A row a table (its title -> curves and targets), a column an estimator."""
    figure, axes = _panels(len(rows), len(estimators), 1.3, 1.7)
    for line, (title, (curves, targets)) in zip(axes, rows.items(), strict=True):
        for axis, choice in zip(line, estimators.values(), strict=True):
            _panel(axis, curves, choice, levels, targets)
            axis.set_xticks([])
        line[0].set_ylabel(title, fontsize=9)
    for axis, name in zip(axes[0], estimators, strict=True):
        axis.set_title(name, fontsize=8)
    axes[0, 0].set_ylim(-0.5, 1.25 * max(levels))
    return figure


def _panels(lines: int, columns: int, width: float, height: float) -> tuple[Figure, np.ndarray]:
    figure, axes = plt.subplots(
        lines,
        columns,
        figsize=(width * columns, height * lines + 0.3),
        sharex="row",
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    figure.supxlabel("training step", fontsize=10)
    figure.supylabel("bits", fontsize=10)
    return figure, axes


def _panel(
    axis: Axes,
    curves: pd.DataFrame,
    choice: tuple[str, str],
    levels: Sequence[float],
    targets: pd.DataFrame | None = None,
    other_truth: tuple[Sequence[float], Sequence[float]] | None = None,
) -> None:
    """The truth, what InfoNCE can reach, and the curve of one training and evaluation."""
    training, evaluation = choice
    last = curves["step"].max() + curves["step"].min() if len(curves) else len(levels)
    edges = np.linspace(0, last, len(levels) + 1)
    axis.stairs(levels, edges, baseline=None, color=INK, lw=1.2, label="true MI")
    if other_truth is not None:
        for left, right, low, high in zip(edges[:-1], edges[1:], *other_truth, strict=True):
            axis.fill_between([left, right], low, high, color=GREY, alpha=0.5, lw=0)
    if evaluation == "infonce" and targets is not None:
        axis.stairs(targets["target"], edges, baseline=None, color=RED, ls="--", lw=1.2)
    part = curves[(curves["training"] == training) & (curves["evaluation"] == evaluation)]
    _band(axis, part)


def _band(axis: Axes, part: pd.DataFrame) -> None:
    if part.empty:
        _not_run(axis)
        return
    axis.plot(part["step"], part["mean"], color=BLUE, lw=1)
    axis.fill_between(
        part["step"],
        part["mean"] - part["sd"],
        part["mean"] + part["sd"],
        color=BLUE,
        alpha=0.25,
        lw=0,
    )


def _not_run(axis: Axes) -> None:
    axis.text(0.5, 0.5, "not run", transform=axis.transAxes, ha="center", color=GREY)


def two_readings(reasons: pd.DataFrame) -> Figure:
    """Plug-in and DV of the same critics against the truth: the gap is the error of the scale."""
    names = list(dict.fromkeys(reasons["training"]))
    figure, axes = plt.subplots(
        1, len(names), figsize=(2.9 * len(names), 3.0), sharey=True, layout="constrained"
    )
    for axis, name in zip(np.atleast_1d(axes), names, strict=True):
        part = reasons[reasons["training"] == name]
        span = [0, part["truth"].max()]
        axis.plot(span, span, color=GREY, lw=1)
        for column, color, marker in (("plug-in", RED, "o"), ("dv", BLUE, "s")):
            axis.errorbar(
                part["truth"],
                part[column],
                yerr=part[f"{column} sd"].fillna(0),
                color=color,
                marker=marker,
                ms=4,
                lw=1.2,
                label="plug-in" if column == "plug-in" else "DV",
            )
        axis.set(title=name, xlabel="true MI (bits)")
        axis.title.set_fontsize(10)
    np.atleast_1d(axes)[0].set_ylabel("estimate (bits)")
    np.atleast_1d(axes)[0].legend(fontsize=9)
    return figure


def ablation(frame: pd.DataFrame, x: str, label: str, log: bool = False) -> Figure:
    """Mean error at each level against a setting; columns ``x``, truth, error."""
    figure, axis = plt.subplots(layout="constrained")
    axis.axhline(0, color=GREY, lw=1)
    palette = sns.color_palette("viridis", frame["truth"].nunique())
    for color, (truth, part) in zip(palette, frame.groupby("truth"), strict=True):
        mean = part.groupby(x, sort=False)["error"].agg(["mean", "std"])
        axis.errorbar(
            mean.index,
            mean["mean"],
            yerr=mean["std"].fillna(0),
            color=color,
            marker="o",
            ms=4,
            lw=1.2,
            label=f"{truth:g} bits",
        )
    if log:
        axis.set_xscale("log")
    axis.set(xlabel=label, ylabel="estimate - truth (bits)")
    if frame.empty:
        _not_run(axis)
    else:
        axis.legend(fontsize=9, title="true MI")
    return figure


def batch(pictures: Sequence[np.ndarray], titles: Sequence[str], side: int) -> Figure:
    """A few pictures of a batch in a row."""
    figure, axes = plt.subplots(
        1, len(pictures), figsize=(2.1 * len(pictures), 2.4), layout="constrained"
    )
    for axis, picture, title in zip(np.atleast_1d(axes), pictures, titles, strict=True):
        axis.imshow(np.asarray(picture).reshape(side, -1), cmap="gray_r", aspect="auto")
        axis.set_title(title, fontsize=10)
        axis.set_axis_off()
    return figure
