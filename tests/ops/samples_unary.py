"""Samples of functions of one number."""

import numpy as np

from tests.ops.sampling import ALL, COMPLEX, FLOAT, NUMBER, REAL, A, E, S, T, errors, samples

NAN, INF = np.nan, np.inf
MATH = FLOAT + COMPLEX
ODD = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, INF, -INF, NAN, 1e-30, 20.0, -20.0]


def over(low, high, dtypes=None):
    """Values within the domain, the shapes that matter, and odd values."""
    yield S(T(2, 3, low=low, high=high), _dtypes=dtypes)
    yield S(T(low=low, high=high), _dtypes=dtypes)
    yield S(T(0, 2), _dtypes=dtypes)
    yield S(T(3, 4, low=low, high=high, layout="transposed"), _dtypes=dtypes)
    yield S(A(ODD), _dtypes=FLOAT, _grad=False)


@samples("exp", "exp2", "expm1", "sigmoid", "sin", "cos", "atan", "sinh", "cosh", "tanh", "asinh", dtypes=ALL)
def everywhere():
    yield from over(-2, 2)


@samples("sqrt", "rsqrt", "log", "log2", "log10", dtypes=ALL)
def positive():
    yield from over(0.2, 3)


@samples("log1p", dtypes=ALL)
def log1p():
    yield from over(-0.8, 3)


@samples("reciprocal", dtypes=ALL)
def reciprocal():
    yield from over(0.5, 3)


@samples("tan", "asin", "acos", "atanh", dtypes=ALL)
def within_one():
    yield S(T(2, 3, low=-0.9, high=0.9))
    yield S(T(low=-0.9, high=0.9))
    yield S(A(ODD), _dtypes=FLOAT, _grad=False)


@samples("acosh", dtypes=ALL)
def acosh():
    yield from over(1.2, 3)


@samples("erf", "erfc", dtypes=FLOAT + ("int64", "bool"))
def error_functions():
    yield from over(-2, 2)


@samples("erfinv", dtypes=FLOAT + ("int64", "bool"))
def erfinv():
    yield S(T(2, 3, low=-0.9, high=0.9))
    yield S(A([0.0, 1.0, -1.0, 1.5, NAN, 0.999]), _dtypes=FLOAT, _grad=False)


@samples("arcsin", "arccos", "arctan", "arcsinh", "arctanh", dtypes=("float32",))
def inverse_aliases():
    yield S(T(2, 3, low=-0.9, high=0.9))


@samples("arccosh", dtypes=("float32",))
def arccosh():
    yield S(T(2, 3, low=1.2, high=3))


@samples("neg", "negative", dtypes=NUMBER)
def neg():
    yield S(T(2, 3))
    yield S(T())
    yield S(A([0.0, -0.0, INF, NAN]), _dtypes=FLOAT, _grad=False)


@samples("abs", "absolute", "sgn", dtypes=NUMBER)
def size_and_direction():
    yield S(T(2, 3))
    yield S(T())
    yield S(A([0.0, -0.0, INF, -INF, NAN]), _dtypes=FLOAT, _grad=False)
    yield S(A([0.0, 3 + 4j, -1j]), _dtypes=COMPLEX, _grad=False)


@samples("sign", dtypes=("bool",) + REAL)
def sign():
    yield S(T(2, 3))
    yield S(A([0.0, -0.0, INF, -INF, NAN]), _dtypes=FLOAT, _grad=False)


@samples("square", dtypes=ALL)
def square():
    yield S(T(2, 3))
    yield S(T())


@samples("relu", dtypes=REAL)
def relu():
    yield S(T(2, 3))
    yield S(A([0.0, -0.0, INF, -INF, NAN]), _dtypes=FLOAT, _grad=False)


HALVES = [0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, INF, -INF, NAN, 1e20, -0.0]


@samples("floor", "ceil", "trunc", "fix", dtypes=REAL)
def rounding():
    yield S(T(2, 3))
    yield S(A(HALVES), _dtypes=FLOAT, _grad=False)


@samples("round", dtypes=REAL)
def round_():
    yield from rounding()
    yield S(T(2, 3), decimals=1, _dtypes=FLOAT)
    yield S(T(2, 3, low=-200, high=200), decimals=-1, _dtypes=FLOAT)
    yield S(T(2, 3, low=-200, high=200), decimals=0)


@samples("frac", dtypes=FLOAT)
def frac():
    yield S(T(2, 3))
    yield S(A([1.5, -1.5, 0.0, INF, NAN]), _dtypes=FLOAT, _grad=False)


@errors("neg")
def bad_neg():
    yield E(RuntimeError, "on a bool tensor is not supported", T(2), _dtypes=("bool",))


@errors("sign", "floor")
def not_complex():
    yield E(RuntimeError, "complex", T(2), _dtypes=("complex64",))


@errors("relu")
def bad_relu():
    yield E(RuntimeError, "complex", T(2), _dtypes=("complex64",))
    yield E(RuntimeError, "Boolean inputs not supported", T(2), _dtypes=("bool",))


@errors("erf")
def bad_erf():
    yield E((RuntimeError, NotImplementedError), "not implemented for .*ComplexFloat", T(2), _dtypes=("complex64",))


@errors("exp")
def bad_exp():
    yield E(TypeError, "must be Tensor, not float", 1.5)
