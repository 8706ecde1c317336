"""The extension `linalg` of the array API standard."""

from typing import NamedTuple

import wisp
from wisp import linalg as _linalg
from wisp.array_api._dtypes import promoted
from wisp.array_api._functions import _sum_dtype, matrix_transpose


class Eigh(NamedTuple):
    eigenvalues: wisp.Tensor
    eigenvectors: wisp.Tensor


class QR(NamedTuple):
    Q: wisp.Tensor
    R: wisp.Tensor


class Slogdet(NamedTuple):
    sign: wisp.Tensor
    logabsdet: wisp.Tensor


class SVD(NamedTuple):
    U: wisp.Tensor
    S: wisp.Tensor
    Vh: wisp.Tensor


def cholesky(x, /, *, upper=False):
    """The triangular matrix whose product with its adjoint is x."""
    return _linalg.cholesky(x, upper=upper)


def cross(x1, x2, /, *, axis=-1):
    """The cross product of vectors of 3 numbers along an axis."""
    if not -min(x1.ndim, x2.ndim) <= axis < 0:
        raise ValueError(f"cross(): expected a negative axis of both arrays, got {axis}")
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError("cross(): expected 3 numbers along the axis")
    x1, x2 = wisp.broadcast_tensors(*promoted(x1, x2))
    return _linalg.cross(x1, x2, dim=axis)


def det(x, /):
    """The determinant."""
    return _linalg.det(x)


def diagonal(x, /, *, offset=0):
    """A diagonal of the last two axes."""
    return wisp.diagonal(x, offset, -2, -1)


def eigh(x, /):
    """Eigenvalues, in ascending order, and eigenvectors of a symmetric (Hermitian) matrix."""
    return Eigh(*_linalg.eigh(x))


def eigvalsh(x, /):
    """Eigenvalues of a symmetric (Hermitian) matrix, in ascending order."""
    return _linalg.eigvalsh(x)


def inv(x, /):
    """The inverse."""
    return _linalg.inv(x)


def matmul(x1, x2, /):
    """The product of matrices."""
    return wisp.matmul(*promoted(x1, x2))


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """A norm of matrices."""
    return _linalg.matrix_norm(x, ord, keepdim=keepdims)


def matrix_power(x, n, /):
    """A matrix multiplied with itself n times."""
    return _linalg.matrix_power(x, n)


def matrix_rank(x, /, *, rtol=None):
    """How many singular values exceed `rtol` times the largest."""
    return _linalg.matrix_rank(x, rtol=rtol)


def outer(x1, x2, /):
    """Products of all pairs of elements."""
    return wisp.outer(*promoted(x1, x2))


def pinv(x, /, *, rtol=None):
    """The pseudo-inverse."""
    return _linalg.pinv(x, rtol=rtol)


def qr(x, /, *, mode="reduced"):
    """An orthogonal and an upper triangular matrix whose product is x."""
    return QR(*_linalg.qr(x, mode=mode))


def slogdet(x, /):
    """The sign of the determinant and the logarithm of its absolute value."""
    return Slogdet(*_linalg.slogdet(x))


def solve(x1, x2, /):
    """What x1 has to be multiplied with to give x2, which is a vector if it has one axis, else matrices."""
    x1, x2 = promoted(x1, x2)
    if x2.ndim == 1:
        return _linalg.solve(x1, x2.unsqueeze(-1).expand(*x1.shape[:-1], 1)).squeeze(-1)
    batch = wisp.broadcast_tensors(x1[..., 0, 0], x2[..., 0, 0])[0].shape
    return _linalg.solve(x1.expand(*batch, *x1.shape[-2:]), x2.expand(*batch, *x2.shape[-2:]))


def svd(x, /, *, full_matrices=True):
    """Singular values and vectors."""
    return SVD(*_linalg.svd(x, full_matrices=full_matrices))


def svdvals(x, /):
    """Singular values, the largest first."""
    return _linalg.svdvals(x)


def tensordot(x1, x2, /, *, axes=2):
    """The sum of products over some axes of both."""
    return wisp.tensordot(*promoted(x1, x2), dims=axes)


def trace(x, /, *, offset=0, dtype=None):
    """The sum of a diagonal."""
    return wisp.sum(diagonal(x, offset=offset), -1, dtype=_sum_dtype(x, dtype))


def vecdot(x1, x2, /, *, axis=-1):
    """The sum of products along an axis, the first factor conjugated."""
    if not -min(x1.ndim, x2.ndim) <= axis < 0:
        raise ValueError(f"vecdot(): expected a negative axis of both arrays, got {axis}")
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot(): expected equal lengths, got {x1.shape[axis]} and {x2.shape[axis]}")
    x1, x2 = promoted(x1, x2)
    return wisp.sum(wisp.conj(x1) * x2, axis, dtype=x1.dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """A norm of vectors along axes, by default of all elements."""
    if axis == ():
        axis, x = -1, x.unsqueeze(-1)
        keepdims = False
    return _linalg.vector_norm(x, ord, dim=axis, keepdim=keepdims)


__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot",
    "trace", "vecdot", "vector_norm",
]  # fmt: skip
