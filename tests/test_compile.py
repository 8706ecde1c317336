"""wisp.compile: the same results, computed before they are returned, with what libraries expect of it."""

import copy
import gc
import pickle
import time
import weakref

import pytest

import wisp
from tests.lazy_runs import checked_product, counts_of, pending
from wisp import _lazy, nn


def test_compile_fuses_large_calls_and_leaves_small_ones():
    f = wisp.compile(lambda x: (x * 2 + 1).tanh().exp())
    x = wisp.randn(500_000)
    got, counts = counts_of(lambda: f(x))
    assert counts["fused"] == 4 and wisp.equal(got, (x * 2 + 1).tanh().exp())
    _, counts = counts_of(lambda: f(wisp.randn(10)))
    assert counts["kernels"] == 0


def test_compiled_functions_compute_before_they_return():
    memory = wisp.zeros(300_000).numpy()
    f = wisp.compile(lambda x: x * 2 + 1)
    y = f(wisp.from_numpy(memory))
    assert not pending(y)
    memory[:] = 5
    assert y.sum().item() == 300_000


def test_compile_takes_torchs_arguments():
    @wisp.compile(fullgraph=True, dynamic=True, mode="max-autotune")
    def f(x, *, scale=1):
        """Doc."""
        return x * scale

    assert f(wisp.ones(2), scale=3).tolist() == [3, 3]
    assert f.__name__ == "f" and f.__doc__ == "Doc."
    assert wisp.compile(len, disable=True) is len
    with pytest.raises(RuntimeError, match="Unrecognized mode"):
        wisp.compile(len, mode="fast")
    with pytest.raises(RuntimeError, match="function or a module"):
        wisp.compile(3)


def test_compiled_module_is_the_module():
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    fast = wisp.compile(net)
    assert [*fast.state_dict()] == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    assert fast[0] is net[0] if hasattr(type(fast), "__getitem__") else fast._orig_mod[0] is net[0]
    fast.eval()
    assert not net.training
    x = wisp.randn(2, 3)
    assert wisp.equal(fast(x), net(x))
    fast(x).sum().backward()
    assert net[0].weight.grad is not None


def test_method_of_a_class():
    class Model:
        scale = 2

        @wisp.compile
        def run(self, x):
            return x * self.scale

    assert Model().run(wisp.ones(1)).item() == 2


def test_explain_names_lines_and_plans():
    @wisp.compile
    def f(x):
        a = x * 2.5
        return (a - 1).sigmoid() @ x.t()

    told = f.explain(wisp.randn(600, 500))
    text = str(told)
    assert told.fused == 3 and told.groups == 1
    assert "as one: mul (" in text and "sub, sigmoid (" in text and "alone:  mm" in text
    assert "test_compile.py:" in text and "new plan: these calls were not made in this order before" in text
    assert "new plan:" not in str(f.explain(wisp.randn(700, 600)))
    assert "new plan: these calls were made with other dtypes so far" in str(f.explain(wisp.randn(700, 600).double()))


def test_explain_says_why_there_is_nothing_to_tell():
    assert "nothing was put off: calls on fewer than 32,768 elements" in str(
        wisp.compile(lambda x: x + 1).explain(wisp.ones(3))
    )


def test_explain_names_lines_that_look_at_values():
    @wisp.compile
    def f(x):
        y = x * 2
        if y.sum() > 0:
            return y * float(x[0])
        return y + 1

    told = f.explain(wisp.ones(100_000))
    first = f.__wrapped__.__code__.co_firstlineno
    assert [read.split(" at ")[0] for read in told.reads] == ["bool()", "float()"]
    assert f"test_compile.py:{first + 3} in f" in told.reads[0] and f"test_compile.py:{first + 4} in f" in told.reads[1]
    assert all(f"what a tensor holds was looked at: {read}" in str(told) for read in told.reads)
    assert f"run because of what was done at {told.reads[0].split(' at ')[1]}" in str(told)
    assert told.graph_break_count == 2 and told.graph_count == 3


def test_fullgraph_refuses_branches_by_values():
    def branch(x):
        return x + 1 if x.sum() > 0 else x - 1

    x = wisp.ones(3)
    whole = wisp.compile(branch, fullgraph=True)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="Data-dependent branching") as caught:
            whole(x)
        assert type(caught.value).__name__ == "Unsupported"
    assert wisp.equal(wisp.compile(branch)(x), x + 1) and wisp.equal(branch(x), x + 1)
    assert wisp.equal(wisp.compile(checked_product, fullgraph=True)(x), x * 3)

    class Module(wisp.nn.Module):
        forward = staticmethod(branch)

    with pytest.raises(RuntimeError, match="Data-dependent branching"):
        wisp.compile(Module(), fullgraph=True)(x)


def test_compiler_disable():
    @wisp.compiler.disable
    def now(x):
        y = x * 2
        assert not pending(y)
        return y

    f = wisp.compile(lambda x: now(x + 1) * 3)
    assert f(wisp.ones(300_000))[0].item() == 12
    assert not wisp.compiler.is_compiling()


def collecting():
    """Whether kernels are collected here."""
    outer = wisp._C._lazy_collect(_lazy._NOTHING)
    wisp._C._lazy_collect(outer)
    return bool(_lazy._extent(outer))


@pytest.mark.parametrize("slow_way", [True, False])
def test_the_faster_way_is_kept(slow_way):
    ways = []

    def chain(x):
        ways.append(collecting())
        if ways[-1] == slow_way:
            time.sleep(0.01)
        return (x * 2 + 1).tanh()

    f, x = wisp.compile(chain), wisp.randn(10)  # few, so that no other thread is waited for
    for _ in range(60):
        assert wisp.equal(f(x), (x * 2 + 1).tanh())
    assert True in ways[:4] and False in ways[:4]
    assert ways[20:] == [not slow_way] * 40
    told = f.explain(x)
    assert told.kept.startswith("way: called as it is (" if slow_way else "way: collected (") and told.kept in str(told)


def test_sizes_are_tried_for_themselves():
    ways = {10: [], 10_000: []}

    def chain(x):
        ways[len(x)].append(collecting())
        if ways[len(x)][-1] == (len(x) > 10):
            time.sleep(0.01)
        return x * 2

    f = wisp.compile(chain)
    assert f.explain(wisp.zeros(10)).kept.startswith("way: not settled yet")
    for _ in range(60):
        for n in ways:
            f(wisp.zeros(n))
    assert all(ways[10][30:]) and not any(ways[10_000][30:])


def test_small_sizes_are_not_told_apart():
    ways = {n: [] for n in range(1, 61)}

    def f(x):
        ways[len(x)].append(collecting())
        return x * 2

    fast = wisp.compile(f)
    for _ in range(10):
        for n in ways:
            fast(wisp.zeros(n))
    assert not any(any(seen[4:]) for seen in ways.values())


def test_what_is_settled_for_small_tensors_is_not_for_large_ones():
    collected = {}

    def f(x):
        collected.setdefault(len(x), []).append(collecting())
        if not collected[len(x)][-1] and len(x) > 10:
            time.sleep(0.002)
        return [x.mul(2)]

    fast, small, large = wisp.compile(f), wisp.randn(10), wisp.randn(40_000)
    for _ in range(1000):
        fast(small)
    for _ in range(60):
        fast(large)
        fast(small)
    assert not any(collected[10][100:]) and all(collected[40_000][40:])


class Takes:
    """An object that can be called, with arguments of all kinds."""

    def __call__(self, x, *rest, scale=1, **options):
        return x * scale, rest, options


def test_objects_are_called_as_python_would(monkeypatch):
    fast, x = wisp.compile(Takes()), wisp.ones(1)
    many, names = tuple(range(40)), {f"n{i}": i for i in range(40)}
    for _ in range(300):
        assert fast(x)[1:] == ((), {})
        assert fast(x, *many, scale=3, **names)[1:] == (many, names)
        assert fast(x, 1, 2, scale=3)[0].item() == 3
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
            fast(scale=2)
    monkeypatch.setattr(Takes, "__call__", lambda self, x: x + 5)
    assert [fast(x).item() for _ in range(3)] == [6] * 3
    monkeypatch.setattr(Takes, "__call__", staticmethod(lambda x: x + 7))
    assert [fast(x).item() for _ in range(3)] == [8] * 3
    fast._function.__class__ = Once
    with pytest.raises(TypeError, match="not callable"):
        fast(x)


class Once:
    pass


def test_a_settled_function_may_fail():
    def f(x):
        try:
            return x[9] + 1
        finally:
            pass

    fast, x = wisp.compile(f), wisp.randn(10)
    for _ in range(300):
        assert fast(x) == x[9] + 1
        with pytest.raises(IndexError):
            fast(x[:3])


def test_a_failed_call_is_no_trial():
    f = wisp.compile(lambda x: x.reshape(7))
    for _ in range(30):
        with pytest.raises(RuntimeError):
            f(wisp.zeros(3))
    assert f._times(wisp.zeros(3)) is None and not collecting()


def test_copies_and_cycles():
    net = wisp.compile(nn.Linear(2, 2))
    copied = copy.deepcopy(net)
    with wisp.no_grad():
        net.weight.zero_()
    assert copied(wisp.ones(1, 2)).abs().sum() > 0 and net(wisp.zeros(1, 2)).shape == (1, 2)

    def f(x):
        return x + 1

    assert copy.deepcopy(wisp.compile(f))(wisp.zeros(1)).item() == 1
    f.compiled = wisp.compile(f)  # each holds the other
    gone = weakref.ref(f.compiled)
    del f
    gc.collect()
    assert gone() is None


@wisp.lazy()
def evaluated_lazily(x):
    return x + 1


def test_decorated_functions_are_found_by_name():
    assert pickle.loads(pickle.dumps(evaluated_lazily)) is evaluated_lazily is copy.deepcopy(evaluated_lazily)
    sizes = pickle.loads(pickle.dumps(wisp.compile(len)))
    assert sizes([1, 2]) == 2 and sizes.__wrapped__ is len


def test_more_than_caches_hold():
    x = wisp.randn(17_000, 1001)

    def little(x, row):
        return (x * 2 + row).abs()

    def much(x, row):
        return (x * row).tanh() + x

    for chain in (little, much):
        for part in (x, x[:, 1:1000]):  # the lines of the second begin anywhere
            row = part[0].clone()
            assert wisp.equal(wisp.compile(chain)(part, row), chain(part, row))
    assert wisp.equal(x.clone(), x)
    assert wisp.full((34_000_001,), 3.0).eq(3).all()
