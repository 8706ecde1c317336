"""Distributions: gradients of draws, divergences, copies, subclasses, the guide."""

import copy
import doctest
import importlib
import math
import pathlib
import pickle
import re
import sys

import pytest

import wisp
from tests.test_distributions import MAKERS, PAIRS, along_batch, doubles, makers
from wisp import distributions
from wisp.distributions import kl_divergence

pytestmark = pytest.mark.usefixtures("unchecked")


def made(name):
    return makers(wisp)[name]()


# --- gradients of draws


def gradient(make, value, seed=3):
    """A draw as a function of one parameter, and its derivative by autograd."""
    parameter = wisp.tensor(value, dtype=wisp.float64, requires_grad=True)
    wisp.manual_seed(seed)
    draws = make(parameter).rsample((50,))
    return draws, wisp.func.jacrev(lambda p: seeded(make, p, seed))(parameter.detach())


def seeded(make, parameter, seed):
    wisp.manual_seed(seed)
    return make(parameter).rsample((50,))


BY_SHIFT = {
    "Cauchy": lambda p: distributions.Cauchy(p, p + 1),
    "ContinuousBernoulli": lambda p: distributions.ContinuousBernoulli(p),
    "Exponential": lambda p: distributions.Exponential(p),
    "GeneralizedPareto": lambda p: distributions.GeneralizedPareto(p, p, p),
    "Gumbel": lambda p: distributions.Gumbel(p, p),
    "HalfCauchy": lambda p: distributions.HalfCauchy(p),
    "HalfNormal": lambda p: distributions.HalfNormal(p),
    "Kumaraswamy": lambda p: distributions.Kumaraswamy(p, 2 * p),
    "Laplace": lambda p: distributions.Laplace(p, p),
    "LogNormal": lambda p: distributions.LogNormal(p, p),
    "LogisticNormal": lambda p: distributions.LogisticNormal(p.expand(2), p),
    "LowRank": lambda p: distributions.LowRankMultivariateNormal(p.expand(2), p.expand(2, 1), p.expand(2)),
    "MultivariateNormal": lambda p: distributions.MultivariateNormal(
        p.expand(2), (p + 1) * wisp.eye(2).double() + p / 4
    ),
    "Normal": lambda p: distributions.Normal(p, p * p),
    "Pareto": lambda p: distributions.Pareto(p, p),
    "RelaxedBernoulli": lambda p: distributions.RelaxedBernoulli(p, p),
    "RelaxedOneHotCategorical": lambda p: distributions.RelaxedOneHotCategorical(p, wisp.stack([p, p * p])),
    "Uniform": lambda p: distributions.Uniform(p, 3 * p),
    "Weibull": lambda p: distributions.Weibull(p, p),
}


@pytest.mark.parametrize("name", BY_SHIFT)
def test_gradients_of_draws_by_differences(name):
    make, h = BY_SHIFT[name], 1e-6
    _, got = gradient(make, 0.6)
    with wisp.no_grad():
        above, below = (seeded(make, wisp.tensor(0.6 + s * h, dtype=wisp.float64), 3) for s in (1, -1))
    assert wisp.allclose(got, (above - below) / (2 * h), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("concentration", [0.05, 0.5, 1.0, 3.0, 40.0])
def test_gamma_draws_move_so_that_their_probability_stays(concentration):
    draws, got = gradient(lambda p: distributions.Gamma(p, wisp.ones(()).double()), concentration)
    h = concentration * 1e-5
    up, down = (distributions.Gamma(doubles(wisp)(concentration + s * h), 1.0) for s in (1, -1))
    middle, x = distributions.Gamma(doubles(wisp)(concentration), 1.0), draws.detach()
    expected = -(up.cdf(x) - down.cdf(x)) / (2 * h) / middle.log_prob(x).exp()
    solid = x > 1e-20
    assert wisp.allclose(got[solid], expected[solid], rtol=1e-3, atol=1e-8)


MEANS = {
    "Beta": lambda p: distributions.Beta(p, wisp.tensor(1.5).double()),
    "Beta of little": lambda p: distributions.Beta(p / 30, wisp.tensor(0.05).double()),
    "Chi2": lambda p: distributions.Chi2(p),
    "Dirichlet": lambda p: distributions.Dirichlet(wisp.stack([p, wisp.tensor(2.0).double()])),
    "FisherSnedecor": lambda p: distributions.FisherSnedecor(p, 20 * p),
    "InverseGamma": lambda p: distributions.InverseGamma(4 + p, p),
    "StudentT": lambda p: distributions.StudentT(8 * p, p, p),
    "Wishart": lambda p: distributions.Wishart(4 * p, p * wisp.eye(2).double() + 0.1),
}


@pytest.mark.parametrize("name", MEANS)
def test_the_mean_gradient_of_draws_is_the_gradient_of_the_mean(name):
    make = MEANS[name]
    p = wisp.tensor(1.3, dtype=wisp.float64, requires_grad=True)
    draws = make(p).rsample((40000,))
    (got,) = wisp.autograd.grad(draws.mean(0).sum() if name != "Dirichlet" else draws.mean(0)[0], p)
    mean = make(p).mean
    (want,) = wisp.autograd.grad(mean.sum() if name != "Dirichlet" else mean[0], p)
    assert got.item() == pytest.approx(want.item(), rel=0.06, abs=0.01)


def test_draws_of_dirichlets_have_derivatives_forwards():
    def draw(p):
        wisp.manual_seed(5)
        return distributions.Dirichlet(p).rsample((4,))

    p = wisp.tensor([0.3, 2.0, 1e-3], dtype=wisp.float64)
    assert wisp.allclose(wisp.func.jacfwd(draw, randomness="same")(p), wisp.func.jacrev(draw)(p))


def test_straight_through_draws_pass_gradients_on():
    probs = wisp.tensor([0.2, 0.8], requires_grad=True)
    draw = distributions.OneHotCategoricalStraightThrough(probs).rsample()
    assert sorted(draw.tolist()) == [0, 1]
    (draw * wisp.tensor([1.0, 3.0])).sum().backward()
    assert wisp.allclose(probs.grad, wisp.tensor([-1.6, 0.4]))  # of the weights with respect to the given numbers


# --- divergences


def test_divergences_by_draws():
    """KL(p, q) is the mean of log p - log q over draws of p."""
    checked = 0
    for first, make_p in PAIRS.items():
        for second, make_q in PAIRS.items():
            p, q = make_p(distributions, doubles(wisp))[0], make_q(distributions, doubles(wisp))[1]
            try:
                kl = kl_divergence(p, q)
            except (NotImplementedError, RuntimeError, ValueError):
                continue
            x = p.sample((5000,))
            difference = p.log_prob(x) - q.log_prob(x)
            inside = q.support.check(x)
            ok = wisp.isfinite(kl) & inside.all(0)
            error = (difference.mean(0) - kl) / (difference.std(0) / math.sqrt(5000)).clamp(min=1e-4)
            heavy = "Pareto" in first or "Gumbel" in second or "Wishart" in first
            assert (wisp.where(ok, error, 0.0).abs() < (12 if heavy else 6)).all(), (
                first,
                second,
                kl,
                difference.mean(0),
            )
            checked += 1
    assert checked > 80


def test_divergences_of_exponential_families_agree_with_their_formulas():
    bregman = distributions.kl._kl_exponential_family
    for name in ("Bernoulli", "Beta", "ContinuousBernoulli", "Dirichlet", "Exponential", "Gamma", "Normal", "Poisson"):
        p, q = PAIRS[name](distributions, doubles(wisp))
        if name == "Bernoulli":
            p, q = (
                distributions.Bernoulli(doubles(wisp)([0.3, 0.6])),
                distributions.Bernoulli(doubles(wisp)([0.6, 0.2])),
            )
        assert wisp.allclose(
            bregman(p, q), kl_divergence(p, q), atol=1e-4 if name == "ContinuousBernoulli" else 1e-9
        ), name
        if name != "Poisson" and name != "Dirichlet" and name != "Beta":
            assert wisp.allclose(distributions.ExponentialFamily.entropy(p), p.entropy(), atol=1e-5), name


def test_entropies_of_exponential_families_are_differentiable():
    scale = wisp.tensor(2.0, requires_grad=True)
    distributions.ExponentialFamily.entropy(distributions.Normal(0.0, scale)).backward()
    assert scale.grad.item() == pytest.approx(0.5)
    assert not distributions.ExponentialFamily.entropy(distributions.Normal(0.0, 1.0)).requires_grad


def test_the_uniform_distribution_must_cover_the_interval():
    p = distributions.ContinuousBernoulli(0.3)
    assert wisp.isfinite(kl_divergence(p, distributions.Uniform(-1.0, 2.0)))
    assert kl_divergence(p, distributions.Uniform(0.5, 2.0)) == math.inf


def test_the_most_specific_divergence_is_taken():
    class Left(distributions.Normal):
        pass

    class Right(distributions.Normal):
        pass

    distributions.register_kl(Left, distributions.Normal)(lambda p, q: "left")
    distributions.register_kl(distributions.Normal, Right)(lambda p, q: "right")
    plain, left, right = distributions.Normal(0.0, 1.0), Left(0.0, 1.0), Right(0.0, 1.0)
    assert kl_divergence(plain, plain) == 0
    assert kl_divergence(left, plain) == "left" and kl_divergence(plain, right) == "right"
    with pytest.warns(RuntimeWarning, match="Ambiguous kl_divergence\\(Left, Right\\)"):
        kl_divergence(left, right)
    distributions.register_kl(Left, Right)(lambda p, q: "both")
    assert kl_divergence(left, right) == "both"
    for wrong in (1, "Normal"):
        with pytest.raises(TypeError):
            distributions.register_kl(wrong, distributions.Normal)


# --- objects


@pytest.mark.parametrize("name", MAKERS)
def test_copies_are_the_same_distribution(name, checked):
    d = made(name)
    values = along_batch(wisp, name, d)
    expected = d.log_prob(values)
    for again in (copy.deepcopy(d), pickle.loads(pickle.dumps(d)), copy.copy(d)):
        assert repr(again) == repr(d)
        assert wisp.equal(again.log_prob(values), expected)
        assert again.expand((2, *d.batch_shape)).sample().shape[0] == 2


def test_subclasses_with_a_constructor_of_their_own_expand_themselves():
    class Standard(distributions.Normal):
        def __init__(self):
            super().__init__(0.0, 1.0)

    with pytest.raises(NotImplementedError, match="Subclass Standard of Normal that defines a custom __init__"):
        Standard().expand((2,))

    class Plain(distributions.Normal):
        pass

    assert type(Plain(0.0, 1.0).expand((2,))) is Plain
    with pytest.raises(NotImplementedError):
        distributions.Distribution(validate_args=False).expand((2,))


def test_matrices_that_are_no_covariances_are_told(checked):
    wrong = wisp.tensor([[1.0, 1.0], [1.0, -2.0]])
    for make in (
        lambda: distributions.Wishart(3.0, wrong),
        lambda: distributions.MultivariateNormal(wisp.zeros(2), wrong),
    ):
        with pytest.raises(ValueError, match="covariance_matrix .* to satisfy the constraint PositiveDefinite"):
            make()


def test_validation_is_switched():
    distributions.Normal(0.0, -1.0)
    with pytest.raises(ValueError, match="scale"):
        distributions.Normal(0.0, -1.0, validate_args=True)
    distributions.Distribution.set_default_validate_args(True)
    assert distributions.Normal(0.0, -1.0, validate_args=False).expand((2,))._validate_args is False
    with pytest.raises(ValueError, match="scale"):
        distributions.Normal(0.0, -1.0)


def test_dtypes_follow_the_parameters():
    assert distributions.Normal(0, 1).sample().dtype is wisp.float32
    assert distributions.Normal(wisp.zeros(2).double(), 1).sample().dtype is wisp.float64
    assert distributions.Poisson(2.5).sample().dtype is wisp.float32
    assert distributions.Categorical(wisp.ones(2)).sample().dtype is wisp.int64
    wisp.set_default_dtype(wisp.float64)
    assert distributions.Gamma(1.0, 1.0).sample().dtype is wisp.float64


def test_gradients_of_log_prob_reach_the_parameters():
    loc, scale = wisp.tensor(0.5, requires_grad=True), wisp.tensor(2.0, requires_grad=True)
    distributions.Normal(loc, scale).log_prob(wisp.tensor(1.5)).backward()
    assert loc.grad.item() == pytest.approx(0.25) and scale.grad.item() == pytest.approx(-0.375)
    probs = wisp.tensor([0.25, 0.75], requires_grad=True)
    d = distributions.Bernoulli(probs)
    with wisp.no_grad():
        d.logits  # noqa: B018  (computed without grad mode, with gradients all the same)
    d.log_prob(wisp.ones(2)).sum().backward()
    assert wisp.allclose(probs.grad, 1 / probs.detach())


def test_distributions_work_inside_vmap_and_grad():
    def loss(loc, x):
        return -distributions.Normal(loc, 1.0, validate_args=False).log_prob(x)

    got = wisp.func.vmap(wisp.func.grad(loss))(wisp.tensor([0.0, 1.0]), wisp.tensor([1.0, 3.0]))
    assert got.tolist() == [-1, -2]


def test_mixtures_broadcast_their_weights():
    weights, components = distributions.Categorical(wisp.ones(2)), distributions.Normal(wisp.zeros(3, 2), 1.0)
    mixture = distributions.MixtureSameFamily(weights, components)
    assert mixture.batch_shape == (3,) and mixture.sample((4,)).shape == (4, 3)


def test_modules_by_the_names_of_single_distributions():
    from wisp.distributions.beta import Beta
    from wisp.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
    from wisp.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
    from wisp.distributions.relaxed_categorical import ExpRelaxedCategorical
    from wisp.distributions.studentT import StudentT

    assert Beta is distributions.Beta and StudentT is distributions.StudentT
    assert LowRankMultivariateNormal is distributions.LowRankMultivariateNormal
    assert LogitRelaxedBernoulli(1.0, 0.5).expand((2,)).sample().shape == (2,)
    assert ExpRelaxedCategorical(1.0, wisp.ones(3)).expand((2,)).sample().shape == (2, 3)
    assert all(hasattr(distributions, name) for name in distributions.__all__)


def test_sample_n_warns():
    with pytest.warns(UserWarning, match="sample_n will be deprecated"):
        assert distributions.Normal(0.0, 1.0).sample_n(3).shape == (3,)


# --- documentation

MODULES = sorted({m.__name__ for m in vars(distributions).values() if isinstance(m, type(math)) and m is not sys})


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module, extraglobs={"wisp": wisp}).failed == 0


def test_the_guide(checked):
    page = pathlib.Path(__file__).parent.parent / "docs" / "distributions.md"
    if not page.exists():
        pytest.skip("needs the source tree")
    text = re.sub(r"```(python)?", "", page.read_text())
    guide = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert doctest.DocTestRunner().run(guide).failed == 0
