r"""A small live run of a staircase, compared with the stored runs of the same small profile.

The live seeds are none of the stored ones. A critic that learnt nothing reads 0 bits; the
comparison says how far below the stored runs that would be, so that a pass means something.
"""

import math
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
from .staircase import make_run, records
from .staircase_grid import THREE
from .staircase_tables import by_level, find_table, plateaus, results_folder, select, stored

LIVE_SEEDS = (100, 101)
WIDTH = 4.0  # how many standard deviations from the stored mean a live one may be
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
    """Each estimator and level: the live mean of two seeds, the stored mean and sd of one seed, and
    whether the live mean lies inside mean +- `WIDTH` sd; ``zeros``: how many sd a reading of 0 is
    away. Where fewer than two seeds are stored there is no sd, and nothing is inside."""
    kept = plateaus(stored(*live_table(chapter, profile)), "held-out")
    rows = []
    for estimator in ("InfoNCE", "InfoNCE-anchor", "anchor, nu = K"):
        for truth, mine in select(live, estimator).groupby("truth"):
            part = select(kept, estimator).query(f"truth == {truth}")["value"]
            value, mean = mine["value"].mean(), part.mean()
            sd = part.std(ddof=1) if len(part) > 1 else math.nan
            inside = abs(value - mean) <= WIDTH * sd
            rows.append((estimator, truth, value, mean, sd, inside, abs(mean) / sd))
    names = ["estimator", "truth", "live", "mean", "sd", "inside", "zeros"]
    return pd.DataFrame(rows, columns=names)


def said(found: pd.DataFrame) -> str:
    """What a comparison found, in a line."""
    if found["sd"].isna().any():
        return "too few runs of this profile are stored to compare with"
    return f"inside mean +- {WIDTH:g} sd: {found['inside'].sum()} of {len(found)}"


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
