"""Samples of searching, counting and distinct elements."""

import numpy as np

from tests.ops.sampling import FLOAT, INT, REAL, A, B, E, I, S, T, errors, samples

NAN = np.nan
WIDE = ("float32", "float64")


@samples("searchsorted", dtypes=REAL)
def searchsorted():
    yield S(A([1, 3, 5, 7]), A([0, 3, 4, 9]), _grad=False)
    yield S(A([1, 3, 5, 7]), A([[0, 3], [4, 9]]), right=True, _grad=False)
    yield S(A([1, 3, 5, 7]), A([[0, 3], [4, 9]]), side="right", out_int32=True, _grad=False)
    yield S(A([[1, 3, 5], [2, 2, 4]]), A([[3, 9], [2, 0]]), _grad=False)
    yield S(A([[1, 3, 5], [2, 2, 4]]), A([[3, 9], [2, 0]]), side="right", _grad=False)
    yield S(A([5, 1, 3]), A([3, 4]), sorter=A([1, 2, 0], "int64"), _grad=False)
    yield S(A([1, 3, 5]), A(3), _grad=False)
    yield S(A([1, 3, 5]), 4, _grad=False)
    yield S(T(0), T(3), _grad=False)
    yield S(A([1.0, 2.0]), T(0, 3), _grad=False)
    yield S(A([1.0, 2.0, NAN]), A([NAN, 2.0, 5.0]), _dtypes=FLOAT, _grad=False)


@samples("bucketize", dtypes=REAL)
def bucketize():
    yield S(A([[0, 3], [4, 9]]), A([1, 3, 5]), _grad=False)
    yield S(A([[0, 3], [4, 9]]), A([1, 3, 5]), right=True, out_int32=True, _grad=False)
    yield S(A(3), A([1, 3, 5]), _grad=False)
    yield S(3, A([1, 3, 5]), _grad=False)


@samples("isin", dtypes=REAL)
def isin():
    yield S(A([[1, 2], [3, 4]]), A([4, 2, 9]), _grad=False)
    yield S(A([[1, 2], [3, 4]]), A([[4, 2], [9, 9]]), invert=True, assume_unique=True, _grad=False)
    yield S(A([1, 2]), 2, _grad=False)
    yield S(2, A([1, 2]), _grad=False)
    yield S(A([1, 2]), T(0), _grad=False)
    yield S(T(0), A([1, 2]), invert=True, _grad=False)
    yield S(A([1.5, NAN]), A([1, 2], "int64"), _dtypes=WIDE, _grad=False)
    yield S(A([1.5, NAN]), A([NAN, 1.5]), _dtypes=WIDE, _grad=False)


@samples("unique", dtypes=("bool",) + REAL, ref="")
def unique():
    x = A([[3, 1, 2], [1, 3, 3]])
    for options in ({}, {"return_inverse": True}, {"return_counts": True, "return_inverse": True}):
        yield S(x, _grad=False, **options)
        yield S(A([[1, 2], [1, 2], [0, 5]]), dim=0, _grad=False, **options)
        yield S(A([[1, 1, 0], [2, 2, 5]]), dim=1, _grad=False, **options)
        yield S(A([[[1, 2], [1, 2]], [[1, 2], [1, 2]]]), dim=-2, _grad=False, **options)
    yield S(T(), return_inverse=True, return_counts=True, _grad=False)
    yield S(T(0), return_inverse=True, return_counts=True, _grad=False)
    yield S(T(0, 3), dim=0, _grad=False)
    yield S(A([1.0, NAN, 2.0, NAN, 1.0]), True, True, True, _dtypes=WIDE, _grad=False)
    yield S(A([[1.0, NAN], [1.0, NAN], [0.0, 1.0]]), dim=0, return_counts=True, _dtypes=WIDE, _grad=False)


@samples("unique_consecutive", dtypes=("bool",) + REAL)
def unique_consecutive():
    for options in ({}, {"return_inverse": True}, {"return_counts": True, "return_inverse": True}):
        yield S(A([1, 1, 2, 2, 1]), _grad=False, **options)
        yield S(A([[1, 1], [1, 2]]), _grad=False, **options)
        yield S(A([[1, 2], [1, 2], [0, 5], [1, 2]]), dim=0, _grad=False, **options)
    yield S(T(0), _grad=False)


@samples("_unique2", dtypes=REAL)
def unique2():
    yield S(A([3, 1, 3]), _grad=False)
    yield S(A([3, 1, 3]), True, True, True, _grad=False)


def _unique_dim(lib, *args):
    return lib.unique(*args[:1], True, True, True, args[1])


def _private(name):
    """The operator by its own name in wisp; what is public, in the reference."""
    return lambda lib, *args, **kwargs: lib._C._functions[name](*args, **kwargs)


@samples("_unique_dim", dtypes=REAL, call=_private("_unique_dim"), ref=_unique_dim)
def unique_dim():
    yield S(
        A([[1, 2], [1, 2], [0, 5]]), 0, True, True, True, _grad=False, _ref=lambda lib, x, *_: _unique_dim(lib, x, 0)
    )


@samples(
    "_unique_consecutive",
    dtypes=REAL,
    call=_private("_unique_consecutive"),
    ref=lambda lib, x, *_: lib.unique_consecutive(x, True, True),
)
def unique_consecutive_parts():
    yield S(A([1, 1, 2, 2, 1]), True, True, _grad=False)


def _lexsort(lib, x):
    return lib.tensor(sorted(range(len(x)), key=lambda i: x[i].tolist()))


@samples("_row_order", dtypes=REAL, call=_private("_row_order"), ref=_lexsort)
def row_order():
    yield S(A([[2, 1], [1, 9], [1, 2], [1, 9]]), _grad=False)


@samples("bincount", dtypes=INT)
def bincount():
    yield S(A([1, 3, 1, 0]))
    yield S(A([1, 3, 1, 0]), minlength=6)
    yield S(A([1, 3, 1]), A([0.5, 1.0, 2.0], "float64"))
    yield S(A([1, 3, 1]), A([0.5, 1.0, 2.0], "float32"))
    yield S(A([1, 3, 1]), A([5, 1, 2], "int64"), 2)
    yield S(T(0), minlength=2)


@samples("histc", dtypes=FLOAT)
def histc():
    yield S(A([1.0, 2.0, 1.0, 3.0]), bins=4, min=0, max=3, _grad=False)
    yield S(A([1.0, 2.0, 1.0, 3.0]), bins=5, _grad=False)
    yield S(A([[1.0, 1.0]]), bins=3, _grad=False)
    yield S(A([1.0, NAN, 5.0, 7.0]), bins=3, min=0, max=5, _dtypes=WIDE, _grad=False)
    yield S(T(0), bins=3, _grad=False)
    yield S(T(40), _grad=False, _dtypes=WIDE)


@samples("histogram", dtypes=WIDE)
def histogram():
    x = A([1.0, 2.0, 1.0, 0.5, 9.0])
    yield S(x, 4, range=(0.0, 4.0), _grad=False)
    yield S(x, 4, _grad=False)
    yield S(x, 3, range=(0.0, 3.0), weight=A([1.0, 2.0, 3.0, 4.0, 5.0]), density=True, _grad=False)
    yield S(x, A([0.0, 1.0, 2.0, 8.0]), _grad=False)
    yield S(x, A([0.0, 1.0, 2.0, 8.0]), weight=A([1.0, 2.0, 3.0, 4.0, 5.0]), density=True, _grad=False)
    yield S(T(0), 3, _grad=False)
    yield S(A([[2.0, 2.0]]), 3, _grad=False)


@samples("histogramdd", dtypes=WIDE)
def histogramdd():
    points = A([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [0.3, 0.9]])
    yield S(points, 3, _grad=False)
    yield S(points, [2, 4], _grad=False)
    yield S(points, [2, 2], range=[0.0, 2.0, 0.0, 1.0], weight=A([1.0, 2.0, 3.0, 4.0]), _grad=False)
    yield S(points, [A([0.0, 1.0, 2.0]), A([0.0, 0.5, 1.0])], density=True, _grad=False)


def _counts(lib, points, edges, *_):
    return lib.histogramdd(points, edges).hist


@samples("_histogramdd", dtypes=WIDE, call=_private("_histogramdd"), ref=_counts)
def histogramdd_counts():
    yield S(A([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]]), [A([0.0, 1.0, 2.0]), A([0.0, 0.5, 1.0])], _grad=False)


@errors("searchsorted")
def bad_search():
    yield E(RuntimeError, "first N-1 dimensions", T(2, 3), T(3))
    yield E(RuntimeError, "input value can be a scalar only", T(2, 3), 1.0)
    yield E(RuntimeError, "side can only be 'left' or 'right'", T(3), T(2), side="up")
    yield E(RuntimeError, "can't be set to opposites", T(3), T(2), side="left", right=True)
    yield E(RuntimeError, "sorter index out of range", T(3), T(2), sorter=A([0, 1, 3], "int64"))
    yield E(RuntimeError, "must have the same size", T(3), T(2), sorter=A([0, 1], "int64"))
    yield E(RuntimeError, "sorter must be a tensor of long dtype", T(3), T(2), sorter=A([0, 1, 2], "int32"))
    yield E(NotImplementedError, "not implemented", B(3), B(2))


@errors("bucketize")
def bad_bucketize():
    yield E(RuntimeError, "must be 1 dimension", T(3), T(2, 2))


@errors("isin")
def bad_isin():
    yield E(RuntimeError, "Unsupported input type", B(3), B(2))
    yield E(TypeError, "must be a Tensor", 1, 2)


@errors("unique")
def bad_unique():
    yield E(RuntimeError, "0 sized dimensions", T(2, 0), dim=0)
    yield E(IndexError, "Dimension out of range", T(2, 2), dim=2)
    yield E(NotImplementedError, "not implemented", T(2), _dtypes=("complex64",))


@errors("bincount")
def bad_bincount():
    yield E(RuntimeError, "1-d non-negative integral", A([-1], "int64"))
    yield E(RuntimeError, "1-d non-negative integral", I(2, 2))
    yield E(RuntimeError, "same length as input", I(3), T(2))
    yield E(RuntimeError, "minlength should be >= 0", I(3), minlength=-1)
    yield E(NotImplementedError, "not implemented", T(3))


@errors("histc")
def bad_histc():
    yield E(RuntimeError, "bins must be > 0", T(3), bins=0)
    yield E(RuntimeError, "max must be larger than min", T(3), min=2, max=1)
    yield E(RuntimeError, "is not finite", A([1.0, NAN]))
    yield E(NotImplementedError, "not implemented", I(3))


@errors("histogram")
def bad_histogram():
    yield E(RuntimeError, "one dimension", T(3), T(2, 2))
    yield E(RuntimeError, "same shape as the input", T(3), 2, weight=T(2))
    yield E(NotImplementedError, "not implemented", I(3), 2)
