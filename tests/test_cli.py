"""The shell commands: what they print, write and return."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from companion import claims
from companion.__main__ import PAGE, main
from companion.claims import registry
from mi_lib.__main__ import main as library

ROOT = Path(__file__).parent.parent
FAST, SECOND = "proteins-large-k", "js-published"


@pytest.fixture
def fast_claims(monkeypatch):
    """A book of two fast claims; test_claims.py runs them all."""
    chosen = {id: claims.get(id) for id in (FAST, SECOND)}
    monkeypatch.setattr(registry, "_CLAIMS", chosen)


@pytest.fixture
def one_wrong_record(monkeypatch):
    """A registry of one fast claim, recorded with the wrong verdict."""
    wrong = replace(claims.get(FAST), recorded="holds")
    monkeypatch.setattr(registry, "_CLAIMS", {FAST: wrong})


def test_in_a_shell_it_prints_the_verdict_and_exits_0():
    command = [sys.executable, "-m", "companion", "claims", "--only", FAST]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("not reproduced ")
    assert FAST in done.stdout
    assert "wrote" not in done.stdout


def test_an_unknown_id_exits_2_with_the_known_ones(capsys):
    assert main(["claims", "--only", "prop-2"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: claim='prop-2' is unknown; choose one of")
    assert FAST in error


def test_without_a_command_it_says_how_to_use_it(capsys):
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2
    assert "usage: python -m companion" in capsys.readouterr().err


def test_all_claims_write_the_page_and_exit_0(fast_claims, tmp_path, capsys):
    page = tmp_path / "page.md"
    assert main(["claims", "--output", str(page)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.endswith(f"wrote {page}\n")
    assert all(claim.id in printed.out for claim in claims.all_claims())
    assert page.read_text(encoding="utf-8") == claims.scoreboard(claims.run_all())


def test_the_page_of_the_book_is_the_default(fast_claims, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["claims"]) == 0
    assert list(tmp_path.iterdir()) == []
    (tmp_path / PAGE).parent.mkdir(parents=True)
    assert main(["claims"]) == 0
    assert (tmp_path / PAGE).is_file()
    assert "wrote" in capsys.readouterr().out


def test_a_wrong_record_exits_1_with_the_reason_and_writes_nothing(
    one_wrong_record, tmp_path, capsys
):
    page = tmp_path / "page.md"
    assert main(["claims", "--output", str(page)]) == 1
    expected = f"error: {FAST}: recorded 'holds', but computed 'not reproduced'"
    assert expected in capsys.readouterr().err
    assert not page.exists()


def test_a_wrong_record_leaves_an_older_page_alone(one_wrong_record, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("older", encoding="utf-8")
    assert main(["claims", "--output", str(page)]) == 1
    assert page.read_text(encoding="utf-8") == "older"


def test_only_checks_the_chosen_claims_and_writes_no_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / PAGE).parent.mkdir(parents=True)
    assert main(["claims", "--only", FAST, SECOND]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed] == ["not", "reproduced"]
    assert not (tmp_path / PAGE).exists()


def test_only_with_an_output_is_refused(tmp_path, capsys):
    assert main(["claims", "--only", FAST, "--output", str(tmp_path / "page.md")]) == 2
    assert "cannot write the whole page; drop --output" in capsys.readouterr().err


def test_a_page_that_cannot_be_written_exits_2(fast_claims, tmp_path, capsys):
    assert main(["claims", "--output", str(tmp_path / "missing" / "page.md")]) == 2
    assert "error:" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["claims", "sweep gaussian --profile ci", "data"])
def test_the_library_says_where_the_commands_of_the_book_went(command, capsys):
    assert library(command.split()) == 2
    assert f"python -m companion {command}" in capsys.readouterr().err
