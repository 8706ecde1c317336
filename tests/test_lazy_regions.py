"""Where lazy evaluation is switched on and off again, it is found out whether putting off pays there."""

import time

import pytest

import wisp
from tests.lazy_runs import pending
from wisp import _lazy

CODES = []  # kept: what is learnt belongs to a code object, wherever it lies


def function(slow_way, seen):
    """Sleeps if its calls are put off, or if they are not. New to the core each time."""

    def f(x):
        y = x * 2
        seen.append(bool(pending(y)))
        if seen[-1] == slow_way:
            time.sleep(0.003)
        return (y + 1).tanh()

    CODES.append(f.__code__.replace())
    f.__code__ = CODES[-1]
    return f


def block(f):
    def run(x):
        with wisp.lazy():
            return f(x)

    return run


@pytest.mark.parametrize("wrap", [wisp.lazy(), block], ids=["decorator", "block"])
@pytest.mark.parametrize("slow_way", [True, False])
def test_the_faster_way_is_kept(slow_way, wrap):
    seen, x = [], wisp.randn(70_000)
    f = wrap(function(slow_way, seen))
    want = (x * 2 + 1).tanh()
    for _ in range(60):
        assert wisp.equal(f(x), want)
    assert True in seen[:8] and not set(seen[8:30]) < {True, False}
    assert set(seen[30:]) == {not slow_way}


def test_code_that_runs_a_few_times_is_put_off():
    seen = []
    f = wisp.lazy()(function(True, seen))
    for _ in range(8):
        f(wisp.randn(70_000)).sum().item()
    assert all(seen)


def test_nothing_is_decided_for_the_rest_of_a_program():
    seen, x = [], wisp.randn(70_000)
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
    enabled, x = [], wisp.randn(70_000)
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
    seen, x = [], wisp.randn(70_000)
    f = wisp.lazy(least=1000)(function(True, seen))
    for _ in range(40):
        f(x).sum().item()
    assert all(seen)


def test_numbers_of_python_and_of_the_core_agree():
    for what in (_lazy._NOTHING, _lazy._LARGE, _lazy._ALL, _lazy._ENDLESS):
        outer = wisp._C._lazy_collect(what)
        assert wisp._C._lazy_collect(outer) == what
