"""Are the paper's rule tables right? Each entry against the one its generating function gives."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import sympy as sp

from .. import symbolic
from ..symbolic import class_symbols, reduce
from .registry import Part, claim, extreme, identity
from .zoo_tables import (
    ALPHA,
    ALPHAS,
    NU,
    PSEUDO_SPHERICAL,
    READINGS,
    ROWS,
    SYM_INVERSE_LOG,
    Entry,
    R,
    compare,
    entries_of,
    letter_loss,
    row_6,
    table_3,
    table_4,
    table_5,
)

PAGE = "theory/zoo"
HALF, STAR = sp.Rational(1, 2), sp.Symbol("s", positive=True)  # STAR: the true ratio at a letter
EXACT, CONSTANT = ("equal",), ("equal", "constant")
HARMLESS = ("equal", "constant", "factor")
INVERSE, SPHERICAL = ROWS[2:]


def agree(
    name: str, entries: Sequence[Entry], kinds: tuple[str, ...], role: str = "statement"
) -> Part:
    """A part that counts the entries whose difference is of another kind than these."""
    bad = [e.row for e in entries if compare(e).kind not in kinds]
    worst = f"{bad[0]}" if bad else ""
    return Part(name, "equal", float(len(bad)), 0.0, len(entries), worst, role)


def _row(entries: Sequence[Entry], row: str) -> Entry:
    return next(entry for entry in entries if entry.row == row)


def _exchanged(entries: Sequence[Entry], exchange: bool) -> tuple[Entry, ...]:
    """The same entries, for a twin with the printed losses in reverse order."""
    return tuple(replace(e, printed=e.printed[::-1]) if exchange else e for e in entries)


def at(entry: Entry, **values: sp.Expr) -> Entry:
    """An entry with nu or alpha set to a number."""
    where = {{"nu": NU, "alpha": ALPHA}[name]: value for name, value in values.items()}
    return replace(
        entry,
        printed=tuple(x.subs(where) for x in entry.printed),
        derived=tuple(x.subs(where) for x in entry.derived),
    )


# Tables 3 and 4: the rules


@claim(
    "table-3",
    item="Table 3",
    label="tab:binary_scoring_rules",
    statement=r"Each binary rule is the one that its generating function induces",
    page=PAGE,
    recorded="holds with correction",
    twin={"exchange": True},
    twin_says="lambda_0 and lambda_1 exchanged",
)
def binary_rules(exchange: bool = False) -> list[Part]:
    """Every entry is right up to a constant in each loss."""
    entries = _exchanged(table_3(), exchange)
    return [
        agree("printed = induced, eight comparisons", entries, EXACT),
        agree("up to a constant in each loss", entries, CONSTANT, "correction"),
    ]


@claim(
    "table-3-robust",
    item="Table 3, robust DRE row",
    statement=r"The printed losses come from $\frac{\rho^\alpha}{\alpha(\alpha-1)}$ or from "
    r"$\frac{\rho^\alpha-\rho}{\alpha(\alpha-1)}$",
    page=PAGE,
    recorded="holds with correction",
    twin={"shift": lambda a: 1 / (a * (a - 1))},
    twin_says="corrected with the constant 1/(alpha (alpha - 1))",
)
def robust_row(shift: Callable = lambda a: 1 / (a - 1)) -> list[Part]:
    """From neither, but from the first minus a constant."""
    first, second = (_row(table_3(), f"robust DRE, {n} Psi") for n in ("first", "second"))
    rho = first.variables[0]
    own = -first.printed[0] - rho * first.printed[1]  # -<(1, rho), lambda>
    moved = -symbolic.robust_psi(ALPHA)([rho])  # d/d alpha at 1 after clearing the pole
    slope = sp.diff(-(rho ** (ALPHA - 1)) + 1 / ALPHA, ALPHA).subs(ALPHA, 1)
    return [
        agree("equal to either induced rule", (first, second), EXACT),
        identity(
            "they generate the first Psi minus 1/(alpha - 1)",
            own + moved + shift(ALPHA),
            role="correction",
        ),
        identity(
            "with 1/(alpha (alpha-1)) in lambda_1, alpha -> 1 is KLIEP",
            slope + sp.log(rho) + 1,
            role="support",
        ),
    ]


@claim(
    "table-3-brier",
    item="Table 3, footnote: Brier",
    statement=r"The power score at $\alpha=2$ is the Brier score (up to a factor and a constant)",
    page=PAGE,
    recorded="holds",
    twin={"alpha": 3},
    twin_says="at alpha = 3",
)
def brier(alpha: int = 2) -> list[Part]:
    """It is half the Brier score minus a half."""
    residuals = []
    for classes in (2, 3):
        eta = class_symbols(classes)
        rule = symbolic.rule_from_phi(symbolic.power_phi(alpha), eta)
        for z, loss in enumerate(rule):
            score = sum((e - (1 if j == z else 0)) ** 2 for j, e in enumerate(eta))
            residuals.append(symbolic.on_simplex(loss - (score - 1) / 2, eta))
    return [identity("lambda_z = (Brier - 1)/2 (2 and 3 classes)", *residuals)]


@claim(
    "table-3-limit",
    item="Table 3, footnote: alpha to 1",
    statement=r"The pseudo-spherical score becomes the log score as $\alpha\to1$",
    page=PAGE,
    recorded="holds with correction",
    twin={"scale": lambda n: sp.Integer(1)},
    twin_says="corrected without the factor (M+1)^(1/alpha)",
)
def log_limit(scale: Callable = lambda n: n ** (1 / ALPHA)) -> list[Part]:
    """Only after multiplying by (M+1)^(1/alpha) and adding 1/(alpha - 1); power needs its -1."""
    raw, pole, residuals = [], [], []
    for classes in (2, 3):
        eta, n = class_symbols(classes), sp.Integer(classes)
        loss = PSEUDO_SPHERICAL.losses(eta)[1]
        even = {**{e: 1 / n for e in eta}, ALPHA: sp.Rational(1001, 1000)}
        raw.append((float(loss.subs(even)) - np.log(classes), f"{classes} classes"))
        # (alpha - 1) times the rescaled loss is smooth at 1, where its slope is the limit
        smooth = scale(n) * sp.cancel((ALPHA - 1) * loss) + 1
        pole.append(symbolic.on_simplex(smooth.subs(ALPHA, 1), eta))
        slope = sp.diff(smooth, ALPHA).subs(ALPHA, 1)
        residuals.append(symbolic.on_simplex(slope + sp.log(eta[1]), eta))
    e = sp.Symbol("eta", positive=True)
    power = sp.diff(1 / ALPHA - e ** (ALPHA - 1), ALPHA).subs(ALPHA, 1) + 1
    return [
        extreme("the loss itself, alpha = 1.001, is near -log eta at even eta", "equal", raw, 1e-2),
        identity(
            "(M+1)^(1/alpha) lambda_z + 1/(alpha - 1) has no pole at 1", *pole, role="correction"
        ),
        identity("and its limit is -log eta_z (2 and 3 classes)", *residuals, role="correction"),
        identity("power with its -1 has that limit too", power + sp.log(e), role="support"),
    ]


@claim(
    "table-4",
    item="Table 4",
    label="tab:sym_scoring_rules",
    statement=r"Each symmetric $(M+1)$-ary rule is the one that its generating function induces",
    page=PAGE,
    recorded="holds with correction",
    twin={"exchange": True},
    twin_says="the classes in reverse order",
)
def symmetric_rules(exchange: bool = False) -> list[Part]:
    """Right up to constants: 1/(alpha (alpha - 1)) for one Psi, M + 1 for the inverse log."""
    entries = _exchanged(table_4(), exchange)
    inverse = [compare(entries_of((SYM_INVERSE_LOG,), n)[0]) for n in (2, 3, 4, 5)]
    return [
        agree("printed = induced, three classes", entries, EXACT),
        agree("up to a constant in each loss", entries, CONSTANT, "correction"),
        identity(
            "symmetric inverse log lacks -(M+1), M + 1 = 2, ..., 5",
            *(c - len(d.constants) for d in inverse for c in d.constants),
            role="support",
        ),
    ]


def weight(generating: symbolic.Generating, simplex: bool) -> tuple[sp.Expr, sp.Symbol]:
    """Second derivative of minus the Bayes risk of a binary rule, as a function of eta_1."""
    eta = sp.Symbol("eta", positive=True)
    value = generating([1 - eta, eta]) if simplex else (1 - eta) * generating([eta / (1 - eta)])
    return sp.diff(value, eta, 2), eta


BINARY_RULES = {
    "log": (symbolic.log_phi, True),
    "power 2 (Brier)": (symbolic.power_phi(sp.Integer(2)), True),
    "spherical": (symbolic.pseudo_spherical_phi(sp.Integer(2)), True),
    "symmetric inverse log": (symbolic.symmetric_inverse_log_phi, True),
    "KLIEP": (symbolic.kliep_psi, False),
    "robust DRE 2": (symbolic.robust_psi(sp.Integer(2)), False),
    "Hellinger (robust DRE 1/2)": (symbolic.robust_psi(HALF), False),
    "inverse log": (symbolic.inverse_log_psi, False),
}


def weight_table(points: int = 197) -> pd.DataFrame:
    """Weights of the binary rules, each divided by its value at eta = 1/2."""
    grid, rows = np.linspace(0.01, 0.99, points), []
    for name, (generating, simplex) in BINARY_RULES.items():
        form, eta = weight(generating, simplex)
        f = sp.lambdify(eta, form)
        for x, w in zip(grid, np.broadcast_to(f(grid), grid.shape) / f(0.5), strict=True):
            rows.append({"rule": name, "symmetric": simplex, "eta": x, "weight": w})
    return pd.DataFrame(rows)


@cache
def _weight_residuals() -> list[sp.Expr]:
    """Each binary weight minus its closed form, a sum or product of positive terms."""
    a, e = ALPHA, sp.Symbol("eta", positive=True)
    pairs = (
        (symbolic.log_phi, True, 1 / (e * (1 - e))),
        (symbolic.power_phi(a), True, e ** (a - 2) + (1 - e) ** (a - 2)),
        (symbolic.symmetric_inverse_log_phi, True, e**-2 + (1 - e) ** -2),
        (
            symbolic.pseudo_spherical_phi(a),
            True,
            2 ** (-1 / a) * (e * (1 - e)) ** (a - 2) * (e**a + (1 - e) ** a) ** (1 / a - 2),
        ),
        (symbolic.kliep_psi, False, 1 / (e * (1 - e) ** 2)),
        (symbolic.robust_psi(a), False, e ** (a - 2) * (1 - e) ** (-a - 1)),
        (symbolic.inverse_log_psi, False, 1 / (e**2 * (1 - e))),
    )
    return [reduce(weight(function, simplex)[0] - form) for function, simplex, form in pairs]


@claim(
    "strictly-proper",
    item="Tables 3 and 4, captions: strictly proper",
    statement=r"All rules of the two tables are strictly proper for every real "
    r"$\alpha\notin\{0,1\}$",
    page=PAGE,
    recorded="holds",
    twin={"factor": lambda a: a * (a - 1)},
    twin_says="without 1/(alpha (alpha - 1)) in front",
)
def strictly_proper(factor: Callable = lambda a: sp.Integer(1)) -> list[Part]:
    """For two classes the weights are positive in closed form; for three, Hessians are."""
    rng, bends = np.random.default_rng(3), []
    eta = class_symbols(3)
    for make, name in (
        (symbolic.power_phi, "power"),
        (symbolic.pseudo_spherical_phi, "pseudo-spherical"),
    ):
        for value in ALPHAS:
            hessian = sp.lambdify(eta, sp.hessian(factor(value) * make(value)(eta), eta))
            for point in 0.7 * rng.dirichlet(np.ones(3), 3) + 0.1:
                v = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])  # tangent directions
                least = np.linalg.eigvalsh(v @ np.array(hessian(*point), float) @ v.T).min()
                bends.append((float(least), f"{name} {value}"))
    return [
        identity("binary weights in closed form, all of them positive", *_weight_residuals()),
        extreme("three classes: Phi'' is positive along the simplex", "strict", bends, 1e-3),
    ]


# Table 5: asymmetric objectives


@claim(
    "table-5",
    item="Table 5",
    label="tab:objs_asym",
    statement=r"Each asymmetric objective is $\Loss^\Psi_{K;\nu}$ of its rule",
    page=PAGE,
    recorded="holds with correction",
    twin={"exchange": True},
    twin_says="the two expectations exchanged",
)
def asymmetric_objectives(exchange: bool = False) -> list[Part]:
    """Right up to a positive factor and constants."""
    entries = _exchanged(table_5(), exchange)
    return [
        agree("printed = derived for all K and nu", entries, EXACT),
        agree("up to a positive factor and constants", entries, HARMLESS, "correction"),
    ]


@claim(
    "table-5-range",
    item="Table 5, range of alpha",
    statement=r"The power row holds for $\alpha\notin(0,1)$",
    page=PAGE,
    recorded="holds with correction",
    twin={"excluded": (0, 2)},
    twin_says="corrected to alpha not in {0, 2}",
)
def power_range(excluded: tuple[int, int] = (0, 1)) -> list[Part]:
    """The braces became a bracket: only 0 and 1 are excluded."""
    entry = _row(table_5(), "power")
    printed = [a for a in (-1, 0, 1, 2, 3) if not 0 < a < 1]
    undefined = [a for a in printed if _undefined(entry, a)]
    allowed = [sp.Rational(n, 4) for n in range(-8, 13) if sp.Rational(n, 4) not in excluded]
    loss = STAR * entry.printed[0] + entry.printed[1]
    return [
        Part(
            "no alpha outside (0, 1) is undefined", "equal", float(len(undefined)), 0.0, 5, "0, 1"
        ),
        Part(
            "the row is defined at every other alpha of a grid",
            "equal",
            float(sum(_undefined(entry, a) for a in allowed)),
            0.0,
            len(allowed),
            role="correction",
        ),
        identity(
            "its slope is r^(alpha-2) (r - r*): a minimum at r*",
            sp.diff(loss, R) - R ** (ALPHA - 2) * (R - STAR),
            role="correction",
        ),
    ]


def _undefined(entry: Entry, a: sp.Expr) -> bool:
    return any(x.subs(ALPHA, a).has(sp.zoo, sp.nan) for x in entry.printed)


@claim(
    "table-5-limit",
    item="Table 5, alpha to 1",
    statement=r"The power row becomes KLIEP as $\alpha\to1$",
    page=PAGE,
    recorded="holds with correction",
    twin={"at": 0},
    twin_says="corrected limit taken at alpha = 0",
)
def kliep_limit(at: int = 1) -> list[Part]:
    """After adding 1/(alpha - 1) to the first integrand; and alpha -> 0 is the inverse log."""
    own, other = _row(table_5(), "power").printed
    near = float(own.subs({R: 2, ALPHA: sp.Rational(1001, 1000)}) + sp.log(2))
    # own + 1/(alpha - 1) = -(r^(alpha-1) - 1)/(alpha - 1): a difference quotient
    slope = sp.diff(reduce(own * (1 - ALPHA)), ALPHA).subs(ALPHA, at)
    at_zero = sp.diff(reduce(other * ALPHA), ALPHA).subs(ALPHA, 0)
    return [
        Part("the entry at alpha = 1.001, r = 2 is near -ln 2", "equal", near, 1e-2, 1),
        identity(
            "with 1/(alpha - 1) added: -log r and r",
            -slope + sp.log(R),
            other.subs(ALPHA, 1) - R,
            role="correction",
        ),
        identity(
            "alpha -> 0, with -1/alpha added: 1/r and log r, the inverse log",
            at_zero - sp.log(R),
            own.subs(ALPHA, 0) - 1 / R,
            role="support",
        ),
    ]


# Units


@claim(
    "table-units",
    item="Tables 3 to 7, base of the logarithm",
    statement=r"The rows that add a logarithm to a power of the ratio hold with $\log_2$, the "
    r"paper's logarithm",
    page=PAGE,
    recorded="refuted",
    twin={"base": sp.E},
    twin_says="with natural logarithms",
)
def units(base: sp.Expr | int = 2) -> list[Part]:
    """With base 2, KLIEP learns r*/ln 2 and the inverse log r* ln 2."""
    rows = {row: _row(table_5(), row) for row in ("log (KLIEP)", "inverse log")}
    losses = {row: STAR * e.printed[0] + e.printed[1] for row, e in rows.items()}
    symmetric = at(row_6(INVERSE, READINGS[1], 1, corrected=True), nu=1)
    losses[INVERSE] = letter_loss(symmetric, STAR).subs(symmetric.variables[0], R)

    def in_base(loss: sp.Expr, b: sp.Expr | int) -> sp.Expr:
        return sp.expand(sp.expand_log(loss)).replace(
            sp.log, lambda x: sp.log(x) / sp.log(sp.sympify(b))
        )

    slopes = {row: sp.diff(in_base(loss, base), R) for row, loss in losses.items()}
    lands = {"log (KLIEP)": STAR / sp.log(2), "inverse log": STAR * sp.log(2)}
    two = {row: sp.diff(in_base(losses[row], 2), R) for row in lands}
    return [
        replace(
            identity(
                "slope 0 at r*: KLIEP, inverse log, symmetric inverse log",
                *(slope.subs(R, STAR) for slope in slopes.values()),
            ),
            worst="all of them",
        ),
        identity(
            "base 2: KLIEP ends at r*/ln 2, the inverse log at r* ln 2",
            *(two[row].subs(R, lands[row]) for row in lands),
            role="support",
        ),
        Part(
            "plug-in KLIEP is then off by -log2(ln 2) = 0.5288 bits",
            "equal",
            round(float(-sp.log(sp.log(2), 2)), 4) - 0.5288,
            0.0,
            1,
            role="support",
        ),
    ]
