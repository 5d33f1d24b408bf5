r"""Tables of the self-supervised runs: accuracies, paired differences, and a number for each
sentence of the paper's Section 4.3 that can be judged."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd

from mi_lib.validate import one_of

from ..results import Interval, Stored, interval, paired, results_folder
from .self_supervised import MODULES, pieces
from .ssl_losses import OBJECTIVES, SUPERVISED

# Top-1 and top-5 of the paper's table: ResNet-18 on CIFAR-100, one run each, no error bars.
PUBLISHED: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "infonce": (65.98, 89.69),
        "anchor": (65.74, 89.24),
        "spherical-root": (4.33, 17.91),  # the paper names its Table 6
        "js": (61.69, 87.33),
        "chi-square": (65.59, 88.4),
    }
)
TITLES: Mapping[str, str] = MappingProxyType(
    {
        "pixels": "raw pixels",
        "untrained": "untrained network",
        "untrained-normed": "untrained, norms fitted",
        **{name: objective.title for name, objective in OBJECTIVES.items()},
        SUPERVISED: "supervised reference",
    }
)

LESS = {"untrained": "untrained", "untrained-normed": "norms fitted", "infonce": "InfoNCE"}
START = "untrained-normed"  # what training adds to: its norms, too, have seen the pictures


def stored(profile: str) -> Stored:
    """What is stored of a profile, with what should be there."""
    return Stored(tuple(pieces("self-supervised", profile)), results_folder(), MODULES)


def best_profile() -> str:
    """The largest complete profile, else the largest of which something is stored: what the
    chapter shows first."""
    tables = {name: stored(name) for name in ("paper", "laptop", "ci")}
    complete = [name for name, table in tables.items() if table.complete]
    return [*complete, *(name for name, table in tables.items() if table.there), "ci"][0]


def numbers(table: Stored, record: str, evaluation: str) -> dict[str, dict[int, float]]:
    """The single numbers of a kind: training -> seed -> value (seed -1 where there is none)."""
    rows = table.records
    rows = rows[(rows["record"] == record) & (rows["evaluation"] == evaluation)]
    found: dict[str, dict[int, float]] = {}
    for row in rows.itertuples():
        found.setdefault(row.training, {})[row.seed] = float(row.values[0])
    return {name: found[name] for name in TITLES if name in found}


def difference(table: Stored, a: str, b: str, evaluation: str = "top-1") -> Interval | None:
    """Accuracy of a minus accuracy of b in points, paired over seeds; None where neither run of
    a pair is stored. Raw pixels have no seed and are paired with each."""
    known = numbers(table, "probe", evaluation)
    if a not in known or b not in known:
        return None
    first, second = known[a], known[b]
    seeds = sorted((set(first) | set(second)) - {-1})
    first, second = ({s: d.get(s, d.get(-1)) for s in seeds} for d in (first, second))
    shared = [s for s in seeds if None not in (first[s], second[s])]
    if not shared:
        return None
    return paired({s: first[s] for s in shared}, {s: second[s] for s in shared})


def judged(gap: Interval | None, positive: str, negative: str) -> str:
    """Words for a paired difference; no ranking unless the interval leaves out zero."""
    if gap is None:
        return "not run"
    if not gap.excludes_zero:
        return "not separated"
    return positive if gap.low > 0 else negative


def summary(table: Stored) -> pd.DataFrame:
    """A row an objective: seeds, mean accuracies, paired differences in points. Whether training
    helped is judged against the untrained network with fitted norms."""
    rows, untrained = [], ("pixels", "untrained", START)
    top5 = numbers(table, "probe", "top-5")
    for name, by_seed in numbers(table, "probe", "top-1").items():
        gaps = {other: difference(table, name, other) for other in LESS}
        rows.append(
            {
                "": TITLES[name],
                "seeds": len(set(by_seed) - {-1}),
                "top-1": round(float(np.mean(list(by_seed.values()))), 1),
                "top-5": round(float(np.mean(list(top5[name].values()))), 1),
            }
            | {
                f"less {LESS[other]}": "" if name == other else _text(gap)
                for other, gap in gaps.items()
            }
            | {"training": "" if name in untrained else judged(gaps[START], "helps", "HARMS")}
        )
    return pd.DataFrame(rows).set_index("")


def _text(gap: Interval | None) -> str:
    return "not run" if gap is None else str(gap)


def strongest(table: Stored) -> dict[str, Interval | None]:
    """'InfoNCE continues to yield the strongest representations': its lead on each other."""
    return {n: difference(table, "infonce", n) for n in PUBLISHED if n != "infonce"}


def anchor_gain(table: Stored) -> Interval | None:
    """'Adding the anchor does not translate into better performance': its gain on InfoNCE."""
    return difference(table, "anchor", "infonce")


def spherical_collapse(table: Stored) -> Interval | None:
    """'Spherical scores collapse entirely': their lead on the untrained network with fitted
    norms."""
    return difference(table, "spherical-root", START)


def scale_spread(table: Stored, name: str = "infonce") -> Interval:
    """'C(y) is nearly constant': deviation of log C(y) over y, as a share of that of c over all
    pairs of strangers."""
    one_of("objective", name, [n for n, o in OBJECTIVES.items() if not o.pd])
    spread, whole = (numbers(table, "scale", kind)[name] for kind in ("sd log C", "sd log r"))
    return interval([spread[seed] / whole[seed] for seed in sorted(spread)])


def _distances(table: Stored, name: str) -> dict[int, float]:
    """By seed, how far the mean of log C(y) is from 0."""
    return {seed: abs(v) for seed, v in numbers(table, "scale", "mean log C")[name].items()}


def scale_distance(table: Stored, name: str) -> Interval:
    """How far from 0 the mean of log C(y) of an objective is, nats."""
    return interval(list(_distances(table, name).values()))


def scale_gap(table: Stored) -> Interval:
    """'The anchor recovers the ratio': how much further from 0 it is for InfoNCE, nats."""
    return paired(_distances(table, "infonce"), _distances(table, "anchor"))


def scales(table: Stored) -> pd.DataFrame:
    """The scale of each learnt ratio on held-out views, nats, means over seeds: log C(y) of the
    true ratio is 0 for every y."""
    kinds = ("mean log C", "sd log C", "sd log r", "plug-in")
    columns = {kind: numbers(table, "scale", kind) for kind in kinds}
    names = [name for name in TITLES if name in columns["mean log C"]]
    return _means(columns, names)


def geometry(table: Stored) -> pd.DataFrame:
    """Alignment and uniformity on held-out views, means over seeds."""
    columns = {kind: numbers(table, "geometry", kind) for kind in ("alignment", "uniformity")}
    return _means(columns, [name for name in TITLES if name in columns["alignment"]])


def movement(table: Stored) -> pd.DataFrame:
    """How far the encoder's weights went from their start, relative, means over seeds."""
    column = numbers(table, "moved", "")
    return _means({"moved": column}, [name for name in TITLES if name in column])


def similarity(table: Stored) -> pd.DataFrame:
    """Linear CKA of test features, means over seeds; a column for each reference that is stored."""
    known = {other: numbers(table, "cka", other) for other in ("untrained", START, "infonce")}
    columns = {f"CKA with {TITLES[other]}": found for other, found in known.items() if found}
    return _means(columns, [name for name in TITLES if any(name in c for c in columns.values())])


def first_gradients(table: Stored) -> pd.DataFrame:
    """What `ssl_start.start_gradients` found at the start, means over seeds."""
    kinds = ("gradient", "relative", "clipped", "cosine")
    columns = {kind: numbers(table, "start", kind) for kind in kinds}
    return _means(columns, list(OBJECTIVES))


def _means(columns: Mapping[str, Mapping], names: Iterable[str]) -> pd.DataFrame:
    rows = {
        TITLES[name]: {
            kind: float(np.mean(list(column[name].values()))) if name in column else np.nan
            for kind, column in columns.items()
        }
        for name in names
    }
    return pd.DataFrame(rows).T


def curves(table: Stored, evaluation: str = "top-1") -> pd.DataFrame:
    """The learning curves: training, seed, epoch, value."""
    one_of("curve", evaluation, ("top-1", "loss"))
    settings = table.pieces[0].config["settings"]
    rows = table.records
    rows = rows[(rows["record"] == "curve") & (rows["evaluation"] == evaluation)]
    frames = []
    for row in rows.itertuples():
        epochs = np.arange(1, len(row.values) + 1) * settings["epochs"] / settings["points"]
        frames.append(
            pd.DataFrame({"epoch": epochs, "value": row.values}).assign(
                training=row.training, seed=row.seed
            )
        )
    empty = pd.DataFrame(columns=["epoch", "value", "training", "seed"])
    return pd.concat(frames, ignore_index=True) if frames else empty
