"""Theorems 18 and 19: generating functions on the simplex, and what happens without an anchor."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd
import sympy as sp

from mi_lib import finite, normal_form

from .. import symbolic
from ..symbolic import Generating, class_symbols, on_simplex
from .density_ratios import PAGE, recovered
from .excess_risk import (
    ASYMMETRIC,
    GRID,
    SYMMETRIC,
    cases,
    gap,
    numeric,
    phi_excess,
    phi_mean,
    relative,
    truth,
    undefined,
)
from .registry import Part, claim, extreme, identity

CLASSES = (2, 3)


@cache
def _perspective_rule(classes: int) -> tuple[sp.Expr, ...]:
    """The rule that Eq. (6) gives for the perspective of an undefined Phi."""
    eta = class_symbols(classes)
    return symbolic.rule_from_psi(symbolic.perspective(undefined("Phi")), eta)


@claim(
    "thm-18",
    item="Theorem 18",
    label="thm:bregman_phi",
    statement=r"$\lambda^{\Psi_\Phi} = \bigl(\langle\eta,\nabla\Phi\rangle - \Phi\bigr)\mathbf 1 "
    r"- \nabla\Phi$",
    page=PAGE,
    recorded="holds",
    twin={"value": 0},
    twin_says="without Phi in the bracket",
)
def induced_rule(value: int = 1) -> list[Part]:
    """By the chain rule, for an arbitrary Phi: the computation that the printed proof omits."""
    phi, residuals = undefined("Phi"), []
    for classes in CLASSES:
        eta = class_symbols(classes)
        formula = symbolic.rule_from_phi(phi, eta)
        residuals += [
            on_simplex(one + (1 - value) * phi(eta) - two, eta)
            for one, two in zip(formula, _perspective_rule(classes), strict=True)
        ]
    return [identity("each loss, for any Phi (2 and 3 classes)", *residuals)]


@claim(
    "thm-18-proof",
    item="Proof of Theorem 18",
    label="thm:bregman_phi",
    statement=r"The line where the proof ends, regret $= B_\Phi(\eta^*,\eta)$, gives the "
    r"displayed rule",
    page=PAGE,
    recorded="holds with correction",
    twin={"line": "risk"},
    twin_says="from the line before it, the risk itself",
)
def end_of_proof(line: str = "regret") -> list[Part]:
    """A regret forgets class constants; the risk at the corners of the simplex does not."""
    phi, eta, star, shift = undefined("Phi"), class_symbols(3), truth(3), sp.symbols("c_0:3")
    rule = symbolic.rule_from_phi(phi, eta)
    other = [loss + c for loss, c in zip(rule, shift, strict=True)]
    distortion = symbolic.bregman(phi, eta, star)
    risk = -phi(eta) - sum(sp.diff(phi(eta), e) * (s - e) for e, s in zip(eta, star, strict=True))
    corners = [dict(zip(star[1:], corner, strict=True)) for corner in ((0, 0), (1, 0), (0, 1))]
    read_off = [risk.subs(corner) for corner in corners]
    candidate = other if line == "regret" else read_off
    return [
        identity(
            "every rule that satisfies the line is the displayed one",
            *(a - b for a, b in zip(candidate, rule, strict=True)),
        ),
        identity(
            "with any class constants c added, regret is still B_Phi",
            on_simplex(symbolic.regret(other, eta, star) - distortion, eta),
            role="support",
        ),
        identity(
            "-Phi - <grad Phi, eta* - eta> at the corners is the rule",
            *(on_simplex(a - b, eta) for a, b in zip(read_off, rule, strict=True)),
            role="correction",
        ),
        identity(
            "and the rule of Eq. (6) for the perspective has that risk",
            on_simplex(symbolic.risk(_perspective_rule(3), eta, star) - risk, eta),
            role="correction",
        ),
    ]


@claim(
    "phi-extension",
    item="Theorem 18, off the simplex (ours)",
    statement=r"The rule and $B_\Phi$ do not depend on how $\Phi$ is extended off the simplex",
    page=PAGE,
    recorded="holds",
    twin={"level": 2},
    twin_says="two functions that differ on the simplex",
)
def extension(level: int = 1) -> list[Part]:
    """Two extensions differ by a function that vanishes on the simplex: (sum eta - 1) h."""
    phi, h, eta, star = undefined("Phi"), undefined("h"), class_symbols(3), truth(3)

    def other(values):
        return phi(values) + (sum(values) - level) * h(values)

    pairs = zip(symbolic.rule_from_phi(phi, eta), symbolic.rule_from_phi(other, eta), strict=True)
    rules = [on_simplex(one - two, eta) for one, two in pairs]
    distortion = symbolic.bregman(phi, eta, star) - symbolic.bregman(other, eta, star)
    rho = class_symbols(3, "rho")
    homogeneous = rho[0] * normal_form.arbitrary("Psi")(*(r / rho[0] for r in rho[1:]))
    zeroth = sum(r * sp.diff(homogeneous, r) for r in rho) - homogeneous
    return [
        identity("the same rule for Phi and Phi + (sum eta - 1) h (3 classes)", *rules),
        identity("the same Bregman distortion", on_simplex(distortion, eta)),
        identity(
            "Psi has no such freedom: homogeneous Psi makes lambda_0 = 0",
            zeroth,
            role="support",
        ),
    ]


@claim(
    "perspective",
    item="After Theorem 18, the perspective transform",
    statement=r"If $\Phi$ is (strictly) convex, so is $\Psi_\Phi$",
    page=PAGE,
    recorded="holds",
    twin={"at": "model"},
    twin_says="scaled by 1 + sum rho in place of 1 + sum rho*",
)
def perspective(at: str = "truth") -> list[Part]:
    """Bregman distortions and Hessians of Phi and of its perspective differ by a factor."""
    phi, bregmans = undefined("Phi"), []
    psi = symbolic.perspective(phi)
    for m in (1, 2):
        rho, star = class_symbols(m + 1, "rho")[1:], class_symbols(m + 1, "sigma")[1:]
        eta = class_symbols(m + 1)
        inner = symbolic.bregman(phi, eta, _point(star)).subs(
            dict(zip(eta, _point(rho), strict=True)), simultaneous=True
        )
        factor = 1 + sum(star if at == "truth" else rho)
        bregmans.append(symbolic.bregman(psi, rho, star) - factor * inner)
    rng, gaps = np.random.default_rng(7), []
    for member in SYMMETRIC:
        f = numeric(member.psi, 2)
        for one, two in np.exp(rng.normal(size=(8, 2, 2))):
            chord = (f(*one) + f(*two)) / 2 - f(*((one + two) / 2))
            gaps.append((chord / float(((one - two) ** 2).sum()), member.name))
    rho0, rho1 = class_symbols(2, "rho")
    ray = rho0 * normal_form.arbitrary("Psi")(rho1 / rho0)
    s = sp.Symbol("s", positive=True)
    return [
        identity("B_Psi(rho*, rho) = (1 + sum rho*) B_Phi(eta*, eta) for any Phi", *bregmans),
        identity(
            "v' Psi'' v = w' Phi'' w / (1 + sum rho), w = (0,v) - (sum v) eta",
            *_hessian_residuals(),
        ),
        extreme("chords of the nine symmetric Psi lie above them", "strict", gaps, 1e-6),
        identity(
            "off the slice rho_0 = 1 a perspective is linear along rays",
            ray.subs({rho0: s * rho0, rho1: s * rho1}, simultaneous=True) - s * ray,
            role="support",
        ),
    ]


def _second_order(at: list[sp.Expr], v: list[sp.Expr]) -> tuple[Generating, sp.Expr]:
    """An arbitrary function up to second order around a point, and its bend v' H v there."""
    n = len(at)
    slope = sp.symbols(f"g_0:{n}")
    h = sp.Matrix(n, n, lambda i, j: sp.Symbol(f"h_{min(i, j)}{max(i, j)}"))

    def form(w: list[sp.Expr]) -> sp.Expr:
        return sum(h[i, j] * w[i] * w[j] for i in range(n) for j in range(n))

    def jet(values: list[sp.Expr]) -> sp.Expr:
        w = [x - a for x, a in zip(values, at, strict=True)]
        return sp.Symbol("c") + sum(d * x for d, x in zip(slope, w, strict=True)) + form(w) / 2

    return jet, form(v)


def _point(rho: Sequence[sp.Expr]) -> list[sp.Expr]:
    """Class probabilities proportional to (1, rho)."""
    return [1 / (1 + sum(rho)), *(r / (1 + sum(rho)) for r in rho)]


@cache
def _hessian_residuals() -> list[sp.Expr]:
    """The bend of a perspective minus that of Phi along the simplex, for 2 and 3 classes."""
    residuals = []
    for m in (1, 2):
        rho = class_symbols(m + 1, "rho")[1:]
        step, t = sp.symbols(f"v_1:{m + 1}"), sp.Symbol("t")
        tangent = [v - sum(step) * e for v, e in zip((0, *step), _point(rho), strict=True)]
        jet, bend = _second_order(_point(rho), tangent)
        moved = symbolic.perspective(jet)([r + t * v for r, v in zip(rho, step, strict=True)])
        residuals.append(sp.diff(moved, t, 2).subs(t, 0) - bend / (1 + sum(rho)))
    return residuals


@claim(
    "thm-19",
    item="Theorem 19",
    statement=r"For $\nu\ge0$ the excess risk is $\E\bigl[B_\Phi(\eta^*,\eta_\theta)\bigr]$ and "
    r"the optimal value $\E[\Phi(\eta^*)]$; for $\nu>0$ only the ratio reaches it",
    page=PAGE,
    recorded="holds",
    twin={"swap": True},
    twin_says="B_Phi with its arguments exchanged",
)
def simplex_excess(swap: bool = False) -> list[Part]:
    """The same identity in class probabilities; with nu = 0 there are K classes."""
    phi, pointwise = undefined("Phi"), []
    for classes in CLASSES:
        eta, star = class_symbols(classes), truth(classes)
        rule = symbolic.rule_from_phi(phi, eta)
        pointwise.append(
            on_simplex(symbolic.regret(rule, eta, star) - symbolic.bregman(phi, eta, star), eta)
        )
    excess, best, missed = [], [], []
    for member in SYMMETRIC:
        for k, nu in (*GRID[1:4], (2, 0), (3, 0)):
            note = f"{member.name}, K={k}"
            lost = member.missing(k if nu else k - 1)[1]
            for (q1, q0), r in cases(8, 1):
                least = finite.anchored_risk(q1 / q0, q1, q0, k, nu, member.rule)
                left = finite.anchored_risk(r, q1, q0, k, nu, member.rule) - least
                right = phi_excess(member.phi, r, q1, q0, k, nu, swap)
                excess.append((relative(left, right), note))
                value = phi_mean(member.phi, q1, q0, k, nu)
                best.append((relative(-least - lost, value), note))
                if nu:
                    near = q1 / q0 * np.r_[1.05, np.ones(q1.size - 1)]
                    miss = finite.anchored_risk(near, q1, q0, k, nu, member.rule) - least
                    missed.append((1e4 * miss, note))
    return [
        identity("regret = B_Phi for any Phi (2 and 3 classes)", *pointwise),
        extreme("excess risk, nine rules, nu = 0 included", "equal", excess, 1e-8),
        extreme("optimal value (with the rules' class constants)", "equal", best, 1e-8),
        extreme("nu > 0: strict when one letter is 5 % off (in 1e-4)", "strict", missed, 1e-3),
    ]


@claim(
    "thm-19-ray",
    item="After Theorem 19, no anchor",
    statement=r"For $\nu=0$, $K\ge2$ and strictly convex $\Phi$ the minimisers are "
    r"$r_\theta = C\,\qone/\qzero$, $C>0$",
    page=PAGE,
    recorded="holds",
    twin={"nu": 0.1},
    twin_says="also for nu = 0.1",
)
def ray(nu: float = 0.0) -> list[Part]:
    """Every multiple of the ratio is optimal, and nothing else is."""
    flat, missed, found = [], [], []
    q1, q0 = np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.3, 0.2])
    for member in SYMMETRIC:
        for k in (2, 3):
            note = f"{member.name}, K={k}"
            for c in (0.1, 10.0):
                flat.append((gap(member, c * q1 / q0, (q1, q0), k, nu), f"{note}, C={c}"))
            for c in (0.5, 1.0):
                near = c * q1 / q0 * np.array([1.05, 1.0, 1.0])
                missed.append((1e4 * gap(member, near, (q1, q0), k, nu), note))
        p1, p0 = np.array([0.2, 0.8]), np.array([0.6, 0.4])
        r = np.log(recovered(member, (p1, p0), 2, nu) * p0 / p1)
        found.append((float(r.max() - r.min()), member.name))
    return [
        extreme("all multiples of the ratio tie, nine rules", "equal", flat),
        extreme("strict when one letter is 5 % off the ray (in 1e-4)", "strict", missed, 1e-3),
        extreme("descent ends on the ray (K = 2)", "equal", found, 1e-4),
    ]


def ray_table(names: Sequence[str], nus: Sequence[float], k: int = 2) -> pd.DataFrame:
    """Excess risk of c times the ratio, for several rules, nu and c, as a share of the excess at
    c = 2 and nu = 1. Asymmetric rules have no class to compare with at nu = 0 and are left out."""
    members = {member.name: member for member in (*SYMMETRIC, *ASYMMETRIC)}
    rows = []
    for name in names:
        unit = _small_nu(members[name], 2.0, k, 1.0)
        for nu in nus:
            if nu or members[name].phi is not None:
                for c in np.geomspace(0.2, 5, 41):
                    excess = _small_nu(members[name], c, k, nu) / unit
                    rows.append({"rule": name, "nu": nu, "c": c, "excess": excess})
    return pd.DataFrame(rows)


def _small_nu(member, c: float, k: int, nu: float) -> float:
    """Excess risk of c times the ratio on a fixed pair."""
    q1, q0 = np.array([0.2, 0.8]), np.array([0.6, 0.4])
    return gap(member, c * q1 / q0, (q1, q0), k, nu)


@claim(
    "nu-to-zero",
    item="Why Theorem 6 needs an anchor (ours)",
    statement=r"As $\nu\to0$ the price of a wrong scale vanishes for the log score, stays for "
    r"KLIEP and the symmetric inverse log, and is infinite for $\chi^2$",
    page=PAGE,
    recorded="holds",
    twin={"kept": 0.0},
    twin_says="it vanishes for the symmetric inverse log",
)
def small_anchor(kept: float = 1 - np.log(2)) -> list[Part]:
    """nu B_Psi(r*/nu, r/nu) has a limit that depends on how Psi scales."""
    a, b, nu, alpha = *sp.symbols("a b nu", positive=True), sp.Symbol("alpha", real=True)

    def scaled(psi: Generating, power: sp.Expr) -> sp.Expr:
        plain = symbolic.bregman(psi, (b,), (a,))
        shrunk = plain.subs({a: a / nu, b: b / nu}, simultaneous=True)
        return nu * shrunk - nu**power * plain

    by_name = {member.name: member for member in (*SYMMETRIC, *ASYMMETRIC)}
    tiny, k = 1e-7, 2
    vanish = [
        (_small_nu(by_name[name], 2.0, k, tiny), name)
        for name in ("log", "power 2", "power 3", "pseudo-spherical 2", "inverse log")
    ]
    stay = [
        (_small_nu(by_name["symmetric inverse log"], 2.0, k, tiny) - kept, "C=2"),
        (_small_nu(by_name["KLIEP"], 2.0, k, tiny) - (1 - np.log(2)), "KLIEP, C=2"),
    ]
    sizes = [_small_nu(by_name["robust DRE 2"], 2.0, k, n) for n in (1e-2, 1e-4, 1e-6)]
    return [
        identity(
            "nu B(a/nu, b/nu) = nu^(1-alpha) B(a, b), alpha = 0 and 1 included",
            scaled(symbolic.robust_psi(alpha), 1 - alpha),
            scaled(symbolic.kliep_psi, sp.Integer(0)),
            scaled(symbolic.inverse_log_psi, sp.Integer(1)),
        ),
        extreme("excess of twice the ratio is 0 at nu = 1e-7", "equal", vanish, 1e-5),
        extreme("but 1 - ln 2 for these two", "equal", stay, 1e-5),
        extreme(
            "and grows like 1/nu for robust DRE 2",
            "equal",
            [(sizes[i + 1] / sizes[i] / 100 - 1, "nu") for i in range(2)],
            1e-2,
        ),
    ]
