"""The normal distribution and those made of it."""

import math

import wisp
from wisp.distributions import constraints
from wisp.distributions._folded import Folded
from wisp.distributions.distribution import EMPTY
from wisp.distributions.exp_family import ExponentialFamily
from wisp.distributions.transformed_distribution import TransformedDistribution
from wisp.distributions.transforms import ExpTransform, StickBreakingTransform
from wisp.distributions.utils import _standard_normal

__all__ = ["HalfNormal", "LogNormal", "LogisticNormal", "Normal"]


class Normal(ExponentialFamily):
    """The normal distribution.

    Args:
        loc: the mean.
        scale: the standard deviation.
        validate_args: whether arguments are checked.

    >>> from wisp.distributions import Normal
    >>> Normal(0.0, 2.0).log_prob(wisp.tensor([0.0, 2.0]))
    tensor([-1.6121, -2.1121])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(self._keep(loc=loc, scale=scale), validate_args=validate_args)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale.square())

    def rsample(self, sample_shape=EMPTY):
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype)
        return self.loc + noise * self.scale

    def log_prob(self, value):
        self._check(value)
        z = (value - self.loc) / self.scale
        return -z.square() / 2 - self.scale.log() - math.log(2 * math.pi) / 2

    def cdf(self, value):
        self._check(value)
        return 0.5 * (1 + wisp.erf((value - self.loc) / (self.scale * math.sqrt(2))))

    def icdf(self, value):
        return self.loc + self.scale * wisp.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    @property
    def _natural_params(self):
        return self.loc / self.scale.square(), -0.5 * self.scale.square().reciprocal()

    def _log_normalizer(self, x, y):
        return -0.25 * x.square() / y + 0.5 * (-math.pi / y).log()


class LogNormal(TransformedDistribution):
    """The distribution of exp(x) where x is normal.

    Args:
        loc: the mean of x.
        scale: the standard deviation of x.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    loc = property(lambda self: self.base_dist.loc)
    scale = property(lambda self: self.base_dist.scale)
    mean = property(lambda self: (self.loc + self.scale.square() / 2).exp())
    mode = property(lambda self: (self.loc - self.scale.square()).exp())

    @property
    def variance(self):
        scale_sq = self.scale.square()
        return scale_sq.expm1() * (2 * self.loc + scale_sq).exp()

    def entropy(self):
        return self.base_dist.entropy() + self.loc


class HalfNormal(Folded):
    """The distribution of abs(x) where x is normal with mean 0.

    Args:
        scale: the standard deviation of x.
        validate_args: whether arguments are checked.
    """

    def __init__(self, scale, validate_args=None):
        super().__init__(Normal(0, scale, validate_args=False), validate_args)

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale.square() * (1 - 2 / math.pi))


class LogisticNormal(TransformedDistribution):
    """The distribution on the simplex of broken sticks of normal vectors; see `StickBreakingTransform`.

    Args:
        loc: the mean of the vectors, one element less than a point of the simplex has.
        scale: their standard deviation.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=validate_args)
        base = base if base.batch_shape else base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    loc = property(lambda self: self.base_dist.base_dist.loc)
    scale = property(lambda self: self.base_dist.base_dist.scale)
