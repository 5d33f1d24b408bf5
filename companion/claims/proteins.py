"""Claims of the chapter on proteins: each sentence of the paper's section that can be judged.

Each is judged on both tasks and on four sets of scored pairs: the source study's protocol, the same
with unseen proteins scaled as the seen ones, and the clean protocol over all ordered pairs and over
the roles alone. The paper's sentences are about the first; the others say what survives.
"""

from collections.abc import Sequence

from ..experiments.protein_tables import EVALUATIONS, NAMES, TASKS, difference, stored
from .experimental import when_complete, worse
from .registry import Part, claim

PROFILE = "laptop"
RIVALS = ("lmi", "chi-square", "js", "spherical")  # the paper's other rows
PAGE = "experiments/proteins"
Pairs = Sequence[tuple[str, str]]  # (a, b): a should be above b


def _above(
    says: str, pairs: Pairs, which: str = "auroc", evaluations: Sequence[str] = tuple(EVALUATIONS)
) -> list[Part]:
    """One part a task and set of candidates; the least certain of the pairs decides."""
    tables = [(f"proteins {PROFILE} {task}", stored(PROFILE, task)) for task in TASKS]

    def check() -> list[Part]:
        return [
            worse(
                f"{task}, {evaluation}: {says}",
                [
                    (
                        f"{NAMES[a]} - {NAMES[b]}",
                        difference(PROFILE, task, evaluation, a, b, which),
                    )
                    for a, b in pairs
                ],
            )
            for task in TASKS
            for evaluation in evaluations
        ]

    return when_complete(tables, check)


@claim(
    "proteins-best",
    item="Section 4.2, best prediction",
    statement="InfoNCE-anchor predicts best for both problems: its AUROC is above that of LMI, "
    "chi-square, JS and spherical, paired over trials.",
    page=PAGE,
    recorded="not reproduced",
    twin={"reference": "popularity"},
    twin_says="popularity alone predicts best",
)
def best(reference: str = "anchor") -> list[Part]:
    """AUROC of the reference minus AUROC of each of the paper's other rows."""
    return _above(f"{NAMES[reference]} is best", [(reference, rival) for rival in RIVALS])


@claim(
    "proteins-js-second",
    item="Section 4.2, JS is second",
    statement="JS predicts second best: above LMI, chi-square and spherical, below InfoNCE-anchor.",
    page=PAGE,
    recorded="not reproduced",
    twin={"first": "popularity", "below": ()},
    twin_says="JS is below popularity alone, and nothing more",
)
def js_second(
    first: str = "anchor", below: Sequence[str] = ("lmi", "chi-square", "spherical")
) -> list[Part]:
    """AUROC of JS minus the three below it, and of the first minus JS."""
    return _above("JS is second", [*(("js", rival) for rival in below), (first, "js")])


@claim(
    "proteins-large-k",
    item="Section 4.2, large K helps",
    statement="Large K helps: the anchor at K = 63, nu = 1 has a higher AUROC than JS, which is "
    "the anchor at K = 1, nu = 1.",
    page=PAGE,
    recorded="not reproduced",
    twin={"large": "popularity"},
    twin_says="popularity alone in place of the anchor",
)
def large_k(large: str = "anchor") -> list[Part]:
    """AUROC of K = 63 minus AUROC of K = 1 at equal nu, batches and start."""
    return _above(f"{NAMES[large]} is above JS", [(large, "js")])


@claim(
    "proteins-infonce",
    item="Section 4.2, InfoNCE cannot be applied",
    statement="InfoNCE cannot be applied here because of its free C(y): even with C(y) estimated "
    "from the training proteins and divided out, it stays below InfoNCE-anchor.",
    page=PAGE,
    recorded="not reproduced",
    twin={"reference": "popularity"},
    twin_says="it stays below popularity alone",
)
def infonce(reference: str = "anchor") -> list[Part]:
    """AUROC of the anchor minus AUROC of InfoNCE, raw and with C(y) divided out."""
    pairs = [(reference, "infonce"), (reference, "infonce, normalised")]
    return _above("InfoNCE stays below, raw and normalised", pairs)


@claim(
    "proteins-discriminative",
    item="Appendix G.2, best discriminative power",
    statement="InfoNCE-anchor has the best discriminative power: its average precision is above "
    "that of LMI, chi-square, JS and spherical, paired over trials.",
    page=PAGE,
    recorded="not reproduced",
    twin={"reference": "popularity"},
    twin_says="popularity alone has it",
)
def discriminative(reference: str = "anchor") -> list[Part]:
    """Average precision, which weighs the top of the ranking, in place of the AUROC."""
    pairs = [(reference, rival) for rival in RIVALS]
    return _above(f"{NAMES[reference]} is best", pairs, "average precision")


@claim(
    "proteins-baselines",
    item="Ours, more than popularity and a linear map",
    statement="The anchor's PMI ranks pairs better than two baselines: popularity, which knows no "
    "pair, and linear CCA.",
    page=PAGE,
    recorded="not reproduced",
    twin={"swapped": True},
    twin_says="both baselines rank better than the anchor",
)
def baselines(swapped: bool = False) -> list[Part]:
    """AUROC of the anchor minus AUROC of both baselines."""
    pairs = [("anchor", rival) for rival in ("popularity", "cca")]
    if swapped:
        pairs = [(rival, anchor) for anchor, rival in pairs]
    return _above(f"the anchor is {'below' if swapped else 'above'} both baselines", pairs)
