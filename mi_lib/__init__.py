"""Exact theory and estimators for neural mutual information, in a package small enough to read.

>>> from mi_lib import finite, infonce_ceiling
>>> round(infonce_ceiling(2.0, 4), 4)                        # bits: the most InfoNCE can report
1.324
>>> round(finite.k_way_jsd((0, 1), (3 / 4, 1 / 4), 4), 4)    # attained by this pair
1.324
"""

from importlib import import_module
from typing import Any

from . import bounds, finite, scoring, symbolic
from .bounds import (
    certified_kl,
    chi_square_floor,
    generalised_dv,
    infonce_ceiling,
    printed_ceiling,
)
from .finite import k_way_jsd
from .scoring import (
    Asymmetric,
    InverseLog,
    Kliep,
    Log,
    Power,
    PseudoSpherical,
    RobustDRE,
    ScoringRule,
    SymmetricInverseLog,
)

__version__ = "0.1.0"

__all__ = [
    "Asymmetric",
    "InverseLog",
    "Kliep",
    "Log",
    "MIEstimator",
    "Power",
    "PseudoSpherical",
    "RobustDRE",
    "ScoringRule",
    "SymmetricInverseLog",
    "bounds",
    "certified_kl",
    "chi_square_floor",
    "conditional_mi",
    "finite",
    "generalised_dv",
    "infonce_ceiling",
    "k_way_jsd",
    "mi_matrix",
    "printed_ceiling",
    "scoring",
    "symbolic",
]


_INFERENCE = ("MIEstimator", "conditional_mi", "mi_matrix")


def __getattr__(name: str) -> Any:
    """Load the practitioner's door when it is opened: it brings scikit-learn along."""
    if name in _INFERENCE:
        return getattr(import_module(".inference", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
