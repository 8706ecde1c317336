"""Distributions: the same numbers as PyTorch's, on a grid of parameters."""

import re

import pytest

import wisp
from tests import oracle
from tests.oracle import assert_close

# Distributions by name, made by (module of distributions, a function that makes tensors of doubles).
MAKERS = {
    "Bernoulli": lambda d, t: d.Bernoulli(t([0.2, 0.5, 0.7])),
    "Bernoulli of logits": lambda d, t: d.Bernoulli(logits=t([-2.0, 0.0, 30.0])),
    "Bernoulli of one number": lambda d, t: d.Bernoulli(0.25),
    "Beta": lambda d, t: d.Beta(t([[0.5], [2.0], [1.0]]), t([0.5, 3.0])),
    "Binomial": lambda d, t: d.Binomial(4, t([0.0, 1.0, 0.3])),
    "Binomial of logits": lambda d, t: d.Binomial(4, logits=t([-1.0, 2.0, 0.0])),
    "Categorical": lambda d, t: d.Categorical(t([[1.0, 2.0, 3.0, 4.0], [0.1, 0.2, 0.3, 0.4]])),
    "Categorical of logits": lambda d, t: d.Categorical(logits=t([1.0, 2.0, -3.0, 0.0])),
    "Cauchy": lambda d, t: d.Cauchy(t([0.0, 1.0]), t([1.0, 3.0])),
    "Chi2": lambda d, t: d.Chi2(t([0.5, 2.0, 7.0])),
    "ContinuousBernoulli": lambda d, t: d.ContinuousBernoulli(t([0.001, 0.2, 0.4995, 0.5, 0.7, 0.99])),
    "ContinuousBernoulli of logits": lambda d, t: d.ContinuousBernoulli(logits=t([-3.0, 0.0, 2.0])),
    "Dirichlet": lambda d, t: d.Dirichlet(t([[0.5, 2.0, 3.0], [2.0, 2.0, 2.0], [0.5, 0.5, 0.5]])),
    "Exponential": lambda d, t: d.Exponential(t([0.5, 2.0])),
    "FisherSnedecor": lambda d, t: d.FisherSnedecor(t([1.0, 3.0, 6.0]), t([3.0, 5.0, 1.5])),
    "Gamma": lambda d, t: d.Gamma(t([0.5, 2.0, 1.0]), t([1.0, 3.0, 0.2])),
    "GeneralizedPareto": lambda d, t: d.GeneralizedPareto(
        t([0.0, 0.1, 0.0, 0.0]).float(), 1.5, t([-0.5, 0.0, 0.3, 2.0]).float()  # PyTorch's has no doubles
    ),
    "Geometric": lambda d, t: d.Geometric(t([0.2, 0.9])),
    "Geometric of logits": lambda d, t: d.Geometric(logits=t([-1.0, 1.0])),
    "Gumbel": lambda d, t: d.Gumbel(t([0.0, 1.0]), t([1.0, 3.0])),
    "HalfCauchy": lambda d, t: d.HalfCauchy(t([0.5, 2.0])),
    "HalfNormal": lambda d, t: d.HalfNormal(t([0.5, 2.0])),
    "Independent": lambda d, t: d.Independent(d.Normal(t([[0.0, 1.0], [2.0, 3.0]]), t([1.0, 2.0])), 1),
    "InverseGamma": lambda d, t: d.InverseGamma(t([0.5, 1.5, 3.0]), t([1.0, 3.0, 2.0])),
    "Kumaraswamy": lambda d, t: d.Kumaraswamy(t([0.5, 2.0]), t([3.0, 0.5])),
    "LKJCholesky": lambda d, t: d.LKJCholesky(3, t([0.5, 1.0, 4.0])),
    "Laplace": lambda d, t: d.Laplace(t([0.0, 1.0]), t([1.0, 3.0])),
    "LogNormal": lambda d, t: d.LogNormal(t([0.0, 1.0]), t([1.0, 0.3])),
    "LogisticNormal": lambda d, t: d.LogisticNormal(t([[0.0, 1.0], [0.5, -1.0]]), t([1.0, 2.0])),
    "LowRankMultivariateNormal": lambda d, t: d.LowRankMultivariateNormal(
        t([[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]]), t([[1.0], [2.0], [-1.0]]), t([0.5, 1.0, 2.0])
    ),
    "MixtureSameFamily": lambda d, t: d.MixtureSameFamily(
        d.Categorical(t([[0.3, 0.7], [0.5, 0.5]])), d.Normal(t([[0.0, 3.0], [1.0, -1.0]]), t([1.0, 2.0]))
    ),
    "MixtureSameFamily of vectors": lambda d, t: d.MixtureSameFamily(
        d.Categorical(t([0.3, 0.7])), d.Independent(d.Normal(t([[0.0, 3.0], [1.0, -1.0]]), t([1.0, 2.0])), 1)
    ),
    "Multinomial": lambda d, t: d.Multinomial(3, t([[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]])),
    "Multinomial of logits": lambda d, t: d.Multinomial(3, logits=t([0.0, -1.0, 2.0])),
    "MultivariateNormal": lambda d, t: d.MultivariateNormal(t([[0.0, 1.0], [2.0, 3.0]]), t([[2.0, 0.5], [0.5, 1.0]])),
    "MultivariateNormal by precision": lambda d, t: d.MultivariateNormal(
        t([0.0, 1.0]), precision_matrix=t([[[2.0, 0.5], [0.5, 1.0]], [[1.0, 0.0], [0.0, 4.0]]])
    ),
    "MultivariateNormal by factor": lambda d, t: d.MultivariateNormal(
        t([[[0.0, 1.0]], [[1.0, 1.0]]]), scale_tril=t([[[2.0, 0.0], [0.5, 1.0]], [[1.0, 0.0], [0.0, 4.0]]])
    ),
    "NegativeBinomial": lambda d, t: d.NegativeBinomial(t([0.5, 3.0]), t([0.5, 0.2])),
    "NegativeBinomial of logits": lambda d, t: d.NegativeBinomial(2, logits=t([-0.5, 1.0])),
    "Normal": lambda d, t: d.Normal(t([[0.0], [1.0]]), t([1.0, 3.0])),
    "Normal of numbers": lambda d, t: d.Normal(0.5, 2),
    "OneHotCategorical": lambda d, t: d.OneHotCategorical(t([[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]])),
    "OneHotCategoricalStraightThrough": lambda d, t: d.OneHotCategoricalStraightThrough(logits=t([0.2, 0.3, 0.5])),
    "Pareto": lambda d, t: d.Pareto(t([0.05, 0.01, 0.1]), t([0.5, 1.5, 4.0])),
    "Poisson": lambda d, t: d.Poisson(t([0.5, 2.5])),
    "RelaxedBernoulli": lambda d, t: d.RelaxedBernoulli(t(0.7), t([0.2, 0.6])),
    "RelaxedBernoulli of logits": lambda d, t: d.RelaxedBernoulli(t([0.7, 2.0]), logits=t([0.2, -0.6])),
    "RelaxedOneHotCategorical": lambda d, t: d.RelaxedOneHotCategorical(t(0.7), t([[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]])),
    "StudentT": lambda d, t: d.StudentT(t([0.5, 1.5, 3.0]), t(1.0), t([1.0, 2.0, 3.0])),
    "StudentT of numbers": lambda d, t: d.StudentT(2.5),
    "TransformedDistribution": lambda d, t: d.TransformedDistribution(
        d.Normal(t([0.0, 1.0]), t(1.0)), [d.AffineTransform(t(1.0), t([[-2.0], [0.5]])), d.SigmoidTransform()]
    ),
    "TransformedDistribution of vectors": lambda d, t: d.TransformedDistribution(
        d.Normal(t([0.0, 1.0]), t(1.0)), [d.AffineTransform(1.0, 2.0, event_dim=1), d.StickBreakingTransform()]
    ),
    "TransformedDistribution of nothing": lambda d, t: d.TransformedDistribution(d.Normal(t([0.0, 1.0]), t(1.0)), []),
    "Uniform": lambda d, t: d.Uniform(t([-1.0, 0.0]), t([1.0, 7.0])),
    "VonMises": lambda d, t: d.VonMises(t([0.0, 2.0, 1.0]), t([0.1, 3.0, 40.0])),
    "Weibull": lambda d, t: d.Weibull(t([1.0, 2.0]), t([1.5, 3.0])),
    "Wishart": lambda d, t: d.Wishart(t([3.0, 5.5]), t([[2.0, 0.5], [0.5, 1.0]])),
    "Wishart by precision": lambda d, t: d.Wishart(t(4.0), precision_matrix=t([[2.0, 0.5], [0.5, 1.0]])),
    "Wishart by factor": lambda d, t: d.Wishart(t([[2.5], [4.0]]), scale_tril=t([[2.0, 0.0], [0.5, 1.0]])),
}  # fmt: skip

# Where log_prob and cdf are asked: by the support.
REALS = [-2.0, -0.5, 0.0, 0.3, 1.0, 4.0]
UNIT = [0.05, 0.3, 0.5, 0.9]
COUNTS = [0.0, 1.0, 3.0]
SIMPLEX = [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]
VECTORS = [[0.0, 0.0], [1.0, -2.0]]
CORRELATIONS = [[[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8]], [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]]]
COVARIANCES = [[[1.0, 0.2], [0.2, 2.0]], [[3.0, -1.0], [-1.0, 0.5]]]
VALUES = {
    "Bernoulli": [0.0, 1.0], "Beta": UNIT, "Binomial": COUNTS, "Categorical": COUNTS, "Chi2": [0.2, 1.0, 9.0],
    "ContinuousBernoulli": UNIT, "Dirichlet": SIMPLEX, "Exponential": [0.2, 1.0, 9.0], "FisherSnedecor": [0.2, 1.0, 9.0],
    "Gamma": [0.2, 1.0, 9.0], "GeneralizedPareto": [0.2, 1.0, 2.5], "Geometric": COUNTS, "HalfCauchy": [0.0, 0.5, 3.0],
    "HalfNormal": [0.0, 0.5, 3.0], "Independent": VECTORS, "InverseGamma": [0.2, 1.0, 9.0], "Kumaraswamy": UNIT,
    "LKJCholesky": CORRELATIONS, "LogNormal": [0.2, 1.0, 9.0], "LogisticNormal": SIMPLEX,
    "LowRankMultivariateNormal": [[0.0, 1.0, 2.0], [1.0, -1.0, 0.5]], "MixtureSameFamily of vectors": VECTORS,
    "Multinomial": [[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]], "MultivariateNormal": VECTORS, "NegativeBinomial": COUNTS,
    "OneHotCategorical": [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "OneHotCategoricalStraightThrough": [[1.0, 0.0, 0.0]],
    "Pareto": [0.2, 1.0, 9.0], "Poisson": COUNTS, "RelaxedBernoulli": UNIT, "RelaxedOneHotCategorical": SIMPLEX,
    "TransformedDistribution": UNIT, "TransformedDistribution of vectors": SIMPLEX, "TransformedDistribution of nothing": REALS,
    "Uniform": [0.0, 0.3, 0.9], "Weibull": [0.2, 1.0, 9.0], "Wishart": COVARIANCES,
}  # fmt: skip


def values_of(name):
    return VALUES.get(name) or VALUES.get(name.split()[0]) or REALS


def plain(x):
    """Tensors as lists, shapes as lists, the library's name left out of texts."""
    if hasattr(x, "tolist"):
        return x.tolist()
    if isinstance(x, (tuple, list)):
        return [plain(v) for v in x]
    if isinstance(x, (bool, int, float, type(None))):
        return x
    text = re.sub(r"<class '[\w.]*\b(\w+)'>", r"\1", str(x))  # classes live in other modules
    return " ".join(text.replace("torch.", "").replace("wisp.", "").split())


def attempt(function):
    """A function's result as plain data, or what it raises."""
    try:
        return plain(function())
    except Exception as error:
        return f"{type(error).__name__}: {plain(str(error))}"


def makers(lib):
    """What makes a distribution by its name, in double precision."""
    return {name: lambda make=make: make(lib.distributions, doubles(lib)) for name, make in MAKERS.items()}


def doubles(lib):
    return lambda data: lib.tensor(data, dtype=lib.float64)


def along_batch(lib, name, made):
    """The values asked for, along a new first dimension of the batch."""
    values = doubles(lib)(values_of(name))
    event = len(made.event_shape)
    kept = values.shape[values.dim() - event :]
    return values.reshape((-1,) + (1,) * len(made.batch_shape) + tuple(kept))


ATTRIBUTES = ("batch_shape", "event_shape", "has_rsample", "has_enumerate_support", "support", "mean", "mode", "variance",
              "stddev")  # fmt: skip
# Where ours are right and PyTorch's are not.
OURS_IS_BETTER = {("Kumaraswamy", "mode")}


def facts(lib):
    found = {}
    for name, make in makers(lib).items():
        made = make()
        found[name] = {"repr": plain(repr(made))}
        found[name] |= {a: attempt(lambda: getattr(made, a)) for a in ATTRIBUTES if (name, a) not in OURS_IS_BETTER}
        found[name]["entropy"] = attempt(made.entropy)
        found[name]["perplexity"] = attempt(made.perplexity)
        found[name]["draw"] = plain(made.sample((2, 3)).shape)
        found[name]["arg_constraints"] = {key: plain(value) for key, value in made.arg_constraints.items()}
    return found


def functions(lib):
    found = {}
    probabilities = doubles(lib)([0.1, 0.5, 0.8])
    for name, make in makers(lib).items():
        made = make()
        values = along_batch(lib, name, made)
        quantiles = probabilities.reshape((-1,) + (1,) * len(made.batch_shape + made.event_shape))
        found[name] = {"log_prob": attempt(lambda: made.log_prob(values)), "cdf": attempt(lambda: made.cdf(values)),
                       "icdf": attempt(lambda: made.icdf(quantiles)),
                       "enumerate": attempt(lambda: made.enumerate_support()),
                       "enumerate once": attempt(lambda: made.enumerate_support(expand=False))}  # fmt: skip
    return found


def expanded(lib):
    found = {}
    for name, make in makers(lib).items():
        made = make()
        larger = made.expand((2, *made.batch_shape))
        values = along_batch(lib, name, larger)
        found[name] = {"repr": plain(repr(larger)), "type": type(larger).__name__, "batch": plain(larger.batch_shape),
                       "log_prob": attempt(lambda: larger.log_prob(values)), "mean": attempt(lambda: larger.mean),
                       "again": plain(larger.expand((3, 2, *made.batch_shape)).sample().shape)}  # fmt: skip
    return found


def gradients(lib):
    """The gradients of what can be differentiated, with respect to everything a distribution was made of."""
    found = {}
    for name, make in MAKERS.items():
        if "number" in name:
            continue
        for what in ("log_prob", "entropy", "cdf"):
            found[f"{name} {what}"] = attempt(lambda: gradient(lib, make, name, what))
    return found


def gradient(lib, make, name, what):
    leaves = []

    def leaf(data):
        leaves.append(lib.tensor(data, dtype=lib.float64, requires_grad=True))
        return leaves[-1]

    made = make(lib.distributions, leaf)
    result = made.entropy() if what == "entropy" else getattr(made, what)(along_batch(lib, name, made))
    return [plain(g) for g in lib.autograd.grad(result.sum(), leaves, allow_unused=True)]


# --- divergences

# Two of a kind each, of which the first is p and the second is q.
PAIRS = {
    "Bernoulli": lambda d, t: (d.Bernoulli(t([0.3, 0.0])), d.Bernoulli(t([0.6, 1.0]))),
    "Beta": lambda d, t: (d.Beta(t([0.5, 2.0]), t(3.0)), d.Beta(t([1.5, 2.5]), t(0.7))),
    "Binomial": lambda d, t: (d.Binomial(4, t([0.3, 0.8])), d.Binomial(t([4.0, 3.0]), t(0.6))),
    "Categorical": lambda d, t: (d.Categorical(t([[0.3, 0.7], [0.0, 1.0]])), d.Categorical(logits=t([0.5, 1.0]))),
    "Cauchy": lambda d, t: (d.Cauchy(t([0.0, 1.0]), t(2.0)), d.Cauchy(t([1.0, -1.0]), t(0.5))),
    "ContinuousBernoulli": lambda d, t: (d.ContinuousBernoulli(t([0.3, 0.5])), d.ContinuousBernoulli(t([0.6, 0.9]))),
    "Dirichlet": lambda d, t: (d.Dirichlet(t([[0.5, 2.0], [1.0, 3.0]])), d.Dirichlet(t([1.5, 2.5]))),
    "Exponential": lambda d, t: (d.Exponential(t([0.5, 2.0])), d.Exponential(t([1.5, 2.5]))),
    "Gamma": lambda d, t: (d.Gamma(t([0.5, 2.0]), t(3.0)), d.Gamma(t([1.5, 2.5]), t(0.7))),
    "Chi2": lambda d, t: (d.Chi2(t([0.5, 2.0])), d.Chi2(t([1.5, 2.5]))),
    "Geometric": lambda d, t: (d.Geometric(t([0.3, 0.8])), d.Geometric(t(0.6))),
    "Gumbel": lambda d, t: (d.Gumbel(t([0.0, 1.0]), t(2.0)), d.Gumbel(t([1.0, -1.0]), t(0.5))),
    "HalfNormal": lambda d, t: (d.HalfNormal(t([0.5, 2.0])), d.HalfNormal(t([1.5, 2.5]))),
    "Independent": lambda d, t: (
        d.Independent(d.Normal(t([[0.0, 1.0], [2.0, 3.0]]), t(1.0)), 1), d.Independent(d.Normal(t([0.0, 2.0]), t(2.0)), 1)
    ),
    "Laplace": lambda d, t: (d.Laplace(t([0.0, 1.0]), t(2.0)), d.Laplace(t([1.0, -1.0]), t(0.5))),
    "LogNormal": lambda d, t: (d.LogNormal(t([0.0, 1.0]), t(2.0)), d.LogNormal(t([1.0, -1.0]), t(0.5))),
    "LowRankMultivariateNormal": lambda d, t: tuple(
        d.LowRankMultivariateNormal(t([[0.0, 1.0], [1.0, x]]), t([[1.0], [x]]), t([0.5, 1.0])) for x in (1.0, -2.0)
    ),
    "MultivariateNormal": lambda d, t: (
        d.MultivariateNormal(t([[0.0, 1.0], [1.0, 1.0]]), t([[2.0, 0.5], [0.5, 1.0]])),
        d.MultivariateNormal(t([0.5, 2.0]), scale_tril=t([[[2.0, 0.0], [0.5, 1.0]], [[1.0, 0.0], [0.0, 4.0]]])),
    ),
    "Normal": lambda d, t: (d.Normal(t([0.0, 1.0]), t(2.0)), d.Normal(t([1.0, -1.0]), t(0.5))),
    "OneHotCategorical": lambda d, t: (
        d.OneHotCategorical(t([[0.3, 0.7], [0.0, 1.0]])), d.OneHotCategorical(logits=t([0.5, 1.0]))
    ),
    "Pareto": lambda d, t: (d.Pareto(t([0.5, 2.0]), t(3.0)), d.Pareto(t([1.5, 1.0]), t(0.7))),
    "Poisson": lambda d, t: (d.Poisson(t([0.5, 2.0])), d.Poisson(t([1.5, 2.5]))),
    "Uniform": lambda d, t: (d.Uniform(t([0.2, -0.5]), t([0.9, 1.5])), d.Uniform(t([0.1, -1.0]), t([1.0, 1.0]))),
    "Uniform within": lambda d, t: (d.Uniform(t([1.6, 0.1]), t([1.9, 0.5])), d.Uniform(t([-0.1, 0.0]), t([1.0, 2.0]))),
    "StudentT": lambda d, t: (d.StudentT(t(2.0)), d.StudentT(t(3.0))),
    "Wishart": lambda d, t: tuple(d.Wishart(t([3.0, n]), t([[2.0, 0.5], [0.5, n]])) for n in (4.0, 6.0)),
}  # fmt: skip
# PyTorch compares the ends of the interval the wrong way round.
WRONG_DIVERGENCES = {
    ("Wishart", "Wishart"),
    ("ContinuousBernoulli", "Uniform"),
    ("ContinuousBernoulli", "Uniform within"),
}


def divergences(lib):
    pairs = {name: make(lib.distributions, doubles(lib)) for name, make in PAIRS.items()}
    return {
        f"{first} {second}": attempt(lambda: lib.distributions.kl_divergence(pairs[first][0], pairs[second][1]))
        for first in PAIRS
        for second in PAIRS
        if (first, second) not in WRONG_DIVERGENCES
    }


ORACLES = {"distributions_facts": facts, "distributions_functions": functions, "distributions_expanded": expanded,
           "distributions_gradients": gradients, "distributions_divergences": divergences}  # fmt: skip


# PyTorch approximates the Bessel functions of the von Mises distribution by polynomials.
COARSE = {"VonMises": 1e-4, "GeneralizedPareto": 1e-5}


@pytest.mark.parametrize("name", ORACLES)
def test_as_in_pytorch(name):
    want = oracle.answers(name, ORACLES[name])
    got = ORACLES[name](wisp)
    assert got.keys() == want.keys()
    for key in want:
        tolerance = COARSE.get(key.split()[0], 1e-7)
        assert_close(got[key], want[key], key, rel_tol=tolerance, abs_tol=tolerance / 100)


@pytest.mark.skipif(not oracle.HAS_TORCH, reason="compares what was recorded with PyTorch")
@pytest.mark.parametrize("name", ORACLES)
def test_recorded_answers_are_pytorchs(name):
    assert_close(oracle.recorded(name), oracle.answers(name, ORACLES[name]), name)


def test_extreme_logits_and_whole_degrees_of_freedom():
    """A continuous Bernoulli has a density for any logits; whole numbers of degrees of freedom are converted."""
    for logits, value in ((1e9, 1.0), (-1e9, 0.0)):
        x = wisp.tensor([logits], requires_grad=True)
        found = wisp.distributions.ContinuousBernoulli(logits=x).log_prob(wisp.tensor([value]))
        found.backward()
        assert found.item() == pytest.approx(2.769, abs=1e-3) and x.grad.isfinite().all()
    assert wisp.distributions.Wishart(wisp.tensor(3), wisp.eye(2)).sample().shape == (2, 2)
