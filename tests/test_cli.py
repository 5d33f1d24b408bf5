"""The shell commands: what they print, write and return."""

from pathlib import Path

import pytest

from companion.__main__ import main
from mi_lib.__main__ import main as library

ROOT = Path(__file__).parent.parent


def test_without_a_command_it_says_how_to_use_it(capsys):
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2
    assert "usage: python -m companion" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["claims", "sweep gaussian --profile ci", "data"])
def test_the_library_says_where_the_commands_of_the_book_went(command, capsys):
    assert library(command.split()) == 2
    assert f"python -m companion {command}" in capsys.readouterr().err
