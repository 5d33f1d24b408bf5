"""Execute notebooks with papermill, two at a time, each in its own folder.

`run_all` starts one child process a notebook (`python -m tools.execute in out folder params`), so
that each gets its own environment and a crashed kernel cannot take the others with it.
"""

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from tools.project import StepError, child_environment, python, shown

WORKERS = 2
# Two kernels that start at once may pick the same port, and one dies before a cell has run.
NOT_STARTED = "Kernel died before replying to kernel_info"


@dataclass(frozen=True)
class Run:
    """One notebook to execute: where from, where to, in which folder, with which parameters."""

    source: Path
    target: Path
    folder: Path
    parameters: dict = field(default_factory=dict)
    state: str | None = None


def run_all(runs: list[Run]) -> None:
    """Execute every run; print a line for each, and raise StepError naming all that failed."""
    if not runs:
        return
    print(f"Executing {len(runs)} notebook(s), {WORKERS} at a time", flush=True)
    failures = []
    with ThreadPoolExecutor(WORKERS) as pool:
        futures = {pool.submit(_timed, run): run for run in runs}
        for future in as_completed(futures):
            run, (seconds, problem) = futures[future], future.result()
            state = f" ({run.state})" if run.state else ""
            verdict = "FAILED" if problem else "done"
            print(f"  {seconds:6.1f} s  {shown(run.source)}{state}  {verdict}", flush=True)
            if problem:
                failures.append(f"{shown(run.source)}{state}:\n{problem}")
    if failures:
        raise StepError("\n".join(failures))


def _timed(run: Run) -> tuple[float, str]:
    """Seconds and the reason of failure (empty where there was none)."""
    print(f"   start    {shown(run.source)}", flush=True)
    started = time.perf_counter()
    problem = _child(run)
    if NOT_STARTED in problem:
        problem = _child(run)
    return time.perf_counter() - started, problem


def _child(run: Run) -> str:
    """Execute in a process of its own; the reason of failure, or nothing."""
    done = subprocess.run(
        python(
            "-m",
            "tools.execute",
            run.source,
            run.target,
            run.folder,
            json.dumps(run.parameters),
        ),
        cwd=Path(__file__).resolve().parents[1],
        env=child_environment(run.state),
        capture_output=True,
        text=True,
    )
    if not done.returncode:
        return ""
    return "\n".join((done.stderr or done.stdout).strip().splitlines()[-25:])


def execute(source: Path, target: Path, folder: Path, parameters: dict) -> None:
    """Run one notebook with papermill and store it, cleaned and with small figures, at `target`.

    papermill only warns about a parameter that the notebook does not have; here it is an error,
    since the notebook would silently run with its default.
    """
    # Imported here: the parent process only starts children, and papermill takes a second to load.
    import papermill

    from tools import notebooks

    # Cleaned first: papermill refuses a notebook that does not name its kernel.
    notebooks.write(notebooks.clean(notebooks.read(source)), target)
    known = papermill.inspect_notebook(str(target)) if parameters else {}
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise StepError(
            f"{source.name} has no parameter {', '.join(unknown)}. Its first code cell (tagged "
            f"'parameters') defines: {', '.join(known) or 'nothing'}."
        )
    try:
        papermill.execute_notebook(
            str(target),
            str(target),
            parameters=parameters,
            cwd=str(folder),
            kernel_name="python3",
            progress_bar=False,
        )
    except papermill.PapermillExecutionError as error:
        lines = str(error.traceback and "\n".join(error.traceback)).splitlines()[-15:]
        raise StepError(
            "\n".join([*lines, f"Cell [{error.exec_count}] raised {error.ename}: {error.evalue}"])
        ) from None
    notebooks.write(notebooks.small_figures(notebooks.clean(notebooks.read(target))), target)


if __name__ == "__main__":
    source, target, folder, parameters = sys.argv[1:]
    try:
        execute(Path(source), Path(target), Path(folder), json.loads(parameters))
    except StepError as error:
        sys.exit(str(error))
