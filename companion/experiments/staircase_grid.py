"""What the staircase experiments run: every table of every profile, written down before the run."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from mi_lib.validate import one_of

from ..sweep import Piece
from ..training import Settings

PAPER = ("nwj", "js", "infonce", "anchor", "anchor:nu=k", "chi-square", "spherical")
FIELD = ("dv", "mine")  # the field's defaults; SMILE shares the training of JS

# Which curves of a training are drawn, and so stored.
SHOWN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "nwj": ("nwj", "plug-in"),
        "js": ("nwj", "plug-in", "clipped-dv"),
        "infonce": ("infonce",),
        "anchor": ("plug-in", "dv"),
        "anchor:nu=k": ("plug-in", "dv"),
        "chi-square": ("plug-in",),
        "spherical": ("plug-in",),
        "dv": ("dv",),
        "mine": ("dv",),
    }
)


@dataclass(frozen=True)
class Table:
    """One table: a task, settings, seeds, and how it is cut into pieces of at most 20 minutes."""

    name: str
    task: str
    settings: Settings
    seeds: int
    options: Mapping[str, Any] = field(default_factory=dict)
    seeds_a_piece: int = 1
    trainings_a_piece: int = 99
    contrast: str = ""  # x, y or both; the first tables say nothing and contrast x

    def pieces(self, experiment: str) -> Iterator[Piece]:
        """Every piece; those of one seed share their batches, whatever they train."""
        trainings, step = self.settings.trainings, self.trainings_a_piece
        for first in range(0, self.seeds, self.seeds_a_piece):
            seeds = list(range(first, min(first + self.seeds_a_piece, self.seeds)))
            for part, start in enumerate(range(0, len(trainings), step)):
                settings = asdict(self.settings) | {"trainings": trainings[start : start + step]}
                suffix = f"-{chr(ord('a') + part)}" if len(trainings) > step else ""
                config = {
                    "task": self.task,
                    "options": dict(self.options),
                    "settings": settings,
                    "seeds": seeds,
                }
                if self.contrast:
                    config["contrast"] = self.contrast
                yield Piece(experiment, f"{self.name}-seed{first:02}{suffix}", config)


CUBIC = {"dim": 10, "transform": "cubic"}
PLAIN = {"dim": 10}
FEW = {"slots": 4}  # enough for the three levels of the smallest profile
JOINT = {"critic": "joint", "large": 128, "large_repeats": 64}
NUS = tuple(f"anchor:nu={nu:g}" for nu in (1e-3, 1e-2, 0.1, 1, 10, 100, 1000))
KS = tuple(f"anchor:k={k}" for k in (1, 2, 4, 8, 16, 32, 63))
KS_NU = tuple(f"{training},nu={training.split('=')[1]}" for training in KS)  # nu = K
THREE = ("infonce", "anchor", "anchor:nu=k")


def _gaussian(
    name: str, seeds: int, cut: tuple[int, int] = (1, 99), options: Mapping = CUBIC, **changes: Any
) -> Table:
    """A Gaussian table; ``cut`` says how many seeds and trainings make a piece. The curves of its
    many seeds are stored more coarsely than others', to keep the folder small."""
    settings = Settings(**{"trainings": PAPER, "block": 200, **changes})
    return Table(name, "gaussian", settings, seeds, options, *cut)


def _ablation(name: str, trainings: tuple[str, ...], seeds: int = 3, **changes: Any) -> Table:
    changes = {"steps": 1000, "block": 50, **changes}
    return _gaussian(f"laptop-{name}", seeds, trainings=trainings, **changes)


def _small(name: str, task: str, options: Mapping, hidden: int = 64) -> Table:
    settings = Settings(
        trainings=THREE,
        levels=(1.0, 2.0, 3.0),
        steps=200,
        batch=32,
        rate=1e-3,
        critic_settings={"hidden": hidden},
        block=50,
        every=5,
        held_out=1024,
        large=512,
        large_repeats=4,
    )
    return Table(f"ci-{name}", task, settings, 20, options, 2)


def _directed(batch: int, seeds: Mapping[str, int], seeds_a_piece: int = 1) -> Iterator[Table]:
    """Tables like `paper-b64`, with the same seeds and batches, in other directions; in direction x
    a few seeds, for the error of log r that the first tables do not have."""
    settings = Settings(trainings=THREE, block=200, batch=batch)
    for contrast, count in seeds.items():
        name = f"paper-b{batch}-{contrast}"
        yield Table(name, "gaussian", settings, count, CUBIC, seeds_a_piece, contrast=contrast)


GRID: Mapping[str, Mapping[str, tuple[Table, ...]]] = MappingProxyType(
    {
        "gaussian": {
            "ci": (_small("gaussian", "gaussian", CUBIC, 128),),
            "laptop": (_gaussian("laptop-b64", 5, steps=1000, block=50),),
            "paper": (
                _gaussian("paper-b64", 20),
                _gaussian("paper-field-b64", 5, (2, 99), trainings=FIELD),
                _gaussian(
                    "paper-normalise-b64", 5, trainings=THREE, critic_settings={"normalise": True}
                ),
            ),
        },
        # Other batch sizes, joint critics, and no cube.
        "gaussian-more": {
            "paper": (
                _gaussian("paper-b16", 20, (2, 99), batch=16),
                _gaussian("paper-joint-b16", 5, (1, 4), batch=16, **JOINT),
                _gaussian(
                    "paper-published",
                    3,
                    (1, 2),
                    options=PLAIN,
                    trainings=("infonce", "anchor", "nwj", "js", "mine", "dv"),
                    rate=5e-4,
                    critic_settings={"hidden": 256},
                    **JOINT,
                ),
                _gaussian("paper-b256", 5, (1, 4), batch=256),
                _gaussian("paper-plain-b64", 5, options=PLAIN),
                _gaussian("paper-field-b16", 5, (5, 99), trainings=FIELD, batch=16),
                _gaussian("paper-field-b256", 3, trainings=FIELD, batch=256),
            ),
        },
        "mnist": {
            "ci": (_small("mnist", "mnist", FEW),),
            "laptop": (
                Table("laptop", "mnist", Settings(PAPER, steps=500, block=50), 3, {}, 1, 4),
            ),
            # Three trainings a piece share their pictures; about 25 minutes, with checkpoints.
            "paper": (Table("paper", "mnist", Settings(PAPER + FIELD), 3, {}, 1, 3),),
        },
        "text": {
            "ci": (_small("text", "text", FEW),),
            "laptop": (Table("laptop", "text", Settings(PAPER, steps=500, block=50), 3, {}, 1, 4),),
            # The field's defaults are a table of their own, so that the paper's sentences need
            # not wait for it.
            "paper": tuple(
                Table(name, "text", Settings(trainings), 3, {}, 1, 1)
                for name, trainings in (("paper", PAPER), ("paper-field", FIELD))
            ),
        },
        # What the chapters run live where the real data is absent.
        "tables": {
            "ci": (
                _small("digits", "digits", FEW),
                _small("breast-cancer", "breast-cancer", FEW),
            ),
        },
        # The side that is contrasted; what was expected is in results/directions/EXPECTATIONS.md.
        "directions": {
            "paper": (
                *_directed(64, {"y": 20, "both": 20, "x": 5}),
                *_directed(16, {"y": 20, "both": 20}, 2),
                *_directed(256, {"y": 5, "both": 5}),
            ),
        },
        "ablations": {
            "laptop": (
                _ablation("nu", NUS),
                _ablation("normalise", THREE, critic_settings={"normalise": True}),
                _ablation("k", KS),
                _ablation("k-nu", KS_NU),
                _ablation("rate-5e-4", THREE, rate=5e-4),
                _ablation("rate-1e-3", THREE, rate=1e-3),
                _ablation("small", THREE, critic_settings={"hidden": 256}),
                _ablation("large", THREE, critic_settings={"hidden": 1024}),
                _ablation("cold", THREE, warm=False),
            ),
        },
    }
)


def pieces(experiment: str, profile: str) -> list[Piece]:
    """Every piece of an experiment at a profile, in the order in which they are run.

    Tables take turns, so that each has some seeds before any has all.
    """
    profiles = GRID[one_of("sweep", experiment, GRID)]
    one_of("profile", profile, profiles)
    queues = [list(table.pieces(experiment)) for table in profiles[profile]]
    shares = [(place / len(q), t, place) for t, q in enumerate(queues) for place in range(len(q))]
    return [queues[t][place] for _, t, place in sorted(shares)]
