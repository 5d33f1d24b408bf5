"""What every committed notebook must be before it may become a page."""

import ast
import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    path
    for path in (ROOT / "book").rglob("*.ipynb")
    if ".ipynb_checkpoints" not in path.parts and "_build" not in path.parts
)
EXPERIMENTS = [path for path in PAGES if path.parent.name == "experiments"]

MAX_LINES, MAX_COLUMNS, MAX_BYTES = 25, 78, 1_000_000
IGNORED, HIDDEN = "nbval-ignore-output", "remove-cell"
# What an experiment chapter prints where data is absent.
STAND_INS = re.compile("standing in|SIMULATED|pictures: digits")
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
    assert PAGES, "no notebook was found under book/"


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_every_cell_was_executed_in_order(path):
    counts = [cell.execution_count for _, cell in code_cells(path)]
    assert counts == list(range(1, len(counts) + 1)), (
        f"{path.name} was not executed top to bottom: its execution counts are {counts}. "
        f"Run `make refresh`."
    )


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_no_cell_stores_an_error(path):
    for where, cell in code_cells(path):
        for output in cell.outputs:
            assert output.output_type != "error", (
                f"{where} stores an error: {output.ename}: {output.evalue}. "
                f"Correct the cell and run `make refresh`."
            )


def tags_of(cell):
    return cell.metadata.get("tags", [])


def test_experiments_default_to_the_profile_that_is_tested():
    """So that a stored chapter is a run of profile ci, without a cell that papermill injected."""
    for path in EXPERIMENTS:
        cells = code_cells(path)
        where, cell = next(c for c in cells if "parameters" in tags_of(c[1]))
        values = dict(re.findall(r"^(\w+) = (\S+)", cell.source, re.MULTILINE))
        assert values == {"profile": '"ci"'}, f'{where} must say profile = "ci"'
        injected = [where for where, cell in cells if "injected-parameters" in tags_of(cell)]
        assert not injected, f"{injected} was injected by papermill. Run `make refresh`."


def asserts(cell):
    """Whether a page does not show the cell and it can fail."""
    hidden = cell.cell_type == "code" and HIDDEN in tags_of(cell)
    return hidden and any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(cell.source)))


def unasserted(cells):
    """The cells whose output nbval ignores and that no hidden assertion follows."""
    pairs = zip(cells, [*cells[1:], nbformat.v4.new_markdown_cell()], strict=True)
    return [cell.id for cell, after in pairs if IGNORED in tags_of(cell) and not asserts(after)]


def test_an_ignored_output_is_asserted_by_the_hidden_cell_after_it():
    """nbval does not compare it, so nothing else would notice that it went wrong."""
    for path in PAGES:
        found = unasserted(nbformat.read(path, as_version=4).cells)
        assert not found, (
            f"{path.name}: {found} are tagged {IGNORED}; the cell after each must be tagged "
            f"{HIDDEN} and assert what is shown"
        )


def test_an_ignored_output_without_its_assertion_is_found():
    def code(source, *tags):
        return nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)})

    shown = code("print(x)", IGNORED)
    assert unasserted([code("y"), shown, code("assert x < 2", HIDDEN)]) == []
    for cells in ([], [code("assert x < 2")], [code("x", HIDDEN)], [code("y"), code("assert x")]):
        assert unasserted([shown, *cells]) == [shown.id]


def test_experiments_are_stored_as_run_with_data():
    for path in EXPERIMENTS:
        for where, cell in code_cells(path):
            shown = "".join(output.get("text", "") for output in cell.outputs)
            found = IGNORED in tags_of(cell) and STAND_INS.search(shown)
            assert not found, (
                f"{where} was stored without data: it says {found.group()!r}. Set MI_DATA to the "
                f"folder that holds the data and run `make refresh`."
            )


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_a_notebook_is_smaller_than_a_megabyte(path):
    size = path.stat().st_size
    assert size < MAX_BYTES, f"{path.name} has {size:,} bytes; show fewer or smaller figures"


def is_the_look_for_our_code(cell):
    return 'find_spec("companion")' in cell.source


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_a_notebook_that_needs_our_code_first_says_how_to_get_it(path):
    """Elsewhere than in a clone the import alone would say nothing of use."""
    cells = [cell for _, cell in code_cells(path)]
    if any("companion" in cell.source for cell in cells):
        assert is_the_look_for_our_code(cells[0]), f"{path.name} lacks the first cell"
        assert "git clone" in cells[0].source and "make lab" in cells[0].source


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_the_first_code_cell_holds_the_parameters(path):
    """The first but for the look for our own code."""
    where, cell = next(c for c in code_cells(path) if not is_the_look_for_our_code(c[1]))
    assert "parameters" in cell.metadata.get("tags", []), f"{where} lacks the tag 'parameters'"


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_cells_are_short_and_narrow(path):
    for where, cell in code_cells(path):
        lines = cell.source.splitlines()
        assert len(lines) <= MAX_LINES, f"{where} has {len(lines)} lines, at most {MAX_LINES}"
        for line in lines:
            assert len(line) <= MAX_COLUMNS, f"{where}: over {MAX_COLUMNS} columns: {line}"


@pytest.mark.parametrize("path", PAGES, ids=name)
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


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_no_machine_path_is_stored(path):
    text = "\n".join(
        line for line in path.read_text(encoding="utf-8").splitlines() if '"image/png"' not in line
    )
    found = MACHINE_PATH.search(text)
    assert not found, f"{path.name} holds a path of one machine: {text[found.start() :][:80]!r}"
