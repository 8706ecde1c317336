"""Distributions of extremes: Pareto, generalised Pareto, Weibull."""

import wisp
from wisp.distributions import constraints
from wisp.distributions.distribution import EMPTY, Distribution
from wisp.distributions.gamma import Exponential
from wisp.distributions.transformed_distribution import TransformedDistribution
from wisp.distributions.transforms import AffineTransform, ExpTransform, PowerTransform
from wisp.distributions.utils import euler_constant

__all__ = ["GeneralizedPareto", "Pareto", "Weibull"]


class Pareto(TransformedDistribution):
    """The Pareto distribution: a power law above a scale.

    Args:
        scale: the smallest value.
        alpha: the exponent of the tail.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale, alpha, validate_args=None):
        self._keep(scale=scale, alpha=alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """From the scale on."""
        return constraints.greater_than_eq(self.scale)

    mode = property(lambda self: self.scale)

    @property
    def mean(self):
        a = self.alpha.clamp(min=1)  # infinite up to there
        return a * self.scale / (a - 1)

    @property
    def variance(self):
        a = self.alpha.clamp(min=2)
        return self.scale.square() * a / ((a - 1).square() * (a - 2))

    def entropy(self):
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class GeneralizedPareto(Distribution):
    """The generalised Pareto distribution: that of what is left above a high threshold.

    Args:
        loc: the threshold.
        scale: the scale.
        concentration: the shape of the tail: a power law if positive, exponential at 0, bounded if negative.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc, scale, concentration, validate_args=None):
        batch_shape = self._keep(loc=loc, scale=scale, concentration=concentration)
        super().__init__(batch_shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """From the threshold to the bound, which is infinite unless the concentration is negative."""
        bound = self.loc - self.scale / self._shape()
        return constraints.interval(self.loc, wisp.where(self.concentration < 0, bound, wisp.inf))

    mode = property(lambda self: self.loc)

    @property
    def mean(self):
        c = self.concentration
        return wisp.where(c < 1, self.loc + self.scale / (1 - c), wisp.nan)

    @property
    def variance(self):
        c = self.concentration
        return wisp.where(c < 0.5, self.scale.square() / ((1 - c).square() * (1 - 2 * c)), wisp.nan)

    def _is_exponential(self):
        return wisp.isclose(self.concentration, wisp.zeros_like(self.concentration))

    def _shape(self):
        """The concentration where it matters, else 1, so that one can divide by it."""
        return wisp.where(self._is_exponential(), wisp.ones_like(self.concentration), self.concentration)

    def _z(self, value):
        return (value - self.loc) / self.scale

    def rsample(self, sample_shape=EMPTY):
        return self.icdf(wisp.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype))

    def log_prob(self, value):
        self._check(value)
        z, c = self._z(value), self._shape()
        power_law = -(1 / c + 1) * wisp.log1p(c * z)
        return wisp.where(self._is_exponential(), -z, power_law) - self.scale.log()

    def log_survival_function(self, value):
        """The logarithm of the probability of a draw above a value."""
        self._check(value)
        z, c = self._z(value), self._shape()
        return wisp.where(self._is_exponential(), -z, -wisp.log1p(c * z) / c)

    def log_cdf(self, value):
        """The logarithm of `cdf`."""
        return wisp.log1p(-self.log_survival_function(value).exp())

    def cdf(self, value):
        return -self.log_survival_function(value).expm1()

    def icdf(self, value):
        log_survival, c = wisp.log1p(-value), self._shape()
        return self.loc + self.scale * wisp.where(
            self._is_exponential(), -log_survival, wisp.expm1(-c * log_survival) / c
        )

    def entropy(self):
        return self.scale.log() + self.concentration + 1


class Weibull(TransformedDistribution):
    """The Weibull distribution of lifetimes.

    Args:
        scale: the scale, often lambda.
        concentration: the shape, often k.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale, concentration, validate_args=None):
        self._keep(scale=scale, concentration=concentration)
        base = Exponential(wisp.ones_like(self.scale), validate_args=validate_args)
        transforms = [PowerTransform(self.concentration.reciprocal()), AffineTransform(0, self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, n):
        """The mean of the n-th power of value / scale."""
        return wisp.lgamma(1 + n / self.concentration).exp()

    mean = property(lambda self: self.scale * self._moment(1))
    variance = property(lambda self: self.scale.square() * (self._moment(2) - self._moment(1).square()))

    @property
    def mode(self):
        above = ((self.concentration - 1) / self.concentration).clamp(min=0)  # up to a concentration of 1 it is 0
        return self.scale * above.pow(self.concentration.reciprocal())

    def entropy(self):
        c = self.concentration
        return euler_constant * (1 - c.reciprocal()) + (self.scale / c).log() + 1
