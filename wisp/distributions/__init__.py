"""Probability distributions, with differentiable draws.

>>> from wisp.distributions import Normal, kl_divergence
>>> prior, guess = Normal(0.0, 1.0), Normal(wisp.tensor(1.0, requires_grad=True), 1.0)
>>> kl_divergence(guess, prior)
tensor(0.5000, grad_fn=<MulBackward0>)
>>> guess.rsample().requires_grad, guess.sample().requires_grad
(True, False)
"""

import sys

from wisp.distributions import (
    categorical,
    constraint_registry,
    constraints,
    continuous_bernoulli,
    counts,
    dirichlet,
    distribution,
    exp_family,
    gamma,
    independent,
    kl,
    location_scale,
    mixture_same_family,
    multivariate_normal,
    normal,
    pareto,
    relaxed,
    transformed_distribution,
    transforms,
    utils,
    wishart,
)
from wisp.distributions.categorical import (
    Categorical,
    Multinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from wisp.distributions.constraint_registry import biject_to, transform_to
from wisp.distributions.continuous_bernoulli import ContinuousBernoulli
from wisp.distributions.counts import Bernoulli, Binomial, Geometric, NegativeBinomial, Poisson
from wisp.distributions.dirichlet import Beta, Dirichlet, Kumaraswamy
from wisp.distributions.distribution import Distribution
from wisp.distributions.exp_family import ExponentialFamily
from wisp.distributions.gamma import Chi2, Exponential, FisherSnedecor, Gamma, InverseGamma
from wisp.distributions.independent import Independent
from wisp.distributions.kl import kl_divergence, register_kl
from wisp.distributions.location_scale import Cauchy, Gumbel, HalfCauchy, Laplace, StudentT, Uniform, VonMises
from wisp.distributions.mixture_same_family import MixtureSameFamily
from wisp.distributions.multivariate_normal import LowRankMultivariateNormal, MultivariateNormal
from wisp.distributions.normal import HalfNormal, LogisticNormal, LogNormal, Normal
from wisp.distributions.pareto import GeneralizedPareto, Pareto, Weibull
from wisp.distributions.relaxed import RelaxedBernoulli, RelaxedOneHotCategorical
from wisp.distributions.transformed_distribution import TransformedDistribution
from wisp.distributions.transforms import *
from wisp.distributions.wishart import LKJCholesky, Wishart

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli", "Dirichlet", "Distribution",
    "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto", "Geometric", "Gumbel",
    "HalfCauchy", "HalfNormal", "Independent", "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal",
    "LogisticNormal", "LowRankMultivariateNormal", "MixtureSameFamily", "Multinomial", "MultivariateNormal",
    "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto", "Poisson",
    "RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT", "TransformedDistribution", "Uniform", "VonMises",
    "Weibull", "Wishart", "biject_to", "kl_divergence", "register_kl", "transform_to",
] + transforms.__all__  # fmt: skip

# The names of modules that hold one distribution each elsewhere: programs import from them.
_ALIASES = {
    categorical: ("multinomial", "one_hot_categorical"),
    counts: ("bernoulli", "binomial", "geometric", "negative_binomial", "poisson"),
    dirichlet: ("beta", "kumaraswamy"),
    gamma: ("chi2", "exponential", "fishersnedecor", "inverse_gamma"),
    location_scale: ("cauchy", "gumbel", "half_cauchy", "laplace", "studentT", "uniform", "von_mises"),
    multivariate_normal: ("lowrank_multivariate_normal",),
    normal: ("half_normal", "log_normal", "logistic_normal"),
    pareto: ("generalized_pareto", "weibull"),
    relaxed: ("relaxed_bernoulli", "relaxed_categorical"),
    wishart: ("lkj_cholesky",),
}
for _module, _names in _ALIASES.items():
    for _name in _names:
        globals()[_name] = sys.modules[f"{__name__}.{_name}"] = _module
