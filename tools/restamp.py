"""Keep stored pieces when the code that made them changed in a way that does not touch them.

    python -m tools.restamp                      # every stored piece
    python -m tools.restamp gaussian mnist       # those of some sweeps

A piece that stores its first losses is begun again by the present code, with one thread as a
sweep's workers have; where its losses are the stored ones it gets the present hash. Of pieces that
store none, rows are sampled over each kind and computed again; where all are the stored ones, the
pieces of that kind get the present hash. The header then says which code made the piece and what
was compared. Where numbers differ nothing is changed: delete such a piece and run the sweep.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import torch

from companion.experiments import SWEEPS, experiment, modules_of
from companion.provenance import code_hash
from companion.results import results_folder
from companion.sweep import read, write

TOLERANCE = 1e-5  # relative: the same machine and the same products give the same digits
BY_LOSSES = "the first ten losses of this piece, computed again by the code of the new hash"
BY_ROWS = (
    "rows sampled over the pieces of this kind, computed again by the code of the new hash, are "
    "the same"
)
Losses = dict[tuple[str, int], list[float]]
# Of pieces without losses: which values of a row are compared. The last one is a time.
TIMED = ("suite", "ours", "tuning")


def first_losses(module: ModuleType, config: Mapping[str, Any]) -> Losses:
    """The first ten losses of each training and seed of a configuration, by the present code."""
    torch.set_num_threads(1)
    if module.__name__.endswith(".proteins"):
        return _of_proteins(module, config)
    run, found = module.make_run(config, "cpu"), {}
    for _ in range(module.FIRST_LOSSES):
        run.advance()
    if hasattr(run, "members"):  # self-supervised: one seed
        return {(m.objective, config["seeds"][0]): m.first_losses for m in run.members}
    losses = np.array(run.first_losses)
    for o, training in enumerate(run.settings.trainings):
        found |= {(training, seed): losses[:, o, s] for s, seed in enumerate(run.seeds)}
    return found


def _of_proteins(module: ModuleType, config: Mapping[str, Any]) -> Losses:
    data, found = module.load(config["task"], config["embedding"]), {}
    given = dict(config["settings"]) | {"objectives": tuple(config["settings"]["objectives"])}
    settings = module.Settings(**given)
    for trial in config["seeds"]:
        part = module.split(data, config["protocol"], trial, settings.held_out)
        training = module.Training(part, settings, trial, "cpu")
        names = [member.objective for member in training.members]
        for _ in range(10):
            training.advance()
        for place, name in enumerate(names):
            found[name, trial] = [losses[place] for losses in training.first_losses[:10]]
    return found


def same_losses(module: ModuleType, about: Mapping[str, Any], rows: pd.DataFrame) -> str:
    """Empty where the present code begins a piece in the same way, else what differs."""
    found = first_losses(module, about["config"])
    for row in rows.itertuples():
        kept = np.array([float(v) for v in row.values.split()])
        now = np.array(found[row.training, int(row.seed)][: len(kept)])
        if not np.allclose(now, kept, rtol=TOLERANCE, atol=1e-6, equal_nan=True):
            return f"other losses of {row.training}: make it again"
    return ""


@contextmanager
def only(module: ModuleType, task: str) -> Iterator[None]:
    """Let a sweep over the suite run one task of it."""
    suite = module.known if hasattr(module, "known") else module.suite
    suite = getattr(suite, "suite", suite)
    before = suite.tasks
    suite.tasks = lambda half: [t for t in before(half) if t.name == task]
    try:
        yield
    finally:
        suite.tasks = before


def same_rows(name: str, module: ModuleType, path: Path, task: str | None) -> str:
    """Empty where rows of a piece come out again, else what differs."""
    torch.set_num_threads(1)
    about, stored = read(path)
    config = about["config"]
    if task is None:
        if name == "independence":
            config = config | {"seeds": config["seeds"][:3]}
        fresh = module.run(config, device="cpu", checkpoint=path.with_suffix(".none"))
    else:
        with only(module, task):
            fresh = module.run(config, device="cpu", checkpoint=path.with_suffix(".none"))
    keys = ["record", "training", "evaluation", "seed"]
    stored, fresh = (frame.astype(str).set_index(keys)["values"] for frame in (stored, fresh))
    for key, text in fresh.items():
        now, kept = ([float(v) for v in t.split()] for t in (text, stored[key]))
        end = -1 if name in TIMED else None
        if not np.allclose(now[:end], kept[:end], rtol=1e-4, atol=1e-6, equal_nan=True):
            return f"{path.stem}, {key}: {text} instead of {stored[key]}"
    return "" if len(fresh) else f"{path.stem}: no row was computed"


def stamp(path: Path, new: str, checked: str) -> None:
    """Give a piece the new hash; who made it stays."""
    about, records = read(path)
    made_by = about.get("made_by_code", about["code_hash"])
    write(path, about | {"code_hash": new, "made_by_code": made_by, "checked": checked}, records)


def samples(name: str, paths: Sequence[Path]) -> list[tuple[Path, str | None]]:
    """A piece of each kind, and the task of it that is computed again (None: all of it)."""
    kinds = defaultdict(list)
    for path in paths:
        kinds[path.stem.rsplit("-seed", 1)[0].rstrip("0123456789")].append(path)
    if name == "tuning":
        kinds = {path.stem: [path] for path in paths[::3]}
    chosen = []
    for place, group in enumerate(kinds.values()):
        path = group[place % len(group)]
        if name not in TIMED:
            chosen.append((path, None))
            continue
        tasks = list(dict.fromkeys(read(path)[1]["evaluation"]))
        small = [t for t in tasks if "50x50" not in t and "25x25" not in t]
        chosen += [(path, small[(3 * place + k) % len(small)]) for k in (0, 5)]
    return chosen


def restamp(name: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Each stored piece of a sweep, and what became of it."""
    module, new = experiment(name), code_hash(modules_of(name))
    without = []
    for path in sorted((folder / name).glob("*.csv")):
        about, records = read(path)
        if about["code_hash"] == new:
            yield path.stem, "up to date"
            continue
        rows = records[records["record"] == "loss"]
        if rows.empty:
            without.append(path)
            continue
        if problem := same_losses(module, about, rows):
            yield path.stem, problem
        else:
            stamp(path, new, BY_LOSSES)
            yield path.stem, "restamped by its first losses"
    problems = [same_rows(name, module, *sample) for sample in samples(name, without)]
    problem = "; ".join(filter(None, problems))
    for path in without:
        if problem:
            yield path.stem, f"other rows ({problem}): make it again"
        else:
            stamp(path, new, BY_ROWS)
            yield path.stem, f"restamped by {len(problems)} samples of rows"


def main(names: Sequence[str]) -> int:
    left = 0
    for name in names or SWEEPS:
        for key, word in restamp(name, results_folder()):
            print(f"{name} {key}: {word}", flush=True)
            left += "again" in word
    return int(left > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
