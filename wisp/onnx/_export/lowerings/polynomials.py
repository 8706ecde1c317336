"""Orthogonal polynomials by their recurrences, in float64, of one degree or of a tensor of degrees."""

import math

import wisp
from wisp.onnx._export.formula import Formula
from wisp.onnx._export.inner import loop
from wisp.onnx._export.lowerings.arithmetic import result_dtype


def _of_degree(g, x, n, second, following):
    """p(n) where p(0) = 1, p(1) = second and p(k + 1) = following(k, p(k), p(k - 1))."""
    degree = Formula(g, g.cast(g.cast(g.tensor(n, wisp.float64), wisp.int64), wisp.float64))
    zeros = (x + degree) * 0
    first, second = zeros + 1, second + zeros
    most = g.op("Max", g.cast(g.reduce("ReduceMax", degree.ref), wisp.int64), g.number(0, wisp.int64))

    def step(index, before, value):
        k = Formula(g, g.cast(index, wisp.float64)) + 1
        before, value = Formula(g, before), Formula(g, value)
        goes_on = k < degree
        return [goes_on.choose(value, before).ref, goes_on.choose(following(k, value, before), value).ref]

    value = Formula(g, loop(g, most, [first.ref, second.ref], step)[1])
    return degree, (degree < 0).choose(0.0, degree.equals(0).choose(first, value))


def _lowering(second, following, shifted=False, limits=None):
    """`limits` are the degrees, in float32 and float64, beyond which there is no result."""

    def lower(g, x, n):
        dtype = result_dtype(g, x, n)
        wide = Formula(g, g.tensor(x, wisp.float64))
        wide = wide * 2 - 1 if shifted else wide

        def next_one(k, value, before):
            return following(wide, k, value, before)

        degree, found = _of_degree(g, wide, n, second(wide), next_one)
        if limits is not None:
            found = (degree > limits[dtype == wisp.float64]).choose(math.nan, found)
        return g.cast(found.ref, dtype)

    return lower


def _chebyshev(x, k, value, before):
    return (x + x) * value - before


_SECOND = {"t": lambda x: x, "u": lambda x: x + x, "v": lambda x: x + x - 1, "w": lambda x: x + x + 1}
_HERMITE_LIMITS = 128.0, 512.0

LOWERINGS = {
    **{f"special_{name}chebyshev_polynomial_{kind}": _lowering(second, _chebyshev, bool(name))
       for name in ("", "shifted_") for kind, second in _SECOND.items()},
    "special_hermite_polynomial_h": _lowering(
        lambda x: x + x, lambda x, k, value, before: (x * value - k * before) * 2, limits=_HERMITE_LIMITS),
    "special_hermite_polynomial_he": _lowering(
        lambda x: x * 1, lambda x, k, value, before: x * value - k * before, limits=_HERMITE_LIMITS),
    "special_laguerre_polynomial_l": _lowering(
        lambda x: 1 - x, lambda x, k, value, before: ((k * 2 + 1 - x) * value - k * before) / (k + 1)),
    "special_legendre_polynomial_p": _lowering(
        lambda x: x * 1, lambda x, k, value, before: ((k * 2 + 1) * x * value - k * before) / (k + 1)),
}  # fmt: skip
