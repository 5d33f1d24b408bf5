"""`make book`: stage, execute every notebook there, build, print the page to open."""

import sys

from tools.build import build_html, write_scoreboard
from tools.execute import Run, run_all
from tools.project import PROFILE, STAGE, StepError, experiment_notebooks, plain_notebooks
from tools.stage import make_stage


def main() -> int:
    try:
        make_stage()
        runs = [Run(path, path, path.parent, PROFILE) for path in experiment_notebooks(STAGE)]
        runs += [Run(path, path, path.parent) for path in plain_notebooks(STAGE)]
        if not runs:
            raise StepError("There is no notebook under book/theory, practice or experiments.")
        run_all(runs)
        print("Running the claims and building the pages", flush=True)
        write_scoreboard(STAGE)
        index = build_html()
    except StepError as error:
        print(f"\nmake book failed:\n{error}", flush=True)
        return 1
    print(f"\nThe book is ready. Open:\n{index}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
