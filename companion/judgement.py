"""A claim about an experiment, judged on stored runs."""

from dataclasses import dataclass

from mi_lib.validate import one_of

from .ledger import ROLES, Claim, Part

EXPERIMENT = ("reproduced", "partly", "not reproduced", "undecided", "not testable here", "not run")


@dataclass(frozen=True)
class Measured(Part):
    """A part that may come out either way."""

    holds: bool = True


class Judgement(Claim):
    """A sentence about an experiment, judged by intervals over stored runs.

    Nobody knew the outcome before the run, so a part may fail without an error; that a check can
    fail is shown by tests on invented tables. ``setting`` says what was run: the paper's settings,
    a laptop's, substitute data.
    """

    words = EXPERIMENT

    def __init__(self, id: str, item: str, statement: str, setting: str, *, quiet: bool = False):
        super().__init__(id, item, statement, quiet=quiet)
        self.kind, self.more = "experiment", {"setting": setting}

    def measured(self, name: str, found: str, holds: bool, role: str = "statement") -> None:
        """A part by what was found on the stored runs and whether that bears the sentence out;
        role "support" is for what is awaited."""
        one_of("role", role, ROLES)
        self.parts[name] = Measured(name, role, "stored runs", found, holds=holds)

    def derived(self) -> str:
        holds = [part.holds for part in self.parts.values() if part.role == "statement"]
        if not holds:
            return "not run"
        return "reproduced" if all(holds) else "partly" if any(holds) else "not reproduced"
