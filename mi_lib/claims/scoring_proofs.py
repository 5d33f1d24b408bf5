"""Steps in the proofs of Lemma 10, Theorem 9, Proposition 13 and Lemma 21 that are misprinted.

The statements survive: each claim shows the printed step failing for an arbitrary rule or function,
and the step that is meant. The twin is the repaired step.
"""

from functools import cache

import sympy as sp

from ..symbolic import (
    bayes_risk,
    bregman,
    class_symbols,
    g,
    generating_function,
    reduce,
    regret,
    rule_from_psi,
)
from .generic import HALF, arbitrary_psi, arbitrary_rule, at, inner, negative_bayes_risk, simplex
from .registry import Part, claim, extreme, identity
from .scoring_rules import PAGE

SIZES = (2, 3)
Reduced = tuple[sp.Expr, ...]


def _step(name: str, residuals: Reduced, role: str = "statement") -> Part:
    """A part that counts the residuals which are not zero."""
    return Part(name, "equal", float(sum(r != 0 for r in residuals)), 0.0, len(residuals), "", role)


@cache
def _third_line(sign: int) -> Reduced:
    residuals = []
    for classes in SIZES:
        eta, star = class_symbols(classes), class_symbols(classes, "s")
        rule = arbitrary_rule(eta)
        slope = [a + b for a, b in zip(rule, g(rule, eta), strict=True)]
        f = bayes_risk(rule, eta)
        towards = [s - e for s, e in zip(star, eta, strict=True)]
        printed = -at(f, eta, star) + f + sign * inner(slope, towards)
        residuals.append(bregman(negative_bayes_risk(rule, eta), eta, star) - printed)
    return tuple(map(reduce, residuals))


@claim(
    "proof-10-sign",
    item="Proof of Lemma 10, third line",
    statement=r"$B_{-f}(\eta^*,\hat\eta) = -d(\eta^*\Vert\eta^*) + d(\hat\eta\Vert\hat\eta)$ $-\ "
    r"\langle\lambda(\hat\eta)+g(\hat\eta),\eta^*-\hat\eta\rangle$",
    page=PAGE,
    recorded="holds with correction",
    twin={"sign": 1},
    twin_says="plus the inner product",
)
def proof_10_sign(sign: int = -1) -> list[Part]:
    """The gradient of f enters with a plus; the next line of the proof has it right."""
    return [
        _step("as printed, with minus (any rule; 2, 3 classes)", _third_line(sign)),
        _step("with plus", _third_line(1), "correction"),
    ]


@claim(
    "proof-9-converse",
    item="Proof of Theorem 9, the converse",
    statement=r"$\operatorname{Reg}\ge B_{-f}\ge0$, and $\lambda$ is strictly proper if $-f$ is "
    r"strictly concave",
    page=PAGE,
    recorded="holds with correction",
    twin={"sign": 1},
    twin_says="-f strictly convex",
)
def proof_9_converse(sign: int = -1) -> list[Part]:
    """The first relation is an equality, and -f must be strictly convex."""
    eta, star = class_symbols(2), class_symbols(2, "s")

    def regrets(sign: int) -> list[tuple[sp.Expr, str]]:
        rule = rule_from_psi(lambda r: sign * r[0] ** 2, eta)
        reports = [sp.Rational(i, 5) for i in range(1, 5)]
        return [
            (at(regret(rule, eta, (HALF, HALF)), eta, (1 - p, p)), f"truth 1/2, report {p}")
            for p in reports
        ]

    induced = rule_from_psi(arbitrary_psi, eta)
    excess = regret(induced, eta, star) - bregman(negative_bayes_risk(induced, eta), eta, star)
    return [
        extreme("-f strictly concave, g = 0: Reg > 0", "strict", regrets(sign), 0.0),
        extreme("-f strictly convex: Reg > 0", "strict", regrets(1), 0.0, role="correction"),
        identity("Reg = B_(-f), an equality", excess, role="correction"),
    ]


@cache
def _in_ratios(classes: int) -> tuple:
    """An arbitrary rule at eta = (1, rho) / (1 + sum rho): rho, eta, its losses, g, Psi, and the
    rule that Psi induces."""
    symbols, rho = class_symbols(classes), class_symbols(classes, "rho")[1:]
    rule, eta = arbitrary_rule(symbols), simplex(rho)
    psi = generating_function(rule, symbols)
    losses, gradient, induced = (
        [at(x, symbols, eta) for x in expressions]
        for expressions in (rule, g(rule, symbols), rule_from_psi(psi, symbols))
    )
    return rho, eta, losses, gradient, psi(rho), induced


@cache
def _sums_of_slopes(diagonal: bool) -> Reduced:
    residuals = []
    for classes in SIZES:
        rho, eta, losses, gradient, *_ = _in_ratios(classes)
        for y, ratio in enumerate(rho, 1):
            if diagonal:
                left = inner(rho, [sp.diff(x, r) for x, r in zip(losses[1:], rho, strict=True)])
            else:
                left = inner((1, *rho), [sp.diff(loss, ratio) for loss in losses])
            residuals.append(left - gradient[y] + inner(eta, gradient))
    return tuple(map(reduce, residuals))


@claim(
    "proof-13-index",
    item="Proof of Proposition 13, the index Y",
    statement=r"$\sum_z\rho_z\,\partial\lambda_z/\partial\rho_z = "
    r"\langle-\eta+\mathbf e_Y,g\rangle$",
    page=PAGE,
    recorded="holds with correction",
    twin={"diagonal": False},
    twin_says="d lambda_z / d rho_y",
)
def proof_13_index(diagonal: bool = True) -> list[Part]:
    """The index of the ratio is not the index of the sum, and e_Y is its unit vector."""
    return [
        _step("one index for both, as printed (any rule)", _sums_of_slopes(diagonal)),
        _step(
            "sum_z rho_z d lambda_z / d rho_y = <e_y - eta, g>",
            _sums_of_slopes(False),
            "correction",
        ),
    ]


@cache
def _induced_slopes(outer: int, inside: int) -> Reduced:
    residuals = []
    for classes in SIZES:
        rho, eta, losses, gradient, psi, induced = _in_ratios(classes)
        for z, ratio in enumerate(rho, 1):
            slope = sp.diff(psi, ratio)
            residuals.append(induced[z] - outer * slope)
            residuals.append(slope + losses[z] + gradient[z] + inside * inner(eta, gradient))
    return tuple(map(reduce, residuals))


@claim(
    "proof-13-sign",
    item="Proof of Proposition 13, classes 1 to M",
    statement=r"$\lambda_z^{\Psi^\lambda} = \partial\Psi^\lambda/\partial\rho_z = "
    r"-\lambda_z - \langle\eta+\mathbf e_z,g\rangle$",
    page=PAGE,
    recorded="holds with correction",
    twin={"outer": -1, "inside": -1},
    twin_says="both signs repaired",
)
def proof_13_sign(outer: int = 1, inside: int = 1) -> list[Part]:
    """The induced loss is minus the slope, and the inner product is with e_z - eta."""
    return [
        _step(
            "plus the slope, <eta + e_z, g>, as printed (any rule)", _induced_slopes(outer, inside)
        ),
        _step(
            "minus the slope; slope = -lambda_z - <e_z - eta, g>",
            _induced_slopes(-1, -1),
            "correction",
        ),
    ]


@cache
def _anchor_losses(sign: int) -> Reduced:
    residuals = []
    for classes in SIZES:
        rho, eta, losses, gradient, psi, induced = _in_ratios(classes)
        shift = inner(eta, gradient) + sign * gradient[0]
        radial = sum(r * sp.diff(psi, r) for r in rho)
        residuals += [radial + inner(rho, losses[1:]) + shift, induced[0] - losses[0] + shift]
    return tuple(map(reduce, residuals))


@claim(
    "proof-13-anchor",
    item="Proof of Proposition 13, class 0",
    statement=r"$\lambda_0^{\Psi^\lambda} = \lambda_0 - \langle\eta+\mathbf e_0,g\rangle$",
    page=PAGE,
    recorded="holds with correction",
    twin={"sign": -1},
    twin_says="minus e_0",
)
def proof_13_anchor(sign: int = 1) -> list[Part]:
    """The sum over z >= 1 of rho_z (e_z - eta) is eta - e_0."""
    units = []
    for classes in SIZES:
        rho, eta, *_ = _in_ratios(classes)
        total = [-sum(rho) * e + r for e, r in zip(eta, (0, *rho), strict=True)]
        units += [t - e + int(z == 0) for z, (t, e) in enumerate(zip(total, eta, strict=True))]
    return [
        _step("with eta + e_0, as printed (any rule)", _anchor_losses(sign)),
        _step("with eta - e_0", _anchor_losses(-1), "correction"),
        identity("sum_z rho_z (e_z - eta) = eta - e_0", *units, role="support"),
    ]


@cache
def _in_eta(classes: int) -> tuple:
    """The rule of an arbitrary Psi in terms of eta: eta, the ratios, the losses, Psi's Hessian."""
    eta, rho = class_symbols(classes), class_symbols(classes, "rho")[1:]
    here = [e / eta[0] for e in eta[1:]]
    psi = arbitrary_psi(rho)
    hessian = [[at(sp.diff(psi, a, b), rho, here) for b in rho] for a in rho]
    return eta, here, rule_from_psi(arbitrary_psi, eta), hessian


@cache
def _gradient_sums(diagonal: bool) -> Reduced:
    residuals = []
    for classes in SIZES:
        eta, _, rule, _ = _in_eta(classes)
        for x, j in zip(g(rule, eta), eta, strict=True):
            slopes = [sp.diff(r, e if diagonal else j) for r, e in zip(rule, eta, strict=True)]
            residuals.append(x - inner(eta, slopes))
    return tuple(map(reduce, residuals))


@claim(
    "proof-21-index",
    item="Proof of Lemma 21, first display",
    statement=r"$g_z = \sum_{z=0}^M \eta_z\,\partial\lambda^\Psi_z/\partial\eta_z$",
    page=PAGE,
    recorded="holds with correction",
    twin={"diagonal": False},
    twin_says="d lambda_z' / d eta_z",
)
def proof_21_index(diagonal: bool = True) -> list[Part]:
    """The index of the coordinate is not the index of the sum."""
    return [
        _step("one index for both, as printed (any Psi)", _gradient_sums(diagonal)),
        _step("g_z = sum_z' eta_z' d lambda_z' / d eta_z", _gradient_sums(False), "correction"),
    ]


@cache
def _chain_rule(own: bool) -> Reduced:
    residuals = []
    for classes in SIZES:
        eta, here, rule, hessian = _in_eta(classes)
        for z in range(1, classes):
            inside = [sp.diff(r, eta[z if own else 0]) for r in here]
            residuals.append(sp.diff(rule[z], eta[0]) + inner(inside, hessian[z - 1]))
    return tuple(map(reduce, residuals))


@claim(
    "proof-21-chain",
    item="Proof of Lemma 21, case z = 0",
    statement=r"$\partial\lambda_z/\partial\eta_0 =$ $\sum_{z'}(\partial\rho_{z'}/\partial\eta_z)\,"
    r"\partial_{\rho_{z'}}(-\partial_{\rho_z}\Psi)$ for $z \ge 1$",
    page=PAGE,
    recorded="holds with correction",
    twin={"own": False},
    twin_says="d rho / d eta_0",
)
def proof_21_chain(own: bool = True) -> list[Part]:
    """The inner derivative is with respect to eta_0; the value that follows is right."""
    values = []
    for classes in SIZES:
        eta, here, rule, hessian = _in_eta(classes)
        values += [
            sp.diff(rule[z], eta[0]) - inner(hessian[z - 1], here) / eta[0]
            for z in range(1, classes)
        ]
    return [
        _step("with d rho_z' / d eta_z, as printed (any Psi)", _chain_rule(own)),
        _step("with d rho_z' / d eta_0", _chain_rule(False), "correction"),
        identity("the value (Psi'' rho)_z / eta_0 is right", *values, role="support"),
    ]


@claim(
    "proof-21-diagonal",
    item="Proof of Lemma 21, case z >= 1",
    statement=r"$\sum_{z=1}^M\rho_z\,\partial^2\Psi/\partial\rho_z\partial\rho_z = "
    r"(\nabla^2\Psi\,\rho)_z$",
    page=PAGE,
    recorded="holds with correction",
    twin={"diagonal": False},
    twin_says="the mixed derivatives",
)
def proof_21_diagonal(diagonal: bool = True) -> list[Part]:
    """All losses depend on eta_z, not only the z-th; true as printed for two classes only."""

    def residuals(classes: int, diagonal: bool) -> Reduced:
        _, here, _, hessian = _in_eta(classes)
        return tuple(
            reduce(
                inner(here, [hessian[i][i if diagonal else z] for i in range(classes - 1)])
                - inner(hessian[z], here)
            )
            for z in range(classes - 1)
        )

    slopes = []
    for classes in SIZES:
        eta, _, rule, hessian = _in_eta(classes)
        slopes += [
            sp.diff(rule[y], eta[z]) + hessian[y - 1][z - 1] / eta[0]
            for y in range(1, classes)
            for z in range(1, classes)
        ]
    return [
        _step("the diagonal alone, as printed (any Psi, 3 classes)", residuals(3, diagonal)),
        _step("sum_z' rho_z' d2 Psi / d rho_z' d rho_z", residuals(3, False), "correction"),
        identity("d lambda_y / d eta_z = -(Psi'')_yz / eta_0", *slopes, role="correction"),
        _step("for two classes the two agree", residuals(2, True), "support"),
    ]
