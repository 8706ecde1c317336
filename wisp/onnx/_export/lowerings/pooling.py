"""Pooling."""

import math

import wisp
from wisp.onnx._export.formula import Formula
from wisp.onnx._export.lowerings.convolution import batched, of_floats, spread
from wisp.onnx._export.lowerings.creation import filled
from wisp.onnx._export.numbers import BUILTINS
from wisp.onnx._export.values import Unsupported, is_static


def _max_pool(dims, with_indices):
    return of_floats(_max_pool_of_floats(dims, with_indices), wisp.int8, wisp.uint8)


def _max_pool_of_floats(dims, with_indices):
    def lower(g, x, kernel, stride=None, padding=0, dilation=1, ceil_mode=False, *_):
        kernel, padding, dilation = (spread(value, dims) for value in (kernel, padding, dilation))
        stride = spread(stride or kernel, dims)
        if ceil_mode and _is_open(g, x, dims) and x.is_float and not with_indices:
            extra = _missing(g, x, kernel, stride, padding, dilation)
            x, ceil_mode = _padded(g, x, [0] * dims, extra, -math.inf), False
        pads = _ceiled(x, kernel, stride, padding, dilation) if ceil_mode else padding * 2
        settings = {"kernel_shape": kernel, "strides": stride, "pads": pads, "dilations": dilation}

        def pool(batch):
            if not with_indices:
                return g.op("MaxPool", batch, **settings)
            values, places = g.op("MaxPool", batch, outputs=2, **settings)
            places.dtype = wisp.int64
            return values, g.op("Mod", places, _plane(g, batch, dims))

        return batched(g, x, dims, pool)

    return lower


def _ceiled(x, kernel, stride, padding, dilation):
    """Padding that makes room for a last window which is only partly filled, unless it would begin behind the end.

    The attribute of ONNX for that is not used: runtimes disagree about it.
    """
    extra = []
    for i in range(len(kernel)):
        size = x.fixed(i - len(kernel))
        room = size + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1
        steps = -(-room // stride[i])
        steps -= steps * stride[i] >= size + padding[i]
        extra.append(max(steps * stride[i] - room, 0))
    return [*padding, *(p + e for p, e in zip(padding, extra, strict=True))]


def _is_open(g, x, dims):
    """Whether sizes may differ. If nobody asked for that, they rather do not: it takes many nodes."""
    if None in x.sizes[-dims:] and not g.asked:
        raise Unsupported("sizes that may differ from call to call take many nodes here, and have to be asked for")
    return None in x.sizes[-dims:]


def _missing(g, x, kernel, stride, padding, dilation):
    """What _ceiled() adds behind a tensor whose sizes are only known when the model runs, for each dimension."""
    count, found = len(kernel), []
    for i in range(count):
        size = Formula(g, g.tensor(g.size(x, i - count), wisp.int64))
        room = size + (2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1)
        steps = (room + (stride[i] - 1)) / stride[i]
        steps = steps - (steps * stride[i] >= size + padding[i]).cast(wisp.int64)
        found.append((steps * stride[i] - room).at_least(0))
    return found


def _padded(g, x, before, after, value):
    """A tensor with more elements around the last dimensions: numbers of them, or formulas."""
    widths = [width.ref if isinstance(width, Formula) else width for width in after]
    rest = [0] * (x.rank - len(before))
    made = g.op("Pad", x, g.ints([*rest, *before, *rest, *widths]), g.number(value, x.dtype))
    made.sizes = (*x.sizes[: len(rest)], *[None] * len(before))
    return made


def _plane(g, x, dims):
    """How many elements a channel has: ONNX counts the places of maxima through the whole tensor."""
    sizes = [x.size(2 + i) for i in range(dims)]
    if None not in sizes:
        return g.number(wisp.Size(sizes).numel(), wisp.int64)
    picked = g.op("Gather", g.shape(x), list(range(2, 2 + dims)), axis=0)
    return g.reduce("ReduceProd", picked)


def _avg_pool(dims):
    def lower(g, x, kernel, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor=None):
        kernel, padding = spread(kernel, dims), spread(padding, dims)
        stride = spread(stride or kernel, dims)
        counted = count_include_pad and any(padding)
        if ceil_mode and (_is_open(g, x, dims) or counted or divisor is not None):
            return _avg_of_parts(g, x, (kernel, stride, padding), count_include_pad, divisor)
        pads = _ceiled(x, kernel, stride, padding, [1] * dims) if ceil_mode else padding * 2
        made = batched(g, x, dims, lambda batch: g.op(
            "AveragePool", batch, kernel_shape=kernel, strides=stride, pads=pads,
            count_include_pad=int(counted or divisor is not None)))  # fmt: skip
        if divisor is None:
            return made
        return g.op("Mul", made, g.number(wisp.Size(kernel).numel() / divisor, x.dtype))

    return lower


def _avg_of_parts(g, x, geometry, count_include_pad, divisor):
    """Averages over windows of which the last ones are partly filled: the sums, divided by what counts of each."""
    kernel, stride, padding = geometry
    dims, volume = len(kernel), wisp.Size(kernel).numel()

    extra = _missing(g, x, kernel, stride, padding, [1] * dims)
    behind = [more + own for more, own in zip(extra, padding, strict=True)]

    def sums(values):
        found = batched(g, values, dims, lambda b: g.op("AveragePool", b, kernel_shape=kernel, strides=stride))
        return Formula(g, found) * volume

    total = sums(_padded(g, x, padding, behind, 0))
    if divisor is not None:
        return (total / divisor).ref
    counts = filled(g, g.shape(x), 1, x.dtype)
    counts.sizes = x.sizes
    if count_include_pad:
        counts = _padded(g, _padded(g, counts, padding, padding, 1), [0] * dims, extra, 0)
    else:
        counts = _padded(g, counts, padding, behind, 0)
    return (total / sums(counts)).ref


def _adaptive_avg(dims):

    def lower(g, x, sizes):
        sizes = spread(sizes, dims)
        axes = list(range(x.rank - dims, x.rank))
        if all(size == 1 for size in sizes):
            return g.op("GlobalAveragePool", x) if x.rank == dims + 2 else g.reduce("ReduceMean", x, axes, True)
        for axis, size in zip(axes, sizes, strict=True):
            if size is not None and size != x.size(axis):
                x = _mean_of_windows(g, x, axis, size)
        return g.op("Identity", x)

    return lower


def _windows(whole, size):
    return [(i * whole // size, -(-(i + 1) * whole // size)) for i in range(size)]


def _mean_of_windows(g, x, axis, size):
    """Windows of unequal size along one dimension, as a product with a matrix."""
    weights = wisp.zeros(x.fixed(axis), size, dtype=x.dtype)
    for i, (start, end) in enumerate(_windows(x.fixed(axis), size)):
        weights[start:end, i] = 1 / (end - start)
    sizes = tuple(size if dim == axis else known for dim, known in enumerate(x.sizes))
    moved = g.op("MatMul", g.swap(x, axis, -1), weights)
    moved.sizes = tuple(sizes[d] for d in _swapped(x.rank, axis))
    return g.swap(moved, axis, -1)


def _swapped(rank, axis):
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return order


def _adaptive_max(dims):
    def lower(g, x, sizes, *_):
        sizes = spread(sizes, dims)
        axes = list(range(x.rank - dims, x.rank))
        whole = [x.fixed(axis) for axis in axes]
        sizes = [own if size is None else size for own, size in zip(whole, sizes, strict=True)]
        if any(own % size for own, size in zip(whole, sizes, strict=True)):
            places = _places_in_windows(whole, sizes)
            return _max_at(g, x, dims, g.constant(places.reshape(-1)), sizes, places.size(-1))
        kernel = [own // size for own, size in zip(whole, sizes, strict=True)]
        return _max_pool(dims, True)(g, x, kernel)

    return lower


def _places_in_windows(whole, sizes):
    """The elements of windows of unequal size, as places in a plane; shorter ones have their last element twice."""
    found, dims = wisp.tensor(0), len(whole)
    for d, (own, size) in enumerate(zip(whole, sizes, strict=True)):
        windows = _windows(own, size)
        longest = max(end - start for start, end in windows)
        line = wisp.tensor([[min(start + i, end - 1) for i in range(longest)] for start, end in windows])
        shape = [1] * (2 * dims)
        shape[d], shape[dims + d] = size, longest
        found = found * own + line.reshape(shape)
    return found.flatten(dims).flatten(0, dims - 1)


def _max_at(g, x, dims, places, sizes, length):
    """(maxima, where they are) of windows, whose elements are at places of a flat plane, one window after the other.

    The places are the same for all planes, or there are those of each.
    """
    front = g.sizes(x)[: x.rank - dims]
    rank, cells = len(front), wisp.Size(sizes).numel()
    flat, windows = g.reshape(x, [*front, -1]), [cells, length]
    picked = g.op("Gather" if places.rank == 1 else "GatherElements", flat, places, axis=rank)
    picked = g.reshape(picked, [*front, *windows])
    picked.sizes = (*x.sizes[:rank], *windows)
    best = g.op("ArgMax", picked, axis=rank + 1, keepdims=1)
    if places.rank == 1:
        table = g.expand(g.reshape(places, windows), [*front, *windows])
    else:
        table = g.reshape(places, [*front, *windows])
    made = g.reduce("ReduceMax", picked, [rank + 1]), g.op("GatherElements", table, best, axis=rank + 1)
    return tuple(g.reshape(part, [*front, *sizes]) for part in made)


# --- windows at random places


def _fractional_starts(g, samples, whole, size, kernel):
    """Where the windows of each plane begin along one dimension."""
    sample = Formula(g, g.unsqueeze(samples, [-1]))
    step = (whole - kernel) / (size - 1) if size > 1 else 0.0
    numbers = Formula(g, g.constant(wisp.arange(size, dtype=samples.dtype)))
    starts = ((numbers + sample) * step).cast(wisp.int64) - (sample * step).cast(wisp.int64)
    last = Formula(g, g.constant(wisp.arange(size) == size - 1))
    return last.choose(whole - kernel, starts).at_least(0).at_most(whole - kernel)


def _fractional(dims):
    def lower(g, x, kernel, sizes, samples):
        if x.rank == dims + 1:
            made = lower(g, g.unsqueeze(x, [0]), kernel, sizes, samples)
            return tuple(g.squeeze(part, [0]) for part in made)
        kernel, sizes, batch = spread(kernel, dims), spread(sizes, dims), g.sizes(x)[:2]
        samples = g.slice(samples, [0, 0], batch, [0, 1])
        places = None
        for d in range(dims):
            at = 1 - d if dims == 2 else d  # of an image, width comes before height
            column = g.op("Gather", samples, g.number(at, wisp.int64), axis=2, sizes=(None, None))
            whole = x.fixed(2 + d)
            starts = _fractional_starts(g, column, whole, sizes[d], kernel[d])
            shape = [1] * (2 * dims)
            shape[d] = sizes[d]
            inside = [kernel[d] if i == dims + d else 1 for i in range(2 * dims)]
            steps = wisp.arange(kernel[d]).reshape(inside)
            line = Formula(g, g.reshape(starts.ref, [*batch, *shape])) + Formula(g, g.constant(steps))
            places = line if places is None else places * whole + line
        return _max_at(g, x, dims, g.reshape(places.ref, [*batch, -1]), sizes, wisp.Size(kernel).numel())

    return lower


def _max_unpool(g, x, places, sizes):
    dims = len(sizes)
    front = g.sizes(x)[: x.rank - dims]
    flat_size = wisp.Size(sizes).numel() if is_static(sizes) else BUILTINS["prod.int"](g, sizes)
    empty = filled(g, [*front, flat_size], 0, x.dtype)
    spread_out = g.op(
        "ScatterElements", empty, g.reshape(places, [*front, -1]), g.reshape(x, [*front, -1]), axis=len(front)
    )
    return g.reshape(spread_out, [*front, *sizes])


LOWERINGS = {
    **{f"max_pool{n}d": _max_pool(n, False) for n in (1, 2, 3)},
    **{f"_max_pool{n}d": _max_pool(n, False) for n in (2, 3)},
    **{f"max_pool{n}d.indices": _max_pool(n, True) for n in (1, 2, 3)},
    **{f"max_pool{n}d_with_indices": _max_pool(n, True) for n in (1, 2, 3)},
    **{f"avg_pool{n}d": of_floats(_avg_pool(n)) for n in (1, 2, 3)},
    **{f"adaptive_avg_pool{n}d": _adaptive_avg(n) for n in (1, 2, 3)},
    **{f"adaptive_max_pool{n}d_with_indices": _adaptive_max(n) for n in (2, 3)},
    **{f"_fractional_max_pool{n}d": _fractional(n) for n in (2, 3)}, "adaptive_max_pool1d": _adaptive_max(1), "_max_unpool": _max_unpool,
}  # fmt: skip
