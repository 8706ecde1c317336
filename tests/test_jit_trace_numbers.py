"""Traces: what is computed from sizes, and what is changed in place, follows other inputs."""

import warnings
from copy import deepcopy

import pytest

import wisp
from wisp.jit import TracerWarning, trace
from wisp.utils.checkpoint import checkpoint

SIZES = {
    "a list": lambda x: wisp.tensor([x.size(0), 2.5]),
    "a number": lambda x: wisp.tensor(x.shape[1]),
    "a shape": lambda x: wisp.as_tensor(x.shape),
    "nested lists": lambda x: wisp.tensor([[x.shape[0], 1], [2, x.shape[1]]], dtype=wisp.float32),
    "new_tensor": lambda x: x.new_tensor([x.shape[0], 1]),
    "a quotient": lambda x: wisp.tensor(x.shape[0] / 2),
    "a root": lambda x: x / x.shape[0] ** 0.5,
    "a square": lambda x: wisp.ones(x.shape[0] ** 2),
    "a power of two": lambda x: wisp.ones(2 ** x.shape[0]),
    "abs": lambda x: wisp.ones(abs(-x.shape[0])),
    "divmod": lambda x: wisp.ones(divmod(x.shape[0], 2)),
    "bits": lambda x: wisp.ones(x.shape[0] << 1, x.shape[1] & 6),
    "round": lambda x: wisp.ones(round(x.shape[0])),
}


@pytest.mark.parametrize("name", SIZES)
def test_numbers_that_follow_from_sizes_follow_other_sizes(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error", TracerWarning)
        traced = trace(SIZES[name], wisp.ones(4, 4))
    x = wisp.rand(6, 3)
    found, expected = traced(x), SIZES[name](x)
    assert found.dtype == expected.dtype and wisp.equal(found, expected)


def test_a_number_that_is_rounded_is_told():
    with pytest.warns(TracerWarning, match="Python number"):
        trace(lambda x: wisp.ones(round(x.shape[0] / 2)), wisp.ones(4))


def test_what_forgets_its_history_has_none():
    def product(x, w):
        y = x @ w
        y.detach_()
        return y

    traced = trace(product, (wisp.ones(2, 2), wisp.ones(2, 2)))
    assert not traced(wisp.ones(2, 2), wisp.ones(2, 2, requires_grad=True)).requires_grad


def by_set(x):
    y = x.clone()
    y.set_(x * 2)
    return (y + 1,)


def by_data(x):
    y = x.clone()
    before = y[:1]
    y.data = x * 2
    return y + 1, before


@pytest.mark.parametrize("function", [by_set, by_data])
def test_what_takes_over_the_memory_of_another_has_its_values(function):
    x = wisp.rand(5)
    assert all(map(wisp.equal, trace(function, wisp.ones(3))(x), function(x)))


def test_other_sizes_in_place_are_refused():
    with pytest.raises(RuntimeError, match="use reshape"):
        trace(lambda x: x.clone().resize_(1, 2), wisp.ones(4))


def test_what_is_computed_twice_for_backward_has_its_gradient():
    def twice(x):
        return checkpoint(lambda y: y * 2, x, use_reentrant=False)

    x = wisp.ones(3, requires_grad=True)
    trace(twice, wisp.ones(2))(x).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_a_part_of_anothers_memory_is_told():
    def copied(x):
        return deepcopy(x) + x

    with pytest.warns(TracerWarning, match="part of another's memory"):
        traced = trace(copied, wisp.ones(2))
    assert traced(wisp.zeros(2)).tolist() == [1, 1]
