"""Kernels for special layouts and dtypes: numbers of 16 bits, narrow rows, matrices in the order of their columns."""

import numpy as np
import pytest

import wisp

HALVES = [wisp.float16, wisp.bfloat16]
LENGTHS = [1, 7, 8, 15, 16, 17, 33, 127, 128, 129, 1000, 40_000]


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def same(a, b):
    np.testing.assert_array_equal(a.float().numpy(), b.float().numpy())


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_arithmetic_of_halves_rounds_that_of_floats(dtype, name):
    op = getattr(wisp, name)
    for n in LENGTHS:
        a, b = (wisp.tensor(numbers(n, seed=s) * 100).to(dtype) for s in (0, 1))
        same(op(a, b), op(a.float(), b.float()).to(dtype))
        same(op(a, 1.1), op(a.float(), 1.1).to(dtype))  # the number is not rounded to 16 bits
        same(op(a[::2], b[::2]), op(a[::2].float(), b[::2].float()).to(dtype))
        same(op(a[:, None][:9], b[:5]), op(a[:, None][:9].float(), b[:5].float()).to(dtype))


@pytest.mark.parametrize("dtype", HALVES)
def test_arithmetic_of_halves_at_the_edges(dtype):
    values = [0.0, -0.0, 1.0, float("inf"), -float("inf"), float("nan"), 65504.0, 3.3e38, 6e-8, 1e-40] * 4
    a = wisp.tensor(values).to(dtype)
    b = a.flip(0)
    for op in (wisp.add, wisp.mul, wisp.div):
        same(op(a, b), op(a.float(), b.float()).to(dtype))
    c = a.clone()
    same(c.add_(c), (a.float() + a.float()).to(dtype))  # in place


@pytest.mark.parametrize("dtype", HALVES)
def test_sums_of_halves(dtype):
    for n in LENGTHS:
        x = wisp.tensor(numbers(n)).to(dtype)
        exact = x.double().numpy()
        expected = wisp.tensor(exact.sum()).to(dtype)
        np.testing.assert_allclose(float(x.sum()), float(expected), 1e-2, 1e-3)
        assert float(x.sum(dtype=wisp.float32)) == pytest.approx(exact.sum(), rel=1e-5, abs=1e-4)
        np.testing.assert_allclose(float(x.mean()), exact.mean(), 1e-2, 1e-3)
    x = wisp.tensor(numbers(70, 45)).to(dtype)
    for view in (x, x.t(), x[::3], x[:, ::2], x[:, :1]):
        exact = view.double().numpy()
        for dim in (0, 1):
            np.testing.assert_allclose(view.sum(dim).double().numpy(), exact.sum(dim), 1e-2, 0.03)


@pytest.mark.parametrize("dtype", [wisp.uint8, wisp.int16, wisp.float32, wisp.float64, wisp.complex128])
def test_narrow_rows_times_one_number_each(dtype):
    for rows, cols in [(3, 2), (40, 5), (1000, 10), (700, 20), (3000, 31), (50, 33), (9, 64), (9, 65)]:
        x = wisp.tensor(numbers(rows, cols) * 9).to(dtype)
        y = wisp.tensor(numbers(rows, 1, seed=1) * 9).to(dtype)
        np.testing.assert_array_equal((x + y).numpy(), x.numpy() + y.numpy())
        np.testing.assert_array_equal((y + x[:, ::2]).numpy(), y.numpy() + x.numpy()[:, ::2])
        np.testing.assert_array_equal(y.expand(rows, cols).contiguous().numpy(), np.repeat(y.numpy(), cols, 1))


@pytest.mark.parametrize("dtype", [wisp.int64, wisp.float32, wisp.float64])
@pytest.mark.parametrize("dim", [0, 1])
def test_scans_of_matrices_in_the_order_of_their_columns(dtype, dim):
    for shape in [(2, 2), (3, 70), (33, 129), (100, 300), (300, 100)]:
        plain = wisp.tensor(numbers(*shape) + 1).to(dtype)
        turned = plain.t().contiguous().t()
        for name in ("cumsum", "cumprod", "cummax"):
            given = (plain if name != "cumprod" else plain.clamp(1, 1)).to(dtype)
            other = (turned if name != "cumprod" else turned.clamp(1, 1)).to(dtype)
            expected, found = getattr(given, name)(dim), getattr(other, name)(dim)
            expected, found = (expected, found) if name != "cummax" else (expected[0], found[0])
            np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-5, 1e-5)
            assert found.is_contiguous()
        wider = plain.t().contiguous()[:, : shape[0] - 1].t()  # columns with a gap between them
        np.testing.assert_allclose(wider.cumsum(dim).numpy(), wider.contiguous().cumsum(dim).numpy(), 1e-5, 1e-5)


@pytest.mark.parametrize("dim", [0, 1])
def test_gradients_of_scans_of_turned_matrices(dim):
    x = wisp.tensor(numbers(20, 70)).double().t().requires_grad_()
    grad = wisp.tensor(numbers(20, 70, seed=1)).double().t()
    (found,) = wisp.autograd.grad(x.cumsum(dim), x, grad)
    flipped = np.flip(np.cumsum(np.flip(grad.numpy(), dim), dim), dim)
    np.testing.assert_allclose(found.numpy(), flipped, 1e-12)


@pytest.mark.parametrize("dtype", [wisp.bool, wisp.int32, wisp.float32, wisp.float64, wisp.complex64])
def test_vander_is_that_of_numpy(dtype):
    x = wisp.tensor(numbers(9)).to(dtype)
    for n in (0, 1, 2, 3, 6):
        for increasing in (False, True):
            expected = np.vander(x.numpy(), n, increasing)
            found = wisp.vander(x, n, increasing)
            np.testing.assert_allclose(found.numpy(), expected, 1e-5)
            assert found.dtype in (dtype, wisp.int64)


def test_gradient_of_vander_at_zero():
    x = wisp.tensor([0.0, 2.0], dtype=wisp.float64, requires_grad=True)
    (grad,) = wisp.autograd.grad(wisp.vander(x, 4, True).sum(), x)
    assert grad.tolist() == [1.0, 1 + 4.0 + 12.0]


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dtype", [wisp.int64, wisp.float16, wisp.float32, wisp.float64])
@pytest.mark.parametrize("dim", [0, 1])
def test_index_reduce_by_mean_is_scatter_reduce(include_self, dtype, dim):
    x, y = (wisp.tensor(numbers(6, 6, seed=s) * 9).to(dtype) for s in (0, 1))
    index = wisp.tensor([4, 0, 4, 4, 1, 0])
    spread = (index[:, None] if dim == 0 else index[None]).expand(6, 6)
    expected = x.scatter_reduce(dim, spread, y, "mean", include_self=include_self)
    found = x.index_reduce(dim, index, y, "mean", include_self=include_self)
    np.testing.assert_allclose(found.double().numpy(), expected.double().numpy(), 1e-6)
