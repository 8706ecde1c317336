"""Functions written in Python on top of the operators (`wisp.functional`)."""

import pytest

import wisp


def test_cond_calls_one_branch_only():
    called = []

    def branch(name, factor):
        return lambda x: (called.append(name), x * factor)[1]

    x = wisp.tensor([1.0, 2.0], requires_grad=True)
    for pred in (True, wisp.tensor(True), wisp.tensor([[2.5]])):
        assert wisp.cond(pred, branch("true", 2), branch("false", 3), (x,)).tolist() == [2.0, 4.0]
    y = wisp.cond(x.sum() > 4, branch("true", 2), branch("false", 3), [x])
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert called == ["true", "true", "true", "false"]


def test_cond_without_operands():
    assert wisp.cond(False, lambda: 1, lambda: 2) == 2


@pytest.mark.parametrize("shape", [(2,), (0,)])
def test_cond_decides_by_one_element(shape):
    with pytest.raises(RuntimeError, match="a tensor of one element, got one of shape"):
        wisp.cond(wisp.ones(shape, dtype=wisp.bool), wisp.sin, wisp.cos, (wisp.ones(2),))
