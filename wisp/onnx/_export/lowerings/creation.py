"""New tensors whose sizes are only known when the model runs."""

import wisp
from wisp.onnx._export.formula import Formula
from wisp.onnx._export.values import Ref


def filled(g, sizes, value, dtype):
    """A tensor of these sizes (a list, or a tensor) with one value everywhere."""
    if isinstance(value, Ref):
        return g.expand(g.number(value, dtype), sizes)
    from wisp.onnx._export.values import ELEMENTS
    from wisp.onnx._package import onnx

    number = wisp.tensor([value], dtype=dtype)
    if dtype == wisp.bfloat16:
        return g.expand(number, sizes)
    proto = onnx.helper.make_tensor("value", int(ELEMENTS[dtype]), [1], number.tolist())
    return g.op("ConstantOfShape", sizes, value=proto, dtype=dtype)


def counted(g, size):
    """The numbers below a size."""
    if not isinstance(size, Ref):
        return g.constant(wisp.arange(size))
    ends = (g.number(number, wisp.int64) for number in (0, size, 1))
    return g.op("Range", *ends, sizes=(None,))


def _dtype(g, *args):
    given = next((arg for arg in args if isinstance(arg, wisp.dtype)), None)
    return g.results[0][0] or given or wisp.get_default_dtype()


def _of_sizes(value):
    return lambda g, sizes, *args: filled(g, sizes, value, _dtype(g, *args))


def _like(value):
    return lambda g, x, *args: filled(g, g.shape(x), value, g.results[0][0] or x.dtype)


def _new(value):
    return lambda g, x, sizes, *args: filled(g, sizes, value, g.results[0][0] or x.dtype)


def _full(g, sizes, value, *args):
    return filled(g, sizes, value, _dtype(g, *args))


def _fill(g, x, value):
    return g.expand(g.tensor(value, x.dtype), g.shape(x))


def _arange(g, start, end, step=1, *args):
    numbers = start, end, step
    dtype = next((arg for arg in args if isinstance(arg, wisp.dtype)), None) or g.results[0][0]
    if dtype is None:
        is_float = any(v.is_float if isinstance(v, Ref) else isinstance(v, float) for v in numbers)
        dtype = wisp.float32 if is_float else wisp.int64
    wide = dtype if dtype in (wisp.float32, wisp.float64, wisp.int64, wisp.int32) else wisp.float32
    made = g.op("Range", *(g.number(value, wide) for value in numbers), sizes=(None,))
    return g.cast(made, dtype)


def _eye(g, rows, columns=None, *args):
    dtype = _dtype(g, *args)
    down = g.unsqueeze(counted(g, rows), [1])
    across = g.unsqueeze(counted(g, rows if columns is None else columns), [0])
    return g.cast(g.op("Equal", down, across), dtype)


def _linspace(g, start, end, steps, *args):
    """Numbers with the same distance between them; a single one is the first."""
    dtype = _dtype(g, *args)
    start, end = (Formula(g, g.number(value, wisp.float64)) for value in (start, end))
    places = Formula(g, g.cast(counted(g, steps), wisp.float64))
    gaps = Formula(g, g.cast(g.tensor(steps, wisp.int64), wisp.float64)) - 1
    return g.cast((start + places * (end - start) / gaps.at_least(1)).ref, dtype)


LOWERINGS = {
    "zeros": _of_sizes(0), "ones": _of_sizes(1), "empty": _of_sizes(0), "full": _full, "zeros_like": _like(0),
    "ones_like": _like(1), "empty_like": _like(0),
    "full_like": lambda g, x, value, *args: filled(g, g.shape(x), value, g.results[0][0] or x.dtype),
    "new_zeros": _new(0), "new_ones": _new(1), "new_empty": _new(0),
    "new_full": lambda g, x, sizes, value, *args: filled(g, sizes, value, g.results[0][0] or x.dtype),
    "zero": _like(0), "fill": _fill, "arange": lambda g, end, *args: _arange(g, 0, end, 1, *args),
    "arange.start": _arange, "eye": _eye, "linspace": _linspace,
}  # fmt: skip
