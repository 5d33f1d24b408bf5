r"""What a critic has to beat: popularity, which knows no pair, and linear CCA.

Candidates are drawn uniformly over proteins, with density u, not from the margins. The score that
ranks them best is therefore

.. math:: \log\frac{p(x,y)}{u(x)u(y)} = \underbrace{\log\frac{p(x,y)}{p(x)p(y)}}_{\text{PMI}}
          + \underbrace{\log\frac{p(x)}{u(x)}}_{C(x)} + \underbrace{\log\frac{p(y)}{u(y)}}_{C(y)} .

PMI is the first term. `Popularity` models the other two, one protein at a time.
"""

import numpy as np
import torch
from jaxtyping import Float
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from .protein_protocols import Split

POPULARITY_C = 0.01  # inverse strength of the ridge; fixed before any run
SHRINKAGE = 0.1  # weight of the identity in the covariances of CCA; fixed before any run
COMPONENTS = 32


class Popularity:
    """C(x) + C(y): a ridge-penalised logistic regression a side, which tells proteins drawn from
    the margin of the training pairs from proteins drawn uniformly."""

    def __init__(self, split: Split):
        proteins = split.proteins
        self.models = []
        for side, rows in enumerate((split.x, split.y)):
            count = np.bincount(split.train[:, side], minlength=len(rows))[proteins]
            features = rows[proteins].double().numpy()
            weights = np.concatenate([count * len(count) / count.sum(), np.ones(len(count))])
            labels = np.repeat([1, 0], len(count))
            model = LogisticRegression(C=POPULARITY_C, max_iter=500)
            self.models.append(model.fit(np.tile(features, (2, 1)), labels, weights))

    def __call__(
        self, x: Float[Tensor, "a d"], y: Float[Tensor, "b d"]
    ) -> Float[np.ndarray, "a b"]:
        of_x, of_y = (
            model.decision_function(rows.double().numpy())
            for model, rows in zip(self.models, (x, y), strict=True)
        )
        return of_x[:, None] + of_y[None, :]


class LinearCCA:
    r"""The log-ratio of jointly Gaussian x, y with the canonical correlations of the training
    pairs:

    .. math:: \sum_i \frac{2\rho_i u_i v_i - \rho_i^2 (u_i^2 + v_i^2)}{2(1-\rho_i^2)}
              - \tfrac12\log(1-\rho_i^2)

    with u, v the canonical variates. The covariances of x and of y are shrunk towards the identity.
    """

    def __init__(self, split: Split, components: int = COMPONENTS):
        x, y = split.x[split.train[:, 0]].double(), split.y[split.train[:, 1]].double()
        self.means = x.mean(0), y.mean(0)
        x, y = x - self.means[0], y - self.means[1]
        roots = [self._inverse_root(side.T @ side / len(side)) for side in (x, y)]
        left, rho, right = torch.linalg.svd(roots[0] @ (x.T @ y / len(x)) @ roots[1])
        k = min(components, len(rho))
        self.maps = roots[0] @ left[:, :k], roots[1] @ right.mT[:, :k]
        self.rho = rho[:k].clamp(max=1 - 1e-6)

    @staticmethod
    def _inverse_root(covariance: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
        eye = torch.eye(len(covariance), dtype=covariance.dtype, device=covariance.device)
        values, vectors = torch.linalg.eigh((1 - SHRINKAGE) * covariance + SHRINKAGE * eye)
        return vectors @ (values.rsqrt()[:, None] * vectors.mT)

    def __call__(
        self, x: Float[Tensor, "a d"], y: Float[Tensor, "b d"]
    ) -> Float[np.ndarray, "a b"]:
        u = (x.double() - self.means[0]) @ self.maps[0]
        v = (y.double() - self.means[1]) @ self.maps[1]
        weight = self.rho / (1 - self.rho**2)
        squares = self.rho * weight / 2
        cross = (u * weight) @ v.mT
        own = (u.square() @ squares)[:, None] + (v.square() @ squares)[None, :]
        return (cross - own - 0.5 * torch.log1p(-self.rho.square()).sum()).numpy()
