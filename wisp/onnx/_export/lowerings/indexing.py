"""Reading and writing at places given by tensors."""

import math

import wisp
from wisp.onnx._export.lowerings.arithmetic import floor_div
from wisp.onnx._export.lowerings.creation import filled
from wisp.onnx._export.lowerings.search import search
from wisp.onnx._export.numbers import BUILTINS
from wisp.onnx._export.values import Ref, Unsupported, dim_in

_END = 2**63 - 1


def _nonzero(g, x):
    if not x.rank:
        raise Unsupported("the places of a tensor without dimensions")
    return g.op("Transpose", g.op("NonZero", g.cast(x, wisp.bool)), perm=[1, 0], dtype=wisp.int64)


def _nonzero_tuple(g, x, *_):
    """The places as one tensor for each dimension; a number counts as a tensor of one dimension."""
    x = x if x.rank else g.unsqueeze(x, [0])
    places = g.op("NonZero", g.cast(x, wisp.bool))
    rows = [g.op("Gather", places, g.number(dim, wisp.int64), axis=0) for dim in range(x.rank)]
    return [_rank_of(row, 1) for row in rows]


# --- x[a, :, b]


def _places(g, x, indices):
    """{dimension: tensor of places}. Masks are replaced by the places where they are true."""
    found, dim = {}, 0
    for index in indices:
        if index is None:
            dim += 1
        elif index.dtype in (wisp.bool, wisp.uint8):
            places = g.op("NonZero", index)
            for i in range(index.rank):
                found[dim + i] = _rank_of(g.op("Gather", places, g.number(i, wisp.int64), axis=0), 1)
            dim += index.rank
        else:
            found[dim] = g.cast(index, wisp.int64)
            dim += 1
    return found


def _rank_of(ref, rank):
    ref.sizes = (None,) * rank
    return ref


def _index(g, x, indices):
    places = _places(g, x, indices)
    if not places:
        return g.op("Identity", x)
    if len(places) == 1:
        (dim, index), = places.items()  # fmt: skip
        return g.op("Gather", x, index, axis=dim)
    dims = list(places)
    rest = [dim for dim in range(x.rank) if dim not in places]
    stacked, rank = _stacked(g, list(places.values()))
    found = g.op("GatherND", g.transpose(x, [*dims, *rest]), stacked)
    if dims != list(range(dims[0], dims[0] + len(dims))):
        return found
    found.sizes = (None,) * (rank + len(rest))  # the dimensions of the places belong where the first of them was
    before = range(rank, rank + dims[0])
    return g.transpose(found, [*before, *range(rank), *range(rank + dims[0], rank + len(rest))])


def _stacked(g, places):
    """Tensors of places, brought to one shape and put together along a last dimension; and the rank of that shape."""
    rank = max(place.rank for place in places)
    if not all(place.sizes == places[0].sizes and None not in place.sizes for place in places):
        total = places[0]
        for place in places[1:]:
            total = g.op("Add", total, place)
        shape = g.op("Shape", total)
        places = [_rank_of(g.expand(place, shape), rank) for place in places]
    return g.op("Concat", *(g.unsqueeze(place, [rank]) for place in places), axis=rank), rank


def _index_put(g, x, indices, values, accumulate=False):
    places = _places(g, x, indices)
    if accumulate:
        g.need_opset(16, "index_put with accumulate")
    values = g.cast(values, x.dtype)
    if not places:
        return g.expand(values, g.shape(x))
    dims = list(places)
    rest = [dim for dim in range(x.rank) if dim not in places]
    stacked, rank = _stacked(g, list(places.values()))
    adjacent = dims == list(range(dims[0], dims[0] + len(dims)))
    before = rest[: dims[0]] if adjacent else []
    after = rest[len(before) :]
    shape = [g.op("Gather", g.shape(x), before, axis=0)] if before else []
    shape.append(g.slice(g.op("Shape", stacked), [0], [-1], [0]))
    shape += [g.op("Gather", g.shape(x), after, axis=0)] if after else []
    updates = g.expand(values, shape[0] if len(shape) == 1 else g.op("Concat", *shape, axis=0))
    updates.sizes = (None,) * (rank + len(rest))
    middle = range(len(before), len(before) + rank)
    updates = g.transpose(updates, [*middle, *(d for d in range(rank + len(rest)) if d not in middle)])
    moved = g.transpose(x, [*dims, *rest])
    made = g.op("ScatterND", moved, stacked, updates, reduction="add" if accumulate else None)
    made.sizes = tuple(x.sizes[dim] for dim in [*dims, *rest])
    order = [*dims, *rest]
    return g.transpose(made, [order.index(dim) for dim in range(x.rank)])


# --- as often as counts say


def _repeated_places(g, repeats, size=None):
    """Every place as often as its count says: where its copies would be in the running sum of counts."""
    repeats = g.cast(repeats, wisp.int64)
    ends = g.op("CumSum", repeats, g.number(0, wisp.int64), sizes=repeats.sizes)
    total = g.reduce("ReduceSum", repeats)
    numbers = g.op("Range", g.number(0, wisp.int64), total, g.number(1, wisp.int64), sizes=(None,))
    return search(g, ends, numbers, True)


def _repeat_interleave(g, x, repeats, dim=None, size=None):
    if dim is None or not x.rank:
        x, dim = g.reshape(x, [-1]), 0
    dim = dim_in(dim, x.rank)
    repeats = g.expand(repeats, g.ints([g.size(x, dim)]))  # one count may serve all
    repeats.sizes = (x.size(dim),)
    return g.op("Gather", x, _repeated_places(g, repeats), axis=dim)


def _repeat_each(g, x, repeats, dim=None, size=None):
    """Copies in a dimension of their own, which is merged with the one before it."""
    if dim is None or not x.rank:
        x, dim = g.reshape(x, [-1]), 0
    dim = dim_in(dim, x.rank)
    sizes = g.sizes(x)
    copies = g.expand(g.unsqueeze(x, [dim + 1]), [*[1] * (dim + 1), repeats, *[1] * (x.rank - dim - 1)])
    return g.reshape(copies, [*sizes[:dim], BUILTINS["mul.int"](g, sizes[dim], repeats), *sizes[dim + 1 :]])


# --- one dimension


def _take(g, x, index):
    return g.op("Gather", g.reshape(x, [-1]), index, axis=0)


def _put(g, x, index, source, accumulate=False):
    if accumulate:
        g.need_opset(16, "put with accumulate")
    flat = g.op("ScatterElements", g.reshape(x, [-1]), g.reshape(index, [-1]), g.reshape(source, [-1]), axis=0,
                reduction="add" if accumulate else None)  # fmt: skip
    return g.reshape(flat, g.shape(x))


def _index_select(g, x, dim, index):
    if not x.rank:
        return g.op("Identity", x)
    index = index if index.rank else g.unsqueeze(index, [0])
    return g.op("Gather", x, index, axis=dim_in(dim, x.rank))


def _gather(g, x, dim, index, sparse_grad=False):
    if not x.rank:
        return g.expand(x, g.shape(index))
    if not index.rank:
        return g.reshape(g.op("GatherElements", x, g.unsqueeze(index, [0]), axis=0), [])
    return g.op("GatherElements", x, index, axis=dim_in(dim, x.rank))


_HALVES = wisp.float16, wisp.bfloat16


def scatter(g, x, dim, index, source, reduction=None):
    if reduction in ("add", "mul"):
        g.need_opset(16, "scatter with a reduction")
    if reduction in ("max", "min"):
        g.need_opset(18, "scatter with a maximum or minimum")
    if reduction is not None and x.dtype in _HALVES:  # which not all runtimes add up
        wide = g.cast(x, wisp.float32)
        return g.cast(scatter(g, wide, dim, index, source, reduction), x.dtype)
    if not x.rank:
        made = scatter(g, *(_as_row(g, part) for part in (x, dim, index, source)), reduction)
        return g.reshape(made, [])
    return g.op("ScatterElements", x, index, g.cast(source, x.dtype), axis=dim_in(dim, x.rank), reduction=reduction)


def _as_row(g, value):
    """A tensor without dimensions as one with one of them; what else is given stays."""
    return g.unsqueeze(value, [0]) if isinstance(value, Ref) and not value.rank else value


def _scatter_source(reduction=None):
    def lower(g, x, dim, index, source, *args):
        kind = _REDUCTIONS[args[0]] if args and isinstance(args[0], str) else reduction
        return scatter(g, x, dim, index, _fitted(g, source, index), kind)

    return lower


_REDUCTIONS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "add": "add", "multiply": "mul"}


def _fitted(g, source, index):
    """A source of which only the part is used that is as large as the index."""
    if source.sizes == index.sizes and None not in source.sizes:
        return source
    count = source.rank
    return g.slice(source, [0] * count, g.shape(index), list(range(count)))


def _scatter_reduce(g, x, dim, index, source, reduce, include_self=True):
    """What was there before, if it does not count, is first overwritten by what changes nothing."""
    kind, start, source = "add" if reduce == "mean" else _REDUCTIONS[reduce], x, _fitted(g, source, index)
    if not include_self:
        neutral = filled(g, g.shape(index), _neutral(kind, x.dtype), x.dtype)
        start = scatter(g, x, dim, index, neutral)
        start.sizes = x.sizes
    found = scatter(g, start, dim, index, source, kind)
    if reduce != "mean":
        return found
    found.sizes = x.sizes
    ones = filled(g, g.shape(index), 1, x.dtype)
    count = filled(g, g.shape(x), 1, x.dtype)
    count.sizes = x.sizes
    if not include_self:
        count = scatter(g, count, dim, index, filled(g, g.shape(index), 0, x.dtype))
        count.sizes = x.sizes
    count = scatter(g, count, dim, index, ones, "add")
    count.sizes = x.sizes
    return floor_div(g, found, count) if not x.is_float else g.op("Div", found, count)


def _neutral(kind, dtype):
    if kind in ("add", "mul"):
        return 0 if kind == "add" else 1
    limits = wisp.finfo(dtype) if dtype.is_floating_point else wisp.iinfo(dtype)
    low, high = (-math.inf, math.inf) if dtype.is_floating_point else (limits.min, limits.max)
    return low if kind == "max" else high


def _scatter_value(g, x, dim, index, value, reduce=None):
    source = filled(g, g.shape(index), value, x.dtype)
    return scatter(g, x, dim, index, source, None if reduce is None else _REDUCTIONS[reduce])


def _along(g, index, dim, source):
    """Places along one dimension, repeated for the others."""
    rank = source.rank
    sizes = [-1 if d == dim_in(dim, rank) else 1 for d in range(rank)]
    return g.expand(g.reshape(index, sizes), g.shape(source))


def _index_write(reduction):
    def lower(g, x, dim, index, source, alpha=1):
        source = g.cast(source, x.dtype)
        source = source if source.rank else g.unsqueeze(source, [0])
        if not isinstance(alpha, Ref) and alpha != 1:
            source = g.op("Mul", source, g.number(alpha, x.dtype), sizes=source.sizes)
        return scatter(g, x, dim, _along(g, index, dim, source), source, reduction)

    return lower


def _index_fill(g, x, dim, index, value):
    if not x.rank:
        return g.tensor(value, x.dtype)
    part = _index_select(g, x, dim, index)
    part.sizes = tuple(None if d == dim_in(dim, x.rank) else size for d, size in enumerate(x.sizes))
    return scatter(g, x, dim, _along(g, index, dim, part), g.expand(g.tensor(value, x.dtype), g.shape(part)))


def _slice_scatter(g, x, source, dim=0, start=None, end=None, step=1):
    size = g.number(g.size(x, dim_in(dim, x.rank)), wisp.int64)
    whole = g.op("Range", g.number(0, wisp.int64), size, g.number(1, wisp.int64))
    places = g.slice(whole, [0 if start is None else start], [_END if end is None else end], [0], [step])
    sizes = [*g.sizes(x)]
    sizes[dim] = g.squeeze(g.op("Shape", places), [0])
    wide = g.expand(g.cast(source, x.dtype), sizes)
    wide.sizes = (None,) * x.rank
    return scatter(g, x, dim, _along(g, places, dim, wide), wide)


def _select_scatter(g, x, source, dim, index):
    dim = dim_in(dim, x.rank)
    wide = g.expand(g.cast(source, x.dtype), [size for d, size in enumerate(g.sizes(x)) if d != dim])
    wide.sizes = tuple(size for d, size in enumerate(x.sizes) if d != dim)
    wide = g.unsqueeze(wide, [dim])
    return scatter(g, x, dim, _along(g, [index], dim, wide), wide)


# --- masks


def _masked_select(g, x, mask):
    if x.sizes != mask.sizes or None in x.sizes:
        shape = g.op("Shape", g.op("Where", mask, x, x))
        x, mask = g.expand(x, shape), g.expand(mask, shape)
    return g.op("Compress", g.reshape(x, [-1]), g.reshape(mask, [-1]), axis=0)


def _masked_scatter(g, x, mask, source):
    if mask.rank > x.rank:
        rank = mask.rank
        x = g.expand(x, g.op("Shape", g.op("Where", mask, x, x)))
        x.sizes = (None,) * rank
    wide = g.expand(mask, g.shape(x))
    count = g.op("CumSum", g.cast(g.reshape(wide, [-1]), wisp.int64), g.number(0, wisp.int64))
    places = g.op("Max", g.op("Sub", count, g.number(1, wisp.int64)), g.number(0, wisp.int64))
    found = g.reshape(g.op("Gather", g.reshape(source, [-1]), places, axis=0), g.shape(x))
    return g.op("Where", wide, found, x, dtype=x.dtype)


# --- tables


def _embedding(g, weight, indices, *_):
    return g.op("Gather", weight, indices, axis=0)


def _bag_of_each(g, offsets, size, bags):
    """The bag that every place belongs to; behind the last one, one more."""
    numbers = g.op("Range", g.number(0, wisp.int64), g.number(size, wisp.int64), g.number(1, wisp.int64), sizes=(None,))
    found = g.op("Sub", search(g, offsets, numbers, True), g.number(1, wisp.int64))
    return g.op("Min", found, g.number(bags, wisp.int64))


def _embedding_bag_kernel(g, weight, indices, offsets, by_frequency, mode, each, has_last, padding):
    """Rows are added up, or compared, by the number of their bag; what is padding goes into one more."""
    g.need_opset(16 if mode < 2 else 18, "bags of several sizes")
    if weight.dtype in _HALVES:
        wide = [None if part is None else g.cast(part, wisp.float32) for part in (weight, each)]
        made = _embedding_bag_kernel(g, wide[0], indices, offsets, by_frequency, mode, wide[1], has_last, padding)
        return (g.cast(made[0], weight.dtype), *made[1:])
    offsets, count = g.cast(offsets, wisp.int64), g.size(offsets, 0)
    bags = count if not has_last else _less_one(g, count)
    bag = _bag_of_each(g, offsets, g.size(indices, 0), bags)
    own = bag
    if padding >= 0:
        is_padding = g.op("Equal", indices, g.number(padding, indices.dtype))
        own = g.op("Where", is_padding, g.number(bags, wisp.int64), bag)
    rows = g.op("Gather", weight, indices, axis=0, sizes=(None, weight.size(1)))
    rows = rows if each is None else g.op("Mul", rows, g.unsqueeze(each, [1]))
    more = g.op("Add", g.number(bags, wisp.int64), g.number(1, wisp.int64))
    more.number, at = True, g.unsqueeze(own, [1])
    start = filled(g, [more, g.size(weight, 1)], 0 if mode < 2 else -math.inf, weight.dtype)
    sums = g.op("ScatterND", start, at, rows, reduction="add" if mode < 2 else "max", sizes=(None, weight.size(1)))
    ones = filled(g, g.shape(own), 1, weight.dtype)
    counts = g.op("ScatterND", filled(g, [more], 0, weight.dtype), at, ones, reduction="add", sizes=(None,))
    sums, counts = (g.slice(part, [0], g.ints([bags]), [0]) for part in (sums, counts))
    column = g.unsqueeze(counts, [1])
    if mode == 1:
        sums = g.op("Div", sums, g.op("Max", column, g.number(1, weight.dtype)))
    elif mode == 2:
        sums = g.op("Where", g.op("Greater", column, g.number(0, weight.dtype)), sums, g.number(0, weight.dtype))
    return sums, g.cast(bag, indices.dtype), g.cast(counts, indices.dtype)


def _less_one(g, count):
    if not isinstance(count, Ref):
        return count - 1
    made = g.op("Sub", count, g.number(1, wisp.int64))
    made.number = True
    return made


def _embedding_bag(g, weight, indices, offsets, by_frequency=False, mode=0, sparse=False, each=None, has_last=False,
                   padding=None):  # fmt: skip
    padding = -1 if padding is None else padding + weight.fixed(0) if padding < 0 else padding
    return _embedding_bag_kernel(g, weight, indices, offsets, by_frequency, mode, each, has_last, padding)


def _one_hot(g, x, classes=-1):
    if not isinstance(classes, Ref) and classes < 0:
        classes = g.op("Add", g.reduce("ReduceMax", x), g.number(1, wisp.int64))
    if not x.rank:
        return g.squeeze(_one_hot(g, g.unsqueeze(x, [0]), classes), [0])
    return g.op(
        "OneHot",
        x,
        g.number(classes, wisp.int64),
        wisp.tensor([0, 1]),
        axis=-1,
        dtype=wisp.int64,
        sizes=(*x.sizes, None if isinstance(classes, Ref) else classes),
    )


LOWERINGS = {
    "repeat_interleave": lambda g, repeats, size=None: g.cast(_repeated_places(g, repeats), repeats.dtype),
    "repeat_interleave.self": _repeat_interleave, "repeat_interleave.number": _repeat_each,
    **dict.fromkeys(("nonzero", "argwhere"), lambda g, x, *_: _nonzero(g, x)), "index": _index,
    **dict.fromkeys(("nonzero.tuple", "where.condition"), _nonzero_tuple), "index_put": _index_put,
    "take": _take, "put": _put, "index_select": _index_select, "gather": _gather, "scatter.src": _scatter_source(),
    "scatter.value": _scatter_value, "scatter.reduce": _scatter_source(), "scatter.value_reduce": _scatter_value,
    "scatter_add": _scatter_source("add"), "scatter_reduce": _scatter_reduce, "index_add": _index_write("add"),
    "index_copy": _index_write(None), "index_fill": _index_fill, "slice_scatter": _slice_scatter,
    "select_scatter": _select_scatter, "masked_select": _masked_select, "masked_scatter": _masked_scatter,
    "embedding": _embedding, "_embedding_bag": _embedding_bag_kernel,
    "embedding_bag": _embedding_bag, "one_hot": _one_hot,
}  # fmt: skip
