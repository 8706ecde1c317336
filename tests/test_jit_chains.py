"""Runs of pointwise calls on small tensors, which the interpreter does in one step: the same results as calls one by one."""

import threading

import pytest

import wisp
from tests.jit_cells import cell
from wisp.jit import script


def numbers(x, y):
    return 1 - x * 2 + y / 3, (2 * y).exp() - 0.5, wisp.maximum(x, y).square()


def pieces(x, y):
    a, b = wisp.split(x, 2, -1)
    c, d = (a * b).chunk(2, 0)
    return c + d, a - y, b.neg()


def piece_is_result(x, y):
    a, b = (x + y).chunk(2, 1)
    return a * b, a


def compares(x, y):
    return (x + y).abs() > 0.5, x * y - 1


FUNCTIONS = {f.__name__: f for f in (numbers, compares)}
SHAPES = {
    "same": ((3, 4), (3, 4)),
    "vector": ((5,), (5,)),
    "row": ((3, 4), (4,)),
    "column": ((3, 1), (1, 4)),
    "leading": ((2, 3, 4), (3, 1)),
    "one row": ((1, 8), (8,)),
    "0-d": ((), ()),
    "empty": ((0, 3), (1, 3)),
    "4096 elements": ((64, 64), (64,)),
    "more": ((70, 64), (64,)),
    "grows too large": ((100, 1), (1, 100)),
}


def assert_equal(results, expected):
    for result, wanted in zip(results, expected, strict=True):
        assert result.dtype == wanted.dtype
        assert result.shape == wanted.shape
        assert result.is_contiguous() if wanted.is_contiguous() else result.stride() == wanted.stride()
        assert wisp.equal(result, wanted)


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_results_are_those_of_single_calls(function, shapes):
    compiled = script(function)
    for dtype in (wisp.float32, wisp.float64, wisp.float16, wisp.int64):
        x, y = (wisp.randn(shape).mul(3).to(dtype) for shape in shapes)
        for _ in range(2):
            assert_equal(compiled(x, y), function(x, y))


@pytest.mark.parametrize("batch", [1, 2, 8])
def test_lstm_cell(batch):
    compiled = script(cell)
    args = [wisp.randn(*shape) for shape in ((batch, 6), (batch, 6), (batch, 6), (6, 24), (24,))]
    assert_equal(compiled(*args), cell(*args))


@pytest.mark.parametrize("shape", [(4, 4), (2, 4), (6, 4)])
def test_pieces(shape):
    x, y = wisp.randn(*shape), wisp.randn(shape[0], 1)
    assert_equal(script(pieces)(x, y), pieces(x, y))


def test_piece_that_is_a_result_stays_a_view():
    _, piece = script(piece_is_result)(wisp.ones(2, 4), wisp.ones(4))
    assert piece._is_view() and piece.stride() == (4, 1)


def test_wrong_number_of_pieces_is_told_where_they_are_taken_apart():
    with pytest.raises(ValueError, match="expected 2 values to unpack, got 3(?s:.*)wisp.split"):
        script(pieces)(wisp.ones(2, 6), wisp.ones(2, 1))


def test_shapes_that_do_not_fit_are_told_at_the_line():
    compiled = script(numbers)
    compiled(wisp.ones(2, 3), wisp.ones(2, 3))
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"size of tensor a \(3\)(?s:.*)1 - x \* 2 \+ y / 3(?s:.*)~{17} <"):
            compiled(wisp.ones(2, 3), wisp.ones(2, 4))


def test_other_orders_of_memory():
    compiled = script(numbers)
    x, y = wisp.randn(4, 3), wisp.randn(3, 4)
    for left, right in ((x.t(), y), (y, x.t()), (y.expand(2, 3, 4), y), (y[:, ::2], x.t()[:, 1:3]), (y[1:], y[0])):
        assert_equal(compiled(left, right), numbers(left, right))


def test_mixed_dtypes():
    compiled = script(numbers)
    x = wisp.randn(3, 4)
    for y in (wisp.randn(3, 4).double(), wisp.arange(12).view(3, 4), wisp.tensor(2.0)):
        assert_equal(compiled(x, y), numbers(x, y))


def test_gradients():
    compiled, plain = script(cell), cell
    shapes = ((2, 6), (2, 6), (2, 6), (6, 24), (24,))
    values = [wisp.randn(*shape) for shape in shapes]
    with wisp.no_grad():
        compiled(*values)  # makes plans, which must not be used below
    gradients = []
    for function in (compiled, plain):
        args = [value.clone().requires_grad_() for value in values]
        h, c = function(*args)
        assert h.requires_grad and c.requires_grad
        gradients.append(wisp.autograd.grad((h * c).sum(), args))
    assert_equal(*gradients)


def test_transforms_and_inference_mode_see_every_call():
    compiled = script(numbers)
    x, y = wisp.randn(3, 4), wisp.randn(3, 4)
    compiled(x, y)
    assert_equal(wisp.func.vmap(compiled)(x, y), wisp.func.vmap(numbers)(x, y))
    assert_equal(wisp.func.jvp(compiled, (x, y), (y, x))[1], wisp.func.jvp(numbers, (x, y), (y, x))[1])
    with wisp.inference_mode():
        assert all(result.is_inference() for result in compiled(x, y))
    with wisp.lazy(least=0):
        assert_equal(compiled(x, y), numbers(x, y))
    meta = compiled(x.to("meta"), y.to("meta"))
    assert all(result.is_meta for result in meta)


def test_inputs_are_not_written_and_results_are_new():
    compiled = script(numbers)
    x, y = wisp.randn(3, 4), wisp.randn(3, 4)
    before = x.clone(), y.clone()
    first = compiled(x, y)
    kept = [result.clone() for result in first]
    compiled(y, x)
    assert_equal((x, y), before)
    assert_equal(first, kept)


def test_many_shapes():
    compiled = script(numbers)
    for _ in range(2):
        for n in range(1, 40):
            x, y = wisp.randn(n, 3), wisp.randn(3)
            assert_equal(compiled(x, y), numbers(x, y))


def test_long_straight_programs():
    lines = ["def straight(x, y):"] + ["    x = (x * y + 1).tanh() - 0.1"] * 100 + ["    return x, y"]
    program = wisp.jit.CompilationUnit("\n".join(lines))
    x, y = wisp.randn(3, 4), wisp.randn(4)
    expected = x
    for _ in range(100):
        expected = (expected * y + 1).tanh() - 0.1
    assert_equal(program.straight(x, y), (expected, y))


def test_threads_plan_at_once():
    compiled = script(numbers)
    wrong = []

    def work():
        for n in range(1, 12):
            x, y = wisp.randn(n, 5), wisp.randn(5)
            if not all(wisp.equal(a, b) for a, b in zip(compiled(x, y), numbers(x, y), strict=True)):
                wrong.append(n)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
