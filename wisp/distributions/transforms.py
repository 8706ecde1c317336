"""Functions between constrained spaces, with their inverses and Jacobians.

>>> from wisp.distributions.transforms import ExpTransform
>>> t = ExpTransform()
>>> x = wisp.tensor([0.0, 1.0])
>>> t(x), t.inv(wisp.ones(1)), t.log_abs_det_jacobian(x, t(x))
(tensor([1.0000, 2.7183]), tensor([0.]), tensor([0., 1.]))
"""

import math

import wisp
from wisp import Tensor
from wisp.distributions import constraints
from wisp.distributions._joined_transforms import CatTransform, StackTransform
from wisp.distributions._transform import (
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    Stateless,
    Transform,
    _InverseTransform,  # noqa: F401  (programs test for it)
    identity_transform,
)
from wisp.distributions.utils import (
    broadcast_all,
    lazy_property,
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)
from wisp.nn.functional import pad, softplus

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]  # fmt: skip

# --- functions of one number


class ExpTransform(Stateless):
    """y = exp(x)."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class PowerTransform(Transform):
    """y = x ** exponent, of positive numbers.

    Args:
        exponent: a number or a tensor.
        cache_size: see `Transform`.
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size=cache_size)

    @lazy_property
    def sign(self):
        """The sign of the exponent."""
        return self.exponent.sign()

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    __hash__ = None

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return wisp.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class SigmoidTransform(Stateless):
    """y = 1 / (1 + exp(-x)), kept off 0 and 1 by rounding."""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def _call(self, x):
        info = wisp.finfo(x.dtype)
        return wisp.sigmoid(x).clamp(min=info.tiny, max=1 - info.eps)

    def _inverse(self, y):
        info = wisp.finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x) - softplus(x)


class SoftplusTransform(Stateless):
    """y = log(1 + exp(x))."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x):
        return softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x)


class TanhTransform(Stateless):
    """y = tanh(x).

    Close to -1 and 1 the inverse loses digits: ``cache_size=1`` keeps x.
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return wisp.atanh(y)

    def log_abs_det_jacobian(self, x, y):
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))  # log(1 - tanh(x)^2), exact for large x too


class AbsTransform(Stateless):
    """y = abs(x); the inverse takes the non-negative argument."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(Transform):
    """y = loc + scale * x.

    Args:
        loc: a number or a tensor.
        scale: a number or a tensor.
        event_dim: how many of the last dimensions are one value.
        cache_size: see `Transform`.
    """

    bijective = True

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self):
        """How many of the last dimensions are one value."""
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        """Real numbers."""
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    codomain = domain

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other):
        if not isinstance(other, AffineTransform):
            return False
        return _all_equal(self.loc, other.loc) and _all_equal(self.scale, other.scale)

    __hash__ = None

    @property
    def sign(self):
        """The sign of the scale."""
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        if isinstance(self.scale, Tensor):
            result = self.scale.abs().log()
        else:
            result = wisp.full_like(x, math.log(abs(self.scale)))
        batch_shape = x.shape[: x.dim() - self.event_dim]
        if self.event_dim:
            result = result.expand(wisp.broadcast_shapes(result.shape, x.shape[x.dim() - self.event_dim :]))
            result = result.reshape(result.shape[: result.dim() - self.event_dim] + (-1,)).sum(-1)
        return result.expand(batch_shape)

    def forward_shape(self, shape):
        return wisp.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


def _all_equal(a, b):
    equal = a == b
    return bool(equal.all()) if isinstance(equal, Tensor) else equal


class CumulativeDistributionTransform(Transform):
    """y = cdf(x) of a distribution, from its support to the unit interval.

    Args:
        distribution: a distribution of one number with ``cdf`` and ``icdf``.
        cache_size: see `Transform`.
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self):
        """The support of the distribution."""
        return self.distribution.support

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)


# --- functions of vectors


class SoftmaxTransform(Stateless):
    """y = softmax(x) along the last dimension; not bijective, the inverse takes logarithms."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x):
        return x.softmax(-1)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        return _at_least(1, shape)

    inverse_shape = forward_shape


class StickBreakingTransform(Stateless):
    """Breaks a stick of length 1 into one piece more than there are numbers, one after the other.

    Each number says, by its sigmoid, which part of what is left is broken off; numbers of 0 give equal pieces. This is
    the bijection from unconstrained vectors to the simplex that samplers and variational inference use.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x):
        z = wisp.sigmoid(x - _pieces_left(x.shape[-1], x).log())
        left = (1 - z).cumprod(-1)
        return pad(z, [0, 1], value=1.0) * pad(left, [1, 0], value=1.0)

    def _inverse(self, y):
        cut = y[..., :-1]
        left = (1 - cut.cumsum(-1)).clamp(min=wisp.finfo(y.dtype).tiny)
        return cut.log() - left.log() + _pieces_left(cut.shape[-1], y).log()

    def log_abs_det_jacobian(self, x, y):
        x = x - _pieces_left(x.shape[-1], x).log()
        return (-x + wisp.nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        shape = _at_least(1, shape)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape):
        shape = _at_least(1, shape)
        return shape[:-1] + (shape[-1] - 1,)


def _pieces_left(n, like):
    """n, n - 1, ..., 1: how many pieces are to be broken off before each."""
    return wisp.arange(n, 0, -1, dtype=like.dtype)


def _at_least(dims, shape):
    if len(shape) < dims:
        raise ValueError("Too few dimensions on input")
    return shape


# --- functions that give matrices


class CorrCholeskyTransform(Transform):
    """From n (n - 1) / 2 numbers to the lower Cholesky factor of an n by n correlation matrix.

    The tangents of the numbers are partial correlations; a row of the factor is broken off a vector of length 1 by
    them, as a stick would be by its squares.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        eps = wisp.finfo(x.dtype).eps
        r = vec_to_tril_matrix(wisp.tanh(x).clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r * r).sqrt().cumprod(-1)  # of the row's length, after each element
        r = r + wisp.eye(r.shape[-1], dtype=r.dtype)
        return r * pad(left[..., :-1], [1, 0], value=1.0)

    def _inverse(self, y):
        # In a row of length 1, the squares from here on are what the squares before leave.
        left = 1 - (y * y).cumsum(-1)
        left = pad(left[..., :-1], [1, 0], value=1.0)
        below = tril_matrix_to_vec(y, diag=-1)
        t = below / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x, y, intermediates=None):
        left = 1 - (y * y).cumsum(-1)
        of_rows = 0.5 * tril_matrix_to_vec(left, diag=-2).log().sum(-1)
        of_tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return of_rows + of_tanh

    def forward_shape(self, shape):
        k = _at_least(1, shape)[-1]
        n = round((0.25 + 2 * k) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != k:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (n, n)

    def inverse_shape(self, shape):
        if _at_least(2, shape)[-2] != shape[-1]:
            raise ValueError("Input is not square")
        n = shape[-1]
        return shape[:-2] + (n * (n - 1) // 2,)


class LowerCholeskyTransform(Stateless):
    """From square matrices to lower triangular ones with a positive diagonal, by the exponential of the diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Stateless):
    """From square matrices to symmetric positive definite ones, by way of their Cholesky factor."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(wisp.linalg.cholesky(y))
