"""Copies: clone, contiguous, copy_, fill_, zero_."""

from tests.ops.sampling import ALL, E, S, T, errors, samples


def copies():
    yield S(T(2, 3))
    yield S(T(2, 3, layout="transposed"))
    yield S(T(2, 3, layout="expanded"), _grad=False)
    yield S(T())
    yield S(T(0, 2))


samples("clone", "contiguous", dtypes=ALL)(copies)


def in_place(name):
    """x.op_(...) on a copy, so that x may be a leaf."""
    return lambda lib, x, *args, **kwargs: getattr(x.clone(), name)(*args, **kwargs)


@samples("copy_", dtypes=ALL, call=in_place("copy_"))
def copy():
    yield S(T(2, 3), T(2, 3))
    yield S(T(2, 3), T(3))
    yield S(T(2, 3), T())
    yield S(T(2, 3, layout="transposed"), T(2, 1))
    yield S(T(2, 3), T(2, 3, dtype="float32", low=0, grad=False), False)
    yield S(T(3), T(3, dtype="int64", low=0, grad=False), non_blocking=True)
    yield S(T(0, 2), T(2))


def fill():
    yield S(T(2, 3), 1)
    yield S(T(2, 3, layout="transposed"), 1.5)
    yield S(T(2, 3), True)
    yield S(T(2, 3), T())
    yield S(T(), 2)
    yield S(T(0), 2)


samples("fill", dtypes=ALL)(fill)
samples("fill_", dtypes=ALL, call=in_place("fill_"))(fill)


@samples("zero_", dtypes=ALL, call=in_place("zero_"))
def zero():
    yield S(T(2, 3))
    yield S(T(2, 3, layout="transposed"))
    yield S(T())


@errors("copy_")
def bad_copy():
    yield E(RuntimeError, None, T(2, 3), T(2))
    yield E(RuntimeError, None, T(2), T(2, 2))
    yield E(TypeError, None, T(2), "x")


@errors("fill_")
def bad_fill():
    yield E(RuntimeError, "0-dimension", T(2), T(2))
    yield E(RuntimeError, "overflow", T(2), 300, _dtypes=("uint8",))
    yield E(TypeError, None, T(2), "x")
