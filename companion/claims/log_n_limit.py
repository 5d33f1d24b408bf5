r"""How large a lower bound on I(X;Y) can N samples certify, and what a plug-in gives up.

A *certificate* at level delta is a function B of N independent pairs with P(B <= I(X;Y)) >= 1 -
delta for every law of (X, Y). Bits throughout, except where a part says nats.
"""

import math
from collections.abc import Sequence
from itertools import permutations, product

import numpy as np
import sympy as sp
from scipy.optimize import brentq
from scipy.special import pdtr

from mi_lib import finite

from ..adversary import binomial_pmf, try_to_break
from ..batches import expectation, information, log_ratio, population
from ..gaussian_pair import GaussianPair
from .registry import Part, claim, extreme, identity
from .which_estimator import EVALUATIONS, PAGE, joints, nwj_reading, pairs, symbolic_pair

SIZES = (64, 256, 1024, 2**14, 2**20)


def collision_level(delta: float) -> float:
    """The a > 1 with 2 (1 + a) e^-a = delta: N distinct draws have a chance of at most delta when
    N sqrt(sum p^2) >= a."""
    return brentq(lambda a: 2 * (1 + a) * math.exp(-a) - delta, 1.0, 100.0)


def certificate(n: int, delta: float = 0.05) -> float:
    """What N pairs certify, in bits, when x = y in all of them and no value occurs twice.

    >>> round(certificate(64), 2)
    6.45
    """
    same = delta ** (1 / n)  # P(X = Y) is at least this
    product_mass = (collision_level(delta) / n) ** 2  # and P(X = Y') at most this
    if product_mass >= same:
        return 0.0
    return finite.kl((1 - same, same), (1 - product_mass, product_mass))


def chance_distinct(p: np.ndarray, n: int) -> float:
    """The chance that n draws, each letter i with chance p_i (sum at most 1), are all distinct
    letters: n! times the elementary symmetric polynomial."""
    coefficients = np.zeros(n + 1)
    coefficients[0] = 1.0
    for value in p * n:
        coefficients[1:] += value * coefficients[:-1]
    return float(coefficients[n] * math.exp(math.lgamma(n + 1) - n * math.log(n)))


def copy_channel(letters: int, heavy: float, noise: float, n: int) -> tuple[float, float]:
    """(I(X;Y) in bits, the chance that n pairs are n different copies) for a noisy copy.

    X has one letter of mass ``heavy`` and ``letters - 1`` that share the rest; Y = X, except with
    probability ``noise``, when Y is an independent draw.
    """
    rest = letters - 1
    light = (1 - heavy) / rest
    copied = [(1 - noise) * p + noise * p * p for p in (heavy, light)]
    cells = [  # how many, probability, product of the marginals
        (1, copied[0], heavy**2),
        (rest, copied[1], light**2),
        (2 * rest, noise * heavy * light, heavy * light),
        (rest * (rest - 1), noise * light**2, light**2),
    ]
    information_ = sum(count * p * math.log2(p / q) for count, p, q in cells if p > 0)

    def falling(k: int) -> float:  # rest (rest - 1) ... (rest - k + 1) light^k
        if k > rest:
            return 0.0
        log = math.lgamma(rest + 1) - math.lgamma(rest - k + 1) + k * math.log(copied[1])
        return math.exp(log)

    return information_, falling(n) + n * copied[0] * falling(n - 1)


def _valid(delta: float, role: str) -> Part:
    """Where the event behind the certificate has more than the chance delta, I is large enough."""
    cases = []
    for n in (16, 64, 1024):
        for heavy in (0.5 / n**2, 1 / n, 2 / n, 3 / n):
            for noise in (0.0, 0.5 / n, 1 / n):
                low, high = 2, 4 * n**2  # the smallest alphabet with chance > delta
                while low < high:
                    middle = (low + high) // 2
                    likely = copy_channel(middle, heavy, noise, n)[1] > delta
                    low, high = (low, middle) if likely else (middle + 1, high)
                bits, chance = copy_channel(low, heavy, noise, n)
                if chance > delta:
                    cases.append((bits - certificate(n, delta), f"N={n}"))
    return extreme("P(event) > delta only where I >= certificate", "bound", cases, role=role)


@claim(
    "two-log-n",
    item="What N pairs can certify (ours)",
    statement=r"A certificate exceeds $2\log N$ with probability at most $2\delta$, whatever the "
    r"law; and one certificate reaches $2\log N - C_\delta$",
    page=PAGE,
    recorded="holds",
    twin={"factor": 1.0},
    twin_says="log N in place of 2 log N",
)
def two_log_n(factor: float = 2.0, delta: float = 0.05) -> list[Part]:
    """Upper half: draw from a pool of N^2 samples. Lower half: N copies without a repetition."""
    a = sp.Symbol("a", positive=True)
    law = (a, 1 - a)
    pool = []
    for seen in product((0, 1), repeat=2):  # N = 2 distinct places of a pool of M = 3
        chance = sum(
            sp.prod(law[letter] for letter in letters)
            for letters in product((0, 1), repeat=3)
            for i, j in permutations(range(3), 2)
            if (letters[i], letters[j]) == seen
        )
        pool.append(chance / 6 - law[seen[0]] * law[seen[1]])
    fresh = [(np.prod(1 - np.arange(n) / n**2) - 0.5, f"N={n}") for n in (1, 2, 3, 10, 100, 2000)]
    rng = np.random.default_rng(12)
    informed = []
    for size in (4, 9, 25):
        for joint in joints(10, size):
            counts = rng.multinomial(size, joint.ravel()).reshape(joint.shape)
            informed.append((math.log2(size) - information(counts / size, "bits"), f"M={size}"))
    u = sp.Symbol("u", positive=True)
    falls = u**2 / (1 + u) - 2 * u + 2 * sp.log(1 + u)  # u^3 d/du of (u - ln(1 + u))/u^2
    distinct = []
    for n in (4, 16, 64):
        for _ in range(40):
            p = rng.dirichlet(np.full(8 * n, rng.choice([0.02, 0.1, 1.0])))
            level = n * math.sqrt((p**2).sum())
            bound = 2 * (1 + level) * math.exp(-level)
            distinct.append((bound - chance_distinct(p, n), f"N={n}"))
    cuts = [
        (information(j) - finite.kl((1 - e, e), (1 - q, q), "nats"), "")
        for j in joints(40, 130)
        if j.shape[0] == j.shape[1]
        for e, q in [(np.trace(j), float(j.sum(1) @ j.sum(0)))]
    ]
    return [
        identity("two distinct places of a pool are two fresh draws (symbolic)", *pool),
        extreme("pool of N^2: N places are distinct with chance >= 1/2", "bound", fresh),
        extreme("information of a pool of M is at most log M", "bound", informed),
        extreme(
            "the certificate stays below 2 log N",
            "bound",
            [(factor * math.log2(n) - certificate(n, delta), f"N={n}") for n in SIZES],
        ),
        identity(
            "(u - ln(1+u))/u^2 falls: the slope's numerator starts at 0 and falls",
            falls.subs(u, 0),
            sp.diff(falls, u) + u**2 / (1 + u) ** 2,
        ),
        extreme(
            "a Poisson variable of mean N is at most N with chance >= 1/2",
            "bound",
            [(pdtr(n, n) - 0.5, f"N={n}") for n in (1, 2, 5, 64, 10**3, 10**6)],
        ),
        extreme("P(N distinct) <= 2 (1 + a) e^-a, random laws", "bound", distinct),
        extreme("I >= binary divergence of the event x = y, random laws", "bound", cuts),
        _valid(delta, "statement"),
        extreme(
            "the certificate is within 5.3 bits of 2 log N",
            "bound",
            [(certificate(n, delta) - 2 * math.log2(n) + 5.3, f"N={n}") for n in SIZES[2:]],
        ),
    ]


@claim(
    "log-n",
    item="Section 2.1, the log N limit",
    statement=r"Any distribution-free high-probability lower bound on $I(X;Y)$ from $N$ samples "
    r"is at most $\log N$",
    page=PAGE,
    recorded="holds with correction",
    twin={"factor": 2.0},
    twin_says="2 log N in place of log N",
)
def log_n(factor: float = 1.0, delta: float = 0.05) -> list[Part]:
    """The rate is right; the constant belongs to a neighbouring problem."""
    sizes = (2, 3, 8, 64, 10**3)

    def room(q1: np.ndarray, q0: np.ndarray, n: int) -> float:
        return math.log2(n) - finite.kl(q1, (1 - 1 / n) * q0 + q1 / n)

    mixture = [(room(*pair, n), f"N={n}") for pair in pairs(140)[::6] for n in sizes]
    search = try_to_break(lambda q1, q0: room(q1, q0, 8), 3, 3, 2)
    far = [(room(np.array([0, 1.0]), np.array([1.0, 0]), n), f"N={n}") for n in sizes]
    return [
        extreme(
            "the certificate for N copies stays below log N",
            "bound",
            [(factor * math.log2(n) - certificate(n, delta), f"N={n}") for n in SIZES],
        ),
        _valid(delta, "support"),
        extreme(
            "N pairs: it stays below 2 log N",
            "bound",
            [(2 * math.log2(n) - certificate(n, delta), f"N={n}") for n in SIZES],
            role="correction",
        ),
        extreme(
            "q1 known, N draws of q0: D(q1 || (1-1/N) q0 + q1/N) <= log N",
            "bound",
            mixture + [(m, "") for m, _ in search],
            role="correction",
        ),
        extreme("with equality when q1 and q0 do not overlap", "equal", far, role="correction"),
        extreme(
            "and N draws of the mixture are all from q0 with chance >= 1/4",
            "bound",
            [((1 - 1 / n) ** n - 0.25, f"N={n}") for n in sizes],
            role="correction",
        ),
    ]


@claim(
    "type-2",
    item="Section 2.1, Type 2 and the limit",
    statement=r"Type 2 also reads off a lower bound of $I(X;Y)$ (MINE: DV, JS: NWJ, SMILE: clipped "
    r"DV), so the $\log N$ critique applies to it",
    page=PAGE,
    recorded="holds with correction",
    twin={"rows": ("MINE", "JS")},
    twin_says="MINE and JS only",
)
def type_2(rows: Sequence[str] = ("MINE", "JS", "SMILE")) -> list[Part]:
    """DV and NWJ are lower bounds for every critic; clipped DV is the plug-in, give or take tau."""
    rng, tau = np.random.default_rng(13), 5.0
    read = {
        "MINE": lambda j, c: -population("dv", j, c),
        "JS": lambda j, c: nwj_reading(j, c, 1.0),
        "SMILE": lambda j, c: -population("clipped-dv", j, c, tau),
    }
    critics = [
        (j, log_ratio(j) + scale * rng.normal(size=j.shape) + shift)
        for j in joints(10, 150)
        for scale in (0.0, 1.0)
        for shift in (0.0, 2.0, 10.0)
    ]
    near = [(tau - abs(read["SMILE"](j, c) + population("plug-in", j, c)), "") for j, c in critics]
    missed, mean = [], []
    for bits, n in ((4.0, 8), (8.0, 64), (10.0, 512)):
        ratio, hits = 2.0**bits, np.arange(n + 1)
        reading = bits * math.log(2) + 1 - hits * ratio / n  # NWJ of r in {0, 2^I}, in nats
        weights = binomial_pmf(hits, n, 1 / ratio)
        mean.append((weights @ reading - bits * math.log(2), f"I={bits}, N={n}"))
        above = weights[reading > bits * math.log(2) + 1e-12].sum()
        missed.append((above - (1 - 1 / ratio) ** n, f"I={bits}, N={n}"))
    return [
        *(
            extreme(
                f"{row}: reading <= I for every critic",
                "bound",
                [(information(j) - read[row](j, c), "") for j, c in critics],
            )
            for row in rows
        ),
        extreme("SMILE's reading is within tau of the plug-in", "bound", near, role="correction"),
        extreme(
            "r in {0, 2^I}, N shuffled pairs: NWJ is I on average",
            "equal",
            mean,
            role="support",
        ),
        extreme(
            "but above I with chance (1 - 2^-I)^N when N < 2^I",
            "equal",
            missed,
            role="support",
        ),
    ]


@claim(
    "type-3",
    item="Section 2.1, Type 3 side-steps the limit",
    statement=r"A plug-in is not held below $\log N$: at the true ratio $\E_{\hat p}[c]$ is "
    r"unbiased with variance $\operatorname{Var}(c)/N$, however large $I(X;Y)$ is",
    page=PAGE,
    recorded="holds",
    twin={"lower_bound": True},
    twin_says="the plug-in is a lower bound",
)
def type_3(lower_bound: bool = False) -> list[Part]:
    """It uses no sample of p(x) p(y); it guarantees nothing either."""
    variance = []
    for j in joints(6, 160):
        c = log_ratio(j)
        second = expectation(lambda s: EVALUATIONS["plug-in"](s) ** 2, j, c, 3).item()
        spread = float((j * (c - information(j)) ** 2).sum())
        variance.append((second - information(j) ** 2 - spread / 3, ""))
    noise = [(1.0 - GaussianPair.from_bits(b).pmi_variance, f"I={b} bits") for b in (1, 4, 10, 20)]
    (q1, q0), scale = symbolic_pair(), sp.Symbol("C", positive=True)
    ratio = [scale * p / q for p, q in zip(q1, q0, strict=True)]
    mi = finite.kl(q1, q0, "nats")
    plug_in = sum(p * sp.log(r) for p, r in zip(q1, ratio, strict=True))
    worlds = [(0.5 - (1 - np.prod(1 - np.arange(n) / n**2)), f"N={n}") for n in (2, 64, 1024)]
    parts = [
        extreme("variance over batches of 3 = Var(c)/3", "equal", variance),
        extreme("Gaussian pair: Var(c) = rho^2 <= 1 nat^2 up to 20 bits", "bound", noise),
        identity(
            "r -> C r: the plug-in moves by ln C, DV not at all (symbolic)",
            plug_in - mi - sp.log(scale),
            finite.dv(ratio, q1, q0, "nats") - mi,
            role="support",
        ),
        identity(
            "and NWJ by ln C - C + 1",
            finite.nwj(ratio, q1, q0, "nats") - mi - sp.log(scale) + scale - 1,
            role="support",
        ),
        extreme(
            "N pairs of a law or of a pool of N^2: total variation <= 1/2",
            "bound",
            worlds,
            role="support",
        ),
    ]
    if lower_bound:
        over = [(-math.log(c), f"C={c}") for c in (0.5, 1.0, 2.0, 1024.0)]
        parts.append(extreme("I - plug-in of C r is not negative", "bound", over))
    return parts
