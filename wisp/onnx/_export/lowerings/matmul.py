"""Products of matrices."""

from string import ascii_lowercase

import wisp
from wisp.onnx._export.lowerings.arithmetic import LOWERINGS as POINTWISE
from wisp.onnx._export.lowerings.arithmetic import scaled
from wisp.onnx._export.lowerings.reductions import vector_norm


def matmul(g, a, b):
    """A product; not all runtimes know those of small integers."""
    if a.dtype in (wisp.bool, wisp.int8, wisp.uint8, wisp.int16):
        return g.cast(g.op("MatMul", g.cast(a, wisp.int32), g.cast(b, wisp.int32)), a.dtype)
    known = a.sizes is not None and b.sizes is not None and min(a.rank, b.rank) >= 2
    return g.op("MatMul", a, b, sizes=(None,) * max(a.rank, b.rank) if known else None)


def linear(g, x, weight, bias=None):
    if x.rank == 2 and weight.rank == 2 and x.is_float:
        return g.op("Gemm", x, weight, bias, alpha=1.0, beta=1.0, transB=1)
    weight = g.swap(weight) if weight.rank == 2 else weight
    made = g.op("MatMul", x, weight)
    return made if bias is None else g.op("Add", made, bias)


def _addmm(g, x, a, b, beta=1, alpha=1):
    if x.is_float:
        return g.op("Gemm", a, b, x, alpha=float(alpha), beta=float(beta))
    return _added(matmul)(g, x, a, b, beta, alpha)


def _added(product):
    """beta * x + alpha * product(a, b)"""

    def lower(g, x, a, b, beta=1, alpha=1):
        found = scaled(g, product(g, a, b), alpha)
        return found if beta == 0 else g.op("Or" if x.dtype == wisp.bool else "Add", scaled(g, x, beta), found)

    return lower


def _summed(g, a, b):
    return g.reduce("ReduceSum", matmul(g, a, b), [0])


def _outer(g, a, b):
    return POINTWISE["mul"](g, g.unsqueeze(a, [1]), g.unsqueeze(b, [0]))


def _einsum(g, equation, operands):
    return g.op("Einsum", *operands, equation=_in_small_letters(equation.replace(" ", "")))


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


def _cdist(g, a, b, order=2.0, mode=None):
    gaps = g.op("Sub", g.unsqueeze(a, [-2]), g.unsqueeze(b, [-3]))
    return vector_norm(g, gaps, order, [-1])


def _det(g, x):
    return g.op("Det", x)


LOWERINGS = {
    **dict.fromkeys(("mm", "bmm", "_stacked_mm", "mv", "dot", "vdot", "matmul"), matmul), "linear": linear,
    "addmm": _addmm,
    "addmv": _added(matmul), "baddbmm": _added(matmul), "addbmm": _added(_summed), "addr": _added(_outer),
    "outer": _outer,
    "einsum": _einsum, "cdist": _cdist, "cross.linalg": _cross,
    **dict.fromkeys(("_linalg_det", "linalg_det", "det"), _det),
}  # fmt: skip
