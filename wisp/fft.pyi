# Made by tools/gen_stubs.py from the operator table: do not edit.
from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence

from wisp._C import Tensor, _Device, _dtype, _layout

def fft(
    input: Tensor, n: _int | None = None, dim: _int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor: ...
def fft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = ...,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def fftfreq(
    n: _int,
    d: _float = 1.0,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def fftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def fftshift(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor: ...
def hfft(
    input: Tensor, n: _int | None = None, dim: _int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor: ...
def hfft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = ...,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def hfftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def ifft(
    input: Tensor, n: _int | None = None, dim: _int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor: ...
def ifft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = ...,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def ifftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def ifftshift(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor: ...
def ihfft(
    input: Tensor, n: _int | None = None, dim: _int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor: ...
def ihfft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = ...,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def ihfftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def irfft(
    input: Tensor, n: _int | None = None, dim: _int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor: ...
def irfft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = ...,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def irfftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def rfft(
    input: Tensor, n: _int | None = None, dim: _int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor: ...
def rfft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = ...,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def rfftfreq(
    n: _int,
    d: _float = 1.0,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def rfftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
