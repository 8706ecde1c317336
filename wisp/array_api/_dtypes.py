"""Dtypes, and how they are promoted and inspected."""

from typing import NamedTuple

import wisp
from wisp import Tensor

_BOOL = (wisp.bool,)
_SIGNED = (wisp.int8, wisp.int16, wisp.int32, wisp.int64)
_UNSIGNED = (wisp.uint8,)
_REAL = (wisp.float32, wisp.float64)
_COMPLEX = (wisp.complex64, wisp.complex128)
_KINDS = {
    "bool": _BOOL,
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": _SIGNED + _UNSIGNED,
    "real floating": _REAL,
    "complex floating": _COMPLEX,
    "numeric": _SIGNED + _UNSIGNED + _REAL + _COMPLEX,
}


def dtypes_of_kind(kind):
    """Names and dtypes of a kind, of several, or (None) of all."""
    if kind is None:
        found = _BOOL + _KINDS["numeric"]
    elif isinstance(kind, tuple):
        found = tuple(dtype for part in kind for dtype in dtypes_of_kind(part).values())
    else:
        found = _KINDS[kind]
    return {str(dtype).rpartition(".")[2]: dtype for dtype in found}


def isdtype(dtype, kind):
    """Whether a dtype is of that kind, is that dtype, or is one of several."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, part) for part in kind)
    if not isinstance(kind, str):
        return dtype == kind
    if kind not in _KINDS:
        raise ValueError(f"isdtype(): expected a kind of {', '.join(map(repr, _KINDS))}, got {kind!r}")
    if kind == "bool":
        return dtype == wisp.bool
    if kind == "complex floating":
        return dtype.is_complex
    if kind == "real floating":
        return dtype.is_floating_point
    return dtype in _KINDS[kind] or (kind == "numeric" and dtype.is_floating_point)


def _dtype_of(x):
    return x.dtype if isinstance(x, Tensor) else x


def _with_number(dtype, number):
    """The dtype of an array next to a Python number, which counts only if its kind is a higher one."""
    if isinstance(number, complex) and not dtype.is_complex:
        return wisp.complex128 if dtype == wisp.float64 else wisp.complex64
    if isinstance(number, float) and not (dtype.is_complex or dtype.is_floating_point):
        return wisp.get_default_dtype()
    return wisp.int64 if dtype == wisp.bool and type(number) is int else dtype


def result_type(*arrays_and_dtypes):
    """The dtype that all of these have in common; arrays of no dimension count like any other."""
    numbers = [x for x in arrays_and_dtypes if isinstance(x, (bool, int, float, complex))]
    rest = [_dtype_of(x) for x in arrays_and_dtypes if not isinstance(x, (bool, int, float, complex))]
    if not rest:
        raise ValueError("result_type(): expected at least one array or dtype")
    common = rest[0]
    for dtype in rest[1:]:
        common = wisp.promote_types(common, dtype)
    for number in numbers:
        common = _with_number(common, number)
    return common


def promoted(*arrays):
    """Arrays of one dtype. Numbers stay what they are, at least one is an array."""
    given = [x for x in arrays if isinstance(x, Tensor)]
    common = given[0].dtype
    for x in given[1:]:
        common = wisp.promote_types(common, x.dtype)
    return [x.to(common) if isinstance(x, Tensor) and x.dtype != common else x for x in arrays]


def astype(x, dtype, /, *, copy=True, device=None):
    """The array in another dtype; a copy even of the same dtype, unless `copy` is False."""
    if x.dtype.is_complex and not dtype.is_complex and dtype != wisp.bool:
        raise TypeError(f"astype(): complex numbers cannot become {dtype}")
    return x.to(dtype=dtype, device=device, copy=copy)


def can_cast(from_, to, /):
    """Whether every value of a dtype has its place in another one, by the rules of promotion."""
    return wisp.promote_types(_dtype_of(from_), to) == to


class FloatInfo(NamedTuple):
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: object


class IntInfo(NamedTuple):
    bits: int
    max: int
    min: int
    dtype: object


def finfo(type, /):
    """Limits of a float dtype; of a complex one, those of its parts."""
    dtype = _dtype_of(type)
    real = wisp.zeros((), dtype=dtype).real.dtype if dtype.is_complex else dtype
    info = wisp.finfo(real)
    return FloatInfo(info.bits, info.eps, info.max, info.min, info.smallest_normal, real)


def iinfo(type, /):
    """Limits of an integer dtype."""
    dtype = _dtype_of(type)
    info = wisp.iinfo(dtype)
    return IntInfo(info.bits, info.max, info.min, dtype)
