"""Continuous relaxations of Bernoulli and one-hot distributions, whose draws are differentiable."""

import math

import wisp
from wisp.distributions import constraints
from wisp.distributions.categorical import Categorical
from wisp.distributions.counts import GivenByProbs
from wisp.distributions.distribution import EMPTY, Distribution
from wisp.distributions.transformed_distribution import TransformedDistribution
from wisp.distributions.transforms import ExpTransform, SigmoidTransform
from wisp.distributions.utils import clamp_probs, uniform_open
from wisp.nn.functional import logsigmoid

__all__ = ["ExpRelaxedCategorical", "LogitRelaxedBernoulli", "RelaxedBernoulli", "RelaxedOneHotCategorical"]


class LogitRelaxedBernoulli(GivenByProbs, Distribution):
    """The logits of a RelaxedBernoulli: logistic around the logits, divided by the temperature.

    Args:
        temperature: how soft the relaxation is.
        probs: the probability of 1.
        logits: its log-odds, instead.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        super().__init__(self._keep_either(probs, logits), validate_args=validate_args)

    def _expand_into(self, new, batch_shape):
        super()._expand_into(new, batch_shape)
        new.temperature = self.temperature

    def rsample(self, sample_shape=EMPTY):
        probs = clamp_probs(self.probs)
        u = clamp_probs(wisp.rand(self._extended_shape(sample_shape), dtype=probs.dtype))
        return (u.logit() + probs.logit()) / self.temperature

    def log_prob(self, value):
        self._check(value)
        difference = self.logits - value * self.temperature
        log_temperature = wisp.as_tensor(self.temperature, dtype=self.logits.dtype).log()
        return log_temperature + difference + 2 * logsigmoid(-difference)


class RelaxedBernoulli(TransformedDistribution):
    """A continuous relaxation of the Bernoulli distribution to the unit interval (Maddison et al., Jang et al. 2017).

    Args:
        temperature: how soft the relaxation is; it becomes Bernoulli as this goes to 0.
        probs: the probability of 1.
        logits: its log-odds, instead.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)


class ExpRelaxedCategorical(Distribution):
    """The logarithms of a RelaxedOneHotCategorical, which it is computed from without underflow.

    Args:
        temperature: how soft the relaxation is.
        probs: the probabilities of the events; they are divided by their sum.
        logits: logarithms of these, up to a constant, instead.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector  # in fact those whose exponentials sum to 1
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        shape = self._categorical.batch_shape, self._categorical.param_shape[-1:]
        super().__init__(*shape, validate_args=validate_args)

    def _expand_into(self, new, batch_shape):
        new.temperature, new._categorical = self.temperature, self._categorical.expand(batch_shape)

    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    param_shape = property(lambda self: self._categorical.param_shape)

    def rsample(self, sample_shape=EMPTY):
        gumbels = -(-uniform_open(self._extended_shape(sample_shape), self.logits.dtype).log()).log()
        return ((self.logits + gumbels) / self.temperature).log_softmax(-1)

    def log_prob(self, value):
        self._check(value)
        n = self.event_shape[-1]
        log_scale = math.lgamma(n) + (n - 1) * wisp.as_tensor(self.temperature, dtype=self.logits.dtype).log()
        score = (self.logits - value * self.temperature).log_softmax(-1).sum(-1)
        return score + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """A continuous relaxation of OneHotCategorical to the simplex (Maddison et al., Jang et al. 2017).

    Args:
        temperature: how soft the relaxation is; draws become unit vectors as this goes to 0.
        probs: the probabilities of the events; they are divided by their sum.
        logits: logarithms of these, up to a constant, instead.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)
