"""What the self-supervised experiment runs: every table of every profile, written down before.

``paper`` is the reference recipe: ResNet-18, 1,000 epochs, LARS at 0.4 with 10 epochs of warm-up,
crops from 8 % of a picture, no blur. (The framework's older script has weight decay 1e-5 and no
blur for 32 x 32 pictures, a later file 1e-4 and blur; we follow the older, which the published
numbers seem to go with.)
``laptop`` keeps B = 256, the optimiser and the augmentations, and makes the network small (one
block a stage, width 16, half resolution) and the training short (20 epochs of 16,000 pictures).
``ci`` is a smoke run on 8 x 8 digits.

InfoNCE and the anchor have eight seeds at ``laptop``, everything else three. Three were planned for
all; after two had been seen (differences of -0.95 and +0.88 points) five were added to this pair,
because three cannot tell whether a difference is below one point.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from types import MappingProxyType

from mi_lib.validate import one_of

from ..sweep import Piece
from .ssl_losses import SUPERVISED
from .ssl_training import Settings

SETTINGS: Mapping[str, Settings] = MappingProxyType(
    {
        "ci": Settings(
            data="digits",
            width=8,
            blocks=(1, 1),
            hidden=64,
            output=32,
            batch=64,
            epochs=5,
            warm_up=1,
            smallest=0.3,
            points=5,
        ),
        "laptop": Settings(
            data="cifar100-subset",
            width=16,
            blocks=(1, 1, 1, 1),
            stem=2,
            hidden=256,
            output=128,
            epochs=20,
            warm_up=2,
            points=5,
        ),
        "paper": Settings(bfloat16=True),
    }
)
SEEDS: Mapping[str, int] = MappingProxyType({"ci": 20, "laptop": 3, "paper": 3})
MORE_SEEDS: Mapping[tuple[str, tuple[str, ...]], int] = MappingProxyType(
    {("laptop", ("infonce", "anchor")): 8}
)

# Objectives that are trained side by side in one piece: their features are compared.
TOGETHER = (
    ("infonce", "anchor"),
    ("js",),
    ("chi-square",),
    ("spherical",),
    ("spherical-root",),
    ("spherical-scaled",),
    (SUPERVISED,),
)


def pieces(experiment: str, profile: str) -> list[Piece]:
    """Every piece at a profile, seed by seed; pieces of one seed share batches and starts."""
    one_of("sweep", experiment, ("self-supervised",))
    return list(_pieces(experiment, one_of("profile", profile, SETTINGS)))


def _pieces(experiment: str, profile: str) -> Iterator[Piece]:
    settings = asdict(SETTINGS[profile])
    yield Piece(
        experiment, f"{profile}-pixels", {"kind": "pixels", "settings": settings, "seeds": []}
    )
    groups = (sum(TOGETHER, ()),) if profile == "ci" else TOGETHER
    seeds = {group: MORE_SEEDS.get((profile, group), SEEDS[profile]) for group in groups}
    for seed in range(max(seeds.values())):
        if seed < SEEDS[profile]:
            start = {"kind": "start", "settings": settings, "seeds": [seed]}
            yield Piece(experiment, f"{profile}-start-seed{seed:02}", start)
        for objectives in (group for group in groups if seed < seeds[group]):
            config = {
                "kind": "pretrain",
                "settings": settings,
                "objectives": list(objectives),
                "seeds": [seed],
            }
            name = "all" if profile == "ci" else "-".join(objectives)
            yield Piece(experiment, f"{profile}-{name}-seed{seed:02}", config)
