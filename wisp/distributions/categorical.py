"""Distributions over a few events: categorical, one-hot, multinomial."""

import wisp
from wisp import Size
from wisp.distributions import constraints
from wisp.distributions.counts import Binomial, GivenByProbs, _exactly_one
from wisp.distributions.distribution import EMPTY, Distribution
from wisp.nn.functional import one_hot

__all__ = ["Categorical", "Multinomial", "OneHotCategorical", "OneHotCategoricalStraightThrough"]


class Categorical(GivenByProbs, Distribution):
    """A distribution over the numbers 0 to n - 1.

    Args:
        probs: their probabilities, along the last dimension; they are divided by their sum.
        logits: logarithms of these, up to a constant, instead.
        validate_args: whether arguments are checked.

    >>> from wisp.distributions import Categorical
    >>> Categorical(wisp.tensor([1.0, 3.0])).log_prob(wisp.tensor([0, 1])).exp()
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False

    def __init__(self, probs=None, logits=None, validate_args=None):
        _exactly_one(probs, logits)
        for name, given in (("probs", probs), ("logits", logits)):
            if given is not None and given.dim() < 1:
                raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is not None:
            probs = probs / probs.sum(-1, keepdim=True)
        else:
            logits = logits - logits.logsumexp(-1, keepdim=True)
        super().__init__(self._keep_either(probs, logits), validate_args=validate_args)

    _num_events = property(lambda self: self._param.shape[-1])

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        """The numbers of the events."""
        return constraints.integer_interval(0, self._num_events - 1)

    mean = property(lambda self: wisp.full(self._batch_shape, wisp.nan, dtype=self.probs.dtype))
    mode = property(lambda self: self.probs.argmax(-1))
    variance = property(lambda self: wisp.full(self._batch_shape, wisp.nan, dtype=self.probs.dtype))

    def sample(self, sample_shape=EMPTY):
        shape = Size(sample_shape)
        n, probs = shape.numel(), self.probs.detach().reshape(-1, self._num_events)
        draws = wisp.multinomial(probs, max(n, 1), replacement=True)[:, :n]  # which never draws nothing
        return draws.mT.reshape(self._extended_shape(shape))

    def log_prob(self, value):
        self._check(value)
        value, logits = wisp.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self):
        logits = self.logits.clamp(min=wisp.finfo(self.logits.dtype).min)  # impossible events count for nothing
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        return self._enumerate(wisp.arange(self._num_events), expand)


class _OfCategorical(Distribution):
    """A distribution of vectors made of the events of a Categorical, `_categorical`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    param_shape = property(lambda self: self._categorical.param_shape)
    _param = property(lambda self: self._categorical._param)

    def _expand_into(self, new, batch_shape):
        new._categorical = self._categorical.expand(batch_shape)


class OneHotCategorical(_OfCategorical):
    """A distribution over the unit vectors of n dimensions.

    Args:
        probs: their probabilities, along the last dimension; they are divided by their sum.
        logits: logarithms of these, up to a constant, instead.
        validate_args: whether arguments are checked.
    """

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.batch_shape, self._categorical.param_shape[-1:]
        super().__init__(*shape, validate_args=validate_args)

    mean = property(lambda self: self.probs)
    mode = property(lambda self: self._one_hot(self.probs.argmax(-1)))
    variance = property(lambda self: self.probs * (1 - self.probs))

    def _one_hot(self, events):
        return one_hot(events, self.event_shape[-1]).to(self._param.dtype)

    def sample(self, sample_shape=EMPTY):
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value):
        self._check(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        return self._enumerate_vectors(wisp.eye(self.event_shape[0], dtype=self._param.dtype), expand)

    def _enumerate_vectors(self, values, expand):
        n = values.shape[0]
        values = values.reshape((n,) + (1,) * len(self.batch_shape) + (n,))
        return values.expand((n, *self.batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose draws pass gradients on as if they were the probabilities (Bengio et al. 2013)."""

    has_rsample = True

    def rsample(self, sample_shape=EMPTY):
        probs = self.probs
        return self.sample(sample_shape) + (probs - probs.detach())


class Multinomial(_OfCategorical):
    """The multinomial distribution: how often each of n events happens in some trials.

    Args:
        total_count: how many trials.
        probs: the probabilities of the events, along the last dimension; they are divided by their sum.
        logits: logarithms of these, up to a constant, instead.
        validate_args: whether arguments are checked.
    """

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits, validate_args=validate_args)
        self._binomial = Binomial(total_count, probs=self.probs)
        shape = self._categorical.batch_shape, self._categorical.param_shape[-1:]
        super().__init__(*shape, validate_args=validate_args)

    def _expand_into(self, new, batch_shape):
        super()._expand_into(new, batch_shape)
        new.total_count = self.total_count
        new._binomial = Binomial(self.total_count, probs=new.probs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        """Counts whose sum is at most the number of trials."""
        return constraints.multinomial(self.total_count)

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape=EMPTY):
        shape = Size(sample_shape)
        events = self._categorical.sample((self.total_count, *shape)).movedim(0, -1)
        counts = wisp.zeros(self._extended_shape(shape), dtype=self._param.dtype)
        return counts.scatter_add_(-1, events, wisp.ones_like(events, dtype=counts.dtype))

    def entropy(self):
        n = wisp.tensor(self.total_count, dtype=self.probs.dtype)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        weights = self._binomial.log_prob(counts).exp()
        repeats = (weights * wisp.lgamma(counts + 1)).sum((0, -1))
        return n * self._categorical.entropy() - wisp.lgamma(n + 1) + repeats

    def log_prob(self, value):
        self._check(value)
        logits, value = wisp.broadcast_tensors(self.logits, value)
        # What cannot happen and has not counts for nothing.
        logits = wisp.where((value == 0) & (logits == -wisp.inf), wisp.zeros_like(logits), logits)
        log_choices = wisp.lgamma(value.sum(-1) + 1) - wisp.lgamma(value + 1).sum(-1)
        return log_choices + (logits * value).sum(-1)
