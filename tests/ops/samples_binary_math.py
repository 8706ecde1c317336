"""Samples of functions of two numbers beyond plain arithmetic."""

import numpy as np

from tests.ops.sampling import FLOAT, INT, NUMBER, REAL, A, E, I, S, T, errors, samples

INF, NAN = np.inf, np.nan


@samples("atan2", dtypes=REAL + ("bool",))
def atan2():
    yield S(T(2, 3), T(2, 3, low=0.5))
    yield S(T(2, 1), T(3, low=0.5))
    yield S(T(3), T(dtype="float64", low=0.5))
    yield S(A([0.0, -0.0, 0.0, 1.0, INF, NAN]), A([1.0, -1.0, -1.0, 0.0, INF, 1.0]), _dtypes=FLOAT, _grad=False)


@samples("hypot", dtypes=FLOAT)
def hypot():
    yield S(T(2, 3), T(2, 3, low=0.5))
    yield S(T(2, 1), T(3, low=0.5))
    yield S(A([INF, 0.0, 3e30]), A([NAN, 0.0, 4e30]), _dtypes=FLOAT[:2], _grad=False)


@samples("copysign", dtypes=REAL + ("bool",))
def copysign():
    yield S(T(2, 3), T(2, 3))
    yield S(T(2, 3), T(3))
    yield S(T(2, 3), -1.5)
    yield S(T(2, 3), 2)
    yield S(A([0.0, -1.0, NAN]), A([-0.0, 0.0, -1.0]), _dtypes=FLOAT, _grad=False)


@samples("nextafter", dtypes=FLOAT)
def nextafter():
    yield S(T(2, 3), T(2, 3), _grad=False)
    yield S(T(2, 3), T(3), _grad=False)
    yield S(A([0.0, -0.0, 1.0, INF, -1.0, NAN, 0.0]), A([1.0, -1.0, 1.0, 0.0, -INF, 1.0, -1.0]), _grad=False)


@samples("heaviside", dtypes=REAL + ("bool",))
def heaviside():
    yield S(T(2, 3), T(2, 3), _grad=False)
    yield S(A([-1, 0, 2]), A([1]), _grad=False)
    yield S(A([NAN, INF, 0.0]), A([0.5]), _dtypes=FLOAT, _grad=False)


@samples("fmax", "fmin", dtypes=REAL + ("bool",))
def fmax():
    yield S(T(2, 3), T(2, 3))
    yield S(T(2, 3), T(3))
    yield S(A([1.0, NAN, 2.0, NAN]), A([NAN, 1.0, 2.0, NAN]), _dtypes=FLOAT, _grad=False)


@samples("clamp_min", "clamp_max", dtypes=REAL)
def clamp_min():
    yield S(T(2, 3), T(2, 3))
    yield S(T(2, 3), T(3))
    yield S(T(2, 3), 1)
    yield S(T(2, 3), 0.5)
    yield S(A([1.0, NAN, 2.0]), A([NAN, 1.0, 2.0]), _dtypes=FLOAT, _grad=False)


@samples("gcd", "lcm", dtypes=INT)
def gcd():
    yield S(T(2, 3, low=-20, high=20), T(2, 3, low=-20, high=20))
    yield S(T(2, 3, low=0, high=9), T(3, low=0, high=9))
    yield S(A([0, 0, 4]), A([0, 6, 0]))


@samples("ldexp", dtypes=NUMBER)
def ldexp():
    yield S(T(2, 3), I(2, 3, high=3))
    yield S(T(2, 3), T(3))
    yield S(T(), I(3))


@samples("float_power", dtypes=NUMBER + ("bool",))
def float_power():
    yield S(T(2, 3, low=0.5), T(2, 3, low=0, high=2))
    yield S(T(2, 3, low=0.5), 2)
    yield S(T(2, 3, low=0.5), 0.5)
    yield S(2, T(2, 3))


@samples("logaddexp", "logaddexp2", dtypes=FLOAT)
def logaddexp():
    yield S(T(2, 3), T(2, 3))
    yield S(T(2, 3), T(3))
    yield S(A([1000.0, -1000.0]), A([1000.0, -1000.0]), _dtypes=FLOAT[:2])
    yield S(A([INF, -INF, INF, NAN, -INF]), A([INF, -INF, -INF, 1.0, 1.0]), _grad=False)


@samples("xlogy", dtypes=REAL + ("bool",))
def xlogy():
    yield S(T(2, 3), T(2, 3, low=0.5))
    yield S(T(2, 3), T(3, low=0.5))
    yield S(T(2, 3), 2.5)
    yield S(1.5, T(2, 3, low=0.5))
    yield S(A([0.0, 0.0, 1.0, 0.0]), A([0.0, -1.0, 0.0, NAN]), _dtypes=FLOAT, _grad=False)


@samples("xlog1py", dtypes=REAL + ("bool",), call="special")
def xlog1py():
    yield S(T(2, 3), T(2, 3, low=-0.5))
    yield S(T(2, 3), 2.5)
    yield S(1.5, T(2, 3, low=-0.5))
    yield S(A([0.0, 0.0, 1.0, 0.0]), A([-1.0, -2.0, -1.0, NAN]), _dtypes=FLOAT, _grad=False)


@samples("complex", dtypes=FLOAT[:2])
def complex_():
    yield S(T(2, 3), T(2, 3))
    yield S(T(2, 1), T(3))


@samples("polar", dtypes=FLOAT[:2])
def polar():
    yield S(T(2, 3, low=0.5), T(2, 3))
    yield S(T(2, 1, low=0.5), T(3))


@samples("rsub", dtypes=NUMBER)
def rsub():
    yield S(T(2, 3), T(2, 3))
    yield S(T(2, 3), 2)
    yield S(T(2, 3), T(3), alpha=2)


@errors("hypot", "logaddexp", "nextafter", "gcd")
def bad_dtypes():
    yield E(NotImplementedError, r"not implemented for .*'Bool'", T(2), T(2), _dtypes=("bool",))


@errors("complex", "polar")
def bad_parts():
    yield E(RuntimeError, "Expected both inputs to be", T(2), T(2), _dtypes=("int64",))
    yield E(
        RuntimeError, "Expected object of scalar type Float but got scalar type Double", T(2), T(2, dtype="float64")
    )


@errors("heaviside")
def bad_heaviside():
    yield E(RuntimeError, "different dtypes", T(2), I(2))


@errors("rsub")
def bad_rsub():
    yield E(RuntimeError, "bool tensor is not supported", T(2), T(2), _dtypes=("bool",))


@errors("atan2")
def bad_atan2():
    yield E(TypeError, "must be Tensor", T(2), 1.0)
    yield E(NotImplementedError, "ComplexFloat", T(2), T(2), _dtypes=("complex64",))
