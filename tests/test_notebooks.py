"""What every committed notebook must be before it may become a page."""

import re
from pathlib import Path

import nbformat
import pytest

from companion.claims import registry

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    path
    for path in (ROOT / "book").rglob("*.ipynb")
    if ".ipynb_checkpoints" not in path.parts and "_build" not in path.parts
)
EXPERIMENTS = [path for path in PAGES if path.parent.name == "experiments"]
STORED = [path for path in PAGES if path not in EXPERIMENTS]
REFERENCES = sorted((ROOT / "tests" / "reference").glob("*.ipynb"))

MAX_LINES, MAX_COLUMNS = 25, 78
MACHINE_PATH = re.compile(r"(/home/\w|/Users/\w|/root/|/tmp/|/private/var/|[A-Z]:\\\\?Users\\)")


def name(path):
    return str(path.relative_to(ROOT))


def code_cells(path):
    """Pairs (where, cell); `where` is what a person needs to find the cell."""
    cells = nbformat.read(path, as_version=4).cells
    return [
        (f"{path.name}, cell {number} ({cell.source.splitlines()[:1] or 'empty'})", cell)
        for number, cell in enumerate(cells, 1)
        if cell.cell_type == "code"
    ]


def test_there_are_notebooks():
    """The other tests say nothing where their list is empty."""
    assert STORED, "no notebook was found under book/"


@pytest.mark.parametrize("path", STORED + REFERENCES, ids=name)
def test_every_cell_was_executed_in_order(path):
    counts = [cell.execution_count for _, cell in code_cells(path)]
    assert counts == list(range(1, len(counts) + 1)), (
        f"{path.name} was not executed top to bottom: its execution counts are {counts}. "
        f"Run `make refresh`."
    )


@pytest.mark.parametrize("path", STORED + REFERENCES, ids=name)
def test_no_cell_stores_an_error(path):
    for where, cell in code_cells(path):
        for output in cell.outputs:
            assert output.output_type != "error", (
                f"{where} stores an error: {output.ename}: {output.evalue}. "
                f"Correct the cell and run `make refresh`."
            )


def test_experiments_store_no_output():
    for where, cell in [found for path in EXPERIMENTS for found in code_cells(path)]:
        assert not cell.outputs, (
            f"{where} stores outputs; the stored run of an experiment is in tests/reference. "
            f"Run `make refresh`."
        )


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_the_first_code_cell_holds_the_parameters(path):
    where, cell = code_cells(path)[0]
    assert "parameters" in cell.metadata.get("tags", []), f"{where} lacks the tag 'parameters'"


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_cells_are_short_and_narrow(path):
    for where, cell in code_cells(path):
        lines = cell.source.splitlines()
        assert len(lines) <= MAX_LINES, f"{where} has {len(lines)} lines, at most {MAX_LINES}"
        for line in lines:
            assert len(line) <= MAX_COLUMNS, f"{where}: over {MAX_COLUMNS} columns: {line}"


@pytest.mark.parametrize("path", STORED + REFERENCES, ids=name)
def test_figures_have_caption_name_and_alternative_text(path):
    for where, cell in code_cells(path):
        kinds = {kind for output in cell.outputs for kind in output.get("data", {})}
        if any(kind.startswith("image/") for kind in kinds):
            options = cell.metadata.get("mystnb", {})
            figure, image = options.get("figure", {}), options.get("image", {})
            given = {
                "figure.caption": figure.get("caption"),
                "figure.name": figure.get("name"),
                "image.alt": image.get("alt"),
            }
            lacking = [key for key, value in given.items() if not value]
            assert not lacking, f"{where} shows an image; metadata.mystnb lacks {lacking}"


@pytest.mark.parametrize("path", PAGES + REFERENCES, ids=name)
def test_no_machine_path_is_stored(path):
    text = "\n".join(
        line for line in path.read_text(encoding="utf-8").splitlines() if '"image/png"' not in line
    )
    found = MACHINE_PATH.search(text)
    assert not found, f"{path.name} holds a path of one machine: {text[found.start() :][:80]!r}"


@pytest.mark.parametrize("claim", sorted(claim.id for claim in registry.all_claims()))
def test_each_claim_is_shown_by_one_cell_under_its_anchor(claim):
    call = re.compile(rf"claims\.show\(\s*[\"']{re.escape(claim)}[\"']")
    shown = []
    for path in PAGES:
        cells = nbformat.read(path, as_version=4).cells
        for number, cell in enumerate(cells):
            if cell.cell_type == "code" and call.search(cell.source):
                before = cells[number - 1] if number else None
                shown.append((f"{path.name}, cell {number + 1}", before))
    places = [where for where, _ in shown]
    assert len(shown) == 1, (
        f'claims.show("{claim}") must be in exactly one cell; found in {places or "none"}'
    )
    where, before = shown[0]
    anchor = f"(claim-{claim})="
    assert before is not None and before.cell_type == "markdown" and anchor in before.source, (
        f"{where} shows claim {claim}; the markdown cell just before it must contain {anchor}"
    )


def test_there_are_claims():
    """The test above says nothing where the registry is empty."""
    assert list(registry.all_claims()), "companion.claims registers no claim"
