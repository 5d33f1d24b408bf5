"""Steps in the proofs of Lemma 10, Theorem 9, Proposition 13 and Lemma 21 that are misprinted.

The statements survive: each claim shows the printed step failing for an arbitrary rule or function,
and the step that is meant. The twin is the repaired step.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

import sympy as sp

from mi_lib.normal_form import reduce

from ..arbitrary_rules import (
    HALF,
    arbitrary_psi,
    arbitrary_rule,
    at,
    inner,
    negative_bayes_risk,
    simplex,
)
from ..symbolic import (
    bayes_risk,
    bregman,
    class_symbols,
    g,
    generating_function,
    regret,
    rule_from_psi,
)
from .registry import Part, claim, extreme, identity
from .scoring_rules import PAGE

SIZES = (2, 3)
Residuals = Iterator[sp.Expr]


def _step(name: str, residuals: Iterable[sp.Expr], role: str = "statement") -> Part:
    """A part that counts the residuals which are not zero."""
    left = [reduce(residual) != 0 for residual in residuals]
    return Part(name, "equal", float(sum(left)), 0.0, len(left), "", role)


def misprint(
    id: str,
    *,
    item: str,
    statement: str,
    printed: tuple[str, Mapping],
    meant: tuple[str, Mapping],
    twin_says: str,
    support: Callable[[], list[Part]] = list,
) -> Callable[[Callable[..., Residuals]], Callable[..., Residuals]]:
    """Register a step given by its residuals: not zero with the arguments as printed, zero with
    those that are meant. ``printed`` and ``meant`` are the lines of the report with arguments."""

    def register(residuals: Callable[..., Residuals]) -> Callable[..., Residuals]:
        def check(**arguments) -> list[Part]:
            return [
                _step(printed[0], residuals(**(arguments or printed[1]))),
                _step(meant[0], residuals(**meant[1]), "correction"),
                *support(),
            ]

        claim(
            id,
            item=item,
            statement=statement,
            page=PAGE,
            recorded="holds with correction",
            twin=meant[1],
            twin_says=twin_says,
        )(check)
        return residuals

    return register


@misprint(
    "proof-10-sign",
    item="Proof of Lemma 10, third line",
    statement=r"$B_{-f}(\eta^*,\hat\eta) = -d(\eta^*\Vert\eta^*) + d(\hat\eta\Vert\hat\eta)$ $-\ "
    r"\langle\lambda(\hat\eta)+g(\hat\eta),\eta^*-\hat\eta\rangle$",
    printed=("as printed, with minus (any rule; 2, 3 classes)", {"sign": -1}),
    meant=("with plus", {"sign": 1}),
    twin_says="plus the inner product",
)
def third_line(sign: int) -> Residuals:
    """The gradient of f enters with a plus; the next line of the proof has it right."""
    for classes in SIZES:
        eta, star = class_symbols(classes), class_symbols(classes, "s")
        rule = arbitrary_rule(eta)
        slope = [a + b for a, b in zip(rule, g(rule, eta), strict=True)]
        f = bayes_risk(rule, eta)
        towards = [s - e for s, e in zip(star, eta, strict=True)]
        line = -at(f, eta, star) + f + sign * inner(slope, towards)
        yield bregman(negative_bayes_risk(rule, eta), eta, star) - line


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


@misprint(
    "proof-13-index",
    item="Proof of Proposition 13, the index Y",
    statement=r"$\sum_z\rho_z\,\partial\lambda_z/\partial\rho_z = "
    r"\langle-\eta+\mathbf e_Y,g\rangle$",
    printed=("one index for both, as printed (any rule)", {"diagonal": True}),
    meant=("sum_z rho_z d lambda_z / d rho_y = <e_y - eta, g>", {"diagonal": False}),
    twin_says="d lambda_z / d rho_y",
)
def sums_of_slopes(diagonal: bool) -> Residuals:
    """The index of the ratio is not the index of the sum, and e_Y is its unit vector."""
    for classes in SIZES:
        rho, eta, losses, gradient, *_ = _in_ratios(classes)
        for y, ratio in enumerate(rho, 1):
            if diagonal:
                left = inner(rho, [sp.diff(x, r) for x, r in zip(losses[1:], rho, strict=True)])
            else:
                left = inner((1, *rho), [sp.diff(loss, ratio) for loss in losses])
            yield left - gradient[y] + inner(eta, gradient)


@misprint(
    "proof-13-sign",
    item="Proof of Proposition 13, classes 1 to M",
    statement=r"$\lambda_z^{\Psi^\lambda} = \partial\Psi^\lambda/\partial\rho_z = "
    r"-\lambda_z - \langle\eta+\mathbf e_z,g\rangle$",
    printed=(
        "plus the slope, <eta + e_z, g>, as printed (any rule)",
        {"outer": 1, "inside": 1},
    ),
    meant=(
        "minus the slope; slope = -lambda_z - <e_z - eta, g>",
        {"outer": -1, "inside": -1},
    ),
    twin_says="both signs repaired",
)
def induced_slopes(outer: int, inside: int) -> Residuals:
    """The induced loss is minus the slope, and the inner product is with e_z - eta."""
    for classes in SIZES:
        rho, eta, losses, gradient, psi, induced = _in_ratios(classes)
        for z, ratio in enumerate(rho, 1):
            slope = sp.diff(psi, ratio)
            yield induced[z] - outer * slope
            yield slope + losses[z] + gradient[z] + inside * inner(eta, gradient)


def _unit_vectors() -> list[Part]:
    units = []
    for classes in SIZES:
        rho, eta, *_ = _in_ratios(classes)
        total = [-sum(rho) * e + r for e, r in zip(eta, (0, *rho), strict=True)]
        units += [t - e + int(z == 0) for z, (t, e) in enumerate(zip(total, eta, strict=True))]
    return [identity("sum_z rho_z (e_z - eta) = eta - e_0", *units, role="support")]


@misprint(
    "proof-13-anchor",
    item="Proof of Proposition 13, class 0",
    statement=r"$\lambda_0^{\Psi^\lambda} = \lambda_0 - \langle\eta+\mathbf e_0,g\rangle$",
    printed=("with eta + e_0, as printed (any rule)", {"sign": 1}),
    meant=("with eta - e_0", {"sign": -1}),
    twin_says="minus e_0",
    support=_unit_vectors,
)
def anchor_losses(sign: int) -> Residuals:
    """The sum over z >= 1 of rho_z (e_z - eta) is eta - e_0."""
    for classes in SIZES:
        rho, eta, losses, gradient, psi, induced = _in_ratios(classes)
        shift = inner(eta, gradient) + sign * gradient[0]
        radial = sum(r * sp.diff(psi, r) for r in rho)
        yield radial + inner(rho, losses[1:]) + shift
        yield induced[0] - losses[0] + shift


@cache
def _in_eta(classes: int) -> tuple:
    """The rule of an arbitrary Psi in terms of eta: eta, the ratios, the losses, Psi's Hessian."""
    eta, rho = class_symbols(classes), class_symbols(classes, "rho")[1:]
    here = [e / eta[0] for e in eta[1:]]
    psi = arbitrary_psi(rho)
    hessian = [[at(sp.diff(psi, a, b), rho, here) for b in rho] for a in rho]
    return eta, here, rule_from_psi(arbitrary_psi, eta), hessian


@misprint(
    "proof-21-index",
    item="Proof of Lemma 21, first display",
    statement=r"$g_z = \sum_{z=0}^M \eta_z\,\partial\lambda^\Psi_z/\partial\eta_z$",
    printed=("one index for both, as printed (any Psi)", {"diagonal": True}),
    meant=("g_z = sum_z' eta_z' d lambda_z' / d eta_z", {"diagonal": False}),
    twin_says="d lambda_z' / d eta_z",
)
def gradient_sums(diagonal: bool) -> Residuals:
    """The index of the coordinate is not the index of the sum."""
    for classes in SIZES:
        eta, _, rule, _ = _in_eta(classes)
        for x, j in zip(g(rule, eta), eta, strict=True):
            slopes = [sp.diff(r, e if diagonal else j) for r, e in zip(rule, eta, strict=True)]
            yield x - inner(eta, slopes)


def _values_at_zero() -> list[Part]:
    values = []
    for classes in SIZES:
        eta, here, rule, hessian = _in_eta(classes)
        values += [
            sp.diff(rule[z], eta[0]) - inner(hessian[z - 1], here) / eta[0]
            for z in range(1, classes)
        ]
    return [identity("the value (Psi'' rho)_z / eta_0 is right", *values, role="support")]


@misprint(
    "proof-21-chain",
    item="Proof of Lemma 21, case z = 0",
    statement=r"$\partial\lambda_z/\partial\eta_0 =$ $\sum_{z'}(\partial\rho_{z'}/\partial\eta_z)\,"
    r"\partial_{\rho_{z'}}(-\partial_{\rho_z}\Psi)$ for $z \ge 1$",
    printed=("with d rho_z' / d eta_z, as printed (any Psi)", {"own": True}),
    meant=("with d rho_z' / d eta_0", {"own": False}),
    twin_says="d rho / d eta_0",
    support=_values_at_zero,
)
def chain_rule(own: bool) -> Residuals:
    """The inner derivative is with respect to eta_0; the value that follows is right."""
    for classes in SIZES:
        eta, here, rule, hessian = _in_eta(classes)
        for z in range(1, classes):
            inside = [sp.diff(r, eta[z if own else 0]) for r in here]
            yield sp.diff(rule[z], eta[0]) + inner(inside, hessian[z - 1])


def _second_derivatives() -> list[Part]:
    slopes = []
    for classes in SIZES:
        eta, _, rule, hessian = _in_eta(classes)
        slopes += [
            sp.diff(rule[y], eta[z]) + hessian[y - 1][z - 1] / eta[0]
            for y in range(1, classes)
            for z in range(1, classes)
        ]
    return [
        identity("d lambda_y / d eta_z = -(Psi'')_yz / eta_0", *slopes, role="correction"),
        _step("for two classes the two agree", second_derivatives(True, 2), "support"),
    ]


@misprint(
    "proof-21-diagonal",
    item="Proof of Lemma 21, case z >= 1",
    statement=r"$\sum_{z=1}^M\rho_z\,\partial^2\Psi/\partial\rho_z\partial\rho_z = "
    r"(\nabla^2\Psi\,\rho)_z$",
    printed=("the diagonal alone, as printed (any Psi, 3 classes)", {"diagonal": True}),
    meant=("sum_z' rho_z' d2 Psi / d rho_z' d rho_z", {"diagonal": False}),
    twin_says="the mixed derivatives",
    support=_second_derivatives,
)
def second_derivatives(diagonal: bool, classes: int = 3) -> Residuals:
    """All losses depend on eta_z, not only the z-th; true as printed for two classes only."""
    _, here, _, hessian = _in_eta(classes)
    for z in range(classes - 1):
        row = [hessian[i][i if diagonal else z] for i in range(classes - 1)]
        yield inner(here, row) - inner(hessian[z], here)
