"""The scoreboard is what the executed notebooks hold, and nothing else."""

from pathlib import Path

import nbformat
import pytest
from nbformat import v4

from companion.__main__ import PAGE, main
from companion.judgement import EXPERIMENT
from companion.ledger import MIME, THEORY, Claim
from companion.scoreboard import collect, lines, pages, problems
from companion.scoreboard_page import BADGES, page

ROOT = Path(__file__).parents[1]
CELL = """import sympy as sp
from companion.ledger import Claim
x = sp.Symbol("x", positive=True)
c = Claim("{id}", "Paper, Lemma 0", "$x$ doubled")
c.identity("doubled", x + x, {right}, wrong=("squared", x**2))
c.verdict("holds", "Twice is a sum.")"""


def record(id="one", item="Paper, Lemma 0", **changes):
    c = Claim(id, item, "a statement", quiet=True)
    c.equal("same", 1.0, 1.0, wrong=("two", 2.0))
    c.verdict("holds", "A sentence.")
    return {**c.record, **changes}


def output(record):
    return v4.new_output("display_data", data={"text/plain": "a card", MIME: record})


class Book:
    """A book of one notebook in a folder."""

    def __init__(self, root):
        self.root = root
        self.path = root / "book/theory/chapter.ipynb"
        self.path.parent.mkdir(parents=True)
        (root / PAGE).parent.mkdir(parents=True)
        toc = "root: book/intro\nchapters:\n  - file: book/theory/chapter\n  - file: book/other\n"
        (root / "_toc.yml").write_text(toc)

    def store(self, *records, target="(claim-one)=\n## One", source='c = Claim("one", "", "")'):
        cells = [v4.new_markdown_cell(target), v4.new_code_cell(source)]
        cells[1].outputs = [output(found) for found in records]
        nbformat.write(v4.new_notebook(cells=cells), self.path)


@pytest.fixture
def book(tmp_path):
    return Book(tmp_path)


# The book itself


def test_every_claim_of_the_book_left_its_verdict_under_its_target():
    rows = collect(ROOT)
    assert len(rows) >= 207
    assert problems(rows, ROOT) == []


def test_the_committed_page_is_what_the_notebooks_hold():
    assert (ROOT / PAGE).read_text(encoding="utf-8") == page(collect(ROOT)), "run: make refresh"


def test_every_notebook_of_the_book_is_read():
    stored = set((ROOT / "book").rglob("*.ipynb"))
    assert set(pages(ROOT)) == {p for p in stored if ".ipynb_checkpoints" not in p.parts}


# Collecting


def test_records_are_read_from_outputs_in_the_order_of_the_book(book):
    book.store(record("one"), record("two"), target="(claim-one)=\n(claim-two)=\n")
    rows = collect(book.root)
    assert [(row.record["id"], row.page, row.cell) for row in rows] == [
        ("one", "book/theory/chapter", 2),
        ("two", "book/theory/chapter", 2),
    ]


def test_a_claim_without_a_stored_verdict_is_a_problem(book):
    book.store()
    (_, wrong) = sorted(problems(collect(book.root), book.root))
    assert wrong == "one: chapter.ipynb makes this claim and stores no verdict: run `make refresh`"


def test_an_id_twice_a_missing_target_and_an_idle_target_are_problems(book):
    book.store(record(), record())
    assert problems(collect(book.root), book.root) == [
        "one: 2 cells give a verdict; give one of them another id"
    ]
    book.store(record(), target="## One")
    assert problems(collect(book.root), book.root) == [
        "one: chapter.ipynb lacks the target (claim-one)="
    ]
    book.store(record(), target="(claim-one)=\n(claim-two)=\n")
    assert problems(collect(book.root), book.root) == [
        "two: chapter.ipynb has its target and no claim"
    ]


def test_the_page_keeps_the_papers_statements_its_steps_ours_and_experiments_apart(book):
    book.store(
        record("one"),
        record("two", "Theorem B.1"),
        record("three", kind="proof step", verdict="wrong step"),
        record("four", kind="experiment", verdict="not reproduced", evidence="stored runs"),
    )
    text = page(collect(book.root))
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    assert titles == [
        "## The paper's statements",
        "## Steps of its proofs",
        "## Our statements",
        "## Experiments",
    ]
    for id in ("one", "two", "three", "four"):
        assert text.count(f"<claim-{id}>`") == 1
    assert "1 · Steps of its proofs\n**1** wrong step\n" in text
    assert len(lines(collect(book.root))) == 4


def test_the_tiles_count_every_row_once(book):
    book.store(record("one"), record("two", verdict="false as printed"))
    text = page(collect(book.root))
    assert "2 · The paper's statements\n**1** holds\\\n**1** false as printed\n" in text


def test_every_verdict_has_a_colour():
    assert set(BADGES) == {*THEORY, *EXPERIMENT}


def test_a_bar_in_a_statement_does_not_cut_its_row(book):
    book.store(record(statement="$p(x|y)$"))
    (row,) = [line for line in page(collect(book.root)).splitlines() if "<claim-one>" in line]
    assert row.count("|") == 4


def test_rows_stand_under_the_title_of_their_chapter(book):
    book.store(record(), target="# A chapter\n\n(claim-one)=\n## One")
    assert "### {doc}`A chapter </book/theory/chapter>`" in page(collect(book.root))


# The command


def test_the_command_writes_the_page_and_exits_0(book, capsys):
    book.store(record())
    assert main(["claims", "--book", str(book.root)]) == 0
    assert (book.root / PAGE).read_text(encoding="utf-8") == page(collect(book.root))
    assert "wrote" in capsys.readouterr().out


def test_a_problem_exits_1_and_leaves_an_older_page_alone(book, capsys):
    book.store()
    (book.root / PAGE).write_text("older")
    assert main(["claims", "--book", str(book.root)]) == 1
    assert "stores no verdict" in capsys.readouterr().err
    assert (book.root / PAGE).read_text() == "older"


def test_a_folder_that_is_no_book_exits_2(tmp_path, capsys):
    assert main(["claims", "--book", str(tmp_path)]) == 2
    assert "has no _toc.yml" in capsys.readouterr().err


def test_an_unknown_id_exits_2_and_says_how_to_list_them(book, capsys):
    book.store(record())
    assert main(["claims", "--book", str(book.root), "--run", "two"]) == 2
    assert "no notebook makes the claim 'two'" in capsys.readouterr().err


def test_one_claim_is_executed_up_to_its_verdict(book, capsys):
    book.store(source=CELL.format(id="one", right="2 * x"))
    assert main(["claims", "--book", str(book.root), "--run", "one"]) == 0
    out = capsys.readouterr().out
    assert "Paper, Lemma 0: holds (proved for all)" in out
    assert "wrong version, squared: differs" in out


def test_a_changed_sign_in_the_cell_makes_it_raise(book, capsys):
    book.store(source=CELL.format(id="one", right="-2 * x"))
    assert main(["claims", "--book", str(book.root), "--run", "one"]) == 1
    assert "error: ClaimError: one: doubled: fails" in capsys.readouterr().err
