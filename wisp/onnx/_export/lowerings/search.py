"""Finding values: searches in sorted rows, counts of values, runs of equal ones."""

import math

import wisp
from wisp.onnx._export.formula import Formula
from wisp.onnx._export.inner import loop
from wisp.onnx._export.lowerings.arithmetic import common_dtype
from wisp.onnx._export.lowerings.creation import filled
from wisp.onnx._export.values import Ref, dim_in

_INT = wisp.int64


def _pick(g, rows, at):
    """The elements of rows at places in each of them; a single row serves all."""
    if rows.rank == 1:
        return g.op("Gather", rows, at, axis=0, sizes=at.sizes)
    return g.op("GatherElements", rows, at, axis=rows.rank - 1, sizes=at.sizes)


def search(g, rows, values, right, length=None):
    """Where values belong in sorted rows: halves are taken as the kernel takes them, for all values at once."""
    length = g.number(g.size(rows, -1) if length is None else length, _INT)
    begin = filled(g, g.shape(values), 0, _INT)
    begin.sizes, one = values.sizes, g.number(1, _INT)

    def comes_before(at):
        behind = g.op("Greater" if right else "GreaterOrEqual", _pick(g, rows, at), values)
        return g.cast(g.op("Not", behind), _INT)

    def step(_, begin, length):
        half = g.op("Div", length, g.number(2, _INT))
        is_right = comes_before(g.op("Sub", g.op("Add", begin, half), one))
        return [g.op("Add", begin, g.op("Mul", half, is_right)), g.op("Sub", length, half)]

    def is_long(_, length):
        return g.op("Greater", length, one)

    begin, length = loop(g, None, [begin, length], step, is_long)
    return g.op("Add", begin, g.op("Mul", length, comes_before(begin)))


def _searchsorted(g, rows, values, out_int32=False, right=False, side=None, sorter=None):
    dtype = common_dtype(rows, values)
    if sorter is not None:
        rows = _pick(g, rows, sorter)
    rows, values = _comparable(g, g.tensor(rows, dtype)), _comparable(g, g.tensor(values, dtype))
    found = search(g, rows, values, right or side == "right")
    return g.cast(found, wisp.int32 if out_int32 else _INT)


def _comparable(g, x):
    return g.cast(x, wisp.int32) if x.dtype in (wisp.bool, wisp.int8, wisp.uint8, wisp.int16) else x


def ascending(g, flat):
    """A vector in order, and where its elements were."""
    values, places = g.op("TopK", flat, g.op("Shape", flat), outputs=2, axis=0, largest=0, sorted=1)
    values.sizes = places.sizes = flat.sizes
    places.dtype = _INT
    return values, places


def _isin(g, elements, tests, assume_unique=False, invert=False):
    dtype = common_dtype(elements, tests)
    elements, flat = _comparable(g, g.tensor(elements, dtype)), g.reshape(g.tensor(tests, dtype), [-1])
    flat = _comparable(g, flat)
    flat.sizes = (None,)
    if flat.is_float:  # nothing equals NaN, and not all runtimes put it last
        flat = g.op("Compress", flat, g.op("Equal", flat, flat), axis=0, sizes=(None,))
    ordered = ascending(g, flat)[0]
    padded = g.op("Concat", ordered, wisp.zeros(1, dtype=flat.dtype), axis=0, sizes=(None,))
    size = g.size(ordered, 0)
    at = search(g, padded, elements, False, size)
    is_inside = g.op("Less", at, size)
    found = g.op("And", is_inside, g.op("Equal", _pick(g, padded, at), elements))
    return g.op("Not", found) if invert else found


# --- counts


def _sums(g, places, weights, size):
    """Weights added up by number, for so many numbers."""
    g.need_opset(16, "adding up by number")
    empty = filled(g, [size], 0, weights.dtype)
    return g.op("ScatterElements", empty, places, weights, axis=0, reduction="add", sizes=(None,))


def _bincount(g, x, weights=None, least=0):
    x = g.cast(x, _INT)
    most = g.reduce("ReduceMax", g.op("Concat", x, [least - 1], axis=0))
    size = Ref(g.op("Add", most, g.number(1, _INT)).name, _INT, (), True)
    if weights is None:
        return _sums(g, x, filled(g, g.shape(x), 1, _INT), size)
    return _sums(g, x, g.cast(weights, weights.dtype if weights.dtype == wisp.float32 else wisp.float64), size)


def _even_edges(g, low, high, count):
    """Numbers at equal distances, counted from the nearer end."""
    steps = wisp.arange(count + 1, dtype=low.dtype)
    low, high = Formula(g, low), Formula(g, high)
    step, numbers = (high - low) / count, Formula(g, g.constant(steps))
    near_low = Formula(g, g.constant(steps < (count + 1) // 2))
    return near_low.choose(low + step * numbers, high - step * (count - numbers)).ref


def _ends(g, x, low, high, margin):
    """The ends of a range, moved apart if they are the same."""
    if low is None:
        low, high = (Formula(g, g.reduce(kind, x)) for kind in ("ReduceMin", "ReduceMax"))
        same = low.equals(high)
        return same.choose(low - margin, low).ref, same.choose(high + margin, high).ref
    apart = margin if low == high else 0
    return g.number(low - apart, x.dtype), g.number(high + apart, x.dtype)


def _bin(g, values, edges, is_linear):
    """Which interval each value is in, and whether it is in one."""
    count = edges.fixed(0) - 1
    first, last = (g.op("Gather", edges, g.number(i, _INT), axis=0, sizes=()) for i in (0, count))
    inside = g.op("And", g.op("GreaterOrEqual", values, first), g.op("LessOrEqual", values, last))
    if is_linear:
        x, low, high = (Formula(g, ref) for ref in (values, first, last))
        at = g.cast(((x - low) * count / (high - low)).ref, _INT)
    else:
        at = g.op("Sub", search(g, edges, values, True), g.number(1, _INT))
    return g.op("Min", at, g.number(count - 1, _INT)), inside


def _histogramdd(g, points, bins, binning=0, weight=None):
    cell, inside, total = None, None, math.prod(edges.fixed(0) - 1 for edges in bins)
    for axis, edges in enumerate(bins):
        column = g.op("Gather", points, g.number(axis, _INT), axis=points.rank - 1, sizes=points.sizes[:-1])
        at, is_in = _bin(g, column, edges, binning == 1)
        cell = at if cell is None else g.op("Add", g.op("Mul", cell, g.number(edges.fixed(0) - 1, _INT)), at)
        inside = is_in if inside is None else g.op("And", inside, is_in)
    cell = g.reshape(g.op("Where", inside, cell, g.number(total, _INT)), [-1])
    weight = filled(g, g.shape(cell), 1, points.dtype) if weight is None else g.reshape(weight, [-1])
    sums = g.slice(_sums(g, cell, weight, total + 1), [0], [total], [0])
    return g.reshape(sums, [edges.fixed(0) - 1 for edges in bins])


def _count_in(g, x, edges, binning, weight=None):
    return _histogramdd(g, g.unsqueeze(g.reshape(x, [-1]), [-1]), [edges], binning, weight)


def _histc(g, x, bins=100, low=0, high=0):
    wide = g.cast(x, wisp.float32) if x.dtype in (wisp.float16, wisp.bfloat16) else x
    ends = _ends(g, wide, *((None, None) if low == high else (low, high)), 1.0)
    return g.cast(_count_in(g, wide, _even_edges(g, *ends, bins), 1), x.dtype)


def _density(g, counts, edges):
    """Counts per unit of length that add up to 1."""
    lengths = g.op("Sub", g.slice(edges, [1], [2**63 - 1], [0]), g.slice(edges, [0], [-1], [0]))
    return g.op("Div", g.op("Div", counts, g.reduce("ReduceSum", counts)), lengths)


def _histogram_of_edges(g, x, edges, weight=None, density=False, binning=0):
    counts = _count_in(g, x, edges, binning, weight)
    return _density(g, counts, edges) if density else counts, g.op("Identity", edges)


def _histogram(g, x, bins=100, limits=None, weight=None, density=False):
    ends = _ends(g, x, *(limits or (None, None)), 0.5)
    return _histogram_of_edges(g, x, _even_edges(g, *ends, bins), weight, density, 2)


# --- runs


def _unique_consecutive(g, x, inverse=False, counts=False, dim=None):
    if dim is None or not x.rank:
        moved = rows = g.reshape(x, [-1])
    else:
        dim = dim_in(dim, x.rank)
        moved = g.transpose(x, [dim, *(d for d in range(x.rank) if d != dim)])
        rows = g.op("Flatten", moved, axis=1, sizes=(None, None))
    size = g.size(moved, 0) if dim is not None and x.rank else g.op("Size", x)
    before, after = g.slice(rows, [0], [-1], [0]), g.slice(rows, [1], [2**63 - 1], [0])
    differs = g.cast(g.op("Not", g.op("Equal", after, before)), wisp.int32)
    if rows is not moved:
        differs.sizes = (None, None)
        differs = g.reduce("ReduceMax", differs, [1])
    starts = g.op("Concat", wisp.ones(1, dtype=wisp.int32), differs, axis=0, sizes=(None,))
    starts = g.slice(starts, [0], g.unsqueeze(g.number(size, _INT), [0]), [0])  # nothing has no first element
    firsts = g.squeeze(g.op("NonZero", starts, sizes=(1, None)), [0])
    found = g.op("Gather", moved, firsts, axis=0)
    if moved is not rows:
        found.sizes = (None,) * x.rank
        found = g.transpose(found, [*range(1, dim + 1), 0, *range(dim + 1, x.rank)])
    numbers = g.op("Sub", g.op("CumSum", g.cast(starts, _INT), g.number(0, _INT)), g.number(1, _INT))
    numbers = numbers if moved is not rows else g.reshape(numbers, g.shape(x))
    ends = g.op("Concat", g.slice(firsts, [1], [2**63 - 1], [0]), g.reshape(g.number(size, _INT), [1]), axis=0)
    nothing = g.constant(wisp.empty(0, dtype=_INT))
    return found, numbers if inverse else nothing, g.op("Sub", ends, firsts) if counts else nothing


def distinguishable(g, x):
    """In a dtype of which all runtimes find the distinct elements."""
    return x if x.dtype in (wisp.float32, wisp.float64, _INT) else g.cast(x, wisp.float32 if x.is_float else _INT)


def _row_order(g, x):
    """Rows are sorted by their numbers in the order of the distinct ones."""
    numbers = g.op("Unique", distinguishable(g, x), outputs=4, axis=0, sorted=1)[2]
    numbers.dtype, numbers.sizes = _INT, x.sizes[:1]
    return ascending(g, numbers)[1]


def _nonzero_static(g, x, size, fill=-1):
    found = g.op("Transpose", g.op("NonZero", g.cast(x, wisp.bool)), perm=[1, 0])
    padded = g.op("Concat", found, filled(g, [size, x.rank], fill, _INT), axis=0)
    return g.slice(padded, [0], [size], [0])


LOWERINGS = {
    "searchsorted": _searchsorted, "isin": _isin, "bincount": _bincount, "histc": _histc, "histogram": _histogram,
    "histogram.bins": _histogram_of_edges, "_histogramdd": _histogramdd, "_unique_consecutive": _unique_consecutive,
    "_row_order": _row_order, "nonzero_static": _nonzero_static,
}  # fmt: skip
