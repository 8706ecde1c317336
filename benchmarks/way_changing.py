"""More cases for ways.py: what changes from call to call, lists, several results, and modules as programs compile them."""

import itertools

from way_cases import KB, of

import wisp
from wisp import nn


def scaled_by(x, scale):
    return (x * scale + 1).tanh()


def with_numbers(f, numbers, *shapes):
    """Called with another number each time."""
    numbers = itertools.cycle(numbers)
    return (*of(f, *shapes), lambda f: lambda *inputs: f(*inputs, next(numbers)))


def each(f, shapes):
    """Called with tensors of each of these shapes."""
    return (*of(f, *shapes), lambda f: lambda *inputs: [f(x) for x in inputs])


def chain_of_one(x):
    return (x.sigmoid() * x + 1).exp()


def scores(x):
    x = x - x.mean()
    return x / (x.std() + 1e-5)


def summed(xs):
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    return total


def five(x):
    return x + 1, x * 2, x.exp(), x.sum(), (x * 3).relu()


def pinball_gradient(x, y):
    d = y - x
    return wisp.autograd.grad(wisp.maximum(0.9 * d, -0.1 * d).mean(), x)[0]


def module_of(module, *shape):
    """A module itself, as programs compile it."""
    return module.eval(), [wisp.randn(*shape)]


CASES = {
    "numbers that change, 1000": lambda: with_numbers(scaled_by, [i / 1000 for i in range(1000)], (1000,)),
    "three numbers in turns, 1000": lambda: with_numbers(scaled_by, [1, 2, 3], (1000,)),
    "sizes that change, 10 to 400": lambda: each(scores, [(n,) for n in range(10, 400, 7)]),
    "sizes that change, 10k to 400k": lambda: each(chain_of_one, [(n,) for n in range(10_000, 400_000, 17_000)]),
    "list of ten, 100": lambda: (summed, [[wisp.randn(100) for _ in range(10)]]),
    "five results, 64k": lambda: of(five, (64 * KB,)),
    "pinball loss and its gradient, 64k": lambda: (
        pinball_gradient,
        [wisp.randn(64 * KB).requires_grad_(), wisp.randn(64 * KB)],
    ),
    "MLP module, 1 x 16": lambda: module_of(nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4)), 1, 16),
    "GRU module, 10 x 2 x 16": lambda: module_of(nn.GRU(16, 32), 10, 2, 16),
}
