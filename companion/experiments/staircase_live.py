r"""A small live run of a staircase, compared with the stored runs of the same small profile.

The live seeds are none of the stored ones. A critic that returns zeros reads 0 bits.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from mi_lib.validate import one_of

from ..data import available
from ..results import Stored, interval
from ..sweep import COLUMNS
from .decodable import LEVELS
from .decodable import MODULES as DECODING
from .decodable import pieces as decoding_pieces
from .live_check import COLUMNS as COMPARED
from .live_check import beside
from .staircase import make_run, records
from .staircase_grid import THREE
from .staircase_tables import by_level, find_table, plateaus, results_folder, select, stored

LIVE_SEEDS = (100, 101)
# chapter -> its data set, its table by profile, and what stands in for it where the data is absent
CHAPTERS = {
    "gaussian": (
        None,
        {"ci": "ci-gaussian", "laptop": "laptop-b64", "paper": "paper-b64"},
        ("gaussian", "ci-gaussian"),
    ),
    "mnist": (
        "mnist",
        {"ci": "ci-mnist", "laptop": "laptop", "paper": "paper"},
        ("tables", "ci-digits"),
    ),
    "text": (
        "imdb",
        {"ci": "ci-text", "laptop": "laptop", "paper": "paper"},
        ("tables", "ci-breast-cancer"),
    ),
}


def live_table(chapter: str, profile: str = "ci") -> tuple[str, str]:
    """Sweep and table that a chapter runs live: its own data where it is there, otherwise a small
    table that stands in, whatever the profile."""
    data, names, stand_in = CHAPTERS[chapter]
    name = names[one_of("profile", profile, names)]
    return (chapter, name) if data is None or available(data) else stand_in


def run_live(chapter: str, profile: str = "ci") -> pd.DataFrame:
    """Climb the staircase of a profile with two new seeds, trained with InfoNCE and with the anchor
    at nu = 1 and nu = K; return the plateaus on fresh data."""
    experiment, name = live_table(chapter, profile)
    table = find_table(experiment, name)
    settings = replace(table.settings, trainings=THREE)
    table = replace(table, settings=settings, seeds=1, seeds_a_piece=1, trainings_a_piece=99)
    config = next(table.pieces(experiment)).config | {"seeds": list(LIVE_SEEDS)}
    run = make_run(config, "cpu")
    for _ in run.iterate():
        pass
    frame = pd.DataFrame(records(run), columns=list(COLUMNS))
    rows = frame[frame["record"] == "held-out"]
    values = [np.array(text.split(), float) for text in rows["values"]]
    return by_level(rows.assign(values=values), settings.levels)


def compare(chapter: str, live: pd.DataFrame, profile: str = "ci") -> pd.DataFrame:
    """Each estimator and level: the live mean of two seeds beside the stored mean and deviation of
    one seed, and how far off it and a reading of 0 bits are (see `live_check`)."""
    kept = plateaus(stored(*live_table(chapter, profile)), "held-out")
    rows = {}
    for estimator in ("InfoNCE", "InfoNCE-anchor", "anchor, nu = K"):
        for truth, mine in select(live, estimator).groupby("truth"):
            part = select(kept, estimator).query(f"truth == {truth}")["value"]
            rows[estimator, truth] = beside(mine["value"], part, 0.0)
    index = pd.MultiIndex.from_tuples(rows, names=["estimator", "truth"])
    return pd.DataFrame(list(rows.values()), index, columns=COMPARED)


def decoding() -> Stored:
    """The stored decoding of the text benchmark: one piece a classifier."""
    return Stored(tuple(decoding_pieces("decodable", "laptop")), results_folder(), DECODING)


def decodable_band() -> pd.DataFrame:
    """Bits that classifiers decode from unseen reviews: by level, over classifiers and folds.

    Columns: truth (nominal), mean, low and high (the lowest and the highest classifier mean) and
    the 95 % interval over folds of the best classifier.
    """
    rows = decoding().records
    values = rows[rows["record"] == "decoded"].groupby("training")["values"].apply(np.stack)
    means = np.stack([folds.mean(0) for folds in values])
    best = values.iloc[int(means.mean(1).argmax())]
    spans = [interval(best[:, level]) for level in range(len(LEVELS))]
    return pd.DataFrame(
        {
            "truth": LEVELS,
            "mean": means.mean(0),
            "low": means.min(0),
            "high": means.max(0),
            "best low": [span.low for span in spans],
            "best high": [span.high for span in spans],
        }
    )
