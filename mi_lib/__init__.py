"""Exact theory and estimators for neural mutual information, in a package small enough to read.

>>> from mi_lib import finite, infonce_ceiling
>>> round(infonce_ceiling(2.0, 4), 4)                        # bits: the most InfoNCE can report
1.324
>>> round(finite.k_way_jsd((0, 1), (3 / 4, 1 / 4), 4), 4)    # attained by this pair
1.324
"""

from . import bounds, finite, scoring, symbolic
from .bounds import (
    certified_kl,
    chi_square_floor,
    generalised_dv,
    infonce_ceiling,
    printed_ceiling,
)
from .finite import k_way_jsd
from .inference import MIEstimator, conditional_mi, mi_matrix
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
