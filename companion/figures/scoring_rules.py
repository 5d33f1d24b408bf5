"""Figures of the chapter on scoring rules."""

from collections.abc import Callable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
import torch
from matplotlib.figure import Figure
from torch import Tensor

from ..symbolic import Expressions, g
from .style import BLUE, GREY, INK, RED


def _losses(rule: Callable[[Tensor], Tensor], p: np.ndarray) -> np.ndarray:
    """Losses of class 0 and class 1 (last axis) at reports (1 - p, p)."""
    eta = torch.as_tensor(np.stack([1 - p, p], -1))
    return rule(eta.log()).numpy()


def bayes_tangents(
    rules: Mapping[str, Callable[[Tensor], Tensor]], report: float, truth: float
) -> Figure:
    """The Bayes risk of two-class rules, and the risk of one report as the truth varies: a line.

    ``rules`` maps a title to a rule in torch. The gap between line and curve is the regret: red
    where it is negative, and marked at ``truth``.
    """
    figure, axes = plt.subplots(1, len(rules), figsize=(7.2, 3.4), layout="constrained")
    p = np.linspace(1e-4, 1 - 1e-4, 801)
    for axis, (title, rule) in zip(np.atleast_1d(axes), rules.items(), strict=True):
        curve = ((np.stack([1 - p, p], -1)) * _losses(rule, p)).sum(-1)
        first, second = _losses(rule, np.array(report))
        line = (1 - p) * first + p * second
        axis.fill_between(p, curve, line, where=line >= curve, color=BLUE, alpha=0.15, lw=0)
        axis.fill_between(p, curve, line, where=line < curve, color=RED, alpha=0.25, lw=0)
        axis.plot(p, curve, color=INK, lw=2, label="risk of the truth, f")
        axis.plot(p, line, color=BLUE, label=f"risk of the report {report:g}")
        axis.plot(report, np.interp(report, p, curve), "o", color=BLUE, ms=5)
        low, high = np.interp(truth, p, curve), np.interp(truth, p, line)
        color = RED if high < low else BLUE
        axis.annotate(
            "", (truth, high), (truth, low), arrowprops={"arrowstyle": "<->", "color": color}
        )
        span = np.ptp(curve)
        word = f"regret {'> 0' if high > low else '< 0'}"
        axis.text(truth, min(low, high) - 0.12 * span, word, ha="right", va="top", color=color)
        axis.set(xlabel=r"truth $\eta^*_1$", title=title)
        axis.set(xlim=(0, 1), ylim=(curve.min() - 0.08 * span, curve.max() + 0.7 * span))
    np.atleast_1d(axes)[0].set_ylabel("expected loss")
    np.atleast_1d(axes)[-1].legend(loc="upper right", fontsize=9)
    return figure


def gradients_on_simplex(
    rules: Mapping[str, Expressions], eta: Sequence[sp.Symbol], points: int = 7
) -> Figure:
    """Where a true report is pulled: -g of two-class rules, in the plane of (eta_0, eta_1).

    Grey arrows are -g. Their component along the simplex, which is what a learner can follow, is
    drawn in red; a point means g = 0.
    """
    figure, axes = plt.subplots(
        1, len(rules), figsize=(7.2, 2.9), layout="constrained", sharey=True
    )
    p = np.linspace(0.08, 0.92, points)
    for axis, (title, rule) in zip(np.atleast_1d(axes), rules.items(), strict=True):
        field = sp.lambdify(eta, g(rule, eta), "numpy")
        vectors = -0.3 * np.stack([np.broadcast_to(v, p.shape) for v in field(1 - p, p)], -1)
        along = (vectors[:, 1] - vectors[:, 0]) / 2
        axis.plot([1, 0], [0, 1], color=INK, lw=2)
        zero = np.abs(vectors).max(-1) < 1e-12
        axis.plot((1 - p)[zero], p[zero], "o", color=GREY, ms=5)
        for x, y, (u, v), slide in zip(1 - p, p, vectors, along, strict=True):
            for (du, dv), color in (((u, v), GREY), ((-slide, slide), RED)):
                if np.hypot(du, dv) > 1e-9:
                    axis.annotate(
                        "",
                        (x + du, y + dv),
                        (x, y),
                        arrowprops={
                            "arrowstyle": "-|>",
                            "color": color,
                            "shrinkA": 0,
                            "shrinkB": 0,
                        },
                    )
        axis.set(xlabel=r"$\eta_0$", title=title, aspect="equal")
        axis.set(xlim=(-0.05, 1.25), ylim=(-0.05, 1.25), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
    np.atleast_1d(axes)[0].set_ylabel(r"$\eta_1$")
    return figure
