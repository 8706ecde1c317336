"""Random numbers: streams that can be repeated, and distributions with the right moments."""

import pytest

import wisp
from tests import expressions

CASES = """
L.manual_seed(3).initial_seed()
L.Generator().manual_seed(5).initial_seed()
L.get_rng_state().dtype
L.rand(2, generator=L.Generator()).shape
L.rand(3, dtype=L.int64)
L.rand(-1)
L.randn(2, dtype=L.complex64).dtype
L.randint(5, (3,)).dtype
L.randint(2, 5, (3,)).shape
L.randint(5, 2, (3,))
L.randint(0, 0, (3,))
L.randint(0, 300, (3,), dtype=L.uint8)
L.randperm(5).sort()[0]
L.randperm(0)
L.randperm(-1)
L.randperm(5, dtype=L.int32).dtype
L.rand_like(L.ones(2, 3)).shape
L.randn_like(L.ones(2, dtype=L.int64))
L.randint_like(L.ones(2), 3).dtype
L.empty(3).uniform_(2, 1)
L.empty(3).normal_(0, -1)
L.empty(3).exponential_(0)
L.empty(3).geometric_(2)
L.empty(3).bernoulli_(2)
L.bernoulli(L.tensor([0., 1.]))
L.bernoulli(L.tensor([2.]))
L.multinomial(L.tensor([0., 1.]), 1)
L.multinomial(L.tensor([0., 0.]), 1)
L.multinomial(L.tensor([1., 2.]), 3)
L.multinomial(L.tensor([1., 2.]), 3, True).shape
L.multinomial(L.tensor([-1., 2.]), 1)
L.multinomial(L.ones(2, 3, 4), 1)
L.normal(0., 1., (2,)).shape
L.normal(L.zeros(2), L.ones(2)).shape
L.normal(L.zeros(2), -1.)
L.empty(3, dtype=L.int64).random_(2).dtype
L.empty(3).random_(5, 2)
L.empty(2).bernoulli_(L.ones(3))
L.empty(3).bernoulli_(L.ones(2))
L.empty(2, 3).bernoulli_(L.ones(3))
L.empty(3).bernoulli_(L.ones(2, 3))
L.set_rng_state(L.zeros(3))
L.set_rng_state('a')
L.Generator().set_state(L.zeros(5))
L.Generator(3)
L.manual_seed('a')
L.manual_seed(-1).initial_seed()
L.manual_seed(2**64 - 1).initial_seed()
L.manual_seed(-(2**63)).initial_seed()
L.manual_seed(2**64)
L.manual_seed(-(2**63) - 1)
L.Generator().manual_seed(2**64)
"""
ORACLES = {"random": expressions.table(CASES)}
DRAWS = {
    "rand": lambda g: wisp.rand(1000, generator=g),
    "randn": lambda g: wisp.randn(1000, generator=g),
    "randn_odd": lambda g: wisp.randn(777, dtype=wisp.float64, generator=g),
    "randint": lambda g: wisp.randint(-5, 10**6, (1000,), generator=g),
    "randperm": lambda g: wisp.randperm(1000, generator=g),
    "uniform_": lambda g: wisp.empty(100, 10).uniform_(-1, 1, generator=g),
    "normal_": lambda g: wisp.empty(30, 30).t().normal_(2, 3, generator=g),
    "bernoulli": lambda g: wisp.bernoulli(wisp.full((1000,), 0.3), generator=g),
    "exponential_": lambda g: wisp.empty(1000).exponential_(2, generator=g),
    "geometric_": lambda g: wisp.empty(1000).geometric_(0.25, generator=g),
    "multinomial": lambda g: wisp.multinomial(wisp.arange(1.0, 50.0), 20, generator=g),
    "half": lambda g: wisp.rand(1000, dtype=wisp.float16, generator=g),
}


@pytest.mark.parametrize("expression", expressions.split(CASES))
def test_as_pytorch(expression):
    expressions.check("random", ORACLES["random"], expression)


@pytest.mark.parametrize("name", DRAWS)
def test_streams_repeat(name):
    """The same seed gives the same numbers, another seed others, and a state continues where it was taken."""
    draw = DRAWS[name]
    g = wisp.Generator()
    first = draw(g.manual_seed(7))
    assert (draw(g.manual_seed(7)) == first).all()
    assert not (draw(g) == first).all() and not (draw(g.manual_seed(8)) == first).all()
    state = g.get_state()
    following = draw(g)
    other = wisp.Generator()
    other.set_state(state)
    assert (draw(other) == following).all() and other.initial_seed() == g.initial_seed()


@pytest.mark.parametrize("name", ["rand", "randn", "randint", "bernoulli", "randperm"])
def test_threads_do_not_matter(name):
    """Large draws are spread over threads without changing a number."""
    large = {
        "rand": lambda: wisp.rand(300_001),
        "randn": lambda: wisp.randn(300_001),
        "randint": lambda: wisp.randint(1000, (300_001,)),
        "bernoulli": lambda: wisp.bernoulli(wisp.full((300_001,), 0.5)),
        "randperm": lambda: wisp.randperm(100_001),
    }[name]
    results = []
    for threads in (1, 2, 3):
        wisp.set_num_threads(threads)
        wisp.manual_seed(11)
        results.append((large(), large()))
    for pair in results[1:]:
        assert (pair[0] == results[0][0]).all() and (pair[1] == results[0][1]).all()


def test_default_stream():
    wisp.manual_seed(5)
    state, first = wisp.get_rng_state(), wisp.rand(4)
    with wisp.random.fork_rng():
        wisp.rand(100)
        wisp.manual_seed(9)
    second = wisp.rand(4)
    wisp.set_rng_state(state)
    assert (wisp.rand(4) == first).all() and (wisp.rand(4) == second).all()
    assert wisp.initial_seed() == 5 and wisp.seed() != 5
    with pytest.raises(ValueError), wisp.random.fork_rng():
        before = wisp.get_rng_state()
        raise ValueError
    assert (wisp.get_rng_state() == before).all()


MOMENTS = {
    "rand": (lambda n: wisp.rand(n), 1 / 2, 1 / 12),
    "randn": (lambda n: wisp.randn(n), 0, 1),
    "randn64": (lambda n: wisp.randn(n, dtype=wisp.float64), 0, 1),
    "uniform_": (lambda n: wisp.empty(n).uniform_(-1, 3), 1, 16 / 12),
    "normal_": (lambda n: wisp.empty(n).normal_(2, 3), 2, 9),
    "normal": (lambda n: wisp.normal(wisp.full((n,), -1.0), wisp.full((n,), 2.0)), -1, 4),
    "exponential_": (lambda n: wisp.empty(n).exponential_(2), 1 / 2, 1 / 4),
    "geometric_": (lambda n: wisp.empty(n).geometric_(0.25), 4, 12),
    "bernoulli": (lambda n: wisp.bernoulli(wisp.full((n,), 0.3)), 0.3, 0.21),
    "bernoulli_": (lambda n: wisp.empty(n).bernoulli_(0.3), 0.3, 0.21),
    "randint": (lambda n: wisp.randint(-3, 7, (n,)).float(), 1.5, (100 - 1) / 12),
    "multinomial": (lambda n: wisp.multinomial(wisp.tensor([1.0, 2, 1]), n, True).float(), 1, 0.5),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_moments(name):
    make, mean, variance = MOMENTS[name]
    n = 200_000
    x = make(n).double()
    assert abs(x.mean().item() - mean) < 5 * (variance / n) ** 0.5
    assert abs(x.var().item() / variance - 1) < 0.04
    assert (x[1:] - mean).mul(x[:-1] - mean).mean().abs().item() < 0.02 * max(variance, 1e-3) + 5 * variance / n**0.5


def test_ranges():
    assert 0 <= wisp.rand(100_000).min() and wisp.rand(100_000).max() < 1
    assert 0 <= wisp.rand(100_000, dtype=wisp.float16).min() and wisp.rand(100_000, dtype=wisp.bfloat16).max() < 1
    assert wisp.randint(3, (1000,)).unique().tolist() == [0, 1, 2] if hasattr(wisp, "unique") else True
    assert wisp.randperm(1000).sort()[0].equal(wisp.arange(1000))
    assert wisp.empty(100_000).exponential_().min() > 0 and wisp.empty(1000).geometric_(0.9).min() >= 1
    picks = wisp.multinomial(wisp.ones(5, 50), 50)
    assert all(sorted(row) == list(range(50)) for row in picks.tolist())


def test_samplers_have_the_moments_of_their_distributions():
    n = 20000
    g = wisp.Generator().manual_seed(3)
    for rate in (0.5, 9.0, 30.0, 1000.0):
        x = wisp.poisson(wisp.full((n,), rate, dtype=wisp.float64), g)
        assert abs(x.mean().item() - rate) < 5 * (rate / n) ** 0.5
        assert abs(x.var().item() / rate - 1) < 0.1
    for count, p in ((10.0, 0.3), (100.0, 0.8), (1000.0, 0.5), (5.0, 0.01)):
        counts, ps = (wisp.full((n,), v, dtype=wisp.float64) for v in (count, p))
        x = wisp.binomial(counts, ps, g)
        variance = count * p * (1 - p)
        assert abs(x.mean().item() - count * p) < 5 * (variance / n) ** 0.5
        assert abs(x.var().item() / variance - 1) < 0.1
        assert x.min() >= 0 and x.max() <= count
    for shape in (0.2, 1.0, 7.0):
        x = wisp._standard_gamma(wisp.full((n,), shape, dtype=wisp.float64), g)
        assert abs(x.mean().item() - shape) < 5 * (shape / n) ** 0.5
        assert abs(x.var().item() / shape - 1) < 0.15
    assert wisp._standard_gamma(wisp.tensor([float("inf")])).item() == float("inf")


def test_samplers_depend_on_the_seed_alone():
    rates = wisp.linspace(0, 50, 5000)
    draws = []
    for threads in (1, 2):
        wisp.set_num_threads(threads)
        draws.append(wisp.poisson(rates, wisp.Generator().manual_seed(7)))
    assert wisp.equal(*draws)


def test_samplers_reject_what_is_no_distribution():
    with pytest.raises(RuntimeError, match="non-negative"):
        wisp.poisson(wisp.tensor([-1.0]))
    with pytest.raises(ValueError, match="floating-point"):
        wisp.binomial(wisp.tensor([1]), wisp.tensor([0.5]))
    assert wisp.binomial(wisp.tensor([4.0, 4.0]), wisp.tensor([0.0, 1.0])).tolist() == [0, 4]
    with pytest.raises(NotImplementedError):
        wisp.poisson(wisp.tensor([1]))


def test_gamma_samples_follow_their_shape():
    """Along the derivative by the shape, the distribution function keeps its value."""
    a = wisp.tensor([0.3, 1.0, 2.5, 40.0], dtype=wisp.float64, requires_grad=True)
    x = wisp._standard_gamma(a, wisp.Generator().manual_seed(5))
    (slope,) = wisp.autograd.grad(x.sum(), a)
    step = 1e-6
    with wisp.no_grad():
        moved = wisp.igamma(a + step, x + step * slope) - wisp.igamma(a - step, x - step * slope)
    assert moved.abs().max() < 1e-9


def test_dirichlet_samples_add_up_to_one():
    a = wisp.full((5, 3), 0.5, requires_grad=True)
    x = wisp._sample_dirichlet(a)
    assert wisp.allclose(x.sum(-1), wisp.ones(5))
    x[:, 0].sum().backward()
    assert (a.grad[:, 0] > 0).all()


def test_normal_passes_no_gradient_to_its_parameters():
    mean, std = wisp.ones(3, requires_grad=True), wisp.ones(3, requires_grad=True)
    wisp.normal(mean, std).sum().backward()
    assert mean.grad.abs().sum() == 0 and std.grad.abs().sum() == 0


def test_dirichlet_of_small_concentrations_lies_in_the_corners():
    wisp.manual_seed(0)
    x = wisp._sample_dirichlet(wisp.full((20000, 2), 1e-3))
    assert ((x > 0.1) & (x < 0.9)).float().mean() < 0.01
    assert wisp.allclose(x.sum(-1), wisp.ones(20000)) and abs(x[:, 0].mean() - 0.5) < 0.02


def test_gradients_of_dirichlet_draws_are_those_of_the_mean():
    a = wisp.tensor([2.0, 3.0, 5.0], dtype=wisp.float64, requires_grad=True)
    wisp.manual_seed(0)
    wisp._sample_dirichlet(a.expand(100_000, 3))[:, 0].mean().backward()
    assert wisp.allclose(a.grad, wisp.tensor([0.08, -0.02, -0.02], dtype=wisp.float64), atol=1e-3)  # of a0 / sum(a)


@pytest.mark.parametrize("draw", [lambda x: x.normal_(3, 2), lambda x: x.uniform_(-2, 5), lambda x: x.normal_()])
@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64])
def test_longer_draws_begin_with_the_shorter_ones(draw, dtype):
    def drawn(n):
        wisp.manual_seed(5)
        return draw(wisp.empty(n, dtype=dtype))

    whole = drawn(20_000)
    for n in (1, 7, 63, 64, 65, 255, 256, 257, 2047, 2049, 8191, 8193):
        assert wisp.equal(drawn(n), whole[:n]), n
