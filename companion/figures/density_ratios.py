"""Figures of the chapter on density ratios."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from .style import BLUE, GREY, INK, RED


def scale_valley(table: pd.DataFrame) -> Figure:
    """What a wrong scale costs: one panel for each nu, one line for each of four rules.

    ``table`` has columns ``rule``, ``nu``, ``c`` and ``excess``.
    """
    nus = sorted(table["nu"].unique(), reverse=True)
    rules = list(table["rule"].unique())
    looks = [
        {"color": color, "lw": width, "ls": dash}
        for color, width, dash in zip(
            sns.color_palette("colorblind", len(rules)),
            (4, 1.5, 4, 1.5),
            ("-", "--") * 2,
            strict=True,
        )
    ]
    figure, axes = plt.subplots(1, len(nus), figsize=(7.6, 3.4), sharey=True, layout="constrained")
    for axis, nu in zip(axes, nus, strict=True):
        for look, rule in zip(looks, rules, strict=True):
            line = table[(table["nu"] == nu) & (table["rule"] == rule)]
            axis.plot(line["c"], line["excess"], label=rule, alpha=0.8, **look)
        axis.axvline(1, color=GREY, lw=0.8, ls=":")
        axis.set(title=rf"$\nu$ = {nu:g}", xscale="log", xlabel="scale c of the critic")
        axis.set_xticks([0.2, 1, 5], ["0.2", "1", "5"])
        axis.minorticks_off()
    axes[0].set(ylabel="excess risk (own unit)", ylim=(-0.1, 4))
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9
    )
    return figure


def landing_scale(
    nus: Sequence[float], mixed: Sequence[float], ends: tuple[float, float]
) -> Figure:
    """Where a misfitted critic lands under psi = rho^2 + rho log rho as nu grows.

    ``ends`` are the scales that the chi-square loss and KLIEP choose, whatever nu is.
    """
    figure, axis = plt.subplots(layout="constrained")
    axis.semilogx(nus, mixed, color=INK, lw=2, label=r"$\psi=\rho^2+\rho\,\log\rho$")
    axis.axhline(ends[0], color=BLUE, ls="--", label=r"$\chi^2$: $\psi=\rho^2$")
    axis.axhline(ends[1], color=RED, ls=":", label=r"KLIEP: $\psi=\rho\,\log\rho$")
    axis.set(xlabel=r"weight $\nu$ of the anchor", ylabel="best scale c of a misfitted critic")
    axis.legend()
    return figure
