"""What the protein experiment runs: every table of every profile, written down before the run.

``paper`` has the paper's settings and its embedding, ProtT5. ``laptop`` has the paper's settings of
the critics, with UniRep (256 numbers a protein) and a small autoencoder for LMI: about 80
core-minutes for everything.
``ci`` is a small copy: 64 numbers a protein, narrow critics, few steps; its simulated table is what
the chapter runs live where the data is absent.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from mi_lib.validate import one_of

from ..sweep import Piece
from .latent_mi import LatentSettings
from .protein_protocols import PROTOCOLS
from .protein_training import Settings

PAPER_TRIALS = 20


@dataclass(frozen=True)
class Table:
    """All trials of one task under both protocols."""

    name: str
    task: str
    embedding: str
    settings: Settings = field(default_factory=Settings)
    latent: LatentSettings | None = field(default_factory=LatentSettings)
    trials: int = PAPER_TRIALS
    trials_a_piece: int = 1
    curves: bool = True  # store ROC and precision-recall curves and histograms, too
    protocols: tuple[str, ...] = PROTOCOLS
    experiment: str = "proteins"

    def pieces(self) -> Iterator[Piece]:
        """Every piece; trial t draws the same batches and starts whatever is in its piece."""
        for first in range(0, self.trials, self.trials_a_piece):
            for protocol in self.protocols:
                config: dict[str, Any] = {
                    "task": self.task,
                    "embedding": self.embedding,
                    "protocol": protocol,
                    "settings": asdict(self.settings),
                    "latent": None if self.latent is None else asdict(self.latent),
                    "curves": self.curves,
                    "seeds": list(range(first, min(first + self.trials_a_piece, self.trials))),
                }
                yield Piece(self.experiment, f"{self.name}-{protocol}-seed{first:02}", config)


# The source study's autoencoder for 1,024 inputs, at its batch and rate; 300 passes over the pairs.
PAPER_LATENT = LatentSettings((512, 256, 128), 8, 512, 1e-4, 12_000, 40, 30)
LAPTOP_LATENT = LatentSettings((64,), 8, 256, 1e-3, 300, 50, 3)
SMALL = Settings(
    objectives=("chi-square", "js", "anchor", "anchor:nu=k", "infonce"),
    batch=64,
    rate=1e-3,
    steps=300,
    every=50,
    patience=100,
    hidden=64,
    layers=2,
    embedding=16,
)
SMALL_LATENT = LatentSettings(hidden=(32,), steps=200, every=50)

GRID: Mapping[str, tuple[Table, ...]] = MappingProxyType(
    {
        "ci": (
            Table(
                "ci-ligand-receptor",
                "ligand-receptor",
                "unirep64",
                SMALL,
                SMALL_LATENT,
                20,
                5,
                False,
            ),
            Table(
                "ci-simulated",
                "simulated",
                "simulated16",
                Settings(**asdict(SMALL) | {"held_out": 120}),
                SMALL_LATENT,
                20,
                5,
                False,
            ),
        ),
        "laptop": tuple(
            Table(f"laptop-{task}", task, "unirep256", latent=LAPTOP_LATENT)
            for task in ("ligand-receptor", "kinase-target")
        ),
        "paper": tuple(
            Table(f"paper-{task}", task, "prott5", latent=PAPER_LATENT)
            for task in ("ligand-receptor", "kinase-target")
        ),
    }
)


# The same trials as the laptop table, with a look at the validation loss every 50 steps, not 500.
LOOKS: Mapping[str, tuple[Table, ...]] = MappingProxyType(
    {
        "laptop": (
            Table(
                "laptop-ligand-receptor",
                "ligand-receptor",
                "unirep256",
                Settings(every=50),
                latent=None,
                trials_a_piece=5,
                curves=False,
                experiment="protein-looks",
            ),
        )
    }
)
GRIDS: Mapping[str, Mapping[str, tuple[Table, ...]]] = MappingProxyType(
    {"proteins": GRID, "protein-looks": LOOKS}
)


def pieces(name: str, profile: str) -> list[Piece]:
    """Every piece of a profile, in the order in which they are run: trial by trial, so that all
    tables grow together."""
    grid = GRIDS[one_of("sweep", name, GRIDS)]
    tables = grid[one_of("profile", profile, grid)]
    listed = [piece for table in tables for piece in table.pieces()]
    return sorted(listed, key=lambda piece: piece.config["seeds"][0])
