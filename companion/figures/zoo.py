"""Figures of the chapter on the rule tables."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from .style import GREY, INK, RED


def rule_weights(table: pd.DataFrame) -> Figure:
    """Where each binary rule looks: its weight against the probability of a positive.

    ``table`` has columns ``rule``, ``symmetric``, ``eta`` and ``weight``.
    """
    figure, axes = plt.subplots(1, 2, figsize=(7.6, 4.2), sharey=True, layout="constrained")
    titles = {True: "symmetric rules", False: "asymmetric rules"}
    for axis, (symmetric, title) in zip(axes, titles.items(), strict=True):
        part = table[table["symmetric"] == symmetric]
        rules = list(part["rule"].unique())
        dashes = ("-", "--", "-.", ":")
        for rule, color, dash in zip(rules, sns.color_palette("colorblind"), dashes, strict=False):
            line = part[part["rule"] == rule]
            axis.semilogy(line["eta"], line["weight"], color=color, ls=dash, lw=2, label=rule)
        axis.axvline(0.5, color=GREY, lw=0.8, ls=":")
        axis.set(title=title, xlabel=r"$\eta_1$: probability of a positive", ylim=(0.05, 2e3))
        axis.legend(loc="upper center", fontsize=8)
    axes[0].set(ylabel="weight, 1 at one half")
    return figure


def wrong_rows(
    r: np.ndarray, star: float, curves: Mapping[str, tuple[np.ndarray, np.ndarray]]
) -> Figure:
    """Printed and corrected losses of a critic at one symbol, one panel a row of Table 6.

    ``curves`` maps a panel's title to the printed and the corrected loss at ``r``.
    """
    figure, axes = plt.subplots(1, len(curves), figsize=(7.6, 3.4), layout="constrained")
    for axis, (title, (printed, corrected)) in zip(axes, curves.items(), strict=True):
        axis.plot(r, corrected, color=INK, label="corrected")
        axis.plot(r, printed, color=RED, ls="--", label="as printed")
        axis.plot(r[np.argmin(corrected)], corrected.min(), "o", color=INK, ms=5)
        axis.plot(r[np.argmin(printed)], printed.min(), "o", color=RED, ms=5)
        axis.axvline(star, color=GREY, lw=0.8, ls=":")
        axis.set(title=title, xscale="log", xlabel="critic r")
        axis.title.set_fontsize(10)
    axes[0].set(ylabel="loss above the truth's")
    axes[0].legend(fontsize=9)
    return figure
