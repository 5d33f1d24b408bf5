"""The (K+1)-class problem and its loss, written out."""

from collections.abc import Iterator, Sequence
from itertools import product

import sympy as sp

from .. import by_definition

NU = sp.Symbol("nu", positive=True)
CRITIC = sp.symbols("u v", positive=True)


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
