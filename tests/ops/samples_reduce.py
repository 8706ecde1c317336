"""Samples of reductions: sums, products, truth, extremes, variance, norms."""

import numpy as np

from tests.ops.sampling import ALL, COMPLEX, FLOAT, INT, NUMBER, REAL, A, Dtype, E, S, T, errors, samples

INF, NAN = np.inf, np.nan
ORDERED = ("bool",) + REAL


def one_dim(**options):
    """Calls with a single dimension."""
    yield S(T(2, 3), 0, **options)
    yield S(T(2, 3), -1, keepdim=True, **options)
    yield S(T(2, 3, 2), 1, True, **options)
    yield S(T(2, 3, 2, layout="transposed"), dim=1, **options)
    yield S(T(), 0, **options)
    yield S(T(), -1, keepdim=True, **options)
    yield S(T(1, 4), 0, **options)
    yield S(T(3, 4, layout="expanded"), axis=1, _ref=None, **options)


def several_dims(**options):
    """Calls with lists of dimensions."""
    yield from one_dim(**options)
    yield S(T(2, 3, 2), (0, 2), **options)
    yield S(T(2, 3, 2), (-1, 0), keepdim=True, **options)
    yield S(T(2, 3), dim=(0, 1), **options)
    yield S(T(2, 2, 3, layout="transposed"), (0, 1), **options)


def full(**options):
    """Calls over all elements."""
    yield S(T(2, 3), **options)
    yield S(T(), **options)
    yield S(T(3, 4, layout="transposed"), **options)


@samples("nansum", dtypes=ORDERED)
def nansums():
    yield from full()
    yield from several_dims()
    yield S(T(2, 3), None)
    yield S(T(2, 3), ())
    yield S(T(2, 3), dtype=Dtype("float64"))
    yield S(T(0, 3), 0)
    yield S(A([1.5, NAN, -2.0, INF]), _dtypes=FLOAT, _grad=False)
    yield S(A([[1.5, NAN], [NAN, NAN]]), 1, _dtypes=FLOAT, _grad=False)


@samples("sum", dtypes=ALL)
def sums():
    yield from full()
    yield from several_dims()
    yield S(T(2, 3), None)
    yield S(T(2, 3), None, True)
    yield S(T(2, 3), ())
    yield S(T(2, 3), dim=[])
    yield S(T(2, 3), dtype=Dtype("float64"))
    yield S(T(2, 3), 0, dtype=Dtype("float64"))
    yield S(T(2, 3), 0, False, dtype=Dtype("int32"), _dtypes=("bool",) + INT)
    yield S(T(0, 3))
    yield S(T(0, 3), 0)
    yield S(T(0, 3), 1)
    yield S(A([1.5, NAN, -2.0, INF]), _dtypes=FLOAT, _grad=False)
    yield S(A([[1.5, NAN], [NAN, NAN]]), 1, _dtypes=FLOAT, _grad=False)
    yield S(A([100, 100, 100]), _dtypes=("uint8", "int8"))
    yield S(A([2**62, 2**62]), _dtypes=("int64",))
    yield S(A([1, -1]), dtype=Dtype("bool"), _dtypes=REAL)


@samples("mean", dtypes=FLOAT + COMPLEX)
def means():
    yield from full()
    yield from several_dims()
    yield S(T(2, 3), None)
    yield S(T(2, 3), ())
    yield S(T(2, 3), dtype=Dtype("float64"), _dtypes=FLOAT + INT)
    yield S(T(2, 3), 1, dtype=Dtype("float64"), _dtypes=FLOAT + INT)
    yield S(T(0, 3), _grad=False)
    yield S(T(0, 3), 0, _grad=False)


@samples("nanmean", dtypes=FLOAT)
def nanmeans():
    yield from full()
    yield from several_dims()
    yield S(A([1.5, NAN, -2.0]), _grad=False)
    yield S(A([[1.5, NAN], [NAN, NAN]]), 1, keepdim=True, _grad=False)
    yield S(T(2, 3), dtype=Dtype("float64"))


@samples("prod", dtypes=NUMBER + ("bool",))
def products():
    yield from full()
    yield from one_dim()
    yield S(A([[1.5, 0.0, 2.0], [-1.0, 2.0, 3.0]]))
    yield S(A([[1.5, 0.0, 2.0], [-1.0, 2.0, 3.0], [0.0, 1.0, 0.0]]), 1)
    yield S(A([[0.0, 0.0], [0.0, 2.0]]), 0, keepdim=True)
    yield S(T(0, 3))
    yield S(T(2, 0), 1)
    yield S(T(2, 3), dtype=Dtype("float64"))
    yield S(T(2, 3), 1, dtype=Dtype("float64"))
    yield S(A([100, 100, 100]), _dtypes=("uint8", "int8"))


@samples("any", "all", dtypes=ALL)
def truth():
    yield from full(_grad=False)
    yield from several_dims(_grad=False)
    yield S(A([0, 0, 0]), _grad=False)
    yield S(A([1, 2, 3]), _grad=False)
    yield S(A([[0, 1], [1, 1], [0, 0]]), 1, _grad=False)
    yield S(T(2, 3), (), _grad=False)
    yield S(T(2, 3), None, _grad=False)
    yield S(T(2, 3), keepdim=True, _grad=False)
    yield S(T(0, 3), _grad=False)
    yield S(T(0, 3), 0, _grad=False)
    yield S(A([NAN, 0.0]), _dtypes=FLOAT, _grad=False)


@samples("count_nonzero", dtypes=ALL)
def count_nonzero():
    yield S(T(2, 3), _grad=False)
    yield S(A([[0, 1, 2], [0, 0, 3]]), _grad=False)
    yield S(A([[0, 1, 2], [0, 0, 3]]), 0, _grad=False)
    yield S(A([[0, 1, 2], [0, 0, 3]]), (0, 1), _grad=False)
    yield S(A([[0, 1, 2], [0, 0, 3]]), dim=1, _grad=False)
    yield S(A([NAN, 0.0, -0.0]), _dtypes=FLOAT, _grad=False)
    yield S(T(0), _grad=False)


@samples("max", "min", dtypes=ORDERED)
def max_min():
    yield from full()
    yield from one_dim()
    yield S(T(2, 3), T(2, 3))
    yield S(T(2, 3), T(3))
    yield S(A([3.0, 1.0, 3.0, 1.0]), _grad=False)
    yield S(A([[3.0, 1.0, 3.0], [1.0, 1.0, 2.0]]), 1, _grad=False)
    yield S(A([1.0, NAN, 2.0, NAN]), _dtypes=FLOAT, _grad=False)
    yield S(A([[1.0, NAN, 2.0, NAN], [-INF, -INF, -INF, -INF]]), 1, _dtypes=FLOAT, _grad=False)
    yield S(A([[1.0, NAN, 2.0, NAN], [-INF, INF, NAN, -INF]]), 0, _dtypes=FLOAT, _grad=False)
    yield S(T(0, 3), 1)
    yield S(T(3, 0), 0)


@samples("amax", "amin", dtypes=ORDERED)
def amax_amin():
    yield from full()
    yield from several_dims()
    yield S(T(2, 3), ())
    yield S(T(2, 3), None)
    yield S(A([1.0, NAN, 2.0]), _dtypes=FLOAT, _grad=False)
    yield S(A([[1.0, NAN, 2.0], [INF, -INF, 0.0]]), 0, _dtypes=FLOAT, _grad=False)


@samples("aminmax", dtypes=ORDERED)
def aminmax():
    yield S(T(2, 3))
    yield S(T(2, 3), dim=0)
    yield S(T(2, 3), dim=-1, keepdim=True)
    yield S(T(2, 3), keepdim=True)
    yield S(T(), dim=0)
    yield S(A([1.0, NAN, 2.0]), _dtypes=FLOAT, _grad=False)


@samples("argmax", "argmin", dtypes=REAL)
def positions():
    yield from [*full(_grad=False), *one_dim(_grad=False)]
    yield S(T(2, 3), None, True, _grad=False)
    yield S(T(2, 3, 2), keepdim=True, _grad=False)
    yield S(A([3.0, 1.0, 3.0, 1.0]), _grad=False)
    yield S(A([[1, 2], [1, 2], [2, 1]]), 0, _grad=False)
    yield S(A([1.0, NAN, 2.0, NAN]), _dtypes=FLOAT, _grad=False)
    yield S(A([[-INF, -INF], [INF, INF]]), 1, _dtypes=FLOAT, _grad=False)
    yield S(T(0, 3), 1, _grad=False)


@samples("var", "std", "var_mean", "std_mean", dtypes=FLOAT + COMPLEX)
def variance():
    yield S(T(2, 3))
    yield S(T(2, 3), False)
    yield S(T(2, 3), unbiased=False)
    yield S(T(2, 3), 1)
    yield S(T(3, 2), 0, False)
    yield S(T(3, 2), 0, False, True)
    yield S(T(3, 2), dim=0, keepdim=True)
    yield S(T(3, 2), dim=0, unbiased=True, keepdim=True)
    yield S(T(2, 3, 2), (0, 2))
    yield S(T(3, 2), None)
    yield S(T(3, 2), ())
    yield S(T(3, 2), correction=0)
    yield S(T(3, 2), correction=None)
    yield S(T(3, 2), 0, correction=0.5)
    yield S(T(2, 4), dim=1, correction=2, keepdim=True)
    yield S(T(2, 3, 2, layout="transposed"), 1)
    yield S(T(2, 3), keepdim=True)


@samples("vector_norm", call="linalg", dtypes=FLOAT + COMPLEX)
def vector_norm():
    # Away from 0, where norms have corners.
    yield S(T(2, 3))
    yield S(T(2, 3), 2, 0)
    yield S(T(2, 3), ord=2, dim=-1, keepdim=True)
    yield S(T(2, 3, 2), 3, (0, 2))
    yield S(T(2, 3), 1)
    yield S(T(2, 3), 1, 1)
    yield S(T(2, 3), 0, 1, _grad=False)
    yield S(T(2, 3), INF)
    yield S(T(2, 3), INF, 1)
    yield S(T(2, 3), -INF, 0, True)
    yield S(T(2, 3, low=0.5), 0.5)
    yield S(T(2, 3, low=0.5), 1.5, 1)
    yield S(T(2, 3, low=0.5), 2.5, 1)
    yield S(T(2, 3, low=0.5), -1, 1)
    yield S(T(2, 3), dim=())
    yield S(T(2, 3), dtype=Dtype("float64"), _dtypes=FLOAT)
    yield S(T(), 2)
    yield S(T(0), 2, _grad=False)
    yield S(A([NAN, 1.0, 2.0]), INF, _dtypes=FLOAT, _grad=False)
    yield S(A([NAN, 1.0, 2.0]), -INF, _dtypes=FLOAT, _grad=False)
    yield S(A([NAN, 1.0, 0.0]), 0, _dtypes=FLOAT, _grad=False)
    yield S(A([3e30, 4e30]), 2, _dtypes=("float64",), _grad=False)
    yield S(T(2, 3, 2, layout="transposed"), 2, 1)


@samples("norm", dtypes=FLOAT + COMPLEX)
def norm():
    yield S(T(2, 3))
    yield S(T(2, 3), 1)
    yield S(T(2, 3), p=3, dim=0)
    yield S(T(2, 3), 2, 1, True)
    yield S(T(2, 3), "fro")
    yield S(T(2, 3), p="fro", dim=(0, 1), keepdim=True)
    yield S(T(2, 3), "fro", 0)
    yield S(T(2, 3), p=None)
    yield S(T(2, 3), dtype=Dtype("float64"), _dtypes=FLOAT)


@samples("renorm", dtypes=FLOAT + COMPLEX)
def renorm():
    yield S(T(2, 3, low=1), 2, 0, 1)
    yield S(T(2, 3, low=1), 1, 1, 2.5)
    yield S(T(2, 3, 2, low=1), 2, -2, 1.5)
    yield S(T(2, 3, low=0.1, high=0.3), 2, 0, 10)


@samples("dist", dtypes=FLOAT)
def dist():
    yield S(T(2, 3), T(2, 3))
    yield S(T(2, 3), T(3), 1)
    yield S(T(3), T(2, 3), p=3)
    yield S(T(3), T(3), INF)


@errors("sum", "mean", "amax", "any", "all", "nansum", "count_nonzero")
def bad_dims():
    yield E(IndexError, r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)", T(2, 3), 2)
    yield E(RuntimeError, "dim 0 appears multiple times in the list of dims", T(2, 3), (0, -2))


@errors("prod", "max", "argmax")
def bad_dim():
    yield E(IndexError, r"Dimension out of range \(expected to be in range of \[-2, 1\], but got -3\)", T(2, 3), -3)


@errors("sum")
def bad_sum():
    yield E(TypeError, "invalid combination of arguments", T(2), "x")


@errors("mean")
def bad_mean():
    yield E(
        RuntimeError,
        r"mean\(\): could not infer output dtype. Input dtype must be .* Got: Long",
        T(2),
        _dtypes=("int64",),
    )
    yield E(
        RuntimeError,
        "Optional dtype must be either a floating point or complex dtype. Got: Int",
        T(2),
        dtype=Dtype("int32"),
    )


@errors("max", "min", "amax", "amin")
def extremes_of_nothing():
    yield E(RuntimeError, "Expected reduction dim to be specified for input.numel\\(\\) == 0", T(0))
    yield E(IndexError, "Expected reduction dim 0 to have non-zero size", T(0, 3), 0)
    yield E(NotImplementedError, "'ComplexFloat'", T(3), _dtypes=("complex64",))


@errors("argmax", "argmin")
def bad_positions():
    yield E(IndexError, "Expected reduction dim to be specified for input.numel\\(\\) == 0", T(0))
    yield E(IndexError, "Expected reduction dim 0 to have non-zero size", T(0, 3), 0)
    yield E(RuntimeError, "does not support bool input", T(3), _dtypes=("bool",))


@errors("aminmax")
def bad_aminmax():
    yield E(RuntimeError, "cannot compute aminmax over an empty dimension", T(0))


@errors("var", "std")
def bad_variance():
    yield E(RuntimeError, "only support floating point and complex dtypes", T(3), _dtypes=("int64",))
    yield E(TypeError, "invalid combination of arguments", T(3), dim=0, unbiased=True, correction=1)


@errors("vector_norm")
def bad_norm():
    yield E(RuntimeError, "Expected a floating point or complex tensor as input. Got Long", T(3), _dtypes=("int64",))
    yield E(RuntimeError, "dtype should be real for real inputs", T(3), dtype=Dtype("complex64"))
    yield E(RuntimeError, "should be convertible without narrowing", T(3), dtype=Dtype("float32"), _dtypes=("float64",))
    yield E(RuntimeError, "does not have an identity", T(0), INF)


@errors("norm")
def bad_old_norm():
    yield E(RuntimeError, "Order bar not supported", T(2, 3), "bar")


@errors("renorm")
def bad_renorm():
    yield E(RuntimeError, "non-positive-norm not supported", T(2, 2), -1, 0, 1)
    yield E(RuntimeError, "expected maxnorm to be >= 0", T(2, 2), 1, 0, -1)
    yield E(RuntimeError, "needs at least 2 dimensions", T(2), 1, 0, 1)
