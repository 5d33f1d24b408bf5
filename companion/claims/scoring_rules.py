"""Definitions 4 and 8, Equation (7) and Lemma 10: risk, regret, and the slope at the truth.

Identities are proved for arbitrary differentiable rules. Inequalities are tried on the rules of
`mi_lib.scoring`, by random reports and by an optimiser.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
import sympy as sp
import torch

from mi_lib import scoring

from ..adversary import try_to_break
from ..arbitrary_rules import (
    HALF,
    THIRD,
    arbitrary_rule,
    at,
    homogeneous,
    inner,
    linear_score,
    negative_bayes_risk,
    printed_rules,
)
from ..symbolic import (
    bayes_risk,
    bregman,
    class_symbols,
    g,
    on_simplex,
    power_phi,
    regret,
    risk,
    rule_from_phi,
)
from .registry import Part, claim, extreme, identity

PAGE = "theory/scoring_rules"
ALPHAS = (-1, 0.5, 1.5, 2, 3)
RULES = (
    scoring.Log(),
    scoring.SymmetricInverseLog(),
    scoring.Kliep(),
    scoring.InverseLog(),
    *(
        family(alpha)
        for family in (scoring.Power, scoring.PseudoSpherical, scoring.RobustDRE)
        for alpha in ALPHAS
    ),
)


def regret_of(rule: Callable, action: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """<truth, lambda(action) - lambda(truth)> for a rule in torch, over the last axis."""
    action, truth = torch.as_tensor(action), torch.as_tensor(truth)
    return (truth * (rule(action.log()) - rule(truth.log()))).sum(-1).numpy()


def _reports(count: int, classes: int, seed: int) -> np.ndarray:
    """Random class probabilities, 5 % of them spread evenly: no class is nearly impossible."""
    rng = np.random.default_rng(seed)
    return 0.95 * rng.dirichlet(np.ones(classes), count) + 0.05 / classes


def truth_symbols(classes: int) -> tuple[sp.Expr, ...]:
    """A truth s whose entries sum to 1 by construction."""
    star = class_symbols(classes, "s")
    return (1 - sum(star[1:]), *star[1:])


@cache
def _posterior_is_best() -> Part:
    table = np.random.default_rng(4).dirichlet(np.ones(12)).reshape(4, 3)  # p(a, z)
    posterior = table / table.sum(1, keepdims=True)
    worse = [
        (float((table.sum(1) * regret_of(rule, _reports(4, 3, seed), posterior)).sum()), str(rule))
        for rule in RULES
        for seed in range(30)
    ]
    return extreme("no action beats the posterior on a 4 x 3 table", "bound", worse)


@cache
def _truth_is_best() -> tuple[Part, ...]:
    cases, near, search = [], [], []
    for rule in RULES:
        for classes in (2, 3, 5):
            truth, action = _reports(200, classes, classes), _reports(200, classes, 10 + classes)
            regrets = regret_of(rule, action, truth)
            cases += [(float(r), f"{rule}, {classes} classes") for r in regrets]
            bent = truth**1.05 / (truth**1.05).sum(-1, keepdims=True)
            off = np.abs(bent - truth).max(-1) > 1e-3
            miss = regret_of(rule, bent, truth)[off]
            near += [(1e6 * float(r), type(rule).__name__) for r in miss]
    for rule in (scoring.Log(), scoring.Power(2), scoring.PseudoSpherical(2), scoring.Kliep()):
        search += try_to_break(lambda p, q, rule=rule: float(regret_of(rule, q, p)), 3, 2, 8)
    return (
        extreme("regret >= 0: 19 rules, random reports", "bound", cases),
        extreme("an optimiser finds no report better than the truth", "bound", search),
        extreme("strict at the truth to the power 1.05 (in units of 1e-6)", "strict", near, 1e-3),
    )


@claim(
    "def-4",
    item="Definition 4",
    statement=r"Proper for every $p(a,z)$ is the same as proper for each $a$ alone: "
    r"$\E_{p(a,z)}[\lambda_z(\hat\eta(a))] =$ "
    r"$\E_{p(a)}[\langle\eta(a),\lambda(\hat\eta(a))\rangle]$",
    page=PAGE,
    recorded="holds",
    twin={"weighted": False},
    twin_says="without the weights p(a)",
)
def definition_4(weighted: bool = True) -> list[Part]:
    """The expected loss is a mean over a of conditional risks; where p(a) = 0 nothing is seen."""
    eta = class_symbols(3)
    rule = arbitrary_rule(eta)
    joint = [class_symbols(3, f"p_{a}") for a in range(2)]
    actions = [class_symbols(3, f"u_{a}") for a in range(2)]
    losses = [[at(loss, eta, action) for loss in rule] for action in actions]
    expected = sum(inner(p, loss) for p, loss in zip(joint, losses, strict=True))
    means = 0
    for p, loss in zip(joint, losses, strict=True):
        conditional = inner([x / sum(p) for x in p], loss)
        means += (sum(p) if weighted else 1) * conditional
    null = sum(inner(p, loss) for p, loss in zip((joint[0], (0, 0, 0)), losses, strict=True))
    return [
        identity("expected loss = mean of conditional risks (any rule)", expected - means),
        _posterior_is_best(),
        identity(
            "an action is free where p(a) = 0: unique only up to null sets",
            sum(sp.diff(null, u) ** 2 for u in actions[1]),
            role="support",
        ),
    ]


@claim(
    "def-8",
    item="Definition 8",
    statement=r"$\operatorname{Reg}(\hat\eta\Vert\eta^*) \ge 0$, with equality only at "
    r"$\hat\eta = \eta^*$, for the rules of Tables 3 and 4",
    page=PAGE,
    recorded="holds",
    twin={"swapped": True},
    twin_says="truth and report exchanged",
)
def definition_8(swapped: bool = False) -> list[Part]:
    """The regret of the log score is a divergence, of the quadratic score a squared distance."""
    known = []
    for classes in (2, 3):
        eta, star = class_symbols(classes), truth_symbols(classes)
        log, square = printed_rules(eta)["log"], rule_from_phi(power_phi(2), eta)
        kl = sum(s * sp.log(s / e) for s, e in zip(star, eta, strict=True))
        if swapped:
            kl = sum(e * sp.log(e / s) for s, e in zip(star, eta, strict=True))
        distance = sum((s - e) ** 2 for s, e in zip(star, eta, strict=True)) / 2
        known.append(regret(log, eta, star) - kl)
        known.append(on_simplex(regret(square, eta, star) - distance, eta))
    exact = regret(linear_score(class_symbols(2)), class_symbols(2), (THIRD, 1 - THIRD))
    tempting = at(exact, class_symbols(2), (THIRD / 2, 1 - THIRD / 2))
    return [
        identity("log: KL(truth || report); quadratic: half the squared distance", *known),
        *_truth_is_best(),
        identity(
            "the linear score has a negative regret, -1/18", tempting + HALF / 9, role="support"
        ),
    ]


@claim(
    "eq-7",
    item="Equation (7)",
    statement=r"$g(\eta) = \nabla_{\hat\eta}\langle\eta,\lambda(\hat\eta)\rangle\big\vert"
    r"_{\hat\eta=\eta} = J\eta$ with $J_{ij} = \partial\lambda_j/\partial\eta_i$",
    page=PAGE,
    recorded="holds",
    twin={"transposed": True},
    twin_says="the usual Jacobian, transposed",
)
def equation_7(transposed: bool = False) -> list[Part]:
    """With the printed index convention, the rows of J are the gradients' coordinates."""
    product, gradient = [], []
    for classes in (2, 3, 4):
        eta, star = class_symbols(classes), class_symbols(classes, "s")
        rule = arbitrary_rule(eta)
        jacobian = sp.Matrix(classes, classes, lambda i, j, r=rule, e=eta: sp.diff(r[j], e[i]))
        if transposed:
            jacobian = jacobian.T
        ours = g(rule, eta)
        product += [a - b for a, b in zip(ours, jacobian * sp.Matrix(eta), strict=True)]
        slopes = [at(sp.diff(risk(rule, eta, star), e), star, eta) for e in eta]
        gradient += [a - b for a, b in zip(ours, slopes, strict=True)]
    return [
        identity("g = J eta (any rule; 2, 3, 4 classes)", *product),
        identity("g = gradient of the risk in the report, at the truth", *gradient),
    ]


@claim(
    "eq-7-extension",
    item="Equation (7), what it determines (ours)",
    statement=r"A rule on the simplex determines $g$ only up to a multiple of $\mathbf 1$: "
    r"$\lambda + (\sum_j\eta_j - 1)\,h$ has $g + \langle\eta,h\rangle\mathbf 1$",
    page=PAGE,
    recorded="holds",
    twin={"multiple": 0, "sizes": (2,)},
    twin_says="g itself is determined",
)
def equation_7_extension(multiple: int = 1, sizes: tuple[int, ...] = (2, 3, 4)) -> list[Part]:
    """Two formulas for one rule have different gradients off the simplex, and so different g."""
    shift = []
    for classes in sizes:
        eta = class_symbols(classes)
        rule, h = arbitrary_rule(eta), arbitrary_rule(eta, "h")
        off = sum(eta) - 1
        other = [a + off * b for a, b in zip(rule, h, strict=True)]
        shift += [
            two - one - multiple * inner(eta, h) - off * rest
            for one, two, rest in zip(g(rule, eta), g(other, eta), g(h, eta), strict=True)
        ]
    eta = class_symbols(3)
    log = printed_rules(eta)["log"]
    return [
        identity("g changes by <eta, h> 1 + (sum eta - 1) g^h (any lambda, h)", *shift),
        identity("-log eta_z has g = (-1, -1, -1)", *(x + 1 for x in g(log, eta))),
        identity("-log(eta_z / sum eta) has g = 0", *g(homogeneous(log, eta), eta)),
    ]


@claim(
    "lem-10",
    item="Lemma 10",
    label="lem:proper_loss",
    statement=r"$\operatorname{Reg}(\hat\eta\Vert\eta^*) =$ $B_{-f}(\eta^*,\hat\eta) + "
    r"\langle g(\hat\eta),\hat\eta-\eta^*\rangle$",
    page=PAGE,
    recorded="holds",
    twin={"sign": -1, "sizes": (2,)},
    twin_says="minus the inner product",
)
def lemma_10(sign: int = 1, sizes: tuple[int, ...] = (2, 3, 4)) -> list[Part]:
    """An identity of differentiation, for every rule, on and off the simplex."""
    rule_of_product, residuals = [], []
    for classes in sizes:
        eta, star = class_symbols(classes), class_symbols(classes, "s")
        rule = arbitrary_rule(eta)
        gradient = g(rule, eta)
        f = bayes_risk(rule, eta)
        rule_of_product += [
            sp.diff(f, e) - loss - x for e, loss, x in zip(eta, rule, gradient, strict=True)
        ]
        away = inner(gradient, [e - s for e, s in zip(eta, star, strict=True)])
        distortion = bregman(negative_bayes_risk(rule, eta), eta, star)
        residuals.append(regret(rule, eta, star) - distortion - sign * away)
    return [
        identity("grad f = lambda + g (any rule; 2, 3, 4 classes)", *rule_of_product),
        identity("Reg = B + <g, report - truth>", *residuals),
    ]
