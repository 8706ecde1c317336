"""Samples of gather and scatter."""

from tests.ops.sampling import ALL, NUMBER, REAL, A, E, I, S, Spec, T, errors, samples


def index(*values, dtype="int64"):
    return A(list(values), dtype=dtype)


nothing = Spec((0,), values=[], dtype="int64", grad=False)


@samples("gather", dtypes=ALL)
def gather():
    yield S(T(3, 4), 0, index([0, 2, 1, 0], [2, 2, 0, 1]))
    yield S(T(3, 4), 1, index([3], [0], [0]))
    yield S(T(3, 4), -1, index([0, 0], [1, 3]))
    yield S(T(3, 4), 1, index([3], [0], [0], dtype="int32"))
    yield S(T(2, 2, 3), 1, index([[0, 1, 1]], [[1, 0, 0]]))
    yield S(T(3, 4, layout="transposed"), 0, index([0, 2, 1, 0]))
    yield S(T(3, 4, layout="expanded"), 0, index([0, 2, 1, 0]))
    yield S(T(), 0, A(0, "int64"))
    yield S(T(), 0, index(0, 0))
    yield S(T(3), 0, A(2, "int64"))
    yield S(T(3, 4), 0, nothing)
    yield S(T(3, 4), 1, index([3], [0], [0]), sparse_grad=False)


@errors("gather")
def bad_gather():
    yield E(RuntimeError, "index 3 is out of bounds for dimension 0 with size 3", T(3), 0, index(3))
    yield E(RuntimeError, "index -1 is out of bounds for dimension 0 with size 3", T(3), 0, index(-1))
    yield E(RuntimeError, "same number of dimensions", T(3), 0, index([0]))
    yield E(
        RuntimeError,
        "Expected index \\[1, 4\\] to be no larger than self \\[3, 3\\] apart from dimension 0",
        T(3, 3),
        0,
        index([0, 0, 0, 0]),
    )
    yield E(RuntimeError, "Expected dtype int32/int64 for index", T(3), 0, T(1))
    yield E(IndexError, "Dimension out of range", T(3), 1, index(0))


@samples("take_along_dim", dtypes=ALL)
def take_along_dim():
    yield S(T(2, 3), index(5, 0))
    yield S(T(2, 3), index([2, 0]), 1)
    yield S(T(2, 3), index([1, 0, 0]), dim=0)
    yield S(T(1, 3), index([0, 1], [2, 2]), 1)


@errors("take_along_dim")
def bad_take_along_dim():
    yield E(
        RuntimeError,
        "should have the same number of dimensions, but got 2 dimensions for input, and 1",
        T(2, 3),
        index(0),
        0,
    )
    yield E(RuntimeError, "dtype of indices should be Long", T(3), T(1), 0)
    yield E(RuntimeError, "index 9 is out of bounds", T(3), index(9), 0)


@samples("scatter", dtypes=ALL)
def scatter():
    yield S(T(3, 4), 0, index([0, 2, 1, 0]), T(1, 4))
    yield S(T(3, 4), 1, index([3], [0], [1]), T(3, 1))
    yield S(T(3, 4), 1, index([3, 1], [0, 2]), T(3, 2))
    yield S(T(3, 4), -1, index([3, 1], [0, 2], dtype="int32"), 1)
    yield S(T(3, 4, layout="transposed"), 0, index([0, 2, 1, 0]), T(2, 5))
    yield S(T(), 0, index(0), T(1))
    yield S(T(3), 0, nothing, T(1))
    yield S(T(3), 0, index(0, 2), value=1)
    yield S(T(3), 0, index(0, 2), T(2), reduce="add", _dtypes=NUMBER)
    yield S(T(3), 0, index(0, 2), T(2), reduce="multiply", _dtypes=NUMBER)
    yield S(T(3), 0, index(0, 2, 2), 2, reduce="add", _dtypes=NUMBER)


@errors("scatter")
def bad_scatter():
    yield E(RuntimeError, "index 3 is out of bounds for dimension 0 with size 3", T(3), 0, index(3), 1)
    yield E(RuntimeError, "Expected index \\[2\\] to be no larger size than src \\[1\\]", T(3), 0, index(0, 1), T(1))
    yield E(RuntimeError, "Expected self.dtype to be equal to src.dtype", T(3), 0, index(0), I(1))
    yield E(RuntimeError, "must be either add or multiply", T(3), 0, index(0), 1, reduce="max")
    yield E(RuntimeError, "same number of dimensions", T(3), 0, index([0]), 1)


@samples("scatter_add", dtypes=ALL)
def scatter_add():
    yield S(T(3, 4), 0, index([0, 2, 1, 0], [0, 2, 0, 0]), T(2, 4))
    yield S(T(3, 4), 1, index([3, 3], [0, 0], [1, 2]), T(3, 3))
    yield S(T(3, 4, layout="transposed"), -2, index([0, 2, 1, 0], [0, 2, 0, 0]), T(2, 4, layout="transposed"))
    yield S(T(2, 2, 2), 1, index([[0, 1], [0, 1]]), T(1, 2, 2))
    yield S(T(3), 0, nothing, T(1))


@errors("scatter_add")
def bad_scatter_add():
    yield E(RuntimeError, "index -1 is out of bounds", T(3), 0, index(-1), T(1))
    yield E(RuntimeError, "Expected self.dtype to be equal to src.dtype", T(3), 0, index(0), I(1))


@samples("scatter_reduce", dtypes=REAL)
def scatter_reduce():
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for include_self in (True, False):
            yield S(T(3, 2), 0, index([0, 2], [0, 1], [2, 1]), T(3, 2), reduce, include_self=include_self)
        yield S(T(3), 0, index(0, 2), T(4), reduce=reduce)
    yield S(T(3), 0, index(0, 0), A([0.0, 2.0]), "prod")
    yield S(A([0.0, 2.0, 1.0]), 0, index(0, 0), T(2), "prod")
    yield S(T(3), 0, index(0, 0), A([float("nan"), 2.0]), "amax", _dtypes=("float32",), _grad=False)
    yield S(A([1.0, 1.0]), 0, index(0, 0), A([1.0, 1.0]), "amax", _grad=False)
    yield S(T(3), 0, nothing, T(1), "mean")


@errors("scatter_reduce")
def bad_scatter_reduce():
    yield E(RuntimeError, "must be either sum, prod, mean, amax or amin, got max", T(3), 0, index(0), T(1), "max")


@samples("slice_scatter", dtypes=ALL)
def slice_scatter():
    yield S(T(4), T(2), 0, 1, 3)
    yield S(T(4, 2), T(2, 2), 0, 0, 4, 2)
    yield S(T(2, 4), T(2, 1), dim=-1, start=-1)
    yield S(T(2, 4), T(2, 4))


@samples("select_scatter", dtypes=ALL)
def select_scatter():
    yield S(T(2, 3), T(3), 0, 1)
    yield S(T(2, 3), T(2), 1, -1)


@samples("diagonal_scatter", dtypes=ALL)
def diagonal_scatter():
    yield S(T(2, 3), T(2))
    yield S(T(2, 3), T(1), offset=-1)
    yield S(T(2, 3, 2), T(3, 2), 0, 0, 2)


@errors("slice_scatter")
def bad_slice_scatter():
    yield E(RuntimeError, "src size = \\[3\\], slice size = \\[2\\]", T(4), T(3), 0, 0, 2)


@errors("select_scatter")
def bad_select_scatter():
    yield E(RuntimeError, "src size = \\[1\\], slice size = \\[2\\]", T(2, 2), T(1), 0, 0)
