"""Products of matrices."""

import math
from string import ascii_lowercase

import wisp
from wisp.onnx._export.formula import Formula
from wisp.onnx._export.lowerings.arithmetic import LOWERINGS as POINTWISE
from wisp.onnx._export.lowerings.arithmetic import common_dtype, result_dtype, scaled
from wisp.onnx._export.lowerings.creation import filled
from wisp.onnx._export.lowerings.reductions import vector_norm
from wisp.onnx._export.lowerings.shapes import LOWERINGS as SHAPES
from wisp.onnx._export.numbers import BUILTINS
from wisp.onnx._export.values import Unsupported, dim_in, is_static


def matmul(g, a, b):
    """A product; not all runtimes know those of small integers."""
    known = a.sizes is not None and b.sizes is not None and min(a.rank, b.rank) >= 2
    dtype, sizes = a.dtype, (None,) * max(a.rank, b.rank) if known else None
    if dtype in (wisp.bool, wisp.int8, wisp.uint8, wisp.int16):
        a, b = (g.cast(x, wisp.int32) for x in (a, b))
    return g.cast(g.op("MatMul", a, b, sizes=sizes), dtype)


def linear(g, x, weight, bias=None):
    if x.rank == 2 and weight.rank == 2 and x.is_float:
        return g.op("Gemm", x, weight, bias, alpha=1.0, beta=1.0, transB=1)
    weight = g.swap(weight) if weight.rank == 2 else weight
    made = matmul(g, x, weight)
    return made if bias is None else g.op("Add", made, bias)


def _addmm(g, x, a, b, beta=1, alpha=1):
    if x.is_float:
        return g.op("Gemm", a, b, x, alpha=float(alpha), beta=float(beta))
    return _added(matmul)(g, x, a, b, beta, alpha)


def _added(product):
    """beta * x + alpha * product(a, b)"""

    def lower(g, x, a, b, beta=1, alpha=1):
        dtype = result_dtype(g, a, b)
        x, found = g.cast(x, dtype), scaled(g, g.cast(product(g, a, b), dtype), alpha)
        return found if beta == 0 else g.op("Or" if x.dtype == wisp.bool else "Add", scaled(g, x, beta), found)

    return lower


def _summed(g, a, b):
    dtype = a.dtype
    if dtype in (wisp.bool, wisp.int8, wisp.uint8, wisp.int16):
        a, b = (g.cast(x, wisp.int32) for x in (a, b))
    return g.cast(g.reduce("ReduceSum", matmul(g, a, b), [0]), dtype)


def _outer(g, a, b):
    return POINTWISE["mul"](g, g.unsqueeze(a, [1]), g.unsqueeze(b, [0]))


def _einsum(g, equation, operands):
    dtype = common_dtype(*operands) if len(operands) > 1 else operands[0].dtype
    equation = _without_dots(equation.replace(" ", ""), [operand.rank for operand in operands])
    wide = wisp.int32 if dtype in (wisp.bool, wisp.int8, wisp.uint8, wisp.int16) else dtype
    operands = [g.cast(g.cast(operand, dtype), wide) for operand in operands]
    return g.cast(g.op("Einsum", *operands, equation=_in_small_letters(equation)), dtype)


def _without_dots(equation, ranks):
    """An equation in which dots stand for as many dimensions everywhere, or for which letters stand."""
    inputs, arrow, result = equation.partition("->")
    parts = inputs.split(",")
    counts = [rank - len(part) + 3 for part, rank in zip(parts, ranks, strict=True) if "..." in part]
    is_kept = not arrow or "..." in result
    if not counts or (len(set(counts)) == 1 and len(counts) == len(parts) and is_kept):
        return equation
    free = [c for c in ascii_lowercase if c not in equation][: max(counts, default=0)]
    if not arrow:
        letters = [c for c in inputs if c.isalpha()]
        result = "..." + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    named = [part.replace("...", _last(free, rank - len(part) + 3)) for part, rank in zip(parts, ranks, strict=True)]
    return f"{','.join(named)}->{result.replace('...', ''.join(free))}"


def _last(letters, count):
    return "".join(letters[len(letters) - count :])


def _in_small_letters(equation):
    """An equation that says what its result is, with small letters only: not all runtimes know others."""
    inputs, arrow, result = equation.partition("->")
    letters = [c for c in inputs if c.isalpha()]
    if not arrow:
        once = sorted(c for c in set(letters) if letters.count(c) == 1)
        result = ("..." if "..." in inputs else "") + "".join(once)
    free = iter(c for c in ascii_lowercase if c not in letters)
    names = {c: next(free) for c in dict.fromkeys(letters) if c.isupper()}
    return "".join(names.get(c, c) for c in f"{inputs}->{result}")


def _cross(g, a, b, dim=-1):
    size = g.results[0][1]
    rank = len(size)
    dim = dim % rank

    def part(x, i):
        return g.op("Gather", x, [i], axis=dim - rank + x.rank)

    parts = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        first, second = g.op("Mul", part(a, j), part(b, k)), g.op("Mul", part(a, k), part(b, j))
        parts.append(g.op("Sub", first, second))
    return g.op("Concat", *parts, axis=dim)


def _tensordot(g, a, b, dims_a, dims_b):
    """A product of two matrices: of the dimensions that stay, and those that are summed over."""
    dims_a, dims_b = ([dim_in(dim, x.rank) for dim in dims] for x, dims in ((a, dims_a), (b, dims_b)))
    rest_a, rest_b = ([dim for dim in range(x.rank) if dim not in dims] for x, dims in ((a, dims_a), (b, dims_b)))
    for one, other in zip(dims_a, dims_b, strict=True):  # a single element stands for as many as the other one has
        if a.size(one) == 1 and b.size(other) != 1:
            b = g.reduce("ReduceSum", b, [other], True)
        elif b.size(other) == 1 and a.size(one) != 1:
            a = g.reduce("ReduceSum", a, [one], True)
    outer, inner = [g.size(a, dim) for dim in rest_a], [g.size(b, dim) for dim in rest_b]
    summed = _count(g, [g.size(a, dim) for dim in dims_a])
    rows = g.reshape(g.transpose(a, [*rest_a, *dims_a]), [_count(g, outer), summed])
    columns = g.reshape(g.transpose(b, [*dims_b, *rest_b]), [summed, _count(g, inner)])
    return g.reshape(matmul(g, rows, columns), [*outer, *inner])


def _count(g, sizes):
    return math.prod(sizes) if is_static(sizes) else BUILTINS["prod.int"](g, sizes)


def _cross_of_threes(g, a, b, dim=None):
    """Without a dimension it is the first of size 3."""
    if dim is not None:
        return _cross(g, a, b, dim)
    for place, size in enumerate(a.sizes):
        if size is None:
            raise Unsupported("which dimension is the first of size 3 has to be the same in all calls: name it")
        if size == 3:
            return _cross(g, a, b, place)
    raise Unsupported("there is no dimension of size 3")


def _cdist(g, a, b, order=2.0, mode=None):
    gaps = g.op("Sub", g.unsqueeze(a, [-2]), g.unsqueeze(b, [-3]))
    return vector_norm(g, gaps, order, [-1])


def _pdist(g, x, order=2.0):
    """Above the diagonal of all distances, row by row."""
    ones = filled(g, [g.size(x, 0)] * 2, 1, wisp.float32)
    ones.sizes = (None, None)
    above = SHAPES["triu"](g, ones, 1)
    places = g.op("Transpose", g.op("NonZero", above), perm=[1, 0], dtype=wisp.int64)
    return g.op("GatherND", _cdist(g, x, x, order), places)


def _cov(g, x, correction=1, fweights=None, aweights=None):
    """How rows vary together; weights say how often a column counts, and how much."""
    rows = x if x.rank == 2 else g.reshape(x, [1, -1])
    rows.sizes = rows.sizes if x.rank == 2 else (1, x.size(0) if x.rank else 1)
    rows = Formula(g, g.cast(rows, g.results[0][0] or x.dtype))
    given = [Formula(g, g.cast(weights, rows.ref.dtype)) for weights in (fweights, aweights) if weights is not None]
    ones = filled(g, [g.size(rows.ref, 1)], 1, rows.ref.dtype)
    ones.sizes = rows.ref.sizes[1:]
    weights = math.prod(given, start=Formula(g, ones))
    total = _sum(weights)
    mean = Formula(g, g.reduce("ReduceSum", (rows * weights).ref, [1], True)) / total
    centred = rows - mean
    products = g.op("MatMul", centred.ref, g.swap((centred * weights).ref))
    less = _sum(weights * given[-1]) / total * correction if aweights is not None else correction
    found = g.op("Div", products, (total - less).at_least(0).ref)
    return g.reshape(found, []) if x.rank < 2 or x.fixed(0) == 1 else found


def _sum(x):
    return Formula(x.g, x.g.reduce("ReduceSum", x.ref))


def _det(g, x):
    return g.op("Det", x)


LOWERINGS = {
    **dict.fromkeys(("mm", "bmm", "_stacked_mm", "mv", "dot", "vdot", "matmul"), matmul), "linear": linear,
    "addmm": _addmm,
    "addmv": _added(matmul), "baddbmm": _added(matmul), "addbmm": _added(_summed), "addr": _added(_outer),
    "outer": _outer,
    "einsum": _einsum, "cdist": _cdist, "pdist": _pdist,
    "cross.linalg": _cross, "cross": _cross_of_threes, "tensordot": _tensordot, "cov": _cov,
    **dict.fromkeys(("_linalg_det", "linalg_det", "det"), _det),
}  # fmt: skip
