"""wisp.futures: waiting, callbacks, errors."""

import threading

import pytest

import wisp
from wisp.futures import Future, collect_all, wait_all


def test_a_result_is_waited_for():
    future = Future()
    assert not future.done()
    with pytest.raises(RuntimeError, match="not done"):
        future.value()
    threading.Timer(0.02, lambda: future.set_result(wisp.ones(2))).start()
    assert future.wait().tolist() == [1, 1] and future.done() and future.value() is future.wait()
    with pytest.raises(RuntimeError, match="again"):
        future.set_result(1)


def test_callbacks_run_once_before_or_after():
    future, seen = Future(), []
    future.add_done_callback(lambda f: seen.append(f.value()))
    later = future.then(lambda f: f.wait() + 1).then(lambda f: f.wait() * 10)
    future.set_result(4)
    future.add_done_callback(lambda f: seen.append("late"))
    assert seen == [4, "late"] and later.wait() == 50


def test_errors_pass_on():
    future = Future()
    later = future.then(lambda f: f.wait())
    future.set_exception(KeyError("mine"))
    for waiting in (future.wait, later.wait, later.value):
        with pytest.raises(KeyError, match="mine"):
            waiting()
    with pytest.raises(AssertionError, match="not an Exception"):
        Future().set_exception("text")


def test_many_futures():
    futures = [Future() for _ in range(3)]
    together = collect_all(futures)
    for i, future in enumerate(futures):
        assert not together.done()
        future.set_result(i)
    assert together.wait() == futures and wait_all(futures) == [0, 1, 2] and wait_all([]) == []
    failed = Future[int]()
    failed.set_exception(ValueError("third"))
    with pytest.raises(ValueError, match="third"):
        wait_all([futures[0], failed])
