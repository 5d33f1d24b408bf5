"""Propositions 5, 11, 13 and 14, Remark 12, Lemma 21: rules from convex functions, and back.

Everything is proved for an arbitrary function Psi or an arbitrary rule.
"""

from collections.abc import Callable

import numpy as np
import sympy as sp
import torch

from mi_lib import scoring

from ..arbitrary_rules import (
    HALF,
    arbitrary_psi,
    arbitrary_rule,
    at,
    inner,
    linear_score,
    printed_rules,
    ratio_symbols,
    regret_between,
    simplex,
)
from ..symbolic import (
    Generating,
    bayes_risk,
    bregman,
    class_symbols,
    g,
    generating_function,
    properise,
    regret,
    rule_from_psi,
)
from .registry import Part, claim, extreme, identity
from .scoring_rules import PAGE, _reports


@claim(
    "prop-5",
    item="Proposition 5",
    label="prop:induced_loss",
    statement=r"If $\Psi$ is (strictly) convex and twice differentiable, $\lambda^\Psi$ is "
    r"(strictly) proper",
    page=PAGE,
    recorded="holds",
    twin={"sign": -1, "sizes": (2,)},
    twin_says="the classes 1..M with plus grad Psi",
)
def proposition_5(sign: int = 1, sizes: tuple[int, ...] = (2, 3, 4)) -> list[Part]:
    """The regret is eta*_0 B_Psi(rho*, rho), for any Psi; convex means non-negative."""
    residuals, curvature = [], []
    for classes in sizes:
        eta, (rho, _) = class_symbols(classes), ratio_symbols(classes)
        sigma, v = ratio_symbols(classes)[1], class_symbols(classes, "v")
        first, *others = rule_from_psi(arbitrary_psi, eta)
        rule = (first, *(sign * loss for loss in others))
        distortion = bregman(arbitrary_psi, rho, sigma)
        residuals.append(regret_between(rule, classes) - distortion / (1 + sum(sigma)))
        if classes == 4:
            continue
        w = [(d - r * v[0]) / eta[0] for d, r in zip(v[1:], rho, strict=True)]

        def along(value: sp.Expr, lead=eta[0], rho=rho, v=v, w=w) -> sp.Expr:
            turn = sum(x * sp.diff(value, r) for x, r in zip(w, rho, strict=True))
            return v[0] * sp.diff(value, lead) + turn

        psi, pairs = arbitrary_psi(rho), list(zip(w, rho, strict=True))
        hessian = sum(x * y * sp.diff(psi, r, q) for x, r in pairs for y, q in pairs)
        curvature.append(along(along(eta[0] * psi)) - eta[0] * hessian)
    eta = class_symbols(3)
    flat = rule_from_psi(lambda r: (r[0] + r[1]) ** 2, eta)
    tie = at(regret(flat, eta, (HALF, HALF / 2, HALF / 2)), eta, (HALF, HALF / 4, 3 * HALF / 4))
    return [
        identity("Reg = eta*_0 B_Psi(rho*, rho) for any Psi (2, 3, 4 classes)", *residuals),
        identity("curvature of eta_0 Psi(rho) along v: eta_0 w' Psi'' w", *curvature),
        identity("Psi = (rho_1 + rho_2)^2: two reports tie, proper, not strictly", tie),
    ]


def _kinked(bend: sp.Expr) -> Generating:
    """rho^2 + bend max(rho - 1, 0)^2: differentiable, with a jump in the second derivative."""
    return lambda r: sp.Piecewise(
        (r[0] ** 2, r[0] <= 1), (r[0] ** 2 + bend * (r[0] - 1) ** 2, True)
    )


@claim(
    "prop-5-once",
    item="Proposition 5, one derivative is enough (ours)",
    statement=r"For differentiable $\Psi$, $\lambda^\Psi$ is (strictly) proper where $\eta_0>0$ if "
    r"and only if $\Psi$ is (strictly) convex",
    page=PAGE,
    recorded="holds",
    twin={"bend": -3},
    twin_says="a Psi that bends down beyond 1",
)
def proposition_5_once(bend: int = 1) -> list[Part]:
    """A convex function without a second derivative at 1 still gives a strictly proper rule."""
    eta, (rho, sigma) = class_symbols(2), ratio_symbols(2)
    psi = _kinked(sp.Integer(bend))
    between = regret_between(rule_from_psi(psi, eta), 2)
    grid = [sp.Rational(i, 4) for i in range(1, 10)]
    cases = [
        (between.subs({rho[0]: a, sigma[0]: b}), f"rho={a}, rho*={b}")
        for a in grid
        for b in grid
        if a != b
    ]
    jump = [sp.diff(piece, rho[0], 2) for piece, _ in psi(rho).args]
    return [
        extreme("Reg > 0 on a grid of ratios, both sides of 1", "strict", cases, 0.0),
        Part("second derivative jumps at 1 by", "strict", float(abs(jump[1] - jump[0])), 0.0, 1),
    ]


@claim(
    "lem-21",
    item="Lemma 21",
    label="lem:gradient_induced_loss",
    statement=r"If $\Psi$ is twice differentiable, $g \equiv 0$ for $\lambda^\Psi$",
    page=PAGE,
    recorded="holds",
    twin={"rule": lambda eta: printed_rules(eta)["KLIEP"]},
    twin_says="KLIEP as Table 3 prints it",
)
def lemma_21(rule: Callable = lambda eta: rule_from_psi(arbitrary_psi, eta)) -> list[Part]:
    """An induced rule is a function of ratios: homogeneous of degree 0, off the simplex too."""
    gradients, euler = [], []
    for classes in (2, 3, 4):
        eta = class_symbols(classes)
        gradients += g(rule(eta), eta)
        euler += [sum(e * sp.diff(loss, e) for e in eta) for loss in rule(eta)[:2]]
    return [
        identity("g = 0, on and off the simplex (any Psi; 2, 3, 4 classes)", *gradients),
        identity("Euler: sum_j eta_j d lambda_z / d eta_j = 0", *euler),
    ]


@claim(
    "prop-11",
    item="Proposition 11",
    statement=r"If $\lambda$ is (strictly) proper, $\rho\mapsto\Psi^\lambda(\rho) = "
    r"-\langle\rho,\lambda(\eta)\rangle$ is (strictly) convex",
    page=PAGE,
    recorded="holds",
    twin={"sign": -1, "sizes": (2,)},
    twin_says="plus the inner product",
)
def proposition_11(sign: int = 1, sizes: tuple[int, ...] = (2, 3, 4)) -> list[Part]:
    """Psi lies above a line for each report, by the regret; at its own ratios it touches it."""
    bayes, lines = [], []
    for classes in sizes:
        eta, (rho, sigma) = class_symbols(classes), ratio_symbols(classes)
        rule = arbitrary_rule(eta)
        psi = generating_function([sign * loss for loss in rule], eta)
        bayes.append(at(bayes_risk(rule, eta), eta, simplex(rho)) + psi(rho) / (1 + sum(rho)))
        line = -inner((1, *sigma), [at(loss, eta, simplex(rho)) for loss in rule])
        lines.append(psi(sigma) - line - (1 + sum(sigma)) * regret_between(rule, classes))
    chords = []
    for rule in (scoring.Log(), scoring.Power(2), scoring.PseudoSpherical(0.5), scoring.Kliep()):
        one, two = (p[:, 1:] / p[:, :1] for p in (_reports(100, 3, 1), _reports(100, 3, 2)))
        gap = (_psi(rule, one) + _psi(rule, two)) / 2 - _psi(rule, (one + two) / 2)
        chords += [(sign * float(x), str(rule)) for x in gap]
    eta, (rho, _) = class_symbols(2), ratio_symbols(2)
    linear = generating_function(linear_score(eta), eta)(rho)
    return [
        identity("f(eta) = -eta_0 Psi(rho) (any rule; 2, 3, 4 classes)", *bayes),
        identity("Psi(rho*) - line of the report = Reg / eta*_0", *lines),
        extreme("midpoint convexity: log, quadratic, spherical 1/2, KLIEP", "bound", chords),
        identity(
            "no converse: Psi'' = 4/(1 + rho)^3 > 0 for the linear score",
            sp.diff(linear, rho[0], 2) - 4 / (1 + rho[0]) ** 3,
            role="support",
        ),
    ]


def _psi(rule: Callable, ratios: np.ndarray) -> np.ndarray:
    """Psi^lambda of a torch rule at rows of ratios."""
    point = np.concatenate([np.ones((len(ratios), 1)), ratios], 1)
    eta = torch.as_tensor(point / point.sum(1, keepdims=True))
    return -(torch.as_tensor(point) * rule(eta.log())).sum(-1).numpy()


@claim(
    "rem-12",
    item="Remark 12",
    statement=r"$\lambda^\Psi$ has the pointwise Bayes risk $-\eta^*_0\Psi(\rho^*)$",
    page=PAGE,
    recorded="holds",
    twin={"drop": True},
    twin_says="without -Psi in class 0",
)
def remark_12(drop: bool = False) -> list[Part]:
    """The terms with grad Psi cancel, provided that Psi has no slope in its fixed first entry."""
    residuals, trap = [], []
    for classes in (2, 3, 4):
        eta, (rho, _) = class_symbols(classes), ratio_symbols(classes)
        first, *others = rule_from_psi(arbitrary_psi, eta)
        value = arbitrary_psi([e / eta[0] for e in eta[1:]])
        rule = (first + value if drop else first, *others)
        residuals.append(bayes_risk(rule, eta) + eta[0] * value)
        lead = sp.Symbol("rho_0", positive=True)
        extended = lead * arbitrary_psi([r / lead for r in rho])
        slope = lead * sp.diff(extended, lead) + sum(r * sp.diff(extended, r) for r in rho)
        trap.append(slope - extended)
    return [
        identity("f = -eta_0 Psi(rho) (any Psi; 2, 3, 4 classes)", *residuals),
        identity(
            "a slope in rho_0, of rho_0 Psi(rho/rho_0), would give lambda_0 = 0",
            *trap,
            role="support",
        ),
    ]


@claim(
    "prop-13",
    item="Proposition 13",
    label="prop:loss_ftn_loss",
    statement=r"$\lambda^{\Psi^\lambda} = \lambda - \langle\eta,g\rangle\mathbf 1 + g$",
    page=PAGE,
    recorded="holds",
    twin={"sign": -1, "sizes": (2,)},
    twin_says="minus g plus <eta, g> 1",
)
def proposition_13(sign: int = 1, sizes: tuple[int, ...] = (2, 3)) -> list[Part]:
    """To the generating function and back adds the tangential part of g."""
    residuals = []
    for classes in sizes:
        eta, (rho, _) = class_symbols(classes), ratio_symbols(classes)
        rule = arbitrary_rule(eta)
        back = rule_from_psi(generating_function(rule, eta), eta)
        residuals += [
            at(new - old - sign * (proper - old), eta, simplex(rho))
            for new, old, proper in zip(back, rule, properise(rule, eta), strict=True)
        ]
    return [identity("there and back, any rule, on the simplex (2, 3 classes)", *residuals)]


@claim(
    "prop-13-proper",
    item="After Proposition 13",
    statement=r"If $\lambda$ is proper, $\lambda^{\Psi^\lambda} \equiv \lambda$",
    page=PAGE,
    recorded="holds",
    twin={"rules": lambda eta: {"linear": linear_score(eta)}},
    twin_says="for the linear score",
)
def after_proposition_13(rules: Callable = printed_rules) -> list[Part]:
    """A multiple of 1 in g cancels: the log score, with g = -1, comes back unchanged too."""
    residuals = []
    for classes in (2, 3):
        eta, (rho, _) = class_symbols(classes), ratio_symbols(classes)
        chosen = rules(eta)
        if classes == 3:  # Proposition 13 covers the others, whose powers are slow
            chosen = {name: chosen[name] for name in chosen if name in ("log", "KLIEP", "linear")}
        for rule in chosen.values():
            back = rule_from_psi(generating_function(rule, eta), eta)
            residuals += [
                at(new - old, eta, simplex(rho)) for new, old in zip(back, rule, strict=True)
            ]
    return [identity("there and back, the rules of Tables 3 and 4 as printed", *residuals)]


@claim(
    "prop-14",
    item="Proposition 14",
    label="prop:psi_to_lamb_to_psi",
    statement=r"$\Psi^{\lambda^\Psi} \equiv \Psi$",
    page=PAGE,
    recorded="holds",
    twin={"sign": -1},
    twin_says="minus Psi",
)
def proposition_14(sign: int = 1) -> list[Part]:
    """The other way round nothing changes."""
    residuals = []
    for classes in (2, 3, 4):
        eta, (rho, _) = class_symbols(classes), ratio_symbols(classes)
        back = generating_function(rule_from_psi(arbitrary_psi, eta), eta)
        residuals.append(back(rho) - sign * arbitrary_psi(rho))
    return [identity("back to Psi, any Psi (2, 3, 4 classes)", *residuals)]


def _kink_rule(choice: sp.Expr, jump: sp.Expr) -> Callable[[sp.Expr], tuple[sp.Expr, sp.Expr]]:
    """The two-class rule of Psi = rho^2 + jump |rho - 1|, with slope 2 + choice at the kink."""

    def losses(rho: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
        side = choice if rho == 1 else jump * sp.sign(rho - 1)
        slope = 2 * rho + side
        return rho * slope - rho**2 - jump * abs(rho - 1), -slope

    return losses


@claim(
    "one-to-one",
    item="After Proposition 14, one to one",
    statement=r"(Strictly) proper rules and (strictly) convex $\Psi$ correspond one to one",
    page=PAGE,
    recorded="holds with correction",
    twin={"jump": 0},
    twin_says="a Psi without a kink",
)
def one_to_one(jump: int = 1) -> list[Part]:
    """At a kink of Psi any subgradient will do: several rules, one function."""
    one, two = (_kink_rule(jump * choice, sp.Integer(jump)) for choice in (sp.Integer(0), HALF))
    same, differ, regrets = [], [], []
    grid = [sp.Rational(i, 4) for i in range(1, 10)]
    for rho in grid:
        first, second = one(rho), two(rho)
        same.append(inner((1, rho), first) - inner((1, rho), second))
        differ += [a - b for a, b in zip(first, second, strict=True)]
        regrets += [
            (inner((1, star), rule(rho)) - inner((1, star), rule(star)), f"rho={rho}, rho*={star}")
            for rule in (one, two)
            for star in grid
            if star != rho
        ]
    eta, (rho, _) = class_symbols(2), ratio_symbols(2)
    smooth = rule_from_psi(arbitrary_psi, eta)
    log = printed_rules(eta)["log"]
    back = rule_from_psi(generating_function(log, eta), eta)
    return [
        identity("strictly proper rules with the same Psi are the same", *differ),
        identity(
            "continuous rules, differentiable Psi: both round trips return",
            generating_function(smooth, eta)(rho) - arbitrary_psi(rho),
            *(at(a - b, eta, simplex(rho)) for a, b in zip(back, log, strict=True)),
            role="correction",
        ),
        identity("the two rules share Psi = rho^2 + |rho - 1|", *same, role="support"),
        extreme("and both are strictly proper", "strict", regrets, 0.0, role="support"),
    ]
