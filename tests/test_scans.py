"""Running combinations of neighbours: wisp._higher_order_ops.associative_scan."""

import doctest
import sys

import pytest

import wisp
from wisp._higher_order_ops import associative_scan


def one_by_one(combine, xs, dim):
    """The definition, of a tensor."""
    parts = [xs.select(dim, 0)]
    for place in range(1, xs.size(dim)):
        parts.append(combine(parts[-1], xs.select(dim, place)))
    return wisp.stack(parts, dim)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 7, 8, 17])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_the_definition(length, dim):
    sizes = [2, 3, 2]
    sizes[dim] = length
    x = wisp.randint(1, 5, sizes).double()
    first = lambda a, b: a  # neither commutative nor an operator of its own
    for combine in (wisp.add, wisp.mul, wisp.maximum, first):
        assert wisp.equal(associative_scan(combine, x, dim), one_by_one(combine, x, dim))
        back = one_by_one(combine, x.flip(dim), dim).flip(dim)
        assert wisp.equal(associative_scan(combine, x, dim, reverse=True), back)


def test_nests_and_gradients():
    """A recurrence y[t] = a[t] * y[t - 1] + b[t], as in models of states."""
    a, b = (wisp.rand(6, 2, dtype=wisp.float64, requires_grad=True) for _ in range(2))
    together = lambda old, new: {"a": old["a"] * new["a"], "b": new["a"] * old["b"] + new["b"]}
    found = associative_scan(together, {"a": a, "b": b}, 0)["b"]
    y, states = wisp.zeros(2, dtype=wisp.float64), []
    for factor, term in zip(a, b):
        y = factor * y + term
        states.append(y)
    assert wisp.allclose(found, wisp.stack(states))
    weight = wisp.rand(6, 2, dtype=wisp.float64)
    given = wisp.autograd.grad((found * weight).sum(), (a, b))
    wanted = wisp.autograd.grad((wisp.stack(states) * weight).sum(), (a, b))
    assert all(wisp.allclose(*pair) for pair in zip(given, wanted))


def test_matrices_are_multiplied_one_by_one():
    x = wisp.rand(5, 3, 3, dtype=wisp.float64)
    assert wisp.allclose(associative_scan(wisp.mm, x, 0, combine_mode="generic"), one_by_one(wisp.mm, x, 0))


def test_arguments():
    x = wisp.ones(3)
    for wrong in ((None, x, 0), (wisp.add, 3, 0), (wisp.add, [], 0), (wisp.add, [x, wisp.ones(2)], 0)):
        with pytest.raises(ValueError):
            associative_scan(*wrong)
    with pytest.raises(ValueError, match="Combine_mode"):
        associative_scan(wisp.add, x, 0, combine_mode="other")
    assert doctest.testmod(sys.modules[associative_scan.__module__], extraglobs={"wisp": wisp}).failed == 0
