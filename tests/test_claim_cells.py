"""A check stands in its cell, where a reader sees it, and the cell notices when it is changed."""

import ast
import csv
import functools
import re
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import pytest

from companion.ledger import MIME, ClaimError
from companion.scoreboard import made, records

ROOT = Path(__file__).resolve().parents[1]
THEORY = sorted((ROOT / "book" / "theory").glob("*.ipynb"))
ITEMS = list(csv.DictReader((ROOT / "tests" / "paper_items.csv").open(encoding="utf-8")))
FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
PROOF = re.compile(r"\.(identity|enclosure)\(|\bby_definition\.")  # sympy, balls, exact sums
MOST_UNFALSIFIED = 0.05


def cells_of(path):
    return [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]


def verdict_of(cell):
    """The ids whose records the cell stores."""
    outputs = [output.get("data", {}).get(MIME) for output in cell.get("outputs", [])]
    return {record["id"] for record in outputs if record}


def span(id, cells):
    """The cells from the one that opens the claim to the one with its verdict."""
    first = next(i for i, cell in enumerate(cells) if id in made([cell]))
    last = next(i for i, cell in enumerate(cells) if id in verdict_of(cell))
    return cells[first : last + 1]


def visible_proofs(id, cells):
    """The claim's cells that a reader sees and that reduce, enclose or sum exactly."""
    return [
        cell
        for cell in span(id, cells)
        if PROOF.search(cell.source) and not FOLDED & set(cell.metadata.get("tags", []))
    ]


def called_by_id(cell, ids):
    """Whether the cell is one call with an id and nothing else."""
    body = ast.parse(cell.source).body
    call = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None
    return isinstance(call, ast.Call) and any(
        isinstance(argument, ast.Constant) and argument.value in ids for argument in call.args
    )


def unfalsified(parts):
    """The parts that no wrong version was seen to fail; a printed one fails itself."""
    return [part for part in parts if not part["fails"] and part["role"] != "printed"]


@pytest.mark.parametrize("path", THEORY, ids=lambda p: p.stem)
def test_every_numbered_item_is_proved_in_a_cell_that_is_seen(path):
    cells, rows = cells_of(path), list(records(path, ROOT))
    for item in ITEMS:
        name = f"Paper, {item['kind'].capitalize()} {item['number']}"
        of_item = [
            row.record["id"]
            for row in rows
            if re.match(rf"{re.escape(name)}(?!\d)", row.record["item"])
        ]
        proofs = [cell for id in of_item for cell in visible_proofs(id, cells)]
        assert proofs or not of_item, (
            f"{path.name}: {name} ({', '.join(of_item)}) has no open cell with an identity, an "
            f"enclosure or an exact sum: unfold one"
        )


def test_a_folded_proof_does_not_count():
    def cell(source, *tags, stored=()):
        new = nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)})
        new.outputs = [
            nbformat.v4.new_output("display_data", data={MIME: {"id": id}}) for id in stored
        ]
        return new

    opening = cell('c = Claim("an-id", "Theorem 0", "")')
    identity = "c.identity(name, left, right)"
    closing = cell("c.verdict(word, sentence)", stored=["an-id"])
    for folded in ("hide-input", "remove-cell"):
        assert visible_proofs("an-id", [opening, cell(identity, folded), closing]) == []
    assert len(visible_proofs("an-id", [opening, cell(identity), closing, cell(identity)])) == 1


@pytest.mark.parametrize("path", THEORY, ids=lambda p: p.stem)
def test_no_cell_is_a_mere_call_with_an_id(path):
    ids = {row.record["id"] for row in records(path, ROOT)}
    assert [cell.id for cell in cells_of(path) if called_by_id(cell, ids)] == []


def test_a_mere_call_with_an_id_is_found():
    code = nbformat.v4.new_code_cell
    assert called_by_id(code('claims.show("an-id")'), {"an-id"})
    assert not called_by_id(code('c = Claim("an-id", "Theorem 0", "")'), {"an-id"})
    assert not called_by_id(code('c.verdict("holds", "All is well.")'), {"an-id"})


def test_almost_every_part_was_seen_to_fail_for_a_wrong_version():
    """What is left says why, in its `not_falsified`."""
    parts = [
        (row.record["id"], part)
        for path in THEORY
        for row in records(path, ROOT)
        for part in row.record["parts"]
    ]
    found = [f"{id}: {part['name']}" for id, part in parts if unfalsified([part])]
    assert len(found) <= MOST_UNFALSIFIED * len(parts), found
    assert all(part["not_falsified"] for _, part in parts if unfalsified([part]))


def test_a_part_without_a_failing_version_is_counted():
    part = {"fails": "", "role": "statement"}
    assert unfalsified([part, {**part, "role": "printed"}, {**part, "fails": "by 1"}]) == [part]


# Deliberate errors: chapter, claim, the text of its cells, and what it becomes.
FLIPPED = [
    (
        "scoring_rules",
        "lem-10",
        "    distortion + slope * (e - s),\n",
        "    distortion - slope * (e - s),\n",
    ),
    (
        "which_estimator",
        "tab1-dv",
        "share = p * log(p / q) - p * (c - log(Z))",
        "share = p * log(p / q) + p * (c - log(Z))",
    ),
    ("anchor", "anchor-posterior", "    nu / (nu + r + R),\n", "    nu / (nu + r - R),\n"),
]
MADE_RIGHT = [
    (
        "scoring_rules",
        "lem-10",
        '"minus the inner product", distortion - slope',
        '"minus the inner product", distortion + slope',
    ),
    (
        "which_estimator",
        "tab1-dv",
        'which is no density", p * log(p / (q * u))',
        'which is no density", p * log(p / (q * u / Z))',
    ),
    (
        "anchor",
        "anchor-posterior",
        '"the anchor counted as one class", 1 / (1 + r + R)',
        '"the anchor counted as one class", nu / (nu + r + R)',
    ),
]


def execute(sources, names):
    """Run the code of cells one after the other."""
    for source in sources:
        exec(compile(source, "<cell>", "exec"), names)


@functools.cache
def before(chapter, id):
    """The names that the chapter's cells define before the claim; claims that stand early are
    taken, for all cells above them run."""
    cells, names = cells_of(ROOT / f"book/theory/{chapter}.ipynb"), {"__name__": "notebook"}
    first = next(i for i, cell in enumerate(cells) if id in made([cell]))
    execute([cell.source for cell in cells[:first]], names)
    plt.close("all")
    return names


def sources_of(chapter, id):
    return [cell.source for cell in span(id, cells_of(ROOT / f"book/theory/{chapter}.ipynb"))]


def changed(sources, old, new):
    """The cells with the error in the one place where its text stands."""
    assert sum(source.count(old) for source in sources) == 1, f"not once in the claim: {old!r}"
    return [source.replace(old, new) for source in sources]


@pytest.mark.parametrize("error", FLIPPED, ids=lambda e: e[0])
def test_a_statement_with_a_flipped_sign_raises_in_its_cell(error):
    chapter, id, old, new = error
    names, sources = before(chapter, id), sources_of(chapter, id)
    execute(sources, dict(names))  # as it stands it passes
    with pytest.raises(ClaimError, match=rf"{id}: .*fails: left − right leaves"):
        execute(changed(sources, old, new), dict(names))


@pytest.mark.parametrize("error", MADE_RIGHT, ids=lambda e: e[0])
def test_a_wrong_version_that_is_right_raises_in_its_cell(error):
    chapter, id, old, new = error
    names, sources = before(chapter, id), sources_of(chapter, id)
    with pytest.raises(ClaimError, match=rf"{id}: .*was not seen to fail"):
        execute(changed(sources, old, new), dict(names))
