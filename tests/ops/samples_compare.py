"""Samples of comparison, logic and bits."""

import numpy as np

from tests.ops.sampling import ALL, COMPLEX, FLOAT, INT, REAL, A, E, I, S, T, errors, samples

NAN, INF = np.nan, np.inf
BITS = ("bool",) + INT


def pairs():
    yield S(T(2, 3), T(2, 3))
    yield S(T(2, 1), T(3))
    yield S(T(), T(2))
    yield S(T(2, 0), T(1, 0))
    yield S(T(3, 4, layout="transposed"), T(3, 4))
    yield S(T(2, 3), I(2, 3))
    yield S(T(2, 3), T(2, 3, dtype="float64"))


def pairs_and_numbers():
    yield from pairs()
    yield S(T(2, 3), 1)
    yield S(T(2, 3), 0.5)
    yield S(T(2, 3), True)


@samples("eq", "ne", "not_equal", dtypes=ALL)
def equality():
    yield from pairs_and_numbers()
    yield S(T(2, 3), 1j, _dtypes=COMPLEX)
    yield S(A([NAN, 1.0, INF, 0.0]), A([NAN, 1.0, INF, -0.0]), _dtypes=FLOAT)


@samples("lt", "le", "gt", "ge", "less", "less_equal", "greater", "greater_equal", dtypes=("bool",) + REAL)
def order():
    yield from pairs_and_numbers()
    yield S(A([NAN, 1.0, INF, 0.0]), A([NAN, NAN, INF, -0.0]), _dtypes=FLOAT)


@samples("isnan", "isinf", "isfinite", dtypes=ALL)
def classify():
    yield S(T(2, 3))
    yield S(T())
    yield S(A([NAN, 1.0, INF, -INF, 0.0]), _dtypes=FLOAT)
    yield S(A([complex(NAN, 1), complex(1, INF), complex(INF, NAN), 1j]), _dtypes=COMPLEX)


@samples("isposinf", "isneginf", "signbit", dtypes=("bool",) + REAL)
def classify_real():
    yield S(T(2, 3))
    yield S(A([NAN, 1.0, INF, -INF, 0.0, -0.0]), _dtypes=FLOAT)


@samples("isreal", dtypes=ALL)
def isreal():
    yield S(T(2, 3))
    yield S(A([1.0, 1j, 1 + 0j, complex(1, NAN)]), _dtypes=COMPLEX)


@samples("logical_and", "logical_or", "logical_xor", dtypes=ALL)
def logic():
    yield from pairs()
    yield S(A([NAN, 0.0, -0.0, 1.0]), A([1.0, 1.0, 1.0, 0.0]), _dtypes=FLOAT)


@samples("logical_not", dtypes=ALL)
def logical_not():
    yield S(T(2, 3))
    yield S(T())


@samples("bitwise_and", "bitwise_or", "bitwise_xor", dtypes=BITS)
def bitwise():
    yield S(T(2, 3), T(2, 3))
    yield S(T(2, 3), T(3))
    yield S(T(2, 3), I(2, 3))
    yield S(T(2, 3), 3)
    yield S(3, T(2, 3))
    yield S(T(2, 3), True)


@samples("bitwise_not", dtypes=BITS)
def bitwise_not():
    yield S(T(2, 3))


@samples("bitwise_left_shift", "bitwise_right_shift", dtypes=INT)
def shifts():
    yield S(T(2, 3, low=-9, high=9), T(2, 3, low=0, high=4))
    yield S(T(2, 3, low=-9, high=9), 2)
    yield S(3, T(2, 3, low=0, high=4))


@errors("lt", "ge")
def bad_order():
    yield E(RuntimeError, "not implemented for dtype complex64", T(2), T(2), _dtypes=COMPLEX)
    yield E(TypeError, "at least one argument must be a Tensor|must be Tensor", 1, 2)


@errors("bitwise_and")
def bad_bitwise_and():
    yield E(NotImplementedError, "not implemented for dtype float32", T(2), T(2))


@errors("bitwise_not")
def bad_bitwise_not():
    yield E(NotImplementedError, "not implemented for dtype float32", T(2))


@errors("bitwise_left_shift")
def bad_shift():
    yield E(RuntimeError, "Bool", T(2), T(2), _dtypes=("bool",))


@errors("isposinf")
def bad_isposinf():
    yield E(RuntimeError, "complex", T(2), _dtypes=COMPLEX)


@errors("eq")
def bad_eq():
    yield E(RuntimeError, "must match the size of tensor b", T(2), T(3))
