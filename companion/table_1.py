r"""The paper's Table 1 as printed, beside the rows of `mi_lib.estimators.TABLE_1`."""

from dataclasses import dataclass

from mi_lib.estimators import TABLE_1

LEGEND = {
    "dv": "DV",
    "nwj": "NWJ",
    "infonce": "InfoNCE",
    "mine": "MINE",
    "js": "JS",
    "chi-square": r"$\chi^2$",
    "hellinger": "Hellinger",
    "anchor": "anchor, log score",
    "spherical": "anchor, spherical score",
    "clipped-dv": "clipped DV",
    "plug-in": r"plug-in $\E_{\hat p}[c]$",
}


@dataclass(frozen=True)
class Printed:
    """A row as the paper prints it, the rows of ours that it stands for, and what differs."""

    row: str
    loss: str
    reading: str
    ours: tuple[str, ...]
    difference: str


PRINTED = (
    Printed(
        "DV",
        r"$-\E_{p(x,y)}[c] + \log\E_{p(x)p(y)}[e^c]$",
        r"$-\Loss_{\mathrm{DV}}$",
        ("DV",),
        "none (natural logarithms)",
    ),
    Printed(
        "NWJ",
        r"$-\E_{p(x,y)}[c] + \E_{p(x)p(y)}[e^{c-1}]$",
        r"$-\Loss_{\mathrm{NWJ}}$",
        ("NWJ",),
        r"optimal at $c = 1 + \log r$, not at the caption's $\log r$; ours has $e^c - 1$",
    ),
    Printed(
        "InfoNCE",
        r"$-\E\,\frac1K\sum_i\log\frac{c(x_i,y_i)}{\frac1K\sum_j c(x_i,y_j)}$",
        r"$-\Loss_{\mathrm{InfoNCE}}$",
        ("InfoNCE",),
        r"$e^c$ is meant; the negatives are $y_j$, in Section 2.2 they are $x_j$",
    ),
    Printed(
        "MINE",
        r"$-\E_{p(x,y)}[c] + \frac{\E_{p(x)p(y)}[e^c]}{\mathrm{EMA}(\E_{p(x)p(y)}[e^c])}$",
        r"$-\Loss_{\mathrm{DV}}$",
        ("MINE",),
        r"none; $c$ is $\log r$ up to a constant",
    ),
    Printed(
        "JS",
        r"$\E_{p(x,y)}[\mathrm{sp}(-c)] + \E_{p(x)p(y)}[\mathrm{sp}(c)]$",
        r"$-\Loss_{\mathrm{NWJ}}$",
        ("JS",),
        r"the printed reading is $I - 1/e$ nats at the optimum",
    ),
    Printed(
        "SMILE",
        r"$\Loss_{\mathrm{JS}}$",
        r"$-\Loss_{\mathrm{clippedDV}}$",
        ("SMILE",),
        r"the clipping level $\tau$ is not given; the reading is not a lower bound",
    ),
    Printed(
        "PCC / D-RFC",
        r"$\Loss_{\mathrm{JS}}$ / $-2\E_{p(x,y)}[e^c] + \E_{p(x)p(y)}[e^{2c}]$",
        r"$\E_{\hat p}[c]$",
        ("PCC", "D-RFC"),
        "a stray parenthesis; called DRF in the paper's later tables",
    ),
    Printed(
        "f-DIME",
        r"$\Loss_{f\text{-NWJ}}$",
        r"$\E_{\hat p}[c]$",
        ("KL-DIME", "PCC", "HD-DIME"),
        "the loss is named, not defined; GAN-DIME is PCC",
    ),
    Printed(
        "InfoNCE-anchor",
        r"$\Loss^\Psi_{K;\nu}$, Eq. (4) and (9)",
        r"$\E_{\hat p}[c]$",
        ("InfoNCE-anchor", "Spherical"),
        "Eq. (4) is the log score alone",
    ),
)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def from_code() -> str:
    """Table 1 as mi_lib has it, in Markdown."""
    rows = [
        (str(e.type), e.name, LEGEND[e.training], LEGEND[e.evaluation], e.note) for e in TABLE_1
    ]
    return _table(("Type", "Estimator", "Trains on", "Reports", "Note"), rows)


def beside_the_paper() -> str:
    """The paper's rows with what differs, in Markdown.

    >>> {name for row in PRINTED for name in row.ours} == {e.name for e in TABLE_1}
    True
    """
    rows = [(p.row, p.loss, p.reading, ", ".join(p.ours), p.difference) for p in PRINTED]
    head = ("Row", "Loss as printed", "Reading as printed", "In `mi_lib`", "What differs")
    return _table(head, rows)
