r"""The rows of the paper's Table 1, Type 3: losses whose optimum is the ratio, and the plug-in."""

from collections.abc import Callable, Sequence

import numpy as np
import sympy as sp

from mi_lib import finite, objective_variants, objectives

from .. import batches
from ..batches import expectation, log_ratio, population
from .registry import Part, claim, extreme, identity
from .which_estimator import PAGE, joints, no_gradient, symbolic_pair, unbiased_plug_in


@claim(
    "tab1-pcc-drfc",
    item="Table 1, PCC / D-RFC row",
    label="tab:mi_estimators",
    statement=r"$\Loss_{\chi^2}(c) = -2\E_{p(x,y)}[e^c] + \E_{p(x)p(y)}[e^{2c}]$ (like "
    r"$\Loss_{\mathrm{JS}}$) has its optimum at $c = \log r$, value $-(1+\chi^2)$, where "
    r"$\E_{\hat p(x,y)}[c]$ is unbiased for $I(X;Y)$",
    page=PAGE,
    recorded="holds",
    twin={"factor": 1},
    twin_says="without the factor 2",
)
def table_1_pcc_drfc(factor: int = 2) -> list[Part]:
    """Complete the square: the loss is E_q0 (e^c - r)^2 minus a constant."""
    (q1, q0), r = symbolic_pair(), sp.symbols("r_0 r_1", positive=True)
    loss = sum(q * v**2 - factor * p * v for p, q, v in zip(q1, q0, r, strict=True))
    square = sum(q * (v - p / q) ** 2 for p, q, v in zip(q1, q0, r, strict=True))
    laws, rng = joints(6, 50), np.random.default_rng(8)
    batch = [
        (
            expectation(objectives.chi_square, j, c, 2).item() - population("chi-square", j, c),
            "",
        )
        for j in laws
        for c in [log_ratio(j) + rng.normal(size=j.shape)]
    ]
    return [
        identity(
            "loss + 1 + chi2 = E_q0 (e^c - r)^2 (two letters, symbolic)",
            loss + 1 + finite.chi_square(q1, q0) - square,
        ),
        extreme("mean over batches of 2 = population loss", "equal", batch),
        no_gradient("chi-square", laws, 2),
        unbiased_plug_in(laws),
    ]


# f of each member of the f-DIME family, with what it trains on here.
FAMILY: dict[str, tuple[Callable, str]] = {
    "KL": (lambda u: u * sp.log(u), "nwj"),
    "GAN": (lambda u: u * sp.log(u) - (1 + u) * sp.log(1 + u), "js"),
    "Hellinger": (lambda u: (sp.sqrt(u) - 1) ** 2, "hellinger"),
}
# The integrands (under p(x,y), under p(x)p(y)) of the losses of mi_lib at e^c = u.
INTEGRANDS: dict[str, Callable] = {
    "nwj": lambda u: (-sp.log(u), u - 1),
    "js": lambda u: (sp.log(1 + 1 / u), sp.log(1 + u)),
    "hellinger": lambda u: (1 / sp.sqrt(u), sp.sqrt(u) - 2),
}


def variational_terms(f: Callable, u: sp.Symbol, sign: int = 1) -> tuple[sp.Expr, sp.Expr]:
    """(-f'(u), f*(f'(u))) with f*(f'(u)) = u f'(u) - f(u), by differentiation."""
    slope = sp.diff(f(u), u)
    return -slope, u * slope - sign * f(u)


@claim(
    "tab1-f-dime",
    item="Table 1, f-DIME row",
    label="tab:mi_estimators",
    statement=r"$\Loss_{f\text{-NWJ}} = -\E_{p(x,y)}[f'(e^c)] + \E_{p(x)p(y)}[f^*(f'(e^c))]$ has "
    r"its optimum $-D_f$ at $c = \log r$; KL, GAN and Hellinger give NWJ, JS and Hellinger",
    page=PAGE,
    recorded="holds",
    twin={"sign": -1},
    twin_says="f added instead of subtracted in the conjugate",
)
def table_1_f_dime(sign: int = 1) -> list[Part]:
    """The objectives of mi_lib, derived from f by differentiation."""
    u, p, q = sp.symbols("u p q", positive=True)
    same, optimum = [], []
    for f, training in FAMILY.values():
        own, other = variational_terms(f, u, sign)
        printed = INTEGRANDS[training](u)
        first, second = own - printed[0], other - printed[1]
        same += [sp.diff(first, u), sp.diff(second, u), (first + second)]  # equal up to constants
        pointwise = p * own + q * other
        optimum += [
            sp.diff(pointwise, u).subs(u, p / q),
            pointwise.subs(u, p / q) + q * f(p / q),
        ]
    laws, rng = joints(3, 60), np.random.default_rng(9)
    batch = [
        (
            expectation(lambda s, d=d: objective_variants.f_dime(s, d), j, c, 2).item()
            - population(name, j, c),
            d,
        )
        for d, name in (("kl", "nwj"), ("gan", "js"), ("hellinger", "hellinger"))
        for j in laws
        for c in [log_ratio(j) + rng.normal(size=j.shape)]
    ]
    return [
        identity("from f: the losses NWJ, JS, Hellinger of mi_lib", *same),
        identity("optimum at u = p/q with value -q f(p/q)", *optimum),
        extreme("mean over batches of 2 = population loss", "equal", batch),
        *(no_gradient(name, laws, 2) for _, name in FAMILY.values()),
        unbiased_plug_in(laws),
    ]


@claim(
    "tab1-anchor",
    item="Table 1, InfoNCE-anchor row",
    label="tab:mi_estimators",
    statement=r"$\Loss_{K;\nu}$ with $\nu > 0$ has its optimum at $c = \log r$ and nowhere else, "
    r"where $\E_{\hat p(x,y)}[c]$ is unbiased for $I(X;Y)$",
    page=PAGE,
    recorded="holds",
    twin={"weights": (0.0,)},
    twin_says="without the anchor, nu = 0",
)
def table_1_anchor(weights: Sequence[float] = (0.5, 1.0, 3.0)) -> list[Part]:
    """The anchored batch loss estimates its population value, and fixes the scale of r."""
    laws, rng = joints(2, 80), np.random.default_rng(10)
    means, scaled = [], []
    for joint in laws:
        critic = log_ratio(joint) + rng.normal(size=joint.shape)
        for nu in weights:
            for contrast in ("x", "y"):
                batch = expectation(
                    lambda s, n=nu, c=contrast: objectives.anchor(s, n, contrast=c),
                    joint,
                    critic,
                    3,
                )
                exact = batches.anchored(joint, critic, 2, nu, contrast)
                means.append((batch.item() - exact, f"nu={nu}, contrast={contrast}"))
            best = batches.anchored(joint, log_ratio(joint), 2, nu)
            for shift in (-1.0, 1.0):
                worse = batches.anchored(joint, log_ratio(joint) + shift, 2, nu)
                scaled.append((worse - best, f"nu={nu}, C=e^{shift:g}"))
    return [
        extreme("mean over batches of 3 = population loss (K = 2)", "equal", means),
        *(no_gradient(name, laws, 3) for name in ("anchor", "spherical")),
        extreme("a wrong scale C costs: loss(C r) > loss(r)", "strict", scaled, 1e-6),
        unbiased_plug_in(laws),
    ]
