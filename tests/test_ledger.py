"""A claim in its cell: parts that come out as they say, wrong versions that fail, verdicts."""

import math

import numpy as np
import pytest
import sympy as sp

from companion.judgement import Judgement
from companion.ledger import MIME, Claim, ClaimError
from companion.margins import number
from mi_lib.normal_form import arbitrary

x, y = sp.symbols("x y", positive=True)
LOG = sp.log(x * y), sp.log(x) + sp.log(y)
WRONG_LOG = ("a product of logs", sp.log(x) * sp.log(y))
LOWER = ("x - 2", [t - 2 for t in (0.5, 1, 2)])
LOGS, LINES = [math.log(t) for t in (0.5, 1, 2)], [t - 1 for t in (0.5, 1, 2)]


@pytest.fixture
def c():
    return Claim("an-id", "Paper, Lemma 0", "a statement", quiet=True)


# Identities


def test_an_identity_is_proved_and_its_wrong_version_is_seen_to_differ_at_a_point(c):
    c.identity("logs", *LOG, wrong=WRONG_LOG)
    part = c.parts["logs"]
    assert (part.evidence, part.falsified) == ("for all", True)
    assert "at x = 1/2, y = 1/3" in part.fails
    assert r"\log" in part.formula


def test_a_false_identity_raises_and_says_what_is_left(c):
    with pytest.raises(ClaimError, match=r"an-id: logs: fails: left − right leaves .*log"):
        c.identity("logs", LOG[0], sp.log(x) - sp.log(y), wrong=WRONG_LOG)


def test_a_wrong_version_that_is_right_raises(c):
    with pytest.raises(ClaimError, match=r"its wrong version \(the sum\) was not seen to fail"):
        c.identity("logs", *LOG, wrong=("the sum", sp.log(y) + sp.log(x)))


def test_a_part_needs_a_wrong_version_or_a_reason(c):
    with pytest.raises(ClaimError, match="give wrong=.*or not_falsified"):
        c.identity("logs", *LOG)
    c.identity("logs", *LOG, not_falsified="a definition")
    assert not c.parts["logs"].falsified


def test_sizes_make_an_identity_a_proof_for_these_sizes_only(c):
    c.identity("logs", *LOG, wrong=WRONG_LOG, sizes="K = 2, 3")
    assert c.parts["logs"].evidence == "on a box"
    assert "K = 2, 3" in c.parts["logs"].found


def test_of_a_list_every_pair_must_be_an_identity(c):
    with pytest.raises(ClaimError, match="leaves"):
        c.identity("two", [x, y], [x, x], wrong=("doubled", [2 * x, 2 * y]))
    c.identity("two", [x, y], [x, y], wrong=("doubled", [2 * x, 2 * y]))
    assert "(2 times)" in c.parts["two"].found


def test_what_sympy_makes_equal_by_itself_is_not_typeset(c):
    wrong = ("doubled", [2 * x, 2 * LOG[1]])
    c.identity("the second pair says more", [x, LOG[0]], [x, LOG[1]], wrong=wrong)
    assert r"\log" in c.parts["the second pair says more"].formula
    c.identity("x is x", x, x, wrong=("doubled", 2 * x))
    assert c.parts["x is x"].formula == ""


def test_a_printed_identity_must_fail_at_a_point(c):
    c.identity("as printed", x, 2 * x, role="printed")
    assert "x = 1/2" in c.parts["as printed"].found
    with pytest.raises(ClaimError, match="is said to fail as printed, but holds"):
        c.identity("really right", *LOG, role="printed")


def test_an_identity_of_arbitrary_functions_is_refuted_with_polynomials(c):
    f = arbitrary("f")
    c.identity(
        "product rule",
        sp.diff(x * f(x), x),
        f(x) + x * sp.diff(f(x), x),
        wrong=("the factor forgotten", f(x) + sp.diff(f(x), x)),
    )
    assert "polynomials for the arbitrary functions" in c.parts["product rule"].fails


# Numbers


def test_a_bound_in_numbers_is_a_search(c):
    c.bound("log below its tangent", LOGS, LINES, wrong=LOWER)
    part = c.parts["log below its tangent"]
    assert part.evidence == "searched"
    assert "3 cases" in part.found and "smallest slack 0.0000" in part.found


def test_a_violated_bound_raises_with_the_worst_case(c):
    with pytest.raises(ClaimError, match=r"smallest slack −0\.8863 at t = 1/2"):
        c.bound("reversed", LINES, [2 * v for v in LOGS], wrong=LOWER, where=["t = 1/2", "1", "2"])


def test_a_strict_bound_is_not_met_by_equality(c):
    with pytest.raises(ClaimError):
        c.strict("log below its tangent", LOGS, LINES, wrong=LOWER)
    c.strict("off the point", LOGS[::2], LINES[::2], wrong=("x - 2", LOWER[1][::2]))


def test_equality_is_two_sided(c):
    for off in (-1e-3, 1e-3):
        with pytest.raises(ClaimError, match="largest difference"):
            c.equal("same", [1.0, 2.0], [1.0, 2.0 + off], wrong=("half", [0.5, 1.0]))
    c.equal("same", [1.0, 2.0], [1.0, 2.0], wrong=("half", [0.5, 1.0]))


@pytest.mark.parametrize("kind", ["equal", "bound", "strict"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_nan_never_holds_and_infinity_is_no_equality(c, kind, value):
    right = [1.0, value] if not (math.isinf(value) and kind != "equal") else [1.0, -value]
    with pytest.raises(ClaimError):
        getattr(c, kind)("nan", [0.5, 0.5], right, wrong=("less", [0.0, 0.0]))


def test_no_cases_hold_nothing(c):
    with pytest.raises((ClaimError, ValueError)):
        c.bound("empty", [], [], wrong=("none", []))


def test_exact_numbers_are_compared_by_balls_and_prove(c):
    c.strict("9 > 8", 2 - sp.log(3, 2), sp.Rational(1, 2), wrong=("a third", sp.Rational(1, 3)))
    part = c.parts["9 > 8"]
    assert part.evidence == "for all" and "(exact)" in part.found


def test_an_exact_comparison_has_no_tolerance(c):
    tiny = sp.Rational(1, 10**12)
    with pytest.raises(ClaimError):
        c.bound(
            "just above", sp.Integer(1) + tiny, sp.Integer(1), wrong=("half", sp.Rational(1, 2))
        )


def test_an_exact_equality_refutes_no_bound(c):
    """The ball of the difference contains zero, so its lower end is below zero."""
    left, right = sp.log(4), 2 * sp.log(2, evaluate=False)
    with pytest.raises(ClaimError, match="is said to fail as printed, but holds"):
        c.bound("as printed", left, right, role="printed")
    with pytest.raises(ClaimError, match="was not seen to fail"):
        c.bound("below 2", left, sp.Integer(2), wrong=("the same number", right))


def test_a_printed_bound_is_refuted_by_one_exact_case(c):
    c.bound("as printed", sp.Rational(1, 2), 2 - sp.log(3, 2), role="printed")
    assert c.parts["as printed"].evidence == "for all"


# Enclosures


def test_an_enclosure_proves_on_the_whole_box(c):
    c.enclosure(
        "x - log x > 0",
        lambda t: t - t.log(),
        {"t": ("1/10", 10)},
        wrong=("x - 3 log x", lambda t: t - 3 * t.log(), {"t": "2"}),
    )
    part = c.parts["x - log x > 0"]
    assert part.evidence == "on a box" and "cover" in part.found
    assert "−" in part.fails and "at t = 2" in part.fails


def test_an_enclosure_that_fails_somewhere_in_the_box_raises(c):
    with pytest.raises(ClaimError, match="the value is not positive"):
        c.enclosure("no", lambda t: 1 - t, {"t": (0, 2)}, not_falsified="-")


def test_the_wrong_version_of_an_enclosure_must_be_proved_negative(c):
    with pytest.raises(ClaimError, match="was not seen to fail"):
        c.enclosure("yes", lambda t: t + 1, {"t": (0, 1)}, wrong=("t", lambda t: t + 1, {"t": 1}))


# Verdicts


def test_a_statement_whose_parts_hold_holds(c):
    c.identity("logs", *LOG, wrong=WRONG_LOG)
    c.verdict("holds", "Logs turn products into sums.", "1 bit")
    assert c.record["verdict"] == "holds"
    assert c.record["key"] == "1 bit"
    assert c.record["kind"] == "statement"
    assert [part["name"] for part in c.record["parts"]] == ["logs"]


@pytest.mark.parametrize(
    ("role", "proof", "verdict"),
    [
        ("correction", False, "holds with a correction"),
        ("instead", False, "false as printed"),
        ("correction", True, "wrong step"),
        ("instead", True, "wrong step"),
    ],
)
def test_what_stands_beside_a_printed_part_decides(role, proof, verdict):
    c = Claim("an-id", "Paper, Lemma 0", "a statement", proof=proof, quiet=True)
    c.identity("as printed", x, 2 * x, role="printed")
    c.identity("meant", *LOG, wrong=WRONG_LOG, role=role)
    c.verdict(verdict, "A sentence.")
    assert c.record["verdict"] == verdict
    assert c.record["kind"] == ("proof step" if proof else "statement")


def test_another_verdict_than_the_parts_give_raises(c):
    c.identity("logs", *LOG, wrong=WRONG_LOG)
    with pytest.raises(ClaimError, match="recorded 'false as printed', but the parts say 'holds'"):
        c.verdict("false as printed", "No.")


def test_a_verdict_needs_parts_and_a_known_word(c):
    with pytest.raises(ClaimError, match="at least one part"):
        c.verdict("holds", "Nothing was checked.")
    with pytest.raises(ValueError, match="recorded='fine' is unknown"):
        c.verdict("fine", "Nothing was checked.")


def test_the_weakest_carrying_evidence_is_the_claims(c):
    c.identity("logs", *LOG, wrong=WRONG_LOG)
    c.bound("tried", LOGS, LINES, wrong=LOWER, role="support")
    c.verdict("holds", "Support does not weaken.")
    assert c.record["evidence"] == "for all"
    c.bound("tried", LOGS, LINES, wrong=LOWER)
    c.verdict("holds", "A searched part does.")
    assert c.record["evidence"] == "searched"


def test_a_cell_may_run_twice(c):
    for _ in range(2):
        c.identity("logs", *LOG, wrong=WRONG_LOG)
    c.verdict("holds", "Once.")
    assert len(c.record["parts"]) == 1


def test_unknown_roles_and_evidence_are_refused(c):
    with pytest.raises(ValueError, match="role='proved' is unknown"):
        c.identity("logs", *LOG, wrong=WRONG_LOG, role="proved")
    with pytest.raises(ValueError, match="evidence='sure' is unknown"):
        c.bound("tried", LOGS, LINES, wrong=LOWER, evidence="sure")


def test_outside_a_notebook_a_claim_prints_plain_text(capsys):
    c = Claim("an-id", "Paper, Lemma 0", "a statement")
    c.identity("$x$ logs", *LOG, wrong=WRONG_LOG)
    c.verdict("holds", "A sentence.")
    out = capsys.readouterr().out
    assert "✓ x logs" in out and "Paper, Lemma 0: holds (proved for all)" in out
    assert MIME not in out


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.12345, "0.1235"), (-2.0, "−2.0000"), (1e-7, "0.0000"), (-1e-7, "0.0000"), (3e28, "3e+28")],
)
def test_numbers_have_the_same_digits_everywhere(value, text):
    assert number(np.float64(value)) == text


# Experiments


@pytest.fixture
def judged():
    return Judgement("an-id", "Section 4", "a sentence", "laptop settings", quiet=True)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ([True, True], "reproduced"),
        ([True, False], "partly"),
        ([False, False], "not reproduced"),
        ([], "not run"),
    ],
)
def test_the_stored_runs_decide_about_a_sentence(judged, found, verdict):
    judged.measured("waiting", "3 of 9 pieces", True, "support")
    for i, holds in enumerate(found):
        judged.measured(f"part {i}", "+0.1 [0.0, 0.2]", holds)
    judged.verdict(verdict, "")
    assert judged.record["verdict"] == verdict
    assert judged.record["setting"] == "laptop settings"
    assert judged.record["evidence"] == "stored runs"


def test_an_experiment_on_record_with_another_outcome_raises(judged):
    judged.measured("a part", "-0.1 [-0.2, 0.0]", False)
    with pytest.raises(ClaimError, match="recorded 'reproduced', but the parts say 'not repro"):
        judged.verdict("reproduced", "")
    with pytest.raises(ValueError, match="recorded='holds' is unknown"):
        judged.verdict("holds", "")
