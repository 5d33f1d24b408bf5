"""Steps in the proofs of Proposition 1 and Theorem 2 that are misprinted or wrong."""

import math
from collections.abc import Callable

import numpy as np
import sympy as sp

from mi_lib import finite

from .. import by_definition
from ..adversary import event_pair, random_pairs
from .infonce_ceiling import PAGE
from .registry import Part, claim, extreme, identity

SIZES = (2, 3)


@claim(
    "proof-1-choice",
    item="Proof of Proposition 1, the choice of r",
    statement=r"$\log\bigl(r_\theta(x_1)\big/\tfrac1K\sum_k r_\theta(x_k)\bigr)$, put in the place "
    r"of $r$, has the mean 1 under $\qzero^K$",
    page=PAGE,
    recorded="holds with correction",
    twin={"taken": lambda s: s},
    twin_says="without the logarithm",
)
def choice_of_r(taken: Callable = sp.log) -> list[Part]:
    """Without the logarithm the mean is 1; with it, at most log 1 = 0 (Jensen)."""
    b, u, v = sp.symbols("b u v", positive=True)
    q0, r = (b, 1 - b), (u, v)

    def mean(k: int, f: Callable) -> sp.Expr:
        return by_definition.mean(q0, q0, k, lambda x: f(r[x[0]] * k / sum(r[i] for i in x)))

    coin = {b: sp.Rational(1, 2), u: 1, v: 3}
    printed = [(float((mean(k, taken) - 1).subs(coin)), f"a fair coin, K={k}") for k in SIZES]
    below = [(-float(mean(k, sp.log).subs(coin)), f"K={k}") for k in SIZES]
    return [
        extreme("its mean less 1, r = (1, 3)", "equal", printed),
        identity(
            "without the logarithm (K = 2, 3; symbolic)",
            *(mean(k, lambda s: s) - 1 for k in SIZES),
            role="correction",
        ),
        extreme("minus the mean of the logarithm", "strict", below, 1e-3, role="support"),
    ]


@claim(
    "proof-2-jensen",
    item="Proof of Theorem 2, the Jensen step",
    statement=r"$\E[\log\bar r] \ge \log\E[\bar r]$ with "
    r"$\bar r = \tfrac1K\sum_z\qone(x_z)/\qzero(x_z)$, by the concavity of the logarithm",
    page=PAGE,
    recorded="holds with correction",
    twin={"sign": -1},
    twin_says="at most, in place of at least",
)
def jensen_step(sign: int = 1) -> list[Part]:
    """E log r-bar = D - JSD and E r-bar = 1 + chi-square/K, in nats."""
    gap = []
    for q1, q0 in random_pairs(60, 3, 12):
        for k in (2, 4, 16):
            mean_log = finite.kl(q1, q0, "nats") - finite.k_way_jsd(q1, q0, k, "nats")
            gap.append((mean_log - math.log1p(finite.chi_square(q1, q0) / k), f"K={k}"))
    fair = np.array([0.3, 0.7])
    same = finite.kl(fair, fair) - finite.k_way_jsd(fair, fair, 4)
    return [
        extreme("as printed, random pairs", "bound", [(sign * g, note) for g, note in gap]),
        extreme("at most", "bound", [(-g, note) for g, note in gap], role="correction"),
        Part("equality when q1 = q0", "equal", same, 1e-12, 1, role="correction"),
    ]


@claim(
    "proof-2-unit",
    item="Proof of Theorem 2, chi-square and D",
    statement=r"$\chi^2(\qone\Vert\qzero) \ge e^D - 1$, with $D$ in bits",
    page=PAGE,
    recorded="holds with correction",
    twin={"base": 2.0},
    twin_says="2^D - 1",
)
def chi_square_step(base: float = math.e) -> list[Part]:
    """2^D - 1 with D in bits, as the theorem has it."""
    pairs = [event_pair(d) for d in (0.5, 1.0, 2.0)] + list(random_pairs(60, 3, 13))

    def slack(b: float) -> list[tuple[float, str]]:
        return [(finite.chi_square(*p) - b ** finite.kl(*p) + 1, "") for p in pairs]

    tight = [(finite.chi_square(*event_pair(d)) - 2**d + 1, f"D={d}") for d in (0.5, 1.0, 2.0)]
    return [
        extreme("as printed", "bound", slack(base)),
        extreme("2^D - 1", "bound", slack(2.0), role="correction"),
        extreme("with equality when r is 0 or 2^D", "equal", tight, role="correction"),
    ]
