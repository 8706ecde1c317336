"""Recorded calls that switch the recording of gradients."""

import threading

import pytest

import wisp
from tests.recorded_calls import TURNS, recorded, same


def ema(x, target):
    with wisp.no_grad():
        target = target * 0.9 + x * 0.1
        with wisp.enable_grad():
            other = target * x
    return (x - target).pow(2).mean() + other


def chosen(x, on=True):
    with wisp.set_grad_enabled(on):
        y = x * 2
    return y, x + 1


@wisp.no_grad()
def decorated(x):
    return x * 2


def calls_decorated(x):
    return decorated(x) + x


@pytest.mark.parametrize("f, count", [(ema, 2), (chosen, 1), (decorated, 1), (calls_decorated, 1)])
@pytest.mark.parametrize("first", [True, False])
def test_grad_modes(f, count, first):
    with wisp.set_grad_enabled(first):
        fast, why_not = recorded(f, *(wisp.rand(3) for _ in range(count)))
    assert why_not is None
    for turn in range(TURNS):
        inputs = [wisp.rand(3).requires_grad_(turn % 3 != 0) for _ in range(count)]
        with wisp.set_grad_enabled(turn % 2 == 0):
            got, want = fast(*inputs), f(*inputs)
            assert wisp.is_grad_enabled() == (turn % 2 == 0)
        assert same(got, want)
        got, want = (y[0] if isinstance(y, tuple) else y for y in (got, want))
        if got.requires_grad:
            grads = [wisp.autograd.grad(y.sum(), inputs, allow_unused=True) for y in (got, want)]
            assert all(a is b is None or same(a, b) for a, b in zip(*grads, strict=True))
    with wisp.inference_mode():
        assert fast(*inputs)[0].is_inference() == f(*inputs)[0].is_inference()


def switches_for_good(x):
    wisp.set_grad_enabled(False)
    return x * 2


def in_inference(x):
    with wisp.inference_mode():
        return x * 2


def asks_for_mode(x):
    return x * 2 if wisp.is_grad_enabled() else x


LOCK = threading.Lock()


def with_lock(x):
    with LOCK:
        return x + 1


class Entered:
    entered = 0

    def __enter__(self):
        type(self).entered += 1
        return 3

    def __exit__(self, *error):
        return None


def with_own(x):
    with Entered() as three:
        return x * three


ENTERED = Entered()


def with_global(x):
    with ENTERED as three:
        return x * three


@pytest.mark.parametrize("f", [switches_for_good, in_inference, asks_for_mode, with_lock, with_own, with_global])
def test_other_switches_are_left_to_python(f):
    x = wisp.rand(3).requires_grad_()
    try:
        fast, why_not = recorded(f, x)
        assert why_not is not None
        before = Entered.entered
        for turn in range(TURNS):
            wisp.set_grad_enabled(turn % 2 == 0)
            got = fast(x)
            on = wisp.is_grad_enabled()
            wisp.set_grad_enabled(turn % 2 == 0)
            want = f(x)
            assert same(got, want) and on == wisp.is_grad_enabled() and got.is_inference() == want.is_inference()
        assert Entered.entered - before in (0, 2 * TURNS)
    finally:
        wisp.set_grad_enabled(True)


def test_errors_in_no_grad_leave_the_mode():
    def f(x, rows):
        with wisp.no_grad():
            return x[rows] * 2

    fast, why_not = recorded(f, wisp.rand(4), wisp.tensor([1]))
    assert why_not is None
    for _ in range(TURNS):
        with pytest.raises(IndexError):
            fast(wisp.rand(4), wisp.tensor([9]))
        assert wisp.is_grad_enabled()
        fast(wisp.rand(4), wisp.tensor([0]))
        assert wisp.is_grad_enabled()
