"""Samples of pooling."""

from tests.ops.sampling import FLOAT, INT, A, E, I, S, T, errors, samples

NAN = float("nan")


def declare(name, **options):
    return samples(name, call="nn.functional", **options)


@declare("max_pool1d", dtypes=FLOAT + INT)
def max_pool1d():
    yield S(T(1, 2, 6), 2)
    yield S(T(2, 6), 3, 2, 1)
    yield S(T(2, 6), (2,), stride=1, dilation=2, return_indices=True)
    yield S(T(2, 5), 2, 2, 0, 1, True)
    yield S(T(0, 2, 6), 2)


@declare("max_pool1d_with_indices", dtypes=FLOAT)
def max_pool1d_with_indices():
    yield S(T(1, 2, 6), 3, 2, 1)


@declare("max_pool2d", dtypes=FLOAT + INT)
def max_pool2d():
    yield S(T(1, 2, 3, 2), 2)
    yield S(T(1, 3, 4), (2, 3), 1, (1, 1))
    yield S(T(1, 3, 4), 3, 2, 1, return_indices=True)
    yield S(T(1, 3, 4), 2, 2, 1, 1, True, return_indices=True)
    yield S(T(1, 3, 4), 2, 1, 0, (2, 3))
    yield S(T(0, 2, 4, 4), 2)
    yield S(T(2, 3, 9, 30, grad=False), 3, 2, 1)
    yield S(T(2, 3, 9, 30, grad=False), 2, 2, 0)
    yield S(T(2, 3, 5, 7, layout="transposed", grad=False), 3, 1, 1, return_indices=True)


@declare("max_pool2d_with_indices", dtypes=FLOAT)
def max_pool2d_with_indices():
    yield S(T(1, 3, 4), 2, 1)
    yield S(A([[[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]]]), 2, 1, _grad=False)  # the first of equal elements
    yield S(A([[[NAN, 1.0, 0.0], [1.0, NAN, 0.0]]]), 2, 1, _grad=False)  # the last NaN


@declare("max_pool3d", dtypes=FLOAT + INT)
def max_pool3d():
    yield S(T(1, 1, 2, 3, 2), 2)
    yield S(T(1, 2, 2, 3), (1, 2, 2), 1, (0, 1, 1), return_indices=True)


@declare("max_pool3d_with_indices", dtypes=FLOAT)
def max_pool3d_with_indices():
    yield S(T(1, 2, 2, 3), (1, 2, 2), 1)


@declare("avg_pool1d", dtypes=FLOAT + ("int64",))
def avg_pool1d():
    yield S(T(1, 2, 6), 2)
    yield S(T(2, 6), 3, 2, 1)
    yield S(T(2, 5), (2,), 2, 1, True, False)


@declare("avg_pool2d", dtypes=FLOAT + ("int64",))
def avg_pool2d():
    yield S(T(1, 2, 3, 2), 2)
    for include in (True, False):
        yield S(T(1, 3, 4), 3, 2, 1, count_include_pad=include)
        yield S(T(1, 3, 4), 2, 2, 1, True, include)
    yield S(T(1, 3, 4), (2, 1), (1, 2), divisor_override=3)
    yield S(T(1, 3, 4), 1, 3)
    yield S(T(0, 2, 4, 4), 2)
    yield S(T(2, 3, 9, 30, grad=False), 3, 2, 1)


@declare("avg_pool3d", dtypes=FLOAT + ("int64",))
def avg_pool3d():
    yield S(T(1, 1, 2, 3, 2), 2)
    yield S(T(1, 2, 2, 3), (1, 2, 2), 1, (0, 1, 1), False, False)
    yield S(T(1, 2, 2, 3), (1, 2, 2), divisor_override=-3)


@declare("adaptive_avg_pool1d", dtypes=FLOAT)
def adaptive_avg_pool1d():
    yield S(T(1, 2, 5), 3)
    yield S(T(2, 5), (1,))


@declare("adaptive_avg_pool2d", dtypes=FLOAT)
def adaptive_avg_pool2d():
    yield S(T(1, 1, 3, 4), 1)
    yield S(T(1, 3, 4), (2, None))
    yield S(T(1, 3, 4), (None, 3))
    yield S(T(1, 2, 3), (4, 5))
    yield S(T(0, 1, 2, 3), 2)


@declare("adaptive_avg_pool3d", dtypes=FLOAT)
def adaptive_avg_pool3d():
    yield S(T(1, 1, 2, 3, 2), 1)
    yield S(T(1, 2, 2, 3), (1, None, 2))


@declare("adaptive_max_pool1d", dtypes=FLOAT)
def adaptive_max_pool1d():
    yield S(T(1, 2, 5), 3)
    yield S(T(2, 5), (2,), return_indices=True)


@declare("adaptive_max_pool2d_with_indices", dtypes=FLOAT)
def adaptive_max_pool2d_with_indices():
    yield S(T(1, 1, 3, 4), 2)
    yield S(T(1, 3, 4), (2, None))


@declare("adaptive_max_pool2d", dtypes=FLOAT)
def adaptive_max_pool2d():
    yield S(T(1, 1, 3, 4), (2, 3), True)
    yield S(T(0, 1, 3, 4), 2)


@declare("adaptive_max_pool3d_with_indices", dtypes=FLOAT)
def adaptive_max_pool3d_with_indices():
    yield S(T(1, 2, 2, 3), (1, None, 2))


@declare("lp_pool1d", dtypes=FLOAT)
def lp_pool1d():
    yield S(T(1, 2, 5, low=0.2), 2, 2)
    yield S(T(2, 5, low=0.2), 3.0, 2, 1)


@declare("lp_pool2d", dtypes=FLOAT)
def lp_pool2d():
    yield S(T(1, 3, 4, low=0.2), 2.0, (2, 3), 1)


@declare("lp_pool3d", dtypes=FLOAT)
def lp_pool3d():
    yield S(T(1, 2, 2, 3, low=0.2), 2.0, 2, None, True)


@declare("fractional_max_pool2d", dtypes=FLOAT)
def fractional_max_pool2d():
    where = A([[[0.3, 0.8], [0.7, 0.1]]], grad=False)
    yield S(T(1, 2, 5, 6, grad=False), 2, (3, 2), return_indices=True, _random_samples=where)
    yield S(T(1, 3, 4), (2, 1), output_ratio=(0.5, 0.7), _random_samples=A([[[0.3, 0.8]]], grad=False))


@declare("fractional_max_pool3d", dtypes=FLOAT)
def fractional_max_pool3d():
    where = A([[[0.3, 0.8, 0.5]]], grad=False)
    yield S(T(1, 1, 4, 5, 6, grad=False), (2, 2, 3), (2, 3, 2), return_indices=True, _random_samples=where)


def raw_fractional2d(lib, x, samples):
    if lib.__name__ == "wisp":
        return lib.nn.functional._fractional_max_pool2d(x, 2, 2, samples)
    return lib.nn.functional.fractional_max_pool2d(x, 2, 2, return_indices=True, _random_samples=samples)


@samples("_fractional_max_pool2d", dtypes=FLOAT, call=raw_fractional2d)
def fractional2d_kernel():
    yield S(T(1, 3, 4), A([[[0.3, 0.8]]], grad=False))


def raw_fractional3d(lib, x, samples):
    if lib.__name__ == "wisp":
        return lib.nn.functional._fractional_max_pool3d(x, (1, 2, 2), (2, 2, 1), samples)
    return lib.nn.functional.fractional_max_pool3d(
        x, (1, 2, 2), (2, 2, 1), return_indices=True, _random_samples=samples
    )


@samples("_fractional_max_pool3d", dtypes=FLOAT, call=raw_fractional3d)
def fractional3d_kernel():
    yield S(T(1, 2, 3, 2), A([[[0.3, 0.8, 0.5]]], grad=False))


@declare("max_unpool1d", dtypes=FLOAT)
def max_unpool1d():
    yield S(T(1, 2, 2), A([[[1, 2], [0, 3]]], "int64"), 2)
    yield S(T(1, 2), A([[0, 4]], "int64"), 2, output_size=(5,))


@declare("max_unpool2d", dtypes=FLOAT)
def max_unpool2d():
    yield S(T(1, 2, 2), A([[[0, 3], [9, 14]]], "int64"), 2)
    yield S(T(1, 1, 1, 2), A([[[[0, 3]]]], "int64"), (1, 2), output_size=(1, 1, 1, 5))


@declare("max_unpool3d", dtypes=FLOAT)
def max_unpool3d():
    yield S(T(1, 1, 1, 2), A([[[[0, 3]]]], "int64"), (1, 1, 2))


def raw_unpool(lib, x, indices):
    if lib.__name__ == "wisp":
        return lib.nn.functional._max_unpool(x, indices, (4, 4))
    return lib.nn.functional.max_unpool2d(x, indices, 2)


@samples("_max_unpool", dtypes=FLOAT, call=raw_unpool)
def unpool_kernel():
    yield S(T(1, 2, 2), A([[[0, 3], [9, 14]]], "int64"))


@errors("max_pool2d")
def bad_max_pool2d():
    yield E(RuntimeError, "3D or 4D", T(4, 4), 2)
    yield E(RuntimeError, "greater than zero", T(1, 4, 4), 0)
    yield E(RuntimeError, "at most half", T(1, 4, 4), 2, 1, 2)
    yield E(RuntimeError, "non-negative", T(1, 4, 4), 2, 1, -1)
    yield E(RuntimeError, "Output size is too small", T(1, 2, 2), 3)
    yield E(RuntimeError, "tuple of two ints", T(1, 4, 4), (2, 2, 2))
    yield E(NotImplementedError, "bool", A([[[True]]], "bool"), 1)


@errors("avg_pool2d")
def bad_avg_pool2d():
    yield E(RuntimeError, "divisor must be not zero", T(1, 4, 4), 2, divisor_override=0)
    yield E(RuntimeError, "at most half", T(1, 4, 4), 2, 1, 2)
    yield E(RuntimeError, "optional 0 dim batch", T(1, 0, 4, 4), 2)


@errors("adaptive_avg_pool2d")
def bad_adaptive():
    yield E(RuntimeError, "non-zero size", T(1, 0, 3), 1)
    yield E(RuntimeError, "greater than or equal to 0", T(1, 3, 3), (-1, 2))


@errors("max_unpool2d")
def bad_unpool():
    yield E(RuntimeError, "invalid max index", T(1, 1, 1), A([[[7]]], "int64"), 2)
    yield E(RuntimeError, "type int64", T(1, 1, 1), A([[[0]]], "int32"), 2)
    yield E(RuntimeError, "shape of indices", T(1, 1, 1), I(1, 1, 2), 2)
    yield E(ValueError, "invalid output_size", T(1, 1, 1), A([[[0]]], "int64"), 2, output_size=(9, 9))
