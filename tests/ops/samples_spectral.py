"""Samples of eigenvalues, singular values, and of norms and powers of matrices."""

import numpy as np

from tests.ops.samples_linalg import MATH, REAL, hermitian, judged, made
from tests.ops.sampling import A, Dtype, E, I, S, T, errors, samples

# --- eigenvalues and singular values


def eigh_invariants(lib, result):
    values, vectors = result
    return values, vectors.abs(), (vectors * values.unsqueeze(-2)) @ vectors.mH


@samples("linalg_eigh", dtypes=MATH, call=judged("linalg.eigh", eigh_invariants, hermitian))
def eigh():
    yield S(T(2, 2))
    yield S(T(3, 3), UPLO="U")
    yield S(T(2, 2, 2))
    yield S(T(1, 1))
    yield S(T(0, 0), _grad=False)
    yield S(T(0, 2, 2), _grad=False)


@samples("linalg_eigvalsh", dtypes=MATH, call=made("linalg.eigvalsh", hermitian))
def eigvalsh():
    yield S(T(2, 2))
    yield S(T(3, 3), "U")
    yield S(T(2, 2, 2))


@errors("linalg_eigh")
def bad_eigh():
    yield E(RuntimeError, "failed to converge", A([[np.nan, 1.0], [1.0, 1.0]]))
    yield E(RuntimeError, "Expected UPLO argument to be 'L' or 'U', but got X", T(2, 2), UPLO="X")


def eig_invariants(lib, result):
    values, vectors = result
    restored = (vectors * values.unsqueeze(-2)) @ lib.linalg.inv(vectors)
    return values.sum(-1), (values * values).sum(-1), vectors.abs().sum(-1), restored


@samples("linalg_eig", dtypes=MATH, call=judged("linalg.eig", eig_invariants))
def eig():
    yield S(T(2, 2))
    yield S(T(3, 3))
    yield S(T(2, 2, 2))
    yield S(T(0, 0), _grad=False)
    yield S(A([[0.0, 1.0], [-1.0, 0.5]]))


@samples("linalg_eigvals", dtypes=MATH,
         call=judged("linalg.eigvals", lambda lib, w: (w.sum(-1), (w * w).sum(-1))))  # fmt: skip
def eigvals():
    yield S(T(2, 2))
    yield S(T(2, 2, 2))
    yield S(A([[0.0, 1.0], [-1.0, 0.5]]))


@errors("linalg_eig", "linalg_eigvals")
def bad_eig():
    yield E(RuntimeError, "should not contain infs or NaNs", A([[np.nan, 0.0], [0.0, 1.0]]))


def svd_invariants(lib, result):
    U, values, Vh = result
    k = values.shape[-1]
    return U[..., :k].abs(), values, Vh[..., :k, :].abs(), (U[..., :k] * values.unsqueeze(-2)) @ Vh[..., :k, :]


@samples("linalg_svd", dtypes=MATH, call=judged("linalg.svd", svd_invariants))
def svd():
    yield S(T(2, 2))
    yield S(T(3, 2), full_matrices=False)
    yield S(T(2, 3), full_matrices=False)
    yield S(T(3, 2))
    yield S(T(2, 2, 2), False)
    yield S(T(0, 2), _grad=False)
    yield S(T(2, 0, 3), _grad=False)


@samples("linalg_svdvals", dtypes=MATH, call="linalg")
def svdvals():
    yield S(T(2, 2))
    yield S(T(3, 2))
    yield S(T(2, 2, 3))
    yield S(T(0, 2), _grad=False)


@errors("linalg_svdvals")
def bad_svdvals():
    yield E(RuntimeError, "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite",
            A([[np.nan, 0.0], [0.0, 1.0]]))  # fmt: skip
    yield E(RuntimeError, "is only supported on CUDA inputs", T(2, 2), driver="gesvd")


def old_svd_invariants(lib, result):
    U, values, V = result
    return U.abs(), values, V.abs()


@samples("svd", dtypes=MATH, call=judged("svd", old_svd_invariants))
def old_svd():
    yield S(T(3, 2))
    yield S(T(2, 2), compute_uv=False)


@samples("linalg_pinv", dtypes=MATH, call="linalg")
def pinv():
    yield S(T(2, 2))
    yield S(T(3, 2))
    yield S(T(2, 3))
    yield S(T(2, 2, 2))
    yield S(A([[1.0, 2.0], [2.0, 4.0]]), _grad=False)
    yield S(T(2, 2), 1e-4)
    yield S(T(2, 2), rtol=1e-3)
    yield S(T(2, 2), atol=1e-3, rtol=1e-3)
    yield S(T(2, 2, 2), atol=A([1e-3, 10.0], grad=False), _dtypes=REAL, _grad=False)
    yield S(T(0, 2), _grad=False)


@errors("linalg_pinv")
def bad_pinv():
    yield E(RuntimeError, "expected a tensor with 2 or more dimensions of float", T(2))


@samples("pinverse", dtypes=MATH)
def pinverse():
    yield S(T(2, 3))


@samples("linalg_matrix_rank", dtypes=MATH, call="linalg")
def matrix_rank():
    yield S(T(2, 3), _grad=False)
    yield S(A([[1.0, 2.0], [2.0, 4.0]]), _grad=False)
    yield S(T(2, 2, 2), 1.5, _grad=False)
    yield S(T(2, 2), tol=A(1.5, grad=False), _dtypes=REAL, _grad=False)
    yield S(A([[1.0, 0.0], [0.0, 1e-3]]), rtol=0.1, _grad=False)
    yield S(A([[1.0, 0.0], [0.0, 1e-3]]), atol=0.1, hermitian=True, _grad=False)
    yield S(T(0, 3), _grad=False)


# --- norms


@samples("linalg_matrix_norm", dtypes=("float32", "float64", "complex64", "complex128"), call="linalg")
def matrix_norm():
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        yield S(T(3, 2), order)
    yield S(T(3, 2))
    yield S(T(2, 2, 2), 2, dim=(0, 2))
    yield S(T(2, 2, 2), "nuc", dim=(2, 0), keepdim=True)
    yield S(T(2, 2, 2), 1, dim=(2, 0), keepdim=True)
    yield S(T(2, 2, 2), -np.inf, dim=(0, -1))
    yield S(T(2, 3), "fro", dtype=Dtype("float64"), _dtypes=("float32",), _grad=False)
    yield S(T(2, 3), 2, dtype=Dtype("float64"), _dtypes=("float32",), _grad=False)
    yield S(T(0, 2), 2, _grad=False)


@errors("linalg_matrix_norm")
def bad_matrix_norm():
    yield E(RuntimeError, "linalg.matrix_norm: Order 3 not supported", T(2, 2), 3)
    yield E(RuntimeError, "linalg.matrix_norm: Order x not supported", T(2, 2), "x")
    yield E(RuntimeError, r"dims must be different. Got \(1, 1\)", T(2, 2), dim=(1, 1))
    yield E(RuntimeError, "The input tensor A must have at least 2 dimensions", T(2))
    yield E(RuntimeError, "Got Long", I(2, 2))


@samples("linalg_norm", dtypes=MATH, call="linalg")
def norm():
    yield S(T(3))
    yield S(T(2, 3))
    yield S(T(2, 2, 2))
    yield S(T(2, 3), 1)
    yield S(T(3), 1)
    yield S(T(2, 3), "nuc")
    yield S(T(2, 2, 2), 2, dim=(0, 1))
    yield S(T(2, 3), 3, dim=1, keepdim=True)
    yield S(T(2, 3), dim=(0, 1))
    yield S(T(2, 2, 2), "fro", dim=(0, 2))


@errors("linalg_norm")
def bad_norm():
    yield E(RuntimeError, "must be of length 1 or 2", T(2, 2, 2), 2, dim=(0, 1, 2))
    yield E(RuntimeError, "the input must be 1D or 2D. Got 3D", T(2, 2, 2), 2)


@samples("nuclear_norm", dtypes=MATH)
def nuclear_norm():
    yield S(T(2, 3))
    yield S(T(2, 2, 2), (0, 2), True)


@samples("frobenius_norm", dtypes=MATH)
def frobenius_norm():
    yield S(T(2, 3), 1)
    yield S(T(2, 3), (0, 1), True)


@samples("linalg_cond", dtypes=MATH, call="linalg")
def cond():
    for order in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"):
        yield S(T(2, 2), order)
    yield S(T(3, 2))
    yield S(T(2, 2, 2), 1)
    yield S(A([[1.0, 2.0], [2.0, 4.0]]), 1, _grad=False)
    yield S(T(2, 0, 0), _grad=False)


@errors("linalg_cond")
def bad_cond():
    yield E(RuntimeError, "linalg.cond got an invalid norm type: 3", T(2, 2), 3)
    yield E(RuntimeError, "linalg.cond got an invalid norm type: x", T(2, 2), "x")
    yield E(RuntimeError, r"linalg.cond\(ord=1\): A must be batches of square", T(2, 3), 1)


# --- functions of matrices


@samples("linalg_matrix_power", dtypes=MATH, call="linalg")
def matrix_power():
    for n in (0, 1, 2, 3, 5, -1, -2):
        yield S(T(2, 2), n)
    yield S(T(2, 2, 2), 3)
    yield S(I(2, 2), 3)
    yield S(T(0, 0), 2)


@samples("matrix_power", dtypes=MATH)
def old_matrix_power():
    yield S(T(2, 2), 3)


@errors("linalg_matrix_power")
def bad_matrix_power():
    yield E(RuntimeError, "linalg.matrix_power: A must be batches of square matrices", T(2, 3), 2)
    yield E(TypeError, "", T(2, 2), 1.5)


@samples("linalg_matrix_exp", dtypes=MATH, call="linalg")
def matrix_exp():
    # Where the reference is off by 1e-5, we are not (measured against float64).
    yield S(T(2, 2), _tol=1e-4)
    yield S(T(2, 2, low=-1e-4, high=1e-4))
    yield S(T(2, 2, low=-0.02, high=0.02))
    yield S(T(2, 2, low=-0.2, high=0.2))
    yield S(T(3, 3, low=-4, high=4), _grad=False, _tol=1e-4)
    yield S(T(2, 2, 2))
    yield S(T(1, 1))
    yield S(T(0, 0))
    yield S(A([[np.nan, 0.0], [0.0, 1.0]]), _grad=False, _dtypes=REAL)


@samples("matrix_exp", dtypes=MATH)
def old_matrix_exp():
    yield S(T(2, 2), _tol=1e-4)


@errors("linalg_matrix_exp")
def bad_matrix_exp():
    yield E(RuntimeError, "Got Long", I(2, 2))


@samples("linalg_diagonal", dtypes=MATH, call="linalg")
def diagonal():
    yield S(T(2, 3))
    yield S(T(2, 2, 2), offset=1)
    yield S(T(2, 3, 2), offset=-1, dim1=0, dim2=1)


@samples("linalg_tensorinv", dtypes=MATH, call="linalg")
def tensorinv():
    yield S(T(2, 1, 2), 1)
    yield S(T(2, 1, 1, 2))


@samples("linalg_tensorsolve", dtypes=MATH, call="linalg")
def tensorsolve():
    yield S(T(2, 1, 2), T(2, 1))
    yield S(T(2, 2), T(2))
    yield S(T(2, 2, 1), T(2), dims=(0,))


@errors("linalg_tensorinv")
def bad_tensorinv():
    yield E(RuntimeError, "strictly positive integer for 'ind', but got 0", T(2, 2), 0)
    yield E(RuntimeError, "but got 3 != 2", T(2, 3), 1)
