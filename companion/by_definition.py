"""The definitions written out over all n^K tuples: slow, symbolic, and free of any shortcut.

`mi_lib.finite` is checked against these. A law is a tuple of expressions, one for each letter.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import sympy as sp

Law = Sequence[sp.Expr]


def _class_densities(q1: Law, q0: Law, k: int) -> Iterator[tuple[tuple[int, ...], list[sp.Expr]]]:
    """Each tuple x_1..K with its densities p(x | z), z = 1..K: q1 in place z, q0 elsewhere."""
    for x in product(range(len(q0)), repeat=k):
        yield x, [sp.prod((q1 if i == z else q0)[x[i]] for i in range(k)) for z in range(k)]


def mean(q1: Law, q0: Law, k: int, value: Callable[[tuple[int, ...]], sp.Expr]) -> sp.Expr:
    """E[value(x)] with x_1 ~ q1 and x_2..K ~ q0."""
    return sum(classes[0] * value(x) for x, classes in _class_densities(q1, q0, k))


def k_way_jsd(q1: Law, q0: Law, k: int) -> sp.Expr:
    """Mean KL divergence from each class density to their mixture, in nats (paper, Theorem 2)."""
    total = 0
    for _, classes in _class_densities(q1, q0, k):
        mixture = sum(classes) / k
        total += sum(p * sp.log(p / mixture) for p in classes if p != 0) / k
    return total


def posterior_gap(r: Law, q1: Law, q0: Law, k: int) -> sp.Expr:
    """E over the mixture of KL(true class posterior || posterior of the critic r), in nats."""
    total = 0
    for x, classes in _class_densities(q1, q0, k):
        norm = sum(r[letter] for letter in x)
        for p, letter in zip(classes, x, strict=True):
            total += p / k * sp.log(p / sum(classes) * norm / r[letter])
    return total
