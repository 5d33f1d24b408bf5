"""One look for every figure of the book."""

import seaborn as sns

INK, RED, BLUE, GREY = "#1b1b1b", "#c0392b", "#2c7fb8", "#8a8a8a"


def set_style() -> None:
    """Set fonts, sizes and spines for all figures that follow."""
    sns.set_theme(
        context="notebook",
        style="ticks",
        rc={
            "figure.figsize": (7.2, 4.0),
            "figure.dpi": 110,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
            "font.size": 11,
        },
    )
