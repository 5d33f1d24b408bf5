"""Proposition 15, Corollary 16, Remark 17 and the open question: regret as a Bregman divergence.

What a generating function determines of a rule, how an improper rule is repaired, and which rules
share a function.
"""

from collections.abc import Callable

import sympy as sp

from ..arbitrary_rules import (
    ALPHA,
    HALF,
    THIRD,
    arbitrary_psi,
    arbitrary_rule,
    at,
    inner,
    linear_score,
    negative_bayes_risk,
    printed_rules,
    ratio_symbols,
    regret_between,
    simplex,
)
from ..symbolic import (
    bayes_risk,
    bregman,
    class_symbols,
    g,
    generating_function,
    power_phi,
    properise,
    regret,
    rule_from_phi,
    rule_from_psi,
)
from .registry import Part, claim, identity
from .scoring_rules import PAGE


@claim(
    "prop-15",
    item="Proposition 15",
    statement=r"$B_f(\eta^*,\eta) = -\eta^*_0\,B_{\Psi^\lambda}(\rho^*,\rho)$",
    page=PAGE,
    recorded="holds",
    twin={"weight": 0, "sizes": (2,)},
    twin_says="eta_0 in place of eta*_0",
)
def proposition_15(weight: int = 1, sizes: tuple[int, ...] = (2, 3)) -> list[Part]:
    """The perspective turns one distortion into the other; propriety is not used."""
    residuals = []
    for classes in sizes:
        eta, ratios = class_symbols(classes), ratio_symbols(classes)
        rho, sigma = ratios
        rule = arbitrary_rule(eta)
        distortion = bregman(generating_function(rule, eta), rho, sigma)
        left = -bregman(negative_bayes_risk(rule, eta), eta, simplex(sigma))
        residuals.append(at(left, eta, simplex(rho)) + distortion / (1 + sum(ratios[weight])))
    return [identity("for any rule, on the simplex (2, 3 classes)", *residuals)]


@claim(
    "cor-16",
    item="Corollary 16",
    statement=r"If $\lambda$ is proper, $\operatorname{Reg}(\eta\Vert\eta^*) = "
    r"\eta^*_0\,B_{\Psi^\lambda}(\rho^*,\rho)$",
    page=PAGE,
    recorded="holds",
    twin={"rules": lambda eta: {"linear": linear_score(eta)}},
    twin_says="for the linear score",
)
def corollary_16(rules: Callable = printed_rules) -> list[Part]:
    """What an improper rule adds is <g, eta - eta*>."""
    eta, (rho, sigma) = class_symbols(2), ratio_symbols(2)

    def gap(rule: tuple[sp.Expr, ...]) -> sp.Expr:
        distortion = bregman(generating_function(rule, eta), rho, sigma)
        return regret_between(rule, 2) - distortion / (1 + sum(sigma))

    rule = arbitrary_rule(eta)
    away = [a - b for a, b in zip(eta, simplex(sigma), strict=True)]
    return [
        identity(
            "the rules of Tables 3 and 4, two classes", *(gap(r) for r in rules(eta).values())
        ),
        identity(
            "any rule: Reg - eta*_0 B = <g, eta - eta*>",
            gap(rule) - at(inner(g(rule, eta), away), eta, simplex(rho)),
        ),
    ]


@claim(
    "equivalent-rules",
    item="After Corollary 16, equivalent rules",
    statement=r"$\lambda$ and $\lambda'$ are equivalent losses if "
    r"$B_{\Psi^\lambda}\equiv B_{\Psi^{\lambda'}}$",
    page=PAGE,
    recorded="holds with correction",
    twin={"other": lambda eta: [2 * loss for loss in rule_from_phi(power_phi(2), eta)]},
    twin_says="two proper rules",
)
def equivalent_rules(other: Callable = linear_score) -> list[Part]:
    """Only among proper rules: the linear score shares its function with the quadratic one."""
    eta, (rho, sigma) = class_symbols(2), ratio_symbols(2)
    linear, square = other(eta), [2 * loss for loss in rule_from_phi(power_phi(2), eta)]
    shifted = [loss + a for loss, a in zip(square, sp.symbols("a_0:2"), strict=True)]

    def distortion(rule: list[sp.Expr]) -> sp.Expr:
        return bregman(generating_function(rule, eta), rho, sigma)

    truth, report = (THIRD, 1 - THIRD), (THIRD / 2, 1 - THIRD / 2)
    two, one = (at(regret(rule, eta, truth), eta, report) for rule in (square, linear))
    base = regret_between(square, 2)
    return [
        identity("equal distortions, equal regrets: linear, quadratic score", one - two),
        identity(
            "proper rules with equal distortions have equal regrets",
            distortion(shifted) - distortion(square),
            regret_between(shifted, 2) - base,
            role="correction",
        ),
        identity(
            "linear and quadratic: same distortion; quadratic regret 1/18",
            distortion(linear_score(eta)) - distortion(square),
            two - HALF / 9,
            role="support",
        ),
    ]


@claim(
    "rem-17",
    item="Remark 17",
    statement=r"$\lambda' = \lambda + g - \langle\eta,g\rangle\mathbf 1$ has $g = 0$ and the same "
    r"$\Psi^\lambda$; it is proper if $\Psi^\lambda$ is convex",
    page=PAGE,
    recorded="holds",
    twin={"sign": -1, "sizes": (2,)},
    twin_says="minus g plus <eta, g> 1",
)
def remark_17(sign: int = 1, sizes: tuple[int, ...] = (2, 3)) -> list[Part]:
    """Properisation keeps the Bayes risk and makes the truth stationary."""
    flat, kept, known = [], [], []

    def mend(rule: tuple[sp.Expr, ...], eta: tuple[sp.Symbol, ...]) -> list[sp.Expr]:
        return [a + sign * (b - a) for a, b in zip(rule, properise(rule, eta), strict=True)]

    for classes in sizes:
        eta = class_symbols(classes)
        off = 1 - sum(eta)
        rule = arbitrary_rule(eta)
        new, old = mend(rule, eta), g(rule, eta)
        inside = [
            x + sum(e * sp.diff(o, j) for e, o in zip(eta, old, strict=True))
            for x, j in zip(old, eta, strict=True)
        ]
        flat += [a - off * b for a, b in zip(g(new, eta), inside, strict=True)]
        kept.append(bayes_risk(new, eta) - bayes_risk(rule, eta) - sign * off * inner(eta, old))
        own = [-(e ** (ALPHA - 1)) for e in eta]
        power = rule_from_phi(power_phi(ALPHA), eta)
        known += [
            (a - ALPHA * (ALPHA - 1) * b).subs(eta[0], 1 - sum(eta[1:]))
            for a, b in zip(mend(own, eta), power, strict=True)
        ]
    eta = class_symbols(2)
    own = [-1 / sp.sqrt(e) for e in eta]
    lie = at(regret(properise(own, eta), eta, (HALF, HALF)), eta, (THIRD**2, 1 - THIRD**2))
    return [
        identity("g' = (1 - sum eta)(...): zero on the simplex (any rule)", *flat),
        identity("f' = f + (1 - sum eta)<eta, g>: Bayes risk and Psi are kept", *kept),
        identity("-eta_z^(alpha-1) becomes alpha (alpha-1) times the power score", *known),
        Part(
            "convexity is needed: -1/sqrt(eta_z), minus a regret",
            "strict",
            float(-lie),
            0.0,
            1,
            role="support",
        ),
    ]


@claim(
    "canonical-class",
    item="Open question after Corollary 16 (ours)",
    statement=r"$\Lambda_o(\Psi) = \{\lambda^\Psi + a : a\in\R^{M+1}\}$: the canonical rule is "
    r"unique up to one constant for each class, and unique if $\Psi^\lambda = \Psi$ is asked",
    page=PAGE,
    recorded="holds",
    twin={"degree": 1, "sizes": (2,)},
    twin_says="shifts proportional to eta_z",
)
def canonical_class(degree: int = 0, sizes: tuple[int, ...] = (2, 3)) -> list[Part]:
    """Equal distortions differ by an affine function, and that is a constant for each class."""
    inside, affine, linear, killed = [], [], [], []
    for classes in sizes:
        eta, (rho, sigma) = class_symbols(classes), ratio_symbols(classes)
        a = sp.symbols(f"a_0:{classes}", real=True)
        base = rule_from_psi(arbitrary_psi, eta)
        moved = [loss + c * e**degree for loss, c, e in zip(base, a, eta, strict=True)]
        psi = generating_function(moved, eta)
        inside += [at(x, eta, simplex(rho)) for x in g(moved, eta)]
        inside.append(psi(rho) - arbitrary_psi(rho) + a[0] + inner(a[1:], rho))
        distortion = bregman(arbitrary_psi, rho, sigma)
        affine += [
            sp.diff(distortion, s, t) - sp.diff(arbitrary_psi(sigma), s, t)
            for s in sigma
            for t in sigma
        ]
        shifted = rule_from_psi(lambda r, a=a: arbitrary_psi(r) - a[0] - inner(a[1:], r), eta)
        linear += [x - y - c for x, y, c in zip(shifted, base, a, strict=True)]
        weights = arbitrary_rule(eta, "k")[1:]
        h = [inner(weights, eta[1:]), *(-k * eta[0] for k in weights)]
        ratio = simplex(rho)
        killed += [at(x, eta, ratio) for x in properise(h, eta)]
    return [
        identity("lambda^Psi + a: g = 0 and Psi - a_0 - <a, rho> (any Psi)", *inside),
        identity("Hessian of B_D(., rho) is that of D: B_D = 0 makes D affine", *affine),
        identity("lambda^(Psi + D) = lambda^Psi + a for D = -a_0 - <a, rho>", *linear),
        identity("the rest of Lambda(Psi), <eta, h> = 0, is what properising kills", *killed),
    ]
