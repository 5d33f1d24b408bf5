"""A fitted estimator in one NPZ file of plain arrays: no pickle, nothing to execute."""

import json
import math
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..archives import all_finite, read_arrays
from ..diagnostics import Diagnostic
from ..validate import nats_per
from .crossfit import Member, Plan, score_new
from .encoding import Encoder, Indicators, NormalScore
from .network import RatioNetwork
from .parametric import MOST_CELLS, ClassRatio, CopulaRatio, CountRatio, ParametricRatio
from .ratio_limits import Limits
from .splits import Split
from .table import Column

FORMAT = 2
PLAIN = ("plug_in_", "mi_", "half_", "standard_error_", "dv_", "lower_bound_", "p_value_")
# Of each parametric ratio the names in the file, which do not change, and their attributes.
RATIOS = {
    CountRatio: {"table": "table"},
    ClassRatio: {n: n for n in ("centres", "whites", "log_shares")} | {"letters": "symbol_side"},
    CopulaRatio: {n: n for n in ("x_map", "y_map", "rho", "x_white", "y_white", "freedom")},
}
WHOLE = ("folds", "seeds", "hidden", "batch", "steps", "permutations", "random_state")
PARAMETERS = {"unit", "confidence", "stability", "device", *WHOLE}


def save(est: Any, path: Path) -> Path:
    """Write under a temporary name and rename: the file is whole or absent."""
    path = path if path.suffix == ".npz" else path.with_name(f"{path.name}.npz")
    critic = est.members_[0].critic
    meta = {
        "format": FORMAT,
        "parameters": est.get_params() | {"random_state": _plain_seed(est.random_state)},
        "values": {name: getattr(est, name) for name in PLAIN},
        "interval": est.interval_,
        "growth": est.growth_,
        "pairs": est.n_pairs_,
        "steps": est.steps_,
        "plan": asdict(est.plan_) | {"device": "cpu"},
        "columns": [[(c.name, c.symbols) for c in s] for s in (est.x_columns_, est.y_columns_)],
        "diagnostics": [asdict(found) for found in est.diagnostics_],
        "critic": {"seeds": critic.seeds, "sizes": _sizes(critic)},
        "members": [(m.which.start, m.which.stop) for m in est.members_],
        "curve": est.curve_,
    }
    arrays = {
        "meta": np.array(json.dumps(meta, default=_plain)),
        "pmi": est.pmi_,
        "slopes": est.slopes_,
    }
    arrays |= {f"reliability{i}": part for i, part in enumerate(est.reliability_)}
    arrays |= {f"critic/{k}": v.cpu().numpy() for k, v in critic.state_dict().items()}
    for k, member in enumerate(est.members_):
        arrays |= {f"{k}/{name}": part for name, part in _split_arrays(member.split).items()}
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with open(temporary, "wb") as file:
        np.savez_compressed(file, **arrays)
    os.replace(temporary, path)
    return path


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python."""
    if isinstance(value, np.generic):
        return value.item()
    raise ValueError(f"the parameter {value!r} cannot be saved; pass numbers and strings")


def _plain_seed(seed: Any) -> int | None:
    """A whole number is kept; the state of a generator is not."""
    return int(seed) if isinstance(seed, int | np.integer) else None


def load(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and fitted attributes; a ValueError where the file is none of ours."""
    if not path.is_file():
        raise ValueError(f"{path} does not exist or is not a file")
    try:
        arrays = read_arrays(path)
        meta = json.loads(str(arrays.pop("meta")), parse_constant=_refuse)
        if meta["format"] != FORMAT:
            raise ValueError("another format")
        _check(meta, arrays)
        return _fitted(meta, arrays)
    except Exception:  # damage can surface anywhere: in the archive, an array, a shape
        raise ValueError(
            f"{path} is damaged, or not an estimator saved by this version; fit and save again"
        ) from None


def _refuse(word: str) -> None:
    raise ValueError(f"{word} among the numbers")


def _check(meta: dict, arrays: dict[str, np.ndarray]) -> None:
    """Types of what is read as it is, and sizes that the arrays must have; an exception else."""
    given, values = meta["parameters"], meta["values"]
    nats_per(given["unit"])
    _numbers([given["confidence"], *meta["interval"], *meta["growth"]])
    _numbers([v for k, v in values.items() if v is not None or k not in ("half_", "p_value_")])
    for look in meta["curve"]:
        _numbers(look)
    _whole(meta["pairs"], meta["steps"], *(v for k, v in meta["plan"].items() if k != "device"))
    _whole(*(given[name] for name in WHOLE if given[name] is not None))
    for found in meta["diagnostics"]:
        _numbers([found["value"]])
        _all_are(str, found["name"], found["expected"], found["advice"])
        _all_are(bool, found["ok"])
    _all_are(str, given["device"])
    _all_are(bool, given["stability"])
    for name, symbols in (column for side in meta["columns"] for column in side):
        _all_are(str, name)
        _all_are(str if symbols and isinstance(symbols[0], str) else float, *(symbols or []))
    x_dim, y_dim, hidden, embedding = meta["critic"]["sizes"]
    _whole(x_dim, y_dim, hidden, embedding, *meta["critic"]["seeds"])
    m, folds = len(meta["critic"]["seeds"]), len(meta["members"])
    shapes = {
        "first_x": (m, 2 * x_dim, hidden),
        "first_y": (m, 2 * y_dim, hidden),
        "bias_x": (m, 1, hidden),
        "bias_y": (m, 1, hidden),
        "weights.0": (2 * m, hidden, hidden),
        "weights.1": (2 * m, hidden, embedding + 1),
        "biases.0": (2 * m, 1, hidden),
        "biases.1": (2 * m, 1, embedding + 1),
    }
    shapes = {f"critic/{name}": shape for name, shape in shapes.items()}
    shapes |= {"pmi": (meta["pairs"],), "slopes": (folds, 3)}
    if (
        given.keys() != PARAMETERS
        or values.keys() != set(PLAIN)
        or len(meta["interval"]) != 2
        or len(meta["growth"]) != 2
        or len(meta["columns"]) != 2
        or any(arrays[name].shape != shape for name, shape in shapes.items())
        or not all_finite(arrays)
    ):
        raise ValueError("parts that do not belong together")


def _numbers(values: list) -> None:
    if any(not isinstance(v, int | float) or isinstance(v, bool) for v in values):
        raise TypeError("no number")


def _whole(*values: Any) -> None:
    if any(not isinstance(v, int) or isinstance(v, bool) or v < 0 for v in values):
        raise TypeError("no whole number")


def _all_are(kind: type, *values: Any) -> None:
    if any(not isinstance(v, kind) for v in values):
        raise TypeError(f"no {kind.__name__}")


def _fitted(meta: dict, arrays: dict) -> tuple[dict[str, Any], dict[str, Any]]:
    x_columns, y_columns = ([_column(*c) for c in side] for side in meta["columns"])
    return meta["parameters"], meta["values"] | {
        "interval_": tuple(meta["interval"]),
        "growth_": tuple(meta["growth"]),
        "n_pairs_": meta["pairs"],
        "steps_": meta["steps"],
        "plan_": Plan(**meta["plan"]),
        "curve_": meta["curve"],
        "diagnostics_": [Diagnostic(**found) for found in meta["diagnostics"]],
        "x_columns_": x_columns,
        "y_columns_": y_columns,
        "pmi_": arrays["pmi"],
        "slopes_": arrays["slopes"],
        "reliability_": tuple(arrays[f"reliability{i}"] for i in range(3)),
        "members_": _members(meta, arrays, arrays["slopes"]),
    }


def _sizes(critic: RatioNetwork) -> list[int]:
    """x_dim, y_dim, hidden, embedding."""
    x, hidden = critic.first_x.shape[1:]
    return [x // 2, critic.first_y.shape[1] // 2, hidden, critic.weights[-1].shape[2] - 1]


def _column(name: str, symbols: list | None) -> Column:
    return Column(name, np.empty(0), None if symbols is None else tuple(symbols))


def _split_arrays(split: Split) -> dict[str, np.ndarray]:
    found = {}
    for side, encoder in (("x", split.encode_x), ("y", split.encode_y)):
        for i, fitted in enumerate(encoder.maps):
            found |= {f"{side}{i}/{key}": part for key, part in vars(fitted).items()}
    found |= {f"limits/{key}": np.asarray(part) for key, part in vars(split.limits).items()}
    names = RATIOS[type(split.ratio)]
    return found | {key: np.asarray(getattr(split.ratio, own)) for key, own in names.items()}


def _members(meta: dict, arrays: dict, slopes: np.ndarray) -> list[Member]:
    x_dim, y_dim, hidden, embedding = meta["critic"]["sizes"]
    critic = RatioNetwork(x_dim, y_dim, meta["critic"]["seeds"], hidden, embedding)
    prefix = "critic/"
    state = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
    critic.load_state_dict({k: torch.from_numpy(v) for k, v in state.items()})
    made = []
    for k, (first, last) in enumerate(meta["members"]):
        own = {n.removeprefix(f"{k}/"): v for n, v in arrays.items() if n.startswith(f"{k}/")}
        encoders = [
            Encoder(tuple(_map(own, f"{side}{i}") for i in range(len(columns))))
            for side, columns in zip("xy", meta["columns"], strict=True)
        ]
        limits = Limits(own["limits/x"], own["limits/y"], float(own["limits/least"]))
        split = Split(None, *encoders, _ratio(own), limits)
        made.append(Member(split, critic, slice(first, last), slopes[k]))
        _whole(first, last)
        _try(made[-1], meta["columns"])
    return made


def _try(member: Member, columns: list) -> None:
    """Score one pair for each combination of symbols: what does not fit together fails here, and
    not in the caller's hands."""
    sizes = [[len(symbols or "-") for _, symbols in side] for side in columns]
    rows = np.arange(max(2, *(min(math.prod(side), MOST_CELLS) for side in sizes)))
    sides = []
    for side, own in zip(columns, sizes, strict=True):
        codes = np.unravel_index(rows % min(math.prod(own), MOST_CELLS), own)
        sides.append(
            [
                Column(name, code if symbols else np.zeros(len(rows)), symbols)
                for (name, symbols), code in zip(side, codes, strict=True)
            ]
        )
    if not np.isfinite(score_new(member, *sides)).all():
        raise ValueError("scores that are no numbers")


def _ratio(own: dict) -> ParametricRatio:
    """The parametric ratio whose names are there; an array without axes is a number or a string."""
    kind, names = next((k, names) for k, names in RATIOS.items() if names.keys() <= own.keys())
    arrays = {attribute: own[key] for key, attribute in names.items()}
    return kind(**{a: part if part.ndim else part.item() for a, part in arrays.items()})


def _map(own: dict, key: str) -> NormalScore | Indicators:
    if f"{key}/shares" in own:
        return Indicators(own[f"{key}/shares"])
    return NormalScore(own[f"{key}/values"], own[f"{key}/scores"])
