"""Batch dimensions taken as event dimensions."""

from wisp.distributions import constraints
from wisp.distributions.distribution import EMPTY, Distribution
from wisp.distributions.utils import _sum_rightmost

__all__ = ["Independent"]


class Independent(Distribution):
    """A distribution whose last batch dimensions are taken as dimensions of one event.

    Args:
        base_distribution: the distribution.
        reinterpreted_batch_ndims: how many dimensions.
        validate_args: whether arguments are checked.

    >>> from wisp.distributions import Independent, Normal
    >>> vectors = Independent(Normal(wisp.zeros(5, 3), wisp.ones(5, 3)), 1)
    >>> vectors.batch_shape, vectors.event_shape
    (wisp.Size([5]), wisp.Size([3]))
    """

    arg_constraints = {}

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        batch_shape = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch_shape):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {len(batch_shape)}"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        cut = len(batch_shape) - reinterpreted_batch_ndims
        event_shape = batch_shape[cut:] + base_distribution.event_shape
        super().__init__(batch_shape[:cut], event_shape, validate_args=validate_args)

    def _expand_into(self, new, batch_shape):
        new.base_dist = self.base_dist.expand(batch_shape + self.event_shape[: self.reinterpreted_batch_ndims])
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims

    has_rsample = property(lambda self: self.base_dist.has_rsample)
    has_enumerate_support = property(
        lambda self: self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support
    )
    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    @constraints.dependent_property
    def support(self):
        """The support of the distribution, with more dimensions."""
        support = self.base_dist.support
        if self.reinterpreted_batch_ndims:
            support = constraints.independent(support, self.reinterpreted_batch_ndims)
        return support

    def sample(self, sample_shape=EMPTY):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=EMPTY):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand=True):
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
