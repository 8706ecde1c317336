"""Small products between pointwise calls, and products of slices in loops: the same results as calls one by one."""

import pytest

import wisp
from wisp.jit import script
from wisp.nn import functional as F


def assert_same(function, *args):
    """Of the script, twice (plans are made by the first call), and of Python."""
    compiled, expected = script(function), function(*args)
    for _ in range(2):
        for result, wanted in zip(compiled(*args), expected, strict=True):
            assert result.dtype == wanted.dtype and result.stride() == wanted.stride()
            assert wisp.equal(result, wanted)


def products(x, w, b):
    y = (wisp.mm(x, w) + b).relu()
    z = wisp.matmul(y * 2, w.t())
    return y, z.tanh() + x, z @ w


def layers(x, w, b):
    y = F.linear(x * 2, w.t(), b).sigmoid()
    return y, F.linear(y, w) - x, F.linear(y, w)


def joined(x, w, b):
    y = wisp.cat([x @ w, (x @ w) * 2, b.expand(x.size(0), -1)], -1).relu()
    return wisp.cat([y + 1, y, y - 1], 0), wisp.cat((y, y @ wisp.cat([w, w, w], 1).t()), 1) * 2


def added(x, w, b):
    y = wisp.addmm(b, x * 2, w)
    z = wisp.addmm(y, x, w).relu()
    return wisp.addmm(b[:1], x + 1, w) * 1, wisp.addmm(z[:, :1] + 0, x, w) + z, wisp.addmm(z, x, w, beta=2) + 1


@pytest.mark.parametrize("rows", [1, 2, 8, 13])
@pytest.mark.parametrize("function", [products, layers, joined, added])
@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64, wisp.bfloat16])
def test_products_between_pointwise_calls(function, rows, dtype):
    for width in (1, 3, 32):
        x, w, b = wisp.randn(rows, 5, dtype=dtype), wisp.randn(5, width, dtype=dtype), wisp.randn(width, dtype=dtype)
        assert_same(function, x, w, b)
        assert_same(function, x.t().contiguous().t(), w.t().contiguous().t(), wisp.stack([b, b], 1)[:, 0])


def test_large_products_are_calls_of_their_own():
    assert_same(products, wisp.randn(70, 70), wisp.randn(70, 70), wisp.randn(70))
    assert_same(layers, wisp.randn(2, 200), wisp.randn(200, 300), wisp.randn(300))


def test_gradients_of_products_between_pointwise_calls():
    compiled = script(products)
    args = [wisp.randn(*shape, requires_grad=True) for shape in ((4, 5), (5, 6), (6,))]
    for _ in range(2):
        wanted = wisp.autograd.grad(sum(y.sum() for y in products(*args)), args)
        found = wisp.autograd.grad(sum(y.sum() for y in compiled(*args)), args)
        assert all(wisp.allclose(a, b, rtol=1e-5, atol=1e-5) for a, b in zip(found, wanted, strict=True))
        with wisp.no_grad():
            assert not any(y.requires_grad for y in compiled(*args))


def test_products_that_do_not_fit_are_told_at_their_line():
    def bad(x, w):
        y = x + 1
        return wisp.mm(y, w).tanh()

    with pytest.raises(RuntimeError, match=r"cannot be multiplied") as caught:
        script(bad)(wisp.ones(2, 3), wisp.ones(2, 3))
    assert "wisp.mm(y, w)" in str(caught.value)


def test_pieces_that_do_not_fit_are_told_at_their_line():
    def bad(x, y):
        return wisp.cat([x + 1, y * 2], 1) @ y

    for y in (wisp.ones(3, 2), wisp.ones(2)):
        with pytest.raises(RuntimeError) as caught:
            script(bad)(wisp.ones(2, 3), y)
        assert "wisp.cat([x + 1, y * 2], 1)" in str(caught.value)


def test_inference_mode():
    args = wisp.randn(4, 5), wisp.randn(5, 6), wisp.randn(6)
    with wisp.inference_mode():
        assert all(y.is_inference() for y in script(products)(*args))
    assert not any(y.is_inference() for y in script(products)(*args))


# --- Products of slices


def slices(xs, w, h, u):
    for t in range(9):
        h = (wisp.mm(xs[t], w) + h @ u).tanh()
    return h, h + 1


def slices_by_name(xs, w, h, u):
    for t in range(9):
        x = xs[t]
        h = (x @ w).tanh() + h @ u + x.sum()
    return h, h + 1


def slices_of_second_dimension(xs, w, h, u):
    for t in range(9):
        h = F.linear(xs[:, t], w.t(), u[0]) + h.tanh()
    return h, h + 1


@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64, wisp.int64])
@pytest.mark.parametrize("rows", [1, 2, 7])
def test_slices(rows, dtype):
    def made(*shape):
        return wisp.randn(*shape).to(dtype)

    xs, w, h, u = made(9, rows, 5), made(5, 16), made(rows, 16), made(16, 16)
    if dtype is wisp.int64:
        with pytest.raises(RuntimeError):
            script(slices)(xs, w, h, u)
        return
    assert_same(slices, xs, w, h, u)
    assert_same(slices_by_name, xs, w, h, u)
    assert_same(slices_of_second_dimension, xs.transpose(0, 1), w, h, u)
    assert_same(slices_of_second_dimension, xs.transpose(0, 1).contiguous(), w, h, u)


def test_slices_do_not_depend_on_the_number_of_threads():
    args = wisp.randn(9, 8, 32), wisp.randn(32, 128), wisp.randn(8, 128), wisp.randn(128, 128) * 0.1
    compiled, threads = script(slices), wisp.get_num_threads()
    expected = compiled(*args)[0]
    try:
        wisp.set_num_threads(1)
        assert wisp.equal(compiled(*args)[0], expected)
    finally:
        wisp.set_num_threads(threads)


def test_slices_are_made_in_batches():
    """8 rounds have more elements than are kept."""
    args = wisp.randn(9, 64, 3), wisp.randn(3, 512), wisp.randn(64, 512), wisp.randn(512, 512) * 0.01
    assert_same(slices, *args)


def test_gradients_of_slices():
    args = wisp.randn(9, 2, 5), wisp.randn(5, 6, requires_grad=True), wisp.randn(2, 6), wisp.randn(6, 6)
    compiled = script(slices)
    (wanted,) = wisp.autograd.grad(slices(*args)[0].sum(), args[1])
    (found,) = wisp.autograd.grad(compiled(*args)[0].sum(), args[1])
    assert wisp.allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_what_the_loop_writes_is_read_in_its_round():
    def f(xs, w):
        total = wisp.zeros(2, 6)
        for t in range(5):
            total = total + xs[t] @ w
            w += 1
            xs[t] += 1
            xs += 1
        return total, xs

    arguments = wisp.randn(5, 2, 4), wisp.randn(4, 6)
    found = script(f)(*(x.clone() for x in arguments))
    wanted = f(*(x.clone() for x in arguments))
    assert all(wisp.equal(a, b) for a, b in zip(found, wanted, strict=True))


def test_results_that_others_see_have_memory_of_their_own():
    def f(xs, w):
        made = []
        for t in range(5):
            made.append(wisp.mm(xs[t], w))
        return made

    made = script(f)(wisp.randn(5, 2, 4), wisp.randn(4, 6))
    assert len({y.untyped_storage().data_ptr() for y in made}) == 5


def test_loops_that_end_before_the_slices_or_after_them():
    def f(xs, w, n: int):
        total = wisp.zeros(2, 6)
        for t in range(n):
            total = total + xs[t] @ w
        return total

    xs, w = wisp.randn(9, 2, 4), wisp.randn(4, 6)
    compiled = script(f)
    for n in (0, 1, 5, 9):
        assert wisp.equal(compiled(xs, w, n), f(xs, w, n))
    with pytest.raises(IndexError) as caught:
        compiled(xs, w, 10)
    assert "xs[t]" in str(caught.value)


def test_loops_in_loops():
    def f(xs, w):
        total = wisp.zeros(2, 6)
        for i in range(3):
            v = w * i
            for t in range(6):
                total = total * 0.5 + xs[t] @ v
        return total

    xs, w = wisp.randn(6, 2, 4), wisp.randn(4, 6)
    assert wisp.equal(script(f)(xs, w), f(xs, w))
