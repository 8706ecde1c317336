"""Distributions on the simplex and on the unit interval: Dirichlet, beta, Kumaraswamy."""

import wisp
from wisp.autograd import Function
from wisp.autograd.function import once_differentiable
from wisp.distributions import constraints
from wisp.distributions.distribution import EMPTY
from wisp.distributions.exp_family import ExponentialFamily
from wisp.distributions.location_scale import Uniform
from wisp.distributions.transformed_distribution import TransformedDistribution
from wisp.distributions.transforms import AffineTransform, PowerTransform
from wisp.distributions.utils import broadcast_all, euler_constant, uniform_open

__all__ = ["Beta", "Dirichlet", "Kumaraswamy"]


class _LogGamma(Function):
    """Logarithms of gamma draws: for small concentrations the draws themselves are too small for a float.

    The derivative is that of the cumulative distribution function, solved for the draw.
    """

    @staticmethod
    def forward(ctx, concentration):
        u = uniform_open(concentration.shape, concentration.dtype)
        draws = wisp._standard_gamma(concentration + 1).log() + u.log() / concentration
        ctx.save_for_backward(concentration, draws)
        ctx.save_for_forward(concentration, draws)
        return draws

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return grad * _slope(*ctx.saved_tensors)

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * _slope(*ctx.saved_tensors)


def _slope(concentration, draws):
    """How logarithms of gamma draws move with the concentration."""
    gamma, eps, largest = draws.exp(), wisp.finfo(draws.dtype).eps, wisp.finfo(draws.dtype).max
    # Close to 0 the cumulative distribution is x^a / Gamma(a + 1), up to a factor 1 - x.
    near_zero = (wisp.digamma(concentration + 1) - draws) / concentration
    implicit = wisp._standard_gamma_grad(concentration, gamma.clamp(min=eps)) / gamma
    return wisp.where(gamma < eps, near_zero, implicit).clamp(max=largest)


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution on the simplex.

    Args:
        concentration: positive numbers, as many as a point has, often alpha.
        validate_args: whether arguments are checked.

    >>> from wisp.distributions import Dirichlet
    >>> Dirichlet(wisp.tensor([1.0, 2.0, 1.0])).mean
    tensor([0.2500, 0.5000, 0.2500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        batch_shape = self._keep(concentration=concentration)
        super().__init__(batch_shape, concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self):
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self):
        """Where the density is largest; a corner if all concentrations are less than 1."""
        above = (self.concentration - 1).clamp(min=0)
        inside = above / above.sum(-1, True)
        corner = wisp.nn.functional.one_hot(inside.argmax(-1), self.event_shape[-1]).to(inside.dtype)
        return wisp.where((self.concentration < 1).all(-1, True), corner, inside)

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.square() * (total + 1))

    def rsample(self, sample_shape=EMPTY):
        """Draws as `Distribution.rsample`, none of them at an end, where densities may be infinite."""
        draws = _LogGamma.apply(self.concentration.expand(self._extended_shape(sample_shape))).softmax(-1)
        limits = wisp.finfo(draws.dtype)
        return draws.clamp(min=limits.tiny, max=1 - limits.eps / 2)

    def log_prob(self, value):
        self._check(value)
        total = wisp.lgamma(self.concentration.sum(-1))
        return wisp.xlogy(self.concentration - 1, value).sum(-1) + total - wisp.lgamma(self.concentration).sum(-1)

    def entropy(self):
        a, k = self.concentration, self.concentration.shape[-1]
        total = a.sum(-1)
        log_beta = wisp.lgamma(a).sum(-1) - wisp.lgamma(total)
        return log_beta - (k - total) * wisp.digamma(total) - ((a - 1) * wisp.digamma(a)).sum(-1)

    @property
    def _natural_params(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return wisp.lgamma(x).sum(-1) - wisp.lgamma(x.sum(-1))


class Beta(ExponentialFamily):
    """The beta distribution on the unit interval.

    Args:
        concentration1: the exponent of x in the density, plus 1; often alpha.
        concentration0: that of 1 - x; often beta.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        both = wisp.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    def _expand_into(self, new, batch_shape):
        new._dirichlet = self._dirichlet.expand(batch_shape)

    concentration1 = property(lambda self: self._dirichlet.concentration[..., 0])
    concentration0 = property(lambda self: self._dirichlet.concentration[..., 1])
    mean = property(lambda self: self._dirichlet.mean[..., 0])
    mode = property(lambda self: self._dirichlet.mode[..., 0])
    variance = property(lambda self: self._dirichlet.variance[..., 0])

    def rsample(self, sample_shape=EMPTY):
        return self._dirichlet.rsample(sample_shape)[..., 0]

    def log_prob(self, value):
        self._check(value)
        return self._dirichlet.log_prob(wisp.stack([value, 1 - value], -1))

    def entropy(self):
        return self._dirichlet.entropy()

    @property
    def _natural_params(self):
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x, y):
        return wisp.lgamma(x) + wisp.lgamma(y) - wisp.lgamma(x + y)


class Kumaraswamy(TransformedDistribution):
    """The Kumaraswamy distribution on the unit interval.

    Args:
        concentration1: the exponent of x in ``1 - (1 - x ** concentration1) ** concentration0``, its distribution
            function.
        concentration0: the other exponent.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        self._keep(concentration1=concentration1, concentration0=concentration0)
        base = Uniform(wisp.zeros_like(self.concentration0), 1, validate_args=validate_args)
        transforms = [PowerTransform(self.concentration0.reciprocal()), AffineTransform(1.0, -1.0),
                      PowerTransform(self.concentration1.reciprocal())]  # fmt: skip
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, n):
        """The mean of the n-th power."""
        a, b = 1 + n / self.concentration1, self.concentration0
        return b * (wisp.lgamma(a) + wisp.lgamma(b) - wisp.lgamma(a + b)).exp()

    mean = property(lambda self: self._moment(1))
    variance = property(lambda self: self._moment(2) - self._moment(1).square())

    @property
    def mode(self):
        """Where the density is largest; nan where that is at an end, or everywhere."""
        a, b = self.concentration1, self.concentration0
        inside = (a >= 1) & (b >= 1) & (a * b > 1)
        return wisp.where(inside, ((a - 1) / (a * b - 1)).pow(a.reciprocal()), wisp.nan)

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        return 1 - 1 / b + (1 - 1 / a) * (wisp.digamma(b + 1) + euler_constant) - a.log() - b.log()
