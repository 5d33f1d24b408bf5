"""Run torch code on sympy expressions.

`SymTensor` stands in for a tensor inside functions written with torch calls, so that the code
itself, not a copy of its formulas, becomes an expression that sympy can compare with a derivation:

>>> import sympy as sp
>>> from mi_lib.scoring import Log
>>> a, b = sp.symbols("a b", positive=True)
>>> Log()(SymTensor([sp.log(a), sp.log(b)])).tolist()
[-log(a), -log(b)]

Saturation is the identity here: symbols stand for numbers of ordinary size, so no limit is ever
exceeded.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy as sp
import torch

_exp = np.vectorize(sp.exp, otypes=[object])
_log = np.vectorize(lambda v: -sp.oo if v == 0 else sp.log(v), otypes=[object])


class SymTensor:
    """A numpy array of sympy expressions that answers the torch calls this library uses."""

    dtype = torch.float64

    def __init__(self, values: Any):
        self.values = np.array(values, dtype=object)

    shape = property(lambda self: self.values.shape)
    ndim = property(lambda self: self.values.ndim)

    def __getitem__(self, index: Any) -> "SymTensor":
        return SymTensor(self.values[index])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.values

    def tolist(self) -> list:
        """The expressions as (nested) lists."""
        return self.values.tolist()

    def sum(self, dim: int = -1, keepdim: bool = False) -> "SymTensor":
        return SymTensor(self.values.sum(axis=dim, keepdims=keepdim))

    def exp(self) -> "SymTensor":
        return SymTensor(_exp(self.values))

    def log(self) -> "SymTensor":
        return SymTensor(_log(self.values))

    def logsumexp(self, dim: int = -1, keepdim: bool = False) -> "SymTensor":
        return self.exp().sum(dim, keepdim).log()

    def clamp(self, max: float) -> "SymTensor":
        return self

    def __gt__(self, limit: float) -> "SymTensor":
        return SymTensor(np.full(self.shape, sp.false, dtype=object))

    def detach(self) -> "SymTensor":
        return self

    def __neg__(self) -> "SymTensor":
        return SymTensor(-self.values)

    @classmethod
    def __torch_function__(
        cls, func: Callable, types: Sequence[type], args: tuple = (), kwargs: dict | None = None
    ) -> "SymTensor":
        name = getattr(func, "__name__", str(func))
        if name == "cat":
            tensors, axis = args[0], args[1] if len(args) > 1 else (kwargs or {}).get("dim", 0)
            return cls(np.concatenate([t.values for t in tensors], axis=axis))
        if name == "where":
            return cls(np.where(args[0].values == sp.true, args[1].values, args[2].values))
        if name not in {"exp", "log", "logsumexp"}:
            raise TypeError(f"SymTensor does not know torch.{name}; add it to symtorch.py")
        return getattr(args[0], name)(*args[1:], **(kwargs or {}))


def _binary(operation: str) -> Callable[[SymTensor, Any], SymTensor]:
    def apply(self: SymTensor, other: Any) -> SymTensor:
        if isinstance(other, SymTensor):
            other = other.values
        elif isinstance(other, float):
            other = sp.nsimplify(other)
        return SymTensor(getattr(self.values, operation)(other))

    return apply


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv"):
    setattr(SymTensor, f"__{_name}__", _binary(f"__{_name}__"))
