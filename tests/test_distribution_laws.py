"""Distributions by the laws they obey: integrals, moments of draws, gradients of draws, divergences."""

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

DISCRETE = ("Bernoulli", "Binomial", "Categorical", "Geometric", "NegativeBinomial", "Poisson")
# Where densities of one number are integrated: far enough into the tails, and finely enough.
LINES = {
    "Cauchy": (-2e4, 2e4), "Chi2": (0, 60), "ContinuousBernoulli": (0, 1), "Exponential": (0, 60), "Gamma": (0, 200),
    "FisherSnedecor": (0, 1e7), "GeneralizedPareto": (0, 1e9), "Gumbel": (-20, 100), "HalfCauchy": (0, 2e4),
    "HalfNormal": (0, 20), "InverseGamma": (0, 1e10), "Kumaraswamy": (0, 1), "Laplace": (-60, 60), "LogNormal": (0, 800),
    "MixtureSameFamily": (-20, 20), "Normal": (-30, 30), "Pareto": (0, 1e12), "RelaxedBernoulli": (0, 1),
    "StudentT": (-1e9, 1e9), "TransformedDistribution": (0, 1), "TransformedDistribution of nothing": (-9, 11),
    "Uniform": (-2, 8), "VonMises": (-math.pi, math.pi), "Weibull": (0, 30), "Beta": (0, 1),
}  # fmt: skip
OF_NUMBERS = {name: line for name in MAKERS if (line := LINES.get(name) or LINES.get(name.split()[0])) is not None}
OF_NUMBERS = {name: line for name, line in OF_NUMBERS.items() if not name.endswith("vectors")}


@pytest.fixture(autouse=True)
def unchecked():
    """Values outside of the support are asked about too."""
    distributions.Distribution.set_default_validate_args(False)
    yield
    distributions.Distribution.set_default_validate_args(True)


@pytest.fixture
def checked(unchecked):
    distributions.Distribution.set_default_validate_args(True)


def made(name):
    return makers(wisp)[name]()


def points(name, n=40001):
    """Points on a line, dense at its ends, and the rule of summation over them: x = end * u^8 and the like."""
    low, high = OF_NUMBERS[name]
    u = (wisp.arange(n, dtype=wisp.float64) + 0.5) / n
    if high - low <= 1.5:  # dense at both ends
        x = low + (high - low) * u.pow(4) * (35 - 84 * u + 70 * u**2 - 20 * u**3)
        return x.clamp(low, high), (high - low) * 140 * u.pow(3) * (1 - u).pow(3) / n
    if low == 0:
        return high * u.pow(12), 12 * high * u.pow(11) / n
    if low < -1e3:
        v = 2 * u - 1
        return high * v.abs().pow(11) * v.sign(), 22 * high * v.pow(10) / n
    return low + (high - low) * u, wisp.full_like(u, (high - low) / n)


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_densities_integrate_to_one(name):
    d = made(name)
    x, weight = points(name)
    spread = (-1,) + (1,) * len(d.batch_shape)
    log_prob = d.log_prob(x.reshape(spread).to(d.sample().dtype))
    low, high = OF_NUMBERS[name]
    inside = d.support.check(x.reshape(spread)) & ((x > low) & (x < high)).reshape(spread)
    density = wisp.where(inside, log_prob.exp(), 0.0)
    total = (density * weight.reshape(spread)).sum(0)
    assert wisp.allclose(total.double(), wisp.ones_like(total).double(), atol=6e-3), total


@pytest.mark.parametrize("name", [name for name in MAKERS if name.split()[0] in DISCRETE])
def test_probabilities_sum_to_one(name):
    d = made(name)
    values = d.enumerate_support() if d.has_enumerate_support else wisp.arange(200.0).double()
    if not d.has_enumerate_support:
        values = values.reshape((-1,) + (1,) * len(d.batch_shape))
    total = d.log_prob(values).exp().sum(0)
    assert wisp.allclose(total.double(), wisp.ones(d.batch_shape, dtype=wisp.float64), atol=1e-6)
    if name.split()[0] != "Categorical":
        probs = d.log_prob(values).exp()
        assert wisp.allclose((probs * values).sum(0).double(), d.mean.double().expand(d.batch_shape), atol=1e-6)


def test_probabilities_of_vectors_sum_to_one():
    counts = wisp.tensor([[i, j, 3 - i - j] for i in range(4) for j in range(4 - i)], dtype=wisp.float64)
    assert wisp.allclose(made("Multinomial").log_prob(counts[:, None]).exp().sum(0), wisp.ones(2).double())
    one_hot = made("OneHotCategorical")
    assert wisp.allclose(one_hot.log_prob(one_hot.enumerate_support()).exp().sum(0), wisp.ones(2).double())


@pytest.mark.parametrize(
    "name", ["Dirichlet", "LogisticNormal", "RelaxedOneHotCategorical", "TransformedDistribution of vectors"]
)
def test_densities_on_the_simplex_integrate_to_one(name):
    """Over the unit square, of which (u, (1 - u) v) is the triangle of the first two coordinates."""
    d = made(name)
    n = 400
    u = (wisp.arange(n, dtype=wisp.float64) + 0.5) / n
    s = u.pow(4) * (35 - 84 * u + 70 * u**2 - 20 * u**3)  # dense at both ends
    weight = 140 * u.pow(3) * (1 - u).pow(3) / n
    a, b = s[:, None].expand(n, n), (1 - s[:, None]) * s
    x = wisp.stack([a, b, 1 - a - b], -1).reshape(-1, 3)
    area = (weight[:, None] * weight * (1 - s[:, None])).reshape(-1)
    density = d.log_prob(x.reshape((-1,) + (1,) * len(d.batch_shape) + (3,))).exp()
    total = (density * area.reshape((-1,) + (1,) * len(d.batch_shape))).sum(0)
    assert wisp.allclose(total, wisp.ones_like(total), atol=5e-3), total


def test_densities_of_normal_vectors_integrate_to_one():
    line = wisp.arange(-12, 12, 0.1, dtype=wisp.float64)
    grid = wisp.cartesian_prod(line, line)
    for name in ("MultivariateNormal", "MultivariateNormal by precision", "MixtureSameFamily of vectors"):
        d = made(name)
        total = d.log_prob(grid.reshape((-1,) + (1,) * len(d.batch_shape) + (2,))).exp().sum(0) * 0.01
        assert wisp.allclose(total, wisp.ones_like(total), atol=1e-3), name


def test_the_density_of_correlations_integrates_to_one():
    """A two by two correlation matrix has one number; its factor is (r, sqrt(1 - r^2))."""
    n = 20000
    angle = math.pi * (wisp.arange(n, dtype=wisp.float64) + 0.5) / n
    r, zero = angle.cos(), wisp.zeros(n, dtype=wisp.float64)
    factors = wisp.stack([wisp.stack([zero + 1, zero], -1), wisp.stack([r, angle.sin()], -1)], -2)
    for concentration in (0.5, 1.0, 3.0):
        d = distributions.LKJCholesky(2, wisp.tensor(concentration, dtype=wisp.float64), validate_args=False)
        # The density is with respect to r, not to the length of the arc.
        total = (d.log_prob(factors).exp() * angle.sin()).sum().item() * math.pi / n
        assert total == pytest.approx(1, abs=1e-2)


# --- draws

FINITE = [name for name in MAKERS if name.split()[0] not in ("Cauchy", "HalfCauchy", "LKJCholesky", "RelaxedBernoulli",
          "RelaxedOneHotCategorical", "LogisticNormal", "Categorical", "TransformedDistribution", "VonMises", "Wishart")]  # fmt: skip


@pytest.mark.parametrize("name", FINITE)
def test_draws_have_the_mean_and_the_variance(name):
    d = made(name)
    n = 20000
    draws = d.sample((n,)).double()
    assert draws.shape == (n, *d.batch_shape, *d.event_shape)
    mean, variance = (x.double().expand(draws.shape[1:]) for x in (d.mean, d.variance))
    ok = wisp.isfinite(mean) & wisp.isfinite(variance)
    error = (draws.mean(0) - mean) / (variance / n).sqrt().clamp(min=1e-9)
    assert (wisp.where(ok, error, 0.0).abs() < 5).all(), error
    # The variance of a heavy tail is not measured by this many draws.
    fourth = ((draws - mean) ** 4).mean(0) / variance.square().clamp(min=1e-30)
    light = ok & (fourth < 12)
    assert (wisp.where(light & (variance > 1e-3), draws.var(0) / variance - 1, 0.0).abs() < 0.12).all()


@pytest.mark.filterwarnings("ignore:Singular sample")
@pytest.mark.parametrize("name", MAKERS)
def test_draws_lie_in_the_support(name):
    d = made(name)
    draws = d.sample((200,))
    assert d.support.check(draws).all()
    assert not draws.requires_grad
    assert d.sample().shape == d.batch_shape + d.event_shape
    assert d.sample((0,)).shape[0] == 0
    assert d.sample([2, 1]).shape[:2] == (2, 1)


@pytest.mark.parametrize("name", [n for n in OF_NUMBERS if n.split()[0] not in ("FisherSnedecor", "StudentT", "Beta",
                                  "RelaxedBernoulli", "InverseGamma", "VonMises")])  # fmt: skip
def test_draws_are_distributed_as_the_cdf_says(name):
    """Kolmogorov and Smirnov's distance of 4000 draws."""
    d = made(name)
    draws = d.sample((4000,)).sort(0).values
    steps = (wisp.arange(4000, dtype=wisp.float64) / 4000).reshape((-1,) + (1,) * len(d.batch_shape))
    assert ((d.cdf(draws) - steps).abs().amax(0) < 0.03).all()


@pytest.mark.parametrize("name", [n for n in OF_NUMBERS if n.split()[0] not in ("FisherSnedecor", "StudentT", "Beta",
                                  "RelaxedBernoulli", "VonMises")])  # fmt: skip
def test_the_cdf_is_the_integral_of_the_density(name):
    d = made(name)
    p = wisp.tensor([0.2, 0.5, 0.8], dtype=wisp.float64).reshape((-1,) + (1,) * len(d.batch_shape))
    try:
        x = d.icdf(p)
    except NotImplementedError:
        x = d.sample((3,)).double()
        p = d.cdf(x)
    assert wisp.allclose(d.cdf(x).double(), p.expand_as(x), atol=1e-5)
    h = wisp.where(x == 0, 1e-4, x.abs() * 1e-3)
    slope = (d.cdf(x + h) - d.cdf(x - h)) / (2 * h)
    assert wisp.allclose(slope.double(), d.log_prob(x).exp().double(), rtol=2e-2, atol=1e-3)


@pytest.mark.parametrize("name", MAKERS)
def test_the_entropy_is_the_mean_of_minus_log_prob(name):
    d = made(name)
    try:
        entropy = d.entropy()
    except NotImplementedError:
        pytest.skip("has no entropy in closed form")
    log_prob = d.log_prob(d.sample((20000,)))
    error = (-log_prob.mean(0) - entropy) / (log_prob.std(0) / math.sqrt(20000)).clamp(min=1e-6)
    assert (error.abs() < 5).all(), (entropy, -log_prob.mean(0))


def test_the_mode_has_the_largest_density():
    for name in (
        "Normal",
        "Laplace",
        "Gumbel",
        "StudentT",
        "LogNormal",
        "Weibull",
        "Cauchy",
        "VonMises",
        "InverseGamma",
    ):
        d = made(name)
        for step in (-0.01, 0.01):
            assert (d.log_prob(d.mode) >= d.log_prob(d.mode + step)).all(), name
    d = distributions.Kumaraswamy(wisp.tensor([2.0, 3.0]).double(), wisp.tensor([3.0, 2.0]).double())
    assert (d.log_prob(d.mode) >= d.log_prob(d.mode + 1e-3)).all() and (
        d.log_prob(d.mode) >= d.log_prob(d.mode - 1e-3)
    ).all()
    assert distributions.Weibull(1.0, 0.5).mode == 0


def test_angles_have_the_circular_mean_and_variance():
    d = made("VonMises")
    draws = d.sample((20000,))
    c, s = draws.cos().mean(0), draws.sin().mean(0)
    assert wisp.allclose(1 - (c * c + s * s).sqrt(), d.variance, atol=0.02)
    assert ((wisp.atan2(s, c) - d.loc)[1:].abs() < 0.05).all()
    tiny = distributions.VonMises(0.0, 1e-8).sample((1000,))
    assert tiny.std() > 1.5 and wisp.isfinite(tiny).all()
    assert distributions.VonMises(0.0, math.nan, validate_args=False).sample().isnan()


def test_matrices_have_their_means():
    d = made("Wishart")
    draws = d.sample((20000,))
    assert wisp.allclose(draws.mean(0), d.mean, rtol=0.05, atol=0.1)
    assert wisp.allclose(draws.var(0), d.variance, rtol=0.1, atol=0.5)
    lkj = distributions.LKJCholesky(3, 2.0)
    factors = lkj.sample((20000,))
    r = (factors @ factors.mT)[:, [1, 2, 2], [0, 0, 1]]
    assert (r.mean(0).abs() < 0.02).all()
    assert wisp.allclose(r.var(0), wisp.full((3,), 1 / 6), atol=0.01)  # (1 + r) / 2 is beta distributed, of 2.5 twice


def test_dirichlets_of_small_concentrations_are_near_corners():
    draws = distributions.Dirichlet(wisp.full((3,), 1e-3)).sample((2000,))
    assert (draws.amax(-1) > 0.999).float().mean() > 0.98
    assert wisp.allclose(draws.mean(0), wisp.full((3,), 1 / 3), atol=0.05)
    beta = distributions.Beta(1e-2, 3e-2).sample((5000,))
    assert beta.mean().item() == pytest.approx(0.25, abs=0.03)


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
    for wrong in (1, int):
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
