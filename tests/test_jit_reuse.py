"""Results of pointwise operators overwrite operands that nobody will see again."""

import functools

import numpy as np

import wisp
from tests.in_threads import together
from wisp import Tensor

N = 1 << 16


def peak_of(call):
    """The most bytes in use during a call, beyond those before."""
    call()
    before = wisp.memory.current()
    wisp.memory.reset_peak()
    result = call()
    return result, wisp.memory.peak() - before


@wisp.jit.script
def chain(x: Tensor):
    y = x.exp()
    y = y.sin()
    y = y + 1
    y = y * x
    return y.relu()


def test_a_chain_needs_the_memory_of_its_result():
    x = wisp.randn(N)
    kept = x.clone()
    result, peak = peak_of(lambda: chain(x))
    assert peak < 1.5 * 4 * N
    assert wisp.equal(x, kept)
    assert wisp.equal(result, ((x.exp().sin() + 1) * x).relu())


def test_results_stay_when_the_function_is_called_again():
    x = wisp.randn(N)
    results = [chain(x + i) for i in range(4)]
    for i, result in enumerate(results):
        assert wisp.equal(result, chain(x + i))


@wisp.jit.script
def seen_elsewhere(x: Tensor):
    a = x.exp()
    view = a.view(2, -1)
    b = a.sin()
    items = [b]
    c = b.cos()
    d = (c, c.neg())
    return view, items, d[0], d[1].relu()


def test_what_others_hold_is_not_overwritten():
    x = wisp.randn(N)
    view, items, c, last = seen_elsewhere(x)
    assert wisp.equal(view.flatten(), x.exp())
    assert wisp.equal(items[0], x.exp().sin())
    assert wisp.equal(c, x.exp().sin().cos()) and wisp.equal(last, c.neg().relu())


@wisp.jit.script
def other_results(x: Tensor, y: Tensor, wide: Tensor):
    a = x.exp() > 1
    b = x.sin() + y
    c = x.cos() * wide
    d = wisp.atan2(x.tanh(), y.double())
    return a, b, c, d


def test_results_of_other_dtypes_and_sizes():
    x, y, wide = wisp.randn(N), wisp.randn(2, N), wisp.randn(N, dtype=wisp.float64)
    got = other_results(x, y, wide)
    expected = [x.exp() > 1, x.sin() + y, x.cos() * wide, wisp.atan2(x.tanh(), y.double())]
    for one, other in zip(got, expected, strict=True):
        assert one.dtype == other.dtype and wisp.equal(one, other)


def test_memory_of_others_is_not_overwritten():
    array = np.ones(N, np.float32)

    @wisp.jit.script
    def grows(x: Tensor):
        return x.exp()

    def temporary():
        return grows(wisp.from_numpy(array))

    assert wisp.equal(temporary(), wisp.ones(N).exp()) and (array == 1).all()
    graph = wisp._C._jit.parse_graph("graph(%x : Tensor):\n  %y : Tensor = aten::exp(%x)\n  return (%y)\n")
    graph.run(wisp.from_numpy(array))
    assert (array == 1).all()


def test_gradients_and_modes():
    x = wisp.randn(N, requires_grad=True)
    chain(x).sum().backward()
    got, x.grad = x.grad, None
    ((x.exp().sin() + 1) * x).relu().sum().backward()
    assert wisp.equal(got, x.grad)
    y = x.detach()
    with wisp.inference_mode():
        assert wisp.equal(chain(y), chain(y.clone())) and chain(y).is_inference()
    mapped = wisp.vmap(chain)(y.reshape(4, -1))
    assert wisp.equal(mapped.flatten(), chain(y))
    value, tangent = wisp.func.jvp(chain, (y,), (wisp.ones(N),))
    assert wisp.equal(value, chain(y)) and tangent.shape == y.shape
    with wisp.lazy(least=0):
        late = chain(y)
    assert wisp.equal(late, chain(y))


def test_threads():
    xs = [wisp.randn(N) for _ in range(3)]
    expected, wrong = [chain(x) for x in xs], []

    def work(x, y):
        wrong.extend(i for i in range(20) if not wisp.equal(chain(x), y))

    together([functools.partial(work, *pair) for pair in zip(xs, expected, strict=True)])
    assert not wrong
