"""How claims look: HTML with mathematics for pages and notebooks, plain text for terminals."""

import html
import re
from collections.abc import Mapping, Sequence

import sympy as sp
from sympy.printing.latex import LatexPrinter

from mi_lib.normal_form import Arbitrary

COLOURS = {
    "holds": "good",
    "reproduced": "good",
    "holds with a correction": "mend",
    "wrong step": "mend",
    "partly": "mend",
    "undecided": "mend",
    "false as printed": "bad",
    "not reproduced": "bad",
    "not testable here": "none",
    "not run": "none",
}
EVIDENCE = {
    "for all": "proved for all",
    "on a box": "proved on the box",
    "searched": "searched",
    "stored runs": "stored runs",
}
PREFIX = {"printed": "as printed: ", "correction": "corrected: ", "instead": "instead: "}
WIDEST = 90  # characters of a typeset side: more would not fit the page


def show(page: str, text: str, more: Mapping[str, object]) -> None:
    """Display HTML with its plain twin, and what else is given by MIME type; print outside a
    notebook."""
    from IPython import get_ipython
    from IPython.display import display

    if get_ipython() is None:
        print(text)
    else:
        display({"text/html": page, "text/plain": Plain(text), **more}, raw=True)


class Plain(str):
    """Text that a terminal shows as it is."""

    def __repr__(self) -> str:
        return str(self)


def equation(pairs: Sequence[tuple[sp.Expr, sp.Expr]], sides: str, sign: str = "=") -> str:
    """LaTeX of the first pair that does not read the same on both sides, or of the side named;
    nothing where it would be too wide, or where every pair reads ``a = a``."""
    told = [(latex(a), latex(b)) for a, b in pairs]
    left, right = next(((a, b) for a, b in told if a != b), ("", ""))
    if sides != "both":
        left, right = told[0]
    chosen = {"both": left and f"{left} {sign} {right}", "none": "", "left": left, "right": right}
    return chosen[sides] if width(chosen[sides]) <= WIDEST else ""


def latex(expression: sp.Expr) -> str:
    r"""LaTeX, with the derivatives of arbitrary functions as people write them.

    >>> from mi_lib.normal_form import arbitrary
    >>> x, y = sp.symbols("x y")
    >>> latex(sp.diff(arbitrary("h")(x), x)), latex(sp.diff(arbitrary("h")(x, y), x, y))
    ("h'\\left(x\\right)", '\\partial_{12} h\\left(x, y\\right)')
    """
    return _Printer().doprint(expression)


class _Printer(LatexPrinter):
    def _print_Function(self, expr: sp.Function, exp: str | None = None) -> str:  # noqa: N802
        if not isinstance(expr, Arbitrary):
            return super()._print_Function(expr, exp)
        name, order = latex(sp.Symbol(expr.of)), expr.order
        if len(expr.args) == 1:
            name += "'" * len(order)
        elif order:
            name = f"\\partial_{{{''.join(map(str, order))}}} {name}"
        value = f"{name}\\left({', '.join(map(self._print, expr.args))}\\right)"
        return f"{{{value}}}^{{{exp}}}" if exp else value


def width(tex: str) -> int:
    r"""Roughly how many characters LaTeX takes on the page; of a fraction its longer half.

    >>> width(r"\frac{a}{b} + \eta_0")
    4
    """
    while match := re.search(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", tex):
        tex = tex[: match.start()] + max(match.groups(), key=len) + tex[match.end() :]
    tex = re.sub(r"[{}^_]|\\(?:left|right|,|;)", "", tex)
    return len(re.sub(r"\\[a-zA-Z]+", "x", tex).replace(" ", ""))


def part_text(part: Mapping) -> str:
    """Lines for a terminal."""
    lines = [
        f"✓ {PREFIX.get(part['role'], '')}{plain(part['name'])}",
        f"  {how(part)}: {part['found']}",
    ]
    if part["fails"]:
        lines.append(f"  wrong version, {plain(part['wrong'])}: {part['fails']}")
    if part["not_falsified"]:
        lines.append(f"  not falsified: {part['not_falsified']}")
    return "\n".join(lines)


def part_html(part: Mapping) -> str:
    """One part as a block of a page."""
    formula = (
        f'<div class="claim-formula">\\[{html.escape(part["formula"])}\\]</div>'
        if part["formula"]
        else ""
    )
    lines = [
        f'<div class="claim-part tex2jax_process"><div><span class="claim-tick">✓</span> '
        f"<b>{PREFIX.get(part['role'], '')}{mathematics(part['name'])}</b></div>{formula}",
        f'<div><span class="claim-kind">{how(part)}</span> {html.escape(part["found"])}</div>',
    ]
    if part["fails"]:
        lines.append(
            f'<div class="claim-wrong"><span class="claim-cross">✗</span> wrong version, '
            f"{mathematics(part['wrong'])}: {html.escape(part['fails'])}</div>"
        )
    if part["not_falsified"]:
        lines.append(
            f'<div class="claim-wrong">not falsified: {mathematics(part["not_falsified"])}</div>'
        )
    return "\n".join([*lines, "</div>"])


def card_text(record: Mapping) -> str:
    """A claim for a terminal."""
    lines = [f"{record['item']}: {record['verdict']} ({known(record)})"]
    lines += [f"  {plain(record[name])}" for name in ("sentence", "key") if record[name]]
    if record["kind"] == "experiment":
        lines += [
            f"  {'✓' if p['holds'] else '✗'} {plain(p['name'])}: {p['found']}"
            for p in record["parts"]
        ]
    return "\n".join([*lines, f"  {count(record)}"])


def card_html(record: Mapping) -> str:
    """A claim as a card: badge, statement, sentence, key number, parts folded."""
    lines = [
        f'<div class="claim-card claim-{COLOURS[record["verdict"]]} tex2jax_process">',
        f'<p><span class="claim-badge">{record["verdict"]}</span> '
        f"<b>{html.escape(record['item'])}</b> "
        f'<span class="claim-kind">{known(record)}</span></p>',
        f"<p>{mathematics(record['statement'])}</p>",
    ]
    for name, style in (("sentence", "claim-says"), ("key", "claim-key")):
        if record[name]:
            lines.append(f'<p class="{style}">{mathematics(record[name])}</p>')
    parts = "".join(map(_line, record["parts"]))
    folded = f"<summary>{count(record)}</summary><ul>{parts}</ul>"
    # Parts of a statement are seen in their cells; those of an experiment only here.
    state = " open" if record["kind"] == "experiment" else ""
    return "\n".join([*lines, f"<details{state}>{folded}</details>", "</div>"])


def known(record: Mapping) -> str:
    """How the verdict is known, and at which setting."""
    words = [EVIDENCE[record["evidence"]], record.get("setting", "")]
    return ", ".join(filter(None, words))


def how(part: Mapping) -> str:
    """How a part is known; what is printed and fails is refuted."""
    return "refuted" if part["role"] == "printed" else EVIDENCE[part["evidence"]]


def _line(part: Mapping) -> str:
    """A part in the folded list."""
    mark = "" if part.get("holds", True) else '<span class="claim-cross">✗</span> '
    words = f"{mark}{PREFIX.get(part['role'], '')}{mathematics(part['name'])}"
    found = f'<span class="claim-kind">{how(part)}</span> {html.escape(part["found"])}'
    if part["fails"]:
        found += f" · fails for: {mathematics(part['wrong'])}"
    return f"<li>{words} {found}</li>"


def count(record: Mapping) -> str:
    """How many checks there are, and how many were seen to fail for a wrong version."""
    parts = record["parts"]
    number = "1 check" if len(parts) == 1 else f"{len(parts)} checks"
    wrong = sum(bool(p["fails"]) for p in parts)
    return f"{number}, {wrong} of them with a wrong version that fails" if wrong else number


def mathematics(text: str) -> str:
    r"""Text for HTML, with mathematics between dollars as ``\( \)``.

    >>> mathematics("$a < b$ & more")
    '\\(a &lt; b\\) &amp; more'
    """
    return re.sub(r"\$([^$]+)\$", lambda m: f"\\({m[1]}\\)", html.escape(text, quote=False))


def plain(text: str) -> str:
    """Text without its dollars."""
    return text.replace("$", "")
