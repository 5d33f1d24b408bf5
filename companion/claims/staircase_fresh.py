"""Claims of ours on fresh images and reviews: whether nu = K gives the better ratio there too, and
which truth a plug-in reads on text. Written down before any piece at the paper's settings was
finished, after one short seed of each task had been seen."""

from ..experiments.staircase_live import decodable_band, decoding
from ..experiments.staircase_tables import at_level, fresh_by_seed, plateaus, stored
from ..results import Stored, interval, paired
from .experimental import when_complete, worse
from .registry import Part, claim
from .staircase import on_each_task

ONE, STRONG = "anchor", "anchor:nu=k"
COST = 0.1  # bits of InfoNCE: what nu = K may cost


@on_each_task(
    "ratio-at-nu-k",
    "Ours, nu = K gives the better ratio",
    "On fresh {task} the critic of nu = K has the better ratio: compared with nu = 1, its mean of "
    "r over negatives is nearer to 1, its DV on large batches is larger, and its InfoNCE there at "
    "most 0.1 bits smaller.",
    {"mnist": "partly", "text": "partly"},
)
def better_ratio(table: Stored) -> list[Part]:
    """Paired over seeds; means over levels, on large batches of rows that training never shows."""

    def pair(evaluation: str, size: bool = False) -> list[dict[int, float]]:
        return [fresh_by_seed(table, name, evaluation, size) for name in (STRONG, ONE)]

    nearer = paired(*reversed(pair("scale", size=True)))
    kept = paired(*pair("infonce"))
    return [
        worse("the scale is nearer to 1", [("mean over levels", nearer)]),
        worse("DV is larger", [("mean over levels", paired(*pair("dv")))]),
        Part(
            "0.1 bits plus what InfoNCE gains", "bound", kept.low + COST, 0.0, kept.count, str(kept)
        ),
    ]


@claim(
    "text-overshoots",
    item="What the plug-in reads on unseen reviews (ours)",
    statement="At 10 nominal bits, on reviews kept out of training, the anchor's plug-in at nu = 1 "
    "reads more than the best of three classifiers decodes, although the DV value of the same "
    "critic on large batches is below that; the plug-in at nu = K is nearer to it.",
    page="experiments/text",
    recorded="partly",
    twin={"flipped": True},
    twin_says="the opposite",
)
def text_overshoots(flipped: bool = False, bits: float = 10.0) -> list[Part]:
    """Over seeds. What the best classifier decodes has an interval of its own, over folds: the
    plug-in has to pass its upper end, and DV to stay below its lower one."""
    table, known = stored("text", "paper"), decoding()

    def check() -> list[Part]:
        decodable = decodable_band().set_index("truth").loc[bits]
        fresh, place = plateaus(table, "large"), f"{bits:g} bits"

        plain, strong, dv = (
            at_level(fresh, f"{training}/{evaluation}", bits)
            for training, evaluation in ((ONE, "plug-in"), (STRONG, "plug-in"), (ONE, "dv"))
        )
        above = interval([value - decodable["best high"] for value in plain.values()])
        below = interval([decodable["best low"] - value for value in dv.values()])
        gain = paired(
            *({s: abs(v - decodable["high"]) for s, v in e.items()} for e in (plain, strong))
        )
        return [
            worse("plug-in at nu = 1 minus decodable", [(place, above)]),
            worse("decodable minus DV of the same critic", [(place, below)]),
            worse("nu = K: how much nearer the plug-in", [(place, gain)]),
        ]

    return when_complete([(table.name, table), ("decodable text", known)], check, flipped)
