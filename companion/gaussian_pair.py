r"""Correlated Gaussians with their true ratio as critic: what can be said in closed form.

X and Y have ``pairs`` independent coordinates, each with correlation rho. For one coordinate
everything follows from one function, the cumulants of the log ratio c under the product law,

.. math:: \varphi(s) = \ln \mathbb{E}_{p(x)p(y)}[r^s]
          = \tfrac{1-s}{2}\ln(1-\rho^2) - \tfrac12\ln\bigl(1 - \rho^2(1-s)^2\bigr),

which says that under p(x, y) the log ratio is :math:`c = I + \rho\,Z_1 Z_2` with independent
standard normal Z. A sum of n such products has the density
:math:`|w|^m K_m(|w|) \big/ (2^m \sqrt\pi\,\Gamma(n/2))`, m = (n - 1)/2. Logarithms are natural.

>>> pair = GaussianPair.from_bits(4.0)
>>> round(pair.mean_joint(lambda c: c) / math.log(2), 6)
4.0
>>> round(1 + pair.chi_square, 6)  # e^{2I} = 4^4
256.0
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp
from jaxtyping import Float
from scipy.special import gammaln, kve

Array = Float[np.ndarray, " n"]

_STEP = 1 / 256  # of the trapezoidal rule in log |w|; fine because clipping has kinks


def log_moment(s: sp.Expr, rho: sp.Expr) -> sp.Expr:
    """phi(s) of one coordinate, as an expression."""
    return (1 - s) / 2 * sp.log(1 - rho**2) - sp.log(1 - rho**2 * (1 - s) ** 2) / 2


@dataclass(frozen=True)
class GaussianPair:
    """X and Y standard normal with mutual information ``mi`` nats over ``pairs`` coordinates."""

    mi: float
    pairs: int = 1

    @classmethod
    def from_bits(cls, mi: float, pairs: int = 1) -> "GaussianPair":
        """The pair with ``mi`` bits of mutual information."""
        return cls(mi * math.log(2), pairs)

    @property
    def _gap(self) -> float:
        """1 - rho^2."""
        return math.exp(-2 * self.mi / self.pairs)

    @property
    def rho(self) -> float:
        """The correlation of each coordinate (taken positive)."""
        return math.sqrt(1 - self._gap)

    @property
    def chi_square(self) -> float:
        """The variance of r under the product law: e^{2I} - 1."""
        return math.expm1(2 * self.mi)

    @property
    def pmi_variance(self) -> float:
        """The variance of c = log r under the joint law: rho^2 a coordinate."""
        return self.pairs * self.rho**2

    def moment(self, s: float) -> float:
        """E_{p(x)p(y)}[r^s]; infinite outside 1 - 1/rho < s < 1 + 1/rho."""
        inside = 1 - (1 - self._gap) * (1 - s) ** 2
        if inside <= 0:
            return math.inf
        return math.exp(-self.mi * (1 - s)) * inside ** (-self.pairs / 2)

    @cached_property
    def _nodes(self) -> tuple[Array, Array, Array]:
        """Values of c with their weights under p(x, y) and under p(x) p(y)."""
        rho, order = self.rho, (self.pairs - 1) / 2
        one_minus_rho = self._gap / (1 + rho)
        log_w = np.arange(-30.0, math.log(200 / one_minus_rho), _STEP)
        w = np.exp(log_w)
        base = np.log(kve(order, w)) + order * (log_w - math.log(2)) + log_w
        base += math.log(_STEP) - gammaln(self.pairs / 2) - math.log(math.pi) / 2
        c = np.concatenate([self.mi + rho * w, self.mi - rho * w])
        joint = np.tile(base - w, 2)
        product = np.concatenate([base - (1 + rho) * w, base - one_minus_rho * w]) - self.mi
        return c, np.exp(joint), np.exp(product)

    def mean_joint(self, g: Callable[[Array], Array]) -> float:
        """E_{p(x,y)}[g(c)] by quadrature."""
        c, joint, _ = self._nodes
        return float((g(c[joint > 0]) * joint[joint > 0]).sum())

    def mean_product(self, g: Callable[[Array], Array]) -> float:
        """E_{p(x)p(y)}[g(c)] by quadrature."""
        c, _, product = self._nodes
        return float((g(c[product > 0]) * product[product > 0]).sum())

    def js_loss(self) -> float:
        """E_{p(x,y)}[sp(-c)] + E_{p(x)p(y)}[sp(c)] in nats."""
        return self.mean_joint(lambda c: np.logaddexp(0, -c)) + self.mean_product(
            lambda c: np.logaddexp(0, c)
        )

    def clipped_dv(self, tau: float) -> float:
        """SMILE's reading, I - log E_{p(x)p(y)}[clip(r)], in nats."""
        return self.mi - math.log(self.mean_product(lambda c: np.exp(np.clip(c, -tau, tau))))

    def infonce(self, k: int) -> float:
        r"""The InfoNCE reading E_y[K-way JSD of p(x|y) and p(x)] in nats; one coordinate.

        For each y, :math:`\mathbb{E}\ln\sum_z r_z = \int_0^\infty
        (e^{-t} - L_1(t) L_0(t)^{K-1})\,dt/t` with the Laplace transforms of r under p(x|y) and
        p(x); trapezoidal rules in log t and x, Gauss-Hermite in y.
        """
        if self.pairs != 1:
            raise ValueError(f"pairs={self.pairs}: this quadrature is for one coordinate")
        nodes, weights = np.polynomial.hermite_e.hermegauss(24)
        z = np.linspace(-12, 12, 241)
        density = np.exp(-(z**2) / 2) * (z[1] - z[0]) / math.sqrt(2 * math.pi)
        step = 0.25
        log_t = np.arange(-90.0, 60.0, step)
        total = 0.0
        for y, weight in zip(nodes[12:], 2 * weights[12:] / weights.sum(), strict=True):
            x = self.rho * y + math.sqrt(self._gap) * z
            log_r = self.mi - z**2 / 2 + x**2 / 2
            tr = np.exp(log_t[:, None] + log_r)
            one = (np.exp(-tr) * density).sum(1)
            zero = 1 - (-np.expm1(-tr) * (density * np.exp(-log_r))).sum(1)
            product = one * np.clip(zero, 0, 1) ** (k - 1)
            total += weight * step * float((np.exp(-np.exp(log_t)) - product).sum())
        return self.mi + math.log(k) - float(total)
