"""Stored staircase runs whose readings are made up, for tests of what is computed from them."""

import numpy as np
import pandas as pd

from companion.evaluation import COLUMNS as EVALUATED
from companion.experiments import staircase_tables as tables
from companion.sweep import COLUMNS, write

LEVELS = (2.0, 4.0, 6.0, 8.0, 10.0)


def invent(folder, experiment, name, offset, skip=()):
    """Write a table in which an evaluation reads the truth plus ``offset(training, evaluation,
    record, seed)``, one number or one a level."""
    for piece in tables.find_table(experiment, name).pieces(experiment):
        rows = []
        for training in piece.config["settings"]["trainings"]:
            if training in skip:
                continue
            for seed in piece.config["seeds"]:
                for record in ("train", "held-out", "large"):
                    for evaluation in EVALUATED:
                        read = np.array(LEVELS) + offset(training, evaluation, record, seed)
                        values = " ".join(f"{value:.4f}" for value in read)
                        rows.append((record, training, evaluation, seed, values))
        about = {"config": dict(piece.config), "code_hash": "", "seconds": 1.0}
        write(piece.path(folder), about, pd.DataFrame(rows, columns=list(COLUMNS)))
