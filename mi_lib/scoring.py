"""Proper scoring rules in torch, written by hand in log space.

A rule maps the log-probabilities of M + 1 classes to the loss of each class,

    rule(log_eta)[..., z] = rule.loss(log_eta, z) = lambda_z(eta),

and is *proper*: the expected loss sum_z eta*_z lambda_z(eta) is smallest at eta = eta*. Class 0 is
the anchor. Logarithms are natural. A rule whose loss is unbounded (1/eta_z, say) saturates near the
largest number of its dtype, with a finite gradient, instead of overflowing.

Adding a constant to a class's loss changes neither the minimiser nor a gradient; each rule names
the constants by which it differs from the one that its generating function induces. (The book
derives the same rules by differentiation, in sympy, and shares no formula with this file.)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from .validate import real_number


def saturating_exp(exponent: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """exp that saturates e^10 below overflow; its gradient is its (saturated) value."""
    largest = torch.finfo(exponent.dtype).max
    exponent, limit = exponent.clamp(max=largest), math.log(largest) - 10
    held = limit + (exponent - exponent.detach())
    return torch.exp(torch.where(exponent > limit, held, exponent))


def _check_alpha(alpha: Any, rule: str) -> None:
    real_number(alpha, f"{rule} alpha")
    if alpha in (0, 1):
        limit = "use SymmetricInverseLog or InverseLog" if alpha == 0 else "use Log or Kliep"
        raise ValueError(
            f"{rule}(alpha={alpha}) is not a scoring rule: its generating function has a factor "
            f"1/(alpha (alpha - 1)); pick another alpha, or, for the limiting rule, {limit}"
        )


class ScoringRule:
    """A strictly proper scoring rule for any number of classes >= 2.

    Half-precision input is computed in single precision; so is the answer.
    """

    needs_anchor = False  # whether class 0 must have positive probability

    def __call__(self, log_eta: Float[Tensor, "... classes"]) -> Float[Tensor, "... classes"]:
        """The loss of every class z, lambda_z(eta), from log-probabilities."""
        return self._all(_checked(log_eta))

    def loss(self, log_eta: Float[Tensor, "... classes"], z: int) -> Float[Tensor, "..."]:
        """The loss of class z alone, at a fraction of the cost of all of them."""
        log_eta = _checked(log_eta)
        classes = log_eta.shape[-1]
        if not -classes <= z < classes:
            raise IndexError(f"class z={z} does not exist; there are {classes}, counted from 0")
        return self._one(log_eta, z % classes)


def _checked(log_eta: Float[Tensor, "... classes"]) -> Float[Tensor, "... classes"]:
    if log_eta.ndim == 0 or log_eta.shape[-1] < 2:
        raise ValueError(
            f"log_eta has shape {tuple(log_eta.shape)}; its last axis must hold the "
            "log-probabilities of at least 2 classes"
        )
    if not log_eta.dtype.is_floating_point:
        raise ValueError(f"log_eta has dtype {log_eta.dtype}; pass floating-point logs")
    # Exponentials of logs with 8 or 11 significant bits would be worthless.
    return log_eta.float() if log_eta.dtype in (torch.float16, torch.bfloat16) else log_eta


class SymmetricRule(ScoringRule):
    """A rule that treats all classes alike: lambda_z depends on eta and on eta_z."""

    def at(self, log_eta: Float[Tensor, "... c"], own: Float[Tensor, "... n"]) -> Tensor:
        """The losses of the classes whose log-probabilities are ``own``."""
        raise TypeError(f"{type(self).__name__} must define at")

    def _all(self, log_eta):
        return self.at(log_eta, log_eta)

    def _one(self, log_eta, z):
        return self.at(log_eta, log_eta[..., z, None])[..., 0]


@dataclass(frozen=True)
class Log(SymmetricRule):
    r"""Log score: :math:`\lambda_z = -\log\eta_z`, from
    :math:`\Phi(\eta) = \sum_z \eta_z\log\eta_z`.

    >>> Log()(torch.tensor([-2.0, -0.5])).tolist()
    [2.0, 0.5]
    """

    def at(self, log_eta, own):
        return -own


@dataclass(frozen=True)
class Power(SymmetricRule):
    r"""Power (Tsallis) score, from :math:`\Phi(\eta) = \sum_z\eta_z^\alpha/(\alpha(\alpha-1))`:

    .. math:: \lambda_z = \frac{\sum_j\eta_j^\alpha}{\alpha} - \frac{\eta_z^{\alpha-1}}{\alpha-1}

    Strictly proper for every real alpha except 0 and 1; ``alpha=2`` is half the Brier score, up to
    a constant.

    >>> Power(2)(torch.tensor([0.5, 0.5]).log()).tolist()
    [-0.25, -0.25]
    """

    alpha: float = 2.0

    def __post_init__(self):
        _check_alpha(self.alpha, "Power")

    def at(self, log_eta, own):
        total = saturating_exp(torch.logsumexp(self.alpha * log_eta, -1, keepdim=True))
        return total / self.alpha - saturating_exp((self.alpha - 1) * own) / (self.alpha - 1)


@dataclass(frozen=True)
class PseudoSpherical(SymmetricRule):
    r"""Pseudo-spherical score, from
    :math:`\Phi(\eta) = (M+1)^{-1/\alpha}\|\eta\|_\alpha/(\alpha-1)`:

    .. math:: \lambda_z = -\frac{(M+1)^{-1/\alpha}}{\alpha-1}
              \Bigl(\frac{\eta_z}{\|\eta\|_\alpha}\Bigr)^{\alpha-1}

    Strictly proper for every real alpha except 0 and 1; ``alpha=2`` is the spherical score.

    >>> PseudoSpherical(2)(torch.tensor([0.5, 0.5]).log()).round(decimals=4).tolist()
    [-0.5, -0.5]
    """

    alpha: float = 2.0

    def __post_init__(self):
        _check_alpha(self.alpha, "PseudoSpherical")

    def at(self, log_eta, own):
        alpha, classes = self.alpha, log_eta.shape[-1]
        log_norm = torch.logsumexp(alpha * log_eta, -1, keepdim=True) / alpha
        return (
            -(classes ** (-1 / alpha))
            / (alpha - 1)
            * saturating_exp((alpha - 1) * (own - log_norm))
        )


@dataclass(frozen=True)
class SymmetricInverseLog(SymmetricRule):
    r"""From :math:`\Phi(\eta) = -\sum_z\log\eta_z`:
    :math:`\lambda_z = \sum_j\log\eta_j + 1/\eta_z`.

    The induced rule has a further constant :math:`-(M+1)` in every class.

    >>> SymmetricInverseLog()(torch.tensor([-2.0, 0.0])).round(decimals=1).tolist()[1]
    -1.0
    """

    def at(self, log_eta, own):
        return log_eta.sum(-1, keepdim=True) + saturating_exp(-own)


class RatioRule(ScoringRule):
    r"""An asymmetric rule: it sees the classes only through :math:`\rho_z = \eta_z/\eta_0`.

    .. math:: \lambda_0 = \sum_{z\ge1}\rho_z\psi'(\rho_z) - \psi(\rho_z),
              \qquad \lambda_z = -\psi'(\rho_z)

    for a convex scalar :math:`\psi`, that is :math:`\Psi(\rho) = \sum_z\psi(\rho_z)`.
    """

    needs_anchor = True

    def slope(self, log_rho: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """psi'(rho), from log rho."""
        raise TypeError(f"{type(self).__name__} must define slope")

    def gap(self, log_rho: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """rho psi'(rho) - psi(rho), from log rho."""
        raise TypeError(f"{type(self).__name__} must define gap")

    def _all(self, log_eta):
        log_rho = log_eta[..., 1:] - log_eta[..., :1]
        return torch.cat([self.gap(log_rho).sum(-1, keepdim=True), -self.slope(log_rho)], -1)

    def _one(self, log_eta, z):
        if z == 0:
            return self.gap(log_eta[..., 1:] - log_eta[..., :1]).sum(-1)
        return -self.slope(log_eta[..., z] - log_eta[..., 0])


@dataclass(frozen=True)
class Asymmetric(RatioRule):
    r"""The asymmetric rule of any strictly convex scalar function, differentiated by autograd.

    ``psi`` acts on a tensor entry by entry; it is refused when it is not strictly convex on
    1e-6 <= rho <= 1e6. The named rules below work in log space instead, where nothing overflows.

    >>> Asymmetric(torch.square)(torch.tensor([0.5, 0.5]).log()).tolist()
    [1.0, -2.0]
    """

    psi: Callable[[Tensor], Tensor]

    def __post_init__(self):
        rho = torch.logspace(-6, 6, 241, dtype=torch.float64, device="cpu")
        slope = _derivative(self.psi, rho)
        if not bool(torch.isfinite(slope).all()):
            raise ValueError(
                "psi has no finite derivative on 1e-6 <= rho <= 1e6; pass a smooth psi"
            )
        if bool((slope.diff() <= 0).any()):
            at = rho[1:][slope.diff() <= 0][0].item()
            raise ValueError(
                f"psi is not strictly convex: its derivative does not increase near rho={at:.3g}, "
                "so the induced rule is not strictly proper; pass a strictly convex psi"
            )

    def slope(self, log_rho):
        return _derivative(self.psi, saturating_exp(log_rho))

    def gap(self, log_rho):
        rho = saturating_exp(log_rho)
        return rho * _derivative(self.psi, rho) - self.psi(rho)


def _derivative(psi: Callable[[Tensor], Tensor], rho: Tensor) -> Tensor:
    return torch.func.grad(lambda r: psi(r).sum())(rho)


@dataclass(frozen=True)
class Kliep(RatioRule):
    r"""KLIEP (NWJ), :math:`\psi(\rho) = \rho\log\rho`: :math:`\lambda_0 = \sum_z\rho_z`,
    :math:`\lambda_z = -\log\rho_z`.

    The induced rule has a further constant -1 in classes 1..M.

    >>> Kliep()(torch.tensor([0.5, 0.5]).log()).tolist()
    [1.0, -0.0]
    """

    def slope(self, log_rho):
        return log_rho

    def gap(self, log_rho):
        return saturating_exp(log_rho)


@dataclass(frozen=True)
class RobustDRE(RatioRule):
    r"""Robust density-ratio estimation, :math:`\psi(\rho) = \rho^\alpha/(\alpha(\alpha-1))`:

    .. math:: \lambda_0 = \sum_z\rho_z^\alpha/\alpha, \qquad
              \lambda_z = -\rho_z^{\alpha-1}/(\alpha-1)

    ``alpha=2`` is the chi-square (DRF, LSIF) rule.

    >>> RobustDRE(2)(torch.tensor([0.5, 0.5]).log()).tolist()
    [0.5, -1.0]
    """

    alpha: float = 2.0

    def __post_init__(self):
        _check_alpha(self.alpha, "RobustDRE")

    def slope(self, log_rho):
        return saturating_exp((self.alpha - 1) * log_rho) / (self.alpha - 1)

    def gap(self, log_rho):
        return saturating_exp(self.alpha * log_rho) / self.alpha


@dataclass(frozen=True)
class InverseLog(RatioRule):
    r"""Inverse log, :math:`\psi(\rho) = -\log\rho`: :math:`\lambda_0 = \sum_z\log\rho_z`,
    :math:`\lambda_z = 1/\rho_z`.

    The induced rule has a further constant -M in class 0.

    >>> InverseLog()(torch.tensor([0.5, 0.5]).log()).tolist()
    [0.0, 1.0]
    """

    def slope(self, log_rho):
        return -saturating_exp(-log_rho)

    def gap(self, log_rho):
        return log_rho
