"""The continuous Bernoulli distribution."""

import math

import wisp
from wisp.distributions import constraints
from wisp.distributions.counts import GivenByProbs
from wisp.distributions.distribution import EMPTY
from wisp.distributions.exp_family import ExponentialFamily
from wisp.distributions.utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(GivenByProbs, ExponentialFamily):
    """The distribution on the unit interval with density proportional to ``p^x (1 - p)^(1 - x)``
    (Loaiza-Ganem and Cunningham 2019).

    Args:
        probs: the parameter p in (0, 1).
        logits: its log-odds, instead.
        lims: between these p counts as close to 1/2, where the closed formulas are 0 / 0 and series are used.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        if probs is not None:
            (probs,) = broadcast_all(probs)
            if (self._validate_args if validate_args is None else validate_args) and not (
                constraints.unit_interval.check(probs).all()
            ):
                raise ValueError("The parameter probs has invalid values")
            probs = clamp_probs(probs)
        self._lims = lims
        super().__init__(self._keep_either(probs, logits), validate_args=validate_args)

    @lazy_property
    def probs(self):
        """The parameter, a little inside of (0, 1): at the ends there is no density."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _expand_into(self, new, batch_shape):
        super()._expand_into(new, batch_shape)
        new._lims = self._lims

    def _far_from_half(self):
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self):
        """The parameter, moved away from 1/2."""
        return wisp.where(self._far_from_half(), self.probs, wisp.full_like(self.probs, self._lims[0]))

    def _log_norm(self):
        """The logarithm of the factor that makes the density integrate to 1."""
        p = self._cut_probs()
        # Below and above 1/2 by the same formula, so that no logarithm sees a negative number.
        below, above = p.clamp(max=0.5), p.clamp(min=0.5)
        log_of_odds = ((-p).log1p() - p.log()).abs().log()
        gap = wisp.where(p <= 0.5, (-2 * below).log1p(), (2 * above - 1).log())
        x = (self.probs - 0.5).square()
        return wisp.where(self._far_from_half(), log_of_odds - gap, math.log(2) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self):
        p, x = self._cut_probs(), self.probs - 0.5
        exact = p / (2 * p - 1) + 1 / ((-p).log1p() - p.log())
        return wisp.where(self._far_from_half(), exact, 0.5 + (1 / 3 + 16 / 45 * x.square()) * x)

    stddev = property(lambda self: self.variance.sqrt())

    @property
    def variance(self):
        p, x = self._cut_probs(), (self.probs - 0.5).square()
        exact = p * (p - 1) / (1 - 2 * p).square() + 1 / ((-p).log1p() - p.log()).square()
        return wisp.where(self._far_from_half(), exact, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def rsample(self, sample_shape=EMPTY):
        return self.icdf(wisp.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype))

    def log_prob(self, value):
        self._check(value)
        return value * self.logits - wisp.nn.functional.softplus(self.logits) + self._log_norm()

    def _safe_logits(self):
        """The log-odds, moved away from 0."""
        return wisp.where(self._far_from_half(), self.logits, wisp.ones_like(self.logits))

    def cdf(self, value):
        self._check(value)
        value, logits = value.clamp(min=0, max=1), self._safe_logits()
        return wisp.where(self._far_from_half(), (logits * value).expm1() / logits.expm1(), value)

    def icdf(self, value):
        logits = self._safe_logits()
        return wisp.where(self._far_from_half(), (value * logits.expm1()).log1p() / logits, value)

    def entropy(self):
        log0, log1 = (-self.probs).log1p(), self.probs.log()
        return self.mean * (log0 - log1) - self._log_norm() - log0

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        small = x.abs() <= max(abs(math.log(lim / (1 - lim))) for lim in self._lims)
        safe = wisp.where(small, wisp.ones_like(x), x)
        exact = (safe.expm1().abs() / safe.abs()).log()
        return wisp.where(small, 0.5 * x + x.square() / 24 - x.pow(4) / 2880, exact)
