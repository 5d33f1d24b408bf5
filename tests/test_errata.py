"""The errata page: every entry is complete, and none of the claims that found something is missing.

No claim is run here: the recorded verdicts are enough, and test_claims holds them to the computed.
"""

import re
from collections import Counter
from pathlib import Path

import pytest
from cases import recorded_claims

TEXT = (Path(__file__).parents[1] / "book/reference/errata.md").read_text(encoding="utf-8")
SECTIONS = ("Statements", "Formulas and tables", "Proofs", "Experiments and text")
FIELDS = ["Printed", "Right", "Check", "Weight"]
WEIGHTS = (  # heaviest first
    "breaks the statement",
    "breaks the proof, not the statement",
    "misleading",
    "harmless",
)
FINDINGS = ("false as printed", "holds with a correction", "wrong step")
NO_CLAIM = ("No check yet: comes with the experiments.", "By reading")


def blocks(text, level):
    """Pairs (heading, what follows it) for the headings of that level."""
    parts = re.split(rf"^{'#' * level} (.+)\n", text, flags=re.M)
    return list(zip(parts[1::2], parts[2::2], strict=True))


PAGE = dict(blocks(TEXT, 2))
ALL = [(section, *block) for section in SECTIONS for block in blocks(PAGE[section], 3)]
ENTRIES = [block for block in ALL if not block[1].startswith("Small slips")]
SLIPS = [block for block in ALL if block[1].startswith("Small slips")]
REFERENCED = set(re.findall(r"<claim-([^>]+)>", TEXT))


def fields(body):
    """The bold-labelled paragraphs of an entry, in order."""
    return re.findall(r"^\*\*(\w+)\.\*\*\s(.+?)\s*(?=^\*\*\w+\.\*\*\s|\Z)", body, flags=re.M | re.S)


def rank(body):
    """The place of an entry's weight in WEIGHTS; the words after it are free."""
    ranks = [i for i, w in enumerate(WEIGHTS) if re.match(rf"{w}\b", dict(fields(body))["Weight"])]
    assert len(ranks) == 1, f"no allowed weight: {dict(fields(body))['Weight']!r}"
    return ranks[0]


@pytest.mark.parametrize("section, title, body", ENTRIES, ids=[e[1] for e in ENTRIES])
def test_an_entry_has_its_four_fields(section, title, body):
    assert [name for name, _ in fields(body)] == FIELDS
    rank(body)
    check = dict(fields(body))["Check"]
    assert "{ref}`" in check or check.startswith(NO_CLAIM), (
        "name a claim, or say that there is none"
    )


@pytest.mark.parametrize("section", SECTIONS)
def test_the_heaviest_entries_come_first(section):
    ranks = [rank(body) for where, _, body in ENTRIES if where == section]
    assert ranks and ranks == sorted(ranks)


def test_titles_are_unique():
    assert [t for t, n in Counter(title for _, title, _ in ALL).items() if n > 1] == []


def test_every_claim_named_exists_under_its_own_name():
    known = {claim["id"] for claim in recorded_claims()}
    assert known >= REFERENCED
    assert all(shown == id for shown, id in re.findall(r"\{ref\}`(\S+) <claim-([^>]+)>`", TEXT))
    assert TEXT.count("{ref}`") == TEXT.count("<claim-")


def test_every_claim_that_found_something_is_on_the_page():
    found = {c["id"] for c in recorded_claims() if c["verdict"] in FINDINGS}
    assert found - REFERENCED == set(), "add an entry for what these claims found"


def test_the_opening_counts_the_entries():
    opening = " ".join(TEXT[: TEXT.index("\n## ")].split())
    numbers = re.search(
        r"has (\d+) entries: (\d+) break the statement .*? (\d+) break the proof, not the "
        r"statement, (\d+) are misleading and (\d+) are harmless\. A further (\d+) small slips",
        opening,
    )
    assert numbers, "the opening no longer states the counts"
    count = Counter(rank(body) for _, _, body in ENTRIES)
    slips = sum(len(re.findall(r"^- ", body, flags=re.M)) for _, _, body in SLIPS)
    expected = [len(ENTRIES), *(count[i] for i in range(len(WEIGHTS))), slips]
    assert [int(n) for n in numbers.groups()] == expected
