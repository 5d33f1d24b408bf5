"""The claim of the text chapter that needs no training: what the embeddings let one decode."""

import numpy as np

from ..experiments.staircase_live import decoding
from ..results import interval
from .experimental import when_complete
from .registry import Part, claim, extreme

# Published plateau means of the benchmark, text, joint critic, one run each (Lee and Rhee, 2024).
PUBLISHED = {"DV": (1.78, 3.61, 5.43, 7.27, 8.97), "MINE": (1.78, 3.59, 5.41, 7.22, 8.95)}
NOMINAL = (2.0, 4.0, 6.0, 8.0, 10.0)


@claim(
    "text-decodable",
    item="The text benchmark's truth (ours)",
    statement="The best of three classifiers decodes less than the nominal information from "
    "vectors that it was not trained on, at every level, and the published DV and MINE readings "
    "lie within 0.1 bit of what it decodes.",
    page="experiments/text",
    recorded="reproduced",
    twin={"nominal": True},
    twin_says="within 0.1 bit of the nominal value",
)
def decodable(nominal: bool = False) -> list[Part]:
    """Five folds of each classifier; the best one by its mean over levels is compared."""
    table = decoding()

    def check() -> list[Part]:
        rows = table.records[table.records["record"] == "decoded"]
        folds = rows.groupby("training")["values"].apply(np.stack)
        name = max(folds.index, key=lambda key: folds[key].mean())
        best = [interval(folds[name][:, level]) for level in range(len(NOMINAL))]
        short = [(t - b.high, f"{t:g} bits") for t, b in zip(NOMINAL, best, strict=True)]
        aim = NOMINAL if nominal else [b.mean for b in best]
        near = [
            (0.1 - abs(value - a), f"{method} at {t:g} bits")
            for method, values in PUBLISHED.items()
            for value, a, t in zip(values, aim, NOMINAL, strict=True)
        ]
        return [
            extreme("nominal minus decodable", "strict", short, 0.0),
            extreme("0.1 bit minus the distance of a published reading", "bound", near, 0.0),
        ]

    return when_complete([("decodable text", table)], check)
