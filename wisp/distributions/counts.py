"""Distributions of counts: Bernoulli, binomial, negative binomial, geometric, Poisson; and given probabilities."""

import math

import wisp
from wisp.distributions import constraints
from wisp.distributions.distribution import EMPTY, Distribution
from wisp.distributions.exp_family import ExponentialFamily
from wisp.distributions.gamma import Gamma
from wisp.distributions.utils import lazy_property, logits_to_probs, probs_to_logits, uniform_open
from wisp.nn.functional import binary_cross_entropy_with_logits, logsigmoid

__all__ = ["Bernoulli", "Binomial", "Geometric", "NegativeBinomial", "Poisson"]


class GivenByProbs:
    """For distributions that are given by probabilities or by logits: the other is computed when asked for."""

    _is_binary = True

    def _keep_either(self, probs, logits, **others):
        """`_keep` of the one of probs and logits that is not None, and of other parameters."""
        _exactly_one(probs, logits)
        self._given = "logits" if probs is None else "probs"
        return self._keep(**others, **{self._given: logits if probs is None else probs})

    def _expand_into(self, new, batch_shape):
        super()._expand_into(new, batch_shape)
        new._given = self._given

    @property
    def _param(self):
        """The one of probs and logits that was given."""
        return getattr(self, self._given)

    @property
    def param_shape(self):
        """The shape of probs and logits."""
        return self._param.shape

    @lazy_property
    def logits(self):
        """Log-odds; of several events, logarithms of their probabilities."""
        return probs_to_logits(self.probs, is_binary=self._is_binary)

    @lazy_property
    def probs(self):
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=self._is_binary)


def _exactly_one(probs, logits):
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


def _log1pexp(x):
    return -logsigmoid(-x)


class Bernoulli(GivenByProbs, ExponentialFamily):
    """The Bernoulli distribution: 1 with a probability, else 0.

    Args:
        probs: the probability of 1.
        logits: its log-odds, instead.
        validate_args: whether arguments are checked.

    >>> from wisp.distributions import Bernoulli
    >>> Bernoulli(wisp.tensor([0.25, 0.5])).log_prob(wisp.tensor(1.0)).exp()
    tensor([0.2500, 0.5000])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, validate_args=None):
        super().__init__(self._keep_either(probs, logits), validate_args=validate_args)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self):
        """The likelier value; nan if both are equally likely."""
        return wisp.where(self.probs == 0.5, math.nan, (self.probs >= 0.5).to(self.probs.dtype))

    def sample(self, sample_shape=EMPTY):
        with wisp.no_grad():
            return wisp.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check(value)
        logits, value = wisp.broadcast_tensors(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value.to(logits.dtype), reduction="none")

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        return self._enumerate(wisp.arange(2, dtype=self._param.dtype), expand)

    @property
    def _natural_params(self):
        return (wisp.logit(self.probs),)

    def _log_normalizer(self, x):
        return _log1pexp(x)


class Binomial(GivenByProbs, Distribution):
    """The binomial distribution: how many of some trials succeed.

    Args:
        total_count: how many trials.
        probs: the probability that one succeeds.
        logits: its log-odds, instead.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        batch_shape = self._keep_either(probs, logits, total_count=total_count)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(batch_shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        """The numbers up to the number of trials."""
        return constraints.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: wisp.minimum(((self.total_count + 1) * self.probs).floor(), self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape=EMPTY):
        shape = self._extended_shape(sample_shape)
        with wisp.no_grad():
            return wisp.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        self._check(value)
        n = self.total_count
        log_choices = wisp.lgamma(n + 1) - wisp.lgamma(value + 1) - wisp.lgamma(n - value + 1)
        return log_choices + value * self.logits - n * _log1pexp(self.logits)

    def entropy(self):
        self._same_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        return self._enumerate(wisp.arange(1 + self._same_count("enumerate_support"), dtype=self._param.dtype), expand)

    def _same_count(self, caller):
        count = int(self.total_count.max())
        if self.total_count.min() != count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{caller}`.")
        return count


class NegativeBinomial(GivenByProbs, Distribution):
    """The negative binomial distribution: how many trials succeed before a number of them has failed.

    Args:
        total_count: how many failures end the trials; any number from 0 on.
        probs: the probability that one succeeds.
        logits: its log-odds, instead.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        batch_shape = self._keep_either(probs, logits, total_count=total_count)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(batch_shape, validate_args=validate_args)

    mean = property(lambda self: self.total_count * self.logits.exp())
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0))
    variance = property(lambda self: self.mean / wisp.sigmoid(-self.logits))

    def sample(self, sample_shape=EMPTY):
        """Poisson draws whose rates are gamma draws."""
        with wisp.no_grad():
            rates = Gamma(self.total_count, wisp.exp(-self.logits), validate_args=False).sample(sample_shape)
            return wisp.poisson(rates)

    def log_prob(self, value):
        self._check(value)
        n = self.total_count
        log_power = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        log_choices = wisp.lgamma(n + value) - wisp.lgamma(value + 1) - wisp.lgamma(n)
        return log_power + log_choices.masked_fill(n + value == 0, 0.0)


class Geometric(GivenByProbs, Distribution):
    """The geometric distribution: how many trials fail before the first one succeeds.

    Args:
        probs: the probability that one succeeds.
        logits: its log-odds, instead.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        super().__init__(self._keep_either(probs, logits), validate_args=validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError(
                f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of "
                f"distribution {self!r} to be positive but found invalid values:\n{self.probs[self.probs <= 0]}"
            )

    mean = property(lambda self: 1 / self.probs - 1)
    mode = property(lambda self: wisp.zeros_like(self.probs))
    variance = property(lambda self: (1 / self.probs - 1) / self.probs)

    def sample(self, sample_shape=EMPTY):
        with wisp.no_grad():
            u = uniform_open(self._extended_shape(sample_shape), self.probs.dtype)
            return (u.log() / wisp.log1p(-self.probs)).floor()

    def log_prob(self, value):
        self._check(value)
        value, probs = wisp.broadcast_tensors(value, self.probs)
        # A success for certain has no failures to take a logarithm for.
        failing = wisp.where((probs == 1) & (value == 0), wisp.zeros_like(probs), probs)
        return value * wisp.log1p(-failing) + probs.log()

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs


class Poisson(ExponentialFamily):
    """The Poisson distribution: how many of many unlikely events happen.

    Args:
        rate: the mean.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate, validate_args=None):
        super().__init__(self._keep(rate=rate), validate_args=validate_args)

    mean = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())
    variance = property(lambda self: self.rate)

    def sample(self, sample_shape=EMPTY):
        with wisp.no_grad():
            return wisp.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check(value)
        return wisp.xlogy(value, self.rate) - self.rate - wisp.lgamma(value + 1)

    @property
    def _natural_params(self):
        return (self.rate.log(),)

    def _log_normalizer(self, x):
        return x.exp()
