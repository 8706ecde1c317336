"""Where lazy evaluation is switched on and off again, it is found out whether putting off pays there."""

import time

import pytest

import wisp
from tests.lazy_runs import pending
from wisp import _lazy

pytestmark = pytest.mark.usefixtures("one_thread", "nothing_learnt")
CODES = []  # kept: what is learnt belongs to a code object, wherever it lies
MANY = 1 << 20
SLOW = 0.025  # seconds: many times what either way takes


def rest(y):
    """Many small steps on more than the second-level cache holds, which joined take half the time: no noise hides that."""
    for _ in range(12):
        y = y * 0.5 + 1
    return y


def function(slow_way, seen):
    """Sleeps if its calls are put off, or if they are not. New to the core each time."""

    def f(x):
        y = x * 2
        seen.append(bool(pending(y)))
        if seen[-1] == slow_way:
            time.sleep(SLOW)
        return rest(y)

    CODES.append(f.__code__.replace())
    f.__code__ = CODES[-1]
    return f


def block(f):
    def run(x):
        with wisp.lazy():
            return f(x)

    return run


@pytest.mark.usefixtures("joining_gains")
@pytest.mark.parametrize("wrap", [wisp.lazy(), block], ids=["decorator", "block"])
@pytest.mark.parametrize("slow_way", [True, False])
def test_the_faster_way_is_kept(slow_way, wrap):
    seen, x = [], wisp.randn(MANY)
    f = wrap(function(slow_way, seen))
    want = rest(x * 2)
    for _ in range(60):
        assert wisp.equal(f(x), want)
    assert True in seen[:8] and not set(seen[8:30]) < {True, False}
    assert set(seen[30:]) == {not slow_way}


def test_code_that_runs_a_few_times_is_put_off():
    seen = []
    f = wisp.lazy()(function(True, seen))
    for _ in range(8):
        f(wisp.randn(MANY)).sum().item()
    assert all(seen)


@pytest.mark.usefixtures("joining_gains")
def test_nothing_is_decided_for_the_rest_of_a_program():
    seen, x = [], wisp.randn(MANY)
    f = function(True, seen)
    lazily = wisp.lazy()(f)
    for _ in range(40):
        lazily(x).sum().item()
    assert seen[-1] is False
    wisp.lazy.enable()
    try:
        f(x)
        assert seen[-1] is True
        lazily(x)
        assert seen[-1] is True
    finally:
        wisp.lazy.disable()
        wisp.lazy.run()
    lazily(x)
    assert seen[-1] is False


def test_what_is_switched_on_is_told_where_nothing_is_put_off():
    enabled, x = [], wisp.randn(MANY)
    f = function(True, [])

    def told(x):
        y = f(x)
        enabled.append(wisp.lazy.is_enabled())
        return y

    lazily = wisp.lazy()(told)
    for _ in range(40):
        lazily(x).sum().item()
    assert all(enabled) and not wisp.lazy.is_enabled()


def test_a_bound_of_the_programs_own_is_kept_to():
    seen, x = [], wisp.randn(MANY)
    f = wisp.lazy(least=1000)(function(True, seen))
    for _ in range(40):
        f(x).sum().item()
    assert all(seen)


def test_numbers_of_python_and_of_the_core_agree():
    for what in (_lazy._NOTHING, _lazy._LARGE, _lazy._ALL, _lazy._ENDLESS):
        outer = wisp._C._lazy_collect(what)
        assert wisp._C._lazy_collect(outer) == what


def convolved(weight, put_off, waits):
    """Sleeps if calls are put off; notes that, and whether the convolution waits for what follows. New to the core each time."""

    def f(x):
        before = wisp.lazy.counts()["kernels"]
        y = wisp.conv2d(x, weight)
        waits.append(bool(pending(y)))
        z = (y * 2 + 1).tanh()
        put_off.append(wisp.lazy.counts()["kernels"] > before)
        if put_off[-1]:
            time.sleep(SLOW)
        return z

    CODES.append(f.__code__.replace())
    f.__code__ = CODES[-1]
    return f


def test_a_region_that_is_not_put_off_is_as_without_lazy_from_its_first_call_on():
    x, weight, put_off, waits = wisp.randn(8, 8, 28, 28), wisp.randn(16, 8, 3, 3), [], []
    f = wisp.lazy()(convolved(weight, put_off, waits))
    want = (wisp.conv2d(x, weight) * 2 + 1).tanh()
    for _ in range(60):
        assert wisp.equal(f(x), want)
    assert True in put_off[:8] and set(put_off[30:]) == {False}
    assert any(waiting and not put for put, waiting in zip(put_off, waits, strict=True))


def test_what_waits_for_later_calls_is_part_of_what_is_timed():
    x, weight = wisp.randn(8, 8, 28, 28), wisp.randn(16, 8, 3, 3)
    f = wisp.compile(lambda x: wisp.conv2d(x, weight))
    for _ in range(30):
        f(x)
    collected, as_it_is, _ = f._times(x)
    assert as_it_is > collected / 4


@pytest.mark.usefixtures("joining_gains")
def test_what_is_forgotten_makes_room():
    seen, x = [], wisp.randn(MANY)
    for n in range(1500):  # places that are new, each called often enough to be tried
        f = wisp.lazy()(function(None, seen))
        for _ in range(9):
            f(x)
    wisp.compiler.reset()
    test_the_faster_way_is_kept(True, wisp.lazy())
