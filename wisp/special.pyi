# Made by tools/gen_stubs.py from the operator table: do not edit.
from builtins import bool as _bool
from builtins import int as _int
from collections.abc import Sequence

from wisp._C import Tensor, _dtype

def log_softmax(input: Tensor, dim: _int, dtype: _dtype | None = None, *, out: Tensor | None = None) -> Tensor: ...
def logsumexp(
    input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor: ...
def softmax(input: Tensor, dim: _int, dtype: _dtype | None = None, *, out: Tensor | None = None) -> Tensor: ...
