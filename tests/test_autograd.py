"""Reverse mode as users meet it: backward, grad, modes, hooks, leaf rules, long and reentrant graphs."""

import math
import threading

import pytest

import wisp
from wisp import autograd


def leaf(*values):
    return wisp.tensor([float(v) for v in values], requires_grad=True)


# --- backward and grad


def test_backward_accumulates():
    x = leaf(1, 2, 3)
    (x * x).sum().backward()
    (x * x).sum().backward()
    assert x.grad.tolist() == [4, 8, 12]
    x.grad = None
    x.sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


def test_accumulation_is_in_place_unless_it_is_recorded():
    x = leaf(1, 2)
    x.sum().backward()
    kept = x.grad
    x.sum().backward()
    assert kept is x.grad and kept.tolist() == [2, 2]
    (x * x).sum().backward(create_graph=True)
    assert kept.tolist() == [2, 2] and x.grad.tolist() == [4, 6] and x.grad.requires_grad


def test_backward_needs_one_element_or_a_gradient():
    with pytest.raises(RuntimeError, match="scalar outputs"):
        (leaf(1, 2) * 2).backward()
    x = leaf(1, 2)
    (x * 2).backward(wisp.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [2, 20]


def test_backward_of_what_needs_no_gradient():
    with pytest.raises(RuntimeError, match="does not require grad"):
        wisp.ones(()).backward()


def test_backward_for_some_inputs_only():
    x, y = leaf(1), leaf(2)
    (x * y).sum().backward(inputs=[x])
    assert x.grad.tolist() == [2] and y.grad is None


def test_several_outputs_at_once():
    x = leaf(1, 2)
    autograd.backward([x.sum(), (x * 3)], [None, wisp.ones(2)])
    assert x.grad.tolist() == [4, 4]


def test_grad_returns_and_does_not_accumulate():
    x = leaf(3)
    (g,) = autograd.grad((x**3).sum(), x)
    assert g.tolist() == [27] and x.grad is None


def test_grad_of_unused_inputs():
    x, y = leaf(1), leaf(1)
    with pytest.raises(RuntimeError, match="allow_unused"):
        autograd.grad(x.sum(), [x, y])
    assert autograd.grad(x.sum(), [x, y], allow_unused=True)[1] is None
    zero = autograd.grad(x.sum(), [x, y], materialize_grads=True)[1]
    assert zero.tolist() == [0] and not zero.requires_grad


def test_grad_for_a_computed_tensor():
    x = leaf(1, 2)
    y = x * 2
    z = (y * y).sum()
    assert autograd.grad(z, y)[0].tolist() == [4, 8]


def test_grads_in_a_batch():
    x = leaf(1, 2)
    y = x * x
    (rows,) = autograd.grad(y, x, wisp.eye(2), is_grads_batched=True)
    assert rows.tolist() == [[2, 0], [0, 4]]


@pytest.mark.parametrize("order", range(1, 6))
def test_higher_order(order):
    x = wisp.tensor(0.7, dtype=wisp.float64, requires_grad=True)
    y = x.sin()
    for _ in range(order):
        (y,) = autograd.grad(y, x, create_graph=True)
    assert y.item() == pytest.approx(math.sin(0.7 + order * math.pi / 2))


def test_second_backward_is_refused_and_says_why():
    x = leaf(1)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()
    z = (x * x).sum()
    z.backward(retain_graph=True)
    z.backward()
    assert x.grad.tolist() == [6]


def test_saved_tensors_are_freed_by_backward():
    x = wisp.ones(1000, 1000, requires_grad=True)
    wisp.memory.reset_peak()
    before = wisp.memory.current()
    y = x.exp().sum()
    held = wisp.memory.current() - before
    y.backward()
    assert held >= 4_000_000
    x.grad = None
    assert wisp.memory.current() - before < held / 2


def test_only_what_a_rule_reads_is_kept():
    x = wisp.ones(1000, 1000, requires_grad=True)
    before = wisp.memory.current()
    y = ((x + 1) * 2 - 3).sum()  # no derivative here needs its input
    assert wisp.memory.current() - before < 100_000
    y.backward()
    assert x.grad[0, 0] == 2


# --- leaves and requires_grad


def test_leaf_rules():
    x = leaf(1)
    y = x * 2
    assert x.is_leaf and not y.is_leaf and y.requires_grad
    with pytest.raises(RuntimeError, match="leaf"):
        y.requires_grad = False
    with pytest.raises(RuntimeError, match="leaf"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="floating point"):
        wisp.arange(3).requires_grad_()
    with wisp.no_grad():
        x.add_(1)
    assert x.tolist() == [2]


def test_grad_of_a_computed_tensor_warns():
    y = leaf(1) * 2
    with pytest.warns(UserWarning, match="non-leaf"):
        assert y.grad is None
    y.retain_grad()
    y.sum().backward()
    assert y.grad.tolist() == [1]


def test_assigning_grad_is_checked():
    x = leaf(1, 2)
    x.grad = wisp.tensor([5.0, 6.0])
    x.sum().backward()
    assert x.grad.tolist() == [6, 7]
    with pytest.raises(RuntimeError, match="size"):
        x.grad = wisp.ones(3)
    with pytest.raises(RuntimeError, match="dtype|type"):
        x.grad = wisp.ones(2, dtype=wisp.float64)
    with pytest.raises(TypeError):
        x.grad = 3


def test_detach_shares_memory_without_history():
    x = leaf(1, 2)
    d = x.detach()
    assert not d.requires_grad and d.data_ptr() == x.data_ptr()
    y = x * 2
    y.detach_()
    assert y.grad_fn is None and not y.requires_grad


def test_data_is_without_history_and_versions():
    x = leaf(1, 2)
    y = (x * x).sum()
    x.data.mul_(0)  # invisible to the checks, as asked for
    y.backward()
    assert x.grad.tolist() == [0, 0]
    x.data = wisp.ones(3)
    assert x.tolist() == [1, 1, 1] and x.requires_grad


def test_graph_is_visible():
    x = leaf(1, 2)
    y = (x * 2 + 1).sum()
    assert y.grad_fn.name() == "SumBackward0"
    add = y.grad_fn.next_functions[0][0]
    mul = add.next_functions[0][0]
    accumulate = mul.next_functions[0][0]
    assert [type(n).__name__ for n in (add, mul, accumulate)] == ["AddBackward0", "MulBackward0", "AccumulateGrad"]
    assert accumulate.variable is x


# --- modes


def test_modes_nest_and_decorate():
    x = leaf(1)
    with wisp.no_grad():
        assert not (x * 2).requires_grad and not wisp.is_grad_enabled()
        with wisp.enable_grad():
            assert (x * 2).requires_grad
        with wisp.set_grad_enabled(True):
            assert wisp.is_grad_enabled()
        assert not wisp.is_grad_enabled()

    @wisp.no_grad()
    def f(x):
        return x * 2

    @wisp.no_grad
    def g(x):
        return x * 2

    assert not f(x).requires_grad and not g(x).requires_grad and wisp.is_grad_enabled()


def test_modes_are_restored_by_exceptions():
    with pytest.raises(ValueError), wisp.no_grad():
        raise ValueError
    assert wisp.is_grad_enabled()


def test_modes_inside_generators():
    @wisp.no_grad()
    def produce():
        yield wisp.is_grad_enabled()
        yield wisp.is_grad_enabled()

    seen = []
    for inside in produce():
        seen += [inside, wisp.is_grad_enabled()]
    assert seen == [False, True, False, True]


def test_modes_belong_to_the_thread():
    seen = []
    with wisp.no_grad():
        thread = threading.Thread(target=lambda: seen.append(wisp.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_inference_mode():
    x = leaf(1, 2)
    with wisp.inference_mode():
        y = x * 2
        assert y.is_inference() and wisp.is_inference_mode_enabled()
    assert not y.requires_grad
    with pytest.raises(RuntimeError, match="[Ii]nference"):
        (x * y).sum()
    with pytest.raises(RuntimeError, match="[Ii]nference"):
        y.add_(1)


# --- hooks


def test_tensor_hooks_see_and_change_gradients():
    x = leaf(1, 2)
    seen = []
    y = x * 2
    handle = y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g * 10)
    y.sum().backward(retain_graph=True)
    assert seen == [[1, 1]] and x.grad.tolist() == [20, 20]
    handle.remove()
    y.sum().backward()
    assert len(seen) == 1


def test_leaf_hooks_and_post_accumulate():
    x = leaf(1)
    order = []
    x.register_hook(lambda g: order.append("hook"))
    handle = x.register_post_accumulate_grad_hook(lambda t: order.append(t.grad.item()))
    (x * 3).sum().backward()
    assert order == ["hook", 3]
    handle.remove()
    (x * 3).sum().backward()
    assert order == ["hook", 3, "hook"]


def test_node_hooks():
    x = leaf(1)
    y = x * 3
    calls = []
    y.grad_fn.register_prehook(lambda grads: calls.append("pre"))
    y.grad_fn.register_hook(lambda ins, outs: calls.append((ins[0].item(), outs[0].item())))
    y.sum().backward()
    assert calls == ["pre", (3, 1)]


def test_errors_in_hooks_come_out_unchanged():
    class Odd(Exception):
        pass

    def hook(grad):
        raise Odd("why")

    x = leaf(1)
    y = x * 2
    y.register_hook(hook)
    with pytest.raises(Odd, match="why"):
        y.sum().backward()
    z = leaf(2)
    (z * 2).sum().backward()  # the engine is fine
    assert z.grad.tolist() == [2]


def test_hook_of_the_wrong_shape():
    x = leaf(1, 2)
    y = x * 2
    y.register_hook(lambda g: wisp.ones(3))
    with pytest.raises(RuntimeError, match="size|shape"):
        y.sum().backward()


def test_hooks_need_a_gradient():
    with pytest.raises(RuntimeError, match="require"):
        wisp.ones(1).register_hook(print)


# --- what gradients are


def test_broadcast_gradients_are_summed():
    a, b = wisp.ones(3, 1, requires_grad=True), wisp.ones(1, 4, requires_grad=True)
    (a * b).sum().backward()
    assert a.grad.shape == (3, 1) and a.grad.flatten().tolist() == [4] * 3 and b.grad.tolist() == [[3] * 4]


def test_gradients_have_the_dtype_of_the_leaf():
    x = wisp.ones(2, dtype=wisp.float32, requires_grad=True)
    (x * wisp.ones(2, dtype=wisp.float64)).sum().backward()
    assert x.grad.dtype is wisp.float32


def test_complex_gradients_follow_the_convention():
    z = wisp.tensor([1 + 2j], requires_grad=True)
    (z * z.conj()).real.sum().backward()
    assert z.grad.tolist() == [2 + 4j]


def test_anomaly_mode_names_the_forward_line():
    x = leaf(-1)
    with autograd.detect_anomaly(check_nan=True):
        y = x.sqrt()  # this line
        with pytest.raises(RuntimeError, match=r"SqrtBackward0.*(?s:.)*test_autograd.py"):
            y.sum().backward()


def test_gradcheck_finds_wrong_gradients():
    class Wrong(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    x = wisp.rand(3, dtype=wisp.float64, requires_grad=True)
    assert autograd.gradcheck(lambda x: x.sin() * x, x) and autograd.gradgradcheck(lambda x: x.sin() * x, x)
    with pytest.raises(
        autograd.gradcheck.GradcheckError if hasattr(autograd.gradcheck, "GradcheckError") else RuntimeError
    ):
        autograd.gradcheck(Wrong.apply, x)
    assert not autograd.gradcheck(Wrong.apply, x, raise_exception=False)


def test_threads_of_backward_may_be_asked_for():
    x = wisp.ones(1, requires_grad=True)
    with wisp.autograd.set_multithreading_enabled(False):
        x.sum().backward()
    assert x.grad.item() == 1 and wisp.autograd.grad_mode.set_multithreading_enabled(True).clone().mode


def test_inputs_may_be_any_iterable():
    net = wisp.nn.Linear(1, 1)

    def loss():
        return net(wisp.ones(1)).sum()

    assert [g.item() for g in wisp.autograd.grad(loss(), net.parameters())] == [1, 1]
    named = dict(net.named_parameters())
    assert [g.item() for g in wisp.autograd.grad((x for x in [loss()]), named.values())] == [1, 1]
    for backward in (
        lambda inputs: loss().backward(inputs=inputs),
        lambda inputs: wisp.autograd.backward(loss(), inputs=inputs),
    ):
        backward(p for p in [net.weight])
        assert net.weight.grad.item() == 1 and net.bias.grad is None
        net.weight.grad = None
        with pytest.raises(RuntimeError, match="cannot be empty"):
            backward(p for p in [])
    with pytest.raises(ValueError, match="requires non-empty inputs"):
        wisp.autograd.grad(loss(), (p for p in []))


def test_gradients_at_the_edges_of_functions():
    """The angle of the origin is flat; a negative base has a logarithm if the exponent is complex."""
    x, y = (wisp.tensor([0.0, 3.0], requires_grad=True) for _ in range(2))
    wisp.atan2(x, y).sum().backward()
    assert x.grad.tolist() == [0.0, pytest.approx(1 / 6)] and y.grad.tolist() == [0.0, pytest.approx(-1 / 6)]
    point = wisp.zeros(2, dtype=wisp.float64, requires_grad=True)
    (grad,) = wisp.autograd.grad(wisp.atan2(point[0], point[1]), point, create_graph=True)
    assert wisp.autograd.grad(grad.sum(), point)[0].isfinite().all()
    base = wisp.tensor([-2.0, 0.5], dtype=wisp.float64)
    exponent = wisp.tensor([1 + 2j, -1j], dtype=wisp.complex128, requires_grad=True)
    assert wisp.autograd.gradcheck(lambda e: base**e, (exponent,))


def test_materialized_gradients_can_be_differentiated():
    x, a = wisp.tensor(0.5, requires_grad=True), wisp.tensor(1.0, requires_grad=True)
    (first,) = wisp.autograd.grad(x * a, x, create_graph=True)
    (second,) = wisp.autograd.grad(first, x, create_graph=True, materialize_grads=True)
    (third,) = wisp.autograd.grad(second, x, materialize_grads=True)
    assert second == 0 and third == 0


def test_strict_products_that_cannot_be_differentiated():
    """With create_graph, strict mode also refuses derivatives that do not depend on the input."""
    x = wisp.rand(3, requires_grad=True)
    for name in ("jacobian", "vjp", "jvp"):
        given = () if name == "jacobian" else (wisp.ones(3),)
        product = getattr(wisp.autograd.functional, name)
        product(lambda t: t.clone(), x, *given, create_graph=True)
        product(lambda t: t.exp(), x, *given, create_graph=True, strict=True)
        with pytest.raises(RuntimeError, match="independent of input 0"):
            product(lambda t: t.clone(), x, *given, create_graph=True, strict=True)


def test_out_of_composites_takes_no_gradients():
    x = wisp.ones(2, 2, requires_grad=True)
    for call in (lambda out: wisp.matmul(x, x, out=out), lambda out: wisp.linalg.multi_dot([x, x, x], out=out)):
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            call(wisp.empty(2, 2))
        with wisp.no_grad():
            call(wisp.empty(2, 2))


def test_slope_of_sinc_where_squares_vanish():
    x = wisp.tensor([0.0, wisp.finfo(wisp.float64).tiny, -1e-200], dtype=wisp.float64, requires_grad=True)
    x.sinc().sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]
