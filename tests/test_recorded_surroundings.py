"""Recorded calls (see test_recorded.py) and what is around them: who watches, processes, copies."""

import copy
import gc
import math
import os
import pickle
import random
import sys
import types
import warnings
import weakref

import pytest

import wisp
from tests.recorded_calls import TURNS, all_same, chain, recorded, same, ways
from wisp import _premises

# --- who watches


def test_modes_see_every_call():
    x = wisp.randn(4, 4)

    def f(x):
        return (x @ x).exp() * 2

    fast, why_not = recorded(f, x)
    assert why_not is None
    for _ in range(TURNS):
        with wisp.autocast("cpu", dtype=wisp.bfloat16):
            assert fast(x).dtype == f(x).dtype
        assert same(wisp.vmap(fast)(x.expand(3, 4, 4)), wisp.vmap(f)(x.expand(3, 4, 4)))
        assert all(map(same, wisp.func.jvp(fast, (x,), (x,)), wisp.func.jvp(f, (x,), (x,))))
        assert same(wisp.func.grad(lambda x: fast(x).sum())(x), wisp.func.grad(lambda x: f(x).sum())(x))
        with wisp.inference_mode():
            assert fast(x).is_inference()
        with wisp.no_grad():
            assert not fast(x.clone().requires_grad_()).requires_grad
        with wisp.lazy(least=0):
            assert same(fast(x), f(x))
    kinds = [n.kind() for n in wisp.jit.trace(lambda x: fast(x), x).graph.nodes()]
    assert "aten::exp" in kinds


def test_function_modes_and_subclasses():
    from wisp.overrides import TorchFunctionMode

    class Counts(TorchFunctionMode):
        calls = 0

        def __torch_function__(self, function, types, args=(), kwargs=None):
            self.calls += 1
            return function(*args, **(kwargs or {}))

    class Own(wisp.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return x + 1

    x = wisp.randn(3)
    fast, _ = recorded(chain, x)
    with Counts() as counts:
        ways(fast, x)
    assert counts.calls == 4 * TURNS
    for _ in range(TURNS):
        assert same(fast(x), chain(x)) and same(fast(x.as_subclass(Own)), ((x + 1) + 1).tanh().exp())


def test_debuggers_and_anomaly_mode_see_the_lines():
    x, lines = wisp.randn(3).requires_grad_(), []
    fast, _ = recorded(chain, x)
    ways(fast, x)

    def trace(frame, event, arg):
        lines.append(frame.f_code.co_name)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        fast(x)
    finally:
        sys.settrace(before)
    assert "chain" in lines
    with wisp.autograd.detect_anomaly():
        assert same(fast(x), chain(x))


def test_saved_tensor_hooks():
    x, seen = wisp.randn(3).requires_grad_(), []
    fast, _ = recorded(chain, x)
    for f in (chain, fast):
        for _ in range(TURNS):
            with wisp.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.shape) or t, lambda t: t):
                y = f(x)
            assert same(wisp.autograd.grad(y.sum(), x)[0], wisp.autograd.grad(chain(x).sum(), x)[0])
    assert len(seen) % 2 == 0 and seen[: len(seen) // 2] == seen[len(seen) // 2 :]


# --- processes, copies


def test_forked_process():
    x = wisp.randn(100)
    fast, _ = recorded(chain, x)
    child = os.fork()
    if child == 0:
        os._exit(0 if all_same(ways(fast, x), chain(x)) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_copies_start_anew():
    fast = recorded(chain, wisp.randn(3))[0]
    for made in (copy.copy(fast), copy.deepcopy(fast), pickle.loads(pickle.dumps(fast))):
        assert made._recorded(wisp.randn(3)) is None
        x = wisp.randn(3)
        assert same(made._record(x), chain(x)) and all_same(ways(made, x), chain(x))


def test_what_is_recorded_can_be_collected():
    def make():
        weight = wisp.randn(3)

        def f(x):
            return x * weight

        fast, why_not = recorded(f, wisp.randn(3))
        assert why_not is None
        f.__globals__["_kept"] = None
        weight.owner = fast  # a cycle
        return weakref.ref(f), weakref.ref(fast)

    refs = make()
    gc.collect()
    assert [r() for r in refs] == [None, None]


def test_recursion():
    def f(x, n):
        return x if n == 0 else f(x * 2, n - 1)

    plain, x = f, wisp.randn(3)
    fast, why_not = recorded(f, x, 5)
    assert why_not is None and all_same(ways(fast, x, 5), x * 32)
    f = fast
    assert all_same(ways(fast, x, 5), x * 32)
    assert plain(x, 2).tolist() == (x * 4).tolist()


def test_warnings_are_raised_each_time_they_would_be():
    def f(x):
        return wisp.cov(x)

    x = wisp.randn(2, 1)
    with warnings.catch_warnings(record=True):
        fast, _ = recorded(f, x)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        ways(fast, x)
    assert len(seen) == TURNS
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            with pytest.raises(UserWarning):
                fast(x)


def test_what_no_longer_holds_is_let_go():
    def make():
        weight = wisp.randn(3)

        def f(x):
            return x * weight

        def change():
            nonlocal weight
            weight = wisp.zeros(3)

        return f, change, weakref.ref(weight)

    f, change, weight = make()
    fast, why_not = recorded(f, wisp.ones(3))
    assert why_not is None and weight() is not None
    change()
    assert all_same(ways(fast, wisp.ones(3)), wisp.zeros(3))
    gc.collect()
    assert weight() is None


def test_code_that_cannot_be_read(monkeypatch):
    monkeypatch.setattr("wisp._premises._Reader.read", lambda *_: 1 / 0)
    x = wisp.randn(3)
    fast, why_not = recorded(chain, x)
    assert why_not == "its code could not be read" and same(fast(x), chain(x))


@pytest.mark.parametrize("n", [10, 5000, 70_000])
def test_each_result_has_the_node_of_its_own_call(n):
    def f(x):
        y = x * 2
        return x + 1, y, y.exp(), (x * 3).relu(), x.sin() * y

    fast, why_not = recorded(f, wisp.randn(n))
    assert why_not is None
    for _ in range(TURNS):
        x = wisp.randn(n).requires_grad_()
        got, want = fast(x), f(x)
        assert [y.grad_fn.name() for y in got] == [y.grad_fn.name() for y in want]
        assert len({y.grad_fn for y in got}) == len(got)
        for y, z in zip(got, want, strict=True):
            assert same(*(wisp.autograd.grad(t.sum(), x, retain_graph=True)[0] for t in (y, z)))


def test_what_is_recorded_has_to_be_faster_than_the_better_way_of_python():
    fast, why_not = recorded(chain, x := wisp.randn(70_000))
    assert why_not is None and fast._times(x) is None
    assert all_same(ways(fast, x), chain(x))
    assert fast._times(x) is not None  # Python's calls were tried both ways


def test_calls_that_are_seldom_alike_are_not_looked_for():
    def f(x, scale):
        return x * scale + 1

    x = wisp.randn(10)
    fast, why_not = recorded(f, x, 0)
    for scale in range(1, 8):
        fast._record(x, scale)
    for turn in range(8000):  # some of them are
        assert not turn % 100 or same(fast(x, turn % 16), f(x, turn % 16))
        fast(x, turn % 16)
    assert why_not is None and isinstance(fast._recorded(x, 3), tuple)
    assert fast._recorded(x, 1000) == "only calls of other sizes or numbers are recorded so far"
    for scale in range(1000, 3100):
        fast(x, scale)
    assert fast._recorded(x, 3).startswith("its calls are seldom alike") and same(fast(x, 3), f(x, 3))


def test_what_is_the_same_object():
    def f(a, b):
        return a * 2 if a is b else a.contiguous() * 3 if a.contiguous() is a else a * 4

    x, y = wisp.randn(3), wisp.randn(3)
    fast, why_not = recorded(f, x, y)
    assert why_not is None
    for a, b in ((x, y), (x, x), (wisp.randn(6)[::2], y), (y, wisp.randn(6)[::2])):
        assert all_same(ways(fast, a, b), f(a, b))


def test_a_dozen_sizes_are_recorded_by_themselves():
    def f(x):
        return sum(x * i for i in range(8))

    xs = [wisp.randn(n) for n in range(1, 13)]
    fast = wisp.compile(f)
    for _ in range(6000):
        for x in xs:
            fast(x)
        if all(isinstance(fast._recorded(x), tuple) for x in xs):
            break
    assert all(isinstance(fast._recorded(x), tuple) and same(fast(x), f(x)) for x in xs)


# --- lists and dicts


def test_what_is_put_into_lists_and_dicts_is_left_to_python():
    def in_dict(batch):
        batch["x"] = batch["x"] * 2
        return batch["x"] + 1

    def in_list(xs):
        xs[0] = xs[1] * 2
        return xs[0]

    def in_inner(xs):
        xs[0][0] = 5
        return xs[1] * xs[0][0]

    x, y = wisp.rand(3), wisp.rand(3)
    assert "changes what it is given" in recorded(in_dict, {"x": x})[1]
    assert "changes what it is given" in recorded(in_list, [x, y])[1]
    assert "changes what it is given" in recorded(in_inner, [[3], y])[1]
    fast, _ = recorded(in_inner, [[5], y])
    for _ in range(TURNS):
        given = [[2], y]
        assert same(fast(given), y * 5) and given[0] == [5]

    settings = {"scale": 2}

    def in_global(x):
        settings["scale"] = 2
        return x * settings["scale"]

    fast, _ = recorded(in_global, x)
    settings["scale"] = 3
    assert same(fast(x), x * 2) and settings == {"scale": 2}


def test_lists_of_its_own_may_be_written():
    def f(x):
        parts = [None] * 3
        named = {}
        for i in range(3):
            parts[i] = x * i
            named[i] = parts[i] + 1
        return sum(parts) + named[2]

    x = wisp.rand(3)
    fast, why_not = recorded(f, x)
    assert why_not is None
    for _ in range(TURNS):
        x = wisp.rand(3)
        assert same(fast(x), f(x))


# --- functions that others call

HELPERS = types.ModuleType("helpers")
HELPERS.function = random.random


def called_unseen(key):
    return lambda x: x * max([1, 2], key=key)


CALLED = []


def notes(item, called=CALLED):
    called.append(item)
    return item


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * max([1, 2], key=os.cpu_count), lambda x: x * max([1, 2], key=id), called_unseen(os.getpid), called_unseen(id),
        lambda x, key=id: x * min(1, 2, key=key), lambda x: sum(x * i for i in iter(random.random, 0.5)), lambda x: x * max([[1], [2]], key=HELPERS.function)[0],
    ],
)  # fmt: skip
def test_functions_of_c_that_others_call(f):
    assert "is of type builtin_function_or_method" in _premises.premises_of(f)


def test_functions_of_python_that_others_call():
    fast, _ = recorded(called_unseen(notes), wisp.ones(2))
    CALLED.clear()
    for _ in range(3):
        fast(wisp.ones(2))
    assert CALLED == [1, 2] * 3
    fast, why_not = recorded(called_unseen(lambda i: -i), wisp.ones(2))
    assert why_not is None and all_same(ways(fast, wisp.ones(2)), wisp.ones(2))
    fast, why_not = recorded(called_unseen(math.sin), wisp.ones(2))
    assert why_not is None and all_same(ways(fast, wisp.ones(2)), wisp.ones(2) * 2)


def test_lists_that_hold_themselves_and_long_ones():
    endless = [wisp.ones(2)]
    endless.append(endless)
    for given in (endless, {"self": endless}, [list(range(40))] * 40):
        fast, why_not = recorded(lambda x, y: y + 1, given, wisp.ones(2))
        assert "lists of many objects" in why_not
        assert all_same(ways(fast, given, wisp.ones(2)), wisp.ones(2) * 2)
