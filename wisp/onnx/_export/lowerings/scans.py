"""What is gathered along a dimension, other than sums: a Scan, which takes one step after the other as the kernels do."""

import math

import wisp
from wisp.onnx._export.formula import Formula
from wisp.onnx._export.inner import scan
from wisp.onnx._export.lowerings.creation import filled
from wisp.onnx._export.lowerings.shapes import identity
from wisp.onnx._export.values import dim_in


def _start(g, x, dim, value):
    """The state before the first step: one value everywhere."""
    made = filled(g, [size for d, size in enumerate(g.sizes(x)) if d != dim], value, x.dtype)
    made.sizes = tuple(size for d, size in enumerate(x.sizes) if d != dim)
    return made


def _cumprod(g, x, dim, dtype=None):
    x = g.cast(x, g.results[0][0] or dtype or x.dtype)
    if not x.rank:
        return identity(g, x)
    dim = dim_in(dim, x.rank)

    def step(states, items):
        product = g.op("Mul", states[0], items[0])
        return [product], [product]

    return scan(g, [_start(g, x, dim, 1)], [x], dim, step, collected=[x.dtype])[1]


def log_of_sum(a, b):
    """log(exp(a) + exp(b)), also where both are minus infinity."""
    top, low = a.at_least(b), a.at_most(b)
    found = top + ((low - top).exp() + 1).log()
    return a.equals(b).choose(a + math.log(2), found)


def _logcumsumexp(g, x, dim):
    x = g.cast(x, g.results[0][0] or x.dtype)
    if not x.rank:
        return identity(g, x)
    dim = dim_in(dim, x.rank)

    def step(states, items):
        total = log_of_sum(*(Formula(g, value) for value in (*states, *items))).ref
        return [total], [total]

    return scan(g, [_start(g, x, dim, -math.inf)], [x], dim, step, collected=[x.dtype])[1]


def _along(g, x, dim):
    """The number of every element along a dimension."""
    size, rank = g.number(g.size(x, dim), wisp.int64), x.rank
    numbers = g.op("Range", g.number(0, wisp.int64), size, g.number(1, wisp.int64), sizes=(x.size(dim),))
    shaped = g.reshape(numbers, [-1 if d == dim else 1 for d in range(rank)])
    made = g.expand(shaped, g.shape(x))
    made.sizes = x.sizes
    return made


def _extreme(kind):
    """The largest or smallest element so far and its place, the last of equal ones; NaN stays."""

    def lower(g, x, dim):
        if not x.rank:
            return identity(g, x), g.number(0, wisp.int64)
        dim, dtype = dim_in(dim, x.rank), x.dtype
        x = g.cast(x, wisp.int32) if dtype in (wisp.bool, wisp.int8, wisp.uint8, wisp.int16) else x

        def step(states, items):
            taken = g.op(kind, items[0], states[0])
            if x.is_float:
                kept = g.op("IsNaN", states[0])
                taken = g.op("Or", g.op("And", taken, g.op("Not", kept)), g.op("IsNaN", items[0]))
            chosen = [g.op("Where", taken, item, state) for state, item in zip(states, items, strict=True)]
            return chosen, chosen

        places = _along(g, x, dim)
        states = [_first(g, x, dim), _start(g, places, dim, 0)]
        values, found = scan(g, states, [x, places], dim, step, collected=[x.dtype, wisp.int64])[2:]
        return g.cast(values, dtype), found

    return lower


def _first(g, x, dim):
    made = g.op("Gather", x, g.number(0, wisp.int64), axis=dim)
    made.sizes = tuple(size for d, size in enumerate(x.sizes) if d != dim)
    return made


LOWERINGS = {
    "cumprod": _cumprod, "logcumsumexp": _logcumsumexp, "cummax": _extreme("GreaterOrEqual"),
    "cummin": _extreme("LessOrEqual"),
}  # fmt: skip
