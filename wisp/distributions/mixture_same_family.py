"""Mixtures."""

import wisp
from wisp import Size
from wisp.distributions import constraints
from wisp.distributions.distribution import EMPTY, Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture of distributions of one family.

    Args:
        mixture_distribution: a Categorical, the weights of the components.
        component_distribution: the components: a distribution whose last batch dimension runs over them.
        validate_args: whether arguments are checked.

    >>> from wisp.distributions import Categorical, MixtureSameFamily, Normal
    >>> weights, components = Categorical(wisp.ones(2)), Normal(wisp.tensor([-1.0, 3.0]), wisp.ones(2))
    >>> MixtureSameFamily(weights, components).mean
    tensor(1.)
    """

    arg_constraints = {}

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        from wisp.distributions.categorical import Categorical

        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        self._check_shapes(mixture_distribution.batch_shape, component_distribution.batch_shape)
        self._event_ndims = len(component_distribution.event_shape)
        batch_shape = component_distribution.batch_shape[:-1]
        super().__init__(batch_shape, component_distribution.event_shape, validate_args=validate_args)

    def _check_shapes(self, mixture, component):
        for a, b in zip(reversed(mixture), reversed(component[:-1])):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture}) is not compatible with "
                    f"`component_distribution.batch_shape`({component[:-1]})"
                )
        weights, components = self._mixture_distribution.logits.shape[-1], component[-1]
        if weights != components:
            raise ValueError(
                f"`mixture_distribution component` ({weights}) does not equal `component_distribution.batch_shape[-1]` "
                f"({components})"
            )
        self._num_component = components

    def _expand_into(self, new, batch_shape):
        new._component_distribution = self._component_distribution.expand((*batch_shape, self._num_component))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims

    @constraints.dependent_property
    def support(self):
        """What all components support."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        """The weights of the components."""
        return self._mixture_distribution

    @property
    def component_distribution(self):
        """The components."""
        return self._component_distribution

    def _over_components(self, values):
        """The weighted mean of something that every component has, of the shape of an event."""
        return (self._event_wide(self._mixture_distribution.probs) * values).sum(-1 - self._event_ndims)

    def _event_wide(self, x):
        return x.reshape(x.shape + (1,) * self._event_ndims)

    @property
    def mean(self):
        return self._over_components(self._component_distribution.mean)

    @property
    def variance(self):
        """The mean of the components' variances and the variance of their means."""
        means = self._component_distribution.mean
        centred = means - self.mean.unsqueeze(-1 - self._event_ndims)
        return self._over_components(self._component_distribution.variance) + self._over_components(centred.square())

    def _for_all(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    def cdf(self, x):
        weights = self._mixture_distribution.probs
        return (self._component_distribution.cdf(self._for_all(x)) * weights).sum(-1)

    def log_prob(self, x):
        self._check(x)
        log_weights = wisp.log_softmax(self._mixture_distribution.logits, -1)
        return wisp.logsumexp(self._component_distribution.log_prob(self._for_all(x)) + log_weights, -1)

    def sample(self, sample_shape=EMPTY):
        """Draws of all components, of which the drawn weights pick one."""
        with wisp.no_grad():
            dim = len(Size(sample_shape)) + len(self.batch_shape)
            picked = self._mixture_distribution.expand(self.batch_shape).sample(sample_shape)
            draws = self._component_distribution.sample(sample_shape)
            index = self._event_wide(picked.unsqueeze(-1)).expand(draws.shape[:dim] + (1,) + self.event_shape)
            return draws.gather(dim, index).squeeze(dim)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
