"""The figures of a report and of a matrix; they need matplotlib, which is an extra."""

from typing import Any

import numpy as np
import pandas as pd

INK, RED, BLUE, GREY = "#1b1b1b", "#c0392b", "#2c7fb8", "#8a8a8a"


def _pyplot() -> Any:
    """matplotlib, when a figure is asked for."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "a figure needs matplotlib, which is not installed; `pip install mi-lib[figures]`"
        ) from None
    return plt


def report_figure(
    curve: list[list[float]],
    reliability: tuple[np.ndarray, np.ndarray, np.ndarray],
    pmi: np.ndarray,
    interval: tuple[float, float],
    unit: str,
    confidence: float,
) -> Any:
    """Validation loss of all members, the calibration of the posterior, and the held-out PMI."""
    plt = _pyplot()
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    looks = np.array(curve)
    left.plot(looks - looks[0], color=GREY, lw=0.8)
    left.plot((looks - looks[0]).mean(1), color=INK, lw=2)
    left.axhline(0, color=RED, lw=0.8)
    left.set(
        xlabel="look at the validation pairs", ylabel="loss less the parametric ratio's (nats)"
    )
    posterior, frequency, weight = reliability
    middle.plot([0, 1], [0, 1], color=RED, lw=0.8)
    middle.scatter(posterior, frequency, s=20 + 300 * weight, color=BLUE)
    middle.set(xlabel="posterior of a true pair", ylabel="share of true pairs", xlim=(0, 1))
    right.hist(pmi, bins=60, color=GREY)
    right.axvspan(*interval, color=BLUE, alpha=0.4)
    right.set(xlabel=f"held-out PMI of the pairs ({unit})", ylabel="pairs")
    right.set_title(
        f"{100 * confidence:g} %: {interval[0]:.2f} to {interval[1]:.2f} {unit}", fontsize=10
    )
    return figure


def heat_map(table: pd.DataFrame, unit: str) -> Any:
    """Mutual information of all pairs of columns."""
    size = 1.5 + 0.55 * len(table), 1 + 0.5 * len(table)
    figure, axis = _pyplot().subplots(figsize=size, layout="constrained")
    image = axis.imshow(table.to_numpy(float), cmap="magma_r", vmin=0)
    axis.set_xticks(range(len(table)), table.columns, rotation=90)
    axis.set_yticks(range(len(table)), table.index)
    figure.colorbar(image, label=unit, shrink=0.8)
    return figure
