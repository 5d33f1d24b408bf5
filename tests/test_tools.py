"""The parts of the commands that need no child process of their own."""

import base64
import io
import os
import subprocess
import sys
import tomllib
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from nbformat import v4
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from PIL import Image

from tools import check, environment, execute, kernels, lock, notebooks, refresh, stage, steps
from tools.project import StepError

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def folder(tmp_path):
    """A project with one file of each kind."""
    root = tmp_path / "my project"
    for name in ("page.md", "ignored.log", "gone.md", ".venv/x.py", "_build/y.html"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / ".gitignore").write_text("*.log\n.venv/\n_build/\n")
    return root


def staged(root):
    copy = stage.make_stage(root, root / "_build" / "stage")
    return sorted(str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file())


def test_the_stage_of_a_checkout_is_what_git_would_commit(folder):
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    subprocess.run(["git", "add", "page.md", "gone.md"], cwd=folder, check=True)
    (folder / "gone.md").unlink()
    assert staged(folder) == [".gitignore", "page.md"]


def test_the_stage_of_an_archive_is_a_walk(folder):
    """Also where the archive was unpacked inside another repository."""
    subprocess.run(["git", "init", "-q"], cwd=folder.parent, check=True)
    assert staged(folder) == [".gitignore", "gone.md", "ignored.log", "page.md"]


def test_the_stage_forgets_the_last_one(folder):
    staged(folder)
    (folder / "page.md").unlink()
    assert "page.md" not in staged(folder)


def test_clean_removes_what_changes_from_run_to_run():
    pieces = [v4.new_output("stream", name="stdout", text=text) for text in ("a\n", "b\n")]
    cell = v4.new_code_cell("x", outputs=pieces, metadata={"tags": [], "papermill": {"t": 1}})
    notebook = v4.new_notebook(cells=[cell], metadata={"papermill": {}, "title": "kept"})
    notebook.metadata["language_info"] = {"name": "python", "version": "3.11.7"}
    notebooks.clean(notebook)
    assert cell.metadata == {} and [output.text for output in cell.outputs] == ["a\nb\n"]
    assert notebook.metadata["language_info"] == {"name": "python"}
    assert notebook.metadata["title"] == "kept" and "papermill" not in notebook.metadata


def test_injected_parameters_stay_off_the_page_and_keep_one_id():
    cell = v4.new_code_cell("k = 1", metadata={"tags": ["injected-parameters"]})
    for _ in range(2):
        notebooks.clean(v4.new_notebook(cells=[cell]))
        assert cell.metadata["tags"] == ["injected-parameters", "remove-cell"]
        assert cell["id"] == "injected-parameters" and notebooks.is_injected(cell)


def test_stored_figures_are_small_and_look_the_same():
    drawing = Figure((4, 3))
    drawing.subplots().plot(np.random.default_rng(0).normal(size=(20, 8)).cumsum(0))
    figure, glass = (shown(drawing, transparent=clear) for clear in (False, True))
    before = deepcopy(figure), deepcopy(glass)
    page = v4.new_notebook(cells=[v4.new_markdown_cell("y"), v4.new_code_cell("x")])
    page.cells[1].outputs = [figure, glass]
    notebooks.small_figures(page)
    assert len(figure.data["image/png"]) < 0.5 * len(before[0].data["image/png"])
    assert np.abs(pixels(figure) - pixels(before[0])).mean() < 0.5
    assert pixels(figure).shape == pixels(before[0]).shape
    assert glass == before[1], "a palette would lose what is transparent"
    once = deepcopy(figure)
    assert notebooks.small_figures(page).cells[1].outputs == [once, glass]


def shown(drawing, **options):
    buffer = io.BytesIO()
    drawing.savefig(buffer, format="png", **options)
    png = base64.b64encode(buffer.getvalue()).decode()
    return v4.new_output("display_data", data={"image/png": png})


def pixels(output):
    data = base64.b64decode(output.data["image/png"])
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGBA"), int)


def test_steps_stop_at_the_first_failure(capsys):
    reached = []

    def bad():
        raise StepError("the reason")

    table = [("first", steps.Outcome), ("second", bad), ("third", lambda: reached.append(1))]
    assert steps.run_steps(table) == 1
    output = capsys.readouterr().out
    assert not reached
    assert output.rstrip().endswith("the reason")
    assert "third" in output and "not reached" in output


@pytest.mark.parametrize(
    ("strict", "excused", "code"), [("1", False, 1), ("1", True, 0), ("", False, 0)]
)
def test_strict_turns_a_skip_into_a_failure(monkeypatch, capsys, strict, excused, code):
    monkeypatch.setenv("MI_STRICT", strict)
    outcome = steps.Outcome(skips=[("the test", "its reason", excused)])
    assert steps.run_steps([("step", lambda: outcome)]) == code
    assert "the test: its reason" in capsys.readouterr().out


def test_a_report_lists_skips_but_not_expected_failures(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="t" name="ok"/>'
        '<testcase classname="t" name="a"><skipped type="pytest.skip" message="why"/></testcase>'
        '<testcase classname="t" name="b"><skipped type="pytest.xfail" message="x"/></testcase>'
        "</testsuite></testsuites>"
    )
    outcome = steps.read_report(report)
    assert outcome.skips == [("t::a", "why", False)]
    assert outcome.note == "2 passed"


@pytest.mark.parametrize("python", ["no-such-python", "false"])
def test_an_unusable_python_is_named(python):
    done = subprocess.run(
        ["sh", "tools/environment.sh"],
        cwd=ROOT,
        env={"PYTHON": python, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert f"PYTHON={python} was given" in done.stderr and "3.11-3.13" in done.stderr


def test_every_direct_dependency_is_pinned():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert pins and all(line.count("==") == 1 and "/" not in line for line in pins), pins


def test_the_lock_has_an_exact_version_of_all_that_is_installed_but_torch():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    locked = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert list(locked) == sorted(locked) and not {"torch", "mi-lib", "pip"} & locked.keys()
    # Another Python may need a package more; where a package is in both, it is of one version.
    here = dict(line.split("==") for line in lock.pins())
    assert len(here.keys() & locked.keys()) > 100
    assert {n: v for n, v in here.items() if locked.get(n, v) != v} == {}
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    direct = dict(line.lower().split("==") for line in lines if "==" in line)
    assert direct.pop("torch") and direct.items() <= locked.items()


def test_the_lock_is_what_the_environment_is_made_with(monkeypatch):
    asked = []
    monkeypatch.setattr(environment, "version_of", lambda python: "{}.{}".format(*sys.version_info))
    monkeypatch.setattr(environment, "STAMP", Path("/nowhere/stamp"))
    monkeypatch.setattr(environment, "pip_install", lambda *given: asked.append(given))
    monkeypatch.setattr(environment, "share_root", lambda: sys.exit("far enough"))
    with pytest.raises(SystemExit, match="far enough"):
        environment.main()
    assert asked[0] == ("-r", "requirements.txt", "-c", "requirements.lock")
    assert "requirements.lock" in environment.INPUTS


@pytest.mark.parametrize(("user", "allowed"), [("0", True), ("1000", False)])
def test_the_servers_are_for_this_machine_alone_and_root_is_told_so(user, allowed, tmp_path):
    """What make would run, with a made-up user."""
    fake = tmp_path / "id"
    fake.write_text(f"#!/bin/sh\necho {user}\n")
    fake.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"

    def lines(target):
        command = ["make", "-n", target, "PYTHON=python3"]
        done = subprocess.run(command, cwd=ROOT, env={"PATH": path}, capture_output=True, text=True)
        return done.stdout

    assert "--bind 127.0.0.1" in lines("serve")
    assert ("jupyterlab book --allow-root" in lines("lab")) == allowed


def test_the_pins_fit_what_the_project_declares():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line)
    declared = [*project["dependencies"], *sum(project["optional-dependencies"].values(), [])]
    wanted = [one for one in map(Requirement, declared) if one.name != project["name"]]
    assert len(wanted) > 20
    assert [str(one) for one in wanted if pins.get(one.name, "0") not in one.specifier] == []


def test_binder_installs_the_same_pins_in_a_python_in_range():
    folder = ROOT / ".binder"
    (line,) = [
        line
        for line in (folder / "requirements.txt").read_text().splitlines()
        if not line.startswith("#")
    ]
    assert (folder / line.removeprefix("-r ")).resolve() == ROOT / "requirements.txt"
    assert os.access(folder / "postBuild", os.X_OK)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = (folder / "runtime.txt").read_text().strip().removeprefix("python-")
    assert version in SpecifierSet(project["requires-python"])


def test_a_kernel_that_did_not_start_is_tried_once_more(monkeypatch):
    answers = [execute.NOT_STARTED, ""]
    monkeypatch.setattr(execute, "_child", lambda run: answers.pop(0))
    run = execute.Run(ROOT / "a.ipynb", ROOT / "b.ipynb", ROOT)
    assert execute._timed(run)[1] == "" and not answers
    answers[:] = ["a cell failed", ""]
    assert execute._timed(run)[1] == "a cell failed" and len(answers) == 1


def test_nbval_starts_a_kernel_that_died_at_once_again():
    answers = [RuntimeError(execute.NOT_STARTED), "a kernel"]

    def start(name):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return f"{answer} {name}"

    assert kernels.patient(start)(name="python3") == "a kernel python3"
    for reason in ("other", execute.NOT_STARTED):
        answers[:] = [RuntimeError(reason), RuntimeError("the second time")]
        with pytest.raises(
            RuntimeError, match=f"^{'other' if reason == 'other' else 'the second'}"
        ):
            kernels.patient(start)(name="python3")


def test_refresh_takes_words_of_paths():
    paths = [ROOT / "book" / name for name in ("theory/zoo.ipynb", "practice/first.ipynb")]
    assert refresh.chosen(paths, []) == paths
    assert refresh.chosen(paths, ["practice", "nothing"]) == paths[1:]
    with pytest.raises(StepError, match="no notebook has zebra or yak in its path"):
        refresh.chosen(paths, ["zebra", "yak"])


def test_refresh_stores_experiments_only_with_data(monkeypatch, tmp_path):
    theory, chapter = ROOT / "book/theory/zoo.ipynb", ROOT / "book/experiments/text.ipynb"
    monkeypatch.setattr(refresh, "experiment_notebooks", lambda: [chapter])
    monkeypatch.setenv("MI_DATA", str(tmp_path))
    assert refresh.allowed([theory, chapter]) == ([theory, chapter], "")
    monkeypatch.delenv("MI_DATA")
    assert refresh.allowed([theory]) == ([theory], "")
    kept, why = refresh.allowed([theory, chapter])
    assert kept == [theory] and "text were not stored. Set MI_DATA" in why
    with pytest.raises(StepError, match="text were not stored. Set MI_DATA"):
        refresh.allowed([chapter])


HOLDER = """
import sys
from pathlib import Path
from tools.stage import make_stage
make_stage(Path(sys.argv[1]), Path(sys.argv[1]) / "_build" / "stage")
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(stage.fcntl is None, reason="this system has no locks of files")
def test_two_commands_do_not_share_a_staging_copy(folder):
    """The second is told which one is first; a killed one holds nothing."""
    (folder / ".gitignore").write_text("")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, folder],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout.readline() == "ready\n"
    mark = folder / "_build" / "stage" / "mark"
    mark.touch()
    with pytest.raises(
        StepError, match=rf"\(process {holder.pid}, .*\) is working in .*stage, and"
    ):
        staged(folder)
    assert mark.is_file(), "the copy of the other is left alone"
    holder.kill()
    holder.communicate()
    assert "page.md" in staged(folder) and not mark.is_file()
    assert "page.md" in staged(folder), "the same command may stage twice"
    late = subprocess.run(holder.args, cwd=ROOT, capture_output=True, text=True)
    assert f"StepError: Another command (process {os.getpid()}, " in late.stderr.splitlines()[-1]


def test_a_refused_command_says_why_without_a_traceback(monkeypatch, capsys):
    def refuse(*_):
        raise StepError("Another command is working")

    for module in (check, refresh):
        monkeypatch.setattr(module, "make_stage", refuse)
    monkeypatch.setattr(sys, "argv", ["refresh", "zoo"])
    assert check.main(["lint"]) == 1 and refresh.main() == 1
    assert capsys.readouterr().out.count("Another command is working") == 2


def test_refresh_keeps_what_was_edited_meanwhile(monkeypatch, tmp_path, capsys):
    """One of two notebooks is saved in an editor while they run."""
    root, copy = tmp_path / "root", tmp_path / "stage"
    paths = [root / f"book/theory/{name}.ipynb" for name in ("a", "b")]
    for path in paths:
        notebooks.write(v4.new_notebook(cells=[v4.new_markdown_cell("old")]), path)
    edited = v4.new_notebook(cells=[v4.new_markdown_cell("edited")])

    def execute_all(runs):
        for run in runs:
            notebooks.write(v4.new_notebook(cells=[v4.new_markdown_cell("executed")]), run.target)
        notebooks.write(edited, paths[1])

    monkeypatch.setattr(refresh, "ROOT", root)
    monkeypatch.setattr(refresh, "STAGE", copy)
    monkeypatch.setattr(refresh, "make_stage", lambda: stage.make_stage(root, copy))
    monkeypatch.setattr(refresh, "plain_notebooks", lambda: paths)
    monkeypatch.setattr(refresh, "experiment_notebooks", list)
    monkeypatch.setattr(refresh, "run_all", execute_all)
    monkeypatch.setattr(refresh, "write_scoreboard", lambda stage: None)
    (root / refresh.SCOREBOARD).parent.mkdir(parents=True)
    (root / refresh.SCOREBOARD).write_text("# Scoreboard\n")
    monkeypatch.setattr(sys, "argv", ["refresh"])
    assert refresh.main() == 1
    text = [notebooks.read(path).cells[0].source for path in paths]
    assert text == ["executed", "edited"]
    said = capsys.readouterr().out
    assert "b.ipynb was edited while it ran" in said and "a.ipynb was" not in said
