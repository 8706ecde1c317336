"""Arithmetic on elements, comparisons, logic, bits, and products of matrices."""

import wisp
from wisp.onnx.ops._common import on_one, on_two, positive


def _with_old_broadcasting(function):
    """A binary operator as it was before version 7: the second input is placed at an axis of the first."""

    def run(node, a, b):
        axis = node["axis"]
        if node["broadcast"] and axis is not None:
            b = b.reshape([*b.shape, *[1] * (a.ndim - positive(axis, a.ndim) - b.ndim)])
        return function(a, b)

    return run


def _binary(function, newer=7):
    return [(1, _with_old_broadcasting(function)), (newer, on_two(function))]


def _divided(a, b):
    return wisp.div(a, b) if a.is_floating_point() else wisp.div(a, b, rounding_mode="trunc")


def _power(a, b):
    return wisp.pow(a, b).to(a.dtype)


def _mod(node, a, b):
    if node["fmod"]:
        return wisp.fmod(a, b)
    if not a.is_floating_point():
        return wisp.remainder(a, b)
    # A zero has the sign of the divisor.
    result = wisp.remainder(a, b)
    return wisp.where(result == 0, wisp.copysign(result, b), result)


def _bit_shift(node, x, amount):
    bits = 8 * x.element_size()
    inside = (amount >= 0) & (amount < bits)
    amount = wisp.where(inside, amount, 0)
    if node["direction"] == "LEFT":
        return wisp.where(inside, wisp.bitwise_left_shift(x, amount), 0).to(x.dtype)
    if node["direction"] != "RIGHT":
        raise ValueError(f"direction {node['direction']!r} is neither LEFT nor RIGHT")
    rest = wisp.where(x < 0, -1, 0).to(x.dtype)
    return wisp.where(inside, wisp.bitwise_right_shift(x, amount), rest)


def _folded(function):
    """A variadic operator that applies a binary function from left to right."""

    def run(node, first, *others):
        for other in others:
            first = function(first, other)
        return first

    return run


def _mean(node, *xs):
    return _folded(wisp.add)(node, *xs) / len(xs)


def _is_inf(node, x):
    negative, positive_ = wisp.isneginf(x), wisp.isposinf(x)
    if not node["detect_negative"]:
        return positive_ if node["detect_positive"] else wisp.zeros_like(positive_)
    return negative | positive_ if node["detect_positive"] else negative


def _clip(node, x, low=None, high=None):
    return x if low is None and high is None else wisp.clamp(x, low, high)


def _clip_by_attributes(node, x):
    return _clip(node, x, node["min"], node["max"])


def _gemm(node, a, b, c=None):
    a, b = (a.T if node["transA"] else a), (b.T if node["transB"] else b)
    alpha, beta = node["alpha"], node["beta"]
    if not a.is_floating_point():
        alpha, beta = int(alpha), int(beta)
    if c is None:
        return wisp.mm(a, b) * alpha
    return wisp.addmm(c, a, b, beta=beta, alpha=alpha)


def _cumulative(function, neutral):
    """A running sum or product, which may go backwards and may leave out the element itself."""

    def run(node, x, axis):
        axis = positive(int(axis.item()), x.ndim)
        x = x.flip(axis) if node["reverse"] else x
        if node["exclusive"]:
            start = wisp.full_like(x.narrow(axis, 0, min(1, x.shape[axis])), neutral)
            x = wisp.cat([start, x.narrow(axis, 0, max(x.shape[axis] - 1, 0))], axis)
        result = function(x, axis).to(x.dtype)
        return result.flip(axis) if node["reverse"] else result

    return run


def _einsum(node, *xs):
    return wisp.einsum(node["equation"].replace(" ", ""), *xs)


OPERATORS = {
    **{
        name: [(1, on_one(function))]
        for name, function in {
            "Abs": wisp.abs,
            "Acos": wisp.acos,
            "Acosh": wisp.acosh,
            "Asin": wisp.asin,
            "Asinh": wisp.asinh,
            "Atan": wisp.atan,
            "Atanh": wisp.atanh,
            "BitwiseNot": wisp.bitwise_not,
            "Ceil": wisp.ceil,
            "Cos": wisp.cos,
            "Cosh": wisp.cosh,
            "Det": wisp.det,
            "Erf": wisp.erf,
            "Exp": wisp.exp,
            "Floor": wisp.floor,
            "IsNaN": wisp.isnan,
            "Log": wisp.log,
            "Neg": wisp.neg,
            "Not": wisp.logical_not,
            "Reciprocal": wisp.reciprocal,
            "Round": wisp.round,
            "Sigmoid": wisp.sigmoid,
            "Sign": wisp.sgn,
            "Sin": wisp.sin,
            "Sinh": wisp.sinh,
            "Sqrt": wisp.sqrt,
            "Tan": wisp.tan,
            "Tanh": wisp.tanh,
        }.items()
    },
    "Add": _binary(wisp.add),
    "And": _binary(wisp.logical_and),
    "BitShift": [(11, _bit_shift)],
    "BitwiseAnd": [(18, on_two(wisp.bitwise_and))],
    "BitwiseOr": [(18, on_two(wisp.bitwise_or))],
    "BitwiseXor": [(18, on_two(wisp.bitwise_xor))],
    "Clip": [(1, _clip_by_attributes), (11, _clip)],
    "CumProd": [(26, _cumulative(wisp.cumprod, 1))],
    "CumSum": [(11, _cumulative(wisp.cumsum, 0))],
    "Div": _binary(_divided),
    "Einsum": [(12, _einsum)],
    "Equal": _binary(wisp.eq),
    "Gemm": [(1, _gemm)],
    "Greater": _binary(wisp.gt),
    "GreaterOrEqual": [(12, on_two(wisp.ge))],
    "IsInf": [(10, _is_inf)],
    "Less": _binary(wisp.lt),
    "LessOrEqual": [(12, on_two(wisp.le))],
    "MatMul": [(1, on_two(wisp.matmul))],
    "Max": [(1, _folded(wisp.maximum))],
    "Mean": [(1, _mean)],
    "Min": [(1, _folded(wisp.minimum))],
    "Mod": [(10, _mod)],
    "Mul": _binary(wisp.mul),
    "Or": _binary(wisp.logical_or),
    "Pow": _binary(_power),
    "Sub": _binary(wisp.sub),
    "Sum": [(1, _folded(wisp.add))],
    "Xor": _binary(wisp.logical_xor),
}
