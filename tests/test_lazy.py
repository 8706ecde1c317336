"""Lazy evaluation: results, gradients, writes and errors are as without it; only when things happen differs."""

import gc
import os
import threading

import pytest

import wisp
from tests.fresh import python
from tests.lazy_runs import counts_of, pending
from wisp import nn
from wisp.nn import functional as F


def test_nothing_runs_until_somebody_looks():
    x = wisp.arange(3.0)
    with wisp.lazy(least=0):
        y = x * 2
        z = (y + 1).sum()
        assert pending(y, z) == 2
        assert z.shape == () and y.dtype == wisp.float32
        assert z.item() == 9
        assert pending(y, z) == 0
    assert not pending(x * 2)


@pytest.mark.parametrize(
    "look", [repr, lambda t: t.tolist(), lambda t: t.numpy(), lambda t: bool(t.any()), lambda t: t.data_ptr()]
)
def test_every_look_computes(look):
    with wisp.lazy(least=0):
        y = wisp.ones(2) + 1
        assert pending(y)
        look(y)
        assert not pending(y)


def test_chain_runs_as_one_and_writes_only_what_is_kept():
    x = wisp.randn(100, 7)

    def chain():
        with wisp.lazy(least=0):
            return (x * 2 + 1).tanh().exp()

    got, counts = counts_of(chain)
    assert counts["fused"] == 4 and counts["groups"] == 1 and counts["runs"] == 1
    assert wisp.equal(got, (x * 2 + 1).tanh().exp())


def test_kept_intermediates_are_written_too():
    x, y = wisp.randn(50), wisp.randn(50)
    with wisp.lazy(least=0):
        a = x + y
        b = a * x
        c = b.sigmoid() - a
    assert wisp.equal(a, x + y)
    assert wisp.equal(b, (x + y) * x)
    assert wisp.equal(c, ((x + y) * x).sigmoid() - (x + y))


def test_what_nobody_wants_is_not_computed():
    def waste():
        with wisp.lazy(least=0):
            x = wisp.ones(5)
            (x * 3).exp()
            return x + 1

    got, counts = counts_of(waste)
    assert counts["dropped"] == 2
    assert got.tolist() == [2] * 5


SHAPES = [
    ((4, 6), (6,)),
    ((4, 6), (4, 1)),
    ((4, 6), ()),
    ((3, 1, 5), (2, 1)),
    ((2, 70), (70,)),
    ((5, 1000), (5, 1)),
    ((0, 3), (3,)),
]


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64, wisp.bfloat16, wisp.float16])
def test_broadcasting_and_dtypes(shapes, dtype):
    x, y = (wisp.randn(*shape).to(dtype) for shape in shapes)

    def f():
        a = x + y
        b = (a > 0) * a
        return a.tanh() * 2, b, wisp.where(a > 0.5, a, y) / 3

    with wisp.lazy(least=0):
        got = f()
    for one, other in zip(got, f(), strict=True):
        assert one.dtype == other.dtype and wisp.equal(one, other)


@pytest.mark.parametrize(
    "view",
    [
        lambda t: t.t(),
        lambda t: t[::2],
        lambda t: t[:, 1:],
        lambda t: t[:, :, None].expand(8, 90, 3),
        lambda t: t.flip(0),
    ],
)
def test_strided_operands(view):
    x = wisp.randn(8, 90)

    def f():
        v = view(x)
        return (v * v + v.abs()).sqrt(), (v + 1).t() if v.ndim == 2 else v - 1

    with wisp.lazy(least=0):
        got = f()
    assert all(wisp.equal(a, b) for a, b in zip(got, f(), strict=True))


def test_mixed_integers_and_floats():
    i, x = wisp.arange(40), wisp.randn(40)

    def f():
        return (i * 2 + 1) / 3, (i // 3) * x, i % 7 == 2, (i.to(wisp.float64) + x) ** 2

    with wisp.lazy(least=0):
        got = f()
    assert all(wisp.equal(a, b) and a.dtype == b.dtype for a, b in zip(got, f(), strict=True))


def test_writes_stay_in_order():
    def f():
        x = wisp.ones(6)
        y = x * 2
        x += 1
        z = x * 2
        v = x[2:4]
        v.mul_(10)
        w = x + 0
        x.zero_()
        u = x + 1
        x.copy_(w * 3)
        t = x - 1
        x.fill_(7)
        x[1:3] = y[0]
        return x, y, z, w, u, t

    with wisp.lazy(least=0):
        got = f()
    assert [t.tolist() for t in got] == [t.tolist() for t in f()]


def test_writes_outside_come_after_reads_inside():
    x = wisp.ones(4)
    with wisp.lazy(least=0):
        y = x + 1
    x.add_(5)
    assert y.tolist() == [2] * 4 and x.tolist() == [6] * 4
    with wisp.lazy(least=0):
        y = x + 1
        array = x.numpy()
        array[:] = 0
    assert y.tolist() == [7] * 4
    with wisp.lazy(least=0):
        z = x + 1  # memory that NumPy shares is read at once
        array[:] = 3
    assert z.tolist() == [1] * 4


def test_results_may_be_written_with_out():
    x, out = wisp.randn(5), wisp.empty(5)
    with wisp.lazy(least=0):
        wisp.mul(x, 2, out=out)
        y = out + 1
        out.zero_()
    assert wisp.equal(y, x * 2 + 1) and out.sum() == 0


def test_replaced_data_does_not_matter():
    x = wisp.ones(3)
    with wisp.lazy(least=0):
        y = x + 1
        x.data = wisp.zeros(7)
        x.resize_(2)
    assert y.tolist() == [2] * 3


def test_gradients_are_the_same():
    def step():
        wisp.manual_seed(3)
        net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4), nn.Dropout(0.3))
        loss = F.cross_entropy(net(wisp.randn(32, 8)), wisp.randint(0, 4, (32,)))
        loss.backward()
        return [p.grad for p in net.parameters()] + [loss.detach()]

    with wisp.lazy(least=0):
        got = step()
        assert not pending(*got[:-1])  # the end of backward() is a place to stop
    assert all(wisp.equal(a, b) for a, b in zip(got, step(), strict=True))


def test_training_is_the_same():
    def train():
        wisp.manual_seed(0)
        net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 3))
        optimizer = wisp.optim.AdamW(net.parameters(), lr=0.01)
        x, y = wisp.randn(10, 1, 8, 8), wisp.randint(0, 3, (10,))
        for _ in range(4):
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        return [*net.state_dict().values()]

    with wisp.lazy(least=0):
        got = train()
    assert all(wisp.equal(a, b) for a, b in zip(got, train(), strict=True))


def test_second_derivatives_and_transforms():
    x = wisp.randn(5, dtype=wisp.float64, requires_grad=True)

    def f():
        (first,) = wisp.autograd.grad((x.sin() * x).sum(), x, create_graph=True)
        (second,) = wisp.autograd.grad(first.pow(2).sum(), x)
        _, tangent = wisp.func.jvp(lambda t: t.tanh() * t, (x.detach(),), (wisp.ones(5, dtype=wisp.float64),))
        batched = wisp.vmap(lambda t: (t * 2 + 1).exp())(x.detach())
        return second, tangent, batched

    with wisp.lazy(least=0):
        got = f()
    assert all(wisp.allclose(a, b, rtol=1e-12) for a, b in zip(got, f(), strict=True))


def test_errors_tell_the_line_of_the_call():
    x = wisp.ones(3)
    with wisp.lazy(least=0):
        with pytest.raises(RuntimeError, match="must match the size"):
            x + wisp.ones(2)  # what shapes tell is told at once
        y = x[wisp.tensor([1])].sum() + 1
        bad = wisp.arange(4) // wisp.zeros(4, dtype=wisp.int64)  # line of the mistake
        after = bad + 1
        fine = x * 3
        with pytest.raises(RuntimeError, match="(?s)division by zero.*test_lazy.py:"):
            after.tolist()
    with pytest.raises(RuntimeError, match="division by zero"):
        bad.tolist()
    with pytest.raises(RuntimeError, match="division by zero"):
        after.sum().item()
    assert y.item() == 2 and fine.tolist() == [3] * 3


def test_memory_does_not_pile_up():
    x = wisp.ones(1 << 18)
    with wisp.lazy(least=0):
        for _ in range(2000):
            x = x + 1
    assert wisp.lazy.counts()["runs"] > 0
    assert x[0].item() == 2001


def test_a_long_chain_of_small_calls():
    with wisp.lazy(least=0):
        x = wisp.zeros(())
        for _ in range(20000):
            x = x + 1
    assert x.item() == 20000


def test_other_threads_may_look():
    x = wisp.randn(1000)
    with wisp.lazy(least=0):
        results = [(x * k).exp() for k in range(20)]
    got = [None] * 20

    def look(k):
        got[k] = results[k].sum().item()

    threads = [threading.Thread(target=look, args=(k,)) for k in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [(x * k).exp().sum().item() for k in range(20)]


def test_threads_collect_beside_each_other():
    failures = []

    def work(seed):
        x = wisp.full((3000,), float(seed))
        with wisp.lazy(least=0):
            for _ in range(200):
                y = (x * 2 + seed).tanh()
                if y[0].item() != wisp.tensor(seed * 3.0).tanh().item():
                    failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_after_a_fork():
    with wisp.lazy(least=0):
        y = wisp.ones(20000) * 3
    child = os.fork()
    right = y.sum().item() == 60000
    if child == 0:
        os._exit(0 if right else 1)
    assert right and os.waitpid(child, 0)[1] == 0


def test_what_was_only_waiting_to_be_read_is_given_back():
    wisp.lazy.run()
    before = wisp.memory.stats()["current"]
    with wisp.lazy(least=0):
        y = wisp.ones(1 << 20).exp().sum()
    assert y.item() > 0
    del y
    gc.collect()
    assert wisp.memory.stats()["current"] <= before + 4096


def test_enable_and_decorator():
    wisp.lazy.enable(least=0)
    try:
        assert wisp.lazy.is_enabled()
        assert pending(wisp.ones(2) + 1)
    finally:
        wisp.lazy.disable()
    assert not wisp.lazy.is_enabled()

    @wisp.lazy(least=0)
    def f(x):
        return x + 1

    assert pending(f(wisp.ones(2))) and not wisp.lazy.is_enabled()


def test_exit_restores_after_errors():
    with pytest.raises(KeyError), wisp.lazy(least=0):
        raise KeyError
    assert not wisp.lazy.is_enabled()


@pytest.mark.parametrize("n", [10, 5000, 32768, 100_003])
@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64, wisp.int64, wisp.bfloat16])
def test_reductions_end_a_chain(n, dtype):
    x = (wisp.randn(n) * 3).to(dtype)

    def f():
        y = x * 2 + 1
        z = y * y
        return z.sum(), y.amax(), (y + z).sum(), z.amin() + 1, y

    got, counts = counts_of(wisp.lazy(least=0)(f))
    for one, other in zip(got, f(), strict=True):
        assert one.dtype == other.dtype and wisp.equal(one, other)
    assert counts["groups"] == 1 or dtype == wisp.bfloat16


def test_reductions_of_strided_chains():
    x, row = wisp.randn(30, 40), wisp.randn(40)

    def f():
        return (x.t() * 2 + 1).sum(), (x + row).mean(), (x * 2).sum(0), (x[:, ::2] - 1).exp().max()

    with wisp.lazy(least=0):
        got = f()
    assert all(wisp.equal(a, b) for a, b in zip(got, f(), strict=True))


def test_program_that_ends_with_pending_work():
    python("import wisp\nwisp.lazy.enable(least=0)\nx = wisp.ones(100000) * 2\ny = x + 1\n")


# --- Gradients that somebody else holds


def large_gradient():
    x = wisp.randn(1000, 400, requires_grad=True)
    g = wisp.randn(400, 1000)
    x.t().backward(g)
    return x, g


def test_a_gradient_of_others_is_copied_when_it_is_looked_at():
    x, g = large_gradient()
    assert pending(x.grad)
    assert wisp.equal(x.grad, g.t()) and not pending(x.grad)
    x.grad.zero_()
    assert g.abs().sum() > 0


def test_a_gradient_of_others_is_copied_before_either_is_written():
    for write in (lambda g: g.zero_(), lambda g: g.numpy().fill(0), lambda g: wisp.mul(g, 0, out=g)):
        x, g = large_gradient()
        before = g.clone()
        write(g)
        assert wisp.equal(x.grad, before.t()) and g.abs().sum() == 0
    x, g = large_gradient()
    before = g.clone()
    x.grad.add_(1)
    assert wisp.equal(x.grad, before.t() + 1) and wisp.equal(g, before)


def test_a_gradient_nobody_looks_at_is_not_copied():
    x, g = large_gradient()
    before = wisp.lazy.counts()["dropped"]
    x.grad = None
    wisp.lazy.run()
    assert wisp.lazy.counts()["dropped"] == before + 1
    x.t().backward(g)
    x.t().backward(g)
    assert wisp.equal(x.grad, g.t() * 2)


@pytest.mark.parametrize(
    "collect", [lambda f: wisp.compile(f).explain(), lambda f: wisp.lazy(least=0)(wisp.compile(f).explain)()]
)
def test_gradients_that_nobody_else_sees_are_not_copied(collect):
    x, w = wisp.randn(300_000), wisp.randn(300_000).requires_grad_()
    told = str(collect(lambda: (w * x).sum().backward()))
    assert "mul" in told
    assert "copy" not in told
    assert wisp.equal(w.grad, x)
    w.grad.add_(1)
    assert not wisp.equal(w.grad, x)
