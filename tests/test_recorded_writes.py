"""Recorded calls that write into tensors or switch modes: as Python would have done, once, and whatever has changed."""

import re
import threading

import pytest

import wisp
from tests.recorded_calls import TURNS, recorded, same
from wisp import nn
from wisp.nn import functional as F

COUNT = wisp.zeros(2)
TABLE = wisp.zeros(6)


def copied(x):
    """A tensor like it in a memory of its own, with the same strides."""
    if not isinstance(x, wisp.Tensor):
        return x
    made = wisp.empty_strided(x.shape, x.stride(), dtype=x.dtype)
    made.copy_(x.detach())
    return made.requires_grad_(x.requires_grad)


def check(fast, f, *args):
    """One call of each on tensors of their own: results, what was written, and versions are the same."""
    mine, theirs = [copied(a) for a in args], [copied(a) for a in args]
    versions = [a._version for a in mine if isinstance(a, wisp.Tensor)]
    got, want = fast(*mine), f(*theirs)
    assert same(got, want) and same(mine, theirs)
    assert [a is got for a in mine] == [a is want for a in theirs]
    steps = [a._version - v for a, v in zip(mine, versions, strict=False)]
    assert steps == [a._version - v for a, v in zip(theirs, versions, strict=False)]


def averaged(average, x):
    average.mul_(0.9).add_(x, alpha=0.1)
    return average


def borders(x):
    y = x * 1.0
    y[:, 0] = 0
    y[1:, -1] = x[:-1, 0]
    y[..., 1] += x.mean()
    return y


def both(x, y):
    x += y
    y.copy_(x * 2)
    x[0] = y[1]
    return x - y


def views(x):
    first, rest = x[0], x[1:]
    rest.sub_(first)
    first.zero_()
    return x.sum(), rest


def inside(x):
    y = x.exp()
    y.clamp_(0.5, 2)
    y += x
    return y.relu_() * x


def swapped(x, y):
    z = x.clone()
    x.copy_(y)
    y.copy_(z)


def statistics(x, mean, var):
    return F.batch_norm(x, mean, var, training=True) + F.instance_norm(x.unsqueeze(-1).expand(-1, -1, 2)).sum()


def picked(x, rows):
    x[rows] = 1.0
    x.index_add_(0, rows, x[rows] * 2)
    return x.scatter_(0, rows.view(-1, 1), 5.0)


FUNCTIONS = [
    (averaged, (4,), (4,)), (borders, (3, 4)), (both, (3,), (3,)), (views, (3, 2)), (inside, (5,)), (swapped, (3,), (3,)),
    (statistics, (4, 3), (3,), (3,)), (lambda x: x.uniform_().add_(1), (3,)), (lambda x: x.t().add_(1), (2, 3)),
    (lambda x: x.reshape(-1).mul_(2), (2, 3)), (lambda x, y: x.lerp_(y, 0.25), (3,), (3,)),
]  # fmt: skip


@pytest.mark.parametrize("case", FUNCTIONS, ids=lambda case: case[0].__name__)
def test_what_is_written_is_what_python_writes(case):
    f, *shapes = case
    fast, why_not = recorded(f, *(wisp.rand(*s) for s in shapes))
    assert why_not is None
    for turn in range(TURNS):
        args = [wisp.rand(*s) for s in shapes]
        wisp.manual_seed(turn)
        state = wisp.get_rng_state()
        mine, theirs = [copied(a) for a in args], [copied(a) for a in args]
        got = fast(*mine)
        wisp.set_rng_state(state)
        want = f(*theirs)
        assert same(got, want) and same(mine, theirs)
        assert [a._version for a in mine] == [a._version for a in theirs]
        assert [a is got for a in mine] == [a is want for a in theirs]


def test_indices_that_are_written():
    rows = wisp.tensor([0, 2])
    fast, why_not = recorded(picked, wisp.rand(4, 2), rows)
    assert why_not is None
    for _ in range(TURNS):
        check(fast, picked, wisp.rand(4, 2), wisp.randint(0, 4, (2,)))


def test_gradients_through_writes():
    def f(x, w):
        y = x * w
        y[:, 0] = w.sum()
        y.mul_(x)
        y[1:].add_(w)
        return y.sin_()

    fast, why_not = recorded(f, wisp.rand(3, 2), wisp.rand(2))
    assert why_not is None
    for turn in range(TURNS):
        x, w = wisp.rand(3, 2).requires_grad_(turn % 2 == 0), wisp.rand(2).requires_grad_()
        got, want = fast(x, w), f(x, w)
        assert same(got, want) and type(got.grad_fn) is type(want.grad_fn)
        inputs = [t for t in (x, w) if t.requires_grad]
        assert same(list(wisp.autograd.grad(got.sum(), inputs)), list(wisp.autograd.grad(want.sum(), inputs)))


def test_activations_are_written_with_their_history():
    def f(x, y):
        x.add_(y)
        return x * y

    fast, why_not = recorded(f, wisp.rand(3), wisp.rand(3))
    assert why_not is None
    for _ in range(TURNS):
        start, y = wisp.rand(3).requires_grad_(), wisp.rand(3).requires_grad_()
        grads = []
        for call in (fast, f):
            x = start * 2
            result = call(x, y)
            assert type(x.grad_fn).__name__ == "AddBackward0"
            grads.append(list(wisp.autograd.grad((result + x).sum(), [start, y])))
        assert same(*grads)


def test_what_backward_needs_must_not_be_written():
    fast, _ = recorded(averaged, wisp.rand(3), wisp.rand(3))
    for _ in range(TURNS):
        x, w = wisp.rand(3), wisp.rand(3).requires_grad_()
        loss = (x * w).sum()
        fast(x, wisp.rand(3))
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


def test_leaves_are_refused_as_by_python():
    def f(count, x):
        count.add_(1)
        x.mul_(2)
        return x

    fast, why_not = recorded(f, wisp.zeros(1), wisp.rand(3))
    assert why_not is None
    for turn in range(1, TURNS):
        count, leaf = wisp.zeros(1), wisp.rand(3).requires_grad_()
        with pytest.raises(RuntimeError, match="leaf"):
            fast(count, leaf)
        assert count.item() == 1
        with pytest.raises(RuntimeError, match="leaf"):
            fast(count, leaf[1:].view(-1) if turn % 2 else leaf[:])
        with wisp.no_grad():
            before = leaf.clone()
            assert wisp.equal(fast(count, leaf), before * 2)
    views_of_leaves = wisp.rand(6).requires_grad_()[:3]
    fast, why_not = recorded(lambda x: x.mul_(2), wisp.rand(3))
    for _ in range(TURNS):
        with pytest.raises(RuntimeError):
            fast(views_of_leaves)


# --- memory that is shared


def test_arguments_that_share_memory():
    def f(a, b):
        a.add_(1)
        c = b * 2
        b.mul_(3)
        return a + b + c

    fast, why_not = recorded(f, wisp.rand(3), wisp.rand(3))
    assert why_not is None

    def pairs():
        x = wisp.arange(8.0)
        yield x[:3], x[:3]
        yield x[:3], x[1:4]
        yield x[:3], x[5:]
        yield (y := x[:3]), y
        yield (y := x[:3].clone()), y.detach()
        yield (y := x[:3].clone()), y.data

    for _ in range(TURNS):
        for mine, theirs in zip(pairs(), pairs(), strict=True):
            assert same(fast(*mine), f(*theirs)) and same(list(mine), list(theirs))


def test_a_recording_of_shared_memory_is_not_made():
    x = wisp.arange(8.0)
    _, why_not = recorded(lambda a, b: a.add_(b), x[:3], x[1:4])
    assert "several tensors share" in why_not
    y = wisp.rand(3)
    fast, why_not = recorded(lambda a, b: a.add_(b), y, y)
    assert why_not is None
    for _ in range(TURNS):
        a, b = wisp.rand(3), wisp.rand(3)
        assert same(fast(a, a), a) and same(fast(a, b), a)
        check(fast, lambda a, b: a.add_(b), a, b)


def test_memory_that_numpy_shares():
    numpy = pytest.importorskip("numpy")

    def f(a, b):
        a.add_(1)
        return a * b

    fast, _ = recorded(f, wisp.rand(3), wisp.rand(3))
    for _ in range(TURNS):
        mine, theirs = numpy.arange(4.0, dtype="float32"), numpy.arange(4.0, dtype="float32")
        got = fast(wisp.from_numpy(mine[:3]), wisp.from_numpy(mine[1:]))
        assert same(got, f(wisp.from_numpy(theirs[:3]), wisp.from_numpy(theirs[1:])))
        assert mine.tolist() == theirs.tolist()


def test_layouts_decide_what_is_written():
    def f(x):
        y = x.contiguous()
        y.add_(1)
        z = x.reshape(-1)
        z.mul_(2)
        return x, z

    plain, strided = wisp.rand(3, 2), wisp.rand(2, 3).t()
    for first in (plain, strided):
        fast, why_not = recorded(f, copied(first))
        assert why_not is None
        for _ in range(TURNS):
            for x in (plain, strided, wisp.rand(3, 4)[:, ::2], wisp.rand(6, 2)[::2]):
                check(fast, f, x)


def test_expanded_and_read_only_memory_is_refused():
    fast, _ = recorded(averaged, wisp.rand(3), wisp.rand(3))
    for _ in range(TURNS):
        with pytest.raises(RuntimeError, match="more than one element"):
            fast(wisp.rand(1).expand(3), wisp.rand(3))


# --- names, buffers, modules


def counted(x):
    COUNT.add_(1)
    TABLE[2:4] = x
    return x * COUNT


def test_tensors_that_are_found_by_name(monkeypatch):
    fast, why_not = recorded(counted, wisp.rand(2))
    assert why_not is None
    COUNT.zero_()
    for turn in range(1, TURNS):
        x = wisp.rand(2)
        assert same(fast(x), x * turn)
        assert COUNT.tolist() == [turn] * 2 and same(TABLE[2:4], x)
    other = wisp.zeros(2)
    monkeypatch.setitem(globals(), "COUNT", other)
    assert same(fast(x), x) and other.tolist() == [1, 1] and COUNT is other
    fast._record(x)
    for turn in range(3, TURNS):
        assert same(fast(x), x * turn)


def trained(module, turns=TURNS, compiled=None):
    """Buffers and gradients after some steps."""
    wisp.manual_seed(3)
    results = []
    for turn in range(turns):
        x = wisp.randn(4, 6).requires_grad_(turn % 2 == 0)
        module.train(turn % 5 != 4)
        module.zero_grad()
        y = (compiled or module)(x)
        y.square().sum().backward()
        results += [y.detach(), *(p.grad.clone() for p in module.parameters()), *(b.clone() for b in module.buffers())]
    return results


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.BatchNorm1d(6), lambda: nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.ReLU(inplace=True), nn.Linear(6, 2)),
        lambda: nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5), nn.BatchNorm1d(6, affine=False)),
    ],
)  # fmt: skip
def test_batch_norm_in_training(make):
    module, other = make(), make()
    other.load_state_dict(module.state_dict())
    fast = wisp.compile(module)
    fast._collecting._record(wisp.randn(4, 6))
    assert isinstance(fast._collecting._recorded(wisp.randn(4, 6)), tuple)
    other(wisp.randn(4, 6))
    other.load_state_dict(module.state_dict())
    assert same(trained(module, compiled=fast), trained(other))
    state = make().state_dict()
    for net in (module, other):
        net.load_state_dict({name: value.clone() for name, value in state.items()}, assign=True)
    assert same(trained(module, compiled=fast), trained(other))
    fast._collecting._record(wisp.randn(4, 6))
    other(wisp.randn(4, 6))
    other.load_state_dict(module.state_dict())
    assert same(trained(module, compiled=fast), trained(other))


def test_running_statistics_of_another_momentum():
    module = nn.BatchNorm1d(2)
    fast = wisp.compile(module)
    fast._collecting._record(wisp.randn(3, 2))
    module.reset_running_stats()
    module.momentum = 0.5
    x = wisp.tensor([[0.0, 1.0], [2.0, 3.0]])
    fast(x)
    assert module.running_mean.tolist() == [0.5, 1.0] and module.num_batches_tracked.item() == 1
    module.momentum = None
    fast(x), fast(x)
    assert module.num_batches_tracked.item() == 3


# --- errors


def test_after_a_write_nothing_is_made_twice():
    def f(count, table, rows):
        count.add_(1)
        picked = table[rows]
        count.mul_(10)
        return picked

    count, table = wisp.zeros(1), wisp.rand(4, 2)
    fast, why_not = recorded(f, count, table, wisp.tensor([1, 2]))
    assert why_not is None
    for _ in range(TURNS):
        count.zero_()
        with pytest.raises(IndexError) as want:
            f(count, table, wisp.tensor([1, 9]))
        assert count.item() == 1
        with pytest.raises(IndexError) as got:
            fast(count, table, wisp.tensor([1, 9]))
        assert count.item() == 2 and str(got.value) == str(want.value)
        fast(count, table, wisp.tensor([1, 0]))
        assert count.item() == 30


def test_before_a_write_python_takes_over():
    def f(count, table, rows):
        picked = table[rows]
        count.add_(1)
        return picked * count

    count, table = wisp.zeros(1), wisp.rand(4, 2)
    fast, why_not = recorded(f, count, table, wisp.tensor([1, 2]))
    assert why_not is None
    for turn in range(1, TURNS):
        with pytest.raises(IndexError) as got:
            fast(count, table, wisp.tensor([1, 9]))
        assert "f" in [entry.name for entry in got.traceback]
        assert count.item() == turn
        fast(count, table, wisp.tensor([1, 0]))


def test_a_write_that_fails_itself():
    def f(x, rows):
        return x.index_add_(0, rows, wisp.ones_like(x))

    fast, why_not = recorded(f, wisp.zeros(3), wisp.tensor([0, 1, 2]))
    assert why_not is None
    for _ in range(TURNS):
        mine, theirs = wisp.zeros(3), wisp.zeros(3)
        for call, x in ((fast, mine), (f, theirs)):
            with pytest.raises(IndexError):
                call(x, wisp.tensor([0, 1, 7]))
        assert same(mine, theirs)


# --- what is not recorded


@pytest.mark.parametrize(
    "f, reason",
    [
        (lambda x: wisp.add(x, 1, out=x), "gives for results"), (lambda x: x.squeeze_(), "shape of a tensor|what it is given"),
        (lambda x: x.resize_(2), "resize_"), (lambda x: x.set_(x), "set_"), (lambda x: x.requires_grad_(), "requires_grad_"),
        (lambda x: x.detach_(), "detach_"), (lambda x: F.embedding(wisp.arange(2), x.view(3, 1), max_norm=1.0), "writes into tensors"),
    ],
)  # fmt: skip
def test_other_writes_are_left_to_python(f, reason):
    _, why_not = recorded(f, wisp.rand(3))
    assert why_not is not None and re.search(reason, why_not)


def test_subclasses_are_left_to_python():
    class Own(wisp.Tensor):
        pass

    fast, why_not = recorded(averaged, wisp.rand(3), wisp.rand(3))
    assert why_not is None
    for _ in range(TURNS):
        x = wisp.rand(3).as_subclass(Own)
        want = x.as_subclass(wisp.Tensor) * 0.9 + 0.1
        got = fast(x, wisp.ones(3))
        assert type(got) is Own and wisp.allclose(got.as_subclass(wisp.Tensor), want)


def test_threads_that_write():
    totals = [wisp.zeros(4) for _ in range(4)]

    def f(total, x):
        total.add_(x)
        with wisp.no_grad():
            return total * x

    fast, _ = recorded(f, wisp.zeros(4), wisp.ones(4))

    def call(total):
        for _ in range(2000):
            fast(total, ones)

    ones = wisp.ones(4)
    threads = [threading.Thread(target=call, args=(total,)) for total in totals]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [t.tolist() for t in totals] == [[2000.0] * 4] * 4
