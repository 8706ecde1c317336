"""Distributions by the laws they obey: integrals, and moments of draws."""

import math

import pytest

import wisp
from tests.test_distributions import MAKERS, makers
from wisp import distributions

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


pytestmark = pytest.mark.usefixtures("unchecked")


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


@pytest.mark.parametrize("p", [0.02, 0.3, 0.4995, 0.5, 0.9])
def test_the_continuous_bernoulli_distribution_ends_at_0_and_1(p):
    d = distributions.ContinuousBernoulli(wisp.tensor(p, dtype=wisp.float64), validate_args=False)
    x = wisp.tensor([-wisp.inf, -1e6, 0, 0.25, 1, 1e6, wisp.inf], dtype=wisp.float64)
    found = d.cdf(x)
    assert found[:3].tolist() == [0] * 3 and found[-3:].tolist() == [1] * 3
    assert d.icdf(found[3]).item() == pytest.approx(0.25)


# --- draws


@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64])
@pytest.mark.parametrize("concentration", [1e-3, 1e-30])
def test_draws_of_tiny_concentrations(concentration, dtype):
    """They are at the corners, as far as numbers go, with densities and gradients that are numbers."""
    a = wisp.full((2,), concentration, dtype=dtype, requires_grad=True)
    for d in (distributions.Dirichlet(a), distributions.Beta(a[0], a[1])):
        draws = d.rsample((2000,))
        first = draws[..., 0] if d.event_shape else draws
        assert (first > 0).all() and (first < 1).all()
        assert ((first < 1e-3) | (first > 0.999)).double().mean() > 0.97
        assert 0.4 < first.mean().item() < 0.6
        assert d.log_prob(draws.detach()).isfinite().all()
        assert not wisp.autograd.grad(draws.sum(), a, retain_graph=True)[0].isnan().any()


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
    for concentration in (1e5, 1e10):
        large = distributions.VonMises(wisp.tensor(0.5, dtype=wisp.float64), concentration).sample((20000,))
        assert large.std().item() == pytest.approx(concentration**-0.5, rel=0.02)
    for odd in (math.nan, math.inf, 1e38):
        distributions.VonMises(0.0, odd, validate_args=False).sample()


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
