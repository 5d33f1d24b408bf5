r"""A small live run of a staircase, compared with the stored runs of the same small profile.

The live seeds are none of the stored ones. A critic that learnt nothing reads 0 bits; the
comparison says how far below the stored runs that would be, so that a pass means something.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from ..data import available
from ..data.registry import DATA
from ..results import Stored, interval
from ..sweep import COLUMNS
from .decodable import LEVELS
from .decodable import MODULES as DECODING
from .decodable import pieces as decoding_pieces
from .staircase import make_run, records
from .staircase_tables import by_level, find_table, plateaus, results_folder, select, stored

LIVE_SEEDS = (100, 101)
# chapter -> (its data set, what stands in for it)
CHAPTERS = {
    "gaussian": (None, ("gaussian", "ci-gaussian")),
    "mnist": ("mnist", ("tables", "ci-digits")),
    "text": ("imdb", ("tables", "ci-breast-cancer")),
}


def live_table(chapter: str) -> tuple[str, str]:
    """Sweep and table that a chapter runs live: its own data where it is there."""
    data, stand_in = CHAPTERS[chapter]
    if data is None or not (data in DATA and available(data)):
        return stand_in
    return chapter, f"ci-{chapter}"


def run_live(chapter: str) -> pd.DataFrame:
    """Climb the small staircase with two new seeds; return the plateaus on fresh data."""
    experiment, name = live_table(chapter)
    table = replace(find_table(experiment, name), seeds=1, seeds_a_piece=1)
    config = next(table.pieces(experiment)).config | {"seeds": list(LIVE_SEEDS)}
    run = make_run(config, "cpu")
    for _ in run.iterate():
        pass
    frame = pd.DataFrame(records(run), columns=list(COLUMNS))
    rows = frame[frame["record"] == "held-out"]
    values = [np.array(text.split(), float) for text in rows["values"]]
    return by_level(rows.assign(values=values), table.settings.levels)


def compare(chapter: str, live: pd.DataFrame, width: float = 4.0) -> pd.DataFrame:
    """Each estimator and level: the live mean, the stored mean and sd of one seed, and whether the
    live mean lies inside mean +- ``width`` sd; ``zeros``: how many sd a reading of 0 is away."""
    experiment, name = live_table(chapter)
    kept = plateaus(stored(experiment, name), "held-out")
    rows = []
    for estimator in ("InfoNCE", "InfoNCE-anchor", "anchor, nu = K"):
        for truth, part in select(kept, estimator).groupby("truth"):
            mine = select(live, estimator)
            value = mine.loc[mine["truth"] == truth, "value"].mean()
            mean, sd = part["value"].mean(), part["value"].std(ddof=1)
            inside = abs(value - mean) <= width * sd
            rows.append((estimator, truth, value, mean, sd, inside, abs(mean) / sd))
    names = ["estimator", "truth", "live", "mean", "sd", "inside", "zeros"]
    return pd.DataFrame(rows, columns=names)


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
