"""The snippets of README.md that a user of the library can run: python blocks, shell commands."""

import argparse
import random
import re
import shlex
import textwrap
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"\s*(?P<mark>`{3,})\s*(?P<info>[^`]*)$")
SHELLS = ("sh", "bash", "shell", "console")
COMMANDS = ("python -m mi_lib", "mi-lib")
NO_RUN = "no-run"
ROWS = 300  # of a table that stands in for the user's


@dataclass(frozen=True)
class Snippet:
    """A python block, or one shell command; `skip` says why it is not run."""

    line: int
    kind: str  # python or shell
    code: str
    skip: str = ""


@dataclass(frozen=True)
class Block:
    """What stands between two fences: where, the words behind the first fence, the lines."""

    line: int
    info: tuple[str, ...]
    lines: tuple[str, ...]


def snippets(markdown: str) -> list[Snippet]:
    """Everything to run, in the order of the page.

    Each ``python`` block is one script. Of shell blocks the commands of the library are taken,
    and of code inside a sentence those that have options, for a bare name is not an example. A
    block marked ``no-run`` is kept with that as its reason.
    """
    blocks, prose = split(markdown)
    found = [one for block in blocks for one in _of_block(block)]
    for number, line in prose:
        spans = re.findall(r"`([^`]+)`", line)
        found += [
            Snippet(number, "shell", span)
            for span in spans
            if span.startswith(COMMANDS) and " --" in span
        ]
    return sorted(found, key=lambda one: one.line)


def split(markdown: str) -> tuple[list[Block], list[tuple[int, str]]]:
    """The fenced blocks, and the numbered lines outside of them."""
    blocks, prose, opened = [], [], None
    for number, line in enumerate(markdown.splitlines(), 1):
        mark = FENCE.match(line)
        if opened is None and mark is None:
            prose.append((number, line))
        elif opened is None:
            opened = number, mark, []
        elif mark and not mark["info"] and len(mark["mark"]) >= len(opened[1]["mark"]):
            first, start, lines = opened
            blocks.append(Block(first, tuple(start["info"].split()), tuple(lines)))
            opened = None
        else:
            opened[2].append(line)
    if opened is not None:
        number, mark, _ = opened
        raise ValueError(f"the block opened in line {number} is not closed; add {mark['mark']}")
    return blocks, prose


def _of_block(block: Block) -> list[Snippet]:
    language, *words = block.info or ("",)
    skip = "marked no-run" if NO_RUN in words else ""
    if language == "python":
        code = textwrap.dedent("\n".join(block.lines)) + "\n"
        return [Snippet(block.line, "python", code, skip)]
    if language not in SHELLS:
        return []
    commands = "\n".join(block.lines).replace("\\\n", " ").splitlines()
    other = "no command of the library"
    return [
        Snippet(block.line, "shell", line, skip or ("" if line.startswith(COMMANDS) else other))
        for line in (command.strip().removeprefix("$ ") for command in commands)
        if line and not line.startswith("#")
    ]


def stand_in(command: str, folder: Path) -> None:
    """Write the CSV file that a command names, with the columns it names, where there is none."""
    words = shlex.split(command, comments=True)
    names = [word for word in words if word.endswith(".csv")]
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--x", default="")
    parser.add_argument("--y", default="")
    sides = parser.parse_known_args(words)[0]
    columns = [name for side in (sides.x, sides.y) for name in side.split(",") if name]
    if not names or not columns or (folder / names[0]).exists():
        return
    chance = random.Random(0)
    rows = []
    for _ in range(ROWS):
        shared = chance.gauss(0, 1)
        rows.append([f"{shared + chance.gauss(0, 1):.6f}" for _ in columns])
    text = "\n".join(",".join(row) for row in [columns, *rows])
    (folder / names[0]).write_text(f"{text}\n", encoding="utf-8")
