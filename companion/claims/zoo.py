"""Tables 3 and 4: each rule against the one its generating function gives, and its weight."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import sympy as sp

from mi_lib.normal_form import reduce

from .. import symbolic
from ..symbolic import class_symbols
from .registry import Part, claim, extreme, identity
from .zoo_tables import (
    ALPHA,
    ALPHAS,
    NU,
    PSEUDO_SPHERICAL,
    ROWS,
    SYM_INVERSE_LOG,
    Entry,
    compare,
    entries_of,
    table_3,
    table_4,
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


def row_of(entries: Sequence[Entry], row: str) -> Entry:
    """The entry of that name."""
    return next(entry for entry in entries if entry.row == row)


def exchanged(entries: Sequence[Entry], exchange: bool) -> tuple[Entry, ...]:
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
    entries = exchanged(table_3(), exchange)
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
def robustrow_of(shift: Callable = lambda a: 1 / (a - 1)) -> list[Part]:
    """From neither, but from the first minus a constant."""
    first, second = (row_of(table_3(), f"robust DRE, {n} Psi") for n in ("first", "second"))
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
    entries = exchanged(table_4(), exchange)
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
