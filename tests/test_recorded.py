"""Calls that wisp.compile records and makes again without Python: what Python would have done, whatever has changed."""

import contextlib
import math
import os
import re
import sys
import threading
import types

import pytest

import wisp
from tests.recorded_calls import TURNS, all_same, chain, recorded, same, ways
from wisp import nn
from wisp.nn import functional as F

OLD = sys.version_info < (3, 11)  # whose code has other instructions
SCALE = 2.0
WEIGHT = wisp.arange(4.0) / 3
HELPERS = types.ModuleType("helpers")
HELPERS.factor = 3


def doubled(x):
    return x * SCALE


def by_helper(x, offset=1, *, power=2):
    return doubled(x) ** power + offset


def lstm_cell(gates, c):
    i, f, g, o = gates.chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def unrolled(x, rounds=5):
    total = 0
    for i in range(rounds):
        x = x * 0.5 + i
        total += x.shape[0]
    return x, total, None, math.pi


def attention(q, k, v):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return scores.softmax(-1) @ v


def rotated(x):
    a, b = x.chunk(2, -1)
    return wisp.cat([-b, a], -1) * 0.5 + x


def by_shape(x):
    if x.dim() == 1 and len(x) > 3:
        return x[1:] - x[:-1]
    return x.reshape(-1).float().sum(0, keepdim=True)


def smallest(x):
    values, places = x.min(1)
    return values, places, x.max(1).values


def normed(x, weight):
    return x * (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt() * weight


FUNCTIONS = [
    (chain, (7,)), (by_helper, (3, 2)), (lstm_cell, (2, 12), (2, 3)), (unrolled, (4,)), (attention, (2, 3, 4), (2, 5, 4), (2, 5, 6)),
    (rotated, (3, 4)), (by_shape, (5,)), (by_shape, (2, 2)), (smallest, (3, 4)), (normed, (2, 4), (4,)),
    (lambda x, w: F.relu(F.linear(x, w)) @ w, (2, 3), (3, 3)), (lambda x: x, (2,)), (lambda x: (x, (x + 1, 2)), (2,)),
    (lambda x: F.dropout(x, 0.5, training=False) + F.dropout(x, 0.0), (3,)), (lambda x: F.layer_norm(x, (4,)), (2, 4)), (lambda x: 1 - x / 3 ** x.abs(), (5,)), (lambda x: ~(x > 0) * WEIGHT, (4,)),
    (lambda x: x[..., 0, None] + x[1, :2], (2, 3)), (lambda x: sum([x, x * 2, x.T]), (2, 2)), (lambda x: x.to(wisp.float64) / 3, (2,)),
]  # fmt: skip


@pytest.mark.parametrize("case", FUNCTIONS, ids=lambda case: case[0].__name__)
def test_results_and_gradients_are_those_of_python(case):
    f, *shapes = case
    fast, why_not = recorded(f, *(wisp.randn(*s) for s in shapes))
    assert why_not is None
    for turn in range(TURNS):
        inputs = [wisp.randn(*s).requires_grad_(turn % 2 == 1) for s in shapes]
        got, want = fast(*inputs), f(*inputs)
        assert same(got, want)
        first = got[0] if isinstance(got, tuple) else got
        if first.requires_grad and not first.is_leaf:
            wanted = want[0] if isinstance(want, tuple) else want
            assert type(first.grad_fn) is type(wanted.grad_fn)
            assert same(list(wisp.autograd.grad(first.sum(), inputs, create_graph=True, allow_unused=True)),
                        list(wisp.autograd.grad(wanted.sum(), inputs, create_graph=True, allow_unused=True)))  # fmt: skip


def test_short_functions_are_recorded_by_themselves():
    fast, x = wisp.compile(chain), wisp.randn(50)
    told = str(fast.explain(x))
    assert "without Python: not yet, short functions are recorded" in told
    for _ in range(40_000):
        fast(x)
        if isinstance(fast._recorded(x), tuple):
            break
    for _ in range(TURNS):
        assert same(fast(x), chain(x))
    assert fast.explain(x).recorded.startswith(("without Python: yes (", "without Python: recorded"))
    assert fast.explain(x).recorded in str(fast.explain(x))
    assert "of other sizes" in fast._recorded(wisp.randn(51))


def test_long_functions_are_not():
    fast, x = wisp.compile(lambda x: x.sin().cos().sin().cos()), wisp.randn(1 << 18)
    for _ in range(300):
        fast(x)
    assert fast._recorded(x) is None


def test_a_change_of_names_is_told():
    fast, x = wisp.compile(scaled), wisp.randn(50)
    fast._record(x)
    assert isinstance(fast._recorded(x), tuple)
    try:
        globals()["scale"] = 3.0
        assert wisp.equal(fast(x), x * 3.0 + 1)
        assert "'scale' stands for something else now" in fast.explain(x).recorded
    finally:
        globals()["scale"] = 2.0


scale = 2.0


def scaled(x):
    return x * scale + 1


# --- what is not recorded

KINDS = {1, 2}
GENERATOR = wisp.Generator()
SEEN = []


class Slots:
    __slots__ = ("scale",)


SLOTS = Slots()
SLOTS.scale = 3


def generator(x):
    yield x


def tries(x):
    try:
        return x + 1
    except ValueError:
        return x


def tries_finally(x):
    try:
        return x + 1
    finally:
        SEEN.clear()


def writes_global(x):
    global SCALE
    SCALE = 2.0
    return x + 1


def remembers(x):
    SEEN.append(1)
    return x + 1


def own_attribute(x):
    return x * own_attribute.scale


own_attribute.scale = 2


def by_value(x):
    return x + 1 if x.sum() > 0 else x - 1


def empties(x):
    parts = [x]
    parts.pop()
    return x


def makes_class(x):
    class Empty:
        pass

    return x


def rebinds():
    count = 0

    def f(x):
        nonlocal count
        count += 1
        return x + count

    return f


def undefined_name(x):
    return x + missing  # noqa: F821


def annotated(x):
    print(x.shape)
    return x


@pytest.mark.parametrize(
    "f, reason",
    [
        (by_value, "looks at what a tensor holds"), (lambda x: x * x.sum().item(), ".item"),
        (lambda x: x * float(x.sum()), "looks at what a tensor holds"), (lambda x: x[x > 0].sum(), "looks at what a tensor holds"),
        (lambda x: f"{x}", "calls __format__"),
        (lambda x: x + wisp.rand(3, generator=GENERATOR), "generator of its own|type Generator"), (lambda x: x + wisp.zeros(3, requires_grad=True), "require gradients"),
        (lambda x: x * SLOTS.scale, "SLOTS is of type Slots"), (lambda x: x * len(KINDS), "KINDS is of type set"),
        (generator, "generator"), (tries, "block of try"), (tries_finally, "block of try"), (writes_global, "STORE_GLOBAL"),
        (remembers, "a list was changed by itself"), (empties, "changes what it is given|not known what .pop"), (own_attribute, "has attributes"), (annotated, "print is of type"),
        (makes_class, "LOAD_BUILD_CLASS"), (rebinds(), "STORE_DEREF"), (lambda x: x.device, ".device"),
        (lambda x: [x], "returns something else"), (lambda x: x.shape, "returns something else"), (lambda x: x.grad, ".grad"),
        (lambda x: x.requires_grad, ".requires_grad"), (lambda x: wisp.tensor(1.0), "wisp.tensor is"),
        (undefined_name, "missing is not defined"), (lambda x: x.numpy(), ".numpy"), (lambda x: x.max(0), "returns something"),
        (lambda x: x @ wisp.nonzero(x).float(), "looks at"), (lambda x: HELPERS, "HELPERS is of type module"),
        (lambda x: os.getpid(), "os.getpid is of type"),
    ],
)  # fmt: skip
def test_whatever_else_a_function_does_is_left_to_python(f, reason):
    fast = wisp.compile(f)
    with contextlib.suppress(NameError, RuntimeError):
        fast._record(wisp.randn(3))
    assert re.search(reason, fast._recorded(wisp.randn(3)))


def test_arguments_of_other_kinds():
    x = wisp.randn(3)
    for other in ({1}, object(), b"1", 1j, iter([])):
        _, why_not = recorded(lambda a, b: a + 1, x, other)
        assert why_not is not None
    with_attribute = wisp.randn(3)
    with_attribute.relu = lambda: 5
    assert recorded(lambda a: a.relu(), with_attribute)[1] is not None
    fast, _ = recorded(lambda a: a.relu(), x)
    assert [fast(with_attribute) for _ in range(3)] == [5] * 3


# --- guards


def test_globals_and_what_helpers_use(monkeypatch):
    x = wisp.randn(3)
    fast, why_not = recorded(by_helper, x)
    assert why_not is None and all_same(ways(fast, x), by_helper(x))
    monkeypatch.setitem(globals(), "SCALE", 7.0)
    assert all_same(ways(fast, x), (x * 7) ** 2 + 1)
    fast._record(x)
    monkeypatch.setitem(globals(), "unrelated", 1)
    assert all_same(ways(fast, x), (x * 7) ** 2 + 1) and isinstance(fast._recorded(x), tuple)
    monkeypatch.setitem(globals(), "doubled", lambda x: x + 100)
    assert all_same(ways(fast, x), (x + 100) ** 2 + 1)


def test_tensors_found_by_name(monkeypatch):
    def f(x):
        return x * WEIGHT

    fast, x = recorded(f, wisp.ones(4))[0], wisp.ones(4)
    weight = wisp.zeros(4).requires_grad_()
    monkeypatch.setitem(globals(), "WEIGHT", weight)
    assert all_same(ways(fast, x), f(x)) and fast(x).requires_grad
    fast._record(x)
    with wisp.no_grad():
        weight += 1
    assert all_same(ways(fast, x), f(x))
    for _ in range(TURNS):
        weight.grad = None
        fast(x).sum().backward()
        assert weight.grad.tolist() == [1] * 4
    weight.data = wisp.ones(2, 4, dtype=wisp.float64)
    assert all_same(ways(fast, x), f(x)) and fast(x).shape == (2, 4)


def test_attributes_of_modules(monkeypatch):
    def f(x):
        return wisp.tanh(x) * HELPERS.factor + F.relu(x)

    x = wisp.randn(3)
    fast, why_not = recorded(f, x)
    assert why_not is None
    monkeypatch.setattr(HELPERS, "factor", 5)
    assert all_same(ways(fast, x), f(x))
    fast._record(x)
    monkeypatch.setattr(wisp, "tanh", lambda x: x + 50)
    assert all_same(ways(fast, x), f(x)) and (fast(x) > 200).all()
    monkeypatch.undo()
    assert all_same(ways(fast, x), f(x))


def test_methods_of_tensors(monkeypatch):
    x = wisp.randn(3)
    fast, _ = recorded(chain, x)
    monkeypatch.setattr(wisp.Tensor, "tanh", lambda self: self * 0, raising=False)
    assert all_same(ways(fast, x), wisp.ones(3))
    monkeypatch.undo()
    assert all_same(ways(fast, x), chain(x))


def test_code_and_defaults():
    def f(x, a=1, *, b=2):
        return x * a + b

    x = wisp.randn(3)
    fast, why_not = recorded(f, x)
    assert why_not is None
    f.__defaults__ = (5,)
    assert all_same(ways(fast, x), x * 5 + 2)
    fast._record(x)
    f.__kwdefaults__["b"] = 9
    assert all_same(ways(fast, x), x * 5 + 9)
    fast._record(x)
    f.__code__ = (lambda x, a, *, b: x - a - b).__code__
    assert all_same(ways(fast, x), x - 5 - 9)


def test_free_variables():
    bias = 1.0

    def f(x):
        return x + bias

    x = wisp.randn(3)
    fast, why_not = recorded(f, x)
    assert why_not is None and all_same(ways(fast, x), x + 1)
    bias = 3.0
    assert all_same(ways(fast, x), x + 3)


def test_builtins_that_get_hidden(monkeypatch):
    def f(x):
        return x * len(x)

    x = wisp.randn(3)
    fast, why_not = recorded(f, x)
    assert why_not is None
    monkeypatch.setitem(globals(), "len", lambda x: 10)
    assert all_same(ways(fast, x), x * 10)


def test_names_that_keep_changing_are_given_up(monkeypatch):
    x = wisp.randn(3)
    fast = wisp.compile(by_helper)
    for i in range(20):
        monkeypatch.setitem(globals(), "SCALE", float(i))
        fast._record(x)
        assert all_same(ways(fast, x), by_helper(x))
    assert fast._recorded(x) == "what it refers to by name keeps changing"


def test_other_sizes_dtypes_numbers_and_spellings():
    def f(x, y=1, scale=2.0):
        return (x + y) * scale + x.shape[0]

    x = wisp.randn(3)
    fast, _ = recorded(f, x, 2)
    calls = [
        ((x, 2), {}), ((x, 3), {}), ((x, 2.0), {}), ((x, True), {}), ((x, 1 << 60), {}), ((x,), {"y": 2}), ((x,), {"scale": 2}),
        ((x, 2), {"scale": -0.0}), ((x, 2), {"scale": 0.0}), ((x,), {"scale": 3.0, "y": 2}), ((x,), {"y": 2, "scale": 3.0}),
        ((wisp.randn(4), 2), {}), ((x.double(), 2), {}), ((x.int(), 2), {}), ((wisp.randn(2, 3), 2), {}), ((x, x), {}),
        ((nn.Parameter(x), 2), {}), ((wisp.randn(6)[::2], 2), {}), ((x.to("meta"), 2), {}),
    ]  # fmt: skip
    for args, kwargs in calls:
        fast._record(*args, **kwargs)
        for _ in range(3):
            for args, kwargs in calls:
                got, want = fast(*args, **kwargs), f(*args, **kwargs)
                assert got.is_meta if want.is_meta else same(got, want)


def test_one_tensor_in_two_places():
    x, y = wisp.randn(3), wisp.randn(3)
    fast, why_not = recorded(lambda a, b: a * 2 + b, x, y)
    assert why_not is None and all_same(ways(fast, x, x), x * 2 + x)
    fast, why_not = recorded(lambda a, b: a * 2 + b, x, x)
    assert why_not is None and all_same(ways(fast, x, x), x * 2 + x) and all_same(ways(fast, x, y), x * 2 + y)


def test_errors_are_pythons():
    def picked(table, rows):
        return table[rows] * 2

    def divided(a, b):
        return a // b + 1

    table = wisp.randn(4, 2)
    for f, good, bad in (
        (picked, (table, wisp.tensor([1, 2])), (table, wisp.tensor([1, 9]))),
        (divided, (wisp.tensor([4]), wisp.tensor([2])), (wisp.tensor([4]), wisp.tensor([0]))),
        (F.nll_loss, (table, wisp.tensor([0, 1, 0, 1])), (table, wisp.tensor([0, 5, 0, 1]))),
    ):
        fast, _ = recorded(f, *good)
        with pytest.raises(Exception) as want:
            f(*bad)
        for _ in range(TURNS):
            with pytest.raises(want.type) as got:
                fast(*bad)
            assert str(got.value) == str(want.value)
            assert same(fast(*good), f(*good))


def test_threads():
    x, failures = wisp.randn(200), []
    fast, _ = recorded(by_helper, x)
    want = {scale: (x * scale) ** 2 + 1 for scale in (2.0, 3.0)}
    stop = threading.Event()

    def call():
        while not stop.is_set():
            got = fast(x)
            if not any(same(got, w) for w in want.values()):
                failures.append(got)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for t in threads:
        t.start()
    try:
        for i in range(60):
            globals()["SCALE"] = 2.0 + i % 2
            fast._record(x)
            fast(x)
    finally:
        stop.set()
        for t in threads:
            t.join()
        globals()["SCALE"] = 2.0
    assert not failures


def noisy(x, rows):
    return (x + wisp.randn_like(x) * 0.1)[rows] + F.dropout(x, 0.5) * wisp.rand(x.shape[0])


def test_random_numbers_are_those_of_python():
    x, rows = wisp.randn(5), wisp.tensor([0, 1, 2, 3, 4])
    fast, why_not = recorded(noisy, x, rows)
    assert why_not is None
    for seed in range(TURNS):
        results = []
        for f in (fast, noisy):
            wisp.manual_seed(seed)
            results.append((f(x, rows), wisp.rand(2)))
        assert same(*results)
    with pytest.raises(IndexError):
        noisy(x, wisp.tensor([9, 9, 9, 9, 9]))
    states = []
    for f in (fast, noisy):
        wisp.manual_seed(3)
        with pytest.raises(IndexError):
            f(x, wisp.tensor([9, 9, 9, 9, 9]))
        states.append(wisp.rand(2))
    assert same(*states)


def test_new_tensors_are_of_the_dtype_and_on_the_device_of_the_program():
    def f(x):
        return x + wisp.zeros(3) + wisp.arange(x.shape[0])

    fast, why_not = recorded(f, x := wisp.randn(3))
    assert why_not is None and all_same(ways(fast, x), f(x))
    wisp.set_default_dtype(wisp.float64)
    try:
        assert all_same(ways(fast, x), f(x)) and fast(x).dtype == wisp.float64
    finally:
        wisp.set_default_dtype(wisp.float32)
    with wisp.device("meta"), pytest.raises(RuntimeError):
        fast(x)
    assert all_same(ways(fast, x), f(x))
