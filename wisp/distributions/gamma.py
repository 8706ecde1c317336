"""The gamma distribution and its relatives."""

import wisp
from wisp.distributions import constraints
from wisp.distributions.distribution import EMPTY, Distribution
from wisp.distributions.exp_family import ExponentialFamily
from wisp.distributions.transformed_distribution import TransformedDistribution
from wisp.distributions.transforms import PowerTransform

__all__ = ["Chi2", "Exponential", "FisherSnedecor", "Gamma", "InverseGamma"]


class Gamma(ExponentialFamily):
    """The gamma distribution.

    Args:
        concentration: the shape, often alpha.
        rate: the inverse of the scale, often beta.
        validate_args: whether arguments are checked.

    Draws are differentiable in the concentration by implicit differentiation of the cumulative distribution function.
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration, rate, validate_args=None):
        super().__init__(self._keep(concentration=concentration, rate=rate), validate_args=validate_args)

    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate.square())

    def rsample(self, sample_shape=EMPTY):
        draws = wisp._standard_gamma(self.concentration.expand(self._extended_shape(sample_shape))) / self.rate
        return draws.clamp(min=wisp.finfo(draws.dtype).tiny)

    def log_prob(self, value):
        value = wisp.as_tensor(value, dtype=self.rate.dtype)
        self._check(value)
        of_value = wisp.xlogy(self.concentration - 1, value) - self.rate * value
        return wisp.xlogy(self.concentration, self.rate) + of_value - wisp.lgamma(self.concentration)

    def cdf(self, value):
        self._check(value)
        return wisp.special.gammainc(self.concentration, self.rate * value)

    def entropy(self):
        of_shape = wisp.lgamma(self.concentration) + (1 - self.concentration) * wisp.digamma(self.concentration)
        return self.concentration - self.rate.log() + of_shape

    @property
    def _natural_params(self):
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y):
        return wisp.lgamma(x + 1) - (x + 1) * (-y).log()


class Chi2(Gamma):
    """The chi-squared distribution: that of the sum of the squares of `df` normal numbers.

    Args:
        df: the degrees of freedom.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df, validate_args=None):
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    df = property(lambda self: self.concentration * 2)


class Exponential(ExponentialFamily):
    """The exponential distribution.

    Args:
        rate: the inverse of the mean.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, rate, validate_args=None):
        super().__init__(self._keep(rate=rate), validate_args=validate_args)

    mean = property(lambda self: self.rate.reciprocal())
    mode = property(lambda self: wisp.zeros_like(self.rate))
    stddev = property(lambda self: self.rate.reciprocal())
    variance = property(lambda self: self.rate.pow(-2))

    def rsample(self, sample_shape=EMPTY):
        return wisp.empty(self._extended_shape(sample_shape), dtype=self.rate.dtype).exponential_() / self.rate

    def log_prob(self, value):
        self._check(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        self._check(value)
        return -wisp.expm1(-self.rate * value)

    def icdf(self, value):
        return -wisp.log1p(-value) / self.rate

    def entropy(self):
        return 1 - self.rate.log()

    @property
    def _natural_params(self):
        return (-self.rate,)

    def _log_normalizer(self, x):
        return -(-x).log()


class InverseGamma(TransformedDistribution):
    """The distribution of 1 / x where x is gamma distributed.

    Args:
        concentration: the shape of x.
        rate: the rate of x.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration, rate, validate_args=None):
        base = Gamma(concentration, rate, validate_args=validate_args)
        transform = PowerTransform(-wisp.ones((), dtype=base.rate.dtype))
        super().__init__(base, transform, validate_args=validate_args)

    concentration = property(lambda self: self.base_dist.concentration)
    rate = property(lambda self: self.base_dist.rate)
    mode = property(lambda self: self.rate / (self.concentration + 1))

    @property
    def mean(self):
        return wisp.where(self.concentration > 1, self.rate / (self.concentration - 1), wisp.inf)

    @property
    def variance(self):
        a = self.concentration
        return wisp.where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), wisp.inf)

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + wisp.lgamma(a) - (1 + a) * wisp.digamma(a)


class FisherSnedecor(Distribution):
    """The F-distribution: that of the quotient of two chi-squared numbers, each by its degrees of freedom.

    Args:
        df1: the degrees of freedom of the numerator.
        df2: those of the denominator.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1, df2, validate_args=None):
        super().__init__(self._keep(df1=df1, df2=df2), validate_args=validate_args)

    @property
    def mean(self):
        return wisp.where(self.df2 > 2, self.df2 / (self.df2 - 2), wisp.nan)

    @property
    def mode(self):
        return wisp.where(self.df1 > 2, (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2), wisp.nan)

    @property
    def variance(self):
        a, b = self.df1, self.df2
        spread = 2 * b.square() * (a + b - 2) / (a * (b - 2).square() * (b - 4))
        return wisp.where(b > 4, spread, wisp.nan)

    def rsample(self, sample_shape=EMPTY):
        shape = self._extended_shape(sample_shape)
        above, below = (wisp._standard_gamma((df / 2).expand(shape)) / df for df in (self.df1, self.df2))
        tiny = wisp.finfo(self.df2.dtype).tiny
        return (above / below.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value):
        self._check(value)
        a, b, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        log_beta = wisp.lgamma(a) + wisp.lgamma(b) - wisp.lgamma(a + b)
        return a * ratio.log() + (a - 1) * value.log() - (a + b) * wisp.log1p(ratio * value) - log_beta
