"""Functions of single elements: wisp's own, with the standard's signatures and rules of promotion."""

import wisp
from wisp.array_api._dtypes import promoted, result_type

_UNARY = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "conj", "cos", "cosh", "exp", "imag", "isfinite", "isinf", "isnan",
    "log", "log10", "log1p", "log2", "logical_not", "negative", "positive", "real", "reciprocal", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh",
)  # fmt: skip
_ROUNDING = ("ceil", "floor", "round", "trunc")
_BINARY = (
    "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "copysign", "divide", "hypot", "logaddexp", "logical_and", "logical_or",
    "logical_xor", "maximum", "minimum", "multiply", "nextafter", "pow", "subtract",
)  # fmt: skip
_COMPARISONS = {
    "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
}  # fmt: skip


def _unary(name):
    operator = getattr(wisp, name)

    def function(x, /):
        return operator(x)

    return function


def _rounding(name):
    operator = getattr(wisp, name)

    def function(x, /):
        return operator(x) if x.dtype.is_floating_point else x.clone()

    return function


def _arrays(x1, x2):
    """Both as arrays of their common dtype; one of them may be a number."""
    if isinstance(x1, wisp.Tensor) and isinstance(x2, wisp.Tensor):
        return promoted(x1, x2)
    common = result_type(x1, x2)
    return [x.to(common) if isinstance(x, wisp.Tensor) else wisp.full((), x, dtype=common) for x in (x1, x2)]


def _binary(name):
    operator = getattr(wisp, name)

    def function(x1, x2, /):
        return operator(*_arrays(x1, x2))

    return function


def _define(make, names):
    for name in names:
        target = names[name] if isinstance(names, dict) else name
        function = globals()[name] = make(target)
        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"`wisp.{target}` of every element."


_define(_unary, _UNARY)
_define(_rounding, _ROUNDING)
_define(_binary, _BINARY)
_define(_binary, _COMPARISONS)


def bitwise_invert(x, /):
    """Every bit inverted; of bools, `not`."""
    return wisp.bitwise_not(x)


def clip(x, /, min=None, max=None):
    """Every element moved into the range from `min` to `max`; the result keeps the dtype of `x`."""

    def limit(bound):
        return bound.to(x.dtype) if isinstance(bound, wisp.Tensor) else bound

    if min is None and max is None:
        return x.clone()
    result = x
    for bound, choose in ((limit(min), wisp.maximum), (limit(max), wisp.minimum)):
        if bound is not None:
            result = choose(result, wisp.as_tensor(bound, dtype=x.dtype))
    return result


def expm1(x, /):
    """`exp(x) - 1`, exact near 0."""
    result = wisp.expm1(x)
    if not x.dtype.is_complex:
        return result
    # Signs of zeros and infinite parts are those of exp.
    return wisp.where(wisp.isfinite(x) & (x != 0), result, wisp.exp(x) - 1)


def floor_divide(x1, x2, /):
    """The quotient, rounded down. Infinite operands give what division gives."""
    x1, x2 = _arrays(x1, x2)
    result = wisp.floor_divide(x1, x2)
    if not x1.dtype.is_floating_point:
        return result
    return wisp.where(wisp.isinf(x1) | wisp.isinf(x2), x1 / x2, result)


def remainder(x1, x2, /):
    """What is left of x1 after division by x2, with the sign of x2, even if it is 0."""
    x1, x2 = _arrays(x1, x2)
    result = wisp.remainder(x1, x2)
    if not x1.dtype.is_floating_point:
        return result
    return wisp.where(result == 0, wisp.copysign(result, x2), result)


def sign(x, /):
    """-1, 0 or 1; of a complex number, the number of absolute value 1 in its direction. NaN stays."""
    result = wisp.sgn(x)
    if not x.dtype.is_floating_point:
        return result
    return wisp.where(wisp.isnan(x), x, result)


_OTHERS = ("bitwise_invert", "clip", "expm1", "floor_divide", "remainder", "sign")
__all__ = [name for names in (_UNARY, _ROUNDING, _BINARY, _COMPARISONS, _OTHERS) for name in names]
