"""Special cases: f-divergences at K = nu = 1, and when K and nu drop out of an objective."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import sympy as sp
import torch
from scipy.optimize import minimize_scalar

from mi_lib import finite, normal_form, objective_variants, objectives
from mi_lib.scoring import Asymmetric, Log, RobustDRE
from mi_lib.symtorch import SymTensor

from .. import symbolic
from ..symbolic import Generating, class_symbols
from .density_ratios import PAGE
from .excess_risk import ASYMMETRIC, GRID, HALF, MEMBERS, Member, cases, gap, relative
from .registry import Part, claim, extreme, identity

# Generating functions f with f(1) = 0, each with the name of its divergence.
DIVERGENCES: dict[str, Callable[[sp.Expr], sp.Expr]] = {
    "KL": lambda t: t * sp.log(t),
    "GAN": lambda t: t * sp.log(t) - (1 + t) * sp.log((1 + t) / 2),
    "squared Hellinger": lambda t: (1 - sp.sqrt(t)) ** 2,
    "chi-square": lambda t: (t - 1) ** 2,
    "reverse KL": lambda t: -sp.log(t),
}


@cache
def mixed_rule() -> Asymmetric:
    """A sum-type rule outside the three families: chi-square and KLIEP together."""
    return Asymmetric(lambda rho: rho**2 + rho * torch.log(rho))


def _binary(f: Callable[[sp.Expr], sp.Expr], r: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """lambda_0 and lambda_1 of Psi = f at the ratio r (K = nu = 1)."""
    eta = class_symbols(2)
    first, second = symbolic.rule_from_psi(lambda rho: f(rho[0]), eta)
    at = {eta[0]: 1 / (1 + r), eta[1]: r / (1 + r)}
    return first.subs(at), second.subs(at)


@claim(
    "f-divergence",
    item="Section 3.4, special cases: f-divergence",
    statement=r"For $K=\nu=1$ and $f=\Psi$ the optimal value is $D_f(\qone\Vert\qzero)$",
    page=PAGE,
    recorded="holds with correction",
    twin={"factor": 1},
    twin_says="corrected without the factor 1/2",
)
def f_divergence(factor: sp.Expr = HALF) -> list[Part]:
    """It is half of E_q0[f(q1/q0)], a divergence when f(1) = 0."""
    u, t, c = sp.symbols("u t c", positive=True)
    general, conjugate, weighted, printed, halved = [], [], [], [], []
    first, second = _binary(lambda x: normal_form.arbitrary("f")(x), u)
    # per letter, divided by q0: the loss lambda_0 + r* lambda_1, at the optimum u = t
    general.append((first + t * second).subs(u, t) / 2 + factor * normal_form.arbitrary("f")(t))
    for f in DIVERGENCES.values():
        first, second = _binary(f, u)
        slope = sp.diff(f(c), c).subs(c, u)
        # Fenchel: f*(f'(u)) = u f'(u) - f(u)
        conjugate += [second + slope, first - (u * slope - f(u))]
        weighted.append(sp.diff(c * first + t * second, u).subs(u, t / c))
    for (q1, q0), _ in cases(11):
        for name, rule in (("log", Log()), ("robust DRE 2", RobustDRE(2))):
            best = -finite.anchored_risk(q1 / q0, q1, q0, 1, 1, rule)
            psi = next(m.psi for m in MEMBERS if m.name == name)
            d_f = _mean_f(psi, q1, q0)
            printed.append((best - d_f, name))
            halved.append((best - float(factor) * d_f, name))
    return [
        extreme("the optimal value is E_q0 Psi(q1/q0): log, robust DRE 2", "equal", printed),
        identity("it is half of that, for any f", *general, role="correction"),
        extreme("and in numbers", "equal", halved, 1e-9, "correction"),
        identity(
            "lambda_1 = -f' and lambda_0 = f*(f'), five functions f",
            *conjugate,
            role="correction",
        ),
        identity(
            "a weight c on lambda_0: the optimum is r*/c, five f",
            *weighted,
            role="support",
        ),
        identity(
            "the five f vanish at 1; Psi = rho^2/2 is 1/2 there",
            *(f(sp.Integer(1)) for f in DIVERGENCES.values()),
            symbolic.robust_psi(2)([sp.Integer(1)]) - HALF,
            role="support",
        ),
    ]


def _mean_f(psi: Generating, q1: np.ndarray, q0: np.ndarray) -> float:
    return float(sum(q * psi([sp.Float(p / q)]) for p, q in zip(q1, q0, strict=True)))


def _proportional(one: Callable, two: Callable) -> sp.Expr:
    """Zero when the second derivatives of two generating functions are proportional."""
    t = sp.Symbol("t", positive=True)
    return sp.diff(sp.diff(one(t), t, 2) / sp.diff(two(t), t, 2), t)


@claim(
    "gan-dime",
    item="Section 3.4, special cases: GAN-DIME",
    statement=r"GAN-DIME and PCC train the same objective: the anchored log score at $K=\nu=1$",
    page=PAGE,
    recorded="holds",
    twin={"nu": 2},
    twin_says="the anchored log score at nu = 2",
)
def gan_dime(nu: int = 1) -> list[Part]:
    """Both are twice the anchored loss, which is the variational bound of the GAN divergence."""
    u, shift = sp.Symbol("u", positive=True), sp.log(2)
    first, second = _binary(DIVERGENCES["GAN"], u)
    eta = SymTensor([sp.log(nu / (nu + u)), sp.log(u / (nu + u))])
    anchor, own = Log()(eta).tolist()
    scores = torch.linspace(-2, 2, 9, dtype=torch.float64).reshape(3, 3)
    batch = objective_variants.f_dime(scores, "gan") - objectives.js(scores)
    return [
        identity(
            "losses of f = GAN are those of the log score, minus ln 2 each",
            first - (anchor - shift),
            second - (own - shift),
        ),
        Part("f_dime('gan') is the JS loss on a batch", "equal", float(batch), 1e-12, 1),
    ]


@claim(
    "hd-dime",
    item="Section 3.4, special cases: HD-DIME",
    statement=r"HD-DIME and D-RFC (the $\chi^2$ loss of Table 1) train the same objective",
    page=PAGE,
    recorded="refuted",
    twin={"other": lambda t: -4 * sp.sqrt(t)},
    twin_says="HD-DIME is robust DRE with alpha = 1/2",
)
def hd_dime(other: Callable = DIVERGENCES["chi-square"]) -> list[Part]:
    """The Hellinger objective weights the ratio by r^(-3/2), the chi-square one evenly."""
    u = sp.Symbol("u", positive=True)
    first, second = _binary(DIVERGENCES["squared Hellinger"], u)
    q1, q0 = np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.3, 0.2])
    shape = np.array([1.0, 2.0, 3.0])  # a misfitted critic c * shape: where does the scale land?
    hellinger = (q1 / np.sqrt(shape)).sum() / (q0 * np.sqrt(shape)).sum()
    chi_square = (q1 * shape).sum() / (q0 * shape**2).sum()
    return [
        replace(
            identity(
                "their weights f'' are proportional",
                _proportional(DIVERGENCES["squared Hellinger"], other),
            ),
            worst="r^(-3/2) against a constant",
        ),
        identity(
            "HD-DIME is E_q1[r^(-1/2)] + E_q0[r^(1/2)] - 2",
            second - (1 / sp.sqrt(u) - 1),
            first - (sp.sqrt(u) - 1),
            role="support",
        ),
        identity(
            "weights: 1/(2 r^(3/2)) against 2",
            sp.diff(DIVERGENCES["squared Hellinger"](u), u, 2) - u ** sp.Rational(-3, 2) / 2,
            sp.diff(DIVERGENCES["chi-square"](u), u, 2) - 2,
            role="support",
        ),
        Part(
            "a critic c (1, 2, 3) ends at another c",
            "strict",
            float(abs(hellinger - chi_square)),
            0.05,
            1,
            role="support",
        ),
    ]


def _family(alpha: sp.Expr) -> tuple[Callable, Callable, Callable]:
    """Table 5's integrands (under q1, under q0) and the constant: limits at alpha = 0 and 1."""
    if alpha == 1:
        return (lambda r: -sp.log(r)), (lambda r: r), (lambda nu: sp.log(nu))
    if alpha == 0:
        return (lambda r: 1 / r), (lambda r: sp.log(r)), (lambda nu: -sp.log(nu))
    return (
        (lambda r: r ** (alpha - 1) / (1 - alpha)),
        (lambda r: r**alpha / alpha),
        (lambda nu: sp.Integer(0)),
    )


_A, _B, _U, _V = sp.symbols("a b u v", positive=True)
TWO_LETTERS = (_A, 1 - _A), (_B, 1 - _B), (_U, _V)  # q1, q0 and a critic


@cache
def _two_letter_risk(member: Member, k: int, nu: sp.Expr) -> sp.Expr:
    q1, q0, r = TWO_LETTERS
    return finite.anchored_risk(r, q1, q0, k, nu, member.rule)


@claim(
    "table-5-k-nu",
    item="Table 5, caption: K and nu",
    statement=r"The objectives of the asymmetric rules do not depend on $K$ and $\nu$",
    page=PAGE,
    recorded="holds with correction",
    twin={"power": lambda alpha: -alpha},
    twin_says="corrected with nu^(-alpha)",
)
def asymmetric(power: Callable = lambda alpha: 1 - alpha) -> list[Part]:
    """Up to the positive factor nu^(1-alpha) K/(K+nu) and a constant."""
    (q1, q0, r), literal, corrected = TWO_LETTERS, [], []
    for member in ASYMMETRIC:
        alpha = {"KLIEP": sp.Integer(1), "inverse log": sp.Integer(0)}.get(
            member.name, sp.nsimplify(getattr(member.rule, "alpha", 0))
        )
        own, other, constant = _family(alpha)
        table = sum(p * own(x) + q * other(x) for p, q, x in zip(q1, q0, r, strict=True))
        k, nu = 2, HALF
        risk = _two_letter_risk(member, k, nu)
        factor = nu ** power(alpha) * k / (k + nu)
        literal.append(risk - table)
        corrected.append(risk - factor * (table + constant(nu)))
    return [
        replace(
            identity("the loss is the entry of the table (K = 2, nu = 1/2; five rules)", *literal),
            worst="KLIEP, by a factor 4/5",
        ),
        identity(
            "it is nu^(1-alpha) K/(K+nu) (entry + constant)",
            *corrected,
            role="correction",
        ),
    ]


@claim(
    "tensorisation",
    item="Appendix E.3, tensorisation",
    statement=r"With an asymmetric rule, $\Psi(\rho)=\sum_z\psi(\rho_z)$, the loss at $K$ is a "
    r"positive multiple of the one at $K=1$",
    page=PAGE,
    recorded="holds",
    twin={"psi": lambda rho: sum(rho) ** 2},
    twin_says="also for Psi = (sum of rho)^2",
)
def tensorisation(psi: Generating | None = None) -> list[Part]:
    """Each place sees its own letter, so the mean over the others is 1: any psi will do."""
    psi = psi or (lambda rho: sum(normal_form.arbitrary("psi")(x) for x in rho))
    nu, (q1, q0, r) = sp.Symbol("nu", positive=True), TWO_LETTERS

    def loss(k: int) -> sp.Expr:
        rho = class_symbols(k + 1, "rho")[1:]
        slopes = [sp.diff(psi(rho), x) for x in rho]
        first = sum(x * d for x, d in zip(rho, slopes, strict=True)) - psi(rho)
        total = 0
        for x in np.ndindex(*(2,) * k):
            at = {symbol: r[i] / nu for symbol, i in zip(rho, x, strict=True)}
            anchor = sp.prod(q0[i] for i in x)
            total += nu * anchor * first.subs(at)
            for z, i in enumerate(x):
                total -= anchor * q1[i] / q0[i] * slopes[z].subs(at)
        return total / (k + nu)

    scaled = [loss(k) - k * (1 + nu) / (k + nu) * loss(1) for k in (2, 3)]
    numbers = []
    for (p1, p0), critic in cases(12, 1):
        for k, nu_ in GRID[2:]:
            one = finite.anchored_risk(critic, p1, p0, 1, nu_, mixed_rule())
            many = finite.anchored_risk(critic, p1, p0, k, nu_, mixed_rule())
            numbers.append((relative(many, k * (1 + nu_) / (k + nu_) * one), f"K={k}, nu={nu_}"))
    return [
        identity("L_K = K (1 + nu)/(K + nu) L_1 for any psi (K = 2, 3)", *scaled),
        extreme("psi = rho^2 + rho log rho, in torch", "equal", numbers, 1e-9),
    ]


@claim(
    "nu-powers",
    item="Table 5, for which rules nu drops out (ours)",
    statement=r"For a sum-type $\Psi$ the loss is free of $\nu$, up to a factor and a constant, if "
    r"and only if $\psi''$ is a power: KLIEP, robust DRE and inverse log, nothing else",
    page=PAGE,
    recorded="holds",
    twin={"extra": 1},
    twin_says="also for rho^2 + rho log rho",
)
def powers(extra: int = 0) -> list[Part]:
    """nu B_psi(a/nu, b/nu) must be a multiple of B_psi(a, b) for every nu."""
    t, s, alpha = *sp.symbols("t s", positive=True), sp.Symbol("alpha", real=True)
    psi = t**alpha / (alpha * (alpha - 1)) if not extra else t**2 + t * sp.log(t)
    weight = sp.diff(psi, t, 2)
    scale = sp.diff(weight.subs(t, s * t) / weight, t)
    w, c = sp.Function("w"), sp.Symbol("c", real=True)
    solution = sp.dsolve(t * w(t).diff(t) - c * w(t), w(t)).rhs
    q1, q0 = np.array([0.2, 0.8]), np.array([0.6, 0.4])
    shape = np.array([1.0, 2.0])
    mixed = [misfit_scale(shape, q1, q0, nu) for nu in (0.01, 1.0, 100.0)]
    found = minimize_scalar(
        lambda x: finite.anchored_risk(x * shape, q1, q0, 2, 1.0, mixed_rule()), bounds=(0.1, 2.0)
    ).x
    ends = ((q1 @ shape) / (q0 @ shape**2), 1 / (q0 @ shape))  # chi-square alone, KLIEP alone
    constant = []
    for member in ASYMMETRIC:
        sizes = []
        for nu in (0.5, 1.0, 3.0):
            one, two = (gap(member, x * shape, (q1, q0), 2, nu) for x in (0.4, 0.9))
            sizes.append(one / two)
        constant.append((max(sizes) - min(sizes), member.name))
    return [
        identity("psi''(s t)/psi''(t) is free of t for psi'' = t^(alpha-2)", scale),
        identity(
            "t w' = c w, its meaning at s = 1, is solved by powers only",
            sp.diff(solution / t**c, t),
        ),
        extreme(
            "five rules: ratios of excess risks do not change with nu", "equal", constant, 1e-9
        ),
        Part(
            "rho^2 + rho log rho: formula for the best c in c (1, 2)",
            "equal",
            found - mixed[1],
            1e-4,
            1,
            role="support",
        ),
        Part(
            "that c is chi-square's at nu = 0.01",
            "equal",
            mixed[0] - ends[0],
            0.01,
            1,
            role="support",
        ),
        Part("and KLIEP's at nu = 100", "equal", mixed[2] - ends[1], 0.01, 1, role="support"),
        Part("which differ", "strict", abs(ends[0] - ends[1]), 0.05, 1, role="support"),
    ]


def misfit_scale(shape: np.ndarray, q1: np.ndarray, q0: np.ndarray, nu: float) -> float:
    """The c that minimises the loss of psi = rho^2 + rho log rho over critics c * shape.

    Stationarity, with A = 2 E_q0[shape^2]/nu: A c^2 + (E_q0[shape] - 2 E_q1[shape]/nu) c - 1 = 0.
    """
    lead = 2 * (q0 @ shape**2) / nu
    middle = q0 @ shape - 2 * (q1 @ shape) / nu
    return float((-middle + np.sqrt(middle**2 + 4 * lead)) / (2 * lead))
