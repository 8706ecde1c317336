"""Covariances that are given in one of three ways, and kept as a Cholesky factor."""

import wisp
from wisp.distributions.utils import lazy_property


def _precision_to_scale_tril(precision):
    """The Cholesky factor of the inverse, without inverting: by the factor of the matrix read backwards."""
    backwards = wisp.linalg.cholesky(precision.flip((-2, -1)))
    inverse_factor = backwards.flip((-2, -1)).mT
    identity = wisp.eye(precision.shape[-1], dtype=precision.dtype)
    return wisp.linalg.solve_triangular(inverse_factor, identity, upper=False)


def given_matrix(covariance_matrix, precision_matrix, scale_tril):
    """The name and the value of the one that is not None; None if there is not exactly one."""
    names = ("covariance_matrix", "precision_matrix", "scale_tril")
    given = [(n, m) for n, m in zip(names, (covariance_matrix, precision_matrix, scale_tril)) if m is not None]
    return given[0] if len(given) == 1 else None


def factor_of(name, matrix):
    """The lower Cholesky factor of the covariance that is given in one of three ways."""
    if name == "scale_tril":
        return matrix
    return wisp.linalg.cholesky(matrix) if name == "covariance_matrix" else _precision_to_scale_tril(matrix)


class GivenByCovariance:
    """A distribution with a covariance, or a batch of them, of which it computes what was not given.

    The constructor keeps the lower Cholesky factor as `_unbroadcasted_scale_tril`: of as many matrices as were given, which may
    be fewer than the batch has.
    """

    def _expand_into(self, new, batch_shape):
        super()._expand_into(new, batch_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril

    def _whole_batch(self, matrix):
        return matrix.expand(self._batch_shape + matrix.shape[-2:])

    @lazy_property
    def scale_tril(self):
        """The lower Cholesky factor of the covariance."""
        return self._whole_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        """The covariance."""
        return self._whole_batch(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance."""
        return self._whole_batch(wisp.cholesky_inverse(self._unbroadcasted_scale_tril))

    def _half_log_det(self):
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
