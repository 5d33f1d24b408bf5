"""Figures of the chapter on self-supervised learning."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from .style import BLUE, GREY, INK, RED

_COLOURS = {
    "infonce": INK,
    "anchor": BLUE,
    "js": "#7b3294",
    "chi-square": "#e08214",
    "spherical": RED,
    "spherical-root": "#b2182b",
    "spherical-scaled": "#d6604d",
    "supervised": GREY,
}
_DASHED = ("spherical-root", "spherical-scaled", "supervised")


def probe_accuracies(
    accuracies: Mapping[str, Mapping[int, float]], titles: Mapping[str, str]
) -> Figure:
    """Top-1 accuracy of every seed, a line a row of the table; the untrained network as a rule."""
    figure, axis = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
    names = list(accuracies)[::-1]
    for place, name in enumerate(names):
        values = list(accuracies[name].values())
        colour = _COLOURS.get(name, GREY)
        axis.plot(values, [place] * len(values), "o", color=colour, ms=6, alpha=0.7)
        axis.plot(sum(values) / len(values), place, "|", color=colour, ms=18, mew=2)
    if "untrained" in accuracies:
        start = list(accuracies["untrained"].values())
        axis.axvline(sum(start) / len(start), color=GREY, lw=1, ls=":")
    axis.set_yticks(range(len(names)), [titles[name] for name in names])
    axis.set(xlabel="top-1 accuracy of the linear probe (%)", xlim=(0, None))
    return figure


def learning_curves(
    accuracy: pd.DataFrame, titles: Mapping[str, str], start: float | None = None
) -> Figure:
    """Accuracy of a quick probe by epoch, one line an objective (mean over seeds)."""
    figure, axis = plt.subplots(layout="constrained")
    for name, colour in _COLOURS.items():
        part = accuracy[accuracy["training"] == name]
        if part.empty:
            continue
        mean = part.groupby("epoch")["value"].mean()
        style = "--" if name in _DASHED else "-"
        axis.plot(mean.index, mean, color=colour, ls=style, marker="o", ms=3, label=titles[name])
    if start is not None:
        axis.axhline(start, color=GREY, lw=1, ls=":", label="untrained network")
    axis.set(xlabel="epoch", ylabel="top-1 accuracy of least squares (%)")
    axis.legend(fontsize=9)
    return figure


def alpha_curves(sweeps: Mapping[str, pd.Series], batch: int) -> Figure:
    """Gradient of the pseudo-spherical loss over the log score's, by alpha, for some scores."""
    figure, axis = plt.subplots(layout="constrained")
    for (name, ratios), colour in zip(sweeps.items(), (INK, BLUE, RED), strict=False):
        axis.plot(ratios.index, ratios, color=colour, marker="o", ms=4, label=name)
    axis.axhline(1 / batch, color=GREY, lw=1, ls=":", label=f"1/B = 1/{batch}")
    axis.set(yscale="log", xlabel=r"$\alpha$", ylabel="gradient over that of the log score")
    axis.legend(fontsize=9)
    return figure
