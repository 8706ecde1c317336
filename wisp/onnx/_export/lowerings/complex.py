"""Complex numbers, which runtimes do not have: a tensor of them is one of pairs, with a last dimension of size 2.

What is known of such a value (`Ref`) is what is known of the complex tensor. Operators that are not listed here are
refused.
"""

import math
from dataclasses import replace

import wisp
from wisp.onnx._export.lowerings import arithmetic, matmul, shapes
from wisp.onnx._export.numbers import BUILTINS
from wisp.onnx._export.values import Ref, Unsupported, dim_in, is_static

_PARTS = {wisp.complex64: wisp.float32, wisp.complex128: wisp.float64}
_WHOLES = {part: whole for whole, part in _PARTS.items()}


def is_complex(value):
    return isinstance(value, Ref) and value.dtype in _PARTS


def pairs(x):
    """A complex tensor as the tensor of pairs that it is."""
    return replace(x, dtype=_PARTS[x.dtype], sizes=None if x.sizes is None else (*x.sizes, 2), constant=None)


def whole(x):
    """A tensor of pairs as a complex one."""
    return replace(x, dtype=_WHOLES[x.dtype], sizes=None if x.sizes is None else x.sizes[:-1], constant=None)


def _part(g, x, index):
    """The real or the imaginary part."""
    if not is_complex(x):
        return x if index == 0 else g.op("Mul", x, g.number(0, x.dtype))
    return g.op("Gather", pairs(x), g.number(index, wisp.int64), axis=x.rank, sizes=x.sizes)


def _joined(g, real, imaginary):
    sizes = None if real.sizes is None else (*real.sizes, 2)
    both = [g.unsqueeze(part, [-1]) for part in (real, imaginary)]
    return whole(g.op("Concat", *both, axis=-1, sizes=sizes))


def _conjugated(g, x):
    return whole(g.op("Mul", pairs(x), wisp.tensor([1, -1], dtype=_PARTS[x.dtype])))


def _scaled(g, x, factor):
    return x if factor == 1 else whole(g.op("Mul", pairs(x), g.number(factor, _PARTS[x.dtype])))


def _converted(g, x, *_):
    """A real tensor as a complex one, a complex one of another precision, or the real part of one."""
    dtype = g.results[0][0]
    if not dtype.is_complex:
        return g.cast(_part(g, x, 0), dtype)
    if is_complex(x):
        return whole(g.op("Identity", g.cast(pairs(x), _PARTS[dtype]), sizes=pairs(x).sizes))
    x = g.cast(x, _PARTS[dtype])
    return _joined(g, x, _part(g, x, 1))


# --- arithmetic


def _precision(*values):
    """Of the parts of complex numbers; of the others where the only complex one is a number of Python."""
    refs = [x for x in values if isinstance(x, Ref)]
    known = [_PARTS[x.dtype] for x in refs if is_complex(x)] or [x.dtype for x in refs if x.dtype in _WHOLES]
    return known[0] if known else wisp.float32


def _operands(g, a, b):
    """Both as tensors: complex ones, or real ones of the same precision."""
    dtype = _precision(a, b)
    for x in (a, b):
        if isinstance(x, complex):
            x = g.constant(wisp.tensor(x, dtype=_WHOLES[dtype]))
        yield x if is_complex(x) else g.tensor(x, dtype)


def _sum(kind):
    def lower(g, a, b, alpha=1):
        a, b = _operands(g, a, b)
        if alpha != 1:
            b = _scaled(g, b, alpha) if is_complex(b) else arithmetic.scaled(g, b, alpha)
        a, b = (x if is_complex(x) else _joined(g, x, _part(g, x, 1)) for x in (a, b))
        return whole(g.op(kind, pairs(a), pairs(b)))

    return lower


def _bilinear(product):
    """What is linear in two arguments: (a + bi)(c + di) = ac - bd + (ad + bc)i."""

    def lower(g, a, b):
        if not (is_complex(a) and is_complex(b)):
            real, imaginary = (product(g, _of(g, a, i), _of(g, b, i)) for i in (0, 1))
            return _joined(g, real, imaginary)
        (a, b), (c, d) = ([_part(g, x, i) for i in (0, 1)] for x in (a, b))
        real = g.op("Sub", product(g, a, c), product(g, b, d))
        return _joined(g, real, g.op("Add", product(g, a, d), product(g, b, c)))

    return lower


def _of(g, x, index):
    """A part of a complex operand; a real one is the same for both."""
    return _part(g, x, index) if is_complex(x) else x


_multiplied = _bilinear(lambda g, a, b: g.op("Mul", a, b))


def _product(g, a, b):
    a, b = _operands(g, a, b)
    return _multiplied(g, a, b)


def _divided(g, a, b):
    a, b = _operands(g, a, b)
    if not is_complex(b):
        return _multiplied(g, a, g.op("Reciprocal", b))
    squares = g.reduce("ReduceSumSquare", pairs(b), [-1])
    return _multiplied(g, _product(g, a, _conjugated(g, b)), g.op("Reciprocal", squares))


def _einsum(g, equation, operands):
    if len(operands) != 2:
        raise Unsupported("einsum of complex numbers with other than two operands")
    product = _bilinear(lambda g, a, b: matmul.LOWERINGS["einsum"](g, equation, [a, b]))
    return product(g, *operands)


def _absolute(g, x):
    return g.reduce("ReduceL2", pairs(x), [-1])


def _angle(g, x):
    return arithmetic.LOWERINGS["atan2"](g, _part(g, x, 1), _part(g, x, 0))


def _polar(g, length, angle):
    return _joined(g, g.op("Mul", length, g.op("Cos", angle)), g.op("Mul", length, g.op("Sin", angle)))


def _reduced(kind):
    def lower(g, x, dims=None, keepdim=False, dtype=None):
        dims = [dims] if isinstance(dims, int) else dims if isinstance(dims, list) else None
        dims = [dim_in(dim, x.rank) for dim in dims] if dims else list(range(x.rank))
        return whole(g.reduce(kind, pairs(x), dims, keepdim)) if dims else x

    return lower


# --- moving elements


def _moved(name, places=()):
    """An operator that moves elements, done to pairs. Arguments at these places are dimensions."""

    def lower(g, x, *args):
        args = [_front(arg, x.rank) if i in places else arg for i, arg in enumerate(args)]
        return whole(shapes.LOWERINGS[name](g, pairs(x), *args))

    return lower


def _front(dims, rank):
    return [dim_in(dim, rank) for dim in dims] if isinstance(dims, list) else dim_in(dims, rank)


def _reshape(g, x, sizes):
    return whole(shapes.LOWERINGS["reshape"](g, pairs(x), [*sizes, 2]))


def _permute(g, x, order):
    return whole(g.transpose(pairs(x), [*_front(order, x.rank), x.rank]))


def _transpose(g, x, first=0, second=1):
    return whole(g.swap(pairs(x), dim_in(first, x.rank), dim_in(second, x.rank)))


def _unsqueeze(g, x, dim):
    return whole(g.unsqueeze(pairs(x), [dim_in(dim, x.rank + 1)]))


def _expand(g, x, sizes):
    return whole(shapes.LOWERINGS["expand"](g, pairs(x), [*sizes, 2]))


def _pad(g, x, pad, value=0):
    return whole(shapes.pad_constant(g, pairs(x), [0, 0, *pad], value))


def _cat(g, tensors, dim=0):
    dim = dim_in(dim, tensors[0].rank)
    return whole(g.op("Concat", *(pairs(t) for t in tensors), axis=dim))


def _stack(g, tensors, dim=0):
    return _cat(g, [_unsqueeze(g, t, dim) for t in tensors], dim_in(dim, tensors[0].rank + 1))


# --- Fourier transforms


def _dft(g, x, axis, **settings):
    """One transform of pairs, or of real numbers with a last dimension of size 1."""
    g.need_opset(17, "a Fourier transform")
    sizes = (*((None,) * (x.rank - 1)), 2)
    if g.opset >= 20:
        return g.op("DFT", x, None, g.number(axis, wisp.int64), sizes=sizes, **settings)
    return g.op("DFT", x, axis=axis, sizes=sizes, **settings)


def _count(g, x, dims, dtype):
    """How many numbers are transformed into one another, as a value."""
    sizes = [g.size(x, dim) for dim in dims]
    found = math.prod(sizes) if is_static(sizes) else BUILTINS["prod.int"](g, sizes)
    return g.number(found, dtype)


def _normalized(g, x, count, normalization):
    if normalization == 0:
        return x
    return g.op("Div", x, g.op("Sqrt", count) if normalization == 1 else count)


def _axes(x, dims):
    return [dim_in(dim, x.rank) for dim in dims]


def _real_to_complex(g, x, dims, normalization, onesided):
    axes = _axes(x, dims)
    count = _count(g, x, axes, x.dtype)
    made = _dft(g, g.unsqueeze(x, [-1]), axes[-1], onesided=int(onesided))
    for axis in axes[:-1]:
        made = _dft(g, made, axis)
    return whole(_normalized(g, made, count, normalization))


def _complex_to_complex(g, x, dims, normalization, forward):
    made, axes = pairs(x), _axes(x, dims)
    count = _count(g, x, axes, made.dtype)
    for axis in axes:
        made = _dft(g, made, axis, inverse=int(not forward))
    if forward:
        return whole(_normalized(g, made, count, normalization))
    return whole(made if normalization == 2 else _unscaled(g, made, count, normalization))


def _unscaled(g, x, count, normalization):
    """ONNX divides inverse transforms by the number of elements."""
    return _normalized(g, g.op("Mul", x, count), count, normalization)


def _complex_to_real(g, x, dims, normalization, last_size):
    """The second half of the last dimension follows from the first one, mirrored and conjugated."""
    if isinstance(last_size, Ref):
        raise Unsupported("the size of the result of a Fourier transform has to be the same in all calls")
    axes = _axes(x, dims)
    if len(axes) > 1:
        x = _complex_to_complex(g, x, axes[:-1], normalization, False)
    mirrored = wisp.tensor(list(range(last_size - last_size // 2 - 1, 0, -1)), dtype=wisp.int64)
    made = pairs(x)
    if len(mirrored):
        rest = whole(g.op("Gather", made, mirrored, axis=axes[-1], sizes=(None,) * made.rank))
        made = g.op("Concat", made, pairs(_conjugated(g, rest)), axis=axes[-1], sizes=made.sizes)
    made = _part(g, whole(_dft(g, made, axes[-1], inverse=1)), 0)
    if normalization == 2:
        return made
    return _unscaled(g, made, g.number(last_size, made.dtype), normalization)


LOWERINGS = {
    "_fft_r2c": _real_to_complex, "_fft_c2c": _complex_to_complex, "_fft_c2r": _complex_to_real,
    "view_as_real": lambda g, x: g.op("Identity", pairs(x), sizes=pairs(x).sizes),
    "view_as_complex": lambda g, x: whole(g.op("Identity", x, sizes=x.sizes)),
    "real": lambda g, x: _part(g, x, 0), "imag": lambda g, x: _part(g, x, 1), "complex": _joined, "polar": _polar,
    **dict.fromkeys(("conj", "conj_physical"), _conjugated), "abs": _absolute, "angle": _angle,
    "add": _sum("Add"), "sub": _sum("Sub"), "mul": _product, "div": _divided,
    **dict.fromkeys(("to", "_to_copy"), _converted), "neg": lambda g, x: whole(g.op("Neg", pairs(x))),
    **dict.fromkeys(("mm", "bmm", "_stacked_mm", "mv", "dot", "matmul"), _bilinear(matmul.matmul)), "einsum": _einsum,
    **{f"{name}{kind}": _reduced(f"Reduce{name.title()}") for name in ("sum", "mean") for kind in ("", ".dim")},
    **dict.fromkeys(("clone", "contiguous", "alias", "detach", "resolve_conj"), _moved("clone")),
    **dict.fromkeys(("view", "reshape", "_reshape_copy"), _reshape), **dict.fromkeys(("permute",), _permute),
    **dict.fromkeys(("transpose", "t"), _transpose), "unsqueeze": _unsqueeze, "expand": _expand,
    "constant_pad_nd": _pad, "cat": _cat, "stack": _stack,
    **{name: _moved(name, (0,)) for name in ("select", "slice", "narrow", "flip", "squeeze.dim", "squeeze.dims")},
    "roll": _moved("roll", (1,)),
}  # fmt: skip
