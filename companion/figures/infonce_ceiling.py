"""Figures of the chapter on the InfoNCE ceiling."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from companion.printed_bound import printed_ceiling
from mi_lib.ceiling import certified_kl, infonce_ceiling

from .style import BLUE, GREY, INK, RED


def sandwich(pairs: pd.DataFrame, k: int) -> Figure:
    """K-way JSD of many pairs against D, between the lines that bound it.

    ``pairs`` has columns ``kl``, ``jsd`` and ``floor`` in bits, one row a pair (see
    `companion.adversary.sandwich_table`).
    """
    figure, axis = plt.subplots(layout="constrained")
    d = np.linspace(0, 2 * np.log2(k), 300)
    sharp, printed = infonce_ceiling(d, k), printed_ceiling(d, k)
    axis.plot(d, np.minimum(d, np.log2(k)), color=GREY, ls=":", label=r"min(D, log$_2$K)")
    axis.plot(d, sharp, color=INK, lw=2, label=r"sharp ceiling B$_K$(D)")
    axis.fill_between(d, printed, sharp, color=RED, alpha=0.12, lw=0)
    axis.plot(d, printed, color=RED, ls="--", label="bound printed in the paper (false)")
    axis.vlines(pairs["kl"], pairs["floor"], pairs["jsd"], color=BLUE, alpha=0.2, lw=0.8, zorder=1)
    above = pairs["jsd"] > printed_ceiling(pairs["kl"].to_numpy(), k)
    for chosen, color, label in (
        (~above, BLUE, "random pairs, with their chi-square floor"),
        (above, RED, "random pairs above the printed bound"),
    ):
        axis.scatter(pairs["kl"][chosen], pairs["jsd"][chosen], s=9, color=color, label=label)
    axis.set(xlabel="divergence D (bits)", ylabel=f"K-way JSD (bits), K = {k}")
    axis.set(xlim=(0, d[-1]), ylim=(0, np.log2(k) * 1.05))
    axis.legend(loc="lower right", fontsize=9, frameon=True, edgecolor="none", framealpha=0.9)
    return figure


def ceiling_against_k(divergence: float, sizes: Sequence[int]) -> Figure:
    """How the best InfoNCE value approaches D as K grows: the true deficit and the printed one."""
    figure, axis = plt.subplots(layout="constrained")
    k = np.asarray(sizes)
    axis.loglog(
        k, divergence - printed_ceiling(divergence, k), color=RED, ls="--", label="printed bound"
    )
    axis.loglog(k, divergence - infonce_ceiling(divergence, k), color=INK, label="sharp ceiling")
    axis.set(xlabel="tuple size K", ylabel=f"deficit below D = {divergence:g} bits")
    axis.legend()
    return figure


def certified(sizes: Sequence[int]) -> Figure:
    """The divergence that an InfoNCE reading certifies, for several K."""
    figure, axis = plt.subplots(layout="constrained")
    for k, color in zip(sizes, sns.color_palette("viridis", len(sizes)), strict=True):
        values = np.linspace(0, np.log2(k) * 0.999, 200)
        axis.plot(values, certified_kl(values, k), color=color, label=f"K = {k}")
        axis.axvline(np.log2(k), color=color, ls=":", lw=0.8)
    top = np.log2(max(sizes)) * 1.25
    axis.plot([0, top], [0, top], color=GREY, lw=1)
    axis.set(
        xlabel="InfoNCE value (bits)",
        ylabel="certified divergence (bits)",
        ylim=(0, top),
        xlim=(0, None),
    )
    axis.legend()
    return figure


def what_certifies(table: pd.DataFrame) -> Figure:
    """What a value certifies against the batch size, a panel for each mutual information.

    ``table`` has columns ``bits``, ``loss``, ``batch``, ``kind`` ("exact value" or "lower limit")
    and ``certified`` (bits).
    """
    levels = sorted(table["bits"].unique())
    figure, axes = plt.subplots(
        1, len(levels), figsize=(7.2, 4.0), layout="constrained", squeeze=False
    )
    names = list(table["loss"].unique())
    for axis, bits in zip(axes[0], levels, strict=True):
        for name, color in zip(names, (INK, BLUE, "#31a354", RED), strict=False):
            part = table[(table["bits"] == bits) & (table["loss"] == name)]
            for kind, style in (("exact value", "--"), ("lower limit", "-")):
                line = part[part["kind"] == kind]
                label = name if kind == "lower limit" else None
                axis.plot(line["batch"], line["certified"], style, color=color, lw=1.4, label=label)
        axis.axhline(bits, color=GREY, ls=":", lw=1)
        axis.set_xscale("log", base=2)
        axis.set(xlabel="batch size B", ylim=(0, bits * 1.08), title=f"I = {bits:g} bits")
    axes[0, 0].set_ylabel("certified (bits)")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure
