"""Sorting, ranks, medians and quantiles."""

from math import inf, nan

from tests.ops.sampling import FLOAT, REAL, A, E, S, T, errors, samples

ORDERED = ("bool",) + REAL
# All different, so that derivatives exist everywhere.
DISTINCT = [[0.5, -1.5, 2.0, 1.0], [3.0, -0.25, -2.0, 0.75]]
TIED = [[1, 0, 1, 0, 1], [2, 2, 0, 1, 2]]
SPECIAL = [[nan, 1.0, -inf, 0.0], [inf, -0.0, nan, 2.0]]


def stable(sample):
    """The reference's plain sort promises no order of equal elements: it is asked for the stable one."""

    def ask(lib, x, *args, **kwargs):
        names = ("dim", "descending")
        return getattr(lib, sample)(x, stable=True, **dict(zip(names, args)), **kwargs)

    return ask


def sortable():
    yield S(A(DISTINCT))
    yield S(A(DISTINCT), 0)
    yield S(A(DISTINCT), 1, True)
    yield S(A(DISTINCT), dim=-2, descending=True)
    yield S(A(TIED), _grad=False)
    yield S(A(TIED), 1, True, _grad=False)
    yield S(A(SPECIAL), _dtypes=FLOAT, _grad=False)
    yield S(A(SPECIAL), 1, True, _dtypes=FLOAT, _grad=False)
    yield S(T(3, 2, 2), 1)
    yield S(T())
    yield S(T(), 0, True)
    yield S(T(0))
    yield S(T(2, 0, 3))
    yield S(T(2, 0, 3), 1)
    yield S(T(1, 4), 0)
    yield S(T(300), _grad=False)
    yield S(T(300), 0, True, _grad=False)
    yield S(T(40, 33, low=-100, high=100), 0, _grad=False)


def sort_call(name):
    def samples_of():
        for sample in sortable():
            sample.ref = stable(name)
            yield sample
        yield S(A(TIED), stable=True, _grad=False)
        yield S(A(TIED), stable=True, dim=0, descending=True, _grad=False)

    return samples_of


samples("sort", dtypes=ORDERED)(sort_call("sort"))
samples("argsort", dtypes=ORDERED)(sort_call("argsort"))


@samples("msort", dtypes=ORDERED)
def msort():
    yield S(A(DISTINCT))
    yield S(T(3, 2, 2))
    yield S(T())
    yield S(T(0, 2))


@samples("topk", dtypes=REAL)
def topk():
    whole = [[0.0, -1.0, 2.0, 1.0], [3.0, -4.0, -2.0, 5.0]]  # different as integers too
    yield S(A(whole), 2)
    yield S(A(whole), 1, 0)
    yield S(A(whole), 3, -1, False)
    yield S(A(whole), 4, dim=1, largest=True, sorted=True)
    yield S(A(whole), 0)
    yield S(A([[nan, 1.0, -inf, 0.0], [inf, -0.5, nan, 2.0]]), 3, _dtypes=FLOAT, _grad=False)
    yield S(A([[nan, 1.0, -inf, 0.0], [inf, -0.5, nan, 2.0]]), 3, 1, False, _dtypes=FLOAT, _grad=False)
    yield S(A(3.0), 1)
    yield S(A([]), 0)
    yield S(T(2, 0), 0, 1)
    yield S(T(500), 7, _grad=False, _dtypes=("float64",))


@samples("kthvalue", dtypes=REAL)
def kthvalue():
    yield S(A(DISTINCT), 1)
    yield S(A(DISTINCT), 2, 0)
    yield S(A(DISTINCT), 3, 1, True)
    yield S(A(DISTINCT), k=4, dim=-1, keepdim=True)
    yield S(A(5.0), 1)
    yield S(A([[nan, 1.0, -inf, 0.0]]), 4, _dtypes=FLOAT, _grad=False)
    yield S(T(0, 3), 2, 1)


def medians():
    yield S(A(DISTINCT))
    yield S(A(DISTINCT), 0)
    yield S(A(DISTINCT), 1, True)
    yield S(A(DISTINCT), dim=-1, keepdim=True)
    yield S(A([[1.0, 5.0, 2.0], [9.0, 8.0, 7.0]]), 1)
    yield S(A(4.0))
    yield S(A(4.0), 0)
    yield S(A([[nan, 1.0, 3.0], [0.0, 2.0, 5.0]]), _dtypes=FLOAT, _grad=False)
    yield S(A([[nan, 1.0, 3.0], [0.0, 2.0, 5.0]]), 1, _dtypes=FLOAT, _grad=False)
    yield S(A([[nan, nan], [nan, 1.0]]), 1, _dtypes=FLOAT, _grad=False)
    yield S(T(0), _dtypes=FLOAT)


samples("median", "nanmedian", dtypes=REAL)(medians)


@samples("mode", dtypes=ORDERED)
def mode():
    yield S(A([2, 2, 1, 3]), _grad=False)
    yield S(A([[2.0, 2.0, 1.0], [1.0, 3.0, 3.0]]), 1, _grad=False)
    yield S(A([[2.0, 2.0, 1.0], [1.0, 3.0, 3.0]]), 1, True, _grad=False)
    yield S(A([[5, 1], [5, 1], [4, 0]]), 0, _grad=False)
    yield S(A(4))
    yield S(A(4), 0, True)


QUANTILES = ("linear", "lower", "higher", "midpoint", "nearest")


def quantiles():
    yield S(A(DISTINCT), 0.3)
    yield S(A(DISTINCT), 0.5, 1)
    yield S(A(DISTINCT), 0.6, 0, True)
    yield S(A(DISTINCT), 1.0, keepdim=True)
    yield S(A(DISTINCT), 0.0)
    yield S(A(DISTINCT), A([0.1, 0.5, 0.9], grad=False), 1)
    yield S(A(DISTINCT), A([0.2, 0.7], grad=False), 1, True)
    yield S(A(DISTINCT), A([0.2, 0.7], grad=False))
    yield S(A(DISTINCT), A(0.35, grad=False), dim=-1)
    yield S(A([[nan, 1.0, 3.0, 2.0], [0.0, 2.0, 5.0, 7.0]]), 0.5, 1, _grad=False)
    yield S(A([[nan, nan], [nan, 1.0]]), 0.5, 1, _grad=False)
    yield S(A(1.5), 0.5)
    for how in QUANTILES:
        yield S(A(DISTINCT), 0.4, 1, interpolation=how)


samples("quantile", "nanquantile", dtypes=("float32", "float64"))(quantiles)


@errors("topk")
def bad_topk():
    yield E(RuntimeError, "selected index k out of range", T(3), 4)
    yield E(RuntimeError, "selected index k out of range", T(3), -1)
    yield E(IndexError, "Dimension out of range", T(3), 1, 2)
    yield E(RuntimeError, "complex", T(3), 1, _dtypes=("complex64",))


@errors("kthvalue")
def bad_kthvalue():
    yield E(RuntimeError, "selected number k out of range", T(3), 0)
    yield E(RuntimeError, "selected number k out of range", T(3), 4)
    yield E(IndexError, "non-zero size", T(2, 0), 1, 1)


@errors("sort", "median", "mode")
def bad_dim():
    yield E(IndexError, "Dimension out of range", T(2, 3), 2)


@errors("quantile", "nanquantile")
def bad_quantile():
    yield E(RuntimeError, r"in the range \[0, 1\]", T(3), 1.5)
    yield E(RuntimeError, r"in the range \[0, 1\]", T(3), A([0.5, -0.1]))
    yield E(RuntimeError, "non-empty", T(0), 0.5)
    yield E(RuntimeError, "float or double", T(3), 0.5, _dtypes=("int64",))
    yield E(RuntimeError, "interpolation must be one of", T(3), 0.5, interpolation="cubic")
    yield E(RuntimeError, "same dtype", T(3), A([0.5], dtype="float64"))
