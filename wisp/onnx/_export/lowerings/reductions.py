"""Reductions."""

import math

import wisp
from wisp.onnx._export.lowerings.arithmetic import is_infinite, result_dtype, truth
from wisp.onnx._export.lowerings.shapes import identity
from wisp.onnx._export.values import Ref, Unsupported, dim_in


def _dims(dims):
    return [dims] if isinstance(dims, int) and not isinstance(dims, bool) else dims


def _reduced(kind):
    """A reduction whose result has the dtype that is known of it."""

    def lower(g, x, dims=None, keepdim=False, dtype=None):
        if isinstance(dims, wisp.dtype):
            dims, dtype = None, dims
        dtype = g.results[0][0] or dtype or x.dtype
        if dtype == wisp.bool:  # what is not 0 is true
            return g.cast(g.reduce(kind, g.cast(truth(g, x), wisp.int32), _dims(dims), keepdim), dtype)
        return g.reduce(kind, g.cast(x, dtype), _dims(dims), keepdim)

    return lower


def _whole(kind):
    return lambda g, x, dtype=None: _reduced(kind)(g, x, None, False, dtype)


def extremum(kind):
    def lower(g, x, dims=None, keepdim=False):
        if x.dtype in (wisp.bool, wisp.int16, wisp.uint8, wisp.int8):
            return g.cast(g.reduce(kind, g.cast(x, wisp.int32), _dims(dims), keepdim), x.dtype)
        return g.reduce(kind, x, _dims(dims), keepdim)

    return lower


def _truths(kind):
    def lower(g, x, dims=None, keepdim=False):
        if dims == []:
            return g.cast(truth(g, x), g.results[0][0] or wisp.bool)
        found = g.reduce(kind, g.cast(truth(g, x), wisp.int32), _dims(dims), keepdim)
        return g.cast(found, g.results[0][0] or wisp.bool)

    return lower


def _count_nonzero(g, x, dims=None):
    return g.reduce("ReduceSum", g.cast(truth(g, x), wisp.int64), _dims(dims))


def _nansum(g, x, dims=None, keepdim=False, dtype=None):
    if x.is_float:
        x = g.op("Where", g.op("IsNaN", x), g.number(0, x.dtype), x)
    return g.reduce("ReduceSum", g.cast(x, g.results[0][0] or x.dtype), _dims(dims), keepdim)


def _with_index(kind, largest):
    def lower(g, x, dim, keepdim=False):
        if not x.rank:
            return identity(g, x), g.number(0, wisp.int64)
        wide = x if x.dtype not in (wisp.bool, wisp.int16, wisp.uint8, wisp.int8) else g.cast(x, wisp.int32)
        place = g.op("ArgMax" if largest else "ArgMin", wide, axis=dim_in(dim, x.rank), keepdims=int(keepdim))
        return g.cast(g.reduce(kind, wide, [dim], keepdim), x.dtype), place

    return lower


def _place(kind):
    def lower(g, x, dim=None, keepdim=False):
        wide = x if x.dtype not in (wisp.bool, wisp.int16, wisp.uint8, wisp.int8) else g.cast(x, wisp.int32)
        if not x.rank:
            return g.number(0, wisp.int64)
        if dim is not None:
            return g.op(kind, wide, axis=dim_in(dim, x.rank), keepdims=int(keepdim))
        found = g.op(kind, g.reshape(wide, [-1]), axis=0, keepdims=0)
        return g.reshape(found, [1] * x.rank) if keepdim else found

    return lower


def _aminmax(g, x, dim=None, keepdim=False):
    return tuple(extremum(kind)(g, x, dim, keepdim) for kind in ("ReduceMin", "ReduceMax"))


# --- variances


def _count(g, x, dims, dtype):
    """How many elements are reduced into one, as a number or a value."""
    dims = list(range(x.rank)) if not dims else [dim_in(dim, x.rank) for dim in dims]
    sizes = [x.size(dim) for dim in dims]
    if None not in sizes:
        return math.prod(sizes)
    picked = g.op("Gather", g.shape(x), dims, axis=0)
    return g.cast(g.reduce("ReduceProd", picked), dtype)


def variance(g, x, dims, correction, keepdim):
    """(variance, mean)"""
    dims = _dims(dims)
    mean = g.reduce("ReduceMean", x, dims, True)
    gap = g.op("Sub", x, mean)
    squares = g.op("Mul", gap, gap)
    if correction == 0:
        found = g.reduce("ReduceMean", squares, dims, keepdim)
    else:
        total, count = g.reduce("ReduceSum", squares, dims, keepdim), _count(g, x, dims, x.dtype)
        if isinstance(count, Ref):
            less = extreme_of_zero(g, g.op("Sub", count, g.number(correction, x.dtype)))
        else:
            less = g.number(max(count - correction, 0), x.dtype)
        found = g.op("Div", total, less)
    if not keepdim and mean.sizes != ():
        mean = g.reduce("ReduceMean", x, dims)
    return found, mean


def extreme_of_zero(g, x):
    return g.op("Max", x, g.number(0, x.dtype))


def _spread(root, with_mean):
    def lower(g, x, dims=None, correction=None, keepdim=False):
        found, mean = variance(g, x, dims, 1 if correction is None else correction, keepdim)
        found = g.op("Sqrt", found) if root else found
        return (found, mean) if with_mean else found

    return lower


def _unbiased(root, with_mean):
    def lower(g, x, *args):
        dims, unbiased, keepdim = (None, *args, False) if len(args) < 2 else args
        return _spread(root, with_mean)(g, x, dims, int(unbiased), keepdim)

    return lower


# --- norms


def vector_norm(g, x, order=2, dims=None, keepdim=False, dtype=None):
    x, dims = g.cast(x, g.results[0][0] or dtype or x.dtype), _dims(dims)
    if isinstance(order, Ref):
        raise Unsupported("the order of a norm has to be the same in all calls")
    if order in (1, 2):
        return g.reduce(f"ReduceL{order:.0f}", x, dims, keepdim)
    size = g.op("Abs", x)
    if order in (math.inf, -math.inf):
        return g.reduce("ReduceMax" if order > 0 else "ReduceMin", size, dims, keepdim)
    if order == 0:
        return g.reduce("ReduceSum", g.cast(truth(g, size), x.dtype), dims, keepdim)
    total = g.reduce("ReduceSum", g.op("Pow", size, g.number(order, x.dtype)), dims, keepdim)
    return g.op("Pow", total, g.number(1 / order, x.dtype))


def _norm(g, x, order=2, dims=None, keepdim=False, dtype=None):
    return vector_norm(g, x, 2 if order in (None, "fro") else order, dims, keepdim, dtype)


def _normalize(g, x, order=2.0, dim=1, eps=1e-12):
    length = vector_norm(g, x, order, [dim], True)
    return g.op("Div", x, g.op("Max", length, g.number(eps, x.dtype)))


def _cosine(g, a, b, dim=1, eps=1e-8):
    dots = g.reduce("ReduceSum", g.op("Mul", a, b), [dim])
    squares = [g.reduce("ReduceL2", x, [dim]) for x in (a, b)]
    lengths = [g.op("Max", length, g.number(eps, a.dtype)) for length in squares]
    return g.op("Div", g.op("Div", dots, lengths[0]), lengths[1])


# --- sums along a dimension


def _cumsum(g, x, dim, dtype=None, reverse=0):
    x = g.cast(x, g.results[0][0] or dtype or x.dtype)
    if not x.rank:
        return identity(g, x)
    wide = x if x.dtype in (wisp.float32, wisp.float64, wisp.int32, wisp.int64) else g.cast(x, wisp.float32)
    return g.cast(g.op("CumSum", wide, g.number(dim_in(dim, x.rank), wisp.int64), reverse=reverse), x.dtype)


def softmax(kind):
    def lower(g, x, dim=None, *args):
        dim = implicit_dim(x) if dim is None else dim
        x = g.cast(x, result_dtype(g, x))
        if not x.rank:
            return g.squeeze(g.op(kind, g.unsqueeze(x, [0]), axis=0), [0])
        return g.op(kind, x, axis=dim_in(dim, x.rank))

    return lower


def implicit_dim(x):
    return 0 if x.rank in (0, 1, 3) else 1


def _logsumexp(g, x, dims, keepdim=False):
    return g.reduce("ReduceLogSumExp", g.cast(x, result_dtype(g, x)), _dims(dims), keepdim)


def _isclose(g, a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    same = g.op("Equal", a, b)
    if not a.is_float:
        a, b = (g.cast(x, wisp.float64) for x in (a, b))
    limit = g.op("Add", g.op("Mul", g.op("Abs", b), g.number(rtol, a.dtype)), g.number(atol, a.dtype))
    gap = g.op("Abs", g.op("Sub", a, b))

    near = g.op("And", g.op("LessOrEqual", gap, limit), g.op("Not", is_infinite(g, gap)))
    found = g.op("Or", same, near)
    if equal_nan:
        found = g.op("Or", found, g.op("And", g.op("IsNaN", a), g.op("IsNaN", b)))
    return found


LOWERINGS = {
    "sum": _whole("ReduceSum"), "sum.dim": _reduced("ReduceSum"), "mean": _whole("ReduceMean"),
    "mean.dim": _reduced("ReduceMean"), "prod": _whole("ReduceProd"), "prod.dim_int": _reduced("ReduceProd"),
    "nansum": _nansum, "any": _truths("ReduceMax"), "any.dims": _truths("ReduceMax"), "all": _truths("ReduceMin"),
    "all.dims": _truths("ReduceMin"), "count_nonzero": _count_nonzero, "max": extremum("ReduceMax"),
    "min": extremum("ReduceMin"), "amax": extremum("ReduceMax"), "amin": extremum("ReduceMin"),
    "max.dim": _with_index("ReduceMax", True), "min.dim": _with_index("ReduceMin", False), "aminmax": _aminmax,
    "argmax": _place("ArgMax"), "argmin": _place("ArgMin"),
    **{f"{name}.correction": _spread(root, mean) for name, root, mean in (
        ("var", False, False), ("std", True, False), ("var_mean", False, True), ("std_mean", True, True))},
    **{f"{name}{dim}": _unbiased(root, mean) for name, root, mean in (
        ("var", False, False), ("std", True, False), ("var_mean", False, True), ("std_mean", True, True))
        for dim in ("", ".dim")},
    "vector_norm": vector_norm, "norm": _norm, "norm.name": _norm, "normalize": _normalize,
    "cosine_similarity": _cosine,
    "cumsum": _cumsum, "_cumsum_reverse": lambda g, x, dim: _cumsum(g, x, dim, reverse=1),
    **dict.fromkeys(("softmax", "softmax.functional"), softmax("Softmax")),
    **dict.fromkeys(("log_softmax", "log_softmax.functional"), softmax("LogSoftmax")), "logsumexp": _logsumexp,
    "isclose": _isclose,
}  # fmt: skip
