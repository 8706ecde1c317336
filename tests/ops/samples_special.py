"""Samples of special functions."""

import numpy as np

from tests.ops.sampling import FLOAT, NUMBER, REAL, A, E, S, T, errors, samples

INF, NAN = np.inf, np.nan
WIDE = ("float32", "float64", "int64", "uint8", "bool")  # what PyTorch computes in full precision only


@samples("deg2rad", "rad2deg", dtypes=REAL + ("bool",))
def degrees():
    yield S(T(2, 3, low=-100, high=100))
    yield S(T())
    yield S(T(0, 2))


@samples("angle", dtypes=NUMBER + ("bool",))
def angle():
    yield S(T(2, 3))
    yield S(A([0.0, -0.0, INF, -INF, NAN]), _dtypes=FLOAT, _grad=False)


@samples("positive", dtypes=NUMBER)
def positive():
    yield S(T(2, 3))


@samples("nan_to_num", dtypes=NUMBER + ("bool",))
def nan_to_num():
    yield S(T(2, 3))
    yield S(A([NAN, INF, -INF, 1.0]), _dtypes=FLOAT, _grad=False)
    yield S(A([NAN, INF, -INF, 1.0]), 1.0, 2.0, -3.0, _dtypes=FLOAT, _grad=False)
    yield S(A([NAN, INF, -INF, 1.0]), posinf=7, _dtypes=FLOAT, _grad=False)
    yield S(A([complex(NAN, 1), complex(2, INF)]), nan=5.0, _dtypes=("complex64", "complex128"), _grad=False)


@samples("sinc", dtypes=NUMBER + ("bool",))
def sinc():
    yield S(T(2, 3, low=0.1))
    yield S(A([0.0, 1.0, 0.5]), _dtypes=FLOAT, _grad=False)


@samples("logit", dtypes=REAL + ("bool",))
def logit():
    yield S(T(2, 3, low=0.1, high=0.9))
    yield S(T(2, 3, low=0.1, high=0.9), 0.01)
    yield S(T(2, 3, low=-1, high=2), eps=0.2)
    yield S(A([0.0, 1.0, -1.0, 2.0, NAN]), _dtypes=FLOAT, _grad=False)


@samples("lgamma", "digamma", dtypes=REAL)
def gamma():
    yield S(T(2, 3, low=0.5, high=5))
    yield S(A([-0.5, -1.5, 30.0]), _dtypes=FLOAT)
    yield S(A([1.0, 2.0, INF, NAN]), _dtypes=FLOAT, _grad=False)


@samples("polygamma", dtypes=REAL)
def polygamma():
    yield S(0, T(2, 3, low=1, high=5))
    yield S(
        1, T(2, 3, low=1, high=5), _dtypes=("float32", "int64")
    )  # PyTorch's float64 is wrong from the tenth digit on
    yield S(2, T(2, 3, low=1, high=5))
    yield S(4, T(2, 3, low=1, high=5))
    yield S(3, A([-0.5, -1.5, 30.0]), _dtypes=FLOAT)


@samples("mvlgamma", dtypes=REAL)
def mvlgamma():
    yield S(T(2, 3, low=3, high=5), 1)
    yield S(T(2, 3, low=3, high=5), 3)


@samples("multigammaln", dtypes=REAL, call="special")
def multigammaln():
    yield from mvlgamma()


@samples("i0", dtypes=REAL + ("bool",))
def bessel():
    yield S(T(2, 3))
    yield S(A([0.0, 7.5, 12.0]), _dtypes=FLOAT)
    yield S(A([25.0, -30.0, NAN]), _dtypes=("float64",), _grad=False)


@samples("i0e", dtypes=REAL + ("bool",), call="special", second_order=False)  # not smooth at 0
def scaled_bessel():
    yield S(T(2, 3, low=0.5))
    yield S(A([-3.0, 7.5, 12.0]), _dtypes=FLOAT)
    yield S(A([0.0, 25.0, -300.0, NAN]), _dtypes=("float32", "float64"), _grad=False)


@samples("i1", "i1e", dtypes=WIDE + ("float16", "bfloat16"), call="special")
def bessel1():
    yield S(T(2, 3, low=0.5))
    yield S(A([-3.0, 7.5, 12.0]), _dtypes=FLOAT)
    yield S(A([0.0, 25.0, -30.0, NAN]), _dtypes=("float64",), _grad=False)


@samples("erfcx", dtypes=WIDE, call="special")
def erfcx():
    yield S(T(2, 3))
    yield S(A([0.74, 0.76, -3.0, 10.0]))
    yield S(A([1e10, -30.0, INF, NAN]), _grad=False, _dtypes=WIDE[:2])


@samples("log_ndtr", dtypes=WIDE, call="special")
def log_ndtr():
    yield S(T(2, 3))
    yield S(A([-1.1, -0.9, 3.0, -8.0]))
    yield S(A([-100.0, 40.0, NAN]), _grad=False, _dtypes=WIDE[:2])


@samples("ndtr", dtypes=REAL + ("bool",), call="special")
def ndtr():
    yield S(T(2, 3))
    yield S(A([0.0, 5.0]))


@samples("ndtri", dtypes=WIDE, call="special")
def ndtri():
    yield S(T(2, 3, low=0.05, high=0.95))
    yield S(A([1e-12, 1e-5, 0.5, 0.99999]), _dtypes=WIDE[:2], _grad=False)
    yield S(A([0.0, 1.0, 2.0, NAN]), _dtypes=WIDE[:2], _grad=False)


@samples("entr", dtypes=REAL + ("bool",), call="special")
def entr():
    yield S(T(2, 3, low=0.5))
    yield S(A([0.0, -1.0, NAN, INF]), _dtypes=FLOAT, _grad=False)


@samples("zeta", dtypes=WIDE[:2], call="special")
def zeta():
    yield S(T(2, 3, low=2, high=5, grad=False), T(2, 3, low=1, high=4))
    yield S(T(2, 3, low=2, high=5, grad=False), 1)
    yield S(2, T(2, 3, low=1, high=4))
    yield S(A([1.0, 0.5, 2.0, 3.0, 2.5, 2.0], grad=False), A([1.0, 1.0, -1.0, -1.5, -1.5, 1e6]), _grad=False)


@samples("frexp", dtypes=FLOAT)
def frexp():
    yield S(T(2, 3))
    yield S(A([0.0, 1.0, -8.0, 1e-3]), _grad=False)  # 1 and 8 are where the exponent steps


@samples("expit", "psi", "gammaln", dtypes=REAL, call="special")
def names():
    yield S(T(2, 3, low=0.5, high=5))


@errors("polygamma")
def bad_polygamma():
    yield E(RuntimeError, "does not support negative n", -1, T(2))


@errors("mvlgamma")
def bad_mvlgamma():
    yield E(RuntimeError, "p has to be greater", T(2), 0)
    yield E(RuntimeError, "p of at most 1048576", T(2), 1 << 62)


@errors("deg2rad", "rad2deg")
def bad_degrees():
    yield E(RuntimeError, "is not supported for complex tensors", T(2), _dtypes=("complex64",))


@errors("frexp")
def bad_frexp():
    yield E(RuntimeError, "only supports floating-point dtypes", T(2), _dtypes=("int64",))


@errors("positive")
def bad_positive():
    yield E(RuntimeError, "on a bool tensor is not supported", T(2), _dtypes=("bool",))
