"""Samples of scans: running sums and the like, differences, integrals; and of comparisons as a whole."""

import numpy as np

from tests.ops.sampling import ALL, COMPLEX, FLOAT, INT, NUMBER, REAL, A, Dtype, E, I, S, T, errors, samples

INF, NAN = np.inf, np.nan


def along(**options):
    yield S(T(5), 0, **options)
    yield S(T(2, 4), 0, **options)
    yield S(T(2, 4), -1, **options)
    yield S(T(2, 3, 2), 1, **options)
    yield S(T(2, 3, 2, layout="transposed"), dim=1, **options)
    yield S(T(), 0, **options)
    yield S(T(0, 3), 0, **options)
    yield S(T(2, 0), 1, **options)
    yield S(T(1, 3), 0, **options)


@samples("cumsum", "cumprod", dtypes=("bool",) + NUMBER)
def sums_and_products():
    yield from along()
    yield S(T(2, 3), 1, dtype=Dtype("float64"))
    yield S(T(2, 3), 0, dtype=Dtype("int32"), _dtypes=INT)
    yield S(A([[1.0, 0.0, 2.0, 0.0, 3.0], [0.0, 2.0, -1.0, 0.5, 0.0]]), 1)
    yield S(A([[1.0, 0.0], [2.0, 3.0], [0.0, 2.0]]), 0)
    yield S(A([1.0, INF, 2.0, NAN, 1.0]), 0, _dtypes=FLOAT, _grad=False)


@samples("cummax", "cummin", dtypes=("bool",) + REAL)
def extremes():
    yield from along()
    yield S(A([1.0, 3.0, 3.0, 2.0, 3.0, 5.0]), 0, _grad=False)
    yield S(A([[5.0, 1.0], [5.0, 2.0], [3.0, 1.0]]), 0, _grad=False)
    yield S(A([1.0, NAN, 2.0, NAN, -INF, INF]), 0, _dtypes=FLOAT, _grad=False)


@samples("logcumsumexp", dtypes=FLOAT + COMPLEX)
def logcumsumexp():
    yield from along()
    yield S(A([-INF, -INF, 1.0, 2.0, INF, 3.0]), 0, _dtypes=FLOAT, _grad=False)
    yield S(A([1.0, NAN, 2.0]), 0, _dtypes=FLOAT, _grad=False)
    yield S(A([1000.0, 999.0, -1000.0, 1001.0]), 0, _dtypes=FLOAT[:2])


@samples("diff", dtypes=ALL)
def diff():
    yield S(T(4))
    yield S(T(2, 4))
    yield S(T(3, 2), dim=0)
    yield S(T(5), 2)
    yield S(T(5), n=3)
    yield S(T(3), n=5)
    yield S(T(3), n=0)
    yield S(T(3), prepend=T(2))
    yield S(T(2, 3), append=T(2, 1))
    yield S(T(2, 3), 1, 0, T(1, 3), T(2, 3))
    yield S(T(0, 2), dim=0)


@samples("trapezoid", "trapz", "cumulative_trapezoid", dtypes=FLOAT + COMPLEX + INT)
def integrals():
    yield S(T(4))
    yield S(T(4), T(4))
    yield S(T(2, 4), T(4))
    yield S(T(2, 4), T(2, 4))
    yield S(T(4, 2), T(4), dim=0)
    yield S(T(2, 4), dx=2)
    yield S(T(4, 2), dx=0.5, dim=0)
    yield S(T(1))
    yield S(T(2, 3, 2), T(3, 2), dim=1)


@samples("isclose", "allclose", dtypes=ALL)
def close():
    yield S(T(2, 3), T(2, 3))
    yield S(T(2, 3), T(3))
    yield S(A([1.0, 2.0, 3.0]), A([1.0, 2.0, 3.0]))
    yield S(A([1.0, 2.0, 3.0]), A([1.000001, 2.1, 3.0]), _dtypes=FLOAT)
    yield S(A([1.0, 2.0, 3.0]), A([1.1, 2.1, 3.1]), 0.1, _dtypes=FLOAT)
    yield S(A([1.0, 2.0, 3.0]), A([1.1, 2.1, 3.1]), atol=0.2, _dtypes=FLOAT)
    yield S(A([1.0, INF, -INF, NAN]), A([1.0, INF, INF, NAN]), _dtypes=FLOAT)
    yield S(A([1.0, INF, -INF, NAN]), A([1.0, INF, INF, NAN]), equal_nan=True, _dtypes=FLOAT)
    yield S(A([1.0, NAN]), A([1.0, NAN]), rtol=0, atol=0, equal_nan=True, _dtypes=FLOAT)


@samples("equal", dtypes=ALL)
def equal():
    yield S(T(2, 3), T(2, 3))
    yield S(T(2, 3), T(3))
    yield S(A([1, 2]), A([1, 2]))
    yield S(A([1, 2]), I(2))
    yield S(A([NAN]), A([NAN]), _dtypes=FLOAT)
    yield S(T(0), T(0))


@errors("cumsum", "cumprod", "cummax", "logcumsumexp")
def bad_dim():
    yield E(IndexError, r"Dimension out of range \(expected to be in range of \[-1, 0\], but got 1\)", T(2), 1)


@errors("cumsum")
def bad_cumsum():
    yield E(NotImplementedError, "'Bool'", T(2), 0, dtype=Dtype("bool"))


@errors("logcumsumexp")
def bad_logcumsumexp():
    yield E(NotImplementedError, "'Long'", T(2), 0, _dtypes=("int64",))


@errors("diff")
def bad_diff():
    yield E(RuntimeError, "at least one-dimensional", T())
    yield E(RuntimeError, "order must be non-negative", T(2), -1)
    yield E(RuntimeError, "prepend or append to be the same dimension", T(2), prepend=T())


@errors("trapezoid")
def bad_trapezoid():
    yield E(RuntimeError, "one `x` value for each sample point", T(3), T(2))
    yield E(IndexError, "no dimensions", T())


@errors("isclose", "allclose")
def bad_close():
    yield E(RuntimeError, "Float did not match Long", T(2), I(2))
    yield E(RuntimeError, "rtol must be greater than or equal to zero", T(2), T(2), -1.0)
    yield E(RuntimeError, "atol must be greater than or equal to zero", T(2), T(2), atol=-1.0)
