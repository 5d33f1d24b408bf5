"""SymTensor does what torch does, on symbols."""

import numpy as np
import pytest
import sympy as sp
import torch

from mi_lib.scoring import saturating_exp
from mi_lib.symtorch import SymTensor

VALUES = [[1, 2, 3], [4, 5, 7]]

CALLS = {
    "sum": lambda t: t.sum(-1),
    "sum keepdim": lambda t: t.sum(-1, keepdim=True),
    "sum over rows": lambda t: t.sum(0),
    "logsumexp": lambda t: torch.logsumexp(t, -1, keepdim=True),
    "exp": lambda t: torch.exp(t),
    "log": lambda t: t.log(),
    "index": lambda t: t[..., 1, None],
    "slice": lambda t: t[..., 1:] - t[..., :1],
    "cat": lambda t: torch.cat([t.sum(-1, keepdim=True), t], -1),
    "cat along rows": lambda t: torch.cat([t, t], dim=0),
    "minus": lambda t: -t,
    "left operands": lambda t: (1 - t) + 2 / t + 3 * t + (1 + t),
    "right operands": lambda t: (t - 1) + t / 2 + t * 3 + (t + 1),
    "floats become fractions": lambda t: 0.5 * t - t / 4.0,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_calls_agree_with_torch(call):
    symbols = call(SymTensor(sp.Matrix(VALUES).tolist()))
    numbers = call(torch.tensor(VALUES, dtype=torch.float64))
    assert isinstance(symbols, SymTensor)
    assert symbols.shape == tuple(numbers.shape)
    assert symbols.ndim == numbers.ndim
    np.testing.assert_allclose(np.array(symbols.values, dtype=float), numbers.numpy(), rtol=1e-14)


def test_results_are_exact():
    x = sp.Symbol("x", positive=True)
    tensor = SymTensor([x, sp.Integer(3)])
    assert (0.5 * tensor).tolist() == [x / 2, sp.Rational(3, 2)]
    assert torch.exp(tensor.log()).tolist() == [x, 3]
    assert tensor.logsumexp(-1).tolist() == sp.log(sp.exp(x) + sp.exp(3))


def test_saturation_is_the_identity():
    """Whatever way a limit is imposed, symbols never exceed it."""
    x = sp.Symbol("x")
    assert SymTensor([x]).clamp(max=1.0).detach().tolist() == [x]
    assert saturating_exp(SymTensor([x])).tolist() == [sp.exp(x)]


def test_the_logarithm_of_zero_is_minus_infinity_as_in_torch():
    logs = SymTensor([sp.Integer(0), sp.Integer(1)]).log()
    assert logs.tolist() == [-sp.oo, 0]
    assert torch.exp(2 * logs).tolist() == [0, 1]


def test_an_unknown_call_says_what_to_add():
    with pytest.raises(TypeError, match="does not know torch.softmax; add it"):
        torch.softmax(SymTensor([1, 2]), -1)
