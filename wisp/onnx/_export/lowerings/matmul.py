"""Products of matrices."""

import wisp
from wisp.onnx._export.lowerings.arithmetic import LOWERINGS as POINTWISE
from wisp.onnx._export.lowerings.arithmetic import scaled


def matmul(g, a, b):
    """A product; not all runtimes know those of small integers."""
    if a.dtype in (wisp.bool, wisp.int8, wisp.uint8, wisp.int16):
        return g.cast(g.op("MatMul", g.cast(a, wisp.int32), g.cast(b, wisp.int32)), a.dtype)
    return g.op("MatMul", a, b)


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
        return found if beta == 0 else g.op("Add", scaled(g, x, beta), found)

    return lower


def _summed(g, a, b):
    return g.reduce("ReduceSum", matmul(g, a, b), [0])


def _outer(g, a, b):
    return POINTWISE["mul"](g, g.unsqueeze(a, [1]), g.unsqueeze(b, [0]))


def _einsum(g, equation, operands):
    return g.op("Einsum", *operands, equation=equation.replace(" ", ""))


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


def _det(g, x):
    return g.op("Det", x)


LOWERINGS = {
    **dict.fromkeys(("mm", "bmm", "_stacked_mm", "mv", "dot", "vdot", "matmul"), matmul), "linear": linear, "addmm": _addmm,
    "addmv": _added(matmul), "baddbmm": _added(matmul), "addbmm": _added(_summed), "addr": _added(_outer), "outer": _outer,
    "einsum": _einsum, "cross.linalg": _cross, **dict.fromkeys(("_linalg_det", "linalg_det", "det"), _det),
}  # fmt: skip
