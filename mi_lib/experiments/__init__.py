"""The paper's experiments: each module lists its pieces and runs one of them.

A module offers ``pieces(name, profile)``, ``run(config, device=, checkpoint=)`` and ``MODULES``,
the modules whose code decides its numbers.
"""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType, ModuleType

from ..validate import one_of

# name of a sweep -> the module that runs it
SWEEPS: Mapping[str, str] = MappingProxyType(
    {name: "staircase" for name in ("gaussian", "mnist", "text", "tables", "ablations")}
    | {"independence": "suite", "suite": "suite"}
)


def experiment(name: str) -> ModuleType:
    """The module that runs the sweep of that name."""
    return import_module(f".{SWEEPS[one_of('sweep', name, SWEEPS)]}", __name__)
