"""Normal distributions of vectors, with full and with low-rank covariances."""

import math

import wisp
from wisp.distributions import constraints
from wisp.distributions._covariance import (
    GivenByCovariance,
    _precision_to_scale_tril,  # noqa: F401  (programs import it from here)
    factor_of,
    given_matrix,
)
from wisp.distributions.distribution import EMPTY, Distribution
from wisp.distributions.utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal", "MultivariateNormal"]


def _batch_mahalanobis(factor, x):
    """The squared norm of ``factor^-1 x``, for batches of lower triangular factors and of vectors that broadcast."""
    batch, n = wisp.broadcast_shapes(factor.shape[:-2], x.shape[:-1]), x.shape[-1]
    # Vectors of one factor become columns of one right-hand side: a factor is never copied.
    shared = len(batch) - (factor.dim() - 2)
    columns = x.expand(batch + (n,)).reshape((batch[:shared].numel(), *batch[shared:], n)).movedim(0, -1)
    solved = wisp.linalg.solve_triangular(factor, columns, upper=False)
    return solved.square().sum(-2).movedim(-1, 0).reshape(batch)


class MultivariateNormal(GivenByCovariance, Distribution):
    """The normal distribution of vectors.

    Args:
        loc: the mean.
        covariance_matrix: the covariance; or one of the next two.
        precision_matrix: the inverse of the covariance.
        scale_tril: the lower Cholesky factor of the covariance; this is the cheapest.
        validate_args: whether arguments are checked.

    >>> from wisp.distributions import MultivariateNormal
    >>> MultivariateNormal(wisp.zeros(2), wisp.eye(2)).log_prob(wisp.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = given_matrix(covariance_matrix, precision_matrix, scale_tril)
        if given is None:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        name, matrix = given
        if matrix.dim() < 2:
            label = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{label} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = self._keep(loc=loc, **{name: matrix})
        super().__init__(batch_shape, loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    @property
    def variance(self):
        return self._unbroadcasted_scale_tril.square().sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=EMPTY):
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype)
        return self.loc + (self._unbroadcasted_scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value):
        self._check(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self):
        entropy = 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi)) + self._half_log_det()
        return entropy.expand(self._batch_shape)


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors whose covariance is ``cov_factor @ cov_factor.mT + diag(cov_diag)``.

    Determinants and inverses are computed of matrices of the rank of the factor, not of the size of the vectors.

    Args:
        loc: the mean.
        cov_factor: the factor, n by the rank.
        cov_diag: the diagonal.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = _capacitance_tril(cov_factor, cov_diag)
        try:
            batch_shape = self._keep(loc=loc, cov_factor=cov_factor, cov_diag=cov_diag)
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    def _expand_into(self, new, batch_shape):
        super()._expand_into(new, batch_shape)
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(new, name, getattr(self, name))

    def _whole_batch(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    @lazy_property
    def variance(self):
        """The diagonal of the covariance."""
        variance = self._unbroadcasted_cov_factor.square().sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self):
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        return self._whole_batch(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def scale_tril(self):
        """The lower Cholesky factor of the covariance."""
        return wisp.linalg.cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance, by Woodbury's formula."""
        diag = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diag.unsqueeze(-2)
        a = wisp.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._whole_batch(diag.reciprocal().diag_embed() - a.mT @ a)

    def rsample(self, sample_shape=EMPTY):
        shape = self._extended_shape(sample_shape)
        factor, diag = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        of_factor = _standard_normal(shape[:-1] + factor.shape[-1:], self.loc.dtype)
        of_diag = _standard_normal(shape, self.loc.dtype)
        return self.loc + (factor @ of_factor.unsqueeze(-1)).squeeze(-1) + diag.sqrt() * of_diag

    def log_prob(self, value):
        self._check(value)
        factor, diag, small = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        distance = _lowrank_mahalanobis(factor, diag, value - self.loc, small)
        log_det = _lowrank_logdet(diag, small)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + distance)

    def entropy(self):
        log_det = _lowrank_logdet(self._unbroadcasted_cov_diag, self._capacitance_tril)
        return (0.5 * (self._event_shape[0] * (1 + math.log(2 * math.pi)) + log_det)).expand(self._batch_shape)


def _capacitance_tril(factor, diag):
    """The Cholesky factor of the matrix ``I + W^T D^-1 W`` of Woodbury's formula."""
    identity = wisp.eye(factor.shape[-1], dtype=factor.dtype)
    return wisp.linalg.cholesky(identity + (factor.mT / diag.unsqueeze(-2)) @ factor)


def _lowrank_logdet(diag, capacitance_tril):
    """The logarithm of the determinant, by the matrix determinant lemma."""
    return 2 * capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) + diag.log().sum(-1)


def _lowrank_mahalanobis(factor, diag, x, capacitance_tril):
    """``x^T (W W^T + D)^-1 x``, by Woodbury's formula."""
    scaled = (factor.mT / diag.unsqueeze(-2)) @ x.unsqueeze(-1)
    return (x.square() / diag).sum(-1) - _batch_mahalanobis(capacitance_tril, scaled.squeeze(-1))
