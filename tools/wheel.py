"""The library as its users get it: the wheel alone, beside nothing but what it declares."""

import ast
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.project import BUILD, ROOT, StepError, child_environment, python
from tools.readme import Snippet, snippets, stand_in
from tools.stage import make_stage
from tools.steps import Outcome, stream

FOLDER = BUILD / "wheel"
MOST_LINES = 9_000
EXTRAS = ("figures", "parquet")  # what a user may add; a function may import these
SECONDS = 300  # for one snippet
# Everything in the wheel can be imported with what the wheel declares, and that is all there is.
PROBE = """
import importlib, pkgutil, mi_lib
for module in pkgutil.walk_packages(mi_lib.__path__, "mi_lib."):
    importlib.import_module(module.name)
for name in mi_lib.__all__:
    getattr(mi_lib, name)
print(mi_lib.__file__)
import companion
"""


def wheel() -> Outcome:
    """Build the wheel, look into it, install it in an environment of its own, run README.md."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    # A copy, because setuptools would put what an earlier build left in build/ into the wheel.
    source = make_stage(stage=FOLDER / "source")
    built = build(source)
    files = read_wheel(built)
    check_contents(files, source)
    lines = count_lines(files)
    print(f"{built.name}: {len(files)} files, {lines:,} lines of Python", flush=True)
    requires = [Requirement(one) for one in declared(built)]
    check_imports(files, requires)
    venv = make_environment(built, requires)
    check_alone(venv)
    ran = run_readme((ROOT / "README.md").read_text(encoding="utf-8"), venv)
    return Outcome(note=f"{lines:,} lines (at most {MOST_LINES:,}), {ran} snippets of README.md")


def build(source: Path) -> Path:
    """Make the wheel of a source folder, without a network."""
    options = ("--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check")
    stream(python("-m", "pip", "wheel", source, *options, "-w", FOLDER), "pip wheel")
    (built,) = FOLDER.glob("*.whl")
    return built


def read_wheel(path: Path) -> dict[str, str]:
    """The files of a wheel as text, by name."""
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name).decode(errors="replace") for name in packed.namelist()}


def check_contents(files: Mapping[str, str], source: Path) -> None:
    """All of mi_lib, and nothing else."""
    own = {name for name in files if name.startswith("mi_lib/")}
    strange = {name for name in files if ".dist-info" not in name.split("/")[0]} - own
    if strange:
        raise StepError(
            f"The wheel may hold mi_lib alone, but it has: {', '.join(sorted(strange))}"
        )
    modules = {str(p.relative_to(source)) for p in (source / "mi_lib").rglob("*.py")}
    if missing := modules - own:
        raise StepError(
            f"The wheel lacks {', '.join(sorted(missing))}. A folder without __init__.py is no "
            "package; add one."
        )


def count_lines(files: Mapping[str, str]) -> int:
    """Lines of Python; more than a small library has is an error."""
    lines = sum(len(text.splitlines()) for name, text in files.items() if name.endswith(".py"))
    if lines > MOST_LINES:
        raise StepError(
            f"mi_lib has {lines:,} lines of Python, more than {MOST_LINES:,}. What only the book "
            "needs belongs in companion/."
        )
    return lines


def declared(built: Path) -> list[str]:
    """The requirements in the metadata of a wheel, those of extras too."""
    (distribution,) = metadata.distributions(path=[str(built)])
    return distribution.requires or []


def names_of(requires: Iterable[Requirement], extras: Iterable[str] = ("",)) -> set[str]:
    """The distributions that are needed here with these extras; "" is none."""
    return {
        canonicalize_name(one.name)
        for one in requires
        for extra in extras
        if one.marker is None or one.marker.evaluate({"extra": extra})
    }


def imports(source: str) -> Iterator[tuple[int, str, bool]]:
    """Line, top-level package, and whether a function has it, of every absolute import."""

    def walk(node: ast.AST, inside: bool) -> Iterator[tuple[int, str, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield child.lineno, alias.name.split(".")[0], inside
            elif isinstance(child, ast.ImportFrom) and not child.level:
                yield child.lineno, child.module.split(".")[0], inside
            function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from walk(child, inside or function)

    yield from walk(ast.parse(source), False)


def check_imports(files: Mapping[str, str], requires: list[Requirement]) -> None:
    """What mi_lib imports is declared; what an extra brings is imported inside a function."""
    providers = metadata.packages_distributions()
    needed, optional = names_of(requires), names_of(requires, EXTRAS)
    used, wrong = set(), []
    for name, text in sorted(files.items()):
        for line, package, inside in imports(text) if name.endswith(".py") else ():
            if package == "mi_lib" or package in sys.stdlib_module_names:
                continue
            origins = {canonicalize_name(one) for one in providers.get(package, [package])}
            used |= origins
            if not origins & (optional if inside else needed):
                wrong.append(f"{name}, line {line}: imports {package}")
    if wrong:
        raise StepError(
            "\n".join(
                [
                    *wrong,
                    "These are not in the dependencies of pyproject.toml. Declare them there, or "
                    f"import them inside a function that needs an extra ({', '.join(EXTRAS)}).",
                ]
            )
        )
    if idle := needed - used:
        print(f"declared, but imported nowhere in mi_lib: {', '.join(sorted(idle))}", flush=True)


def closure(requires: Iterable[Requirement]) -> list[metadata.Distribution]:
    """The installed distributions that these requirements bring, and what those bring in turn."""
    waiting = [(one, "") for one in requires]
    found, seen = {}, set()
    while waiting:
        one, extra = waiting.pop()
        if one.marker is not None and not one.marker.evaluate({"extra": extra}):
            continue
        try:
            distribution = metadata.distribution(one.name)
        except metadata.PackageNotFoundError:
            raise StepError(
                f"{one.name} is needed by the wheel and is not installed; run `make env`, and add "
                "it to requirements.txt if it is new"
            ) from None
        name = canonicalize_name(one.name)
        found[name] = distribution
        for inner in {"", *one.extras}:
            if (name, inner) not in seen:
                seen.add((name, inner))
                waiting += [(Requirement(text), inner) for text in distribution.requires or ()]
    return [found[name] for name in sorted(found)]


def make_environment(built: Path, requires: Iterable[Requirement]) -> Path:
    """A new venv that sees the wheel, and links to what the wheel declares.

    Python reads no .pth file in a folder that a .pth file names, so nothing that makes this clone
    importable comes along.
    """
    venv, packages = FOLDER / "venv", FOLDER / "packages"
    packages.mkdir()
    distributions = closure(requires)
    for distribution in distributions:
        place = Path(distribution.locate_file("")).resolve()
        for name in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
            if not name.endswith(".pth") and not (packages / name).exists():
                (packages / name).symlink_to(place / name)
    stream(python("-m", "venv", "--without-pip", venv), "making a venv")
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(venv)}))
    (site / "packages.pth").write_text(f"{packages}\n", encoding="utf-8")
    options = ("--no-deps", "--no-index", "--quiet", "--disable-pip-version-check")
    install = python("-m", "pip", "--python", venv / "bin" / "python", "install", *options, built)
    stream(install, "installing the wheel", clean(venv))
    print(f"installed beside {len(distributions)} packages it needs", flush=True)
    return venv


def clean(venv: Path) -> dict[str, str]:
    """The environment of a shell in which that venv is active."""
    environment = {k: v for k, v in child_environment().items() if not k.startswith("PYTHON")}
    path = f"{venv / 'bin'}{os.pathsep}{environment.get('PATH', os.defpath)}"
    return environment | {"PATH": path, "VIRTUAL_ENV": str(venv)}


def run(
    command: list[object], venv: Path, folder: str, what: str
) -> subprocess.CompletedProcess[str]:
    """A command in a folder, its output kept."""
    try:
        return subprocess.run(
            list(map(str, command)),
            cwd=folder,
            env=clean(venv),
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise StepError(f"{what} was not done after {SECONDS} s; make it smaller.") from None


def check_alone(venv: Path) -> None:
    """The library and its command come from the wheel, all loads, the companion is not there."""
    with tempfile.TemporaryDirectory() as empty:
        done = run([venv / "bin" / "python", "-c", PROBE], venv, empty, "loading mi_lib")
        command = run([venv / "bin" / "mi-lib", "--help"], venv, empty, "mi-lib --help")
    found = done.stdout.strip()
    if not found:
        raise StepError(f"mi_lib does not load from the wheel alone:\n{done.stderr.strip()}")
    if not Path(found).resolve().is_relative_to(venv.resolve()):
        raise StepError(f"mi_lib was loaded from {found}, expected below {venv}")
    if "ModuleNotFoundError: No module named 'companion'" not in done.stderr:
        raise StepError(
            f"`import companion` must fail beside the wheel, but: {done.stderr or 'ok'}"
        )

    if "estimate" not in command.stdout:
        raise StepError(f"`mi-lib --help` does not work:\n{command.stderr.strip()}")


def run_readme(markdown: str, venv: Path) -> int:
    """Run the snippets of a README one after another in one folder, empty at first."""
    found = snippets(markdown)
    chosen = [one for one in found if not one.skip]
    for one in found:
        if one.skip:
            print(f"  line {one.line}: not run ({one.skip}): {one.code.splitlines()[0]}")
    if not any(one.kind == "python" for one in chosen):
        raise StepError("README.md has no ```python block to run; it needs an example.")
    with tempfile.TemporaryDirectory() as folder:
        for one in chosen:
            started = time.perf_counter()
            said = run_snippet(one, venv, folder)
            seconds = time.perf_counter() - started
            print(f"  line {one.line}: {one.kind}, {seconds:.1f} s: {said[0]}", flush=True)
    return len(chosen)


def run_snippet(one: Snippet, venv: Path, folder: str) -> list[str]:
    """Run one snippet and return the lines it printed."""
    what = f"README.md, line {one.line}"
    if one.kind == "python":
        script = FOLDER / "snippets" / f"line_{one.line}.py"
        script.parent.mkdir(exist_ok=True)
        script.write_text(one.code, encoding="utf-8")
        command, good = [venv / "bin" / "python", script], (0,)
    else:
        stand_in(one.code, Path(folder))
        # 1 is an estimate with a warning, which a stand-in for the user's table may well earn.
        command, good = ["sh", "-c", one.code], (0, 1)
    done = run(command, venv, folder, what)
    if done.returncode not in good or "Traceback" in done.stderr:
        raise StepError(f"{what}: exit code {done.returncode}\n{one.code}\n{done.stderr.strip()}")
    if not done.stdout.strip():
        raise StepError(f"{what}: printed nothing; show the reader what comes out.\n{one.code}")
    return done.stdout.strip().splitlines()
