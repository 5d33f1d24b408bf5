"""How trained scores grow far out on cubed data, which the proposition of `cubed` turns on: a claim
of ours, written down before any of its runs."""

from ..experiments import slopes
from ..experiments.slopes import FLAT
from ..results import paired
from .experimental import when_complete, worse
from .registry import Part, claim, extreme


@claim(
    "trained-scores-grow",
    item="Trained scores on cubed data grow far out (ours)",
    statement="After training on cubed data, 1,000 steps a level, the score of a separable critic "
    "still grows along some directions of y, whichever of seven objectives trained it, at every "
    "level, in batches of 64 and of 16; with layer normalisation none does. Of joint critics in "
    "batches of 16 the share of pairs whose score grows is smaller than of separable ones.",
    page="experiments/staircase",
    recorded="partly",
    twin={"flipped": True},
    twin_says="the opposite",
)
def trained_scores(flipped: bool = False) -> list[Part]:
    """Shares of joint and separable critics are paired over seeds, means over levels."""

    def cases(evaluation: str, *kinds: str, sign: float = 1.0) -> list[tuple[float, str]]:
        return [
            (sign * row.value, f"{kind} {row.training}, seed {row.seed}, {row.truth:g} bits")
            for kind in kinds
            for row in slopes.readings(kind, evaluation).itertuples()
        ]

    def share(kind: str, training: str) -> dict[int, float]:
        rows = slopes.readings(kind, "share").query(f"training == '{training}'")
        return rows.groupby("seed")["value"].mean().to_dict()

    def check() -> list[Part]:
        fewer = [(t, paired(share("b16", t), share("joint-b16", t))) for t in slopes.PAPER]
        bounded = cases("largest", "normalise-b64", sign=-1.0)
        return [
            extreme(
                "share of pairs whose score grows", "strict", cases("share", "b64", "b16"), 0.0
            ),
            extreme("layer normalisation: minus the largest slope", "bound", bounded, FLAT),
            worse("joint critics: how much smaller the share", fewer),
        ]

    table = slopes.stored(*slopes.KINDS)
    return when_complete([("slopes laptop", table)], check, flipped)
