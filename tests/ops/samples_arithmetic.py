"""Samples of two-operand arithmetic."""

import numpy as np

from tests.ops.sampling import ALL, FLOAT, INT, NUMBER, REAL, A, E, I, S, T, errors, samples


@samples("add", "mul", dtypes=ALL)
def plain():
    yield S(T(2, 3), T(2, 3))
    yield S(T(2, 3), T(3))
    yield S(T(2, 1), T(1, 3))
    yield S(T(), T(2))
    yield S(T(2, 0), T(1, 0))
    yield S(T(2, 3), 2)
    yield S(T(2, 3), 1.5)
    yield S(T(2, 3), I(2, 3))
    yield S(T(2, 3), T(dtype="float64"))
    yield S(T(2, 3), T(2, 3, dtype="float64"))
    yield S(T(3, 4, layout="transposed"), T(3, 4))
    yield S(T(3, 4, layout="expanded"), T(3, 4))


@samples("sub", dtypes=NUMBER)
def sub():
    yield from plain()
    yield S(T(2, 3), T(2, 3), alpha=2)


@samples("div", dtypes=ALL)
def div():
    yield S(T(2, 3), T(2, 3, low=1, high=3))
    yield S(T(2, 3), 2)
    yield S(T(2, 3), T(3, low=1, high=3))
    yield S(T(2, 3), T(2, 3, low=1, high=3), rounding_mode="floor", _dtypes=REAL)
    yield S(T(2, 3), T(2, 3, low=1, high=3), rounding_mode="trunc", _dtypes=REAL)
    yield S(T(2, 3), T(2, 3, low=1, high=3), rounding_mode=None)
    yield S(A([1.0, -1.0, 0.0, np.inf]), A([0.0, 0.0, 0.0, np.inf]), _dtypes=FLOAT, _grad=False)


@samples("floor_divide", dtypes=REAL)
def floor_divide():
    yield S(T(2, 3, low=-9, high=9), T(2, 3, low=1, high=3), _grad=False)
    yield S(T(2, 3, low=-9, high=9), 2, _grad=False)


@samples("remainder", "fmod", dtypes=REAL)
def remainder():
    yield S(T(2, 3, low=-9, high=9), T(2, 3, low=1, high=3))
    yield S(T(2, 3, low=-9, high=9), 4)
    yield S(A([5.0, -5.0, 5.0, -5.0]), A([3.0, 3.0, -3.0, -3.0]), _dtypes=("float32", "int64"), _grad=False)


@samples("pow", dtypes=NUMBER)
def pow_():
    yield S(T(2, 3, low=0.5, high=3), T(2, 3, low=0, high=2))
    yield S(T(2, 3), 2)
    yield S(T(2, 3), 3)
    yield S(T(2, 3, low=0.5, high=3), 0.5, _dtypes=FLOAT)
    yield S(T(2, 3, low=0.5, high=3), -1, _dtypes=FLOAT)
    yield S(T(2, 3, low=0.5, high=3), -2.5, _dtypes=FLOAT)
    yield S(T(2, 3), 0)
    yield S(2, T(2, 3, low=0, high=2))
    yield S(A([0.0, -1.0, 1.0, np.inf, np.nan]), A([0.0, 0.5, np.nan, 0.0, 0.0]), _dtypes=FLOAT, _grad=False)


@samples("maximum", "minimum", dtypes=("bool",) + REAL)
def extremes():
    yield S(T(2, 3), T(2, 3))
    yield S(T(2, 3), T(3))
    yield S(A([1.0, np.nan, 2.0]), A([np.nan, 1.0, 2.0]), _dtypes=FLOAT, _grad=False)


@errors("add")
def bad_add():
    yield E(RuntimeError, r"size of tensor a \(3\) must match the size of tensor b \(4\)", T(2, 3), T(2, 4))
    yield E(RuntimeError, "alpha must not be a floating point", I(2), I(2), alpha=1.5)
    yield E(TypeError, "must be Tensor or Number, not str", T(2), "x")


@errors("sub")
def bad_sub():
    yield E(RuntimeError, "bool tensor is not supported", T(2), T(2), _dtypes=("bool",))


@errors("floor_divide", "remainder", "fmod")
def divide_by_zero():
    yield E(RuntimeError, "ZeroDivisionError", A([1, 2]), A([1, 0]), _dtypes=INT)


@errors("pow")
def bad_pow():
    yield E(RuntimeError, "Integers to negative integer powers", I(2), -1)
