"""Samples of indexing: index_put, take, put, index_select and its kin, and masks."""

import numpy as np

from tests.ops.sampling import ALL, FLOAT, NUMBER, REAL, A, B, E, I, S, Spec, T, errors, samples


def index(*values):
    return A(list(values), dtype="int64")


def index32(*values):
    return A(list(values), dtype="int32")


def mask(*values):
    return A(list(values), dtype="bool")


@samples("index_put", dtypes=ALL)
def index_put():
    yield S(T(4), (index(0, 2),), T(2))
    yield S(T(4), (index(0, -1),), T())
    yield S(T(3, 4), (index(0, 2),), T(4))
    yield S(T(3, 4), (index(0, 2), index(1, 1)), T(2))
    yield S(T(3, 4), (A([[0], [2]], "int64"), index(1, 3)), T(2, 2))
    yield S(T(3, 2), (index(2, 0, 2),), T(3, 2), accumulate=True, _dtypes=NUMBER)
    yield S(T(3, 2), (index32(2, 0, 2),), T(3, 2), True, _dtypes=NUMBER)
    yield S(T(3), (mask(True, False, True),), T(2))
    yield S(T(2, 3), (mask([True, False, True], [False, True, False]),), T(3))
    yield S(T(2, 3), (mask([True, False, True], [False, True, False]),), T(1), True, _dtypes=NUMBER)
    yield S(T(2, 3, layout="transposed"), (index(1), index(0, 2)), T(2))
    yield S(T(3), (Spec((0,), values=[], dtype="int64", grad=False),), T())
    yield S(T(3), (Spec((0,), values=[], dtype="int64", grad=False),), T(0))


@errors("index_put")
def bad_index_put():
    yield E(IndexError, "index 5 is out of bounds for dimension 0 with size 3", T(3), (index(0, 5),), T(2))
    yield E(IndexError, "index -4 is out of bounds for dimension 1 with size 3", T(2, 3), (index(0), index(-4)), T(1))
    yield E(IndexError, "too many indices for tensor of dimension 1", T(3), (index(0), index(0)), T(1))
    yield E(
        IndexError,
        "could not be broadcast together with shapes \\[2\\], \\[3\\]",
        T(3, 3),
        (index(0, 1), index(0, 1, 2)),
        T(),
    )
    yield E(IndexError, "tensors used as indices must be", T(3), (T(2),), T(2))
    yield E(IndexError, "shape of the mask \\[2\\] at index 0 does not match", T(3), (B(2),), T(2))
    yield E(RuntimeError, "dtypes match, got Float for the destination and Long", T(3), (index(0),), I(1))
    yield E(RuntimeError, "value tensor of shape \\[3\\] cannot be broadcast", T(3), (index(0, 1),), T(3))


@samples("take", dtypes=ALL)
def take():
    yield S(T(2, 3), index(0, 5, -1))
    yield S(T(2, 3), A([[1, 1], [0, 2]], "int64"))
    yield S(T(2, 3, layout="transposed"), index(1, 2, 3))
    yield S(T(), index(0, 0))
    yield S(T(0), Spec((0,), values=[], dtype="int64", grad=False))


@errors("take")
def bad_take():
    yield E(IndexError, "tried to access index 6 on a tensor of 6 elements", T(2, 3), index(6))
    yield E(IndexError, "tried to take from an empty tensor", T(0), index(0))
    yield E(RuntimeError, "Expected a long tensor for index, but got Int", T(3), index32(0))


@samples("put", dtypes=ALL, call="method")
def put():
    yield S(T(2, 3), index(0, 5), T(2))
    yield S(T(2, 3), index(0, -1), T(1, 2))
    yield S(T(2, 3), index(1, 1, 0), T(3), accumulate=True, _dtypes=NUMBER)
    yield S(T(2, 3, layout="transposed"), index(1, 2), T(2))


@errors("put")
def bad_put():
    yield E(IndexError, "same number of elements", T(3), index(0, 1), T(1))
    yield E(RuntimeError, "expected to have the same dtype", T(3), index(0), I(1))
    yield E(IndexError, "tried to access index 4 on a tensor of 3 elements", T(3), index(4), T(1))


@samples("index_select", dtypes=ALL)
def index_select():
    yield S(T(3, 4), 0, index(2, 0, 0))
    yield S(T(3, 4), 1, index32(3, 1))
    yield S(T(2, 2, 3), -2, index(1, 1, 0))
    yield S(T(3, 4, layout="transposed"), 0, index(2, 0))
    yield S(T(3, 4, layout="expanded"), 0, index(2, 0))
    yield S(T(3), 0, A(1, "int64"))
    yield S(T(), 0, index(0))
    yield S(T(3, 4), 0, Spec((0,), values=[], dtype="int64", grad=False))
    yield S(T(3, 0), 0, index(1))


@errors("index_select")
def bad_index_select():
    yield E(IndexError, "index 3 is out of bounds for dimension 0 with size 3", T(3), 0, index(3))
    yield E(IndexError, "index -1 is out of bounds", T(3), 0, index(-1))
    yield E(IndexError, "Index is supposed to be a vector", T(3), 0, A([[0]], "int64"))
    yield E(RuntimeError, "Expected dtype int32 or int64 for index", T(3), 0, T(1))
    yield E(IndexError, "Dimension out of range", T(3), 1, index(0))
    yield E(RuntimeError, "can have only 1 value", T(), 0, index(0, 0))


@samples("index_add", dtypes=ALL)
def index_add():
    yield S(T(3, 2), 0, index(2, 0, 2), T(3, 2))
    yield S(T(2, 3), 1, index32(2, 0), T(2, 2))
    yield S(T(2, 3), 1, index(2, 0), T(2, 2), alpha=2, _dtypes=NUMBER)
    yield S(T(2, 3), -1, index(2, 0), T(2, 2), alpha=0.5, _dtypes=FLOAT)
    yield S(T(2, 3, layout="transposed"), 1, index(2, 0), T(2, 2, layout="transposed"))
    yield S(T(3), 0, Spec((0,), values=[], dtype="int64", grad=False), T(0))
    yield S(T(2, 2, 2), 1, index(1, 1), T(2, 2, 2))


@errors("index_add")
def bad_index_add():
    yield E(
        RuntimeError,
        "Number of indices \\(2\\) should be equal to source.size\\(dim\\): \\(1\\)",
        T(3),
        0,
        index(0, 0),
        T(1),
    )
    yield E(RuntimeError, "must have the same scalar type", T(3), 0, index(0), I(1))
    yield E(RuntimeError, "source tensor shape must match self tensor shape", T(3, 2), 0, index(0), T(1, 3))
    yield E(IndexError, "index 3 is out of bounds", T(3), 0, index(3), T(1))


@samples("index_copy", dtypes=ALL)
def index_copy():
    yield S(T(3, 2), 0, index(2, 0), T(2, 2))
    yield S(T(2, 3), 1, index(1), T(2, 1))
    yield S(T(2, 3, layout="transposed"), -1, index(2, 0), T(2, 2))
    yield S(T(3), 0, index(1), T())
    yield S(T(3), 0, Spec((0,), values=[], dtype="int64", grad=False), T(0))


@errors("index_copy")
def bad_index_copy():
    yield E(RuntimeError, "Expected dtype int64 for index", T(3), 0, index32(0), T(1))
    yield E(IndexError, "index 3 is out of bounds for dimension 0 with size 3", T(3), 0, index(3), T(1))
    yield E(IndexError, "Number of indices", T(3), 0, index(0, 1), T(1))


@samples("index_fill", dtypes=ALL)
def index_fill():
    yield S(T(3, 2), 0, index(2, -3), 5)
    yield S(T(2, 3), 1, index(1), 1.5, _dtypes=FLOAT)
    yield S(T(2, 3), 1, index(1, 0, 1), T())
    yield S(T(), 0, index(0), 3)
    yield S(T(2, 3, layout="transposed"), -1, index(2, 0), 1)


@errors("index_fill")
def bad_index_fill():
    yield E(IndexError, "index 3 is out of bounds for dimension 0 with size 3", T(3), 0, index(3), 0)
    yield E(RuntimeError, "0-dimensional value tensor", T(3), 0, index(0), T(1))
    yield E(RuntimeError, "complex Scalar to non-complex", T(3), 0, index(0), 1j)


@samples("index_reduce", dtypes=REAL)
def index_reduce():
    for reduce in ("prod", "mean", "amax", "amin"):
        for include_self in (True, False):
            yield S(T(3, 2), 0, index(2, 0, 2), T(3, 2), reduce, include_self=include_self)
    yield S(T(2, 3), 1, index(1, 1), T(2, 2), "prod")


@errors("index_reduce")
def bad_index_reduce():
    yield E(
        RuntimeError,
        "Expected reduce to be one of prod, mean, amax or amin but got sum",
        T(3),
        0,
        index(0),
        T(1),
        "sum",
    )
    yield E(RuntimeError, "Number of indices", T(3), 0, index(0, 1), T(1), "prod")


@samples("nonzero", "argwhere", dtypes=ALL)
def nonzero():
    yield S(A([1, 0, 2, 0]))
    yield S(A([[1, 0, 0], [0, 2, 3]]))
    yield S(A([[[0, 1], [1, 0]], [[1, 1], [0, 0]]]))
    yield S(A(1))
    yield S(A(0))
    yield S(T(0))
    yield S(T(2, 0))
    yield S(A([1.0, np.nan, 0.0, -0.0]), _dtypes=FLOAT)


@samples("masked_select", dtypes=ALL)
def masked_select():
    yield S(T(2, 3), mask([True, False, True], [False, True, True]))
    yield S(T(2, 3), mask(True, False, True))
    yield S(T(3), mask([True], [False]))
    yield S(T(3), mask(False, False, False))
    yield S(T(), mask(True, False, True))
    yield S(T(2, 3, layout="transposed"), mask([True, False, True], [False, True, True]))


@samples("masked_fill", dtypes=ALL)
def masked_fill():
    yield S(T(2, 3), mask([True, False, True], [False, True, True]), 1)
    yield S(T(2, 3), mask(True, False, True), 1.5, _dtypes=FLOAT)
    yield S(T(2, 3), mask(True, False, True), T())
    yield S(T(3), mask([True], [False]), 0)
    yield S(T(2, 3), mask(True, False, True), T(dtype="float64"), _dtypes=FLOAT)
    yield S(T(2, 3), mask(True, False, True), -np.inf, _dtypes=FLOAT, _grad=False)
    yield S(T(3), mask(True, False, True), -1, _dtypes=("uint8",))
    yield S(T(2, 3, layout="transposed"), mask(True, False, True), 2)


@samples("masked_scatter", dtypes=ALL)
def masked_scatter():
    yield S(T(2, 3), mask([True, False, True], [False, True, True]), T(4))
    yield S(T(2, 3), mask(True, False, True), T(2, 3))
    yield S(T(3), mask([True], [False]), T(5))
    yield S(T(2, 3, layout="transposed"), mask(True, False, True), T(4))


@errors("masked_select")
def bad_masked_select():
    yield E(RuntimeError, "expected BoolTensor for mask, got int64", T(3), I(3))


@errors("masked_fill")
def bad_masked_fill():
    yield E(RuntimeError, "without overflow", I(2), B(2), A(float("inf"), "float32"))
    yield E(RuntimeError, "0-dimensional value tensor", T(3), B(3), T(1))
    yield E(RuntimeError, "cannot be converted to type uint8 without overflow", T(3), B(3), 300, _dtypes=("uint8",))
    yield E(RuntimeError, "cannot be converted to type float16 without overflow", T(3), B(3), 1e9, _dtypes=("float16",))
    yield E(RuntimeError, "must match the size", T(3), B(2), 1)


@errors("masked_scatter")
def bad_masked_scatter():
    yield E(
        RuntimeError,
        "Number of elements of source \\(1\\) < number of ones in mask \\(2\\)",
        T(3),
        mask(True, False, True),
        T(1),
    )
    yield E(RuntimeError, "same dtypes", T(3), B(3), I(3))
