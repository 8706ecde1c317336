"""Batch norm, sums and relu in one pass, forward and backward (core/ops/awaited.cpp): the same bits as one by one."""

import gc

import numpy as np
import pytest

import wisp
from tests.in_threads import together
from wisp import nn
from wisp.nn import functional as F
from wisp.utils.checkpoint import checkpoint

waits = wisp._C._is_pending


def bits(t):
    return t.detach().contiguous().numpy().tobytes()


def same(found, expected):
    return found.shape == expected.shape and bits(found) == bits(expected)


def seen(t):
    """The tensor, computed, as is its gradient before anybody else uses it."""
    t.sum()
    if t.requires_grad:
        t.register_hook(lambda g: g.sum() and None)
    return t


def unseen(t):
    return t


def used_twice(y, other):
    return F.relu(y) + y * other


TAILS = {
    "relu": lambda norm, x, other, look: F.relu(look(norm(x))),
    "relu, inplace": lambda norm, x, other, look: F.relu(look(norm(x)), inplace=True),
    "relu_": lambda norm, x, other, look: look(norm(x)).relu_(),
    "sum": lambda norm, x, other, look: look(norm(x)) + other,
    "sum, relu": lambda norm, x, other, look: F.relu(look(look(norm(x)) + other)),
    "sum, turned": lambda norm, x, other, look: F.relu(look(other + look(norm(x)))),
    "in place": lambda norm, x, other, look: look(look(norm(x)).add_(other)).relu_(),
    "sum with itself": lambda norm, x, other, look: F.relu(look(look(norm(x)) + x)),
    "used twice": lambda norm, x, other, look: used_twice(look(norm(x)), other),
    "two norms": lambda norm, x, other, look: F.relu(look(look(norm(x)) + look(norm(other)))),
    "relu twice": lambda norm, x, other, look: F.relu(look(F.relu(look(norm(x))) + other)),
    "scaled sum": lambda norm, x, other, look: F.relu(look(look(norm(x)).add(other, alpha=2))),
    "broadcast sum": lambda norm, x, other, look: F.relu(look(look(norm(x)) + other[:1])),
    "part": lambda norm, x, other, look: F.relu(look(norm(x))[1:]),
}
INPUTS = {
    "blocks of 16": (nn.BatchNorm2d, 32, (4, 32, 13, 11)),
    "blocks of 8": (nn.BatchNorm2d, 24, (4, 24, 13, 11)),
    "plain": (nn.BatchNorm2d, 5, (4, 5, 23, 31)),
    "channels last": (nn.BatchNorm2d, 32, (4, 32, 13, 11)),
    "lines": (nn.BatchNorm1d, 7, (5, 7, 301)),
    "columns": (nn.BatchNorm1d, 300, (40, 300)),
}


def inputs(kind):
    make, channels, shape = INPUTS[kind]
    wisp.manual_seed(1)
    norm, x, other = make(channels), wisp.randn(shape), wisp.randn(shape)
    if kind.startswith("blocks"):  # as a convolution leaves them
        lay_out = nn.Conv2d(channels, channels, 1, bias=False).requires_grad_(False)
        x, other = lay_out(x), lay_out(other)
    if kind == "channels last":
        x, other = (t.contiguous(memory_format=wisp.channels_last) for t in (x, other))
    with wisp.no_grad():
        norm.weight.uniform_(-1, 1)
        norm.bias.uniform_(-1, 1)
    return norm, x.requires_grad_(), other.requires_grad_()


def step(kind, tail, look, before=lambda norm: None, cost=lambda y: (y * y).sum()):
    """The result and everything that a step changes."""
    norm, x, other = inputs(kind)
    before(norm)
    y = tail(norm, x * 1, other * 1, look)
    cost(y).backward()
    found = [y.detach(), x.grad, other.grad, *(p.grad for p in norm.parameters()), *norm.buffers()]
    return [t for t in found if t is not None]


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("tail", TAILS)
def test_the_same_bits_as_one_by_one(kind, tail):
    expected = step(kind, TAILS[tail], seen)
    for found, wanted in zip(step(kind, TAILS[tail], unseen), expected, strict=True):
        assert same(found, wanted)


@pytest.mark.parametrize("before", [
    lambda norm: norm.eval(),
    lambda norm: norm.requires_grad_(False),
    lambda norm: norm.bias.requires_grad_(False),
    lambda norm: setattr(norm, "momentum", None),
], ids=["evaluation", "frozen", "frozen bias", "averages"])  # fmt: skip
@pytest.mark.parametrize("tail", ["relu", "in place", "sum, relu"])
def test_the_same_bits_in_other_states(before, tail):
    expected = step("blocks of 16", TAILS[tail], seen, before)
    for found, wanted in zip(step("blocks of 16", TAILS[tail], unseen, before), expected, strict=True):
        assert same(found, wanted)


@pytest.mark.parametrize("kind", ["blocks of 16", "plain", "channels last", "lines"])
@pytest.mark.parametrize("tail", ["relu", "relu_", "sum", "sum, relu", "in place"])
def test_it_waits_and_its_tail_joins_it(kind, tail):
    norm, x, other = inputs(kind)
    other = other * 1
    y = TAILS[tail](norm, x * 1, other, unseen)
    assert waits(y)
    assert not waits(norm.running_mean) and norm.running_mean.abs().sum() > 0 and waits(y)
    y.sum()
    assert not waits(y)


@pytest.mark.parametrize("tail", ["relu", "sum, relu", "two norms"])
def test_against_double_precision(tail):
    found = step("blocks of 16", TAILS[tail], unseen)
    norm, x, other = inputs("blocks of 16")
    norm, x, other = norm.double(), x.detach().double().requires_grad_(), other.detach().double().requires_grad_()
    y = TAILS[tail](norm, x * 1, other * 1, unseen)
    (y * y).sum().backward()
    expected = [y.detach(), x.grad, other.grad, *(p.grad for p in norm.parameters())]
    for a, b in zip(found, [t for t in expected if t is not None], strict=False):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-4, atol=2e-4)


def test_against_finite_differences():
    norm, x, other = inputs("plain")
    norm = norm.double()
    direction = wisp.randn(x.shape).double()

    def cost(t):
        return (F.relu(norm(t) + other.detach().double()) ** 2).sum()

    single = nn.BatchNorm2d(5)
    single.load_state_dict(norm.state_dict())
    (F.relu(single(x) + other) ** 2).sum().backward()
    step = 1e-6
    point = x.detach().double()
    slope = (cost(point + step * direction) - cost(point - step * direction)).item() / (2 * step)
    assert (x.grad.double() * direction).sum().item() == pytest.approx(slope, rel=1e-3, abs=1e-2)


# --- Networks: forks whose gradients are added up


class Block(nn.Module):
    def __init__(self, channels, inplace):
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(2))
        self.norms = nn.ModuleList(nn.BatchNorm2d(channels) for _ in range(2))
        self.inplace = inplace

    def forward(self, x, look=unseen):
        inside = F.relu(look(self.norms[0](self.convs[0](x))), self.inplace)
        return F.relu(look(look(self.norms[1](self.convs[1](inside))) + x), self.inplace)


def network(inplace=False):
    wisp.manual_seed(3)
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), *(Block(16, inplace) for _ in range(3)))


def train(net, look=unseen, steps=2, forward=None, x=None):
    if x is None:
        wisp.manual_seed(4)
        x = wisp.randn(2, 3, 24, 24)
    optimiser = wisp.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for _ in range(steps):
        optimiser.zero_grad()
        y = x
        for layer in net:
            if isinstance(layer, Block):
                y = forward(layer, y) if forward else layer(y, look)
            else:
                y = look(layer(y))
        (y * y).mean().backward()
        optimiser.step()
    return [t.clone() for t in net.state_dict().values()]


def agree(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert same(a, b)


@pytest.mark.parametrize("inplace", [False, True])
def test_networks_train_to_the_same_bits(inplace):
    expected = train(network(), seen)
    agree(train(network(inplace)), expected)


def test_threads_do_not_change_the_result():
    before = wisp.get_num_threads()
    try:
        results = []
        for count in (1, 2):
            wisp.set_num_threads(count)
            results.append(train(network()))
    finally:
        wisp.set_num_threads(before)
    agree(*results)


def test_checkpoints():
    def without_averages():  # a checkpoint would move them twice
        net = network()
        for norm in net.modules():
            if isinstance(norm, nn.BatchNorm2d):
                norm.running_mean = norm.running_var = norm.num_batches_tracked = None
        return net

    found = train(without_averages(), forward=lambda layer, y: checkpoint(layer, y, use_reentrant=False))
    agree(found, train(without_averages(), seen))


def test_anomaly_mode():
    expected = train(network(), seen)
    with wisp.autograd.detect_anomaly(check_nan=True):
        agree(train(network()), expected)


@pytest.mark.parametrize("pack", [lambda t: t.clone(), lambda t: t], ids=["copies", "themselves"])
def test_saved_tensors_hooks(pack):
    with wisp.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        agree(train(network()), train(network(), seen))


# --- What others can see


def test_values_in_between_are_there():
    norm, x, other = inputs("blocks of 16")
    y = norm(x)
    s = y + other
    r = F.relu(s)
    assert same(r, wisp.relu(y.detach() + other.detach()))
    assert same(s, y.detach() + other.detach())
    assert abs(y.mean().item() - norm.bias.mean().item()) < 1e-4


def test_hooks_and_retained_gradients_see_what_they_should():
    def run(look):
        norm, x, other = inputs("blocks of 16")
        grads = {}
        y = look(norm(x))
        y.register_hook(lambda g: grads.update(norm=g.clone()))
        s = y + other
        s.retain_grad()
        r = F.relu(s)
        r.retain_grad()
        z = r * other
        z.backward(wisp.ones_like(z))
        return [grads["norm"], s.grad, r.grad, x.grad, other.grad]

    agree(run(unseen), run(seen))


def test_a_hook_may_change_the_gradient():
    norm, x, _ = inputs("blocks of 16")
    y = norm(x)
    y.register_hook(lambda g: g * 2)
    F.relu(y).sum().backward()
    doubled = x.grad.clone()
    norm, x, _ = inputs("blocks of 16")
    (F.relu(norm(x)) * 2).sum().backward()
    np.testing.assert_allclose(doubled.numpy(), x.grad.numpy(), rtol=1e-5, atol=1e-6)


def test_backward_twice_and_with_a_graph():
    norm, x, other = inputs("blocks of 16")
    z = (F.relu(norm(x) + other) * other).sum()
    first = wisp.autograd.grad(z, [x, other, norm.weight], retain_graph=True)
    second = wisp.autograd.grad(z, [x, other, norm.weight], retain_graph=True)
    agree(second, first)
    graph = wisp.autograd.grad(z, [x, other, norm.weight], create_graph=True)
    for a, b in zip(graph, first, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.numpy(), rtol=1e-3, atol=1e-4)
    (graph[0] ** 2).sum().backward()
    assert other.grad.abs().sum() > 0 and x.grad.isfinite().all()


def test_the_gradient_that_was_given_stays():
    norm, x, _ = inputs("blocks of 16")
    y = F.relu(norm(x))
    given = wisp.randn(y.shape)
    before = given.clone()
    y.backward(given)
    assert same(given, before)


def test_the_output_of_relu_stays():
    norm, x, other = inputs("blocks of 16")
    y = F.relu(norm(x) + other)
    before = y.detach().clone()
    y.sum().backward()
    assert same(y, before)


def test_leaves_get_their_own_gradients():
    x = wisp.randn(3, 8, 30, 30, requires_grad=True)
    y = F.relu(x)
    y.backward(given := wisp.ones(y.shape))
    x.grad.zero_()
    assert given.sum() == given.numel()
    norm = nn.BatchNorm2d(8)
    y = F.relu(norm(x) + x)
    y.sum().backward()
    assert x.grad.abs().sum() > 0


def test_arguments_may_be_written_afterwards():
    norm, x, other = inputs("blocks of 16")
    expected = F.relu(norm(x) + other).detach().clone()
    norm.reset_running_stats()
    y = F.relu(norm(x) + other)
    assert waits(y)
    with wisp.no_grad():
        for t in (x, other, norm.weight, norm.bias):
            t.zero_()
    assert same(y, expected)


def test_writes_into_what_was_saved_are_noticed():
    norm, x, _ = inputs("blocks of 16")
    x = x * 1
    y = F.relu(norm(x))
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    y = F.relu(norm(x))
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_without_gradients_and_with_interceptors():
    norm, x, other = inputs("blocks of 16")
    expected = F.relu(seen(norm(x)) + other).detach()
    with wisp.no_grad():
        assert same(F.relu(norm(x) + other), expected)
    with wisp.lazy(least=0):
        y = F.relu(norm(x) + other)
    np.testing.assert_allclose(y.detach().numpy(), expected.numpy(), rtol=1e-5, atol=1e-5)
    compiled = wisp.compile(lambda x, other: F.relu(norm(x) + other))
    np.testing.assert_allclose(compiled(x, other).detach().numpy(), expected.numpy(), rtol=1e-5, atol=1e-5)


def test_another_thread_asks_for_it():
    norm, x, other = inputs("blocks of 16")
    expected = F.relu(seen(norm(x)) + other).detach().clone()
    y = F.relu(norm(x) + other)
    found = []
    together([lambda: found.append(y.detach().clone())])
    assert same(found[0], expected) and same(y, expected)


def test_threads_train_at_once():
    expected = train(network())
    networks, found = [network() for _ in range(3)], []
    wisp.manual_seed(4)
    x = wisp.randn(2, 3, 24, 24)
    together([lambda net=net: found.append(train(net, x=x)) for net in networks])
    assert len(found) == 3
    for result in found:
        agree(result, expected)


def test_peak_memory_is_not_above_that_of_single_steps():
    def peak(look):
        net = network()
        train(net, look, steps=1)
        gc.collect()
        wisp.memory.reset_peak()
        start = wisp.memory.stats()["current"]
        train(net, look, steps=1)
        return wisp.memory.stats()["peak"] - start

    assert peak(unseen) <= peak(seen)
