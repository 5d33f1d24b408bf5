"""The commands fail when they must, and say why: run on a tiny project in a folder with spaces."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

ROOT = Path(__file__).resolve().parents[1]
COPIED = (
    "tools",
    "book/_static",
    "tests/conftest.py",
    "tests/test_notebooks.py",
    "tests/nbval_sanitize.cfg",
    "_config.yml",
    "pyproject.toml",
)
FILES = {
    "_toc.yml": "format: jb-book\nroot: book/intro\nchapters:\n"
    "  - file: book/theory/chapter\n  - file: book/reference/scoreboard\n",
    "book/intro.md": "# Intro\n\nSee {ref}`claim-one`.\n",
    "book/references.bib": "",
    "book/reference/scoreboard.md": "# Scoreboard\n\nClaim one holds.\n",
    "mi_lib/__init__.py": "",
    "companion/__init__.py": "",
    "companion/__main__.py": "import pathlib, sys\n"
    "page = pathlib.Path(sys.argv[3], 'book/reference/scoreboard.md')\n"
    "page.write_text('# Scoreboard\\n\\nClaim one holds.\\n')\n",
}


def printed(text):
    return [v4.new_output("stream", name="stdout", text=text)]


def chapter():
    """A notebook with one claim, as `make refresh` would store it."""
    notebook = v4.new_notebook(
        cells=[
            v4.new_markdown_cell("# Chapter"),
            v4.new_code_cell("k = 4", execution_count=1, metadata={"tags": ["parameters"]}),
            v4.new_markdown_cell("(claim-one)=\n## Claim one"),
            v4.new_code_cell(
                'print(f"{k / 3:.4f}")  # claims.show("one")',
                execution_count=2,
                outputs=printed("1.3333\n"),
            ),
        ]
    )
    notebook.metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
    notebook.metadata["kernelspec"] = {"display_name": "Python 3", "name": "python3"}
    return notebook


class Project:
    """A copy of the tools with a book of two pages."""

    def __init__(self, folder):
        self.folder = folder
        for name in COPIED:
            source, target = ROOT / name, folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
        for name, text in FILES.items():
            self.write(name, text)
        self.store(chapter())

    def write(self, name, text):
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def store(self, notebook, name="book/theory/chapter.ipynb"):
        self.write(name, nbformat.writes(notebook))

    def run(self, *arguments, **variables):
        """Exit code and output of `python -m …` in the project."""
        dropped = ("MI_", "PYTEST_", "COV_")
        clean = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
        # Plugins that no test of the tiny project uses take a second to load in each child.
        clean["PYTEST_ADDOPTS"] = "-p no:hypothesispytest -p no:jaxtyping -p no:anyio"
        done = subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=self.folder,
            env={**clean, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.returncode, done.stdout

    def fails(self, step, *reasons, **variables):
        """The step fails and its reasons are on the last lines."""
        status, output = self.run("tools.check", step, **variables)
        assert status == 1, output
        last = output.split(f"The step '{step}' failed.")[-1]
        assert all(reason in last for reason in reasons), output
        return output


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "a folder with spaces")


@pytest.mark.slow
def test_a_good_project_passes(project):
    """Without this, the failures below could have any cause."""
    status, output = project.run("tools.check", "unit", "notebooks", "experiments", "book")
    assert status == 0, output
    assert "All steps done." in output
    assert "no experiment chapters yet" in output
    assert (project.folder / "_build/html/book/theory/chapter.html").is_file()


def test_unfit_notebooks_fail(project):
    """An error output and an unexecuted cell, each in a chapter."""
    error = chapter()
    error.cells[3].outputs = [
        v4.new_output("error", ename="ValueError", evalue="it broke", traceback=[])
    ]
    error.cells[3].source = "raise ValueError('it broke')"
    project.store(error, "book/theory/error.ipynb")
    unexecuted = chapter()
    unexecuted.cells[3].execution_count = None
    unexecuted.cells[3].source = "k + 1"
    project.store(unexecuted, "book/theory/unexecuted.ipynb")
    project.fails(
        "unit",
        "stores an error: ValueError: it broke",
        "was not executed top to bottom: its execution counts are [1, None]",
        "2 failed",
    )


def test_a_changed_digit_fails(project):
    notebook = chapter()
    notebook.cells[3].outputs = printed("1.3334\n")
    project.store(notebook)
    project.fails("notebooks", "chapter.ipynb::Cell 1")


def test_a_broken_cross_reference_fails(project):
    project.write("book/intro.md", "# Intro\n\nSee {ref}`claim-two`.\n")
    project.fails("book", "undefined label: 'claim-two'")


def test_a_claim_that_disagrees_fails(project):
    project.write("companion/__main__.py", "raise SystemExit('claim one: refuted, not holds')\n")
    project.fails("book", "claim one: refuted, not holds")


def test_an_outdated_scoreboard_fails(project):
    project.write("book/reference/scoreboard.md", "# Scoreboard\n\nClaim one is refuted.\n")
    project.fails("book", "scoreboard.md is out of date: run `make refresh`")


def test_strict_refuses_a_skip_but_not_a_missing_gpu(project):
    project.write(
        "tests/test_notebooks.py",
        "import pytest\n\n\n@pytest.mark.gpu\ndef test_gpu():\n    assert True\n\n\n"
        "def test_page():\n    pytest.skip('no browser')\n",
    )
    status, output = project.run("pytest", MI_STRICT="1", CUDA_VISIBLE_DEVICES="", CI="1")
    assert status == 1, output
    assert "1 failed, 1 skipped" in output
    assert "MI_STRICT=1 turns this skip into a failure: Skipped: no browser" in output
    assert "gpu: this machine has no CUDA device" in output


def test_an_unknown_parameter_is_an_error(project):
    path = "book/theory/chapter.ipynb"
    status, output = project.run("tools.execute", path, "out.ipynb", ".", '{"profil": "ci"}')
    assert status == 1
    assert "has no parameter profil" in output and "defines: k" in output


@pytest.mark.slow
def test_refresh_is_repeatable_and_experiments_are_compared(project, tmp_path):
    """One experiment chapter in both data states, from nothing to a failing digit."""
    hidden, ignored = {"tags": ["remove-cell"]}, {"tags": ["nbval-ignore-output"]}
    experiment = v4.new_notebook(
        cells=[
            v4.new_code_cell('profile = "ci"', metadata={"tags": ["parameters"]}),
            v4.new_code_cell(
                "import os\n\nfolder = os.environ.get('MI_DATA')\n"
                "files = len(os.listdir(folder)) if folder else 0\nprint(files)",
                metadata=ignored,
            ),
            v4.new_code_cell("assert files < 2", metadata=hidden),
            v4.new_code_cell("print(profile, 5)"),
        ]
    )
    data = tmp_path / "data"
    data.mkdir()
    (data / "table.csv").write_text("1\n")
    path = project.folder / "book/experiments/trial.ipynb"
    project.store(experiment, "book/experiments/trial.ipynb")
    project.fails("experiments", "book/experiments/trial.ipynb stores no outputs to compare with")

    status, output = project.run("tools.refresh", "trial")
    assert status == 1 and "trial were not stored. Set MI_DATA" in output, output
    status, output = project.run("tools.refresh", MI_DATA=str(data))
    assert status == 0 and "stored book/experiments/trial.ipynb" in output, output
    stored = path.read_text()
    assert '"1\\n"' in stored and "ci 5\\n" in stored and "injected" not in stored
    status, output = project.run("tools.refresh")
    assert status == 0 and "Nothing changed." in output, output
    assert "trial were not stored. Set MI_DATA" in output and path.read_text() == stored

    status, output = project.run("tools.check", "experiments", MI_DATA=str(data))
    assert status == 0 and "nodata: 4 passed; data: 4 passed" in output, output
    path.write_text(stored.replace("ci 5\\n", "ci 7\\n"))
    project.fails("experiments", "trial.ipynb::Cell 3", "1 failed, 3 passed", MI_DATA=str(data))


def test_a_failing_cell_fails_the_book(project):
    notebook = chapter()
    notebook.cells[3].source = "1 / 0"
    project.store(notebook)
    status, output = project.run("tools.book")
    assert status == 1
    assert "Cell [2] raised ZeroDivisionError" in output.splitlines()[-1]
