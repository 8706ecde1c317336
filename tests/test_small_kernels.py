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


@pytest.mark.parametrize("dtype", HALVES)
def test_signs_and_three_inputs_of_halves(dtype):
    edges = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), 65504.0, -6e-8]
    for n in LENGTHS:
        a, b, c = (wisp.tensor(np.resize([*edges, *numbers(29, seed=s)][s:], n)).to(dtype) for s in (0, 1, 2))
        x, y, z = a.float(), b.float(), c.float()
        for found, expected in [
            (-a, -x),
            (a.abs(), x.abs()),
            (wisp.copysign(a, b), wisp.copysign(x, y)),
            (wisp.clamp(a, b, c), wisp.clamp(x, y, z)),
            (wisp.addcmul(a, b, c, value=0.3), wisp.addcmul(x, y, z, value=0.3)),
        ]:
            same(found, expected.to(dtype))
            assert found.signbit()[~found.isnan()].equal(expected.to(dtype).signbit()[~found.isnan()])
        same(wisp.addcmul(a[::2], b[::2], c[::2]), wisp.addcmul(x[::2], y[::2], z[::2]).to(dtype))


@pytest.mark.parametrize("dtype", [wisp.uint8, wisp.int8, wisp.int16, wisp.int32, wisp.int64])
def test_products_of_integer_matrices(dtype):
    info, draw = np.iinfo(str(dtype).split(".")[-1]), np.random.default_rng(0)
    for m, k, n in [
        (1, 1, 1),
        (3, 5, 7),
        (4, 128, 16),
        (5, 129, 17),
        (1, 300, 70),
        (70, 300, 1),
        (2, 9, 1000),
        (300, 40, 65),
    ]:
        a, b, c = (
            draw.integers(info.min, info.max, shape, info.dtype, endpoint=True) for shape in ((m, k), (k, n), (m, n))
        )
        x, y, z = wisp.tensor(a), wisp.tensor(b), wisp.tensor(c)
        for left in (x, x.t().contiguous().t(), wisp.stack([x, x], 2)[..., 1]):
            for right in (y, y.t().contiguous().t(), wisp.stack([y, y], 2)[..., 0]):
                np.testing.assert_array_equal((left @ right).numpy(), a @ b)  # both wrap
                np.testing.assert_array_equal(wisp.addmm(z, left, right, alpha=3, beta=2).numpy(), 2 * c + 3 * (a @ b))
        np.testing.assert_array_equal((x @ y[:, 0]).numpy(), a @ b[:, 0])
        np.testing.assert_array_equal((x[0] @ y).numpy(), a[0] @ b)
        np.testing.assert_array_equal((x.expand(3, m, k) @ y).numpy(), np.stack([a @ b] * 3))
    for empty in (
        wisp.ones(3, 0, dtype=dtype) @ wisp.ones(0, 2, dtype=dtype),
        wisp.ones(0, 3, dtype=dtype) @ wisp.ones(3, 2, dtype=dtype),
    ):
        assert int(empty.sum()) == 0


def test_extremes_of_bools():
    for shape in [(1, 1), (3, 40), (130, 131)]:
        for fill in (0, 1, 2):
            a = np.random.default_rng(0).integers(0, 2, shape) == 1 if fill == 2 else np.full(shape, fill == 1)
            x = wisp.tensor(a)
            for t, n in ((x, a), (x.t(), a.T), (x[:, ::2], a[:, ::2])):
                assert bool(t.amax()) == n.max() and bool(t.amin()) == n.min() and bool(t.max()) == n.max()
                for dim in (0, 1):
                    np.testing.assert_array_equal(t.amax(dim).numpy(), n.max(dim))
                    np.testing.assert_array_equal(t.amin(dim).numpy(), n.min(dim))
                    np.testing.assert_array_equal(t.max(dim)[1].numpy(), n.argmax(dim))
    foreign = wisp.from_numpy(np.full(100, 2, np.uint8).view(bool))  # true, but not 1
    assert bool(foreign.amin()) and foreign.amax().view(wisp.uint8).item() == 1


@pytest.mark.parametrize("dtype", [wisp.bool, wisp.uint8, wisp.int64])
def test_integers_are_finite_numbers_in_every_layout(dtype):
    for x in (
        wisp.ones(70, 30, dtype=dtype),
        wisp.ones(70, 30, dtype=dtype).t(),
        wisp.ones(0, dtype=dtype),
        wisp.ones((), dtype=dtype),
    ):
        for name in ("isnan", "isinf", "isposinf", "isneginf", "isfinite"):
            found = getattr(wisp, name)(x)
            assert found.dtype == wisp.bool and found.shape == x.shape and bool((found == (name == "isfinite")).all())
    out = wisp.ones(6, 4, dtype=wisp.bool)[:, ::2]
    wisp.isposinf(wisp.ones(6, 2, dtype=dtype), out=out)
    assert not out.any()
    collected = wisp.compile(lambda x: wisp.isfinite(x) & wisp.isnan(x + x))
    assert not collected(wisp.ones(100, 100, dtype=wisp.int64)).any()


@pytest.mark.parametrize("name", ["mse_loss", "smooth_l1_loss"])
def test_sums_of_losses_in_the_order_of_the_input(name):
    loss = getattr(wisp.nn.functional, name)
    a, b = wisp.tensor(numbers(130, 67)), wisp.tensor(numbers(130, 67, seed=1))
    expected = float(loss(a, b))
    for order in (lambda x: x.t(), lambda x: x.t().contiguous().t(), lambda x: wisp.stack([x, x], 2)[..., 0]):
        assert float(loss(order(a), order(b))) == pytest.approx(expected, rel=1e-6)
    assert float(loss(a.t().contiguous().t(), b)) == pytest.approx(expected, rel=1e-6)
    assert float(loss(a[:1].expand(130, 67), b)) == pytest.approx(float(loss(a[:1].repeat(130, 1), b)), rel=1e-6)


@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64])
def test_polar(dtype):
    angles = np.resize(np.array([0, 1, -2.5, 1e5, 3e38, float("inf"), float("nan")]), 600)
    size = np.arange(600.0)
    with np.errstate(invalid="ignore"):
        r, phi = wisp.tensor(size).to(dtype), wisp.tensor(angles).to(dtype)
        exact = phi.double().numpy()
        expected = size * np.cos(exact) + 1j * (size * np.sin(exact))
    np.testing.assert_allclose(
        wisp.polar(r, phi).numpy(),
        expected,
        1e-6 if dtype == wisp.float32 else 1e-14,
        1e-5 if dtype == wisp.float32 else 1e-13,
    )


def test_one_hot_of_many_classes():
    indices = np.random.default_rng(0).integers(0, 300, (50, 4))
    found = wisp.nn.functional.one_hot(wisp.tensor(indices), 300)
    assert found.is_contiguous() and found.dtype == wisp.int64
    np.testing.assert_array_equal(found.numpy(), np.eye(300, dtype=np.int64)[indices])
    assert wisp.nn.functional.one_hot(wisp.tensor(indices)).shape == (50, 4, indices.max() + 1)
    for wrong, message in [([-1, 0], "non-negative"), ([0, 3], "smaller than num_classes")]:
        with pytest.raises(RuntimeError, match=message):
            wisp.nn.functional.one_hot(wisp.tensor(wrong), 3)


@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64])
def test_short_rows_by_numbers_in_place_and_written_elsewhere(dtype):
    for rows, cols in [(1, 16), (2, 4), (5, 8), (40, 9), (1000, 16), (3000, 30), (77, 31)]:
        a, b = numbers(rows, cols), numbers(rows, 1, seed=1)
        x, y = wisp.tensor(a).to(dtype), wisp.tensor(b).to(dtype)
        for name in ("add", "sub", "mul", "div"):
            expected = getattr(np, {"sub": "subtract", "mul": "multiply", "div": "divide"}.get(name, name))(
                x.numpy(), y.numpy()
            )
            np.testing.assert_array_equal(getattr(wisp, name)(x, y).numpy(), expected)
            np.testing.assert_array_equal(getattr(x.clone(), name + "_")(y).numpy(), expected)
            out = wisp.full((rows, cols + 1), 7.0, dtype=dtype)
            getattr(wisp, name)(x, y, out=out[:, :cols])
            np.testing.assert_array_equal(out[:, :cols].numpy(), expected)
            assert bool((out[:, cols] == 7).all())  # nothing is written behind the rows
        np.testing.assert_array_equal((x * y.expand(rows, 3)[:, 1:2]).numpy(), x.numpy() * y.numpy())


@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64])
def test_products_of_many_tiny_matrices_and_vectors(dtype):
    for m, k in [(1, 1), (2, 2), (3, 3), (4, 4), (17, 3), (4, 5), (40, 1)]:
        a, b = numbers(50, m, k), numbers(50, k, 1, seed=1)
        x, y = wisp.tensor(a).to(dtype), wisp.tensor(b).to(dtype)
        np.testing.assert_allclose((x @ y).numpy(), a.astype(float) @ b, 1e-5, 1e-5)
        np.testing.assert_allclose(wisp.mv(x[0], y[0, :, 0]).numpy(), a[0].astype(float) @ b[0, :, 0], 1e-5, 1e-5)
        z = wisp.tensor(numbers(m)).to(dtype)
        expected = 2 * z.numpy() + 3 * (a[0].astype(float) @ b[0, :, 0])
        np.testing.assert_allclose(wisp.addmv(z, x[0], y[0, :, 0], beta=2, alpha=3).numpy(), expected, 1e-5, 1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "uint8"])
def test_linspace_of_many_numbers(dtype):
    for n in (1, 2, 7, 1000, 100_001):
        found = wisp.linspace(3, 200, n, dtype=getattr(wisp, dtype)).double().numpy()
        exact = np.linspace(3, 200, n)
        if dtype in ("int64", "uint8"):
            assert np.abs(found - np.trunc(exact)).max() <= 1  # what is exact may be rounded below
        else:
            np.testing.assert_allclose(found, exact, {"float32": 1e-7, "float64": 1e-15, "bfloat16": 4e-3}[dtype])
        assert found[0] == 3 and (n == 1 or found[-1] == 200)
    assert wisp.linspace(0, 1, 3, dtype=wisp.bool).tolist() == [False, True, True]
    assert wisp.linspace(0, 1j, 3).tolist() == [0, 0.5j, 1j]


@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64, wisp.float16])
def test_exponential_numbers_follow_their_law(dtype):
    x = wisp.empty(100_000, dtype=dtype).exponential_(2.0, generator=wisp.Generator().manual_seed(0)).double()
    assert bool((x >= 0).all()) and float(x.mean()) == pytest.approx(0.5, rel=0.02)
    assert float((x > 1).double().mean()) == pytest.approx(np.exp(-2), rel=0.04)
    parts = [wisp.empty(n, dtype=dtype).exponential_(generator=wisp.Generator().manual_seed(1)) for n in (5000, 3000)]
    same(parts[0][:3000], parts[1])  # whatever comes after them


def test_norms_of_cubes_along_any_dimension():
    for dtype in (wisp.float32, wisp.float64, wisp.complex64):
        x = wisp.tensor(numbers(70, 45)).to(dtype)
        x = x * (1 + 2j) if dtype == wisp.complex64 else x
        exact = np.abs(x.numpy().astype(np.complex128))
        for p in (3, 2.5):
            for dim in (0, 1, (0, 1)):
                found = wisp.linalg.vector_norm(x, p, dim).numpy()
                np.testing.assert_allclose(found, (exact**p).sum(dim) ** (1 / p), 1e-6)
            np.testing.assert_allclose(
                wisp.linalg.vector_norm(x.t()[:, ::3], p, 1).numpy(), (exact.T[:, ::3] ** p).sum(1) ** (1 / p), 1e-6
            )


@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64])
def test_trigamma(dtype):
    """Against psi'(x) in 30 digits."""
    values = {
        1e-29: 1e58, 1e-10: 1e20, 0.01: 10001.62121352831322, 0.5: 4.9348022005446793094, 1: 1.6449340668482264365,
        2.5: 0.49035775610023486497, 8.96875: 0.11794464101494398973, 9: 0.11751201469403142513, 17.25: 0.059683781919015517172,
        1000: 0.0010005001666666333334, 1e20: 1e-20, 1e31: 1e-31, -0.5: 8.9348022005446793094, -2.75: 19.433868949488464162,
    }  # fmt: skip
    if dtype == wisp.float32:
        values = {x: y for x, y in values.items() if y < 1e30 and x != 0.01}  # 0.01 is another number as a float
    given = np.resize(np.array(list(values)), 700)
    found = wisp.special.polygamma(1, wisp.tensor(given).to(dtype)).double().numpy()
    np.testing.assert_allclose(
        found, np.resize(np.array(list(values.values())), 700), 2e-7 if dtype == wisp.float32 else 4e-16
    )
    x = wisp.tensor([0.0, -0.0, -3.0, float("inf"), float("nan")], dtype=dtype)
    assert x.polygamma(1).tolist()[:4] == [float("inf"), float("inf"), float("inf"), 0] and x.polygamma(1)[4].isnan()
    assert x.polygamma_(1)[3] == 0


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float16", "bfloat16", "float32", "float64"])
def test_reductions_of_very_short_rows(dtype):
    for rows, cols in [(33, 2), (1000, 3), (517, 4), (70, 31), (64, 32), (64, 33)]:
        values = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 12, (rows, cols))
        x = wisp.tensor(values).to(getattr(wisp, dtype))
        exact = values.astype(float)
        spaced = wisp.stack([x, 1 - x if dtype != "bool" else ~x], 1)[:, 0]  # rows that lie apart
        for t in (x, spaced):
            for name in ("sum", "amax", "amin", "any", "all", "count_nonzero"):
                expected = getattr(np, name)(exact, 1)
                np.testing.assert_array_equal(getattr(wisp, name)(t, 1).double().numpy(), expected)
            if dtype != "bool":
                assert t.argmax(1).tolist() == exact.argmax(1).tolist()
                assert (
                    t.max(1)[1].tolist() == exact.argmax(1).tolist()
                    and t.min(1)[1].tolist() == exact.argmin(1).tolist()
                )
            if dtype.startswith(("float", "bfloat")):
                np.testing.assert_allclose(t.mean(1).double().numpy(), exact.mean(1), 1e-2)
                np.testing.assert_allclose(t.var(1).double().numpy(), exact.var(1, ddof=1), 1e-2, 1e-2)
                holed = t.clone()
                holed[5, cols - 1] = float("nan")
                assert holed.amax(1).isnan().nonzero().tolist() == [[5]] and int(holed.argmax(1)[5]) == cols - 1
