"""Mutual information by contrastive learning: losses, critics, an estimator, exact theory.

>>> import mi_lib
>>> round(mi_lib.infonce_ceiling(2.0, 4), 4)                        # bits: the most InfoNCE reports
1.324
>>> round(mi_lib.finite.k_way_jsd((0, 1), (3 / 4, 1 / 4), 4), 4)    # attained by this pair
1.324

Every name below is loaded when it is first used, so that a person with two encoders does not wait
for scikit-learn, and one with two arrays does not wait for sympy.
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

# Public name -> the module it lives in; a module is its own home.
_HOME = {
    # losses for your own loop, critics, and a loop for your own critic
    "DV": "losses",
    "InfoNCE": "losses",
    "InfoNCEAnchor": "losses",
    "JS": "losses",
    "MINE": "losses",
    "NWJ": "losses",
    "Joint": "critics",
    "Separable": "critics",
    "backward_in_chunks": "gradient_cache",
    "fit_critic": "fit",
    "TABLE_1": "estimators",
    # the practitioner's door
    "MIEstimator": "inference",
    "conditional_mi": "inference",
    "mi_matrix": "inference",
    # what InfoNCE can reach, and what it certifies
    "certified_kl": "ceiling",
    "chi_square_floor": "bounds",
    "generalised_dv": "bounds",
    "infonce_ceiling": "ceiling",
    # exact sums over finite alphabets
    "finite": "",
    "k_way_jsd": "finite",
    # scoring rules
    "InverseLog": "scoring",
    "Kliep": "scoring",
    "Log": "scoring",
    "Power": "scoring",
    "PseudoSpherical": "scoring",
    "RobustDRE": "scoring",
    "ScoringRule": "scoring",
    "SymmetricInverseLog": "scoring",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    """Load a public name at its first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f".{_HOME[name] or name}", __name__)
    value = getattr(home, name) if _HOME[name] else home
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
