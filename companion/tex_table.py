"""A Markdown table of words and formulas, for a page."""

from collections.abc import Sequence

import sympy as sp
from IPython.display import Markdown


def tex_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> Markdown:
    """Words as they are, expressions of sympy as mathematics; several in a cell stand in lines.

    >>> print(tex_table(["rule", "loss"], [["log", [sp.Symbol("x") ** 2]]]).data)
    | rule | loss |
    |---|---|
    | log | $x^{2}$ |
    """
    lines = ["| " + " | ".join(map(_cell, row)) + " |" for row in (head, *rows)]
    lines.insert(1, "|" + "---|" * len(head))
    return Markdown("\n".join(lines))


def _cell(value: object) -> str:
    if isinstance(value, str):
        return value
    return "<br>".join(f"${sp.latex(x)}$" for x in value)
