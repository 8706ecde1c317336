"""What wisp.compile makes of modules, and of what PyTorch's compiler is told: as libraries and programs expect it."""

import copy
import io
import pickle
import sys

import pytest

import wisp
from wisp import nn
from wisp._dynamo_off import exc


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.k = nn.Linear(3, 3), 5
        self.register_buffer("b", wisp.zeros(2))

    def forward(self, x, k=1):
        return self.fc(x) * k

    def __len__(self):
        return 7


def test_attributes_are_those_of_the_module():
    net = Net()
    fast = wisp.compile(net)
    fast.k, fast.new, fast.fc = 9, 3, nn.Linear(3, 2)
    assert (net.k, net.new, net.fc.out_features) == (9, 3, 2) and fast(wisp.ones(3)).shape == (2,)
    del fast.new
    assert not hasattr(net, "new") and "k" in dir(fast) and len(fast) == 7 and fast
    assert not wisp.compile(nn.Sequential()) and fast._torchdynamo_orig_callable is net


def test_there_is_one_training_mode():
    net = Net()
    fast = wisp.compile(net)
    net.eval()
    assert not fast.training
    fast.train()
    assert net.training and net.fc.training
    fast.training = False
    assert not net.training


def test_hooks_of_a_compiled_module_are_its_own():
    net, seen = Net(), []
    fast = wisp.compile(net)
    fast.register_forward_hook(lambda *given: seen.append("fast"))
    fast.register_full_backward_hook(lambda *given: seen.append("back"))
    fast(wisp.ones(3, requires_grad=True)).sum().backward()
    net(wisp.ones(3)).sum().backward()
    assert seen == ["fast", "back"]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_of_compiled_modules(again):
    fast = wisp.compile(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), fullgraph=True).eval()
    other = again(fast)
    assert type(other) is type(fast) and not other.training and other._collecting._is_whole
    assert wisp.equal(other(wisp.ones(2)), fast(wisp.ones(2)))
    with wisp.no_grad():
        fast._orig_mod[0].weight.zero_()
    assert other._orig_mod[0].weight.abs().sum() > 0


def test_compiled_modules_in_files():
    fast, file = wisp.compile(nn.Linear(2, 2)), io.BytesIO()
    wisp.save(fast.state_dict(), file)
    file.seek(0)
    fast.load_state_dict(wisp.load(file))


def test_module_compile_leaves_no_trace_in_copies():
    net = Net()
    before, x = [*net.state_dict()], wisp.ones(3)
    net.compile(fullgraph=True)
    assert net._compiled_call_impl is not None and [*net.state_dict()] == before
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert other._compiled_call_impl is None and wisp.equal(other(x, k=2), net(x, k=2))
        with wisp.no_grad():
            other.fc.weight.add_(1)
        assert not wisp.equal(other(x), net(x))
    net.forward = lambda x: "another"
    assert net(x) == "another"


def test_forward_of_one_module_stays_with_copies():
    net = nn.Linear(2, 2)
    net.forward = len
    net.compile()
    assert copy.deepcopy(net)([1, 2, 3]) == 3


def test_disabled_module():
    slow = wisp.compiler.disable(Net())
    assert isinstance(slow, nn.Module) and slow.k == 5 and next(iter(slow.state_dict())) == "_orig_mod.b"
    assert slow(wisp.ones(3)).shape == (3,)


def test_what_a_class_makes_is_of_that_class():
    made = wisp.compile(Net)
    assert made is Net


def test_compiling_what_is_compiled():
    def f(x):
        return x + 1

    once = wisp.compile(f)
    twice = wisp.compile(once, fullgraph=True)
    assert once._torchdynamo_orig_callable is twice._torchdynamo_orig_callable is f
    assert twice._is_whole and twice(wisp.zeros(1)).item() == 1


def test_backends_by_name():
    for name in ("inductor", "eager", "aot_eager", "cudagraphs", None, lambda graph, inputs: graph.forward):
        assert wisp.compile(lambda x: x + 1, backend=name)(1) == 2
    with pytest.raises(exc.InvalidBackend, match="Invalid backend: 'fast'"):
        wisp.compile(len, backend="fast")
    wisp.compiler.register_backend(name="fast")(lambda graph, inputs: graph.forward)
    assert wisp.compile(len, backend="fast")([1]) == 1 and "fast" in wisp.compiler.list_backends()
    del wisp.compiler._backends["fast"]
    for wrong in ({"backend": 3}, {"options": [1]}):
        with pytest.raises(TypeError, match="must be a"):
            wisp.compile(len, **wrong)


def test_modes_and_guard_filters():
    for mode in ("default", "lite", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"):
        assert wisp.compile(len, mode=mode)([1]) == 1
    keep = wisp.compiler.skip_all_guards_unsafe
    assert wisp.compile(len, options={"guard_filter_fn": keep})([1]) == 1 and keep([1, 2]) == [False, False]
    assert wisp.compiler.set_enable_guard_collectives(True) is False
    assert wisp.compiler.set_enable_guard_collectives(False) is True


def test_explain_of_dynamo_has_small_calls_too():
    from wisp import _dynamo_off

    told = _dynamo_off.explain(lambda x: (x * 2).tanh() + 1)(wisp.ones(3))
    assert told.op_count == 3 and told.graph_count == 1


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code has no qualified name")
def test_a_module_called_through_python_only_once():
    """One call of a compiled module is one call of its module: what stands around it costs no more Python."""
    fast, calls = wisp.compile(Net().eval()), []
    sys.setprofile(lambda frame, what, arg: calls.append(frame.f_code.co_qualname) if what == "call" else None)
    try:
        fast(wisp.ones(3))
    finally:
        sys.setprofile(None)
    assert calls[:2] == ["Module.__call__", "Net.forward"]
