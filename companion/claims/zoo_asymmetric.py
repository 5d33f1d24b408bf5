"""Table 5, the objectives of the asymmetric rules; and the base of the logarithm in all tables."""

from dataclasses import replace

import sympy as sp

from mi_lib.normal_form import reduce

from .registry import Part, claim, identity
from .zoo import EXACT, HARMLESS, INVERSE, PAGE, STAR, agree, at, exchanged, row_of
from .zoo_tables import ALPHA, READINGS, Entry, R, letter_loss, row_6, table_5


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
    entries = exchanged(table_5(), exchange)
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
    entry = row_of(table_5(), "power")
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
    own, other = row_of(table_5(), "power").printed
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
    rows = {row: row_of(table_5(), row) for row in ("log (KLIEP)", "inverse log")}
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
