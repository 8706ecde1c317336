"""Attention."""

import math

import wisp
from wisp.onnx._export.lowerings.creation import counted


def _attention(g, query, key, value, mask=None, dropout=0.0, causal=False, scale=None, grouped=False):
    if grouped:
        key, value = (_repeated_heads(g, x, query) for x in (key, value))
    scale = 1 / math.sqrt(query.fixed(-1)) if scale is None else scale
    scores = g.op("MatMul", g.op("Mul", query, g.number(scale, query.dtype)), g.swap(key))
    if causal:
        mask = _causal(g, query, key)
    if mask is None:
        return g.op("MatMul", _dropped(g, g.op("Softmax", scores, axis=-1), dropout), value)
    weights = g.op("Softmax", g.op("Add", scores, _bias(g, mask, query.dtype)), axis=-1)
    if not causal:  # a query that may look at nothing gives zeros
        weights = g.op("Where", g.op("IsNaN", weights), g.number(0, query.dtype), weights, dtype=query.dtype)
    return g.op("MatMul", _dropped(g, weights, dropout), value)


def _dropped(g, weights, dropout):
    if not dropout:
        return weights
    return g.op("Dropout", weights, g.number(dropout, wisp.float32), g.number(True, wisp.bool))


def _bias(g, mask, dtype):
    """A mask as what is added to scores."""
    if mask.dtype != wisp.bool:
        return g.cast(mask, dtype)
    return g.op("Where", mask, g.number(0, dtype), g.number(-math.inf, dtype), dtype=dtype)


def _causal(g, query, key):
    rows, columns = (counted(g, g.size(x, -2)) for x in (query, key))
    return g.op("LessOrEqual", g.unsqueeze(columns, [0]), g.unsqueeze(rows, [1]))


def _repeated_heads(g, x, query):
    """The heads of keys and values, each for several of the queries."""
    times = query.fixed(-3) // x.fixed(-3)
    sizes = g.sizes(x)
    wide = g.expand(g.unsqueeze(x, [-3]), [*sizes[:-2], times, *sizes[-2:]])
    made = g.reshape(wide, [*sizes[:-3], x.fixed(-3) * times, *sizes[-2:]])
    made.sizes = (*x.sizes[:-3], x.fixed(-3) * times, *x.sizes[-2:])
    return made


def _kernel(g, tensors, mask, causal, scale):
    return (_attention(g, *tensors, mask, 0.0, causal, scale),)


LOWERINGS = {"scaled_dot_product_attention": _attention, "_attention": _kernel}
