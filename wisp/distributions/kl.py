"""Kullback-Leibler divergences.

They are looked up by the types of both distributions. The pairs of this file are a divergence in closed form for two of
a kind, the cross-entropy minus the entropy for two of different kinds, and infinity where one is possible and the other
is not.
"""

import math
import warnings

import wisp
from wisp.distributions.categorical import Categorical, OneHotCategorical
from wisp.distributions.continuous_bernoulli import ContinuousBernoulli
from wisp.distributions.counts import Bernoulli, Binomial, Geometric, Poisson
from wisp.distributions.dirichlet import Beta, Dirichlet
from wisp.distributions.exp_family import ExponentialFamily
from wisp.distributions.gamma import Exponential, Gamma
from wisp.distributions.independent import Independent
from wisp.distributions.location_scale import Cauchy, Gumbel, Laplace, Uniform
from wisp.distributions.multivariate_normal import (
    LowRankMultivariateNormal,
    MultivariateNormal,
    _batch_mahalanobis,
    _lowrank_logdet,
    _lowrank_mahalanobis,
)
from wisp.distributions.normal import HalfNormal, Normal
from wisp.distributions.pareto import Pareto
from wisp.distributions.transformed_distribution import TransformedDistribution
from wisp.distributions.utils import _sum_rightmost, euler_constant
from wisp.nn.functional import softplus

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY = {}  # (type of p, type of q): function
_KL_MEMOIZE = {}  # the function found for two types


def register_kl(type_p, type_q):
    """A decorator: the function computes ``kl_divergence(p, q)`` for distributions of these types and their subclasses.

    The most specific pair is taken. Where two pairs are equally specific, register the pair of both to decide.

    >>> from wisp.distributions import Normal, kl_divergence, register_kl
    >>> class Fixed(Normal):
    ...     pass
    >>> @register_kl(Fixed, Fixed)
    ... def kl_fixed_fixed(p, q):
    ...     return (p.loc - q.loc).square() / 2
    >>> kl_divergence(Fixed(0.0, 1.0), Fixed(2.0, 1.0))
    tensor(2.)
    """
    for name, cls in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(cls, type):  # it need not be a Distribution: libraries have interfaces of their own
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {cls}")

    def decorator(function):
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return decorator


def kl_divergence(p, q):
    """The Kullback-Leibler divergence ``E_p[log p(x) - log q(x)]``, of every element of the batch.

    >>> from wisp.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    key = type(p), type(q)
    if key not in _KL_MEMOIZE:
        _KL_MEMOIZE[key] = _find(*key)
    function = _KL_MEMOIZE[key]
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {key[0].__name__} and q type {key[1].__name__}"
        )
    return function(p, q)


def _find(type_p, type_q):
    """The function of the most specific pair of base classes."""
    pairs = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not pairs:
        return None

    def depths(pair):
        return type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1])

    by_p, by_q = min(pairs, key=depths), min(pairs, key=lambda pair: depths(pair)[::-1])
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({by_p[0].__name__}, "
            f"{by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[by_p]


# --- two of a kind


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli(p, q):
    of_one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    of_zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return _possible(of_one, p.probs, q.probs) + _possible(of_zero, 1 - p.probs, 1 - q.probs)


def _possible(term, p, q):
    """The part of an event: infinite if q excludes it, none if p does."""
    return wisp.where(p == 0, 0.0, wisp.where(q == 0, math.inf, term))


@register_kl(Categorical, Categorical)
def _kl_categorical(p, q):
    return _possible(p.probs * (p.logits - q.logits), p.probs, q.probs).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_one_hot(p, q):
    return _kl_categorical(p._categorical, q._categorical)


@register_kl(Binomial, Binomial)
def _kl_binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return wisp.where(p.total_count > q.total_count, math.inf, kl)


@register_kl(Poisson, Poisson)
def _kl_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Geometric, Geometric)
def _kl_geometric(p, q):
    return -p.entropy() - wisp.log1p(-q.probs) / p.probs - q.logits


@register_kl(Beta, Beta)
def _kl_beta(p, q):
    return _kl_dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet(p, q):
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    norms = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return norms + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli(p, q):
    norms = p._log_norm() + wisp.log1p(-p.probs) - q._log_norm() - wisp.log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + norms


@register_kl(Exponential, Exponential)
def _kl_exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Gamma, Gamma)
def _kl_gamma(p, q):
    a, b = p.concentration, q.concentration
    norms = b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma()
    return norms + (a - b) * a.digamma() + (q.rate - p.rate) * a / p.rate


@register_kl(Normal, Normal)
def _kl_normal(p, q):
    ratio, shift = (p.scale / q.scale).square(), ((p.loc - q.loc) / q.scale).square()
    return 0.5 * (ratio + shift - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _kl_half_normal(p, q):
    return _kl_normal(p.base_dist, q.base_dist)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy(p, q):
    return ((p.scale + q.scale).square() + (p.loc - q.loc).square()).log() - (4 * p.scale * q.scale).log()


@register_kl(Laplace, Laplace)
def _kl_laplace(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return ratio * (-distance / p.scale).exp() + distance / q.scale - ratio.log() - 1


@register_kl(Gumbel, Gumbel)
def _kl_gumbel(p, q):
    ratio, shift = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return shift - ratio.log() + ratio * euler_constant + ((1 + ratio).lgamma() - shift).exp() - (1 + euler_constant)


@register_kl(Pareto, Pareto)
def _kl_pareto(p, q):
    ratio = q.alpha / p.alpha
    kl = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return wisp.where(p.scale < q.scale, math.inf, kl)


@register_kl(Uniform, Uniform)
def _kl_uniform(p, q):
    kl = ((q.high - q.low) / (p.high - p.low)).log()
    return wisp.where((q.low > p.low) | (q.high < p.high), math.inf, kl)


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_exponential_family(p, q):
    """The Bregman divergence of the log-normaliser between the natural parameters."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman divergences"
        )
    params, log_normalizer, gradients = p._log_normalizer_and_gradients()
    result = q._log_normalizer(*q._natural_params) - log_normalizer
    for of_p, of_q, gradient in zip(params, q._natural_params, gradients):
        result = result - _sum_rightmost((of_q - of_p) * gradient, of_q.dim() - len(q.batch_shape))
    return result


@register_kl(Independent, Independent)
def _kl_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


# --- normal vectors


def _check_events(p, q, kind):
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {kind} with different event shapes cannot be computed")


def _trace_of_solved(factor, other):
    """The trace of ``(L L^T)^-1 M M^T``, L being the factor and M the other."""
    batch = wisp.broadcast_shapes(factor.shape[:-2], other.shape[:-2])
    factor = factor.expand(batch + factor.shape[-2:])
    return (
        wisp.linalg.solve_triangular(factor, other.expand(batch + other.shape[-2:]), upper=False).square().sum((-2, -1))
    )


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariate_normal(p, q):
    _check_events(p, q, "Multivariate Normals")
    factor = q._unbroadcasted_scale_tril
    trace = _trace_of_solved(factor, p._unbroadcasted_scale_tril)
    distance = _batch_mahalanobis(factor, q.loc - p.loc)
    return q._half_log_det() - p._half_log_det() + 0.5 * (trace + distance - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariate_normal_lowrank(p, q):
    _check_events(p, q, "(Low Rank) Multivariate Normals")
    factor = p._unbroadcasted_scale_tril
    of_factor, of_loc = _lowrank_terms(p, q, [factor])
    log_det = _lowrank_logdet(q._unbroadcasted_cov_diag, q._capacitance_tril) - 2 * p._half_log_det()
    return 0.5 * (log_det + of_factor + of_loc - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrank_multivariate_normal(p, q):
    _check_events(p, q, "(Low Rank) Multivariate Normals")
    factor = q._unbroadcasted_scale_tril
    trace = sum(_trace_of_solved(factor, part) for part in _parts(p))
    distance = _batch_mahalanobis(factor, q.loc - p.loc)
    log_det = 2 * q._half_log_det() - _lowrank_logdet(p._unbroadcasted_cov_diag, p._capacitance_tril)
    return 0.5 * (log_det + trace + distance - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrank(p, q):
    _check_events(p, q, "Low Rank Multivariate Normals")
    trace, distance = _lowrank_terms(p, q, _parts(p))
    log_dets = [_lowrank_logdet(d._unbroadcasted_cov_diag, d._capacitance_tril) for d in (q, p)]
    return 0.5 * (log_dets[0] - log_dets[1] + trace + distance - p.event_shape[0])


def _parts(p):
    """Matrices whose products with their transposes sum up to the covariance."""
    return [p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag.sqrt().diag_embed()]


def _lowrank_terms(p, q, parts):
    """The trace of q's inverse covariance times p's, which is given in parts, and the distance of the means."""
    diag, factor = q._unbroadcasted_cov_diag, q._unbroadcasted_cov_factor
    trace = 0
    for part in parts:
        direct = (part.square() / diag.unsqueeze(-1)).sum((-2, -1))
        scaled = (factor.mT / diag.unsqueeze(-2)) @ part
        trace = trace + direct - _trace_of_solved(q._capacitance_tril, scaled)
    return trace, _lowrank_mahalanobis(factor, diag, q.loc - p.loc, q._capacitance_tril)


# --- two of different kinds: means of functions under p


def _mean_log(p):
    """E[log x]."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Gamma):
        return p.concentration.digamma() - p.rate.log()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return _uniform_mean_log(p.low, p.high)


def _uniform_mean_log(low, high):
    return (wisp.xlogy(high, high) - wisp.xlogy(low, low)) / (high - low) - 1


def _mean_exp_minus(p, t):
    """E[exp(-t x)]."""
    if isinstance(p, Gamma):
        return (p.rate / (p.rate + t)).pow(p.concentration)
    if isinstance(p, Exponential):
        return p.rate / (p.rate + t)
    if isinstance(p, Normal):
        return (-t * p.loc + 0.5 * (t * p.scale).square()).exp()
    return ((-t * p.low).exp() - (-t * p.high).exp()) / (t * (p.high - p.low))


# --- cross-entropies -E_p[log q(x)]


def _to_exponential(p, q):
    return q.rate * p.mean - q.rate.log()


def _to_gamma(p, q):
    log_norm = q.concentration.lgamma() - q.concentration * q.rate.log()
    return log_norm - (q.concentration - 1) * _mean_log(p) + q.rate * p.mean


def _to_normal(p, q):
    spread = p.variance + (p.mean - q.loc).square()
    return 0.5 * math.log(2 * math.pi) + q.scale.log() + 0.5 * spread / q.scale.square()


def _to_gumbel(p, q):
    rate = q.scale.reciprocal()
    return q.scale.log() + (p.mean - q.loc) * rate + _mean_exp_minus(p, rate) * (q.loc * rate).exp()


def _to_continuous_bernoulli(p, q):
    return -p.mean * q.logits - wisp.log1p(-q.probs) - q._log_norm()


def _to_uniform(p, q):
    return (q.high - q.low).log()


def _uniform_to_beta(p, q):
    a, b = q.concentration1, q.concentration0
    log_beta = a.lgamma() + b.lgamma() - (a + b).lgamma()
    mean_log_rest = _uniform_mean_log(1 - p.high, 1 - p.low)
    return log_beta - (a - 1) * _mean_log(p) - (b - 1) * mean_log_rest


def _uniform_to_pareto(p, q):
    return (q.alpha + 1) * _mean_log(p) - q.alpha.log() - q.alpha * q.scale.log()


def _normal_to_laplace(p, q):
    shift = (p.loc - q.loc) / p.scale
    tails = shift * wisp.erf(shift / math.sqrt(2))
    distance = p.scale * (math.sqrt(2 / math.pi) * (-0.5 * shift.square()).exp() + tails)
    return (2 * q.scale).log() + distance / q.scale


def _bernoulli_to_poisson(p, q):
    return q.rate - p.probs * q.rate.log()


_CROSS_ENTROPIES = [
    (_to_exponential, Exponential, (Beta, ContinuousBernoulli, Gamma, Pareto)),
    (_to_gamma, Gamma, (Beta, Exponential, Pareto)),
    (_to_normal, Normal, (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform)),
    (_to_gumbel, Gumbel, (Exponential, Gamma, Normal, Uniform)),
    (_to_continuous_bernoulli, ContinuousBernoulli, (Beta,)),
    (_normal_to_laplace, Laplace, (Normal,)),
    (_bernoulli_to_poisson, Poisson, (Bernoulli,)),
]

# The same where everything that can happen under p can under q; the last function says where not.
_CROSS_ENTROPIES_WITHIN = [
    (_to_uniform, Uniform, (Beta, ContinuousBernoulli), lambda p, q: (q.low > 0) | (q.high < 1)),
    (_uniform_to_beta, Beta, (Uniform,), lambda p, q: (p.low < 0) | (p.high > 1)),
    (_to_continuous_bernoulli, ContinuousBernoulli, (Uniform,), lambda p, q: (p.low < 0) | (p.high > 1)),
    (_to_exponential, Exponential, (Uniform,), lambda p, q: p.low < 0),
    (_to_gamma, Gamma, (Uniform,), lambda p, q: p.low < 0),
    (_uniform_to_pareto, Pareto, (Uniform,), lambda p, q: p.low < q.scale),
]

# What can happen under the first cannot under the others.
_INFINITE = [
    (Beta, (Pareto,)),
    (ContinuousBernoulli, (Pareto,)),
    (Exponential, (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gamma, (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gumbel, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Laplace, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Normal, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Pareto, (Beta, ContinuousBernoulli, Uniform)),
    (Poisson, (Bernoulli, Binomial)),
]


def _from_cross_entropy(cross_entropy, outside=None):
    def kl(p, q):
        result = cross_entropy(p, q) - p.entropy()
        return result if outside is None else wisp.where(outside(p, q), math.inf, result)

    return kl


def _kl_infinite(p, q):
    """Infinity, of the shape and dtype of the batch."""
    shape = wisp.broadcast_shapes(p.batch_shape, q.batch_shape)
    return wisp.full(shape, math.inf, dtype=p.mean.dtype)


for _function, _q, _ps in _CROSS_ENTROPIES:
    for _p in _ps:
        register_kl(_p, _q)(_from_cross_entropy(_function))
for _function, _q, _ps, _outside in _CROSS_ENTROPIES_WITHIN:
    for _p in _ps:
        register_kl(_p, _q)(_from_cross_entropy(_function, _outside))
for _p, _qs in _INFINITE:
    for _q in _qs:
        register_kl(_p, _q)(_kl_infinite)
