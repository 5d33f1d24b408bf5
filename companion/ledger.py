r"""A claim of the book, checked in the cells that stand under its statement.

>>> import math
>>> x, y = sp.symbols("x y", positive=True)
>>> c = Claim("logs", "Paper, Lemma 0", r"$\log xy = \log x + \log y$", quiet=True)
>>> c.identity("log of a product", sp.log(x * y), sp.log(x) + sp.log(y),
...            wrong=("a product of logs", sp.log(x) * sp.log(y)))
>>> c.bound("log x <= x - 1", [math.log(t) for t in (0.5, 1, 2)], [t - 1 for t in (0.5, 1, 2)],
...         wrong=("x - 2", [t - 2 for t in (0.5, 1, 2)]))
>>> c.verdict("holds", "Logarithms turn products into sums.")
>>> c.record["evidence"]
'searched'

**Parts.** A part compares a left and a right side: `identity` symbolically, `equal`, `bound` (left
at most right) and `strict` (left below right) in numbers, `enclosure` by balls over a box.
Each part needs its own wrong version, a mistake that somebody could make, and shows that it fails;
or it says in `not_falsified` why there is none. A part that does not come out as its role says
raises at once, in its cell. Parts are kept by name: a cell may run twice.

**Roles.** "statement": what is claimed, and holds. "printed": what the paper prints, and fails; it
needs no wrong version, for the parts with the role "correction" (a small repair under which the
statement stands) or "instead" (what is true in its place) are the other side. "support": beside the
point of the statement, such as a numerical confirmation of what is proved; holds.

**Evidence.** "for all": proved for everything the statement speaks of. "on a box": proved for the
sizes or on the box that the part names. "searched": tried on a family. A claim has the weakest
evidence of the parts that carry its verdict, which are all but the supporting ones.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType

import flint
import sympy as sp
from flint import arb

from mi_lib.normal_form import reduce
from mi_lib.validate import one_of

from . import balls, cards, margins
from .witness import Nonzero, nonzero

EVIDENCE = ("for all", "on a box", "searched", "stored runs")  # strongest first
THEORY = ("holds", "holds with a correction", "false as printed", "wrong step")
ROLES = ("statement", "printed", "correction", "instead", "support")
MIME = "application/vnd.companion.claim+json"
Wrong = tuple  # (words, wrong right side), for an enclosure (words, f, point)


class ClaimError(AssertionError):
    """A part or a verdict that does not come out as the cell says."""


@dataclass(frozen=True)
class Part:
    """One comparison: what was found, and how its wrong version failed."""

    name: str
    role: str
    evidence: str
    found: str
    wrong: str = ""
    fails: str = ""
    not_falsified: str = ""
    formula: str = ""

    @property
    def falsified(self) -> bool:
        """Whether a version that must not pass was seen not to pass."""
        return bool(self.fails) or self.role == "printed"


class Claim:
    """A statement, its parts and its verdict.

    Parameters
    ----------
    id : stable name; the page has the target ``(claim-<id>)=`` above the first cell.
    item : where it stands: "Paper, Theorem 2, first inequality", or ours, "Theorem B.3".
    statement : one sentence, mathematics between dollars.
    proof : whether it is a step of a proof; where the step is wrong, the statement is not judged.
    quiet : show nothing (for tests).
    """

    words = THEORY
    more: Mapping[str, str] = MappingProxyType({})  # further entries of the record

    def __init__(self, id: str, item: str, statement: str, *, proof: bool = False, quiet=False):
        self.id, self.item, self.statement = id, item, statement
        self.kind = "proof step" if proof else "statement"
        self.parts: dict[str, Part] = {}
        self.record: dict[str, object] = {}
        self._show = (lambda *_: None) if quiet else cards.show

    def identity(
        self,
        name: str,
        left: sp.Expr | Sequence[sp.Expr],
        right: sp.Expr | Sequence[sp.Expr] = 0,
        *,
        wrong: Wrong | None = None,
        at: Mapping[sp.Symbol, object] | None = None,
        sizes: str = "",
        role: str = "statement",
        typeset: str = "both",
        not_falsified: str = "",
    ) -> None:
        """left - right reduces to 0 symbolically (each, where lists are given).

        ``wrong`` is (words, expression in the place of ``right``): a ball shows that it differs
        from ``left`` at a rational point, ``at`` where given. ``sizes`` names what the symbols were
        fixed at ("K = 2, 3"); without it the identity is proved for all. ``typeset``: "both" sides
        (of the first pair that sympy has not already made equal), "left", "right" or "none".
        """
        pairs = _pairs(left, right)
        printed = one_of("role", role, ROLES) == "printed"
        if printed:
            gaps = [nonzero(one - two, at) for one, two in pairs]
            found = f"not an identity: left − right is {next((g for g in gaps if g), '')}"
            holds = any(gaps)
        else:
            rest = [r for r in (reduce(one - two) for one, two in pairs) if r != 0]
            found = "left − right reduces to 0"
            if len(pairs) > 1:
                found += f" ({len(pairs)} times)"
            holds = not rest
        problem = "reduces to 0" if printed else f"left − right leaves {rest[0] if rest else ''}"
        fails = ""
        if wrong and not printed:
            gaps = [nonzero(one - two, at) for one, two in _pairs(left, wrong[1])]
            fails = _first(gaps, "differs: left − right is {}")
        evidence = "on a box" if sizes else "for all"
        found += f", {sizes}" if sizes else ""
        formula = cards.equation(pairs, typeset, "\\ne" if printed else "=")
        part = Part(name, role, evidence, found, _words(wrong), fails, not_falsified, formula)
        self._add(part, holds, problem)

    def equal(self, name: str, left: object, right: object, **options) -> None:
        """Numbers agree within ``tolerance`` (default 1e-9); see `bound` for the options.

        Exact numbers of sympy that must be equal are a case for `identity`.
        """
        self._numbers("equal", name, left, right, **options)

    def bound(self, name: str, left: object, right: object, **options) -> None:
        """left <= right in every case, up to ``tolerance`` (default 1e-9).

        Numbers, arrays, or exact numbers of sympy, which balls compare: a proof. Options:
        ``wrong`` = (words, what stands in the place of ``right``), which must be violated;
        ``where``, one description a case; ``tolerance``; ``role``; ``not_falsified``; and
        ``evidence``, "on a box" where the cases are all there are.
        """
        self._numbers("bound", name, left, right, **options)

    def strict(self, name: str, left: object, right: object, **options) -> None:
        """left < right by more than ``tolerance`` in every case; see `bound` for the options."""
        self._numbers("strict", name, left, right, **options)

    def enclosure(
        self,
        name: str,
        f: Callable[..., arb],
        box: Mapping[str, tuple[object, object]],
        over: Mapping[str, Sequence[int]] | None = None,
        *,
        wrong: Wrong | None = None,
        role: str = "statement",
        not_falsified: str = "",
    ) -> None:
        """f > 0 on the whole box, proved by `balls.prove_positive`.

        ``wrong`` = (words, g, point): a version that is proved to be negative at the point, a
        mapping from each name to an exact rational.
        """
        try:
            cover = balls.prove_positive(f, box, over)
        except ValueError as error:
            raise ClaimError(f"{self.id}: {name}: {error}") from None
        sides = [f"{k} ∈ [{low}, {high}]" for k, (low, high) in box.items()]
        sides += [f"{k} = {v[0]}, …, {v[-1]}" for k, v in (over or {}).items()]
        boxes = f"{cover.boxes:,} boxes cover it, each" if cover.boxes > 1 else "one box covers it,"
        found = f"{', '.join(sides)}: {boxes} above 0"
        fails = ""
        if wrong:
            exact = {k: v for k, v in wrong[2].items() if k in (over or {})}
            with flint.ctx.workprec(balls.PRECISION):
                real = {k: arb(balls.rational(v)) for k, v in wrong[2].items() if k not in exact}
                value = wrong[1](**real, **exact)
            if value < 0:
                at = ", ".join(f"{k} = {v}" for k, v in wrong[2].items())
                fails = f"{margins.number(float(value))} at {at}"
        self._add(
            Part(name, role, "on a box", found, _words(wrong), fails, not_falsified), True, ""
        )

    def verdict(self, recorded: str, sentence: str, key: str = "") -> None:
        """Derive the verdict, compare it with the recorded one, show the card, leave the record.

        ``key`` is the number that a reader should remember, with its unit.
        """
        one_of("recorded", recorded, self.words)
        derived = self.derived()
        if derived != recorded:
            raise ClaimError(f"{self.id}: recorded {recorded!r}, but the parts say {derived!r}")
        carrying = [part.evidence for part in self.parts.values() if part.role != "support"]
        self.record = record = {
            "id": self.id,
            "item": self.item,
            "statement": self.statement,
            "verdict": derived,
            "evidence": max(carrying or EVIDENCE[-1:], key=EVIDENCE.index),
            "sentence": sentence,
            "key": key,
            "kind": self.kind,
            **self.more,
            "parts": [asdict(part) for part in self.parts.values()],
        }
        self._show(cards.card_html(record), cards.card_text(record), {MIME: record})

    def derived(self) -> str:
        """The verdict that follows from the parts."""
        if not self.parts:
            raise ClaimError(f"{self.id}: a verdict needs at least one part")
        roles = {part.role for part in self.parts.values()}
        if "printed" not in roles:
            return "holds"
        if self.kind == "proof step":
            return "wrong step"
        return "holds with a correction" if "correction" in roles else "false as printed"

    def _numbers(
        self,
        kind: str,
        name: str,
        left: object,
        right: object,
        *,
        wrong: Wrong | None = None,
        where: Sequence[str] | None = None,
        tolerance: float = 1e-9,
        role: str = "statement",
        not_falsified: str = "",
        evidence: str = "",
    ) -> None:
        printed = one_of("role", role, ROLES) == "printed"
        slack, exact = margins.slack(left, right, kind, refute=printed)
        tolerance = 0.0 if exact else tolerance
        count = f"{slack.size:,} cases" if slack.size > 1 else "1 case"
        worst = margins.worst(slack, kind, where)
        words = {"equal": "largest difference", "bound": "smallest slack", "strict": "smallest gap"}
        found = f"{count}, {words[kind]} {worst}" + (" (exact)" if exact else "")
        holds = margins.holds(slack, kind, tolerance)
        if printed:
            found = f"violated: {'left − right' if kind == 'equal' else 'slack'} {worst}, {count}"
        fails = ""
        if wrong and not printed:
            wrong_slack, _ = margins.slack(left, wrong[1], kind, refute=True)
            if not margins.holds(wrong_slack, kind, 100 * tolerance):
                fails = f"violated: {margins.worst(wrong_slack, kind, where)}"
        # One exact counterexample refutes; one exact case proves no more than itself.
        evidence = evidence or ("for all" if exact and (printed or slack.size == 1) else "searched")
        part = Part(
            name,
            role,
            one_of("evidence", evidence, EVIDENCE),
            found,
            _words(wrong),
            fails,
            not_falsified,
        )
        self._add(part, not holds if printed else holds, found)

    def _add(self, part: Part, as_said: bool, problem: str) -> None:
        one_of("role", part.role, ROLES)
        where = f"{self.id}: {part.name}"
        if not as_said:
            said = "is said to fail as printed, but holds" if part.role == "printed" else "fails"
            raise ClaimError(f"{where}: {said}: {problem}")
        if part.role != "printed" and not (part.wrong or part.not_falsified):
            raise ClaimError(f"{where}: give wrong=(words, version), or not_falsified='why'")
        if part.wrong and not part.fails and part.role != "printed":
            raise ClaimError(f"{where}: its wrong version ({part.wrong}) was not seen to fail")
        self.parts[part.name] = part
        shown = asdict(part)
        self._show(cards.part_html(shown), cards.part_text(shown), {})


def _pairs(left: object, right: object) -> list[tuple[sp.Expr, sp.Expr]]:
    lefts = list(left) if isinstance(left, Sequence) else [left]
    rights = list(right) if isinstance(right, Sequence) else [right] * len(lefts)
    return [(sp.sympify(a), sp.sympify(b)) for a, b in zip(lefts, rights, strict=True)]


def _words(wrong: Wrong | None) -> str:
    return wrong[0] if wrong else ""


def _first(gaps: Sequence[Nonzero | None], text: str) -> str:
    seen = [gap for gap in gaps if gap]
    return text.format(seen[0]) if seen else ""
