"""Theorem 9: which losses make the truth the best report, as printed and as it should read.

The rules are those of Tables 3 and 4 as printed there, with symbolic alpha, and arbitrary ones.
"""

from collections.abc import Callable
from functools import cache

import sympy as sp

from mi_lib.normal_form import reduce

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
    tangent,
)
from ..symbolic import (
    bayes_risk,
    bregman,
    class_symbols,
    g,
    on_simplex,
    power_phi,
    properise,
    regret,
    rule_from_phi,
    rule_from_psi,
)
from .registry import Part, claim, extreme, identity
from .scoring_rules import PAGE, truth_symbols


@cache
def printed_gradient(name: str, classes: int) -> tuple[sp.Expr, ...]:
    """g on the simplex of a rule of Tables 3 and 4, from the formula as it is printed there."""
    eta = class_symbols(classes)
    return tuple(on_simplex(x, eta) for x in g(printed_rules(eta)[name], eta))


@claim(
    "thm-9-gradient",
    item="Theorem 9, condition (2)",
    label="thm:proper_loss",
    statement=r"A differentiable proper rule has $g(\eta) = 0$ for every $\eta$",
    page=PAGE,
    recorded="holds with correction",
    twin={"extend": homogeneous},
    twin_says="rules written in eta/sum(eta)",
)
def theorem_9_gradient(extend: Callable = lambda rule, eta: rule) -> list[Part]:
    """The log score, as printed, has g = (-1, ..., -1): a multiple of 1 must be allowed."""
    printed, multiple, minus_one, zero = [], [], [], []
    for classes in (2, 3):
        eta = class_symbols(classes)
        for name, rule in printed_rules(eta).items():
            gradient = printed_gradient(name, classes)
            multiple += [x - gradient[0] for x in gradient[1:]]
            if name in ("log", "KLIEP"):
                printed += [on_simplex(x, eta) for x in g(extend(rule, eta), eta)]
                minus_one += [x + 1 for x in gradient]
            else:
                zero += gradient
    return [
        identity("g = 0 for the log score and KLIEP as printed", *printed),
        identity("g is a multiple of 1, all rules of Tables 3 and 4", *multiple, role="correction"),
        identity("log score and KLIEP: g = (-1, ..., -1)", *minus_one, role="support"),
        identity("the other five as printed: g = 0 on the simplex", *zero, role="support"),
    ]


@claim(
    "thm-9",
    item="Theorem 9, as it should read (ours)",
    label="thm:proper_loss",
    statement=r"$\lambda$ is (strictly) proper on a convex set $C$ of class probabilities if and "
    r"only if $f$ is (strictly) concave on $C$ and $\langle g(\eta),u-\eta\rangle = 0$ for all "
    r"$\eta,u\in C$",
    page=PAGE,
    recorded="holds",
    twin={"rules": lambda eta: {"linear": linear_score(eta)}},
    twin_says="for the linear score",
)
def theorem_9_corrected(rules: Callable = printed_rules) -> list[Part]:
    """Proper both ways round gives stationarity; then Lemma 10 has one term left."""
    equal = []
    eta, star = class_symbols(2), truth_symbols(2)
    for rule in rules(eta).values():
        distortion = bregman(negative_bayes_risk(rule, eta), eta, star)
        equal.append(on_simplex(regret(rule, eta, star) - distortion, eta))
    return [
        _slopes_both_ways(),
        identity("so Reg = B_(-f) for the rules of Tables 3 and 4", *equal),
    ]


@cache
def _slopes_both_ways() -> Part:
    slopes, step = [], sp.Symbol("t", positive=True)
    for classes in (2, 3):
        eta, u = class_symbols(classes), class_symbols(classes, "u")
        rule = arbitrary_rule(eta)
        towards = [b - a for a, b in zip(eta, u, strict=True)]
        moved = [a + step * v for a, v in zip(eta, towards, strict=True)]
        new = [at(loss, eta, moved) for loss in rule]
        change = [a - b for a, b in zip(new, rule, strict=True)]
        expected = inner(g(rule, eta), towards)
        forth, back = inner(eta, change), -inner(moved, change)
        slopes.append(sp.diff(forth, step).subs(step, 0).doit() - expected)
        slopes.append(sp.diff(back, step).subs(step, 0).doit() + expected)
    name = "slopes of Reg(u_t||eta), Reg(eta||u_t) at t = 0: +<g, v>, -<g, v>"
    return identity(name, *slopes)


@claim(
    "thm-9-needed",
    item="Theorem 9, each condition is needed (ours)",
    statement=r"$f$ strictly concave alone, or $g = 0$ alone, does not make a rule proper",
    page=PAGE,
    recorded="holds",
    twin={
        "flat": lambda eta: rule_from_psi(lambda r: r[0] ** 2, eta),
        "steep": lambda eta: properise(linear_score(eta), eta),
    },
    twin_says="the repaired rules",
)
def theorem_9_needed(
    flat: Callable = lambda eta: rule_from_psi(lambda r: -(r[0] ** 2), eta),
    steep: Callable = linear_score,
) -> list[Part]:
    """Two rules, each of which fails one condition only, and an exact truth for each."""
    eta, (a, b) = class_symbols(2), class_symbols(2)
    on_line = {a: 1 - b}
    only_2, only_1 = flat(eta), steep(eta)
    concave = [
        sp.diff(bayes_risk(rule, eta).subs(on_line), b, 2).subs(b, THIRD)
        for rule in (only_2, only_1)
    ]
    truth, report = (THIRD, 1 - THIRD), (THIRD / 2, 1 - THIRD / 2)
    regrets = [at(regret(rule, eta, truth), eta, report) for rule in (only_2, only_1)]
    pull = on_simplex(tangent(g(only_1, eta), eta)[1], eta)
    return [
        identity("lambda = (-rho^2, 2 rho): g = 0", *(reduce(x) for x in g(only_2, eta))),
        Part("but f is convex: f'' at eta_1 = 1/3", "strict", float(concave[0]), 0.0, 1),
        Part("and lying pays: minus the regret", "strict", float(-regrets[0]), 0.0, 1),
        Part("lambda_z = -eta_z: f is concave, -f''", "strict", float(-concave[1]), 0.0, 1),
        Part("but g is not a multiple of 1", "strict", float(abs(pull.subs(b, THIRD))), 0.0, 1),
        Part("and lying pays: minus the regret", "strict", float(-regrets[1]), 0.0, 1),
    ]


def _boundary_slopes(rule_of: Callable, classes: int) -> list[sp.Expr]:
    """Slopes of the risk at truths on the boundary (a corner; an edge's midpoint for 3 classes)
    towards the uniform law."""
    eta, step = class_symbols(classes), sp.Symbol("t", positive=True)
    corner = [sp.Integer(1), *[sp.Integer(0)] * (classes - 1)]
    truths = [corner] if classes == 2 else [corner, [HALF, HALF, sp.Integer(0)]]
    slopes = []
    for truth in truths:
        moved = [s + step * (sp.Rational(1, classes) - s) for s in truth]
        seen = [(s, loss) for s, loss in zip(truth, rule_of(eta), strict=True) if s != 0]
        path = sum(s * at(loss, eta, moved) for s, loss in seen)
        slopes.append(sp.diff(path, step).subs(step, 0))
    return slopes


@claim(
    "thm-9-boundary",
    item="Theorem 9, the boundary",
    label="thm:proper_loss",
    statement=r"For a proper rule the risk is stationary at every truth $\eta^*\in\Delta$, those "
    r"with $\eta^*_z = 0$ included",
    page=PAGE,
    recorded="holds with correction",
    twin={"rule": lambda eta: rule_from_phi(power_phi(2), eta)},
    twin_says="the quadratic score only",
)
def theorem_9_boundary(rule: Callable = lambda eta: printed_rules(eta)["log"]) -> list[Part]:
    """True for rules that are finite on the boundary; the log score is not."""
    finite_rules = [
        lambda eta, alpha=alpha: rule_from_phi(power_phi(alpha), eta)
        for alpha in (3 * HALF, sp.Integer(2), sp.Integer(3))
    ]
    finite_rules += [lambda eta: [-e / sp.sqrt(sum(x**2 for x in eta)) for e in eta]]
    slopes = [s for classes in (2, 3) for s in _boundary_slopes(rule, classes)]
    inside = [s for r in finite_rules for classes in (2, 3) for s in _boundary_slopes(r, classes)]
    log_slopes = _boundary_slopes(lambda eta: printed_rules(eta)["log"], 2)
    return [
        identity("slope 0 at truths on the boundary, log score", *slopes),
        identity("slope 0 for rules that are finite there", *inside, role="correction"),
        identity("log score at the truth (1, 0): slope 1/2", log_slopes[0] - HALF, role="support"),
    ]


@claim(
    "thm-9-local",
    item="After Lemma 10, what condition (2) says",
    statement=r"$g = 0$ says that the truth is a local minimiser of the risk",
    page=PAGE,
    recorded="refuted",
    twin={"sign": 1},
    twin_says="with condition (1) as well",
)
def theorem_9_local(sign: int = -1) -> list[Part]:
    """It says stationary: the truth can be the worst report of all."""
    eta = class_symbols(2)
    rule = rule_from_psi(lambda r: sign * r[0] ** 2, eta)
    truth = (HALF, HALF)
    tenths = [sp.Rational(i, 10) for i in range(1, 10) if i != 5]
    cases = [(at(regret(rule, eta, truth), eta, (1 - p, p)), f"eta_1={p}") for p in tenths]
    worst = at(regret(rule, eta, truth), eta, (THIRD, 1 - THIRD))
    return [
        extreme("regret >= 0 around the truth (1/2, 1/2), g = 0", "bound", cases, 0.0),
        identity("g = 0 for this rule", *g(rule, eta), role="support"),
        identity("regret at (1/3, 2/3) is 1/2 in size", worst - sign * HALF, role="support"),
    ]
