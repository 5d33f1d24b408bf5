"""Keep stored pieces when the code that made them changed in a way that does not touch them.

    python -m tools.restamp self-supervised laptop

Each stored piece of the sweep that older code made is begun again by the present code, with one
thread as a sweep's workers have. Where its first ten losses are the stored ones, the piece gets the
present hash, and its header says which code made it and what was compared. Where they differ, or a
piece stores no losses, nothing is changed: delete such a piece and run the sweep.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from companion.experiments import experiment, modules_of
from companion.provenance import code_hash
from companion.results import results_folder
from companion.sweep import read, write

TOLERANCE = 1e-5  # relative: the same machine and the same products give the same digits
CHECKED = "the first ten losses of this piece, computed again by the code of the new hash"


def first_losses(module: ModuleType, config: dict[str, Any]) -> dict[str, list[float]]:
    """The first ten losses of each training of a configuration, by the present code."""
    torch.set_num_threads(1)
    run = module.make_run(config, "cpu")
    for _ in range(module.FIRST_LOSSES):
        run.advance()
    return {member.objective: member.first_losses for member in run.members}


def restamped(module: ModuleType, path: Path, new: str) -> str:
    """Compare one piece and give it the new hash; what became of it."""
    about, records = read(path)
    if about["code_hash"] == new:
        return "up to date"
    rows = records[records["record"] == "loss"]
    if rows.empty:
        return "stores no losses: make it again"
    found = first_losses(module, about["config"])
    for row in rows.itertuples():
        kept = np.array([float(v) for v in row.values.split()])
        if not np.allclose(found[row.training], kept, rtol=TOLERANCE, atol=0):
            return f"other losses of {row.training}: make it again"
    made_by = about.get("made_by_code", about["code_hash"])
    write(path, about | {"code_hash": new, "made_by_code": made_by, "checked": CHECKED}, records)
    return "restamped"


def restamp(name: str, profile: str) -> Iterator[tuple[str, str]]:
    """Each stored piece of a sweep, and what became of it."""
    module, new = experiment(name), code_hash(modules_of(name))
    for piece in module.pieces(name, profile):
        path = piece.path(results_folder())
        if path.is_file():
            yield piece.key, restamped(module, path, new)


def main() -> int:
    left = 0
    for key, word in restamp(*sys.argv[1:]):
        print(f"{key}: {word}", flush=True)
        left += "again" in word
    return int(left > 0)


if __name__ == "__main__":
    sys.exit(main())
