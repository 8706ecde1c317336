"""Samples of losses."""

from tests.ops.samples_softmax import functional
from tests.ops.sampling import FLOAT, A, B, E, I, S, T, errors, samples


def declare(name, **options):
    return samples(name, call=functional(name), **options)


def pairs(*args, **kwargs):
    yield S(T(2, 3), T(2, 3), *args, **kwargs)
    yield S(T(2, 3), T(2, 3), *args, reduction="sum", **kwargs)
    yield S(T(2, 3), T(2, 3), *args, reduction="none", **kwargs)
    yield S(T(), T(), *args, **kwargs)
    yield S(T(3, 2, layout="transposed"), T(3, 2), *args, **kwargs)


@declare("mse_loss", dtypes=FLOAT)
def mse_loss():
    yield from pairs()
    yield S(T(2, 3), T(3))
    yield S(T(2, 3), T(2, 3), weight=T(2, 3, low=0.5))
    yield S(T(2, 3), T(2, 3), reduction="none", weight=T(2, 3, low=0.5))
    yield S(T(2, 3), T(2, 3), size_average=False)
    yield S(T(2, 3), T(2, 3), reduce=False)


@declare("l1_loss", dtypes=FLOAT)
def l1_loss():
    yield from pairs()
    yield S(T(2, 3), T(2, 3), weight=T(2, 3, low=0.5))


@declare("smooth_l1_loss", dtypes=FLOAT)
def smooth_l1_loss():
    yield from pairs()
    yield from pairs(beta=0.5)
    yield S(T(2, 3), T(2, 3), beta=0.0)


@declare("huber_loss", dtypes=FLOAT)
def huber_loss():
    yield from pairs()
    yield from pairs(delta=0.5)
    yield S(T(2, 3), T(2, 3), weight=T(2, 3, low=0.5))


@declare("binary_cross_entropy", dtypes=FLOAT)
def binary_cross_entropy():
    yield S(T(2, 3, low=0.1, high=0.9), T(2, 3, low=0, high=1))
    yield S(T(2, 3, low=0.1, high=0.9), T(2, 3, low=0, high=1), reduction="sum")
    yield S(T(2, 3, low=0.1, high=0.9), T(2, 3, low=0, high=1), reduction="none")
    yield S(T(2, 3, low=0.1, high=0.9), T(2, 3, low=0, high=1), weight=T(3, low=0.5, grad=False))
    yield S(A([0.0, 1.0, 1.0]), A([1.0, 0.0, 1.0], grad=False), reduction="none", _grad=False)


@declare("binary_cross_entropy_with_logits", dtypes=FLOAT)
def binary_cross_entropy_with_logits():
    for how in ("mean", "sum", "none"):
        yield S(T(2, 3), T(2, 3, low=0, high=1), reduction=how)
        yield S(T(2, 3), T(2, 3, low=0, high=1, grad=False), T(3, low=0.5, grad=False), reduction=how)
        yield S(T(2, 3), T(2, 3, low=0, high=1, grad=False), pos_weight=T(3, low=0.5, grad=False), reduction=how)
    yield S(A([-100.0, 100.0, 0.0]), A([1.0, 0.0, 1.0], grad=False), reduction="none")


def classes(target=True):
    yield S(T(3, 4), I(3, high=3))
    for how in ("mean", "sum", "none"):
        yield S(T(3, 4), I(3, high=3), T(4, low=0.5, grad=False), reduction=how)
        yield S(T(3, 4), A([1, -100, 3], "int64"), reduction=how)
        yield S(T(2, 3, 2), I(2, 2, high=2), reduction=how)
    yield S(T(2, 2, 1, 3), I(2, 1, 3, high=1), T(2, low=0.5, grad=False), ignore_index=1)
    yield S(T(4), I(high=3))
    yield S(T(3, 4, layout="transposed"), I(3, high=3), reduction="sum")
    yield S(T(3, 4), I(3, high=3), size_average=False)
    yield S(T(3, 4), I(3, high=3), reduce=False)


@declare("nll_loss", dtypes=FLOAT)
def nll_loss():
    yield from classes()


@declare("cross_entropy", dtypes=FLOAT)
def cross_entropy():
    yield from classes()
    for how in ("mean", "sum", "none"):
        yield S(T(3, 4), I(3, high=3), label_smoothing=0.1, reduction=how)
        yield S(T(3, 4), A([1, -100, 3], "int64"), T(4, low=0.5, grad=False), label_smoothing=0.1, reduction=how)
        yield S(T(3, 4), T(3, 4, low=0, high=1), reduction=how)
        yield S(T(2, 3, 2), T(2, 3, 2, low=0, high=1, grad=False), T(3, low=0.5, grad=False), reduction=how)
        yield S(T(3, 4), T(3, 4, low=0, high=1, grad=False), label_smoothing=0.2, reduction=how)
    yield S(T(4), T(4, low=0, high=1, grad=False))


@errors("mse_loss")
def bad_mse_loss():
    yield E(ValueError, "average is not a valid value for reduction", T(2), T(2), reduction="average")
    yield E(RuntimeError, r"size of tensor a \(3\) must match", T(2, 3), T(2, 4))


@errors("binary_cross_entropy")
def bad_binary_cross_entropy():
    yield E(RuntimeError, "between 0 and 1", A([2.0]), A([1.0]))
    yield E(ValueError, "different to the input size", T(2), T(3))


@errors("binary_cross_entropy_with_logits")
def bad_logits():
    yield E(ValueError, "must be the same as input size", T(2), T(3))


@errors("nll_loss", "cross_entropy")
def bad_targets():
    yield E(IndexError, "Target 4 is out of bounds", T(2, 4), A([0, 4], "int64"))
    yield E(IndexError, "Target -1 is out of bounds", T(2, 4), A([0, -1], "int64"))
    yield E(RuntimeError, "expected scalar type Long but found Bool", T(2, 4), B(2))
    yield E(ValueError, r"Expected input batch_size \(2\) to match target batch_size \(3\)", T(2, 4), I(3))
    yield E(RuntimeError, "weight tensor should be defined either for all 4 classes", T(2, 4), I(2, high=3), T(3))


@errors("cross_entropy")
def bad_smoothing():
    yield E(RuntimeError, "label_smoothing must be between", T(2, 4), I(2, high=3), label_smoothing=1.5)
