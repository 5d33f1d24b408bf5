"""`make test`: every step, or those named: `python -m tools.check unit notebooks`."""

import sys

from tools.build import build_html, check_scoreboard, write_scoreboard
from tools.experiments import compare, test_experiments
from tools.project import STAGE, StepError, child_environment, plain_notebooks, python
from tools.stage import make_stage
from tools.steps import PARALLEL, Outcome, pytest, run_steps, stream
from tools.wheel import wheel


def lint() -> Outcome:
    """ruff: rules, then format."""
    stream(python("-m", "ruff", "check"), "ruff check")
    stream(
        python("-m", "ruff", "format", "--check"),
        "ruff format --check (run `.venv/bin/python -m ruff format`)",
    )
    return Outcome(note="clean")


def unit() -> Outcome:
    """Unit, property and doctests; no window may open, so figures are drawn off screen."""
    return pytest(
        "unit",
        *PARALLEL,
        "-m",
        "not browser",
        "--doctest-modules",
        "tests",
        "mi_lib",
        "companion",
        environment={**child_environment(), "MPLBACKEND": "agg"},
    )


def mutations(*chosen: str) -> Outcome:
    """Deliberate errors, each of which the tests must notice: some of them, or all."""
    command = python("-m", "tools.mutate", *(chosen or ("--sample", str(SAMPLE))))
    stream(command, "the mutations", reason="survived|could not|occurs")
    return Outcome(note="all caught")


def all_mutations() -> Outcome:
    """Every deliberate error: a step of `make test-long`."""
    return mutations("--all")


def long_tests() -> Outcome:
    """The tests of which `make test` runs a sample: 20 kills of each kind, cuts, flipped bits."""
    environment = {**child_environment(), "MI_LONG": "1"}
    return pytest("long", "-m", "long", "tests", environment=environment)


def plain() -> Outcome:
    """Theory and practice chapters against the outputs committed in them."""
    paths = plain_notebooks()
    if not paths:
        raise StepError("There is no notebook under book/theory or book/practice to test.")
    return compare("notebooks", paths, child_environment())


def book() -> Outcome:
    """The claims and the pages; theory and practice as committed: step `notebooks` ran them."""
    write_scoreboard(STAGE)
    check_scoreboard()
    build_html()
    return Outcome(note="_build/html/index.html")


def browser() -> Outcome:
    """The built pages in a real browser."""
    return pytest("browser", "-m", "browser", "tests")


SAMPLE = 60  # deliberate errors that `make test` tries
STEPS = {
    "lint": lint,
    "unit": unit,
    "wheel": wheel,
    "mutations": mutations,
    "notebooks": plain,
    "experiments": test_experiments,
    "book": book,
    "browser": browser,
}


# What `make test-long` does beyond a sample.
LONG = {"all-mutations": all_mutations, "long": long_tests}


def main(names: list[str]) -> int:
    known = STEPS | LONG
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"No step named {', '.join(unknown)}. There are: {', '.join(known)}.")
        return 2
    try:
        make_stage()
    except StepError as error:
        print(error)
        return 1
    return run_steps([(name, known[name]) for name in names or STEPS])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
