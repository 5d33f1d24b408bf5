"""A stored result knows the code that made it: moves do not count, numbers do."""

import contextlib
import os
import re
import subprocess
from pathlib import Path

import pytest

from companion import provenance
from companion.experiments import SWEEPS, modules_of

HASHED = sorted({module for name in SWEEPS for module in modules_of(name)})


def source(module):
    return provenance._source(module)


def moved(text):
    """The same module in another package: every import of our own is spelt anew."""
    text = re.sub(r"^(\s*)from \.+(\w*)", r"\1from companion.somewhere.\2", text, flags=re.M)
    text = text.replace("companion.somewhere. import", "companion.somewhere import")
    text = re.sub(r'"(mi_lib|companion)\.', '"elsewhere.', text)
    return re.sub(r"^(\s*from) (mi_lib|companion)\b", r"\1 companion.deeper", text, flags=re.M)


@pytest.mark.parametrize("module", HASHED)
def test_a_moved_module_has_the_same_hash(module):
    text = source(module)
    new = moved(text)
    assert provenance.meaning(new) == provenance.meaning(text)


def test_the_simulated_move_changes_the_files():
    """So that the test above cannot pass by comparing a text with itself."""
    changed = [module for module in HASHED if moved(source(module)) != source(module)]
    assert len(changed) > len(HASHED) / 2


@pytest.mark.parametrize("module", HASHED)
def test_a_changed_number_is_noticed(module):
    text = source(module)
    for line, row in enumerate(text.splitlines()):
        code = row.split("#")[0]
        if re.match(r"[A-Z_]+(: [^=]+)? = \d", code):  # a constant of the module
            rows = text.splitlines()
            rows[line] = re.sub(r"= (\d)", lambda m: f"= {(int(m[1]) + 1) % 10}", row, count=1)
            changed = "\n".join(rows)
            assert provenance.meaning(changed) != provenance.meaning(text), row
            return
    changed = text + "\nADDED = 1\n"
    assert provenance.meaning(changed) != provenance.meaning(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1\n", "x = 2\n"),
        ("x = a - b\n", "x = b - a\n"),
        ("if a:\n    x = 1\ny = 2\n", "if a:\n    x = 1\n    y = 2\n"),
        ('x = f"{a} {b}"\n', 'x = f"{a} {c}"\n'),
        ('x = f"{a:.3f}"\n', 'x = f"{a:.4f}"\n'),
        ("from .a import f\n", "from .a import g\n"),
        ("from .a import f\n", "from .a import g as f\n"),
        ("from numpy import f\n", "from scipy import f\n"),
        ('x = "a  b"\n', 'x = "a b"\n'),
        ("def f():\n    return 1\n", "def f():\n    return 1.0\n"),
    ],
)
def test_what_decides_a_number_counts(one, other):
    assert provenance.meaning(one) != provenance.meaning(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1\n", "x  =  1  # one\n"),
        ("x = f(1, 2)\n", "x = f(\n    1,\n    2\n)\n"),
        ("def f():\n    return 1\n", 'def f():\n    """One."""\n\n    return 1\n'),
        ("class A:\n    x: int = 1\n", 'class A:\n  """An A."""\n  x: int = 1\n  """its x"""\n'),
        ("from .a import f\nfrom .b import g\n", "from mi_lib.c import g, f\n"),
        ("def f():\n    from .a import g\n    g()\n", "def f():\n    from ..b import g\n    g()\n"),
        ('MODULES = ("mi_lib.a",)\nx = 1\n', 'MODULES: tuple = ("companion.b",)\nx = 1\n'),
        ('s = "é"\nfrom .a import f\n', 'from mi_lib import f\ns = "é"\n'),
    ],
)
def test_spelling_and_places_do_not_count(one, other):
    assert provenance.meaning(one) == provenance.meaning(other)


def test_the_order_and_names_of_modules_do_not_count():
    one, two = "x = 1\n", "y = 2\n"
    assert provenance.sources_hash([one, two]) == provenance.sources_hash([two, one])
    assert provenance.sources_hash([one, two]) != provenance.sources_hash([one, one])


def test_an_unknown_module_is_named():
    with pytest.raises(ValueError, match="mi_lib.nothing"):
        provenance.code_hash(["mi_lib.nothing"])


def interpreter(version):
    """A Python of that version that runs: on the path, or one that pyenv keeps aside."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for name in (f"python{version}", *versions.glob(f"{version}.*/bin/python")):
        with contextlib.suppress(OSError):
            if subprocess.run([name, "-c", ""], capture_output=True).returncode == 0:
                return name
    return None


PYTHONS = [found for version in ("3.11", "3.12", "3.13") if (found := interpreter(version))]


@pytest.mark.parametrize("python", PYTHONS, ids=str)
def test_every_python_gives_the_same_hash(python):
    """The file needs the standard library alone, so a Python without torch can be asked."""
    files = [provenance.find_spec(module).origin for module in HASHED]
    code = (
        "import runpy, sys; p = runpy.run_path(sys.argv[1]); "
        "print(p['sources_hash'](open(f, encoding='utf-8').read() for f in sys.argv[2:]))"
    )
    asked = [python, "-c", code, provenance.__file__, *files]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.stdout.strip() == provenance.code_hash(HASHED), done.stderr


def test_the_hash_of_a_text_is_this_on_every_python():
    """CI runs the tests on three versions: a literal compares them where only one is installed."""
    text = (
        '"""Doc."""\n\nfrom .a import f as g\n\n\ndef h(x, *, y=1e-3):\n    # why\n'
        '    return f"{g(x):>{10}} {{é}} {y!r}" if x else (\n        g(x), y)\n'
    )
    assert provenance.sources_hash([text, "x = 1\n"]) == "1badd329029a"
