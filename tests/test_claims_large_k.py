"""The chapter on large K: its verdicts, and a wrong version that fails for every part."""

from pathlib import Path

from companion.scoreboard import records

ROOT = Path(__file__).parents[1]
ROWS = records(ROOT / "book/theory/large_k.ipynb", ROOT)
FOUND = {row.record["id"]: row.record for row in ROWS}
CORRECTED = {"eq-5-nwj", "eq-5-order"}
HOLDS = {
    *("thm-7-limit", "thm-7-rate", "thm-7-inequality", "finite-k-bound", "wang-isola"),
    *("gdv-gap", "eq-5", "eq-5-dv", "eq-5-monotone"),
}


def test_the_verdicts_of_the_chapter():
    verdicts = {id: record["verdict"] for id, record in FOUND.items()}
    expected = dict.fromkeys(HOLDS, "holds") | dict.fromkeys(CORRECTED, "holds with a correction")
    assert verdicts == expected


def test_all_of_them_are_proved_for_all():
    assert {id for id, record in FOUND.items() if record["evidence"] != "for all"} == set()


def test_the_error_terms_are_enclosed():
    boxes = [
        part["found"]
        for id in ("thm-7-rate", "thm-7-inequality", "finite-k-bound", "eq-5-nwj")
        for part in FOUND[id]["parts"]
        if " ∈ [" in part["found"]
    ]
    assert len(boxes) == 5


def test_every_part_has_a_wrong_version_that_fails():
    for record in FOUND.values():
        for part in record["parts"]:
            assert part["fails"] or part["role"] == "printed", (record["id"], part["name"])
