"""Imports go one way, and everything public says what it is."""

import ast
import functools
import importlib
import inspect
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import mi_lib

ROOT = Path(mi_lib.__file__).parents[1]

# A module uses only layers before its own; a folder is one layer. A new file needs a place here.
LAYERS = [
    "mi_lib.validate",
    "mi_lib.devices",
    "mi_lib.archives",
    "mi_lib.ceiling",
    "mi_lib.bounds",
    "mi_lib.scoring",
    "mi_lib.symtorch",
    "mi_lib.normal_form",
    "mi_lib.alphabet",
    "mi_lib.finite",
    "mi_lib.objectives",
    "mi_lib.objective_variants",
    "mi_lib.ranks",
    "mi_lib.losses",
    "mi_lib.estimators",
    "mi_lib.diagnostics",
    "mi_lib.streams",
    "mi_lib.batches",
    "mi_lib.gradient_cache",
    "mi_lib.checkpoints",
    "mi_lib.critics",
    "mi_lib.critic_fit",
    "mi_lib.training",
    "mi_lib.fit",
    "mi_lib.inference",
    "mi_lib",
    "mi_lib.__main__",
    "companion.symbolic",
    "companion.arbitrary_rules",
    "companion.adversary",
    "companion.alpha_map",
    "companion.rules",
    "companion.tex_table",
    "companion.batches",
    "companion.gaussian_pair",
    "companion.table_1",
    "companion.by_definition",
    "companion.printed_bound",
    "companion.balls",
    "companion.witness",
    "companion.cards",
    "companion.margins",
    "companion.ledger",
    "companion.judgement",
    "companion.scoreboard",
    "companion.scoreboard_page",
    "companion.rerun",
    "companion.landscape",
    "companion.scale",
    "companion.ratio_distribution",
    "companion.evaluation",
    "companion.training",
    "companion.directed",
    "companion.figures",
    "companion.data",
    "companion.provenance",
    "companion.sealed",
    "companion.ownership",
    "companion.progress",
    "companion.workers",
    "companion.stored",
    "companion.sweep",
    "companion.results",
    "companion.experiments",
    "companion.claims",
    "companion",
    "companion.__main__",
]
PACKAGES = ("mi_lib", "companion")


def modules():
    files = [
        p.relative_to(ROOT).with_suffix("") for k in PACKAGES for p in (ROOT / k).rglob("*.py")
    ]
    return sorted(".".join(file.parts).removesuffix(".__init__") for file in files)


MODULES = modules()


def path_of(module):
    folder = ROOT.joinpath(*module.split("."))
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def layer_of(module):
    return ".".join(module.split(".")[:2])


@functools.cache
def imports_of(module):
    """The modules of this package that a module imports, anywhere in its file."""
    path = path_of(module)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                above = ".".join(parents[: len(parents) - node.level + 1])
                base = f"{above}.{base}".rstrip(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                found.add(inner if inner in MODULES else base)
    return {name for name in found if name.split(".")[0] in (*PACKAGES, "book", "tools", "tests")}


def test_every_module_has_its_layer():
    assert [module for module in MODULES if layer_of(module) not in LAYERS] == []


@pytest.mark.parametrize("module", MODULES)
def test_a_module_uses_only_layers_below_its_own(module):
    own = layer_of(module)
    allowed = LAYERS[: LAYERS.index(own)]
    if own != module or path_of(module).name == "__init__.py":
        allowed = [*allowed, own]  # one folder
    assert [used for used in imports_of(module) if layer_of(used) not in allowed] == []


def test_the_library_knows_nothing_of_the_book():
    library = [module for module in MODULES if module.split(".")[0] == "mi_lib"]
    others = {used for module in library for used in imports_of(module)}
    assert {name.split(".")[0] for name in others} == {"mi_lib"}
    companions = {used for module in MODULES for used in imports_of(module)}
    assert {name.split(".")[0] for name in companions} == set(PACKAGES)


def test_no_two_modules_need_each_other():
    graph = {module: imports_of(module) - {module} for module in MODULES}
    assert len(list(TopologicalSorter(graph).static_order())) >= len(MODULES)


def test_the_registry_of_claims_knows_no_chapter():
    assert imports_of("companion.claims.registry") == {"mi_lib.validate", "companion.judgement"}
    chapters = {module for module in MODULES if module.startswith("companion.claims.")}
    for module in chapters:
        assert "companion.claims" not in imports_of(module), module


def test_the_import_reader_sees_imports():
    """So that the tests above cannot pass by seeing nothing."""
    assert imports_of("mi_lib.ceiling") == {"mi_lib.validate"}
    assert {"mi_lib.bounds", "mi_lib.alphabet", "mi_lib.scoring"} <= imports_of("mi_lib.finite")
    assert "mi_lib.ceiling" in imports_of("companion.printed_bound")
    assert "companion.scoreboard" in imports_of("companion.__main__")
    assert "mi_lib.inference.command" in imports_of("mi_lib.__main__")


def test_symbolic_shares_nothing_with_scoring():
    """Comparing the two means something only then."""
    assert imports_of("companion.symbolic") == {"mi_lib.normal_form"}
    assert imports_of("mi_lib.normal_form") == set()
    assert imports_of("mi_lib.scoring") == {"mi_lib.validate"}


@pytest.mark.parametrize("package", ["mi_lib", "companion.claims"])
def test_public_names_exist_and_are_documented(package):
    module = importlib.import_module(package)
    assert sorted(set(module.__all__)) == list(module.__all__)
    for name in module.__all__:
        assert inspect.getdoc(getattr(module, name)), f"{package}.{name} has no docstring"


@pytest.mark.parametrize("module", MODULES)
def test_every_module_function_and_class_has_a_docstring(module):
    tree = ast.parse(path_of(module).read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), f"{module} has no docstring"
    missing = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert missing == []
