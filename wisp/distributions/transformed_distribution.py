"""Distributions of transformed draws."""

import wisp
from wisp import Tensor
from wisp.distributions import constraints
from wisp.distributions.distribution import EMPTY, Distribution
from wisp.distributions.independent import Independent
from wisp.distributions.transforms import ComposeTransform, Transform
from wisp.distributions.utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of ``f(x)`` where x is drawn from another one and f is a sequence of transforms.

    Args:
        base_distribution: the distribution of x.
        transforms: a transform or a list of them, the first to be applied first.
        validate_args: whether arguments are checked.

    >>> from wisp.distributions import AffineTransform, SigmoidTransform, TransformedDistribution, Uniform
    >>> logistic = TransformedDistribution(Uniform(0.0, 1.0), [SigmoidTransform().inv, AffineTransform(1.0, 2.0)])
    >>> logistic.log_prob(wisp.tensor(1.0))
    tensor(-2.0794)
    """

    arg_constraints = {}

    def __init__(self, base_distribution, transforms, validate_args=None):
        self.transforms = _as_list(transforms)
        transform, event = ComposeTransform(self.transforms), len(base_distribution.event_shape)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(shape) < transform.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {transform.domain.event_dim}, but got {shape}."
            )
        forward_shape = transform.forward_shape(shape)
        base_shape = transform.inverse_shape(forward_shape)
        if base_shape != shape:  # parameters of the transforms enlarge the batch
            base_distribution = base_distribution.expand(base_shape[: len(base_shape) - event])
        to_events = transform.domain.event_dim - event
        self.base_dist = Independent(base_distribution, to_events) if to_events > 0 else base_distribution
        cut = len(forward_shape) - transform.codomain.event_dim - max(-to_events, 0)
        if cut < 0:
            raise ValueError(f"the transforms need a shape with {-cut} more dimensions than {shape}")
        super().__init__(forward_shape[:cut], forward_shape[cut:], validate_args=validate_args)

    def _expand_into(self, new, batch_shape):
        super()._expand_into(new, batch_shape)
        shape = ComposeTransform(self.transforms).inverse_shape(batch_shape + self.event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        """What the last transform gives."""
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        missing = len(self.event_shape) - support.event_dim
        return constraints.independent(support, missing) if missing > 0 else support

    @property
    def has_rsample(self):
        """Whether the base distribution has it."""
        return self.base_dist.has_rsample

    def sample(self, sample_shape=EMPTY):
        with wisp.no_grad():
            x = self.base_dist.sample(sample_shape)
            for transform in self.transforms:
                x = transform(x)
            return x

    def rsample(self, sample_shape=EMPTY):
        x = self.base_dist.rsample(sample_shape)
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value):
        """The density of the base at the inverse of the value, divided by the Jacobian of the transforms."""
        self._check(value)
        event_dim, log_prob, y = len(self.event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            jacobian = transform.log_abs_det_jacobian(x, y)
            log_prob = log_prob - _sum_rightmost(jacobian, event_dim - transform.domain.event_dim)
            y = x
        return log_prob + _sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value):
        """A probability up to a value as one from it on, and back, where the transforms are decreasing."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if not isinstance(sign, Tensor) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value):
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self.base_dist._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value):
        value = self.base_dist.icdf(self._monotonize_cdf(value))
        for transform in self.transforms:
            value = transform(value)
        return value


def _as_list(transforms):
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list):
        raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
    if not all(isinstance(t, Transform) for t in transforms):
        raise ValueError("transforms must be a Transform or a list of Transforms")
    return transforms
