r"""Mutual information of two arrays: an estimate, an interval, a lower bound, a test, a report.

>>> import numpy as np
>>> from mi_lib import MIEstimator
>>> rng = np.random.default_rng(0)
>>> x = rng.standard_normal(300)
>>> est = MIEstimator(random_state=0).fit(x, x + rng.standard_normal(300))
>>> bool(est.interval_[0] < 0.5 < est.interval_[1])      # the truth is half a bit
True

How the data go through the package, one file a step:

1. `table`: the caller's values become columns, numeric or of symbols, or a ValueError.
2. `folds`: pairs are cut into folds. For each fold the other pairs are split into *training* and
   *validation* pairs; the fold itself is held out. Every choice below is made without it.
3. `encoding`: each numeric column is mapped to Gaussian ranks, each column of symbols to
   standardised indicators, both fitted to the training pairs of the fold. Maps that tell all values
   apart leave the mutual information as it is.
4. `parametric`: a parametric log ratio (Gaussian or Student copula, table of counts, a Gaussian for
   each symbol), picked by the score of the validation pairs. (`splits`: steps 3 and 4 of one fold.)
5. `network`: a separable network on top of it, :math:`f(x)\cdot g(y) + a(x) + b(y)`, zero at the
   beginning; all folds and seeds are one stack. The loss is InfoNCE-anchor with
   :math:`\nu = K`, stopped at the best validation score.
6. `calibration`: :math:`c = b + a_0 c_{\text{parametric}} + a_1 c_{\text{network}}` by the logistic
   score of the validation pairs, seeds averaged; `ratio_limits`: kept within what a ratio can be.
7. `crossfit` runs steps 2 to 6. `estimator`: the mean of c over held-out pairs. `uncertainty`: its
   interval. `lower_bound`: what holds whatever the critic. `permutation`: the test. `diagnostics`:
   what may be wrong, in sentences.

Everything inside is in nats and in log space. Memory grows linearly with the number of pairs.
"""

from ..diagnostics import check_matrix
from .baselines import cca, ksg
from .conditional import conditional_mi
from .estimator import MIEstimator
from .matrix import mi_matrix
from .planning import ideal_lower_bound, learning_curve, pairs_needed
from .self_consistency import self_consistency

__all__ = [
    "MIEstimator",
    "cca",
    "check_matrix",
    "conditional_mi",
    "ideal_lower_bound",
    "ksg",
    "learning_curve",
    "mi_matrix",
    "pairs_needed",
    "self_consistency",
]
