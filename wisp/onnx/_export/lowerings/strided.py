"""Views by strides, of tensors that are known to lie in memory in order, and diagonals that are written."""

import wisp
from wisp.onnx._export.lowerings.shapes import diagonal_indices, matrices_last
from wisp.onnx._export.values import Unsupported, dim_in, is_static


def _places(sizes, strides, offset):
    """Where the elements of a view are in memory."""
    found = wisp.tensor(offset or 0)
    for size, stride in zip(sizes, strides, strict=True):
        found = found.unsqueeze(-1) + wisp.arange(size) * stride
    return found


def _flat(g, x):
    if x.name not in g.dense:
        raise Unsupported("strides have no meaning in ONNX: it has to be used on an argument, or after contiguous()")
    return g.reshape(x, [-1])


def _as_strided(g, x, sizes, strides, offset=None):
    if not is_static([sizes, strides, offset]):
        raise Unsupported("sizes and strides have to be the same in all calls")
    return g.op("Gather", _flat(g, x), _places(sizes, strides, offset), axis=0, sizes=tuple(sizes))


def _as_strided_of(g, x, sizes, strides, offset, own_sizes, own_strides, own_offset):
    """With the geometry of the argument, which tells that it lies in order."""
    if not is_static([own_sizes, own_strides]):
        raise Unsupported("strides of tensors whose sizes may differ from call to call")
    if own_offset or tuple(own_strides) != wisp.empty(own_sizes, device="meta").stride():
        raise Unsupported("strides have no meaning in ONNX, and the argument does not lie in memory in order")
    return g.op("Gather", g.reshape(x, [-1]), _places(sizes, strides, offset), axis=0, sizes=tuple(sizes))


def _as_strided_scatter(g, x, source, sizes, strides, offset=None):
    places = _places(sizes, strides, offset).reshape(-1)
    source = g.reshape(g.expand(g.cast(source, x.dtype), list(sizes)), [-1])
    return g.reshape(g.op("ScatterElements", _flat(g, x), places, source, axis=0), g.shape(x))


def _slice_inverse(g, part, whole, *place):
    from wisp.onnx._export.lowerings.indexing import LOWERINGS as INDEXING

    return INDEXING["slice_scatter"](g, whole, part, *place)


# --- diagonals


def diagonal_scatter(g, x, source, offset=0, dim1=0, dim2=1):
    dim1, dim2 = dim_in(dim1, x.rank), dim_in(dim2, x.rank)
    flat, rest = matrices_last(g, x, dim1, dim2)
    places = wisp.tensor(diagonal_indices(x, offset, dim1, dim2)[0], dtype=wisp.int64)
    front = [g.size(x, dim) for dim in rest]
    sizes = [*front, len(places)]
    updates = g.expand(g.cast(source, x.dtype), sizes)
    found = g.op("ScatterElements", flat, g.expand(places, sizes), updates, axis=len(rest))
    moved = g.reshape(found, [*front, x.fixed(dim1), x.fixed(dim2)])
    order = [*rest, dim1, dim2]
    return g.transpose(moved, [order.index(dim) for dim in range(x.rank)])


def _fill_diagonal(g, x, value, wrap=False):
    """A tall matrix may start over below a free row."""
    height, width = x.fixed(0), x.fixed(1)
    step = sum(wisp.empty([x.fixed(dim) for dim in range(x.rank)], device="meta").stride()[1:])
    stride = wisp.Size([x.fixed(dim) for dim in range(1, x.rank)]).numel()
    rows = range(height if wrap and x.rank == 2 else min(height, width))
    places = [row * stride + row % (width + 1) * step for row in rows if row % (width + 1) < width]
    updates = g.expand(g.number(value, x.dtype), [len(places)])
    at = wisp.tensor(places, dtype=wisp.int64)
    return g.reshape(g.op("ScatterElements", g.reshape(x, [-1]), at, updates, axis=0), g.shape(x))


LOWERINGS = {
    **dict.fromkeys(("as_strided", "as_strided_copy"), _as_strided), "_as_strided": _as_strided_of,
    "as_strided_scatter": _as_strided_scatter, "slice_inverse": _slice_inverse, "diagonal_scatter": diagonal_scatter,
    "fill_diagonal": _fill_diagonal,
}  # fmt: skip
