"""The paper's Eqs. 1-4: the (K+1)-class problem, its loss, and four losses that it contains."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np
import sympy as sp

from mi_lib import finite

from .. import by_definition
from ..adversary import Pair
from .registry import Part, claim, extreme, identity

PAGE = "theory/anchor"
NU = sp.Symbol("nu", positive=True)
CRITIC = sp.symbols("u v", positive=True)
HALF = sp.Rational(1, 2)


def symbolic_pair() -> tuple[tuple[sp.Expr, ...], tuple[sp.Expr, ...]]:
    """q1 and q0 on two letters with unknown probabilities."""
    a, b = sp.symbols("a b", positive=True)
    return (a, 1 - a), (b, 1 - b)


def classes(
    q1: by_definition.Law, q0: by_definition.Law, k: int, nu: sp.Expr
) -> Iterator[tuple[tuple[int, ...], list[sp.Expr]]]:
    """Each tuple x_1..K with p(z) p(x | z) for z = 0..K, written out from Eq. 1."""
    prior = [nu / (k + nu)] + k * [1 / (k + nu)]
    for x in product(range(len(q0)), repeat=k):
        density = [sp.prod((q1 if i == z else q0)[x[i]] for i in range(k)) for z in range(-1, k)]
        yield x, [p * d for p, d in zip(prior, density, strict=True)]


def model(r: by_definition.Law, x: Sequence[int], nu: sp.Expr) -> list[sp.Expr]:
    """The classifier of Eq. 3: (nu, r(x_1), ..., r(x_K)) over its sum."""
    scores = [nu, *(r[i] for i in x)]
    return [score / sum(scores) for score in scores]


def literal_loss(
    r: by_definition.Law, q1: by_definition.Law, q0: by_definition.Law, k: int, nu: sp.Expr
) -> sp.Expr:
    """Minus the expected log-likelihood of the classifier, over all tuples and classes."""
    return -sum(
        p * sp.log(eta)
        for x, masses in classes(q1, q0, k, nu)
        for p, eta in zip(masses, model(r, x, nu), strict=True)
    )


def three_letter_pairs(count: int, seed: int) -> list[Pair]:
    """Pairs on three letters whose probabilities all exceed 0.05."""
    rng = np.random.default_rng(seed)
    laws = 0.05 + 0.85 * rng.dirichlet(np.ones(3), (count, 2))
    return [(q1, q0) for q1, q0 in laws]


@claim(
    "anchor-posterior",
    item="Equations (1)-(3), classes and posterior",
    statement=r"Eq. (1) with prior $\nu/(K+\nu)$ on the anchor has the posterior "
    r"$(\nu, r(x_1), \dots, r(x_K))$ over its sum, $r = \qone/\qzero$",
    page=PAGE,
    recorded="holds",
    twin={"weight": sp.Integer(1)},
    twin_says="weight 1 on the anchor instead of nu",
)
def posterior(weight: sp.Expr = NU) -> list[Part]:
    """Bayes' rule on all tuples of two letters with unknown probabilities."""
    q1, q0 = symbolic_pair()
    ratio = [p / q for p, q in zip(q1, q0, strict=True)]
    marginal, bayes, mass = [], [], []
    for k in (1, 2):
        total = 0
        for x, joint in classes(q1, q0, k, NU):
            strangers = sp.prod(q0[i] for i in x)
            mixed = strangers * (sum(ratio[i] for i in x) + weight) / (k + weight)
            marginal.append(sum(joint) - mixed)
            bayes += [
                p / sum(joint) - eta for p, eta in zip(joint, model(ratio, x, weight), strict=True)
            ]
            total += sum(joint)
        mass.append(total - 1)
    return [
        identity("classes and priors add up to 1 (K = 1, 2; symbolic)", *mass),
        identity("marginal = q0 ... q0 (nu + sum r)/(K + nu)", *marginal),
        identity("Bayes' rule gives (nu, r_1, ..., r_K)/(nu + sum r)", *bayes),
    ]


@claim(
    "anchor-objective",
    item="Equation (4), objective",
    statement=r"$\Loss_{K;\nu}(\theta)$ is minus the expected log-likelihood, "
    r"$-\E_{p(z)p(x_{1:K}\mid z)}[\log p_\theta(z \mid x_{1:K})]$",
    page=PAGE,
    recorded="holds",
    twin={"places": lambda k: k - 1},
    twin_says="K - 1 in place of K in the weights",
)
def objective(places: Callable[[int], int] = lambda k: k) -> list[Part]:
    """The K positive classes are alike, so that one of them, taken K times, is enough."""
    q1, q0 = symbolic_pair()
    likelihood = []
    for k in (1, 2):
        first = by_definition.mean(q1, q0, k, lambda x: -sp.log(model(CRITIC, x, NU)[1]))
        second = by_definition.mean(q0, q0, k, lambda x: -sp.log(model(CRITIC, x, NU)[0]))
        n = places(k)
        two_terms = (n * first + NU * second) / (n + NU)
        likelihood.append(two_terms - literal_loss(CRITIC, q1, q0, k, NU))
    library = [
        finite.anchored_risk(CRITIC, q1, q0, k, nu) - literal_loss(CRITIC, q1, q0, k, nu)
        for k, nu in ((1, HALF), (2, sp.Integer(1)), (2, sp.Integer(3)))
    ]
    return [
        identity("two terms = the mean over K + 1 classes (K = 1, 2; symbolic)", *likelihood),
        identity("mi_lib.finite computes this loss (nu = 1/2, 1, 3)", *library, role="support"),
    ]


@claim(
    "anchor-without",
    item="After Equation (4), InfoNCE and ranking NCE",
    statement=r"$\Loss_{K;0} = \log K - \InfoNCE$; at $K = 2$ it is the ranking loss "
    r"$\E\log\bigl(1 + r(x_2)/r(x_1)\bigr)$",
    page=PAGE,
    recorded="holds",
    twin={"offset": lambda k: sp.log(k + 1)},
    twin_says="log(K + 1) in place of log K",
)
def without_anchor(offset: Callable[[int], sp.Expr] = sp.log) -> list[Part]:
    """Without an anchor the problem is InfoNCE, up to the constant log K."""
    q1, q0 = symbolic_pair()
    zero = sp.Integer(0)
    infonce = [
        finite.anchored_risk(CRITIC, q1, q0, k, zero)
        - (offset(k) - finite.infonce(CRITIC, q1, q0, k, "nats"))
        for k in (2, 3)
    ]
    ranking = by_definition.mean(q1, q0, 2, lambda x: sp.log(1 + CRITIC[x[1]] / CRITIC[x[0]]))
    cases = [
        (
            finite.anchored_risk(np.exp([0.3, -1.0, 2.0]), p1, p0, k, 0)
            - float(offset(k))
            + finite.infonce(np.exp([0.3, -1.0, 2.0]), p1, p0, k, "nats"),
            f"K={k}",
        )
        for p1, p0 in three_letter_pairs(5, 1)
        for k in (2, 8, 16)
    ]
    return [
        identity("loss = log K - InfoNCE (K = 2, 3; symbolic critic and laws)", *infonce),
        extreme("the same up to K = 16, random pairs", "equal", cases),
        identity(
            "K = 2: E log(1 + r2/r1)", finite.anchored_risk(CRITIC, q1, q0, 2, zero) - ranking
        ),
    ]


@claim(
    "anchor-one-point",
    item="After Equation (4), JS and NCE",
    statement=r"$\Loss_{1;\nu}$ is $\tfrac1{1+\nu}$ of the NCE loss with $\nu$ noise points for "
    r"each datum, and $\Loss_{1;1}$ is $\tfrac12$ of Table 1's JS loss",
    page=PAGE,
    recorded="holds",
    twin={"factor": sp.Integer(1)},
    twin_says="factor 1 in place of 1/2",
)
def one_point(factor: sp.Expr = HALF) -> list[Part]:
    """With one point the problem is a logistic regression of data against noise."""
    q1, q0 = symbolic_pair()

    def mean(law: by_definition.Law, value: Callable[[sp.Expr], sp.Expr]) -> sp.Expr:
        return sum(p * value(r) for p, r in zip(law, CRITIC, strict=True))

    js = mean(q1, lambda r: sp.log(1 + 1 / r)) + mean(q0, lambda r: sp.log(1 + r))
    nce = [
        literal_loss(CRITIC, q1, q0, 1, NU)
        + (
            mean(q1, lambda r: sp.log(r / (r + NU)))
            + NU * mean(q0, lambda r: sp.log(1 - r / (r + NU)))
        )
        / (1 + NU)
    ]
    ratio = tuple(p / q for p, q in zip(q1, q0, strict=True))
    middle = [(p + q) / 2 for p, q in zip(q1, q0, strict=True)]
    divergence = sum(
        p * sp.log(p / m) / 2 for law in (q1, q0) for p, m in zip(law, middle, strict=True)
    )
    best = finite.anchored_risk(ratio, q1, q0, 1, sp.Integer(1))
    return [
        identity("K = 1: NCE with noise ratio nu, over 1 + nu (symbolic)", *nce),
        identity(
            "K = nu = 1: half the JS loss",
            finite.anchored_risk(CRITIC, q1, q0, 1, sp.Integer(1)) - factor * js,
        ),
        identity("and log 2 minus its minimum is the JSD", sp.log(2) - best - divergence),
    ]
