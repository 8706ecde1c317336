"""Loops in the forms that people write, done in rounds: the same bits as Python's, and nothing taken for granted."""

import pytest

import wisp
from tests.benchmark_modules import modules
from tests.test_jit_rounds import assert_same, flat
from wisp.jit import script

(loops,) = modules("loops")
LOOPS = dict(loops.cases())


@pytest.mark.parametrize("size", [(1, 5), (3, 16), (16, 64)], ids=str)
@pytest.mark.parametrize("name", LOOPS)
def test_forms_give_what_python_gives(name, size):
    wisp.manual_seed(0)
    function, args, _ = LOOPS[name](*size, False)
    assert_same(function, *args)


@pytest.mark.parametrize("name", [name for name in LOOPS if name != "leaky"])  # that has no weights
def test_gradients_of_forms(name):
    function, args, wanted = LOOPS[name](2, 4, True)
    args[0] = args[0][:9]
    compiled = script(function)
    for result, python in zip(*(
        wisp.autograd.grad(sum(x.sum() for x in flat(f(*args))), wanted, allow_unused=True) for f in (compiled, function)
    ), strict=True):  # fmt: skip
        assert (result is None) == (python is None)
        if python is not None:
            wisp.testing.assert_close(result, python)


def small():
    wisp.manual_seed(1)
    return wisp.randn(30, 2, 4), wisp.randn(2, 4), wisp.randn(4, 4)


def test_branches_that_change_with_the_round():
    def loop(xs, h, w):
        for t in range(xs.size(0)):
            if t < 12:
                h = wisp.tanh(h @ w + xs[t])
            else:
                h = wisp.relu(h * 0.5 - xs[t])
        return h

    assert_same(loop, *small())


def test_branches_by_what_stays():
    def loop(xs, h, w, b: wisp.Tensor | None, twice: bool):
        for t in range(xs.size(0)):
            h = h @ w + xs[t]
            if b is not None:
                h = h + b
            if twice:
                h = h * 2
            h = wisp.tanh(h)
        return h

    xs, h, w = small()
    compiled = script(loop)
    for b in (None, wisp.randn(4), None):
        for twice in (False, True, False):
            assert_same(loop, xs, h, w, b, twice, compiled=compiled)


def test_shapes_that_change_between_calls():
    def loop(xs, h, w):
        for t in range(xs.size(0)):
            h = wisp.tanh(h @ w + xs[t]) / h.size(0) + xs.size(2)
        return h

    compiled = script(loop)
    for batch, width in ((2, 4), (5, 4), (2, 6), (2, 4)):
        args = wisp.randn(20, batch, width), wisp.randn(batch, width), wisp.randn(width, width)
        assert_same(loop, *args, compiled=compiled)


def test_what_is_written_may_be_read_in_the_next_round():
    def loop(xs, h, w):
        xs = xs.clone()
        for t in range(1, xs.size(0)):
            h = wisp.tanh(xs[t - 1] @ w + h)
            xs[t] = h
        return xs

    assert_same(loop, *small())


def test_what_is_written_may_be_the_state_or_a_factor():
    def state(xs, h, w):
        out = wisp.zeros(2, 2, 4)
        for t in range(xs.size(0)):
            h = wisp.tanh(out[0] + xs[t] @ w + h)
            out[t % 2] = h
        return out

    def factor(xs, h, w):
        w = w.clone()
        for t in range(2, 4):
            for s in range(xs.size(0)):
                h = wisp.tanh(h @ w + xs[s])
                w[t] = h[0]
        return w, h

    assert_same(state, *small())
    assert_same(factor, *small())


def test_lists_that_are_read_while_they_grow():
    def loop(xs, h, w):
        out = [h]
        for t in range(xs.size(0)):
            h = wisp.tanh(out[-1] @ w + xs[t]) * len(out)
            out.append(h)
        return wisp.stack(out)

    def joined(xs, h, w):
        out = [h]
        for t in range(xs.size(0)):
            h = wisp.tanh(wisp.stack(out).sum(0) + xs[t])
            out.append(h)
        return wisp.stack(out)

    def delayed(xs, h, w):
        out = [h, h + 1, h + 2, h + 3, h + 4, h + 5]
        for t in range(xs.size(0)):
            out.append(wisp.tanh(out[t] @ w + xs[t]))
        return wisp.stack(out)

    for function in (loop, joined, delayed):
        assert_same(function, *small())


def test_lists_made_in_a_round():
    def loop(xs, h, w):
        for t in range(xs.size(0)):
            parts = [h]
            parts.append(xs[t])
            h = wisp.tanh(wisp.cat(parts, 1)[:, 2:6] @ w)
        return h

    assert_same(loop, *small())


def test_views_in_the_list_share_memory_as_they_do_in_python():
    @script
    def loop(xs, h):
        out, views = [h], [h]
        for t in range(xs.size(0)):
            h = wisp.tanh(xs[t] + h)
            out.append(h)
            views.append(h.unsqueeze(1))
        return out, views

    xs, h, _ = small()
    out, views = loop(xs, h)
    views[20].zero_()
    assert not out[20].any() and out[21].all()


def test_writes_are_counted():
    @script
    def loop(xs, h, out):
        for t in range(xs.size(0)):
            h = wisp.tanh(xs[t] + h)
            out[t] = h
        return h

    xs, h, _ = small()
    out = wisp.zeros_like(xs)
    loop(xs, h, out)
    assert out._version == 30


def test_errors_are_those_of_their_round():
    @script
    def loop(xs, h, n: int):
        t = 0
        while t < n:
            h = wisp.tanh(xs[t] + h)
            t += 1
        return h

    xs, h, _ = small()
    assert loop(xs, h, 30).shape == (2, 4)
    with pytest.raises(IndexError, match=r"(?s)index 30.*xs\[t\]"):
        loop(xs, h, 31)
