"""abs(x) of a distribution that is symmetric around 0."""

import math

import wisp
from wisp.distributions import constraints
from wisp.distributions.transformed_distribution import TransformedDistribution
from wisp.distributions.transforms import AbsTransform


class Folded(TransformedDistribution):
    """What HalfNormal and HalfCauchy have in common: twice the density, on one side."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, symmetric, validate_args=None):
        super().__init__(symmetric, AbsTransform(), validate_args=validate_args)

    scale = property(lambda self: self.base_dist.scale)
    mode = property(lambda self: wisp.zeros_like(self.scale))

    def log_prob(self, value):
        self._check(value)
        value = wisp.as_tensor(value, dtype=self.scale.dtype)
        return wisp.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        self._check(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob):
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)
