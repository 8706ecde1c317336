"""Samples of normalisation."""

from tests.ops.samples_softmax import functional
from tests.ops.sampling import FLOAT, E, S, T, errors, samples

WIDE = FLOAT[:2]


@samples("layer_norm", dtypes=FLOAT)
def layer_norm():
    yield S(T(2, 4), (4,))
    yield S(T(2, 3), (3,), T(3), T(3))
    yield S(T(2, 3), (3,), T(3))
    yield S(T(2, 3), (3,), None, T(3))
    yield S(T(2, 3), (2, 3), T(2, 3), T(2, 3))
    yield S(T(2, 2, 3), (2, 3), eps=0.1)
    yield S(T(3, 4, layout="transposed"), (4,), T(4), T(4))
    yield S(T(0, 4), (4,), _grad=False)
    yield S(T(70, 130), (130,), T(130), T(130), _grad=False)


@samples("native_layer_norm", dtypes=WIDE)
def native_layer_norm():
    yield S(T(2, 4), (4,), None, None, 1e-5, _grad=False)
    yield S(T(2, 2, 3), (2, 3), T(2, 3), T(2, 3), 1e-5, _grad=False)


@samples("rms_norm", dtypes=FLOAT)
def rms_norm():
    yield S(T(2, 4), (4,))
    yield S(T(2, 3), (3,), T(3))
    yield S(T(2, 2, 3), (2, 3), eps=0.1)


@samples("group_norm", dtypes=FLOAT)
def group_norm():
    yield S(T(2, 4), 2)
    yield S(T(1, 4, 3), 2, T(4), T(4))
    yield S(T(2, 2, 2, 1), 1, T(2))
    yield S(T(2, 2, 3), 2, None, T(2), 0.1)


@samples("native_group_norm", dtypes=WIDE)
def native_group_norm():
    yield S(T(2, 4), None, None, 2, 4, 1, 2, 1e-5, _grad=False)
    yield S(T(2, 4, 3), T(4), T(4), 2, 4, 3, 2, 1e-5, _grad=False)


def on_copies(lib, x, mean, var, *args, **kwargs):
    """What batch_norm returns, and what it leaves in the running statistics, which are not differentiated."""
    mean, var = (None if t is None else t.detach().clone() for t in (mean, var))
    result = functional("batch_norm")(lib, x, mean, var, *args, **kwargs)
    return result if mean is None or x.requires_grad else (result, mean, var)


@samples("batch_norm", dtypes=WIDE, call=on_copies)
def batch_norm():
    def stats(n):
        return T(n, grad=False), T(n, low=0.5, grad=False)

    yield S(T(4, 3), *stats(3))
    yield S(T(4, 3), *stats(3), T(3), T(3))
    yield S(T(4, 3), *stats(3), T(3), T(3), True)
    yield S(T(2, 3, 2), *stats(3), None, None, True, 0.3, 0.1)
    yield S(T(2, 2, 1, 3), None, None, T(2), T(2), training=True)
    yield S(T(3, 2, 2, layout="transposed"), *stats(2), T(2), None, True)
    yield S(T(2, 3, 4), *stats(3), T(3), T(3), _grad=False)


@samples("instance_norm", dtypes=WIDE, call=functional("instance_norm"))
def instance_norm():
    yield S(T(2, 2, 3))
    yield S(T(2, 2, 3), None, None, T(2), T(2))
    yield S(T(1, 2, 2, 3), eps=0.1)


@errors("layer_norm")
def bad_layer_norm():
    yield E(RuntimeError, r"Given normalized_shape=\[3\], expected input with shape", T(2, 4), (3,))
    yield E(RuntimeError, "Expected weight to be of same shape as normalized_shape", T(2, 4), (4,), T(3))
    yield E(RuntimeError, "at least 1-dimensional", T(2, 4), ())
    yield E(NotImplementedError, "'Long'", T(2, 4), (4,), _dtypes=("int64",))


@errors("group_norm")
def bad_group_norm():
    yield E(RuntimeError, "divisible by num_groups", T(2, 4), 3)
    yield E(RuntimeError, "Expected weight to be a vector", T(2, 4), 2, T(3))


@errors("batch_norm")
def bad_batch_norm():
    yield E(RuntimeError, "running_mean should contain 3 elements not 2", T(4, 3), T(2), T(2))
    yield E(ValueError, "Expected more than 1 value per channel when training", T(1, 3), None, None, training=True)
