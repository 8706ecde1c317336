"""Samples of softmax and its relatives."""

import numpy as np

from tests.ops.sampling import FLOAT, INT, A, Dtype, E, S, T, errors, samples

INF, NAN = np.inf, np.nan


@samples("softmax", "log_softmax", dtypes=FLOAT)
def softmax():
    yield S(T(5), 0)
    yield S(T(2, 4), 0)
    yield S(T(2, 4), -1)
    yield S(T(2, 3, 2), 1)
    yield S(T(2, 3, 2, layout="transposed"), dim=1)
    yield S(T(3, 4, layout="expanded"), 1)
    yield S(T(), 0)
    yield S(T(0, 3), 0)
    yield S(T(2, 0), 1)
    yield S(T(2, 3), 1, Dtype("float64"), _dtypes=FLOAT + INT)
    yield S(T(2, 3), 0, dtype=Dtype("float32"), _dtypes=("float16", "int64"))
    yield S(A([1000.0, 999.0, -1000.0]), 0, _dtypes=FLOAT[:2])
    yield S(A([[1.0, -INF], [-INF, -INF], [INF, 1.0], [NAN, 1.0], [INF, INF]]), 1, _grad=False)
    yield S(A([[1.0, -INF], [-INF, -INF]]), 0, _grad=False)
    yield S(T(40, 20), 1, _dtypes=FLOAT[:2], _grad=False)
    yield S(T(40, 20), 0, _dtypes=FLOAT[:2], _grad=False)


def functional(name):
    """A function of nn.functional, wherever the library keeps it."""

    def call(lib, *args, **kwargs):
        home = lib._C._functional if lib.__name__ == "wisp" else vars(lib.nn.functional)
        return home[name](*args, **kwargs)

    return call


@samples("softmin", dtypes=FLOAT, call=functional("softmin"))
def softmin():
    yield S(T(2, 4), 1)
    yield S(T(2, 4), dim=0, _stacklevel=5)
    yield S(T(2, 4), 1, 3, Dtype("float64"))


@samples("logsumexp", dtypes=FLOAT)
def logsumexp():
    yield S(T(5), 0)
    yield S(T(2, 4), 1, keepdim=True)
    yield S(T(2, 3, 2), (0, 2))
    yield S(T(2, 3, 2), (-1, 1), True)
    yield S(T(2, 3, 2, layout="transposed"), 1)
    yield S(T(), 0)
    yield S(T(2, 3), 0, _dtypes=INT + ("bool",))
    yield S(A([1000.0, 999.0, -1000.0]), 0, _dtypes=FLOAT[:2])
    yield S(A([[1.0, -INF], [-INF, -INF], [INF, 1.0], [NAN, 1.0], [INF, -INF]]), 1, _grad=False)
    yield S(A([[1.0, -INF, INF], [2.0, -INF, 1.0]]), 0, _grad=False)
    yield S(T(0, 3), 0, _grad=False)
    yield S(T(0, 3), 1, _grad=False)


@errors("softmax", "log_softmax")
def bad_softmax():
    yield E(IndexError, r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)", T(2, 3), 2)
    yield E(NotImplementedError, "'Long'", T(2, 3), 1, _dtypes=("int64",))
    yield E(NotImplementedError, "'Int'", T(2, 3), 1, dtype=Dtype("int32"))


@errors("logsumexp")
def bad_logsumexp():
    yield E(IndexError, "Dimension out of range", T(2, 3), 2)
