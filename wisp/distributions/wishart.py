"""Distributions of matrices: Wishart, and Cholesky factors of correlations (LKJ)."""

import math
import warnings

import wisp
from wisp import Size
from wisp.distributions import constraints
from wisp.distributions._covariance import GivenByCovariance, factor_of, given_matrix
from wisp.distributions.dirichlet import Beta
from wisp.distributions.distribution import EMPTY, Distribution
from wisp.distributions.exp_family import ExponentialFamily
from wisp.distributions.utils import as_tensors

__all__ = ["LKJCholesky", "Wishart"]


class Wishart(GivenByCovariance, ExponentialFamily):
    """The Wishart distribution: that of the sum of `df` outer products of normal vectors with themselves.

    Args:
        df: the degrees of freedom, more than the matrices' size minus 1.
        covariance_matrix: the covariance of the vectors; or one of the next two.
        precision_matrix: its inverse.
        scale_tril: its lower Cholesky factor.
        validate_args: whether arguments are checked.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _event_dims = {"df": 0, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        given = given_matrix(covariance_matrix, precision_matrix, scale_tril)
        if given is None:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        name, matrix = given
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        matrix, df = as_tensors(matrix, df)
        df = df if df.is_floating_point() else df.to(matrix.dtype)
        dimension = matrix.shape[-1]
        if df.le(dimension - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {dimension - 1}.")
        batch_shape = self._keep(**{name: matrix, "df": df})
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)
        if self.df.lt(dimension).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )

    @property
    def arg_constraints(self):
        """The covariance in three ways, and the degrees of freedom, which depend on its size."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    _p = property(lambda self: self._event_shape[-1])
    mean = property(lambda self: self.df[..., None, None] * self.covariance_matrix)

    @property
    def mode(self):
        """Where the density is largest; nan up to one degree of freedom more than the size."""
        factor = self.df - self._p - 1
        return wisp.where(factor <= 0, math.nan, factor)[..., None, None] * self.covariance_matrix

    @property
    def variance(self):
        v = self.covariance_matrix
        diag = v.diagonal(dim1=-2, dim2=-1)
        return self.df[..., None, None] * (v.square() + diag.unsqueeze(-1) * diag.unsqueeze(-2))

    def rsample(self, sample_shape=EMPTY, max_try_correction=None):
        """Draws as `Distribution.rsample`; those that rounding made singular are drawn again, some times.

        Args:
            sample_shape: the shape of the draws.
            max_try_correction: how often at most, 10 times unless given.
        """
        shape = self._extended_shape(sample_shape)
        draws = self._bartlett(shape)
        for _ in range(10 if max_try_correction is None else max_try_correction):
            singular = ~self.support.check(draws.detach())
            if not singular.any():
                break
            warnings.warn("Singular sample detected.", stacklevel=2)
            draws = wisp.where(singular[..., None, None], self._bartlett(shape), draws)
        return draws

    def _bartlett(self, shape):
        """Squares of Bartlett's factors: normal numbers below a diagonal of roots of chi-squared ones."""
        halves = (self.df.unsqueeze(-1) - wisp.arange(self._p, dtype=self.df.dtype)) / 2
        diag = (2 * wisp._standard_gamma(halves.expand(shape[:-1]))).clamp(min=wisp.finfo(halves.dtype).tiny).sqrt()
        normal = wisp.randn(shape, dtype=self.df.dtype).tril(-1)
        factor = self._unbroadcasted_scale_tril @ (normal + diag.diag_embed())
        return factor @ factor.mT

    def log_prob(self, value):
        self._check(value)
        nu, p = self.df, self._p
        log_norm = nu * (self._half_log_det() + p * math.log(2) / 2) + wisp.mvlgamma(nu / 2, p)
        trace = wisp.cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (nu - p - 1) / 2 * wisp.linalg.slogdet(value).logabsdet - trace / 2 - log_norm

    def entropy(self):
        nu, p = self.df, self._p
        of_vectors = (p + 1) * (self._half_log_det() + p * math.log(2) / 2)
        return of_vectors + wisp.mvlgamma(nu / 2, p) - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p) + nu * p / 2

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._p - 1) / 2

    def _log_normalizer(self, x, y):
        half_df = y + (self._p + 1) / 2
        return half_df * (-wisp.linalg.slogdet(-2 * x).logabsdet + self._p * math.log(2)) + wisp.mvlgamma(
            half_df, self._p
        )


def _mvdigamma(x, p):
    """The derivative of mvlgamma."""
    return wisp.digamma(x.unsqueeze(-1) - wisp.arange(p, dtype=x.dtype) / 2).sum(-1)


class LKJCholesky(Distribution):
    """The distribution of lower Cholesky factors of correlation matrices R with density ``det(R)^(concentration - 1)``
    (Lewandowski, Kurowicka and Joe 2009).

    Args:
        dim: the size of the matrices.
        concentration: 1 is uniform over correlation matrices; more is closer to the identity.
        validate_args: whether arguments are checked.

    >>> from wisp.distributions import LKJCholesky
    >>> factor = LKJCholesky(3, 0.5).sample()
    >>> (factor @ factor.mT).diagonal()
    tensor([1., 1., 1.])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        batch_shape = self._keep(concentration=concentration)
        super().__init__(batch_shape, Size((dim, dim)), validate_args=validate_args)
        self._beta = _onion_layers(self.concentration, dim)

    def _expand_into(self, new, batch_shape):
        super()._expand_into(new, batch_shape)
        new.dim = self.dim
        new._beta = self._beta.expand((*batch_shape, self.dim))

    def sample(self, sample_shape=EMPTY):
        """The onion method: row by row, a direction from the sphere and a length from a beta distribution."""
        with wisp.no_grad():
            squared = self._beta.sample(sample_shape).unsqueeze(-1)
            normal = wisp.randn(self._extended_shape(sample_shape), dtype=squared.dtype).tril(-1)
            direction = normal / normal.norm(dim=-1, keepdim=True)
            direction[..., 0, :] = 0  # the first row has nothing left of the diagonal
            below = squared.sqrt() * direction
            diag = (1 - below.square().sum(-1)).clamp(min=wisp.finfo(below.dtype).tiny).sqrt()
            return below + diag.diag_embed()

    def log_prob(self, value):
        """Each row counts by the power of its diagonal element that its dimension gives."""
        self._check(value)
        n = self.dim - 1
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = 2 * (self.concentration - 1).unsqueeze(-1) + wisp.arange(n - 1, -1, -1, dtype=value.dtype)
        alpha = self.concentration + 0.5 * n
        log_norm = 0.5 * n * math.log(math.pi) + wisp.mvlgamma(alpha - 0.5, n) - n * wisp.lgamma(alpha)
        return (order * diagonal.log()).sum(-1) - log_norm


def _onion_layers(concentration, dim):
    """The distributions of the squared lengths of the rows, left of the diagonal. (Of the first row nothing is left.)"""
    left = wisp.arange(dim, dtype=concentration.dtype).clamp(min=1)  # how many elements
    return Beta(left / 2, concentration.unsqueeze(-1) + (dim - 1 - left) / 2)
