"""Every numbered item and rule table of the paper has a row on the scoreboard, and none is open.

`paper_items.csv` lists the 21 numbered items. Where the paper's LaTeX is at hand, in a folder named
by MI_PAPER, the list itself is checked against it.
"""

import csv
import os
import re
from pathlib import Path

import pytest
from cases import recorded_claims

HERE = Path(__file__).parent
ITEMS = list(csv.DictReader((HERE / "paper_items.csv").open(encoding="utf-8")))
RULE_TABLES = (1, 3, 4, 5, 6, 7)
LATEX = sorted(Path(os.environ["MI_PAPER"]).glob("*.t*")) if os.environ.get("MI_PAPER") else []
KINDS = {item["kind"] for item in ITEMS}


def claims_of(item):
    """The claims whose item is this one: "Theorem 2" and "Theorem 2, first inequality"."""
    pattern = re.compile(rf"Paper, {re.escape(item)}(?!\d)")
    return [record for record in recorded_claims() if pattern.match(record["item"])]


@pytest.mark.parametrize("item", ITEMS, ids=lambda i: f"{i['kind']} {i['number']}")
def test_every_numbered_item_has_a_claim(item):
    claims = claims_of(f"{item['kind'].capitalize()} {item['number']}")
    assert claims, "add a claim whose item starts with the paper's number"


@pytest.mark.parametrize("number", RULE_TABLES)
def test_every_table_of_estimators_and_rules_has_a_claim(number):
    assert claims_of(f"Table {number}")


def test_no_statement_is_left_open():
    """Claims on stored experiments may wait for their tables; statements of the theory may not."""
    kinds = {r["kind"] for r in recorded_claims() if r["verdict"] == "not run"}
    assert kinds <= {"experiment"}


if LATEX:  # else there is nothing to compare with, and no test

    @pytest.mark.parametrize("path", LATEX, ids=lambda p: p.name)
    def test_the_list_is_the_papers(path):
        """Numbered environments in order of appearance, with the label inside each."""
        text = path.read_text(encoding="utf-8")
        text = text[text.index(r"\begin{document}") :]
        environments = re.findall(
            rf"\\begin{{({'|'.join(sorted(KINDS))})}}(.*?)\\end{{\1}}", text, flags=re.S
        )
        found = []
        for number, (kind, body) in enumerate(environments, 1):
            label = re.search(r"\\label{((?:prop|thm|lem):[^}]*)}", body)
            found.append((str(number), kind, label.group(1) if label else ""))
        assert found == [(i["number"], i["kind"], i["label"]) for i in ITEMS]
