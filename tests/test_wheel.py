"""What step `wheel` of `make test` refuses, and which snippets of a README it runs."""

import pytest
from packaging.requirements import Requirement

from tools import readme, wheel
from tools.project import StepError

PAGE = """# A page

```sh
make book
$ mi-lib estimate t.csv \\
    --x a,b --y c
```

Run `python -m mi_lib estimate` or `python -m mi_lib estimate u.csv --x a --y b` in a shell.

```python
print("```")
```

```text
```python no fence inside another language
```

  ```python no-run
  fit(your_encoder)
  ```
"""
REQUIRES = [
    Requirement(one)
    for one in (
        "numpy>=1",
        "scikit-learn",
        "matplotlib; extra == 'figures'",
        "seaborn; extra == 'book'",
        "pandas; python_version < '3'",
    )
]


def test_the_snippets_of_a_page_come_in_its_order():
    found = [(one.line, one.kind, one.code, one.skip) for one in readme.snippets(PAGE)]
    assert found == [
        (3, "shell", "make book", "no command of the library"),
        (3, "shell", "mi-lib estimate t.csv      --x a,b --y c", ""),
        (9, "shell", "python -m mi_lib estimate u.csv --x a --y b", ""),
        (11, "python", 'print("```")\n', ""),
        (19, "python", "fit(your_encoder)\n", "marked no-run"),
    ]


def test_a_block_that_is_not_closed_is_refused():
    with pytest.raises(ValueError, match="opened in line 2 is not closed"):
        readme.snippets("text\n```python\nprint(1)\n")


def test_a_table_stands_in_for_the_users_but_replaces_none(tmp_path):
    readme.stand_in("mi-lib estimate t.csv --x a,b --y=c  # comment", tmp_path)
    head, *rows = (tmp_path / "t.csv").read_text().splitlines()
    assert head == "a,b,c"
    assert len(rows) == readme.ROWS and all(row.count(",") == 2 for row in rows)
    (tmp_path / "u.csv").write_text("mine")
    readme.stand_in("mi-lib estimate u.csv --x a --y b", tmp_path)
    assert (tmp_path / "u.csv").read_text() == "mine"
    readme.stand_in("mi-lib --help", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv", "u.csv"]


def test_a_wheel_holds_all_of_the_library_and_nothing_else(tmp_path):
    for name in ("mi_lib/__init__.py", "mi_lib/inner/part.py", "companion/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    whole = dict.fromkeys(("mi_lib/__init__.py", "mi_lib/inner/part.py", "a-1.dist-info/X"), "")
    wheel.check_contents(whole, tmp_path)
    with pytest.raises(StepError, match="mi_lib alone, but it has: companion/__init__.py"):
        wheel.check_contents(whole | {"companion/__init__.py": ""}, tmp_path)
    del whole["mi_lib/inner/part.py"]
    with pytest.raises(StepError, match="lacks mi_lib/inner/part.py"):
        wheel.check_contents(whole, tmp_path)


def test_a_library_that_is_no_longer_small_is_refused():
    files = {"mi_lib/a.py": "\n" * wheel.MOST_LINES, "x.dist-info/RECORD": "\n" * 50}
    assert wheel.count_lines(files) == wheel.MOST_LINES
    with pytest.raises(StepError, match="belongs in companion/"):
        wheel.count_lines(files | {"mi_lib/b.py": "pass\n"})


@pytest.mark.parametrize(
    ("source", "bad"),
    [
        ("import os\nimport numpy.linalg\nfrom sklearn.base import clone\nfrom . import x\n", ""),
        ("def plot():\n    import matplotlib.pyplot\n", ""),
        ("import matplotlib.pyplot\n", "matplotlib"),
        ("class A:\n    import matplotlib\n", "matplotlib"),
        ("def plot():\n    import seaborn\n", "seaborn"),
        ("try:\n    from pandas import DataFrame\nexcept ImportError:\n    pass\n", "pandas"),
        ("import not_to_be_found\n", "not_to_be_found"),
    ],
)
def test_an_import_is_declared_or_belongs_to_an_extra_and_a_function(source, bad):
    files = {"mi_lib/a.py": source, "x.dist-info/METADATA": "import nothing"}
    if not bad:
        wheel.check_imports(files, REQUIRES)
        return
    with pytest.raises(StepError, match=f"mi_lib/a.py, line [12]: imports {bad}\nThese are not in"):
        wheel.check_imports(files, REQUIRES)


def test_what_is_needed_is_followed_to_the_end_and_no_further():
    """torch needs jinja2, which needs markupsafe; pytest nobody here needs."""
    names = {one.name.lower() for one in wheel.closure([Requirement("torch"), REQUIRES[2]])}
    assert {"torch", "jinja2", "markupsafe"} <= names
    assert not names & {"matplotlib", "pytest", "mi-lib"}
    with pytest.raises(StepError, match="not-to-be-found is needed by the wheel"):
        wheel.closure([Requirement("not-to-be-found")])


def test_a_readme_without_an_example_is_refused(tmp_path):
    with pytest.raises(StepError, match="needs an example"):
        wheel.run_readme("```python no-run\nprint(1)\n```\n", tmp_path)


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("print(1)", ""),
        ("1 + 1", "printed nothing"),
        ("print(1)\nnobody_defined_me", "exit code 1(.|\n)*NameError"),
        ("print(1)\nraise SystemExit(3)", "exit code 3"),
    ],
)
def test_a_snippet_runs_to_its_end_and_says_something(tmp_path, monkeypatch, code, complaint):
    monkeypatch.setattr(wheel, "FOLDER", tmp_path)
    monkeypatch.setattr(wheel, "run", same_python(wheel.run))
    page = f"```python\n{code}\n```\n"
    if not complaint:
        assert wheel.run_readme(page, tmp_path) == 1
        return
    with pytest.raises(StepError, match=f"README.md, line 1: {complaint}"):
        wheel.run_readme(page, tmp_path)


def same_python(run):
    """The runner, with this Python in place of that of a venv."""
    return lambda command, *rest: run([*wheel.python(), *command[1:]], *rest)
