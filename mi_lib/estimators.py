r"""The paper's Table 1 as data: what each estimator trains, and what it reports.

Type 1 trains and reports one lower bound. Type 2 trains one bound and reports another. Type 3
trains any objective whose optimum is the density ratio and reports the plug-in mean of log r.
Several estimators share a training and differ only in what they report.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import torch
from jaxtyping import Float
from torch import Tensor

from . import losses, objectives
from .objectives import Loss, Scores
from .scoring import PseudoSpherical
from .validate import nats_per, one_of

TRAININGS: Mapping[str, Callable[[Scores], Loss]] = MappingProxyType(
    {
        "dv": objectives.dv,
        "nwj": objectives.nwj,
        "infonce": objectives.infonce,
        "js": objectives.js,
        "chi-square": objectives.chi_square,
        "hellinger": objectives.hellinger,
        "anchor": objectives.anchor,
        "spherical": partial(objectives.anchor, rule=PseudoSpherical(2)),
        # Without a history the running mean is the batch's own, and the gradient is that of DV.
        "mine": lambda scores: objectives.mine(
            scores, objectives.log_mean_exp(objectives.negatives(scores), 2)
        ),
    }
)

# The same trainings as modules, to be made anew for each fit: MINE has a memory.
LOSSES: Mapping[str, Callable[[], losses.Loss]] = MappingProxyType(
    {
        "dv": losses.DV,
        "nwj": losses.NWJ,
        "infonce": losses.InfoNCE,
        "js": losses.JS,
        "chi-square": losses.ChiSquare,
        "hellinger": losses.Hellinger,
        "anchor": partial(losses.InfoNCEAnchor, nu=1.0),
        "spherical": partial(losses.InfoNCEAnchor, nu=1.0, rule=PseudoSpherical(2)),
        "mine": losses.MINE,
    }
)

EVALUATIONS: Mapping[str, Callable[[Scores], Loss]] = MappingProxyType(
    {
        "dv": objectives.dv,
        "nwj": objectives.nwj,
        "infonce": objectives.infonce,
        "clipped-dv": partial(objectives.clipped_dv, tau=5.0),
        "plug-in": objectives.plug_in,
    }
)


@dataclass(frozen=True)
class Estimator:
    """One row of Table 1: the names of a training and of an evaluation, and what is guaranteed.

    Parameters
    ----------
    name : str
    type : {1, 2, 3}
        Reports the bound it trains, reports another bound, or reports the plug-in.
    training, evaluation : str
        A key of `TRAININGS`, a key of `EVALUATIONS`.
    note : str
        What is guaranteed, and other names.

    Examples
    --------
    >>> row = get("InfoNCE-anchor")
    >>> row.training, row.evaluation
    ('anchor', 'plug-in')
    >>> scores = torch.zeros(4, 4)  # a critic that knows nothing
    >>> round(float(row.loss(scores)), 4), float(row.estimate(scores))
    (1.3863, 0.0)
    """

    name: str
    type: int
    training: str
    evaluation: str
    note: str = ""

    def loss(self, scores: Scores) -> Loss:
        """The loss to minimise.

        Parameters
        ----------
        scores : torch.Tensor, shape (..., b, b)
            ``scores[..., i, j] = c(x_i, y_j)``, positives on the diagonal.

        Returns
        -------
        torch.Tensor, shape (...)
            In nats.
        """
        return TRAININGS[self.training](scores)

    def new_loss(self) -> losses.Loss:
        """The loss as a module, for `fit_critic` or a loop of your own."""
        return LOSSES[self.training]()

    def estimate(self, scores: Scores, unit: str = "bits") -> Float[Tensor, "..."]:
        """The estimate of I(X;Y) that the scores give, without a gradient.

        Parameters
        ----------
        scores : torch.Tensor, shape (..., b, b)
            ``scores[..., i, j] = c(x_i, y_j)``, positives on the diagonal.
        unit : {"bits", "nats"}

        Returns
        -------
        torch.Tensor, shape (...)
        """
        with torch.no_grad():
            return -EVALUATIONS[self.evaluation](scores) / nats_per(unit)


TABLE_1: tuple[Estimator, ...] = (
    Estimator("DV", 1, "dv", "dv", "lower bound of I in expectation of its population value"),
    Estimator(
        "NWJ", 1, "nwj", "nwj", "unbiased lower bound of I; the variance grows at least like e^I"
    ),
    Estimator("InfoNCE", 1, "infonce", "infonce", "lower bound of the K-way JSD, K = B"),
    Estimator("MINE", 2, "mine", "dv", "DV with a less biased gradient"),
    Estimator("JS", 2, "js", "nwj", "NWJ bound of a critic trained to classify"),
    Estimator("SMILE", 2, "js", "clipped-dv", "clipping trades the bound for variance"),
    Estimator("PCC", 3, "js", "plug-in", "also JS plug-in and GAN-DIME; the anchor at K = nu = 1"),
    Estimator("D-RFC", 3, "chi-square", "plug-in", "also DRF; trained on the chi-square bound"),
    Estimator("KL-DIME", 3, "nwj", "plug-in", "also NWJ plug-in"),
    Estimator("HD-DIME", 3, "hellinger", "plug-in", "trained on the Hellinger bound"),
    Estimator("InfoNCE-anchor", 3, "anchor", "plug-in", "K = B - 1, nu = 1"),
    Estimator("Spherical", 3, "spherical", "plug-in", "the anchor with the spherical score"),
)


def get(name: str) -> Estimator:
    """The estimator of that name.

    Parameters
    ----------
    name : str
        Of a row of `TABLE_1`; a ValueError lists them where it is another.

    Returns
    -------
    Estimator

    Examples
    --------
    >>> get("PCC").type
    3
    """
    return {e.name: e for e in TABLE_1}[one_of("estimator", name, [e.name for e in TABLE_1])]
