"""Figures of the practice chapters: the report of a fit, a matrix, the trap of nu = 1."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from .style import BLUE, GREY, INK, RED


def nu_trap(curves: pd.DataFrame, truth: float) -> Figure:
    """Estimates of plain critics against the training step, a panel for each nu
    (see `experiments.finite_sample.train_plain`)."""
    nus = sorted(curves["nu"].unique())
    figure, axes = plt.subplots(1, len(nus), figsize=(10, 3.8), sharey=True, layout="constrained")
    lines = {
        "training": (GREY, "--", "plug-in, training pairs"),
        "plug_in": (RED, "-", "plug-in, held-out pairs"),
        "dv": (BLUE, "-", "DV, held-out pairs"),
        "calibrated": (INK, "-", "plug-in, calibrated"),
    }
    for axis, nu in zip(axes, nus, strict=True):
        part = curves[curves["nu"] == nu]
        for name, (color, style, label) in lines.items():
            axis.plot(part["step"], part[name], color=color, ls=style, label=label)
        axis.axhline(truth, color=INK, lw=0.8, ls=":")
        axis.set(title=f"nu = {nu:g}", xlabel="training step", ylim=(-1, 8))
    axes[0].set_ylabel("estimate (bits)")
    axes[-1].legend(loc="upper left", fontsize=9)
    return figure


def sample_curve(curve: pd.DataFrame, truth: float) -> Figure:
    """Plug-in, estimate and lower bound against the number of pairs (see
    `inference.learning_curve`)."""
    figure, axis = plt.subplots()
    reach = np.abs(curve[["low", "high"]].to_numpy().T - curve["mi"].to_numpy())
    axis.errorbar(curve["pairs"], curve["mi"], reach, color=INK, marker="o", capsize=4, label="mi_")
    axis.plot(curve["pairs"], curve["plug_in"], color=BLUE, marker="s", label="plug-in")
    axis.plot(curve["pairs"], curve["lower_bound"], color=RED, marker="v", label="lower bound")
    axis.axhline(truth, color=INK, lw=0.8, ls=":")
    axis.set(xscale="log", xlabel="pairs", ylabel="mutual information (bits)", ylim=(0, None))
    axis.set_xticks(curve["pairs"], [f"{n:,}" for n in curve["pairs"]])
    axis.minorticks_off()
    axis.legend()
    return figure


def suite_errors(table: pd.DataFrame) -> Figure:
    """Mean absolute error by method (rows) and family (columns), best method first (see
    `experiments.suite_tables.families`)."""
    shown = table.T.sort_values(table.index[-1])
    figure, axis = plt.subplots(figsize=(10, 1.6 + 0.42 * len(shown)))
    figure.set_layout_engine("constrained")
    sns.heatmap(
        shown.clip(lower=0.01),
        ax=axis,
        annot=shown,
        fmt=".2f",
        cmap="rocket_r",
        norm=LogNorm(0.01, 2),
        cbar_kws={"label": "bits (log scale)"},
    )
    axis.axvline(len(table) - 1, color="white", lw=4)
    axis.set(xlabel="", ylabel="")
    axis.tick_params(axis="x", rotation=35)
    plt.setp(axis.get_xticklabels(), ha="right", rotation_mode="anchor")
    return figure
