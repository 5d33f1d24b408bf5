"""A small pretraining, run live, compared with the stored seeds of the same profile.

An encoder that returns a constant leaves the probe to guess: its top-1 accuracy is that of one
class among all.
"""

from dataclasses import asdict

import pandas as pd

from ..data.cifar import pictures
from . import self_supervised
from .live_check import COLUMNS, beside
from .ssl_grid import SETTINGS
from .ssl_tables import TITLES, numbers, stored

LIVE_SEED = 100
LIVE_OBJECTIVES = ("infonce", "anchor", "spherical", "spherical-scaled")


def run_live(profile: str = "ci") -> pd.DataFrame:
    """Pretrain some objectives with a new seed and return the records."""
    config = {
        "kind": "pretrain",
        "settings": asdict(SETTINGS[profile]),
        "objectives": list(LIVE_OBJECTIVES),
        "seeds": [LIVE_SEED],
    }
    return self_supervised.run(config)


def compare(live: pd.DataFrame, profile: str = "ci") -> pd.DataFrame:
    """Each objective: its live top-1 accuracy beside the stored seeds', and how far off it and a
    guess are (see `live_check`)."""
    kept = numbers(stored(profile), "probe", "top-1")
    guess = 100 / pictures(SETTINGS[profile].data).classes
    rows = live[(live["record"] == "probe") & (live["evaluation"] == "top-1")]
    found = {
        TITLES[row.training]: beside(
            [float(row.values)], list(kept.get(row.training, {}).values()), guess
        )
        for row in rows.itertuples()
    }
    return pd.DataFrame.from_dict(found, orient="index", columns=COLUMNS)
