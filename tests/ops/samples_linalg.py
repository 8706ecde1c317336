"""Samples of factorisations, solvers and determinants.

What a decomposition leaves open (signs and phases of vectors, the order of eigenvalues) is taken out before results
are compared; inputs of which one triangle is read are made hermitian first, for finite differences move every element.
"""

import numpy as np

from tests.ops.sampling import A, E, I, S, T, errors, samples

MATH = ("float32", "float64", "complex64", "complex128")
REAL = ("float32", "float64")


def function(lib, name):
    obj = lib
    for part in name.split("."):
        obj = getattr(obj, part)
    return obj


def made(name, prepare):
    """The call of a function with its first argument prepared."""
    return lambda lib, a, *args, **kwargs: function(lib, name)(prepare(lib, a), *args, **kwargs)


def judged(name, finish, prepare=lambda lib, a: a):
    """The call of a function with its result reduced to what is determined. It has no out=."""

    def call(lib, a, *args, **kwargs):
        if "out" in kwargs:
            raise TypeError("unexpected keyword argument 'out'")
        return finish(lib, function(lib, name)(prepare(lib, a), *args, **kwargs))

    return call


def hermitian(lib, a):
    return a + a.mH


def positive(lib, a):
    return a @ a.mH + lib.eye(a.shape[-2], dtype=a.dtype)


def regular(lib, a):
    """Far from singular."""
    return a + 4 * lib.eye(a.shape[-2], a.shape[-1], dtype=a.dtype)


# --- Cholesky


@samples("linalg_cholesky", dtypes=MATH, call=made("linalg.cholesky", positive))
def cholesky():
    yield S(T(2, 2))
    yield S(T(3, 3), upper=True)
    yield S(T(2, 2, 2))
    yield S(T(1, 1))
    yield S(T(0, 0))
    yield S(T(0, 2, 2))
    yield S(T(2, 2, layout="transposed"))
    yield S(T(20, 20), _grad=False)


@samples("cholesky", dtypes=MATH, call=made("cholesky", positive))
def old_cholesky():
    yield S(T(2, 2))
    yield S(T(2, 2, 2), upper=True)


@samples("linalg_cholesky_ex", dtypes=MATH, call=made("linalg.cholesky_ex", positive))
def cholesky_ex():
    yield S(T(2, 2))
    yield S(T(2, 2, 2), upper=True, check_errors=True)


@errors("linalg_cholesky_ex")
def bad_cholesky():
    order = r"the leading minor of order 2 is not positive-definite"
    yield E(RuntimeError, order, A([[0.0, 0.0], [0.0, np.nan]]), check_errors=True)


@samples(
    "cholesky_inverse", dtypes=MATH, call=made("cholesky_inverse", lambda lib, a: lib.linalg.cholesky(positive(lib, a)))
)
def cholesky_inverse():
    yield S(T(2, 2))
    yield S(T(2, 2, 2))
    yield S(T(0, 0))


@samples("cholesky_solve", dtypes=MATH,
         call=lambda lib, b, a, upper=False, **k: lib.cholesky_solve(
             b, regular(lib, a).triu() if upper else regular(lib, a).tril(), upper, **k))  # fmt: skip
def cholesky_solve():
    yield S(T(2, 1), T(2, 2))
    yield S(T(2, 2), T(2, 2), upper=True)
    yield S(T(2, 2, 1), T(2, 2))
    yield S(T(2, 1), T(2, 2, 2))
    yield S(T(0, 1), T(0, 0))


# --- L U and L D L^T


@samples("linalg_lu_factor", dtypes=MATH, call="linalg")
def lu_factor():
    yield S(T(2, 2))
    yield S(T(3, 2))
    yield S(T(2, 3))
    yield S(T(2, 2, 2))
    yield S(T(0, 2))
    yield S(T(0, 3, 3))
    yield S(T(30, 30), _grad=False)
    yield S(T(2, 3, layout="transposed"))


@samples("linalg_lu_factor_ex", dtypes=MATH, call="linalg")
def lu_factor_ex():
    yield S(T(2, 2))
    yield S(A([[0.0, 0.0], [0.0, 1.0]]), _grad=False)
    yield S(T(2, 3, 2))


@errors("linalg_lu_factor")
def bad_lu_factor():
    yield E(RuntimeError, "U\\[1,1\\] is zero", A([[0.0, 0.0], [0.0, 0.0]]))
    yield E(RuntimeError, "Batch element 1", A([[[1.0]], [[0.0]]]))
    yield E(RuntimeError, "2 or more dimensions", T(2))
    yield E(RuntimeError, "LU without pivoting is not implemented on the CPU", T(2, 2), pivot=False)
    yield E(NotImplementedError, "", I(2, 2))


@samples("linalg_lu", dtypes=MATH, call="linalg")
def lu():
    yield S(T(2, 2))
    yield S(T(3, 2))
    yield S(T(2, 3))
    yield S(T(2, 2, 2))
    yield S(T(0, 0))
    yield S(T(0, 3))


@samples("lu_unpack", dtypes=MATH)
def lu_unpack():
    yield S(T(2, 2), A([2, 2], dtype="int32"))
    yield S(T(3, 2), A([3, 2], dtype="int32"))
    yield S(T(2, 3), A([1, 2], dtype="int32"))
    yield S(T(2, 2, 2), A([[1, 2], [2, 2]], dtype="int32"))
    yield S(T(2, 2), A([2, 2], dtype="int32"), unpack_data=False, _grad=False)
    yield S(T(2, 2), A([2, 2], dtype="int32"), unpack_pivots=False)


@errors("lu_unpack")
def bad_lu_unpack():
    yield E(RuntimeError, "torch.int32", T(2, 2), I(2))
    yield E(RuntimeError, "between 1 and LU.size", T(2, 2), A([1, 3], dtype="int32"))
    yield E(RuntimeError, "LU_pivots", T(2, 2), A([1], dtype="int32"))


@samples("linalg_ldl_factor", dtypes=MATH,
         call=lambda lib, a, hermitian=False, **k: lib.linalg.ldl_factor(
             a + (a.mH if hermitian else a.mT), hermitian=hermitian, **k))  # fmt: skip
def ldl_factor():
    yield S(T(2, 2), _grad=False)
    yield S(T(3, 3), hermitian=True, _grad=False)
    yield S(T(2, 2, 2), _grad=False)
    yield S(T(0, 0), _grad=False)


@samples("linalg_ldl_factor_ex", dtypes=MATH, call=made("linalg.ldl_factor_ex", lambda lib, a: a + a.mT))
def ldl_factor_ex():
    yield S(T(2, 2), _grad=False)
    yield S(A([[0.0, 0.0], [0.0, 0.0]]), _grad=False)


@samples("linalg_ldl_solve", dtypes=MATH,
         call=lambda lib, a, b, hermitian=False, **k: lib.linalg.ldl_solve(
             *lib.linalg.ldl_factor(a + (a.mH if hermitian else a.mT), hermitian=hermitian), b,
             hermitian=hermitian, **k))  # fmt: skip
def ldl_solve():
    yield S(T(2, 2), T(2, 1), _grad=False)
    yield S(T(3, 3), T(3, 2), hermitian=True, _grad=False)
    yield S(T(2, 2, 2), T(2, 1), _grad=False)


# --- inverses and equations


@samples("linalg_inv", dtypes=MATH, call="linalg")
def inv():
    yield S(T(2, 2))
    yield S(T(2, 2, 2))
    yield S(T(1, 1))
    yield S(T(0, 0))
    yield S(T(0, 2, 2))
    yield S(T(2, 0, 0))
    yield S(T(3, 3, layout="transposed"))


@samples("inverse", dtypes=MATH)
def inverse():
    yield S(T(2, 2))
    yield S(T(2, 2, 2))


@samples("linalg_inv_ex", dtypes=MATH, call="linalg")
def inv_ex():
    yield S(T(2, 2))
    yield S(T(2, 2, 2), check_errors=True)


@errors("linalg_inv")
def bad_inv():
    singular = (
        "The diagonal element 2 is zero, the inversion could not be completed because the input matrix is singular"
    )
    yield E(RuntimeError, f"linalg.inv: {singular}", A([[1.0, 0.0], [0.0, 0.0]]))
    yield E(RuntimeError, r"linalg.inv: \(Batch element 1\): The diagonal", A([[[1.0]], [[0.0]]]))
    yield E(RuntimeError, "linalg.inv: The input tensor A must have at least 2 dimensions.", T(2))
    yield E(RuntimeError, "but they are 2 by 3 matrices", T(2, 3))
    yield E(RuntimeError, "Got Long", I(2, 2))
    yield E(RuntimeError, "Low precision dtypes not supported. Got Half", T(2, 2, dtype="float16"))


@samples("linalg_solve", dtypes=MATH, call=made("linalg.solve", regular))
def solve():
    yield S(T(2, 2), T(2))
    yield S(T(2, 2), T(2, 1))
    yield S(T(2, 2), T(1, 2), left=False)
    yield S(T(2, 2, 2), T(2, 2))
    yield S(T(2, 2, 2), T(2, 1))
    yield S(T(2, 2), T(2, 2, 1))
    yield S(T(2, 2), T(2, 1, 2), left=False)
    yield S(T(2, 1, 2, 2), T(3, 2, 1), _grad=False)
    yield S(T(0, 0), T(0, 2))
    yield S(T(2, 2), T(2, 0))
    yield S(T(2, 2, layout="transposed"), T(2, 2, layout="transposed"))


@samples("linalg_solve_ex", dtypes=MATH, call=made("linalg.solve_ex", regular))
def solve_ex():
    yield S(T(2, 2), T(2))
    yield S(T(2, 2, 2), T(2, 1), check_errors=True)


@errors("linalg_solve")
def bad_solve():
    yield E(RuntimeError, "torch.linalg.solve: The solver failed because the input matrix is singular",
            A([[-4.0, 0.0], [0.0, -4.0]]), T(2))  # fmt: skip
    yield E(RuntimeError, r"AX = B \(2x2 and 3x1\)", T(2, 2), T(3))
    yield E(RuntimeError, r"XA = B \(2x2 and 2x1\)", T(2, 2), T(2), left=False)
    yield E(RuntimeError, "A of type Float and B of type Double", T(2, 2), T(2, dtype="float64"))


@samples("linalg_lu_solve", dtypes=MATH, call=lambda lib, a, b, **k: lib.linalg.lu_solve(
    *lib.linalg.lu_factor(a), b, **k))  # fmt: skip
def linalg_lu_solve():
    yield S(T(2, 2), T(2, 1))
    yield S(T(2, 2), T(2, 1), adjoint=True)
    yield S(T(2, 2), T(1, 2), left=False)
    yield S(T(2, 2), T(1, 2), left=False, adjoint=True)
    yield S(T(2, 2, 2), T(2, 1))
    yield S(T(2, 2), T(2, 2, 1))
    yield S(T(0, 0), T(0, 1))


@samples("lu_solve", dtypes=MATH, call=lambda lib, b, a, **k: lib.lu_solve(b, *lib.linalg.lu_factor(a), **k))
def lu_solve():
    yield S(T(2, 1), T(2, 2))


@samples("linalg_solve_triangular", dtypes=MATH,
         call=made("linalg.solve_triangular", regular))  # fmt: skip
def solve_triangular():
    yield S(T(2, 2), T(2, 2), upper=True)
    yield S(T(2, 2), T(2, 1), upper=False)
    yield S(T(2, 2), T(1, 2), upper=True, left=False)
    yield S(T(2, 2), T(2, 2), upper=False, left=False, unitriangular=True)
    yield S(T(2, 2), T(2, 1), upper=True, unitriangular=True)
    yield S(T(2, 2, 2), T(2, 1), upper=True)
    yield S(T(2, 2), T(2, 2, 1), upper=False)
    yield S(T(2, 2, layout="transposed"), T(2, 1), upper=True)
    yield S(T(0, 0), T(0, 1), upper=True)


@errors("linalg_solve_triangular")
def bad_solve_triangular():
    yield E(RuntimeError, "The input tensor B must have at least 2 dimensions", T(2, 2), T(2), upper=True)
    yield E(RuntimeError, r"AX = B \(2x2 and 3x2\)", T(2, 2), T(3, 2), upper=True)


@samples("triangular_solve", dtypes=MATH, call=lambda lib, b, a, *r, **k: lib.triangular_solve(
    b, regular(lib, a), *r, **k))  # fmt: skip
def triangular_solve():
    yield S(T(2, 1), T(2, 2), _grad=False)
    yield S(T(2, 1), T(2, 2), upper=False, transpose=True, _grad=False)
    yield S(T(2, 1), T(2, 2), True, False, True, _grad=False)


@samples("linalg_lstsq", dtypes=MATH, call=made("linalg.lstsq", regular))
def lstsq():
    yield S(T(3, 2), T(3, 1))
    yield S(T(2, 3), T(2, 1))
    yield S(T(2, 2), T(2))
    yield S(T(2, 2, 1), T(2, 2, 1))
    for driver in ("gels", "gelsy"):
        yield S(T(3, 2), T(3, 1), driver=driver)
    # Singular values come without history.
    for driver in ("gelsd", "gelss"):
        yield S(T(3, 2), T(3, 1), driver=driver, _grad=False)
    yield S(T(3, 2), T(3, 2), 1e-3, driver="gelsd", _grad=False)
    yield S(T(0, 2), T(0, 1), _grad=False)


@errors("linalg_lstsq")
def bad_lstsq():
    yield E(RuntimeError, "should be one of", T(2, 2), T(2, 1), driver="x")
    yield E(RuntimeError, r"input.size\(-2\) should match other.size\(-2\)", T(2, 2), T(3, 1))
    yield E(RuntimeError, "full rank", A([[-3.0, 0.0], [0.0, -4.0], [0.0, 0.0]]), T(3, 1), driver="gels")


# --- Q R


@samples("linalg_qr", dtypes=MATH, call="linalg")
def qr():
    yield S(T(2, 2))
    yield S(T(3, 2))
    yield S(T(2, 3))
    yield S(T(2, 2, 2))
    yield S(T(2, 3), mode="complete")
    yield S(T(3, 2), mode="complete", _grad=False)
    yield S(T(3, 2), mode="r", _grad=False)
    yield S(T(0, 2), _grad=False)
    yield S(T(2, 0), mode="complete", _grad=False)
    yield S(T(2, 0, 3), _grad=False)


@errors("linalg_qr")
def bad_qr():
    yield E(RuntimeError, "qr received unrecognized mode 'x'", T(2, 2), mode="x")
    yield E(RuntimeError, "at least 2 dimensions", T(2))


@samples("qr", dtypes=MATH)
def old_qr():
    yield S(T(3, 2))
    yield S(T(3, 2), False, _grad=False)


@samples("geqrf", dtypes=MATH)
def geqrf():
    yield S(T(3, 2), _grad=False)
    yield S(T(2, 2, 3), _grad=False)
    yield S(T(0, 2), _grad=False)


@samples("linalg_householder_product", dtypes=MATH, call="linalg")
def householder_product():
    yield S(T(3, 2), T(2))
    yield S(T(2, 2), T(1))
    yield S(T(2, 2, 2), T(2, 2))
    yield S(T(3, 2), T(0), _grad=False)
    yield S(T(0, 0), T(0), _grad=False)


@errors("linalg_householder_product")
def bad_householder_product():
    yield E(RuntimeError, "must be greater than or equal to input.shape", T(2, 3), T(2))
    yield E(RuntimeError, "must be greater than or equal to tau.shape", T(2, 2), T(3))


@samples("orgqr", dtypes=MATH)
def orgqr():
    yield S(T(3, 2), T(2))


@samples("ormqr", dtypes=MATH)
def ormqr():
    yield S(T(2, 2), T(2), T(2, 1))
    yield S(T(3, 2), T(2), T(3, 1), True, True)
    yield S(T(2, 2), T(2), T(1, 2), left=False)
    yield S(T(2, 2), T(2), T(1, 2), False, True)
    yield S(T(2, 2, 1), T(2, 1), T(2, 2, 1))


# --- determinants


@samples("linalg_det", dtypes=MATH, call="linalg")
def det():
    yield S(T(2, 2))
    yield S(T(3, 3))
    yield S(T(2, 2, 2))
    yield S(T(1, 1))
    yield S(T(0, 0))
    yield S(T(2, 0, 0))
    yield S(T(0, 2, 2))


@samples("det", dtypes=MATH)
def old_det():
    yield S(T(2, 2))
    # Its gradient is tested in test_linalg.py.
    yield S(A([[1.0, 2.0], [2.0, 4.0]]), _dtypes=REAL, _grad=False)


@samples("linalg_slogdet", dtypes=MATH, call="linalg")
def slogdet():
    yield S(T(2, 2))
    yield S(T(2, 2, 2))
    yield S(A([[0.0, 0.0], [0.0, 1.0]]), _grad=False)
    yield S(T(0, 0))


@samples("slogdet", dtypes=MATH)
def old_slogdet():
    yield S(T(2, 2))


@samples("logdet", dtypes=MATH, call=made("logdet", positive))
def logdet():
    yield S(T(2, 2))
    yield S(T(2, 2, 2))
    yield S(T(0, 0))


@errors("linalg_det")
def bad_det():
    yield E(RuntimeError, "linalg.det: A must be batches of square matrices, but they are 2 by 3", T(2, 3))
