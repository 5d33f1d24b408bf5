"""The paper's five rule tables, as printed, beside what their generating functions give.

An entry is a tuple of losses. Two entries mean the same when one is a positive multiple of the
other plus a constant in each loss; `compare` finds the multiple and the constants by algebra.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import sympy as sp

from mi_lib.normal_form import reduce

from .. import symbolic
from ..symbolic import Expressions, class_symbols

ALPHA = sp.Symbol("alpha", real=True)
NU, R, K = sp.symbols("nu r K", positive=True)
ALPHAS = tuple(sp.Rational(n, 2) for n in (-4, -1, 1, 3, 4, 6))  # where signs are looked up
READINGS = ("as defined", "[1, r/nu]", "[nu, r]")


@dataclass(frozen=True)
class Entry:
    """One row of a table: what is printed, what follows, and the variables both depend on."""

    row: str
    printed: tuple[sp.Expr, ...]
    derived: tuple[sp.Expr, ...]
    variables: tuple[sp.Symbol, ...]


@dataclass(frozen=True)
class Difference:
    """printed = factor * derived + constants; the kind says whether that is harmless."""

    kind: str
    factor: sp.Expr | None = None
    constants: tuple[sp.Expr, ...] = ()

    def text(self) -> str:
        """The finding in one line of plain text."""
        if self.kind in ("equal", "wrong"):
            return self.kind
        parts = [] if self.factor == 1 else [f"factor {sp.factor(self.factor)}"]
        if any(self.constants):
            parts.append(f"constants {', '.join(str(sp.factor(c)) for c in self.constants)}")
        return f"{self.kind}: {'; '.join(parts)}"


@cache
def compare(entry: Entry) -> Difference:
    """Classify an entry: equal, constant, factor, direction (negative for some alpha) or wrong."""
    pairs = list(zip(entry.printed, entry.derived, strict=True))
    p, d = next((p, d) for p, d in pairs if sp.diff(d, entry.variables[0]) != 0)
    factor = reduce(sp.diff(p, entry.variables[0]) / sp.diff(d, entry.variables[0]))
    if factor.free_symbols & set(entry.variables):
        return Difference("wrong")
    constants = tuple(reduce(p - factor * d) for p, d in pairs)
    if any(c.free_symbols & set(entry.variables) for c in constants):
        return Difference("wrong")
    if factor == 1:
        return Difference("constant" if any(constants) else "equal", factor, constants)
    at = {NU: sp.Rational(3, 2), K: 2}
    signs = [factor.subs({ALPHA: a, **at}).is_positive for a in ALPHAS]
    return Difference("factor" if all(signs) else "direction", factor, constants)


def _point(rho: Expressions) -> list[sp.Expr]:
    """Class probabilities proportional to (1, rho)."""
    return [1 / (1 + sum(rho)), *(r / (1 + sum(rho)) for r in rho)]


def _at(losses: Expressions, eta: Sequence[sp.Symbol], values: Expressions) -> tuple[sp.Expr, ...]:
    where = dict(zip(eta, values, strict=True))
    return tuple(sp.sympify(loss).subs(where, simultaneous=True) for loss in losses)


def _rule_entry(row: str, printed: Callable, derived: Callable, classes: int) -> Entry:
    """An entry of Table 3 or 4; ``printed`` and ``derived`` make losses of symbols eta."""
    eta, rho = class_symbols(classes), class_symbols(classes, "rho")[1:]
    values = _point(rho)
    return Entry(row, _at(printed(eta), eta, values), _at(derived(eta), eta, values), rho)


def _from_psi(psi: symbolic.Generating) -> Callable:
    return lambda eta: symbolic.rule_from_psi(psi, eta)


def _from_phi(phi: symbolic.Generating) -> Callable:
    return lambda eta: symbolic.rule_from_phi(phi, eta)


def robust_psi_minus_linear(rho: Expressions) -> sp.Expr:
    """The second of the two functions that Table 3 gives for robust DRE."""
    return sum(r**ALPHA - r for r in rho) / (ALPHA * (ALPHA - 1))


def power_phi_minus_one(eta: Expressions) -> sp.Expr:
    """The power function with the constant that makes alpha -> 1 the log score."""
    return (sum(e**ALPHA for e in eta) - 1) / (ALPHA * (ALPHA - 1))


@dataclass(frozen=True)
class PrintedRule:
    """A rule as Tables 3 and 4 print it: ``losses(eta)`` for all classes, and its function."""

    row: str
    losses: Callable[[Sequence[sp.Symbol]], Expressions]
    derived: Callable[[Sequence[sp.Symbol]], tuple[sp.Expr, ...]]


def _printed_kliep(eta: Sequence[sp.Symbol]) -> Expressions:
    return 1 / eta[0], -sp.log(eta[1] / eta[0])


def _printed_robust(eta: Sequence[sp.Symbol]) -> Expressions:
    a = ALPHA
    first = (eta[0] ** a + eta[1] ** a) / eta[0] ** a / a + 1 / (a * (a - 1))
    return first, (eta[1] / eta[0]) ** (a - 1) / (1 - a)


def _printed_inverse_log(eta: Sequence[sp.Symbol]) -> Expressions:
    return sp.log(eta[1] / eta[0]) - 1, eta[0] / eta[1]


def _printed_power(eta: Sequence[sp.Symbol]) -> Expressions:
    total = sum(e**ALPHA for e in eta) / ALPHA
    return [total - e ** (ALPHA - 1) / (ALPHA - 1) for e in eta]


def _share(e: sp.Expr, values: Expressions, a: sp.Expr) -> sp.Expr:
    """(e / ||values||_a)^(a - 1), the powers multiplied out."""
    return e ** (a - 1) * sum(v**a for v in values) ** (1 / a - 1)


def _printed_pseudo_spherical(eta: Sequence[sp.Symbol]) -> Expressions:
    scale = sp.Integer(len(eta)) ** (-1 / ALPHA) / (ALPHA - 1)
    return [-scale * _share(e, eta, ALPHA) for e in eta]


ASYMMETRIC_RULES = (
    PrintedRule("KLIEP", _printed_kliep, _from_psi(symbolic.kliep_psi)),
    PrintedRule("robust DRE, first Psi", _printed_robust, _from_psi(symbolic.robust_psi(ALPHA))),
    PrintedRule("robust DRE, second Psi", _printed_robust, _from_psi(robust_psi_minus_linear)),
    PrintedRule("inverse log", _printed_inverse_log, _from_psi(symbolic.inverse_log_psi)),
)
LOG = PrintedRule("log", lambda eta: [-sp.log(e) for e in eta], _from_phi(symbolic.log_phi))
POWER = PrintedRule("power", _printed_power, _from_phi(symbolic.power_phi(ALPHA)))
POWER_MINUS_ONE = PrintedRule("power, Phi - 1", _printed_power, _from_phi(power_phi_minus_one))
SYM_INVERSE_LOG = PrintedRule(
    "symmetric inverse log",
    lambda eta: [sum(sp.log(e) for e in eta) + 1 / x for x in eta],
    _from_phi(symbolic.symmetric_inverse_log_phi),
)
PSEUDO_SPHERICAL = PrintedRule(
    "pseudo-spherical",
    _printed_pseudo_spherical,
    _from_phi(symbolic.pseudo_spherical_phi(ALPHA)),
)
SYMMETRIC_RULES = (LOG, POWER, POWER_MINUS_ONE, SYM_INVERSE_LOG, PSEUDO_SPHERICAL)


def entries_of(rules: Sequence[PrintedRule], classes: int) -> tuple[Entry, ...]:
    """Rules as entries, each written in the ratios rho = eta_z/eta_0."""
    return tuple(_rule_entry(rule.row, rule.losses, rule.derived, classes) for rule in rules)


@cache
def table_3() -> tuple[Entry, ...]:
    """Binary rules: (lambda_0, lambda_1)."""
    symmetric = (LOG, POWER_MINUS_ONE, SYM_INVERSE_LOG, PSEUDO_SPHERICAL)
    return entries_of((*ASYMMETRIC_RULES, *symmetric), 2)


@cache
def table_4(classes: int = 3) -> tuple[Entry, ...]:
    """Symmetric rules for M + 1 classes."""
    return entries_of(SYMMETRIC_RULES, classes)


@cache
def table_5() -> tuple[Entry, ...]:
    """Asymmetric objectives: the integrands under q1 and under q0, for any K and nu."""
    printed = {
        "log (KLIEP)": (symbolic.kliep_psi, -sp.log(R), R),
        "power": (
            symbolic.robust_psi(ALPHA),
            R ** (ALPHA - 1) / (1 - ALPHA),
            R**ALPHA / ALPHA,
        ),
        "power, alpha = 2": (symbolic.robust_psi(2), -R, R**2 / 2),
        "inverse log": (symbolic.inverse_log_psi, 1 / R, sp.log(R)),
    }
    entries = []
    for row, (psi, own, other) in printed.items():
        rho = sp.Symbol("rho", positive=True)
        slope = sp.diff(psi([rho]), rho)
        first, second = -slope, NU * (rho * slope - psi([rho]))  # each place of K: its own letter
        derived = tuple((K / (K + NU) * loss).subs(rho, R / NU) for loss in (first, second))
        entries.append(Entry(row, (own, other), derived, (R,)))
    return tuple(entries)


ROWS = ("log", "power", "symmetric inverse log", "pseudo-spherical")  # of Tables 6 and 7


def _printed_objectives(a: sp.Expr) -> dict[str, tuple[Callable, symbolic.Generating]]:
    """Row -> (loss of a class with entry e of the vector rho, Phi); alpha = a."""

    def power(rho: Expressions, e: sp.Expr) -> sp.Expr:
        total = sum(rho)
        return sum(x**a for x in rho) / total**a / a + (e / total) ** (a - 1) / (1 - a)

    def inverse_log(rho: Expressions, e: sp.Expr) -> sp.Expr:
        return sum(sp.log(x) for x in rho) / sum(rho) + sum(rho) / e

    return {
        "log": (lambda rho, e: -sp.log(e / sum(rho)), symbolic.log_phi),
        "power": (power, symbolic.power_phi(a)),
        "symmetric inverse log": (inverse_log, symbolic.symmetric_inverse_log_phi),
        "pseudo-spherical": (
            lambda rho, e: _share(e, rho, a),
            symbolic.pseudo_spherical_phi(a),
        ),
    }


def corrected_objectives(a: sp.Expr) -> dict[str, Callable]:
    """The same losses as they should read, up to constants and positive factors."""
    printed = _printed_objectives(a)

    def inverse_log(rho: Expressions, e: sp.Expr) -> sp.Expr:
        return sum(sp.log(x / sum(rho)) for x in rho) + sum(rho) / e

    return {
        "log": printed["log"][0],
        "power": printed["power"][0],
        "symmetric inverse log": inverse_log,
        "pseudo-spherical": lambda rho, e: -printed["pseudo-spherical"][0](rho, e) / (a - 1),
    }


def vector(reading: str, r: Expressions) -> tuple[sp.Expr, ...]:
    """The vector rho of Table 6's caption, in three readings."""
    return {
        "as defined": (NU, *(x / NU for x in r)),
        "[1, r/nu]": (sp.Integer(1), *(x / NU for x in r)),
        "[nu, r]": (NU, *r),
    }[reading]


@cache
def _derived(row: str, k: int, alpha: sp.Expr, anchored: bool) -> tuple[sp.Expr, ...]:
    """Losses of class 0 and the first other class (or of the first class) at the critic r."""
    r, phi = _critic(k), _printed_objectives(alpha)[row][1]
    scores = (NU, *r) if anchored else r
    eta = class_symbols(len(scores))
    losses = symbolic.rule_from_phi(phi, eta)[: 2 if anchored else 1]
    return _at(losses, eta, [x / sum(scores) for x in scores])


def _critic(k: int) -> tuple[sp.Symbol, ...]:
    """The critic at the K points of a tuple."""
    return sp.symbols(f"r_1:{k + 1}", positive=True)


@cache
def row_6(
    row: str, reading: str, k: int = 2, alpha: sp.Expr = ALPHA, corrected: bool = False
) -> Entry:
    """A row of Table 6: the integrands under q1 and under q0, with their weights.

    ``corrected`` puts the right weights, signs and logarithms in, and the anchor's own entry of
    the vector where the table prints 1.
    """
    rho, loss = vector(reading, _critic(k)), _printed_objectives(alpha)[row][0]
    top = NU if row == "log" else sp.Integer(1)  # the numerator printed for the anchor
    weight = 1 if row == "log" else NU
    if corrected:
        loss, top, weight = corrected_objectives(alpha)[row], rho[0], NU
    printed = (k * loss(rho, rho[1]) / (k + NU), weight * loss(rho, top) / (k + NU))
    first, second = _derived(row, k, alpha, anchored=True)
    return Entry(row, printed, (k * second / (k + NU), NU * first / (k + NU)), _critic(k))


@cache
def row_7(row: str, k: int = 2, alpha: sp.Expr = ALPHA, corrected: bool = False) -> Entry:
    """A row of Table 7, objectives without an anchor: one integrand, under q1."""
    r, loss = _critic(k), _printed_objectives(alpha)[row][0]
    if corrected:
        loss = corrected_objectives(alpha)[row]
    return Entry(row, (loss(r, r[0]),), _derived(row, k, alpha, anchored=False), r)


def letter_loss(entry: Entry, star: sp.Expr) -> sp.Expr:
    """Printed loss of one letter with true ratio ``star``, divided by q0, when K = 1."""
    return star * entry.printed[0] + entry.printed[1]


def as_markdown(number: int) -> str:
    """Table 3, 4 or 5: printed losses, what the generating function gives, and the difference.

    Classes that are treated alike are shown once.
    """
    entries = {3: table_3, 4: table_4, 5: table_5}[number]()
    rules = {rule.row: rule for rule in (*ASYMMETRIC_RULES, *SYMMETRIC_RULES)}
    names = (r"\E_{\qone}:\;", r"\E_{\qzero}:\;")
    if number != 5:
        names = (r"\lambda_0 =", r"\lambda_1 =" if number == 3 else "")
    loss = r" $\lambda_1$" if number == 4 else ""
    lines = [f"| row | printed{loss} | derived{loss} | kind |", "|---|---|---|---|"]
    for entry in entries:
        found = compare(entry)
        alike = number != 5 and rules[entry.row] in SYMMETRIC_RULES
        shown = entry.printed
        if number != 5:
            shown = rules[entry.row].losses(class_symbols(2 if number == 3 else 3))
        chosen = (1,) if alike else (0, 1)
        columns = []
        for losses in (shown, entry.derived if not alike else None):
            cells = [
                f"${names[z]} {_tex(losses[z] if losses else shown[z] - found.constants[z])}$"
                for z in chosen
            ]
            columns.append("<br>".join(cells))
        text = found.kind
        if found.factor != 1:
            text += f" ${_tex(found.factor)}$"
        if any(found.constants):
            text += ", constants " if found.factor != 1 else " "
            text += ", ".join(f"${_tex(found.constants[z])}$" for z in chosen)
        lines.append(f"| {entry.row} | {columns[0]} | {columns[1]} | {text} |")
    return "\n".join(lines)


def _tex(expression: sp.Expr) -> str:
    """Short TeX: powers gathered, no needless brackets."""
    if len(expression.free_symbols & {R, NU, K}) or expression.has(
        sp.Symbol("rho_1", positive=True)
    ):
        expression = sp.powsimp(sp.factor(reduce(expression)))
    elif not expression.free_symbols - {ALPHA}:
        expression = sp.factor(expression)
    return re.sub(r"\\log{\\left\((\S+) \\right\)}", r"\\log \1", sp.latex(expression))
