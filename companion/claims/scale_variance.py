"""The variance of a scale that was fitted to the end, with separate and with shared rows (ours)."""

import numpy as np
import torch

from mi_lib import finite, objectives

from ..adversary import event_pair, random_pairs
from ..batches import expectation, log_ratio, product_law, random_joints
from ..scale import (
    batch_variance,
    channel,
    channel_law,
    curvature,
    finite_rows,
    gaussian_rows,
    simulated_variance,
    swap_covariance,
)
from .anchor_scale import PAGE, WEIGHTS
from .registry import Part, claim, extreme


@claim(
    "scale-variance",
    item="Variance of a fitted scale, separate rows (ours)",
    statement=r"For $n$ rows of one positive and $K$ negatives, $n\operatorname{Var}(\log C) \to "
    r"\chi^2/K$ to leading order in $1/K$ for every $\nu$; it is not the inverse curvature",
    page=PAGE,
    recorded="holds",
    twin={"sampling": "likelihood"},
    twin_says="the inverse curvature instead",
)
def scale_variance(sampling: str = "shared") -> list[Part]:
    """Fixed class weights take the label noise away, and with it all of the curvature's effect."""
    gauss = gaussian_rows(1.0, 63)
    values = [gauss.scale_variance(nu) for nu in WEIGHTS]
    rows = finite_rows(*event_pair(4.0), 63)
    flat = max(v[sampling] for v in values) / min(v[sampling] for v in values)
    steep = max(v["likelihood"] for v in values) / min(v["likelihood"] for v in values)
    limit = [
        (finite_rows(q1, q0, k).scale_variance(1e6 * k)[sampling] * k / chi2 - 1, f"K={k}")
        for q1, q0 in random_pairs(6, 2, 23)
        for k, chi2 in ((4, finite.chi_square(q1, q0)), (63, finite.chi_square(q1, q0)))
    ]
    leading = []
    for d in (0.5, 2.0, 4.0):
        for beta in (0.01, 1.0, 100.0):
            ratio = finite_rows(*event_pair(d), 1023).scale_variance(1023 * beta)[sampling]
            leading.append((abs(ratio * 1023 / (2**d - 1) - 1), f"D={d}, nu/K={beta:g}"))
    simulated = [
        (
            simulated_variance(rows, nu, 400, 2000, 24) / rows.scale_variance(nu)[sampling] - 1,
            f"nu={nu:g}",
        )
        for nu in (1.0, 63.0)
    ]
    return [
        Part(
            "Gaussian shift, nu = 0.1 to 6300: 1.1 less largest/smallest",
            "bound",
            1.1 - flat,
            0.0,
            len(WEIGHTS),
        ),
        Part(
            "while the inverse curvature varies more than 100-fold",
            "strict",
            steep - 100,
            0.0,
            len(WEIGHTS),
            role="support",
        ),
        extreme("nu -> infinity: K n Var/chi2 - 1", "equal", limit, 1e-4),
        extreme("K = 1023: distance of K n Var/chi2 from 1", "equal", leading, 0.05),
        extreme("2000 simulated fits to 400 rows, r in {0, 16}, K = 63", "equal", simulated, 0.13),
    ]


def _enumerated_variance(b: int, nu: float, error: float) -> float:
    """B Var(score)/curvature^2 over all 4^B batches of a binary channel, from the torch loss."""
    joint = channel_law(2, error)

    def squared_score(scores: torch.Tensor) -> torch.Tensor:
        shift = torch.zeros(len(scores), 1, 1, dtype=torch.float64, requires_grad=True)
        (score,) = torch.autograd.grad(objectives.anchor(scores + shift, nu).sum(), shift)
        return score.flatten().square()

    bend = curvature(2 * joint[0], np.array([0.5, 0.5]), b - 1, nu)
    return b * expectation(squared_score, joint, log_ratio(joint), b).item() / bend**2


@claim(
    "scale-minibatch",
    item="Variance of a fitted scale, shared rows (ours)",
    statement=r"In the paper's minibatch $n\operatorname{Var}(\log C)$ depends on $\nu$, and tends "
    r"to $(\chi^2 + \kappa)/K$ as $\nu \to \infty$, "
    r"$\kappa = \operatorname{Cov}(r(x_1,y_2), r(x_2,y_1))$",
    page=PAGE,
    recorded="holds",
    twin={"swap": 0.0},
    twin_says="without kappa",
)
def scale_minibatch(swap: float = 1.0) -> list[Part]:
    """Rows that share their negatives are not independent, and normalise each other."""
    exact = [
        (batch_variance(channel(2, e), b, nu) - _enumerated_variance(b, nu, e), f"B={b}, nu={nu}")
        for b in (4, 5)
        for nu in (0.5, 3.0)
        for e in (0.05, 0.2)
    ]
    limit, small, dip = [], [], []
    for m, e in ((2, 0.01), (2, 0.1), (16, 0.0), (16, 0.05), (16, 0.3)):
        joint = channel_law(m, e)
        kappa = swap * swap_covariance(joint)
        chi2 = finite.chi_square(joint.ravel(), np.full(m * m, m**-2.0))
        far = batch_variance(channel(m, e), 64, 1e6)
        limit.append((far * 63 / (chi2 + kappa) - 1, f"m={m}, error {e:g}"))
        kept = [batch_variance(channel(m, e), 64, nu) / far for nu in (0.1, 1.0, 8.0, 63.0)]
        small.append((1 - max(kept), f"m={m}, error {e:g}"))
        dip.append((min(kept), f"m={m}, error {e:g}"))
    spectrum = []
    for joint in random_joints(20, (3, 4), 27):
        whitened = joint / np.sqrt(product_law(joint))
        squares = np.linalg.svd(whitened, compute_uv=False)[1:] ** 2
        spectrum += [
            (swap_covariance(joint) - (squares**2).sum(), "kappa"),
            (finite.chi_square(joint.ravel(), product_law(joint).ravel()) - squares.sum(), "chi2"),
        ]
    return [
        extreme("moments of three pairs of rows = all 4^B batches", "equal", exact),
        extreme("nu = 10^6: K n Var/(chi2 + kappa) - 1, B = 64", "equal", limit, 1e-3),
        extreme("chi2 = sum of sigma^2 and kappa = sum of sigma^4", "equal", spectrum),
        extreme("nu <= K: how far below that limit, five channels", "strict", small, 0.1),
        Part(
            "somewhere below K it is less than a tenth of the limit",
            "bound",
            0.1 - min(dip)[0],
            0.0,
            len(dip),
            min(dip)[1],
        ),
    ]
