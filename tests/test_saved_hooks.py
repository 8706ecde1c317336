"""Hooks on what is saved for backward (wisp.autograd.graph): packing, unpacking, errors, and what is built on them."""

import gc
import threading
import weakref

import pytest

import wisp
from wisp.autograd import Function
from wisp.autograd.graph import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, None)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        x, nothing = ctx.saved_tensors
        assert nothing is None
        return 2 * x * grad


class Exponential(Function):
    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]


PROGRAMS = {
    "inputs": lambda x: (x * x.sin()).sum(),
    "results": lambda x: (x.exp() + x.tanh() + wisp.softmax(x, 0)).sum(),
    "lists": lambda x: wisp.linalg.multi_dot([x[None], x[:, None] * x, x[:, None]]).sum() + wisp.cat([x, x]).prod(),
    "matrices": lambda x: wisp.nn.functional.layer_norm(x @ (x[:, None] * x), (4,)).pow(2).sum(),
    "function of an input": lambda x: (Square.apply(x) * 3).sum(),
    "function of its result": lambda x: (Exponential.apply(x) * 3).sum(),
    "in place": lambda x: x.clone().mul_(x).exp_().sum(),
}


def leaf():
    return wisp.tensor([0.5, -1.25, 2.0, 0.75], dtype=wisp.float64, requires_grad=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_pass_through_hooks(name):
    """What hooks keep elsewhere and give back has the same derivatives, of first and second order."""
    packed, unpacked = [], []

    def pack(tensor):
        assert not tensor.requires_grad and not wisp.is_grad_enabled()
        packed.append(tensor.shape)
        return tensor.numpy().copy()

    def unpack(array):
        unpacked.append(array.shape)
        return wisp.from_numpy(array.copy())

    results = []
    for hooks in (saved_tensors_hooks(pack, unpack), None):
        x = leaf()
        if hooks:
            with hooks:
                loss = PROGRAMS[name](x)
        else:
            loss = PROGRAMS[name](x)
        (first,) = wisp.autograd.grad(loss, x, create_graph=True)
        (second,) = wisp.autograd.grad(first.square().sum(), x)
        results.append((first.tolist(), second.tolist()))
    assert packed and len(unpacked) >= len(packed)
    assert results[0] == results[1]


def test_unpack_runs_at_backward_and_each_time():
    calls = []
    x = leaf()
    with saved_tensors_hooks(lambda t: t, lambda t: calls.append(1) or t):
        loss = x.square().sum()
    assert not calls
    loss.backward(retain_graph=True)
    assert len(calls) == 1
    loss.backward()
    assert len(calls) == 2
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_the_innermost_hooks_count():
    seen = []
    x = leaf()
    with saved_tensors_hooks(lambda t: seen.append("outer") or t, lambda t: t):
        with saved_tensors_hooks(lambda t: seen.append("inner") or t, lambda t: t):
            x.square()
        x.square()
    x.square()
    assert seen == ["inner", "outer"]


def test_saved_values_can_be_looked_at():
    x = leaf()
    with saved_tensors_hooks(lambda t: t.tolist(), lambda values: wisp.tensor(values, dtype=wisp.float64)):
        y = x.exp()
        z = x.square()
    assert y.grad_fn._saved_result.tolist() == y.tolist()
    assert z.grad_fn._saved_self.tolist() == x.tolist()


def test_what_was_saved_is_freed():
    """The tensor goes when it is packed, the packed object when backward has run."""

    class Packed:
        def __init__(self, tensor):
            self.values = tensor.clone()

    alive = []

    def pack(tensor):
        packed = Packed(tensor)
        alive.append(weakref.ref(packed))
        return packed

    x = leaf()
    with saved_tensors_hooks(pack, lambda packed: packed.values):
        loss = (x * 2).sin().sum()
    assert all(packed() for packed in alive)
    loss.backward()
    gc.collect()
    assert alive and not any(packed() for packed in alive)
    wisp.testing.assert_close(x.grad, 2 * (2 * x.detach()).cos())


@pytest.mark.parametrize("name", ["inputs", "lists", "function of an input"])
def test_errors_of_pack_hooks_pass_on(name):
    def pack(tensor):
        raise KeyError("pack")

    x = leaf()
    with pytest.raises(KeyError, match="pack"), saved_tensors_hooks(pack, lambda t: t):
        PROGRAMS[name](x)
    PROGRAMS[name](x).backward()  # nothing of it is left


@pytest.mark.parametrize("name", ["inputs", "results", "function of an input"])
def test_errors_of_unpack_hooks_pass_on(name):
    def unpack(tensor):
        raise KeyError("unpack")

    with saved_tensors_hooks(lambda t: t, unpack):
        loss = PROGRAMS[name](leaf())
    with pytest.raises(KeyError, match="unpack"):
        loss.backward()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (lambda t: 3, TypeError, "expected to be a Tensor but got result of type int"),
        (lambda t: t[:2], RuntimeError, r"shape \[4\].*got \[2\]"),
        (lambda t: t.float(), RuntimeError, "dtype float64.*float32"),
    ],
)
def test_what_unpack_may_return(given, error, message):
    for program in (lambda x: x.square().sum(), lambda x: Square.apply(x).sum()):
        with saved_tensors_hooks(lambda t: t, given):
            loss = program(leaf())
        with pytest.raises(error, match=message):
            loss.backward()


def test_pack_may_not_write():
    x = leaf() * 1
    with (
        pytest.raises(RuntimeError, match="modifying its input in place"),
        saved_tensors_hooks(lambda t: t.add_(1), lambda t: t),
    ):
        x.square()


def test_hooks_can_be_forbidden():
    with disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"), saved_tensors_hooks(lambda t: t, lambda t: t):
            pass
        with disable_saved_tensors_hooks("nor here"):
            pass
        with pytest.raises(RuntimeError, match="not here"), save_on_cpu():
            pass
    hooks, raises = saved_tensors_hooks(lambda t: t, lambda t: t), pytest.raises(RuntimeError, match="inside")
    with hooks, raises, disable_saved_tensors_hooks("inside"):
        pass
    leaf().square().sum().backward()


def test_hooks_belong_to_their_thread():
    seen = []
    with saved_tensors_hooks(lambda t: seen.append(1) or t, lambda t: t):
        thread = threading.Thread(target=lambda: leaf().square())
        thread.start()
        thread.join()
    assert not seen


def test_save_on_cpu():
    x = leaf()
    with save_on_cpu(pin_memory=True):
        loss = PROGRAMS["results"](x)
    loss.backward()
    y = leaf()
    PROGRAMS["results"](y).backward()
    assert x.grad.tolist() == y.grad.tolist()


def test_saved_tensors_may_be_written():
    with allow_mutation_on_saved_tensors() as copies:
        x = leaf()
        a = x * 1
        b = a.square().sum() + (a.exp()).sum()
        a.zero_()
        b.backward()
        assert x.grad.tolist() == (2 * x + x.exp()).tolist()
        loss = (x * x).sum()
        copies.clear()
        with pytest.raises(AssertionError, match="originally recorded"):
            loss.backward()
        kept = (x * x).sum()
        assert len(copies.copies) > 0
    with pytest.raises(AssertionError, match="originally recorded"):
        kept.backward()
    with allow_mutation_on_saved_tensors() as copies:
        x.square()
        assert len(copies.copies) == 0  # gone with the graph


def test_scripts_and_lazy_programs_use_hooks():
    @wisp.jit.script
    def chain(x, y):
        return ((x * y).tanh() * y).sum()

    def run(function):
        x, y = leaf(), leaf()
        packed = []
        with saved_tensors_hooks(
            lambda t: packed.append(1) or t.tolist(), lambda v: wisp.tensor(v, dtype=wisp.float64)
        ):
            loss = function(x, y)
        loss.backward()
        assert packed
        return x.grad.tolist(), y.grad.tolist()

    expected = run(lambda x, y: ((x * y).tanh() * y).sum())
    assert run(chain) == expected
    assert run(chain) == expected
    with wisp.lazy():
        assert run(lambda x, y: ((x * y).tanh() * y).sum()) == expected
