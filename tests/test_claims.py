"""Verdicts on stored runs follow from numbers, match the record, and differ from their twins'."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from companion import adversary, claims
from companion.claims import registry
from companion.claims.registry import Claim, Outcome, Part, extreme, problems


@pytest.fixture
def empty_registry(monkeypatch):
    """A registry without the book's claims, to put others in."""
    monkeypatch.setattr(registry, "_CLAIMS", {})


def part(kind="bound", margin=1.0, tolerance=0.0, role="statement"):
    return Part("a part", kind, margin, tolerance, 1, role=role)


def make_claim(check, recorded="reproduced", **twin):
    return Claim("an-id", "An item", "a statement", "a/page", recorded, check, twin, "a twin")


def outcome_of(*parts):
    return Outcome(make_claim(lambda: list(parts)), list(parts))


# Parts


@pytest.mark.parametrize(
    ("kind", "margin", "tolerance", "holds"),
    [
        ("bound", 1.0, 0.0, True),
        ("bound", 0.0, 0.0, True),
        ("bound", -1e-10, 1e-9, True),
        ("bound", -1e-8, 1e-9, False),
        ("strict", 1.0, 0.0, True),
        ("strict", 0.0, 0.0, False),
        ("strict", 1e-9, 1e-9, False),
        ("strict", 1e-3, 1e-9, True),
        ("strict", -1.0, 1e-9, False),
        ("equal", 0.0, 0.0, True),
        ("equal", 1e-10, 1e-9, True),
        ("equal", -1e-10, 1e-9, True),
        ("equal", 1e-8, 1e-9, False),
        ("equal", -1e-8, 1e-9, False),
        ("bound", math.nan, 1.0, False),
        ("strict", math.nan, 1.0, False),
        ("equal", math.nan, 1.0, False),
        ("equal", math.inf, 1.0, False),
    ],
)
def test_when_a_part_holds(kind, margin, tolerance, holds):
    assert part(kind, margin, tolerance).holds is holds


def test_an_unknown_kind_or_role_is_refused():
    with pytest.raises(ValueError, match="kind='near' is unknown; choose one of bound, equal"):
        part("near").holds  # noqa: B018
    with pytest.raises(ValueError, match="role='other' is unknown"):
        part(role="other").holds  # noqa: B018


def test_a_part_in_words():
    text = part("strict", -0.00001, 1e-6).found
    assert text == "strict +0.0000 (tolerance 1e-06; 1 case)"
    assert "exact" in part("equal", 0.0, 0.0).found


@pytest.mark.parametrize(
    ("kind", "margins", "worst"),
    [
        ("bound", [3.0, -1.0, 2.0], -1.0),
        ("strict", [0.2, 0.1, 5.0], 0.1),
        ("equal", [0.1, -0.5, 0.3], -0.5),
    ],
)
def test_the_worst_case_decides(kind, margins, worst):
    found = extreme("many", kind, [(m, f"case {m}") for m in margins])
    assert (found.margin, found.worst, found.cases) == (worst, f"case {worst}", 3)


@pytest.mark.parametrize("kind", ["bound", "strict", "equal"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_nan_among_many_cases_is_never_hidden(kind, place):
    good = 0.0 if kind == "equal" else 1.0
    cases = [(good, "good"), (good, "good")]
    cases.insert(place, (math.nan, "not a number"))
    found = extreme("many", kind, cases)
    assert not found.holds
    assert found.worst == "not a number"


# Outcomes


def test_all_some_or_none_of_the_parts_decide():
    good, bad = part(), replace(part(margin=-1.0), name="another")
    assert outcome_of(good).verdict == "reproduced"
    assert outcome_of(good, bad).verdict == "partly"
    assert outcome_of(bad, replace(bad, name="nan", margin=math.nan)).verdict == "not reproduced"
    assert outcome_of(part(role="support")).verdict == "not run"


def test_supporting_parts_do_not_change_the_verdict_but_are_reported():
    broken = replace(part(margin=-1.0, role="support"), name="the counterexample")
    found = outcome_of(part(), broken)
    assert found.verdict == "reproduced"
    assert found.broken == [broken]
    wrong = problems(found, outcome_of(part(margin=-1.0)))
    assert wrong == ["an-id: evidence fails: the counterexample"]


def test_disagreement_with_the_record_is_a_problem():
    good, bad = part(), part(margin=-1.0)
    claim = make_claim(lambda: [bad], recorded="reproduced")
    wrong = problems(Outcome(claim, [bad]), Outcome(claim, [good]))
    assert wrong == ["an-id: recorded 'reproduced', but computed 'not reproduced'"]


def test_a_twin_that_passes_is_a_problem():
    good = part()
    (wrong,) = problems(outcome_of(good), outcome_of(good))
    assert wrong == "an-id: its falsified twin (a twin) is also 'reproduced'"


def test_the_twin_runs_the_same_check_with_other_arguments():
    claim = make_claim(lambda sign=1: [part(margin=float(sign))], sign=-1)
    assert claim.run().verdict == "reproduced"
    assert claim.run_twin().verdict == "not reproduced"


# The registry


def register(id, margin=1.0, recorded="reproduced", twin_sign=-1):
    @registry.claim(
        id,
        item="An item",
        statement="a statement",
        page="a/page",
        recorded=recorded,
        twin={"sign": twin_sign},
        twin_says="the other sign",
    )
    def check(sign=1):
        return [part(margin=sign * margin)]


def test_the_same_id_twice_is_refused(empty_registry):
    register("one")
    with pytest.raises(ValueError, match="'one' is registered twice; give one of them another id"):
        register("one")


def test_an_unknown_verdict_is_refused(empty_registry):
    with pytest.raises(ValueError, match="recorded='maybe' is unknown; choose one of not rep"):
        register("one", recorded="maybe")


def test_an_unknown_id_lists_the_known_ones():
    with pytest.raises(
        ValueError, match=r"claim='prop-2' is unknown; choose one of .*proteins-large-k"
    ):
        claims.get("prop-2")


def test_claims_come_in_the_order_of_registration(empty_registry):
    register("b")
    register("a")
    assert [claim.id for claim in claims.all_claims()] == ["b", "a"]
    assert claims.get("a").id == "a"


def test_show_prints_the_report(empty_registry, capsys):
    register("one")
    claims.show("one")
    shown = capsys.readouterr().out
    assert shown.startswith(
        "An item: reproduced (stored runs, paper's settings)\n  ✓ a part: bound"
    )


def test_show_raises_when_the_record_is_wrong(empty_registry):
    register("one", recorded="not reproduced")
    with pytest.raises(AssertionError, match="recorded 'not rep.*, but computed 'reproduced'"):
        claims.show("one")


def test_show_raises_when_the_twin_is_not_told_apart(empty_registry):
    register("one", twin_sign=1)
    with pytest.raises(AssertionError, match=r"twin \(the other sign\) is also 'reproduced'"):
        claims.show("one")


# The search for violations


def test_the_optimiser_breaks_a_false_bound():
    """q1 = q0 is the only pair with margin 0 here, and half of the pairs are below."""
    found = adversary.try_to_break(lambda q1, q0: q0[0] - q1[0], letters=2, restarts=3, seed=0)
    assert len(found) == 3
    assert max(margin for margin, _ in found) < -0.9


def test_the_optimiser_stays_where_no_letter_vanishes():
    """A margin without a lower end, which sends the logits as far as they may go."""
    found = adversary.try_to_break(lambda q1, q0: float(np.log(q0.min())), 2, restarts=2, seed=0)
    assert all(math.isfinite(margin) for margin, _ in found)


@pytest.mark.parametrize("draws", [1, 7, 300])
@pytest.mark.parametrize("p", [0.0, 1e-6, 0.3, 1.0])
def test_binomial_chances_are_scipys(draws, p):
    hits = np.arange(draws + 1)
    assert adversary.binomial_pmf(hits, draws, p) == pytest.approx(
        stats.binom.pmf(hits, draws, p), rel=1e-9, abs=1e-300
    )


def test_multinomial_chances_are_scipys():
    counts, law = np.array([[3, 0, 1], [2, 2, 0], [0, 0, 4]]), np.array([0.2, 0.5, 0.3])
    assert adversary.multinomial_pmf(counts, law) == pytest.approx(
        stats.multinomial.pmf(counts, 4, law)
    )


def test_random_pairs_are_reproducible_laws():
    one, two = (list(adversary.random_pairs(5, 3, seed=4)) for _ in range(2))
    for (q1, q0), (p1, p0) in zip(one, two, strict=True):
        assert (q1 == p1).all() and (q0 == p0).all()
        assert q1.sum() == pytest.approx(1) and q0.sum() == pytest.approx(1)
        assert (q1 >= 0).all() and (q0 > 0).all()


def test_the_event_pair_has_its_divergence():
    from mi_lib import finite

    assert finite.kl(*adversary.event_pair(2.5)) == pytest.approx(2.5)


def test_the_table_of_the_sandwich_figure_is_a_sandwich():
    from mi_lib import infonce_ceiling

    table = adversary.sandwich_table(k=8, count=30, seed=1)
    assert len(table) == 30
    assert (table["floor"] <= table["jsd"] + 1e-9).all()
    assert (table["jsd"] <= infonce_ceiling(table["kl"].to_numpy(), 8) + 1e-9).all()
