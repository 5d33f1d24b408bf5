r"""Protein interactions: embeddings of proteins, and the ordered pairs that are known to interact.

A pair is drawn uniformly from the list, so p(x, y) is uniform over the known pairs and p(x), p(y)
follow how often a protein occurs on the left (kinase, ligand) and on the right (target, receptor).
The pairs come from OmniPath, the embeddings from a protein language model: UniRep (in protein.npz),
or ProtT5 (the paper's), read from the file that UniProt publishes.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from mi_lib.validate import one_of

from .registry import MissingDataError, data_folder, locate

TASKS = {"kinase-target": "kt_pairs", "ligand-receptor": "lr_pairs"}
UNIREP = {"unirep64": 64, "unirep256": 256, "unirep1900": 1900}
PROTT5_FILE = "per-protein.h5"
PROTT5_URL = (
    "https://ftp.uniprot.org/pub/databases/uniprot/current_release/knowledgebase/embeddings/"
    "UP000005640_9606/per-protein.h5"
)


@dataclass(frozen=True)
class Interactions:
    """Proteins as rows, known pairs as indices (left, right), and the true PMI where known."""

    name: str
    embedding: str
    rows: Float32[np.ndarray, "n d"]
    pairs: Int[np.ndarray, "m 2"]
    pmi: Float[np.ndarray, "n n"] | None = None  # nats; -inf where a pair cannot occur
    popularity: Float[np.ndarray, "2 n"] | None = None  # log of p(x), p(y) over uniform, nats

    @property
    def simulated(self) -> bool:
        """Whether the pairs were drawn from a distribution we wrote down."""
        return self.pmi is not None

    def known(self) -> Bool[np.ndarray, "n n"]:
        """known[i, j]: whether i on the left and j on the right is in the list."""
        table = np.zeros((len(self.rows), len(self.rows)), bool)
        table[self.pairs[:, 0], self.pairs[:, 1]] = True
        return table


@cache
def interactions(task: str, embedding: str = "unirep256") -> Interactions:
    """The pairs of a task with an embedding: unirep64, unirep256, unirep1900 or prott5."""
    one_of("task", task, TASKS)
    one_of("embedding", embedding, [*UNIREP, "prott5"])
    with np.load(locate("proteins")[0], allow_pickle=False) as archive:
        ids, pairs = archive["ids"], archive[TASKS[task]].astype(np.int64)
        if embedding in UNIREP:
            rows = archive[f"emb_{embedding}"].astype(np.float32)
            return only_used(task, embedding, rows, pairs)
    rows, there = prott5(ids)
    return only_used(task, embedding, rows, pairs[there[pairs].all(1)])


def only_used(
    task: str, embedding: str, rows: Float32[np.ndarray, "n d"], pairs: Int[np.ndarray, "m 2"]
) -> Interactions:
    """Keep the proteins that occur in a pair, in their order."""
    used, flat = np.unique(pairs, return_inverse=True)
    return Interactions(task, embedding, rows[used], flat.reshape(-1, 2))


def prott5(
    ids: np.ndarray,
) -> tuple[Float32[np.ndarray, "n 1024"], Bool[np.ndarray, " n"]]:
    """ProtT5 rows of UniProt accessions, and which of them the file holds (others are zero).

    The file is UniProt's per-protein.h5 of the human proteome: one data set of 1,024 numbers for
    each accession. UniProt replaces it with every release, so it has no fixed hash.
    """
    path = data_folder() / PROTT5_FILE
    if not path.is_file():
        raise MissingDataError(
            f"{PROTT5_FILE} is not in {data_folder()}; download it from "
            f"{PROTT5_URL} into that folder, or use an embedding of UniRep, which protein.npz holds"
        )
    try:
        import h5py
    except ImportError:
        raise ImportError(
            f"{PROTT5_FILE} needs the package h5py, which is not installed; run "
            "`pip install h5py`, or use an embedding of UniRep, which needs nothing more"
        ) from None
    with h5py.File(path, "r") as file:
        there = np.array([str(id) in file for id in ids])
        if not there.any():
            raise ValueError(
                f"{path} holds none of the {len(ids):,} proteins; download the file of the human "
                f"proteome: {PROTT5_URL}"
            )
        found = [np.asarray(file[str(id)], np.float32).ravel() for id in ids[there]]
    rows = np.zeros((len(ids), len(found[0])), np.float32)
    rows[there] = found
    return rows, there
