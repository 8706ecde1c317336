"""Pointwise operators: arithmetic, comparisons, functions of one number."""

import math

import wisp
from wisp.onnx._export.values import Ref, Unsupported


def common_dtype(*values):
    """The dtype in which values are computed together."""
    if len(values) != 2:
        return _folded(values)
    # Tensors without dimensions count less: where their number is not known, it must not matter.
    found = {wisp.result_type(*(_stand_in(value, rank) for value in values)) for rank in (0, 1)}
    if len(found) > 1:
        raise Unsupported("the number of dimensions of a tensor, on which the dtype depends, is not known")
    return found.pop()


def _folded(values):
    dtype = _stand_in(values[0])
    dtype = dtype.dtype if isinstance(dtype, wisp.Tensor) else wisp.tensor(dtype).dtype
    for value in values[1:]:
        dtype = wisp.promote_types(dtype, common_dtype(value, value))
    return dtype


def _stand_in(value, rank=1):
    if not isinstance(value, Ref):
        return value
    if value.number:
        return {wisp.int64: 1, wisp.bool: True}.get(value.dtype, 1.0)
    return wisp.empty([1] * (rank if value.sizes is None else value.rank), dtype=value.dtype, device="meta")


def together(g, *values, dtype=None):
    """Values as tensors of the dtype in which they are computed."""
    dtype = dtype or common_dtype(*values)
    return [g.tensor(value, dtype) for value in values]


def result_dtype(g, *values):
    return g.results[0][0] or common_dtype(*values)


def binary(kind):
    """A node of two arguments, computed in the dtype of the result."""
    return lambda g, a, b: g.op(kind, *together(g, a, b, dtype=result_dtype(g, a, b)))


def compared(kind):
    def lower(g, a, b):
        a, b = together(g, a, b)
        if a.dtype == wisp.bool and kind != "Equal":
            a, b = (g.cast(x, wisp.int32) for x in (a, b))
        return g.op(kind, a, b)

    return lower


def scaled(g, value, factor):
    """A tensor times a number."""
    if not isinstance(factor, Ref) and factor == 1:
        return value
    return g.op("And" if value.dtype == wisp.bool else "Mul", value, g.number(factor, value.dtype))


def _sum(kind):
    def lower(g, a, b, alpha=1):
        dtype = result_dtype(g, a, b)
        if dtype == wisp.bool:
            return g.op("Or", *together(g, a, b, dtype=dtype))
        a, b = together(g, a, b, dtype=dtype)
        return g.op(kind, a, scaled(g, b, alpha))

    return lower


def _product(g, a, b):
    dtype = result_dtype(g, a, b)
    return g.op("And" if dtype == wisp.bool else "Mul", *together(g, a, b, dtype=dtype))


def floor_div(g, a, b):
    if a.is_float:
        return g.op("Floor", g.op("Div", a, b))
    return g.op("Div", g.op("Sub", a, g.op("Mod", a, b)), b)


def _divided(g, a, b, rounding_mode=None):
    a, b = together(g, a, b, dtype=result_dtype(g, a, b))
    if rounding_mode == "floor":
        return floor_div(g, a, b)
    if rounding_mode == "trunc":
        return truncated(g, g.op("Div", a, b)) if a.is_float else g.op("Div", a, b)
    return g.op("Div", a, b)


def _remainder(g, a, b):
    a, b = together(g, a, b, dtype=result_dtype(g, a, b))
    if not a.is_float:
        return g.op("Mod", a, b)
    return g.op("Sub", a, g.op("Mul", g.op("Floor", g.op("Div", a, b)), b))


def _fmod(g, a, b):
    return g.op("Mod", *together(g, a, b, dtype=result_dtype(g, a, b)), fmod=1)


def _power(g, a, b):
    dtype = result_dtype(g, a, b)
    wide = wisp.int32 if dtype in (wisp.int8, wisp.uint8, wisp.int16) else dtype
    a, b = (g.cast(x, wide) for x in together(g, a, b, dtype=dtype))
    return g.cast(g.op("Pow", a, b), dtype)


def _float_power(g, a, b):
    return g.op("Pow", *together(g, a, b, dtype=wisp.float64))


def unary(kind):
    """A node of one argument, computed in the dtype of the result."""
    return lambda g, x: g.op(kind, g.cast(x, result_dtype(g, x)))


def _rounding(kind):
    """What leaves integers as they are."""
    return lambda g, x: g.op(kind, x) if x.is_float else g.op("Identity", x)


def truncated(g, x):
    if not x.is_float:
        return g.op("Identity", x)
    return g.op("Mul", g.op("Sign", x), g.op("Floor", g.op("Abs", x)))


def _round_decimals(g, x, decimals):
    if not x.is_float:
        return g.op("Identity", x)
    factor = g.number(10.0**decimals, x.dtype)
    return g.op("Div", g.op("Round", g.op("Mul", x, factor)), factor)


def _frac(g, x):
    return g.op("Sub", x, truncated(g, x))


def _relu(g, x, *_):
    if x.dtype == wisp.uint8:
        return g.op("Identity", x)
    if not x.is_float:  # of integers, not all versions and runtimes have a node
        return extreme(g, "Max", x, g.number(0, x.dtype))
    return g.op("Relu", x)


def _composed(*kinds):
    """Nodes of one argument, one after the other."""

    def lower(g, x):
        x = g.cast(x, result_dtype(g, x))
        for kind in kinds:
            x = g.op(kind, x)
        return x

    return lower


def _with_number(kind, number, *, first=(), reverse=False):
    """A node of a function of a tensor and a number."""

    def lower(g, x):
        x = g.cast(x, result_dtype(g, x))
        for each in first:
            x = g.op(each, x)
        other = g.number(number, x.dtype)
        return g.op(kind, other, x) if reverse else g.op(kind, x, other)

    return lower


def _log1p(g, x):
    x = g.cast(x, result_dtype(g, x))
    return g.op("Log", g.op("Add", x, g.number(1, x.dtype)))


def _square(g, x):
    x = g.cast(x, result_dtype(g, x))
    return g.op("Mul", x, x)


# --- comparisons and logic


def _not_equal(g, a, b):
    return g.op("Not", g.op("Equal", *together(g, a, b)))


def _logical(kind):
    return lambda g, *args: g.op(kind, *(truth(g, arg) for arg in args))


def truth(g, x):
    """A tensor as one of bools."""
    return g.cast(x, wisp.bool)


def _bitwise(kind, logical):
    def lower(g, *args):
        values = together(g, *args) if len(args) == 2 else args
        if values[0].dtype == wisp.bool:
            return g.op(logical, *values)
        g.need_opset(18, f"a bitwise operator on {values[0].dtype}")
        return g.op(kind, *values)

    return lower


def _infinite(positive=1, negative=1):
    def lower(g, x):
        if not x.is_float:
            return _nowhere(g, x)
        if x.dtype not in (wisp.float32, wisp.float64):
            x = g.cast(x, wisp.float32)
        return g.op("IsInf", x, detect_positive=positive, detect_negative=negative)

    return lower


is_infinite = _infinite()


def _is_nan(g, x):
    return g.op("IsNaN", x) if x.is_float else _nowhere(g, x)


def _nowhere(g, x):
    """False for all elements."""
    return g.op("Xor", x, x) if x.dtype == wisp.bool else g.op("Less", x, x)


def _is_finite(g, x):
    if not x.is_float:
        return g.op("Equal", x, x)
    return g.op("Not", g.op("Or", is_infinite(g, x), g.op("IsNaN", x)))


def _where(g, condition, a, b):
    dtype = result_dtype(g, a, b)
    return g.op("Where", truth(g, condition), *together(g, a, b, dtype=dtype), dtype=dtype)


def _masked_fill(g, x, mask, value):
    return g.op("Where", mask, g.tensor(value, x.dtype), x, dtype=x.dtype)


def _extreme(kind):
    return lambda g, a, b: extreme(g, kind, *together(g, a, b, dtype=result_dtype(g, a, b)))


def extreme(g, kind, a, b):
    """Max or Min of two tensors, which not all runtimes have for small integers and bools."""
    dtype = a.dtype
    if dtype == wisp.bool:
        return g.op("Or" if kind == "Max" else "And", a, b)
    if dtype in (wisp.int8, wisp.int16, wisp.uint8):
        return g.cast(g.op(kind, g.cast(a, wisp.int32), g.cast(b, wisp.int32)), dtype)
    return g.op(kind, a, b)


def _clamp(g, x, low=None, high=None):
    dtype = result_dtype(g, x)
    x = g.cast(x, dtype)
    for kind, bound in (("Max", low), ("Min", high)):
        if bound is not None:
            x = extreme(g, kind, x, g.tensor(bound, dtype))
    return x


def clip(g, x, low, high):
    """Between two numbers."""
    if x.dtype in (wisp.float16, wisp.float32, wisp.float64) and not isinstance(low, Ref) and not isinstance(high, Ref):
        return g.op("Clip", x, g.number(low, x.dtype), g.number(high, x.dtype))
    return _clamp_in(g, x, low, high)


def _clamp_in(g, x, low, high):
    x = extreme(g, "Max", x, g.number(low, x.dtype))
    return extreme(g, "Min", x, g.number(high, x.dtype))


def _clamp_numbers(g, x, low=None, high=None):
    numbers = [value for value in (low, high) if value is not None]
    same = x.dtype == result_dtype(g, x)
    if same and len(numbers) == 2 and not any(isinstance(n, Ref) or math.isnan(n) for n in numbers) and low <= high:
        return clip(g, x, low, high)
    return _clamp(g, x, low, high)


# --- three arguments


def _lerp(g, start, end, weight):
    step = g.op("Mul", g.op("Sub", end, start), g.tensor(weight, start.dtype))
    return g.op("Add", start, step)


def _addcmul(kind):
    def lower(g, x, a, b, value=1):
        dtype = result_dtype(g, x, a)
        x, a, b = (g.cast(each, dtype) for each in (x, a, b))
        return g.op("Add", x, scaled(g, g.op(kind, a, b), value))

    return lower


# --- more functions


def _atan2(g, y, x):
    """The angle of a point; which half of the plane it is in comes from the signs, those of zeros too."""
    y, x = together(g, y, x, dtype=result_dtype(g, y, x))
    pi, zero = g.number(math.pi, x.dtype), g.number(0, x.dtype)
    sizes = [g.op("Abs", value) for value in (y, x)]
    far = g.op("And", *(is_infinite(g, size) for size in sizes))
    ratio = g.op("Where", g.op("Equal", sizes[0], sizes[1]), g.number(1, x.dtype), g.op("Div", *sizes))
    nothing = g.op("And", *(g.op("Equal", size, zero) for size in sizes))
    angle = g.op("Where", nothing, zero, g.op("Atan", g.op("Where", far, g.number(1, x.dtype), ratio)))
    angle = g.op("Where", _signbit(g, x), g.op("Sub", pi, angle), angle)
    return g.op("Where", _signbit(g, y), g.op("Neg", angle), angle)


def _hypot(g, a, b):
    """The length of a vector, by its larger part, so that squares do not overflow."""
    a, b = (g.op("Abs", value) for value in together(g, a, b, dtype=result_dtype(g, a, b)))
    large, small = g.op("Max", a, b), g.op("Min", a, b)
    plain = g.op("Or", is_infinite(g, large), g.op("Equal", large, g.number(0, a.dtype)))
    ratio = g.op("Div", small, g.op("Where", plain, g.number(1, a.dtype), large))
    root = g.op("Sqrt", g.op("Add", _square(g, ratio), g.number(1, a.dtype)))
    return g.op("Where", plain, large, g.op("Mul", large, root))


def _copysign(g, a, b):
    a, b = together(g, a, b, dtype=result_dtype(g, a, b))
    size = g.op("Abs", a)
    return g.op("Where", _signbit(g, b), g.op("Neg", size), size)


def _signbit(g, x):
    if not x.is_float:
        return g.op("Less", x, g.number(0, x.dtype)) if x.dtype != wisp.bool else g.op("Xor", x, x)
    negative = g.op("Less", x, g.number(0, x.dtype))
    zero = g.op("Equal", x, g.number(0, x.dtype))
    behind = g.op("Less", g.op("Reciprocal", x), g.number(0, x.dtype))
    return g.op("Or", negative, g.op("And", zero, behind))


def _heaviside(g, x, values):
    if x.dtype == wisp.bool:
        return g.op("Or", x, values)
    zero = g.number(0, x.dtype)
    step = g.op("Where", g.op("Greater", x, zero), g.number(1, x.dtype), zero)
    return g.op("Where", g.op("Equal", x, zero), values, step)


def _nan_aware(kind):
    def lower(g, a, b):
        a, b = together(g, a, b, dtype=result_dtype(g, a, b))
        found = extreme(g, kind, a, b)
        if not a.is_float:
            return found
        return g.op("Where", g.op("IsNaN", a), b, g.op("Where", g.op("IsNaN", b), a, found))

    return lower


def _log_add(scale):
    """log(exp(a) + exp(b)) in the base whose logarithm is the scale."""

    def lower(g, a, b):
        a, b = together(g, a, b, dtype=result_dtype(g, a, b))
        top, factor = g.op("Max", a, b), g.number(scale, a.dtype)
        gap = g.op("Mul", g.op("Neg", g.op("Abs", g.op("Sub", a, b))), factor)
        found = g.op("Add", top, g.op("Div", _log1p_of(g, g.op("Exp", gap)), factor))
        return g.op("Where", g.op("Equal", a, b), g.op("Add", a, g.number(math.log(2) / scale, a.dtype)), found)

    return lower


def _log1p_of(g, x):
    return g.op("Log", g.op("Add", x, g.number(1, x.dtype)))


def _xlogy(g, a, b):
    a, b = together(g, a, b, dtype=result_dtype(g, a, b))
    found = g.op("Mul", a, g.op("Log", b))
    zero = g.number(0, a.dtype)
    kept = g.op("And", g.op("Equal", a, zero), g.op("Not", g.op("IsNaN", b)))
    return g.op("Where", kept, zero, found)


def _entropy(g, x):
    """-x * log(x), 0 at 0, and minus infinity below."""
    x = g.cast(x, result_dtype(g, x))
    zero = g.number(0, x.dtype)
    found = g.op("Neg", g.op("Mul", x, g.op("Log", x)))
    found = g.op("Where", g.op("Equal", x, zero), zero, found)
    return g.op("Where", g.op("Less", x, zero), g.number(-math.inf, x.dtype), found)


def _rsub(g, a, b, alpha=1):
    dtype = result_dtype(g, a, b)
    a, b = together(g, a, b, dtype=dtype)
    return g.op("Sub", b, scaled(g, a, alpha))


def _nan_to_num(g, x, nan=None, posinf=None, neginf=None):
    if not x.is_float:
        return g.op("Identity", x)
    limits = wisp.finfo(x.dtype)
    x = g.op("Where", g.op("IsNaN", x), g.number(nan or 0.0, x.dtype), x)
    high, low = (limits.max if posinf is None else posinf), (limits.min if neginf is None else neginf)
    x = g.op("Where", _infinite(1, 0)(g, x), g.number(high, x.dtype), x)
    return g.op("Where", _infinite(0, 1)(g, x), g.number(low, x.dtype), x)


def _sinc(g, x):
    x = g.cast(x, result_dtype(g, x))
    angle = g.op("Mul", x, g.number(math.pi, x.dtype))
    zero = g.op("Equal", x, g.number(0, x.dtype))
    return g.op("Where", zero, g.number(1, x.dtype), g.op("Div", g.op("Sin", angle), angle))


def _logit(g, x, eps=None):
    x = g.cast(x, result_dtype(g, x))
    if eps is not None:
        x = clip(g, x, eps, 1 - eps)
    return g.op("Log", g.op("Div", x, g.op("Sub", g.number(1, x.dtype), x)))


def _angle(g, x):
    x = g.cast(x, result_dtype(g, x))
    negative = g.op("Less", x, g.number(0, x.dtype))
    found = g.op("Where", negative, g.number(math.pi, x.dtype), g.number(0, x.dtype))
    return g.op("Where", g.op("IsNaN", x), x, found)


LOWERINGS = {
    "add": _sum("Add"), "sub": _sum("Sub"), "mul": _product, "div": _divided, "div.mode": _divided,
    "floor_divide": lambda g, a, b: _divided(g, a, b, "floor"), "remainder": _remainder, "fmod": _fmod, "pow": _power,
    "float_power": _float_power, "maximum": _extreme("Max"), "minimum": _extreme("Min"), "max.other": _extreme("Max"),
    "min.other": _extreme("Min"), "fmax": _nan_aware("Max"), "fmin": _nan_aware("Min"), "square": _square,
    "relu": _relu, "relu.functional": _relu, "floor": _rounding("Floor"), "ceil": _rounding("Ceil"),
    "round": _rounding("Round"), "round.decimals": _round_decimals, "trunc": truncated, "frac": _frac,
    "rsqrt": _composed("Sqrt", "Reciprocal"), "exp2": _with_number("Pow", 2, reverse=True),
    "expm1": _with_number("Sub", 1, first=("Exp",)), "log2": _with_number("Div", math.log(2), first=("Log",)),
    "log10": _with_number("Div", math.log(10), first=("Log",)), "log1p": _log1p,
    "erfc": lambda g, x: _with_number("Sub", 1, first=("Erf",), reverse=True)(g, x),
    "deg2rad": _with_number("Mul", math.pi / 180), "rad2deg": _with_number("Mul", 180 / math.pi),
    "sgn": lambda g, x: g.op("Sign", x), "reciprocal": unary("Reciprocal"), "angle": _angle,
    "eq": compared("Equal"), "ne": _not_equal, "lt": compared("Less"), "le": compared("LessOrEqual"),
    "gt": compared("Greater"), "ge": compared("GreaterOrEqual"), "isnan": _is_nan, "isinf": is_infinite,
    "isfinite": _is_finite, "isposinf": _infinite(1, 0), "isneginf": _infinite(0, 1), "signbit": _signbit,
    "logical_and": _logical("And"), "logical_or": _logical("Or"), "logical_xor": _logical("Xor"),
    "logical_not": _logical("Not"), "bitwise_and": _bitwise("BitwiseAnd", "And"),
    "bitwise_or": _bitwise("BitwiseOr", "Or"),
    "bitwise_xor": _bitwise("BitwiseXor", "Xor"), "bitwise_not": _bitwise("BitwiseNot", "Not"),
    "where": _where, "masked_fill": _masked_fill, "clamp": _clamp_numbers, "clamp_min": lambda g, x, low: _clamp(g, x, low),
    "clamp_max": lambda g, x, high: _clamp(g, x, None, high), "lerp": _lerp, "addcmul": _addcmul("Mul"),
    "addcdiv": _addcmul("Div"), "atan2": _atan2, "hypot": _hypot, "copysign": _copysign, "heaviside": _heaviside,
    "logaddexp": _log_add(1.0), "logaddexp2": _log_add(math.log(2)),
    "xlog1py": lambda g, a,
    b: _xlogy(g, a, g.op("Add", g.tensor(b, result_dtype(g, a, b)), g.number(1, result_dtype(g, a, b)))),
    "xlogy": _xlogy, "rsub": _rsub, "entr": _entropy, "nan_to_num": _nan_to_num, "sinc": _sinc, "logit": _logit,
}  # fmt: skip
