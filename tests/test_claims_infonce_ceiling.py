"""The chapter on the ceiling: its verdicts, and a wrong version that fails for every part."""

from pathlib import Path

import pytest

from companion.scoreboard import records

ROOT = Path(__file__).parents[1]
ROWS = records(ROOT / "book/theory/infonce_ceiling.ipynb", ROOT)
FOUND = {row.record["id"]: row.record for row in ROWS}
FALSE = {"thm-2-printed", "thm-2-numbers"}
WRONG_STEP = {"proof-1-choice", "proof-2-jensen", "proof-2-unit"}
HOLDS = {
    *("prop-1", "thm-2-variational", "thm-2-log-k", "thm-2-message", "chi-square-floor"),
    *("anchored-ceiling", "anchored-ceiling-proof", "anchored-ceiling-mi"),
    *("anchored-ceiling-corners", "anchored-certificate", "sharp-ceiling", "ceiling-facts"),
    *("sharp-representation", "sharp-linear", "sharp-tangent"),
}


@pytest.mark.parametrize(
    ("verdict", "ids"),
    [("holds", HOLDS), ("false as printed", FALSE), ("wrong step", WRONG_STEP)],
)
def test_the_verdicts_of_the_chapter(verdict, ids):
    assert {id for id, record in FOUND.items() if record["verdict"] == verdict} == ids


def test_the_ceiling_and_the_two_ceilings_of_the_paper_are_proved_for_all():
    for id in ("prop-1", "thm-2-log-k", "anchored-ceiling", "sharp-ceiling", "ceiling-facts"):
        assert FOUND[id]["evidence"] == "for all", id


def test_the_printed_bound_is_refuted_on_the_whole_box_too():
    parts = FOUND["thm-2-printed"]["parts"]
    (box,) = [part for part in parts if part["evidence"] == "on a box"]
    assert "D ∈ [1/100, 20], k = 2, …, 64" in box["found"]
    assert [part["role"] for part in parts][0] == "printed"


def test_every_part_has_a_wrong_version_that_fails():
    for record in FOUND.values():
        for part in record["parts"]:
            assert part["fails"] or part["role"] == "printed", (record["id"], part["name"])
