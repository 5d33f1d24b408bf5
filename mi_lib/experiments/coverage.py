"""More fits of our estimator on the suite, so that coverage rests on more than 200 of them.

``python -m mi_lib sweep coverage`` adds seeds to the pieces ``ours`` of the sweep `suite`, without
running its rivals again. One piece is one seed on one half.
"""

from pathlib import Path
from typing import Any

import pandas as pd

from ..sweep import Piece
from ..validate import one_of
from . import suite

MODULES = (*suite.MODULES, "mi_lib.experiments.coverage")
MORE_SEEDS = {"ci": 1, "laptop": 1, "paper": 2}


def pieces(name: str, profile: str) -> list[Piece]:
    """The pieces of the sweep ``coverage``: the seeds that follow those of ``suite``."""
    given = suite.PROFILES[one_of("profile", profile, suite.PROFILES)]
    common = {"n": given["n"], "steps": given["steps"], "method": "ours", "sweep": name}
    first = given["seeds"]
    return [
        Piece(name, f"{profile}-{half}-seed{seed:02}", common | {"half": half, "seeds": [seed]})
        for seed in range(first, first + MORE_SEEDS[profile])
        for half in given["halves"]
    ]


def run(config: dict[str, Any], device: str, checkpoint: Path) -> pd.DataFrame:
    """One piece, run as the suite runs it."""
    return suite.run(config | {"sweep": "suite"}, device, checkpoint)
