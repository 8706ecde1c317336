"""Samples of selections and functions of three operands."""

import numpy as np

from tests.ops.sampling import ALL, COMPLEX, FLOAT, NUMBER, REAL, A, B, E, I, S, T, errors, samples

NAN, INF = np.nan, np.inf


@samples("where", dtypes=ALL)
def where():
    yield S(B(2, 3), T(2, 3), T(2, 3))
    yield S(B(2, 1), T(3), T())
    yield S(B(2, 3), T(2, 3), 1)
    yield S(B(2, 3), 1.5, T(2, 3))
    yield S(B(2, 3), T(2, 3), I(2, 3))
    yield S(B(), T(2), T(2))
    yield S(B(2), 1, 2)
    yield S(B(2), 1.0, 2)
    yield S(B(2, 0), T(2, 0), T(0))


@samples("clamp", "clip", dtypes=REAL)
def clamp():
    yield S(T(2, 3), -1, 1)
    yield S(T(2, 3), -0.5, 0.5)
    yield S(T(2, 3), min=0)
    yield S(T(2, 3), max=0.5)
    yield S(T(2, 3), None, 1)
    yield S(T(2, 3), T(2, 3, low=-1, high=0), T(2, 3, low=0, high=1))
    yield S(T(2, 3), T(3, low=-1, high=0))
    yield S(T(2, 3), max=T(3, low=-1, high=0))
    yield S(T(2, 3), 1, -1)
    yield S(T(2, 3), T(2, 3, low=1, high=2), T(2, 3, low=-1, high=0))
    yield S(A([NAN, INF, -INF, 0.0]), -1, 1, _dtypes=FLOAT, _grad=False)
    yield S(A([1.0, 2.0]), A([NAN, 0.0]), A([1.0, NAN]), _dtypes=FLOAT, _grad=False)


@samples("lerp", dtypes=FLOAT + COMPLEX)
def lerp():
    yield S(T(2, 3), T(2, 3), 0.3)
    yield S(T(2, 3), T(2, 3), T(2, 3))
    yield S(T(2, 3), T(3), T(2, 1, low=0, high=1))
    yield S(T(2), T(2), 1)
    yield S(T(2), T(2), T())


@samples("addcmul", dtypes=NUMBER)
def addcmul():
    yield S(T(2, 3), T(2, 3), T(2, 3))
    yield S(T(2, 3), T(2, 1), T(3))
    yield S(T(2, 3), T(2, 3), T(2, 3), value=2)
    yield S(T(2, 3), T(2, 3), T(2, 3), value=-0.5, _dtypes=FLOAT + COMPLEX)


@samples("addcdiv", dtypes=FLOAT + COMPLEX)
def addcdiv():
    yield S(T(2, 3), T(2, 3), T(2, 3, low=1, high=3))
    yield S(T(2, 3), T(2, 1), T(3, low=1, high=3))
    yield S(T(2, 3), T(2, 3), T(2, 3, low=1, high=3), value=-0.5)


@errors("where")
def bad_where():
    yield E(RuntimeError, "expected condition to be a boolean tensor", T(2), T(2), T(2))


@errors("clamp")
def bad_clamp():
    yield E(RuntimeError, "At least one of 'min' or 'max' must not be None", T(2))
    yield E(RuntimeError, "complex", T(2), 0, 1, _dtypes=COMPLEX)


@errors("lerp")
def bad_lerp():
    yield E(RuntimeError, "expected dtype float32 for `end`, but got dtype float64", T(2), T(2, dtype="float64"), 0.5)
    yield E(RuntimeError, "not implemented for dtype int64", T(2), T(2), 0.5, _dtypes=("int64",))


@errors("addcdiv")
def bad_addcdiv():
    yield E(RuntimeError, "integer division with addcdiv", T(2), T(2), T(2), _dtypes=("int64",))
