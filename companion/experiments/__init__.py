"""The paper's experiments: each module lists its pieces and runs one of them.

A module offers ``pieces(name, profile)``, ``run(config, device=, checkpoint=)`` and ``MODULES``,
the modules whose code decides its numbers (by sweep, where it runs several).
"""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any

from mi_lib.objectives import CONTRASTS
from mi_lib.validate import one_of

# name of a sweep -> the module that runs it
SWEEPS: Mapping[str, str] = MappingProxyType(
    {
        "gaussian": "staircase",
        "gaussian-more": "staircase",
        "mnist": "staircase",
        "text": "staircase",
        "tables": "staircase",
        "ablations": "staircase",
        "directions": "staircase",
        "slopes": "slopes",
        "decodable": "decodable",
        "self-supervised": "self_supervised",
        "proteins": "proteins",
        "protein-looks": "proteins",
        "suite": "suite",
        "ours": "estimator_runs",
        "independence": "estimator_runs",
        "tuning": "tuning",
    }
)

# What the losses of a sweep contrasted before configurations said so; elsewhere it was x.
BEFORE: Mapping[str, str] = MappingProxyType(
    {"self-supervised": "both", "ours": "both", "independence": "both"}
)


def contrast_of(name: str, config: Mapping[str, Any]) -> str:
    """The side that a stored configuration contrasts; an old one does not say it.

    >>> contrast_of("gaussian", {}), contrast_of("self-supervised", {})
    ('x', 'both')
    """
    one_of("sweep", name, SWEEPS)
    return one_of("contrast", config.get("contrast", BEFORE.get(name, "x")), CONTRASTS)


def experiment(name: str) -> ModuleType:
    """The module that runs the sweep of that name."""
    return import_module(f".{SWEEPS[one_of('sweep', name, SWEEPS)]}", __name__)


def modules_of(name: str) -> tuple[str, ...]:
    """The modules whose code decides the numbers of a sweep."""
    modules = experiment(name).MODULES
    return modules[name] if isinstance(modules, Mapping) else modules
