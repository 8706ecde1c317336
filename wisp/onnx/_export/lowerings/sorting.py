"""Order."""

import math

import wisp
from wisp.onnx._export.inner import scan
from wisp.onnx._export.lowerings.creation import filled
from wisp.onnx._export.lowerings.search import distinguishable
from wisp.onnx._export.lowerings.shapes import identity
from wisp.onnx._export.values import dim_in


def _ranked(g, x, count, dim, largest, ordered=True):
    """The largest or smallest along a dimension, and where they are."""
    if not x.rank:
        return identity(g, x), g.number(0, wisp.int64)
    wide = g.cast(x, wisp.int32) if x.dtype in (wisp.bool, wisp.int8, wisp.uint8, wisp.int16) else x
    values, places = g.op(
        "TopK",
        wide,
        g.cast(g.ints([count]), wisp.int64),
        outputs=2,
        axis=dim_in(dim, x.rank),
        largest=int(largest),
        sorted=int(ordered),
    )
    places.dtype = wisp.int64
    return g.cast(values, x.dtype), places


def _whole(g, x, dim):
    return g.size(x, dim_in(dim, x.rank)) if x.rank else 1


def _sort(g, x, dim=-1, descending=False):
    return _ranked(g, x, _whole(g, x, dim), dim, descending)


def _sort_stable(g, x, stable, dim=-1, descending=False):
    return _sort(g, x, dim, descending)


def _topk(g, x, count, dim=-1, largest=True, ordered=True):
    return _ranked(g, x, count, dim, largest, ordered)


def _picked(g, found, x, place, dim, keepdim):
    """One element along a dimension that was sorted."""
    if not x.rank:
        return found
    made = [g.op("Gather", part, [place], axis=dim_in(dim, x.rank)) for part in found]
    return tuple(made if keepdim else (_without(g, part, x, dim) for part in made))


def _without(g, part, x, dim):
    part.sizes = x.sizes
    return g.squeeze(part, [dim_in(dim, x.rank)])


def _kthvalue(g, x, k, dim=-1, keepdim=False):
    return _picked(g, _ranked(g, x, k, dim, False), x, k - 1, dim, keepdim)


def _median(g, x, dim, keepdim=False):
    count = (x.fixed(dim) + 1) // 2 if x.rank else 1
    return _picked(g, _ranked(g, x, count, dim, False), x, count - 1, dim, keepdim)


def _median_of_all(g, x):
    flat = g.reshape(x, [-1])
    flat.sizes = (wisp.Size([x.fixed(dim) for dim in range(x.rank)]).numel(),)
    return _median(g, flat, 0)[0]


def _nanmedian(g, x, dim, keepdim=False):
    """The median of what is not NaN, which is put behind everything else."""
    if not x.is_float or not x.rank:
        return _median(g, x, dim, keepdim)
    dim = dim_in(dim, x.rank)
    missing = g.op("IsNaN", x)
    values, places = _sort(g, g.op("Where", missing, g.number(math.inf, x.dtype), x), dim)
    present = g.reduce("ReduceSum", g.cast(g.op("Not", missing), wisp.int64), [dim], True)
    last = g.op("Max", g.op("Sub", present, g.number(1, wisp.int64)), g.number(0, wisp.int64))
    at = g.op("Div", last, g.number(2, wisp.int64))
    found, place = (g.op("GatherElements", part, at, axis=dim, sizes=at.sizes) for part in (values, places))
    nothing = g.op("Equal", present, g.number(0, wisp.int64))
    made = g.op("Where", nothing, g.number(math.nan, x.dtype), found, dtype=x.dtype), place
    return made if keepdim else tuple(g.squeeze(part, [dim]) for part in made)


def _nanmedian_of_all(g, x):
    if not x.is_float:
        return _median_of_all(g, x)
    flat = g.reshape(x, [-1])
    return _nanmedian(g, flat, 0)[0]


def _mode(g, x, dim=-1, keepdim=False):
    """The most frequent elements: the longest runs of equal ones after sorting."""
    if not x.rank:
        return identity(g, x), g.number(0, wisp.int64)
    dim = dim_in(dim, x.rank)
    values, places = _sort(g, x, dim)
    values.sizes = places.sizes = x.sizes
    wide = g.cast(values, wisp.int32) if x.dtype == wisp.bool else values

    def step(states, items):
        same = g.op("Equal", *(part[0] for part in (states, items)))
        count = g.op("Where", same, g.op("Add", states[1], g.number(1, wisp.int64)), g.number(1, wisp.int64))
        return [items[0], count], [count]

    first = g.squeeze(g.slice(wide, [0], [1], [dim]), [dim])
    first.sizes = tuple(size for d, size in enumerate(x.sizes) if d != dim)
    zeros = filled(g, g.shape(first), 0, wisp.int64)
    zeros.sizes = first.sizes
    lengths = scan(g, [first, zeros], [wide], dim, step, collected=[wisp.int64])[2]
    at = g.op("ArgMax", lengths, axis=dim, keepdims=1)
    at.sizes = tuple(1 if d == dim else size for d, size in enumerate(x.sizes))
    made = [g.op("GatherElements", part, at, axis=dim, sizes=at.sizes) for part in (values, places)]
    return tuple(made) if keepdim else tuple(g.squeeze(part, [dim]) for part in made)


def _unique(g, x, ordered=True, inverse=False, counts=False, dim=None):
    flat = x if dim is not None else g.reshape(x, [-1])
    axis = {} if dim is None else {"axis": dim_in(dim, x.rank)}
    values, _, back, count = g.op("Unique", distinguishable(g, flat), outputs=4, sorted=1, **axis)
    values = g.cast(values, x.dtype)
    back.dtype = count.dtype = wisp.int64
    if inverse:
        back = back if dim is not None else g.reshape(back, g.shape(x))
    nothing = wisp.empty(0, dtype=wisp.int64)
    return values, back if inverse else g.constant(nothing), count if counts else g.constant(nothing)


LOWERINGS = {
    "sort": _sort, "sort.stable": _sort_stable, "topk": _topk, "kthvalue": _kthvalue, "median": _median_of_all,
    "median.dim": _median, "nanmedian": _nanmedian_of_all, "nanmedian.dim": _nanmedian, "mode": _mode, "_unique2": _unique,
    "_unique_dim": lambda g, x, dim, ordered=True, inverse=False,
    counts=False: _unique(g, x, ordered, inverse, counts, dim),
}  # fmt: skip
