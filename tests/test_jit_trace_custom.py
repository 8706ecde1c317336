"""Traces of programs that call an autograd.Function: values and gradients are those of the program."""

import io
import warnings

import pytest

import wisp
from wisp import nn
from wisp.jit import trace


class Rounded(wisp.autograd.Function):
    @staticmethod
    def forward(ctx, x, steps):
        ctx.steps = steps
        return (x * steps).round() / steps

    @staticmethod
    def backward(ctx, grad):
        return grad * 3, None


class ProductAndSum(wisp.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + y

    @staticmethod
    def backward(ctx, by_product, by_sum):
        x, y = ctx.saved_tensors
        return by_product * y * 10 + by_sum, by_product * x * 10 + by_sum


rounded = Rounded.apply  # as programs keep it


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        product, total = ProductAndSum.apply(rounded(self.fc(x), x.shape[0]), x)
        return (product + total).sum()


@pytest.fixture
def net():
    return Net()


def results(net, module, x):
    """What a module gives, with the gradients."""
    net.zero_grad()
    x = x.clone().requires_grad_()
    value = module(x)
    value.backward()
    return value.detach(), x.grad, net.fc.weight.grad.clone()


def test_its_backward_is_called(net):
    traced, x = trace(net, wisp.randn(2, 3)), wisp.randn(5, 3)
    for _ in range(3):
        wisp.testing.assert_close(results(net, traced, x), results(net, net, x))


def test_without_gradients_the_trace_runs_what_forward_called(net, monkeypatch):
    traced, x = trace(net, wisp.randn(2, 3)), wisp.randn(5, 3)
    monkeypatch.setattr(Rounded, "forward", None)
    with wisp.no_grad():
        assert traced(x).isfinite()


def test_a_function_that_is_traced_itself():
    traced = trace(lambda x: Rounded.apply(x, 4), wisp.ones(2))
    x = wisp.ones(3, requires_grad=True)
    traced(x).sum().backward()
    assert x.grad.tolist() == [3.0] * 3


def test_files_hold_what_forward_called_and_saving_says_so(net):
    traced, x, file = trace(net, wisp.randn(2, 3)), wisp.randn(5, 3), io.BytesIO()
    with pytest.warns(UserWarning, match="backward.. is Python and cannot be saved") as found:
        wisp.jit.save(traced, file)
    assert found[0].filename == __file__
    loaded = wisp.jit.load(io.BytesIO(file.getvalue()))
    wisp.testing.assert_close(loaded(x), net(x))
    loaded(x.requires_grad_()).backward()
    assert x.grad is not None


def test_frozen_and_exported_modules_know_nothing_of_python(net):
    traced, x = trace(net, wisp.randn(2, 3)), wisp.randn(5, 3)
    frozen = wisp.jit.freeze(traced.eval())
    assert "HostCall" not in str(frozen.graph)
    wisp.testing.assert_close(frozen(x), net(x).detach())
    wisp.onnx.export(traced, (x,), io.BytesIO())


def test_under_no_grad_there_is_no_backward_to_keep():
    with wisp.no_grad():
        traced = trace(lambda x: Rounded.apply(x, 2), wisp.ones(2))
    assert "HostCall" not in str(traced.inlined_graph)


def test_results_that_a_graph_cannot_hold():
    class Odd(wisp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, "text"

        @staticmethod
        def backward(ctx, grad, nothing):
            return grad

    with pytest.raises(TypeError, match=r"Odd.forward\(\) returns what a trace cannot hold"):
        trace(lambda x: Odd.apply(x)[0], wisp.ones(2))


def test_modules_with_backward_hooks_are_refused():
    module = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    handle = module[0].register_full_backward_hook(lambda *_: None)
    with pytest.raises(ValueError, match="backward hooks assigned can't be compiled: the submodule '0'"):
        trace(module, wisp.ones(1, 2))
    handle.remove()
    trace(module, wisp.ones(1, 2))


# --- sizes that a program looks at


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda x: x + 1 if x.size(0) > 2 else x, "Python boolean"),
        (lambda x: x * 2 if x.shape[0] == 3 else x, "Python boolean"),
        (lambda x: x.view(int(x.size(0)), -1), "Python integer"),
        (lambda x: x * len(x), "Using len to get tensor shape"),
        (lambda x: sum(row for row in x), "Iterating over a tensor"),
    ],
)
def test_a_trace_that_rests_on_a_size_warns_at_that_line(program, message):
    with pytest.warns(wisp.jit.TracerWarning, match=message) as found:
        trace(program, wisp.ones(3, 2))
    assert {each.filename for each in found} == {__file__}
    assert len(found) == 1  # the check does not say it again


def test_sizes_that_stay_values_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net = nn.Sequential(nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Flatten(), nn.LayerNorm(8))
        trace(net, wisp.randn(3, 2, 4))
        trace(lambda x: x.reshape(x.size(0) // 2, -1, x.shape[1] * 2) * x.numel() / x.shape[-1], wisp.ones(4, 2))


@pytest.mark.parametrize(
    "program", [lambda x: x + 1 if x.size(0) > 2 else x, lambda x: x * len(x), lambda x: x if x.sum() > 0 else -x]
)
@pytest.mark.filterwarnings("ignore::wisp.jit.TracerWarning")
def test_other_inputs_that_lead_to_another_graph_are_refused(program):
    with pytest.raises(wisp.jit.TracingCheckError, match="Graphs differed across invocations"):
        trace(program, wisp.ones(3, 2), check_inputs=[(-wisp.ones(2, 2),)])
