"""Samples of embedding and one_hot."""

from tests.ops.samples_softmax import functional
from tests.ops.sampling import FLOAT, A, E, I, S, T, errors, samples


@samples("embedding", dtypes=FLOAT, call=functional("embedding"))
def embedding():
    yield S(I(4, high=2), T(3, 2))
    yield S(I(2, 3, high=2), T(3, 2))
    yield S(I(high=2), T(3, 2))
    yield S(I(0), T(3, 2))
    yield S(I(4, high=2), T(3, 2), 1, _grad=False)  # the row of padding is read, but gets no gradient
    yield S(I(4, high=2), T(3, 2), padding_idx=-1, _grad=False)
    yield S(A([0, 0, 2], "int64"), T(3, 2), scale_grad_by_freq=True, _grad=False)
    yield S(I(4, high=2), T(3, 2, grad=False), None, 0.5)
    yield S(I(4, high=2), T(3, 2, grad=False), max_norm=1.0, norm_type=1.0)
    yield S(I(4, high=2), T(3, 2, layout="transposed"))
    yield S(A([1, 0], "int32"), T(3, 2))


@samples("one_hot", dtypes=("int64",), call=functional("one_hot"))
def one_hot():
    yield S(I(4, high=3))
    yield S(I(2, 3, high=3), 5)
    yield S(I(), num_classes=6)
    yield S(I(0), 3)


@errors("embedding")
def bad_embedding():
    yield E(IndexError, "index out of range in self", A([0, 3], "int64"), T(3, 2))
    yield E(IndexError, "index out of range in self", A([-1], "int64"), T(3, 2))
    yield E(RuntimeError, "'weight' must be 2-D", A([0], "int64"), T(3))
    yield E(RuntimeError, "scalar types: Long, Int", T(2), T(3, 2))
    yield E(ValueError, "Padding_idx must be within num_embeddings", A([0], "int64"), T(3, 2), 3)


@errors("one_hot")
def bad_one_hot():
    yield E(RuntimeError, "Class values must be non-negative", A([0, -1], "int64"))
    yield E(RuntimeError, "smaller than num_classes", A([0, 3], "int64"), 3)
    yield E(RuntimeError, "empty tensor", I(0))
