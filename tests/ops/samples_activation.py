"""Samples of activation functions."""

import numpy as np

from tests.ops.samples_softmax import functional
from tests.ops.sampling import FLOAT, A, E, S, T, errors, samples

INF, NAN = np.inf, np.nan
EDGES = A([-INF, -100.0, 0.0, 100.0, INF, NAN])


def declare(name, **options):
    return samples(name, call=functional(name), **options)


def shapes(*args, **kwargs):
    yield S(T(2, 3), *args, **kwargs)
    yield S(T(2, 2, 3, layout="transposed"), *args, **kwargs)
    yield S(T(), *args, **kwargs)
    yield S(T(0, 2), *args, **kwargs)
    yield S(T(5, low=-8, high=8), *args, **kwargs)
    yield S(EDGES, *args, **kwargs, _grad=False)


def in_place(*args, **kwargs):
    """The forms that write into their input cannot be called on a leaf: they get a copy."""
    yield S(T(2, 3), *args, **kwargs)
    yield S(T(5, low=-8, high=8), *args, **kwargs)


def on_copy(name):
    def call(lib, x, *args, **kwargs):
        return functional(name)(lib, x.clone(), *args, **kwargs)

    return call


def gelu_of_double(torch, x, **kwargs):
    """PyTorch's gelu(inf) of float32 is inf or nan, by processor."""
    return torch.nn.functional.gelu(x.double(), **kwargs).to(x.dtype)


@declare("gelu", dtypes=FLOAT)
def gelu():
    yield from shapes(_ref=gelu_of_double)
    yield from shapes(approximate="tanh", _ref=gelu_of_double)


@declare("silu", dtypes=FLOAT)
def silu():
    yield from shapes()
    yield S(T(2, 3), inplace=False)


@declare("mish", dtypes=FLOAT)
def mish():
    yield from shapes()


@declare("softplus", dtypes=FLOAT)
def softplus():
    yield from shapes()
    yield from shapes(2.0)
    yield S(T(6, low=-3, high=3), beta=1.5, threshold=2)
    yield S(A([19.0, 21.0, 40.0]))


@declare("logsigmoid", dtypes=FLOAT)
def logsigmoid():
    yield from shapes()


@declare("hardsigmoid", dtypes=FLOAT)
def hardsigmoid():
    yield from shapes()


@declare("hardswish", dtypes=FLOAT)
def hardswish():
    yield from shapes()


@declare("softsign", dtypes=FLOAT + ("int64",))
def softsign():
    yield from shapes()


@declare("tanhshrink", dtypes=FLOAT + ("int64",))
def tanhshrink():
    yield from shapes()


@declare("hardshrink", dtypes=FLOAT)
def hardshrink():
    yield from shapes()
    yield S(T(2, 3), 1.0)


@declare("softshrink", dtypes=FLOAT)
def softshrink():
    yield from shapes()
    yield S(T(2, 3), 1.0)


@declare("elu", dtypes=FLOAT)
def elu():
    yield from shapes()
    yield from shapes(1.5)


@declare("selu", dtypes=FLOAT)
def selu():
    yield from shapes()


@declare("celu", dtypes=FLOAT)
def celu():
    yield from shapes()
    yield from shapes(1.5)


@declare("leaky_relu", dtypes=FLOAT)
def leaky_relu():
    yield from shapes()
    yield from shapes(0.2)
    yield S(T(2, 3), negative_slope=-0.5)


@declare("relu6", dtypes=FLOAT + ("int64",))
def relu6():
    yield from shapes()


@declare("hardtanh", dtypes=FLOAT + ("int64",))
def hardtanh():
    yield from shapes()
    yield from shapes(-2, 1)


@declare("threshold", dtypes=FLOAT + ("int64",))
def threshold():
    yield from shapes(0.1, 2)


@declare("glu", dtypes=FLOAT)
def glu():
    yield S(T(2, 4))
    yield S(T(4, 3), 0)
    yield S(T(2, 4, 1), dim=-2)


@declare("prelu", dtypes=FLOAT)
def prelu():
    yield S(T(2, 3), T(1))
    yield S(T(2, 3), T())
    yield S(T(2, 3), T(3))
    yield S(T(2, 2, 2), T(2))
    yield S(T(3), T(1))


@declare("rrelu", dtypes=FLOAT)
def rrelu():
    yield from shapes()
    yield S(T(2, 3), 0.1, 0.5, training=False)


@samples("elu_", call=on_copy("elu_"))
def elu_():
    yield from in_place()
    yield from in_place(0.5)


@samples("celu_", call=on_copy("celu_"))
def celu_():
    yield from in_place(0.5)


@samples("selu_", call=on_copy("selu_"))
def selu_():
    yield from in_place()


@samples("relu_", call=on_copy("relu_"))
def relu_():
    yield from in_place()


@samples("leaky_relu_", call=on_copy("leaky_relu_"))
def leaky_relu_():
    yield from in_place(0.2)


@samples("hardtanh_", call=on_copy("hardtanh_"))
def hardtanh_():
    yield from in_place(-2, 1)


@samples("threshold_", call=on_copy("threshold_"))
def threshold_():
    yield from in_place(0.1, 2)


@samples("rrelu_", call=on_copy("rrelu_"))
def rrelu_():
    yield from in_place()


@errors("gelu")
def bad_gelu():
    yield E(RuntimeError, "approximate argument must be either none or tanh", T(2), approximate="erf")
    yield E(NotImplementedError, r"not implemented for .*'Long'", T(2), _dtypes=("int64",))


@errors("glu")
def bad_glu():
    yield E(RuntimeError, "Halving dimension must be even, but dimension 1 is size 3", T(2, 3))
    yield E(RuntimeError, "0-dimensional", T())


@errors("prelu")
def bad_prelu():
    yield E(RuntimeError, "Mismatch of parameter numbers", T(2, 3), T(2))


@errors("softshrink")
def bad_softshrink():
    yield E(RuntimeError, "lambda must be greater or equal to 0", T(2), -1.0)
