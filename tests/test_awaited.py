"""Convolutions that wait for what follows them (core/ops/awaited.cpp): nobody can tell, but for the time they take."""

import gc
import os
import weakref

import numpy as np
import pytest

import wisp
from tests.in_threads import together
from wisp import nn
from wisp.nn import functional as F

waits = wisp._C._is_pending


def images(seed=0, channels=16, size=30, batch=2):
    wisp.manual_seed(seed)
    return wisp.randn(batch, channels, size, size)


@pytest.fixture(autouse=True)
def without_gradients():
    with wisp.no_grad():
        yield


@pytest.fixture
def conv():
    wisp.manual_seed(1)
    return nn.Conv2d(16, 32, 3, padding=1)


@pytest.fixture
def norm():
    wisp.manual_seed(2)
    made = nn.BatchNorm2d(32).eval()
    made.running_mean.uniform_(-1, 1)
    made.running_var.uniform_(0.5, 2)
    made.weight.uniform_(-1, 1)
    made.bias.uniform_(-1, 1)
    return made


def at_once(conv, x):
    """The convolution on its own, computed."""
    y = conv(x)
    y.numpy()
    return y


def check(found, expected):
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-5)


TAILS = {
    "relu": lambda y, norm, other: F.relu(y),
    "norm": lambda y, norm, other: norm(y),
    "sum": lambda y, norm, other: y + other,
    "sum, turned": lambda y, norm, other: other + y,
    "norm, relu": lambda y, norm, other: F.relu(norm(y)),
    "norm, sum, relu": lambda y, norm, other: F.relu(norm(y) + other),
    "sum, relu": lambda y, norm, other: F.relu(y + other),
    "in place": lambda y, norm, other: F.relu(norm(y).add_(other), inplace=True),
    "relu in place": lambda y, norm, other: y.relu_(),
    "pool": lambda y, norm, other: F.max_pool2d(y, 2),
    "relu, pool": lambda y, norm, other: F.max_pool2d(F.relu(y), 2),
    "pool, relu": lambda y, norm, other: F.relu(F.max_pool2d(y, 3, 4)),
    "relu, pool, relu": lambda y, norm, other: F.relu(F.max_pool2d(F.relu(y), (2, 1))),
    "relu in place, pool, relu in place": lambda y, norm, other: F.max_pool2d(y.relu_(), 2).relu_(),
    "norm, relu, pool": lambda y, norm, other: F.max_pool2d(F.relu(norm(y)), 2),
    "pool, norm": lambda y, norm, other: norm(F.max_pool2d(y, 2)),
    "pool of a pool": lambda y, norm, other: F.max_pool2d(F.max_pool2d(y, 2), 2),
    "pool of windows that overlap": lambda y, norm, other: F.max_pool2d(y, 3, 2),
    "pool with padding": lambda y, norm, other: F.max_pool2d(y, 2, padding=1),
    "pool of dilated windows": lambda y, norm, other: F.max_pool2d(y, 2, 4, dilation=2),
    "pool up to the edge": lambda y, norm, other: F.max_pool2d(y, 4, ceil_mode=True),
    "pool with indices": lambda y, norm, other: F.max_pool2d(y, 2, return_indices=True)[0],
    "in an order that does not join": lambda y, norm, other: norm(F.relu(y) + other),
    "twice the same": lambda y, norm, other: F.relu(y + y),
    "scaled sum": lambda y, norm, other: F.relu(y.add(other, alpha=2)),
    "broadcast sum": lambda y, norm, other: F.relu(y + other[:, :1]),
    "other dtype": lambda y, norm, other: F.relu(y + other.double()),
    "part": lambda y, norm, other: F.relu(y[1:]),
    "turned": lambda y, norm, other: F.relu(y.transpose(2, 3)),
    "view": lambda y, norm, other: F.relu(y.view(2, -1)),
}


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
def test_same_as_the_parts(conv, norm, tail):
    x, other = images(), images(5, channels=32)
    expected = tail(at_once(conv, x), norm, other)
    expected.numpy()
    check(tail(conv(x), norm, other), expected)


JOINED = [
    "relu",
    "norm",
    "sum",
    "norm, sum, relu",
    "pool",
    "relu, pool",
    "pool, relu",
    "relu in place, pool, relu in place",
]


@pytest.mark.parametrize("tail", JOINED)
def test_it_waits_and_its_tail_joins_it(conv, norm, tail):
    x, other = images(), images(5, channels=32)
    y = TAILS[tail](conv(x), norm, other)
    assert waits(y)
    y.sum()
    assert not waits(y)


def test_results_in_between_that_are_held(conv, norm):
    x, other = images(), images(5, channels=32)
    alone = at_once(conv, x)
    y = conv(x)
    z = norm(y)
    s = z + other
    r = F.relu(s)
    check(r, F.relu(norm(alone) + other))
    check(y, alone)
    check(z, norm(alone))
    check(s, norm(alone) + other)


@pytest.mark.parametrize("kept", ["y", "r", "p", "yr", "yp", "rp", "yrp"])
def test_what_is_held_before_and_after_pooling(conv, kept):
    x = images()
    y = at_once(conv, x)
    expected = {"y": y, "r": F.relu(y), "p": F.max_pool2d(F.relu(y), 2)}
    found = {"y": conv(x)}
    found["r"] = F.relu(found["y"])
    found["p"] = F.max_pool2d(found["r"], 2)
    found["last"] = F.relu(found["p"])
    for name in expected.keys() - set(kept):
        del found[name]
    check(found.pop("last"), expected["p"])
    for name, held in found.items():
        check(held, expected[name])


def test_networks_that_pool_between_convolutions(conv):
    wisp.manual_seed(4)
    body = [conv, nn.ReLU(), nn.MaxPool2d(2, 2), nn.Conv2d(32, 24, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten()]
    net, x = nn.Sequential(*body).eval(), images(size=72)
    with wisp.enable_grad():
        expected = net(x).detach()
    for _ in range(2):
        check(net(x), expected)


@pytest.mark.parametrize("size", [30, 72], ids=["small", "large"])
def test_several_pooled_results(conv, size):
    x = images(size=size, batch=1)
    expected = F.max_pool2d(at_once(conv, x), 4)
    found = [F.max_pool2d(conv(x), 4) for _ in range(20)]
    for each in found:
        check(each, expected)


def test_in_place_is_seen_through_every_name(conv):
    x = images()
    expected = F.relu(at_once(conv, x))
    y = conv(x)
    view = y.view(-1)
    assert y.relu_() is y
    check(view, expected.view(-1))


def test_nan_stays(conv):
    x = images()
    x[0, 0, 3, 3] = float("nan")
    y = F.relu(conv(x))
    assert y.isnan().any()
    check(y, F.relu(at_once(conv, x)))
    pooled = F.max_pool2d(F.relu(conv(x)), 2)
    assert pooled.isnan().any()
    check(pooled, F.max_pool2d(F.relu(at_once(conv, x)), 2))


@pytest.mark.parametrize("write", [
    lambda x: x.zero_(),
    lambda x: x.mul_(2),
    lambda x: x.__setitem__(0, 1.0),
    lambda x: wisp.add(x.clone(), 1, out=x),
    lambda x: x.numpy().fill(0),
    lambda x: x.untyped_storage().resize_(1 << 20),
    lambda x: x.share_memory_().zero_(),
    lambda x: nn.init.normal_(x),
    lambda x: wisp.from_numpy(x.numpy()).zero_(),
    lambda x: x.data.zero_(),
    lambda x: x.view(-1)[::2].zero_(),
])  # fmt: skip
@pytest.mark.parametrize("what", ["x", "weight", "bias"])
def test_arguments_may_be_written_afterwards(conv, what, write):
    x = images()
    expected = at_once(conv, x).clone()
    y = conv(x)
    target = x if what == "x" else getattr(conv, what).data
    write(target)
    check(y, expected)


def test_statistics_may_be_written_afterwards(conv, norm):
    x = images()
    expected = norm(at_once(conv, x)).clone()
    y = norm(conv(x))
    for t in (norm.running_mean, norm.running_var, norm.weight, norm.bias):
        t.fill_(7)
    check(y, expected)


@pytest.mark.parametrize("what", ["weight", "bias", "running_mean", "running_var"])
@pytest.mark.parametrize("write", [
    lambda t: t.mul_(2),
    lambda t: t.data.mul_(2),
    lambda t: t.__setitem__(3, 7.0),
    lambda t: t.copy_(wisp.ones(32)),
    lambda t: t.numpy().fill(3),
    lambda t: t.set_(wisp.rand(32)),
], ids=["mul_", "data", "item", "copy_", "numpy", "set_"])  # fmt: skip
def test_the_next_call_sees_what_was_written_to_a_norm(conv, norm, what, write):
    x = images()
    for _ in range(2):
        norm(conv(x)).sum()
    write(getattr(norm, what))
    for _ in range(2):
        check(norm(conv(x)), norm(at_once(conv, x)))


def test_one_convolution_with_several_norms(conv, norm):
    other = nn.BatchNorm2d(32, eps=0.5).eval()
    other.running_mean.fill_(0.25)
    x = images()
    alone = at_once(conv, x)
    for _ in range(2):
        check(norm(conv(x)), norm(alone))
        check(F.relu(other(conv(x))), F.relu(other(alone)))
        check(conv(x), alone)


def test_norms_that_share_their_parts(conv, norm):
    """The same tensors in other roles, and with another eps, are another norm."""
    x, args = images(), [norm.weight.abs(), norm.running_var, norm.running_mean, norm.bias]
    alone = at_once(conv, x)
    for eps in (1e-5, 0.1, 1e-5):
        for mean, var, weight, bias in (args, [args[2], args[1], args[0], args[3]], [*args[:2], None, None]):
            found = F.batch_norm(conv(x), mean, var, weight, bias, eps=eps)
            check(found, F.batch_norm(alone, mean, var, weight, bias, eps=eps))


@pytest.mark.parametrize("weight", [0.0, 1e-30, 1e30, float("inf"), float("nan")])
def test_norms_of_any_size(conv, norm, weight):
    norm.weight.fill_(weight)
    norm.bias.zero_()
    norm.running_mean.zero_()
    x = images() * 1e10
    found, expected = norm(conv(x)).numpy(), norm(at_once(conv, x)).numpy()
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=0)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * largest)


def test_what_is_added_may_be_written_afterwards(conv):
    x, other = images(), images(5, channels=32)
    expected = at_once(conv, x) + other
    expected.numpy()
    y = conv(x) + other
    other.zero_()
    check(y, expected)


def test_memory_of_others_is_not_waited_with(conv):
    memory = images().numpy().copy()
    y = conv(wisp.from_numpy(memory))
    assert not waits(y)
    x = images()
    x.data_ptr()
    assert not waits(conv(x))


def test_errors_are_those_of_the_call(conv):
    with pytest.raises(RuntimeError, match="channels"):
        conv(images(channels=3))
    y = conv(images())
    with pytest.raises(RuntimeError):
        y + wisp.ones(3)
    with pytest.raises(RuntimeError, match="Output size is too small"):
        F.max_pool2d(y, 50)
    check(y, at_once(conv, images()))


def test_gradients_are_recorded_as_ever(conv, norm):
    x = images()
    with wisp.enable_grad():
        y = conv(x)
        assert y.requires_grad and not waits(y)
    for p in conv.parameters():
        p.requires_grad_(False)
    with wisp.enable_grad():
        y = norm(conv(x))
        assert y.requires_grad
        F.relu(y).sum().backward()
        assert norm.weight.grad is not None


@pytest.mark.parametrize("look", [lambda y: y.numpy(), lambda y: y.sum()], ids=["numpy", "sum"])
def test_what_it_reads_goes_as_soon_as_it_ran(conv, look):
    conv(images()).sum()
    gc.collect()
    before = wisp.memory.stats()["current"]
    y = F.relu(conv(images(size=64)))
    look(y)
    result = y.numel() * y.element_size()
    assert wisp.memory.stats()["current"] - before < result + result // 4  # the input has half of it
    del y
    gc.collect()
    assert wisp.memory.stats()["current"] - before < result // 4


def test_a_dropped_result_is_no_leak(conv):
    reference = weakref.ref(conv(images()))
    assert reference() is None
    wisp.ones(10).exp()


def test_another_thread_reads_and_writes(conv):
    x = images()
    expected = F.relu(at_once(conv, x)).clone()
    for act in (lambda y: y.numpy(), lambda y: x.zero_(), lambda y: y.exp()):
        x = images()
        y = F.relu(conv(x))
        together([lambda act=act, y=y: act(y)])
        check(y, expected)


def test_threads_at_once(conv, norm):
    x, other = images(), images(5, channels=32)
    expected = F.relu(norm(at_once(conv, x)) + other)
    expected.numpy()
    found, shared = [], []

    def work():
        with wisp.no_grad():
            for _ in range(30):
                y = norm(conv(x))
                shared.append(y)
                found.append(F.relu(y + other))
                shared[len(shared) // 2].sum()  # perhaps of another thread

    together([work] * 4)
    assert len(found) == 120
    for y in found:
        check(y, expected)


def test_a_thread_ends_before_its_result_is_read(conv):
    x = images()
    made = []

    def work():
        with wisp.no_grad():
            made.append(F.relu(conv(x)))

    together([work])
    check(made[0], F.relu(at_once(conv, x)))


def test_fork(conv):
    x = images()
    y = F.relu(conv(x))
    child = os.fork()
    if child == 0:
        os._exit(0 if np.isfinite(y.numpy()).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
    check(y, F.relu(at_once(conv, x)))


def test_lazy_and_compiled_functions_read_it(conv):
    x = images()
    expected = F.relu(at_once(conv, x)).exp()
    y = F.relu(conv(x))
    with wisp.lazy(least=0):
        z = y.exp()
        y.mul_(2)
    check(z, expected)
    y = F.relu(conv(x))
    check(wisp.compile(lambda t: t.exp())(y), expected)


def test_of_something_lazy(conv):
    x = images()
    expected = F.relu(at_once(conv, x * 2))
    with wisp.lazy(least=0):
        twice = x * 2
    check(F.relu(conv(twice)), expected)
    y = conv(x)
    with wisp.lazy(least=0):
        twice = x * 2
    check(F.relu(conv(twice) + y), F.relu(at_once(conv, x * 2) + y))


def test_networks_give_what_they_give_with_gradients():
    wisp.manual_seed(3)
    body = nn.Sequential(
        nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.ReLU(inplace=True), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Conv2d(32, 64, 1), nn.BatchNorm2d(64), nn.Flatten(), nn.Linear(64 * 14 * 14, 10),
    ).eval()  # fmt: skip
    x = images(channels=3)
    with wisp.enable_grad():
        expected = body(x).detach()
    for _ in range(3):
        check(body(x), expected)


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_do_not_change_the_result(conv, norm, threads):
    x, other = images(), images(5, channels=32)
    before = wisp.get_num_threads()
    try:
        results = []
        for n in (before, threads):
            wisp.set_num_threads(n)
            made = F.relu(norm(conv(x)) + other), F.max_pool2d(F.relu(conv(x)), 2)
            results.append([y.numpy().copy() for y in made])
    finally:
        wisp.set_num_threads(before)
    for one, other in zip(*results, strict=True):
        assert (one == other).all()


def test_lazy_run_computes_what_waits():
    with wisp.no_grad():
        conv = nn.Conv2d(16, 16, 3, padding=1)
        result = conv(wisp.randn(4, 16, 32, 32))
        assert waits(result)
        wisp.lazy.run()
        assert not waits(result)
