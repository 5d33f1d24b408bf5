"""Where the scale of a critic of the wrong shape lands, from nu = 0 to infinity (ours)."""

import numpy as np

from mi_lib import finite

from .. import by_definition
from ..adversary import try_to_break
from ..scale import fitted_scale, scale_limits, tuple_sums
from .anchor import CRITIC, NU, literal_loss, symbolic_pair
from .anchor_scale import PAGE, SCALE, by_log_scale, sums
from .registry import Part, claim, extreme, identity


def confident_pair(
    rng: np.random.Generator, over: bool, letters: int = 3
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """r, q1, q0 with r*/r a decreasing function of r (over-confident) or an increasing one."""
    r = np.sort(rng.lognormal(sigma=1.5, size=letters))
    share = np.sort(rng.lognormal(size=letters))
    share = share[::-1] if over else share
    q0 = rng.dirichlet(np.ones(letters))
    q1 = q0 * r * share
    return r, q1 / q1.sum(), q0


@claim(
    "scale-limits",
    item="Where the scale of a misfit lands (ours)",
    statement=r"The fitted scale solves $\E_{\qzero^K}\bigl[(S^* - CS)/(\nu + CS)\bigr] = 0$; "
    r"$C \to \E_{\qzero^K}[S^*/S]$ as $\nu \to 0$ and $C \to 1/\E_{\qzero}[r]$ as $\nu \to \infty$",
    page=PAGE,
    recorded="holds",
    twin={"harmonic": False},
    twin_says="K over the mean of S in class 1",
)
def limits(harmonic: bool = True) -> list[Part]:
    """Stationarity in log C, for a critic of any shape."""
    q1, q0 = symbolic_pair()
    ratio = tuple(p / q for p, q in zip(q1, q0, strict=True))
    scaled = [SCALE * r for r in CRITIC]
    slopes, swap = [], []
    for k in (1, 2):
        slope = by_log_scale(literal_loss(scaled, q1, q0, k, NU))
        balance = by_definition.mean(
            q0, q0, k, lambda x: (sums(x, ratio) - sums(x, scaled)) / (NU + sums(x, scaled))
        )
        slopes.append(slope + NU / (k + NU) * balance)
        one = by_definition.mean(q1, q0, k, lambda x, k=k: k / sums(x, CRITIC))
        swap.append(one - by_definition.mean(q0, q0, k, lambda x: sums(x, ratio) / sums(x, CRITIC)))
    rng = np.random.default_rng(25)
    least, low, high = [], [], []
    for i in range(24):
        r, p1, p0 = confident_pair(rng, over=bool(i % 2))
        k = (1, 3, 8)[i % 3]
        s, true, chance = tuple_sums(r, p1, p0, k)
        at_zero, at_infinity = scale_limits(r, p1, p0, k)
        if not harmonic:
            at_zero = k / float(chance @ (s * true / k))
        low.append((np.log(fitted_scale(r, p1, p0, k, 1e-9) / at_zero), f"K={k}"))
        high.append((np.log(fitted_scale(r, p1, p0, k, 1e9) / at_infinity), f"K={k}"))
        best = fitted_scale(r, p1, p0, k, 1.0)
        risk = [finite.anchored_risk(best * np.exp(d) * r, p1, p0, k, 1) for d in (-1e-3, 0, 1e-3)]
        least.append((1e6 * (min(risk[0], risk[2]) - risk[1]), f"K={k}, in 1e-6 nats"))
    return [
        identity("dL/dlog C = -nu/(K+nu) E_0[(S* - CS)/(nu + CS)] (symbolic)", *slopes),
        identity("E_1[K/S] = E_0[S*/S] (K = 1, 2; symbolic)", *swap),
        extreme("nu = 10^-9: log of C over the first limit", "equal", low, 1e-6),
        extreme("nu = 10^9: log of C over the second", "equal", high, 1e-6),
        extreme("the loss is larger at C e^0.001 and C e^-0.001", "strict", least, 1e-4),
    ]


UNEVEN = ((0.04, 0.34, 2.8), (0.27, 0.21, 0.52), (0.39, 0.59, 0.02))  # r, q1, q0


@claim(
    "scale-path",
    item="Plug-in against DV (ours)",
    statement=r"If $r^*/r$ decreases in $r$ (an over-confident critic), $C(\nu)$ decreases and "
    r"plug-in $>$ DV at every $\nu$; if it increases, the reverse; the gap vanishes as "
    r"$\nu \to \infty$",
    page=PAGE,
    recorded="holds",
    twin={"under": 1},
    twin_says="plug-in > DV for under-confident critics, too",
)
def path(under: int = -1) -> list[Part]:
    """C is a mean of r*/r with weights that favour small r, the more so the smaller nu is."""
    rng = np.random.default_rng(26)
    weights = np.geomspace(1e-3, 1e4, 12)
    sign, fall, end, fair, means, rises = [], [], [], [], [], []
    for i in range(40):
        over = bool(i % 2)
        side, k = (1 if over else under), (1, 2, 4, 8)[i % 4]
        r, q1, q0 = confident_pair(rng, over)
        at_zero, at_infinity = scale_limits(r, q1, q0, k)
        widest = abs(np.log(at_zero / at_infinity))  # the gap plug-in - DV as nu -> 0
        gap = np.log([fitted_scale(r, q1, q0, k, nu) / at_infinity for nu in weights]) / widest
        note = f"K={k}, {'over' if over else 'under'}-confident"
        rest, _, chance = tuple_sums(r, q1, q0, k - 1)
        scale = fitted_scale(r, q1, q0, k, weights[i % 12])
        mu = weights[i % 12] / scale
        f, further = ((1 / (u + r[:, None] + rest)) @ chance for u in (mu, 2 * mu))
        means.append((np.log((q1 @ f) / (q0 @ (r * f)) / scale), note))  # E_q0[r* f]/E_q0[r f]
        rises.append((np.diff(further / f).min() / np.ptp(further / f), note))
        sign.append((side * gap[:-4].min() if side > 0 else -gap[:-4].max(), note))
        fall.append((-(side * np.diff(gap)).max(), note))
        end.append((np.log(fitted_scale(r, q1, q0, k, 1e9) / at_infinity), note))
        fair.append((np.log(fitted_scale(q1 / q0, q1, q0, k, weights[i % 12])), note))
    found = [
        (margin, f"K={k}, nu={nu:g}")
        for k, nu in ((2, 1.0), (5, 0.1))
        for margin, _ in try_to_break(
            lambda q1, q0, k=k, nu=nu: np.log(
                fitted_scale((q1 / q0) ** 1.5, q1, q0, k, nu) * (q0 @ (q1 / q0) ** 1.5)
            ),
            3,
            2,
            k,
        )
    ]
    r, q1, q0 = (np.array(law) for law in UNEVEN)
    at_zero, at_infinity = scale_limits(r, q1, q0, 2)
    crossing = [
        (np.log(at_zero / at_infinity), "nu -> 0"),
        (-np.log(fitted_scale(r, q1, q0, 2, 1.0) / at_infinity), "nu=1"),
    ]
    return [
        extreme("C = mean of r*/r with weights r f(nu/C + r)", "equal", means),
        extreme("f(2 mu + r)/f(mu + r) rises with r, share of its range", "bound", rises),
        extreme("gap plug-in - DV over its limit at nu = 0, nu to 23", "strict", sign, 1e-4),
        extreme("the gap shrinks from each nu to the next", "bound", fall, 1e-10),
        extreme("an optimiser finds no r = (r*)^1.5 with plug-in < DV", "bound", found),
        extreme("nu = 10^9: the gap", "equal", end, 1e-6),
        extreme("the true ratio keeps C = 1 at every nu", "equal", fair),
        extreme(
            "r*/r not monotone: above DV at nu -> 0, below at nu = 1",
            "strict",
            crossing,
            0.01,
            role="support",
        ),
    ]
