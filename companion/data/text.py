"""IMDB reviews as BERT embeddings (768 numbers), two classes: the text of the benchmark.

The benchmark trains on all 25,000 vectors. Here 2,500 of each class, chosen once by a fixed seed,
are kept out of training, so that a critic can be asked about reviews it has not seen.
"""

import os
import zipfile
from functools import cache
from pathlib import Path, PurePosixPath

import numpy as np
import torch
from jaxtyping import Float16

from .channel import Source
from .registry import data_folder, locate

HELD_OUT = 2500  # rows of each class
_SPLIT_SEED = 20240


@cache
def imdb_arrays() -> tuple[Float16[np.ndarray, "n 768"], Float16[np.ndarray, "m 768"]]:
    """The embeddings of class 0 and of class 1."""
    with np.load(locate("imdb")[0], allow_pickle=False) as archive:
        return archive["x0"], archive["x1"]


@cache
def imdb() -> Source:
    """The source over both classes, with held-out rows."""
    x0, x1 = imdb_arrays()
    chooser = np.random.default_rng(_SPLIT_SEED)
    held_out = np.concatenate(
        [
            chooser.choice(len(x0), HELD_OUT, replace=False),
            len(x0) + chooser.choice(len(x1), HELD_OUT, replace=False),
        ]
    )
    rows = torch.from_numpy(np.concatenate([x0, x1]))
    labels = torch.arange(len(rows), device="cpu") >= len(x0)
    return Source(rows, labels, held_out=held_out)


def build_imdb(archive: Path) -> Path:
    """Pack the benchmark repository's 25,000 small files (inside its zip) into one array file.

    Rows are in the order of the sorted file names and rounded to float16.
    """
    found: dict[str, dict[str, np.ndarray]] = {"0": {}, "1": {}}
    with zipfile.ZipFile(archive) as packed:
        for name in packed.namelist():
            path = PurePosixPath(name)
            if path.suffix == ".npy" and "imdb.bert-imdb-finetuned" in path.parts:
                with packed.open(name) as file:
                    row = np.lib.format.read_array(file, allow_pickle=False)
                found[path.parent.name][path.name] = row.ravel().astype(np.float16)
    if not all(found.values()):
        raise ValueError(
            f"{archive} holds no folder imdb.bert-imdb-finetuned with classes 0 and 1; pass the "
            "zip file of the repository kyungeun-lee/mibenchmark"
        )
    x0, x1 = (np.stack([rows[name] for name in sorted(rows)]) for rows in found.values())
    target = data_folder() / "imdb_bert.npz"
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.stem}.{os.getpid()}.part.npz")
    np.savez_compressed(partial, x0=x0, x1=x1)
    os.replace(partial, target)
    return target
