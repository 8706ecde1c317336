"""The engine that runs backward: depth, reentrance, threads, interrupts, memory."""

import gc
import signal
import threading
import time
import weakref

import pytest

import wisp
from wisp import autograd


def leaf(*values):
    return wisp.tensor([float(v) for v in values], requires_grad=True)


def test_a_million_nodes():
    x = leaf(1)
    y = x
    for _ in range(1_000_000):
        y = y + 1
    y.backward()
    assert x.grad.tolist() == [1]
    del y


def test_a_long_graph_is_freed_without_running():
    y = leaf(1)
    for _ in range(300_000):
        y = y * 1
    del y
    gc.collect()


def test_reentrant_backward():
    class Inner(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.detach() ** 2

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            with wisp.enable_grad():
                z = x.detach().requires_grad_()
                (z**2).sum().backward()
            return grad * z.grad

    x = leaf(1, 2)
    y = x
    for _ in range(5):
        y = Inner.apply(y)
    y.sum().backward()
    assert x.grad.tolist() == [32, 32 * 2.0**31]


def test_reentrance_without_end_is_an_error():
    class Nested(autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            if ctx.depth:
                with wisp.enable_grad():
                    Nested.apply(wisp.ones(1, requires_grad=True), ctx.depth - 1).sum().backward()
            return grad, None

    x = leaf(1)
    Nested.apply(x, 60).sum().backward()
    assert x.grad.tolist() == [1]
    with pytest.raises(RecursionError):
        Nested.apply(x, 100_000).sum().backward()


def test_threads_run_backward_together():
    x = leaf(1, 2, 3)
    results = []

    def work():
        for _ in range(100):
            results.append(autograd.grad((x * x).sum(), x)[0].tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert results == [[2, 4, 6]] * 400


def test_interrupt_stops_backward():
    x = leaf(1)
    y = x
    for _ in range(200_000):
        y = y * 1.0
    stopper = threading.Timer(0.02, lambda: signal.raise_signal(signal.SIGINT))
    y.register_hook(lambda g: (stopper.start(), time.sleep(0.05))[0])
    with pytest.raises(KeyboardInterrupt):
        y.backward()
        time.sleep(1)
    stopper.join()


def test_cycles_through_the_graph_are_collected():
    class Keeps(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    def through_attribute(x):
        x.anchor = [x]
        return x

    def through_hook(x):
        x.register_hook(lambda g: x)
        return x

    def through_context(x):
        y = Keeps.apply(x)
        y.grad_fn.result = y
        return y

    def through_hook_of_result(x):
        y = x * 2
        y.register_hook(lambda g: y)
        return y

    def through_hook_of_function(x):
        y = Keeps.apply(x)
        y.register_hook(lambda g: y)
        return y

    def through_hooks_of_node(x):
        y = x * 2
        y.grad_fn.register_hook(lambda *grads: y)
        y.grad_fn.register_prehook(lambda *grads: y)
        return y

    for make in (
        through_attribute,
        through_hook,
        through_context,
        through_hook_of_result,
        through_hook_of_function,
        through_hooks_of_node,
    ):
        alive = weakref.ref(make(leaf(1)))
        gc.collect()
        assert alive() is None, make


@pytest.mark.parametrize("on_tensor", [True, False])
def test_a_hook_that_refers_to_its_node_lives_as_long_as_the_graph(on_tensor):
    class Witness:
        pass

    calls = []

    def graph():
        y = leaf(1) * 2
        node, witness = y.grad_fn, Witness()
        node.metadata["self"] = node

        def hook(*grads):
            calls.append((node, witness))

        (y if on_tensor else node).register_hook(hook)
        return y * 3, weakref.ref(witness)

    out, alive = graph()
    gc.collect()  # the node belongs to the graph: nothing of it may go
    out.backward()
    assert len(calls) == 1 and alive() is not None
    calls.clear()
    del out
    gc.collect()
    assert alive() is None
