"""utils.checkpoint: the same gradients as without, less memory; and utils.collect_env."""

import doctest
import gc
import weakref

import pytest

import wisp
from tests import fresh
from wisp import nn
from wisp.utils import checkpoint as module
from wisp.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential

BOTH = pytest.mark.parametrize("use_reentrant", [False, True])


def layers():
    wisp.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 2))


def gradients(model, run, x):
    model.zero_grad()
    x = x.clone().requires_grad_()
    wisp.manual_seed(1)
    out = run(x)
    out.square().sum().backward()
    return [out.detach(), x.grad, *(p.grad.clone() for p in model.parameters()), wisp.rand(1)]


@BOTH
def test_gradients_and_random_numbers_are_the_same(use_reentrant):
    model, x = layers(), wisp.randn(4, 3)
    want = gradients(model, model, x)
    got = gradients(model, lambda x: checkpoint(model, x, use_reentrant=use_reentrant), x)
    for a, b in zip(got, want):
        assert wisp.equal(a, b)
    for segments in (1, 2, 3, 5):
        got = gradients(model, lambda x: checkpoint_sequential(model, segments, x, use_reentrant=use_reentrant), x)
        assert all(wisp.allclose(a, b) for a, b in zip(got, want))


def test_random_numbers_may_differ():
    x = wisp.ones(1000, requires_grad=True)
    out = checkpoint(lambda x: nn.functional.dropout(x), x, use_reentrant=False, preserve_rng_state=False)
    out.sum().backward()
    assert not wisp.equal(out != 0, x.grad != 0)


def test_nothing_is_kept_between():
    kept = []

    def function(x):
        middle = x.exp()
        kept.append(weakref.ref(middle))
        return middle * middle

    x = wisp.ones(3, requires_grad=True)
    out = checkpoint(function, x, use_reentrant=False)
    gc.collect()
    assert kept[0]() is None
    out.sum().backward()
    assert len(kept) == 2
    assert wisp.allclose(x.grad, 2 * (2 * x.detach()).exp())


@BOTH
def test_inputs_without_gradients_leave_those_of_the_parameters(use_reentrant):
    model = nn.Linear(2, 2)
    checkpoint(model, wisp.ones(1, 2), use_reentrant=use_reentrant).sum().backward()
    assert model.bias.grad.tolist() == [1, 1]


@BOTH
def test_gradients_can_be_asked_for_by_name(use_reentrant):
    model, x = nn.Linear(2, 2), wisp.ones(1, 2, requires_grad=True)
    out = checkpoint(model, x, use_reentrant=use_reentrant).sum()
    got = wisp.autograd.grad(out, [x, model.weight])
    assert wisp.allclose(got[0][0], model.weight.sum(0)) and wisp.equal(got[1], wisp.ones(2, 2))
    assert model.weight.grad is None and x.grad is None


def test_second_derivatives():
    x = wisp.tensor([1.0, 2.0], dtype=wisp.float64, requires_grad=True)
    w = wisp.tensor([3.0, 4.0], dtype=wisp.float64, requires_grad=True)

    def function(x):
        return (x**3 * w).sum()

    (first,) = wisp.autograd.grad(checkpoint(function, x, use_reentrant=False), x, create_graph=True)
    assert first.tolist() == [9, 48]
    first.sum().backward()
    assert x.grad.tolist() == [18, 48] and w.grad.tolist() == [3, 12]
    assert wisp.autograd.gradcheck(lambda x: checkpoint(lambda y: y.exp() * y, x, use_reentrant=False), (x,))
    assert wisp.autograd.gradgradcheck(lambda x: checkpoint(lambda y: y.exp() * y, x, use_reentrant=False), (x,))


def test_checkpoints_inside_checkpoints():
    x = wisp.tensor(0.5, requires_grad=True)
    w = wisp.tensor(2.0, requires_grad=True)

    def inner(y):
        return y.sin() * w

    def outer(y):
        return checkpoint(inner, y * y, use_reentrant=False).exp()

    checkpoint(outer, x, use_reentrant=False).backward()
    got = x.grad.item(), w.grad.item()
    x.grad = w.grad = None
    (inner(x * x).exp()).backward()
    assert got == pytest.approx((x.grad.item(), w.grad.item()))


def test_captured_results_of_other_steps():
    x = wisp.tensor([1.0, 2.0], requires_grad=True)
    middle = x.exp()
    out = checkpoint(lambda y: y * middle, x, use_reentrant=False) + middle.square()
    out.sum().backward()
    e = x.detach().exp()
    assert wisp.allclose(x.grad, e + x.detach() * e + 2 * e.square())


def test_hooks_of_parameters_are_called_once():
    w, x, calls = wisp.ones(2, requires_grad=True), wisp.ones(2, requires_grad=True), []
    w.register_hook(lambda g: calls.append(1) or g * 0.5)
    checkpoint(lambda y: y * w, x, use_reentrant=False).sum().backward()
    assert calls == [1] and w.grad.tolist() == [0.5, 0.5] and x.grad.tolist() == [1, 1]


def test_any_structure_goes_in_and_comes_out():
    x, y = wisp.ones(2, requires_grad=True), wisp.ones(2)

    def function(pair, *, scale, extra):
        a, b = pair["a"], pair["b"]
        return {"product": a * scale, "kept": b, "text": extra, "list": [a + b, (a > 0)]}

    out = checkpoint(function, {"a": x, "b": y}, scale=3, extra="e", use_reentrant=False)
    assert out["text"] == "e" and not out["kept"].requires_grad and out["list"][1].all()
    (out["product"] + out["list"][0]).sum().backward()
    assert x.grad.tolist() == [4, 4]


def test_without_grad_mode_it_is_a_call():
    with wisp.no_grad():
        assert not checkpoint(nn.Linear(2, 2), wisp.ones(2), use_reentrant=False).requires_grad
    assert checkpoint(lambda: wisp.ones(1), use_reentrant=False) == 1


def test_contexts_of_both_calls():
    events = []

    class Context:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            events.append(self.name)

        def __exit__(self, *exc):
            pass

    x = wisp.ones(1, requires_grad=True)
    out = checkpoint(lambda y: y * 2, x, use_reentrant=False, context_fn=lambda: (Context("first"), Context("second")))
    assert events == ["first"]
    out.backward()
    assert events == ["first", "second"]


def test_other_results_the_second_time_are_an_error():
    calls = []

    def function(x):
        calls.append(1)
        return x[: len(calls)].exp()

    x = wisp.ones(3, requires_grad=True)
    with pytest.raises(CheckpointError, match="different metadata"):
        checkpoint(function, x, use_reentrant=False).sum().backward()
    assert issubclass(CheckpointError, RuntimeError)


def test_overwritten_inputs_are_an_error():
    x = wisp.ones(3, requires_grad=True)
    y = x * 1
    out = checkpoint(lambda a: a * a, y, use_reentrant=False)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified"):
        out.sum().backward()


def test_arguments():
    x = wisp.ones(1, requires_grad=True)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint(nn.ReLU(), x)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint_sequential([nn.ReLU(), nn.ReLU()], 2, x)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: foo"):
        checkpoint(nn.ReLU(), x, use_reentrant=True, foo=1)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: foo"):
        checkpoint_sequential([nn.ReLU()], 1, x, use_reentrant=False, foo=1)
    with pytest.raises(TypeError):
        checkpoint(nn.ReLU(), x, use_reentrant=False, foo=1)
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        checkpoint(nn.ReLU(), x, use_reentrant=True, debug=True)
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        checkpoint(nn.ReLU(), x, use_reentrant=False, determinism_check="x")


def test_helpers():
    x = wisp.ones(1, requires_grad=True)
    leaf, number = module.detach_variable((x * 2, 3))
    assert leaf.is_leaf and leaf.requires_grad and number == 3
    with pytest.raises(RuntimeError, match="Only tuple of tensors"):
        module.detach_variable([x])
    with pytest.warns(UserWarning, match="None of the inputs"):
        module.check_backward_validity([wisp.ones(1)])
    module.set_device_states(*module.get_device_states(x, 3))
    with module.set_checkpoint_early_stop(False), module.set_checkpoint_debug_enabled(True):
        pass
    assert doctest.testmod(module, extraglobs={"wisp": wisp}).failed == 0


def test_the_environment_is_told():
    from wisp.utils import collect_env

    info = collect_env.get_env_info()
    assert info.wisp_version == wisp.__version__ and int(info.num_threads) >= 1
    text = fresh.python("from wisp.utils import collect_env; collect_env.main()")
    assert f"wisp version: {wisp.__version__}" in text and "cpu capability: " in text and "packages:" in text


def test_autocast_is_as_it_was():
    wisp.manual_seed(0)
    layer, x = nn.Linear(3, 3), wisp.randn(2, 3)
    grads = []
    for run in (layer, lambda x: checkpoint(layer, x, use_reentrant=False)):
        layer.zero_grad()
        with wisp.autocast("cpu", dtype=wisp.bfloat16):
            y = run(x)
        assert y.dtype is wisp.bfloat16
        y.sum().backward()
        grads.append(layer.weight.grad)
    assert wisp.equal(*grads) and not wisp.is_autocast_enabled("cpu")
