"""Tables 6 and 7: objectives of the symmetric rules, with and without an anchor."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import sympy as sp
from scipy.optimize import minimize_scalar

from .registry import Part, claim, extreme, identity
from .zoo import EXACT, HALF, HARMLESS, INVERSE, PAGE, SPHERICAL, STAR, agree, at
from .zoo_tables import ALPHA, NU, READINGS, ROWS, Entry, compare, letter_loss, row_6, row_7


def _table_6(reading: str, corrected: bool = False) -> list[Entry]:
    """Its rows with alpha unknown, but 2 in the slow pseudo-spherical row."""
    rows = [row_6(row, reading, corrected=corrected) for row in ROWS[:-1]]
    return [*rows, row_6(SPHERICAL, reading, 2, sp.Integer(2), corrected)]


def _table_7(corrected: bool = False) -> list[Entry]:
    return [row_7(row, corrected=corrected) for row in ROWS]


@claim(
    "table-6",
    item="Table 6",
    label="tab:objs_sym_anchor",
    statement=r"Each anchored objective is $\Loss^{\Psi_\Phi}_{K;\nu}$ of its rule",
    page=PAGE,
    recorded="holds with correction",
    twin={"readings": READINGS[:1]},
    twin_says="corrected losses, but with the vector as defined",
)
def anchored_objectives(readings: Sequence[str] = READINGS[1:]) -> list[Part]:
    """As printed none is; with four repairs all are, up to constants and positive factors."""
    fixed = [*_table_6(readings[0], True), row_6("log", readings[-1], corrected=True)]
    nu_one = [at(row_6(row, READINGS[0]), nu=1) for row in ROWS[:2]]
    return [
        agree("as printed, K = 2", _table_6(READINGS[0]), HARMLESS),
        agree("repaired, with [1, r/nu] or [nu, r]", fixed, HARMLESS, "correction"),
        agree("at nu = 1 the log and power rows are right", nu_one, HARMLESS, "support"),
    ]


@claim(
    "table-6-log",
    item="Table 6, log row: the weight",
    statement=r"The anchor term of InfoNCE-anchor has the weight $\frac{1}{K+\nu}$",
    page=PAGE,
    recorded="refuted",
    twin={"corrected": True},
    twin_says="nu/(K+nu)",
)
def log_weight(corrected: bool = False) -> list[Part]:
    """The printed loss is that of nu = 1 in another variable: it learns nu r*, not r*."""
    entries = [row_6("log", reading, corrected=corrected) for reading in READINGS[1:]]
    moved = []
    for reading, power in zip(READINGS[::2], (2, 1), strict=True):
        entry = row_6("log", reading)
        at_one = [x.subs(NU, 1) for x in entry.derived]
        where = {r: r / NU**power for r in entry.variables}
        moved.append(replace(entry, derived=tuple(x.subs(where) for x in at_one)))
    return [
        agree("the printed row, in either reading of the vector", entries, HARMLESS),
        agree(
            "it is the loss of nu = 1 at r/nu (as defined: at r/nu^2), K = 2",
            moved,
            HARMLESS,
            "support",
        ),
    ]


@claim(
    "table-6-vector",
    item="Table 6, caption: the vector",
    statement=r"The power row holds with $\boldsymbol\rho = [\nu, r/\nu]$",
    page=PAGE,
    recorded="refuted",
    twin={"reading": READINGS[1]},
    twin_says="with [1, r/nu]",
)
def vector_convention(reading: str = READINGS[0]) -> list[Part]:
    """Two conventions are mixed; for nu other than 1 the optimum is no multiple of the ratio."""
    entry = row_6("power", READINGS[0], 1, sp.Integer(2))
    r = entry.variables[0]
    lands = NU**2 * (2 * STAR + NU - 1) / (NU + 1)
    slope = sp.diff(letter_loss(entry, STAR), r).subs(r, lands)
    return [
        agree("the power row, K = 2", [row_6("power", reading)], HARMLESS),
        identity(
            "K = 1, alpha = 2: ends at nu^2 (2 r* + nu - 1)/(nu + 1)",
            slope,
            lands.subs(NU, 1) - STAR,
            role="support",
        ),
    ]


@claim(
    "table-6-inverse-log",
    item="Table 6, symmetric inverse log row",
    statement=r"The first term is $\log\prod\boldsymbol\rho$ divided by "
    r"$\Vert\boldsymbol\rho\Vert_1$",
    page=PAGE,
    recorded="refuted",
    twin={"corrected": True},
    twin_says="the log of each entry divided by the norm",
)
def inverse_log_row(corrected: bool = False) -> list[Part]:
    """The norm belongs inside the logarithm; as printed the truth is never optimal."""
    entry = at(row_6(INVERSE, READINGS[1], corrected=corrected), nu=1)
    single = at(row_6(INVERSE, READINGS[1], 1), nu=1)
    r = single.variables[0]
    slope = sp.diff(letter_loss(single, STAR), r).subs(r, STAR)
    grid = np.geomspace(1e-4, 1e4, 400)
    return [
        agree("the row at nu = 1, K = 2", [entry], HARMLESS),
        identity(
            "K = 1: the slope at r = r* is (1 - ln r*/(1 + r*))/2",
            slope - (1 - sp.log(STAR) / (1 + STAR)) / 2,
            role="support",
        ),
        extreme(
            "which is positive for every r*",
            "strict",
            [(float(v), "") for v in (1 - np.log(grid) / (1 + grid)) / 2],
            0.3,
            role="support",
        ),
    ]


@claim(
    "table-6-spherical",
    item="Table 6, pseudo-spherical rows",
    statement=r"The loss is $+(\rho/\Vert\boldsymbol\rho\Vert_\alpha)^{\alpha-1}$, $\alpha = 2$ "
    r"included",
    page=PAGE,
    recorded="refuted",
    twin={"corrected": True},
    twin_says="with -1/(alpha - 1) in front",
)
def spherical_row(corrected: bool = False) -> list[Part]:
    """Without the sign the ratio is the maximum for alpha > 1, and the minimum for alpha < 1."""
    entry = row_6(SPHERICAL, READINGS[1], corrected=corrected)
    single = at(row_6(SPHERICAL, READINGS[1], 1, sp.Integer(2)), nu=1)
    r = single.variables[0]
    loss = letter_loss(single, STAR)
    factor = compare(row_6(SPHERICAL, READINGS[1])).factor
    at_truth = sum(HALF * loss.subs({r: s, STAR: s}) for s in (HALF, 3 * HALF))
    silent = sum(HALF * loss.subs({r: 1, STAR: s}) for s in (HALF, 3 * HALF))
    return [
        agree("the row, K = 2", [entry], HARMLESS),
        identity(
            "it is -(alpha - 1) 3^(1/alpha) times the right loss (K = 2)",
            factor + (ALPHA - 1) * 3 ** (1 / ALPHA),
            role="support",
        ),
        identity(
            "alpha = 2: slope 0 at r*, bend -(1 + r*^2)^(-3/2)/2",
            sp.diff(loss, r).subs(r, STAR),
            sp.diff(loss, r, 2).subs(r, STAR) + (1 + STAR**2) ** sp.Rational(-3, 2) / 2,
            role="support",
        ),
        Part(
            "q1 = (1/4, 3/4), q0 = (1/2, 1/2): r* costs more than r = 1",
            "strict",
            float(at_truth - silent),
            1e-3,
            1,
            role="support",
        ),
    ]


# Table 7: objectives without an anchor


@claim(
    "table-7",
    item="Table 7",
    label="tab:objs_sym_noanchor",
    statement=r"Each objective without anchor is $\Loss^{\Psi_\Phi}_{K;0}$ of its rule",
    page=PAGE,
    recorded="holds with correction",
    twin={"place": 1},
    twin_says="corrected losses of the wrong place",
)
def anchorless_objectives(place: int = 0) -> list[Part]:
    """Log and power are right; the other two need the repairs of Table 6."""
    fixed = _table_7(corrected=True)
    if place:
        fixed = [
            replace(e, printed=tuple(x.subs(_swap(e), simultaneous=True) for x in e.printed))
            for e in fixed
        ]
    return [
        agree("as printed, K = 2", _table_7(), HARMLESS),
        agree("log and power are right as printed", _table_7()[:2], EXACT, "support"),
        agree("repaired, K = 2", fixed, HARMLESS, "correction"),
    ]


def _swap(entry: Entry) -> dict[sp.Symbol, sp.Symbol]:
    one, two = entry.variables
    return {one: two, two: one}


@claim(
    "table-7-inverse-log",
    item="Table 7, symmetric inverse log row",
    statement=r"The first term is $\log\prod\mathbf r$ divided by $\Vert\mathbf r\Vert_1$",
    page=PAGE,
    recorded="refuted",
    twin={"corrected": True},
    twin_says="the log of each entry divided by the norm",
)
def anchorless_inverse_log(corrected: bool = False) -> list[Part]:
    """Not a function of class probabilities, and unbounded below along the ray."""
    printed, fixed = (row_7(INVERSE, corrected=c) for c in (False, True))
    one, two = printed.variables
    drift = sum(r * sp.diff(fixed.printed[0], r) for r in fixed.variables)
    values = [
        float(printed.printed[0].subs({one: sp.Rational(1, 10**n), two: sp.Rational(2, 10**n)}))
        for n in range(5)
    ]
    return [
        agree("the row, K = 2", [row_7(INVERSE, corrected=corrected)], HARMLESS),
        identity("corrected, it does not see the scale of r", drift, role="support"),
        extreme(
            "as printed, it falls without end as (1, 2) shrinks by tens",
            "strict",
            [(-step, "") for step in np.diff(values)],
            1.0,
            role="support",
        ),
    ]


@claim(
    "table-7-spherical",
    item="Table 7, pseudo-spherical rows",
    statement=r"The loss is $+(r/\Vert\mathbf r\Vert_\alpha)^{\alpha-1}$, $\alpha = 2$ included",
    page=PAGE,
    recorded="refuted",
    twin={"corrected": True},
    twin_says="with -1/(alpha - 1) in front",
)
def anchorless_spherical(corrected: bool = False) -> list[Part]:
    """The same missing sign: the true ratio is the worst multiple, not the best."""
    entry = row_7(SPHERICAL, alpha=sp.Integer(2))
    q1, q0, star = (HALF / 2, 3 * HALF / 2), (HALF, HALF), (HALF, 3 * HALF)

    def mean(r: Sequence[sp.Expr]) -> sp.Expr:
        return sum(
            q1[i]
            * q0[j]
            * entry.printed[0].subs(dict(zip(entry.variables, (r[i], r[j]), strict=True)))
            for i in range(2)
            for j in range(2)
        )

    truth, silent = mean(star), mean((sp.Integer(1), sp.Integer(1)))
    exact = sp.sqrt(2) / 4 + sp.sqrt(10) / 8
    return [
        agree("the row, K = 2", [row_7(SPHERICAL, corrected=corrected)], HARMLESS),
        identity(
            "sqrt(2)/4 + sqrt(10)/8 at r*, sqrt(2)/2 at r = 1",
            truth - exact,
            silent - sp.sqrt(2) / 2,
            role="support",
        ),
        Part("and the first is larger", "strict", float(truth - silent), 1e-3, 1, role="support"),
    ]


# For the page


def readings_table() -> pd.DataFrame:
    """What each row of Table 6 is, in each reading of its vector, and the same row of Table 7."""
    columns = {reading: [compare(e).kind for e in _table_6(reading)] for reading in READINGS}
    columns["Table 7"] = [compare(entry).kind for entry in _table_7()]
    return pd.DataFrame(columns, index=list(ROWS))


def letter_curve(row: str, corrected: bool, star: float, nu: float, r: np.ndarray) -> np.ndarray:
    """Loss of a critic at one letter whose true ratio is ``star``, above its value at the truth.

    Table 6 with K = 1, alpha = 2 and the vector [1, r/nu].
    """
    entry = row_6(row, READINGS[1], 1, sp.Integer(2), corrected)
    loss = letter_loss(entry, sp.Float(star)).subs(NU, sp.Float(nu))
    f = sp.lambdify(entry.variables[0], loss)
    return f(r) - f(star)


def landing(row: str, corrected: bool, star: float, nu: float) -> float:
    """The critic that minimises `letter_curve`; inf or 0 where the loss has no minimum inside."""
    best = minimize_scalar(
        lambda t: float(letter_curve(row, corrected, star, nu, np.exp(t))), bounds=(-12, 12)
    ).x
    return float(np.exp(best)) if abs(best) < 11.9 else (np.inf if best > 0 else 0.0)
