# Made by tools/gen_stubs.py from the operator table: do not edit.
from builtins import bool as _bool
from builtins import int as _int
from collections.abc import Sequence

from wisp._C import Tensor, _dtype, _Number, _Tensors

def cross(input: Tensor, other: Tensor, *, dim: _int = -1, out: Tensor | None = None) -> Tensor: ...
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def multi_dot(tensors: _Tensors, *, out: Tensor | None = None) -> Tensor: ...
def vander(x: Tensor, *, N: _int | None = None) -> Tensor: ...
def vecdot(x: Tensor, y: Tensor, *, dim: _int = -1, out: Tensor | None = None) -> Tensor: ...
def vector_norm(
    input: Tensor,
    ord: _Number = 2,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
