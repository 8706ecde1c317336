"""Rounds of a loop done together: the same bits as the same lines run by Python, whoever takes the rows."""

import contextlib
import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest

import wisp
from tests import fresh
from tests.jit_cells import cell
from wisp import Tensor, nn
from wisp.jit import script
from wisp.nn import functional as F


def flat(values):
    return [x for value in values for x in flat(value)] if isinstance(values, (tuple, list)) else [values]


@contextlib.contextmanager
def threads(count):
    before = wisp.get_num_threads()
    wisp.set_num_threads(count)
    try:
        yield
    finally:
        wisp.set_num_threads(before)


def assert_same(function, *args, compiled=None):
    """Of the script, and of Python. One thread is tried first, then as many as there are."""
    compiled, expected = compiled or script(function), flat(function(*args))
    for count in (1, 2, 2, 3, 3):
        with threads(count):
            found = flat(compiled(*args))
        assert len(found) == len(expected)
        for result, wanted in zip(found, expected, strict=True):
            assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
            assert result.is_contiguous() == wanted.is_contiguous() and wisp.equal(result, wanted)
    return compiled


# --- Cells: (xs, h, w, u, b) -> results; the width of gates is a multiple of that of h.


def rnn(xs, h, w, u, b):
    for t in range(xs.size(0)):
        h = wisp.tanh(wisp.mm(xs[t], w) + wisp.mm(h, u) + b)
    return h


def same_input(xs, h, w, u, b):
    x = xs[0]
    for _ in range(23):
        h = (x @ w + h @ u + b).tanh()
    return h


def gru(xs, h, w, u, b):
    outputs = []
    for t in range(xs.size(0)):
        ir, iz, i_n = (xs[t] @ w + b).chunk(3, 1)
        hr, hz, hn = (h @ u).chunk(3, -1)
        z = wisp.sigmoid(iz + hz)
        n = wisp.tanh(i_n + wisp.sigmoid(ir + hr) * hn)
        h = (1 - z) * n + z * h
        outputs.append(h)
    return wisp.stack(outputs), h


def lstm(xs, h, w, u, b):
    c = h * 0.5
    outputs = []
    for x in xs.unbind(0):
        i, f, g, o = (F.linear(x, w.t(), b) + F.linear(h, u.t())).chunk(4, 1)
        c = wisp.sigmoid(f) * c + wisp.sigmoid(i) * wisp.tanh(g)
        h = wisp.sigmoid(o) * wisp.tanh(c)
        outputs += [h]
    return outputs, (h, c)


def backwards(xs, h, w, u, b):
    hs = []
    for t in range(xs.size(0) - 1, -1, -1):
        h = wisp.relu(xs[t] @ w + b) * 0.5 + h @ u
        hs.append(h)
    return hs


def pointwise(xs, h, w, u, b):
    for t in range(2, xs.size(0), 3):
        h = h * 0.9 + xs[t] * w[0, 0] - h.sigmoid()
    return h


def joined(xs, h, w, u, b):
    both = wisp.cat([w, u])
    for t in range(xs.size(0)):
        h = wisp.tanh(wisp.cat([xs[t], h], 1) @ both + b)
    return h


def added(xs, h, w, u, b):
    for t in range(xs.size(0)):
        h = wisp.addmm(wisp.addmm(b, xs[t], w), h, u).tanh()
    return h


CELLS = {rnn: 1, same_input: 1, gru: 3, lstm: 4, backwards: 1, pointwise: 1, joined: 1, added: 1}


def arguments(function, batch, width, steps=23, dtype=wisp.float32):
    gates = CELLS[function] * width
    shapes = (steps, batch, width), (batch, width), (width, gates), (width, gates), (gates,)
    xs, h, w, u, b = [wisp.randn(*shape, dtype=dtype) for shape in shapes]
    return xs, h, w * 0.2, u * 0.2, b


def strided(tensor):
    """The same numbers, in another order in memory, with gaps."""
    wide = wisp.zeros(*tensor.shape[::-1], 2, dtype=tensor.dtype)
    view = wide.select(-1, 1).permute(*reversed(range(tensor.ndim)))
    return view.copy_(tensor)


@pytest.mark.parametrize("function", CELLS)
def test_the_same_bits(function):
    for batch, width in itertools.product((1, 2, 3, 8, 17, 32), (1, 3, 8, 16, 33)):
        assert_same(function, *arguments(function, batch, width))


@pytest.mark.parametrize("function", CELLS)
def test_products_that_are_not_small(function):
    for batch, width in ((20, 64), (33, 64), (40, 48)):
        assert_same(function, *arguments(function, batch, width, steps=7))


@pytest.mark.parametrize("function", CELLS)
def test_any_order_in_memory(function):
    compiled = script(function)
    for batch in (1, 7):
        args = arguments(function, batch, 16)
        assert_same(function, *map(strided, args), compiled=compiled)
        for i in range(len(args)):
            assert_same(function, *args[:i], strided(args[i]), *args[i + 1 :], compiled=compiled)
        assert_same(function, args[0], args[1][:1].expand(batch, 16), *args[2:], compiled=compiled)


@pytest.mark.parametrize("function", CELLS)
def test_other_dtypes(function):
    assert_same(function, *arguments(function, 5, 16, dtype=wisp.float64))
    assert_same(function, *arguments(function, 5, 16, dtype=wisp.bfloat16))


@pytest.mark.parametrize("steps", [0, 1, 2, 4, 5, 6, 255, 256, 257, 258, 600])
def test_any_number_of_rounds(steps):
    for function in (rnn, backwards):
        assert_same(function, *arguments(function, 2, 4, steps))


@pytest.mark.parametrize("shape", [(0, 4), (3, 0)])
def test_empty_tensors(shape):
    for function in (rnn, backwards, pointwise):
        if function is not pointwise or 0 not in shape[1:]:
            assert_same(function, *arguments(function, *shape))


def test_each_shape_has_its_plan():
    compiled = script(rnn)
    for batch in (*range(1, 25), 3):
        assert_same(rnn, *arguments(rnn, batch, 8), compiled=compiled)


# --- What the body may hold


class Cell(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.w, self.b = nn.Parameter(wisp.randn(width, 4 * width) * 0.2), nn.Parameter(wisp.randn(4 * width))

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        h, c = cell(x, state[0], state[1], self.w, self.b)
        return h, (h, c)


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.cell = Cell(width)

    def forward(self, xs: Tensor, state: tuple[Tensor, Tensor]) -> tuple[list[Tensor], tuple[Tensor, Tensor]]:
        outputs: list[Tensor] = []
        for t in range(xs.size(0)):
            h, state = self.cell(xs[t], state)
            outputs.append(h)
        return outputs, state


def test_modules_that_carry_tuples():
    layer = Layer(8)
    for parameter in layer.parameters():
        parameter.requires_grad_(False)
    for batch in (1, 6):
        assert_same(layer, wisp.randn(20, batch, 8), (wisp.randn(batch, 8), wisp.randn(batch, 8)))


def test_gradients_of_modules():
    layer, state = Layer(8), (wisp.randn(3, 8), wisp.randn(3, 8))
    xs, compiled = wisp.randn(20, 3, 8), script(layer)
    wanted = wisp.autograd.grad(sum(h.sum() for h in layer(xs, state)[0]), list(layer.parameters()))
    for _ in range(2):
        with wisp.no_grad():
            assert not compiled(xs, state)[0][-1].requires_grad
        found = wisp.autograd.grad(sum(h.sum() for h in compiled(xs, state)[0]), list(layer.parameters()))
        assert all(wisp.allclose(a, b, rtol=1e-4, atol=1e-4) for a, b in zip(found, wanted, strict=True))


def test_inputs_whose_gradients_are_wanted():
    for which in range(5):
        args = arguments(rnn, 3, 8)
        args[which].requires_grad_()
        expected, found = rnn(*args), script(rnn)(*args)
        assert wisp.equal(found, expected) and found.requires_grad
        (wanted,) = wisp.autograd.grad(expected.sum(), args[which])
        assert wisp.allclose(wisp.autograd.grad(found.sum(), args[which])[0], wanted, rtol=1e-4, atol=1e-4)
        with wisp.no_grad():
            assert_same(rnn, *args)


def test_an_item_whose_gradient_is_wanted_ends_what_is_done_together():
    def f(xs: list[Tensor], h: Tensor) -> Tensor:
        for x in xs:
            h = (x + h).tanh()
        return h

    xs = [wisp.randn(3, 4) for _ in range(20)]
    xs[11].requires_grad_()
    expected, found = f(xs, xs[0]), script(f)(xs, xs[0])
    assert found.requires_grad and wisp.equal(found, expected)
    assert wisp.equal(wisp.autograd.grad(found.sum(), xs[11])[0], wisp.autograd.grad(expected.sum(), xs[11])[0])


def test_rows_that_meet():
    def turned(h, w):
        for _ in range(20):
            h = (w @ h).tanh() + 0.5
        return h

    def all_pairs(h, w):
        for _ in range(20):
            h = (h @ w).sigmoid() * w
        return h

    def other_factor(h, w):
        for _ in range(20):
            w = (w @ h).tanh()
            h = h * 0.5 + w
        return h, w

    for n in (1, 2, 6, 16):
        for f in (turned, all_pairs, other_factor):
            assert_same(f, wisp.randn(n, n), wisp.randn(n, n))


def test_shapes_that_change():
    def f(h, b):
        for _ in range(8):
            h = (h + b).tanh()
        return h

    assert_same(f, wisp.randn(4), wisp.randn(3, 4))
    assert_same(f, wisp.randn(3, 1), wisp.randn(4))
    assert_same(f, wisp.randn(1, 4), wisp.randn(5, 3, 4))


def test_more_rows_than_are_worked_on_together():
    assert_same(rnn, *arguments(rnn, 700, 8))
    assert_same(pointwise, *arguments(pointwise, 3000, 8))


def test_several_lists_and_states():
    def f(xs, h, w, lists: list[list[Tensor]]):
        a, b, before = h, h * 2, h * 3
        for t in range(xs.size(0)):
            first = lists[0]
            a = (xs[t] @ w + b).tanh()
            b = (a * before).sigmoid()
            first.append(a)
            lists[1].append(b)
            first.append(b)
        return a, b, lists

    args = wisp.randn(20, 4, 8), wisp.randn(4, 8), wisp.randn(8, 8)
    expected, found = f(*args, [[], []]), script(f)(*args, [[], []])
    assert all(wisp.equal(a, b) for a, b in zip(flat(found), flat(expected), strict=True))
    assert [len(some) for some in found[2]] == [40, 20]
    assert len({x.data_ptr() for x in flat(found[2])}) == 40


def test_a_list_that_is_read_and_appended_to():
    def f(xs: list[Tensor], n: int) -> list[Tensor]:
        for i in range(n):
            xs.append(xs[i] * 0.5 + 1)
        return xs

    assert_same(lambda n: f([wisp.ones(2, 3)] * 5, n), 30, compiled=lambda n: script(f)([wisp.ones(2, 3)] * 5, n))


def test_what_goes_round_in_a_circle():
    def f(a, b):
        for _ in range(11):
            a, b = b, (a + b).tanh()
        return a, b

    assert_same(f, wisp.randn(3, 4), wisp.randn(3, 4))


def test_loops_in_loops():
    def f(xs, h, w):
        for i in range(5):
            y = h * float(i)
            for t in range(xs.size(0)):
                y = (xs[t] @ w + y).tanh()
            h = h + y
        return h

    assert_same(f, wisp.randn(9, 4, 8), wisp.randn(4, 8), wisp.randn(8, 8))


def test_what_is_made_belongs_to_nobody_else():
    args = arguments(rnn, 3, 8)
    compiled = script(rnn)
    first = compiled(*args)
    kept = first.clone()
    first.add_(1)
    assert wisp.equal(compiled(*args), kept)


# --- What goes wrong


def test_errors_are_those_of_their_round():
    def f(xs, h, w, n: int):
        for t in range(n):
            h = (xs[t] @ w + h).tanh()
        return h

    compiled, args = script(f), (wisp.randn(30, 2, 4), wisp.randn(2, 4), wisp.randn(4, 4))
    with pytest.raises(IndexError, match=r"(?s)30.*xs\[t\]"):
        compiled(*args, 31)
    assert wisp.equal(compiled(*args, 30), f(*args, 30))
    with pytest.raises(RuntimeError, match=r"(?s)multiplied.*xs\[t\] @ w"):
        compiled(args[0], args[1], wisp.randn(5, 4), 30)


def test_items_of_other_shapes():
    def f(xs: list[Tensor], h: Tensor, out: list[Tensor]) -> list[Tensor]:
        for x in xs:
            h = (x + h).tanh()
            out.append(h)
        return out

    compiled, h = script(f), wisp.randn(3, 4)
    xs = [wisp.randn(3, 4) for _ in range(10)] + [wisp.randn(4)] + [wisp.randn(3, 4) for _ in range(10)]
    assert_same(lambda: f(xs, h, []), compiled=lambda: compiled(xs, h, []))
    xs[15] = wisp.randn(5, 7)
    with pytest.raises(RuntimeError, match=r"(?s)must match|broadcast.*x \+ h"):
        compiled(xs, h, [])


def test_interrupts(tmp_path):
    program = """
import os, signal, threading, wisp
def f(h, w):
    for _ in range(10**12):
        h = (h @ w).tanh()
    return h
compiled = wisp.jit.script(f)
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    compiled(wisp.randn(8, 32), wisp.randn(32, 32))
except KeyboardInterrupt:
    print("interrupted")
"""
    assert fresh.program(tmp_path / "endless.py", program) == "interrupted\n"


# --- Whoever watches


def test_watched_and_plain_execution():
    args = arguments(gru, 4, 16)
    compiled, expected = script(gru), flat(gru(*args))
    for how in (wisp.lazy(least=0), wisp.jit.optimized_execution(False), wisp.jit.fuser("fuser0")):
        with how:
            found = flat(compiled(*args))
        assert all(wisp.equal(a, b) for a, b in zip(found, expected, strict=True))
    batched = wisp.func.vmap(lambda h: compiled(args[0], h, *args[2:])[1])(wisp.stack([args[1]] * 2))
    assert wisp.allclose(batched[1], expected[1], rtol=1e-5, atol=1e-6)


def test_slices_are_those_of_their_round_without_fusion():
    def f(xs, w, h):
        for t in range(9):
            x = xs[t]
            h = h + x @ w + x.sum()
        return h

    args = wisp.randn(9, 2, 5), wisp.randn(5, 16), wisp.randn(2, 16)
    for how in (contextlib.nullcontext(), wisp.jit.fuser("fuser0")):
        with how:
            assert wisp.equal(script(f)(*args), f(*args))


def test_inference_mode():
    args = arguments(gru, 3, 8)
    compiled = script(gru)
    with wisp.inference_mode():
        assert all(x.is_inference() for x in compiled(*args))
    assert not any(x.is_inference() for x in compiled(*args))


def test_meta_tensors():
    args = [x.to("meta") for x in arguments(rnn, 3, 8)]
    assert script(rnn)(*args).is_meta


def test_threads_share_a_script():
    compiled = script(rnn)
    jobs = [arguments(rnn, batch, 16) for batch in (1, 2, 5, 8) * 6]
    with ThreadPoolExecutor(4) as pool:
        for found, args in zip(pool.map(lambda args: compiled(*args), jobs), jobs, strict=True):
            assert wisp.equal(found, rnn(*args))
