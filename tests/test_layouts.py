"""Layouts that only show in tensors larger than those of tests/ops: lines, blocks, pieces and streams of kernels."""

import itertools

import numpy as np
import pytest

import wisp
import wisp.nn.functional as F

rng = np.random.default_rng(0)


def made(array):
    return wisp.from_numpy(np.ascontiguousarray(array))


def layouts(array):
    """The same elements, laid out in several ways."""
    yield made(array)
    reverse = tuple(reversed(range(array.ndim)))
    yield made(array.transpose(reverse)).permute(*reverse)
    last = (*range(1, array.ndim), 0)
    yield made(array.transpose(last)).permute(array.ndim - 1, *range(array.ndim - 1))
    wide = np.repeat(array, 2, axis=-1)
    yield made(wide)[..., ::2]


SHAPES = [(70, 90), (3, 40, 50), (5, 7, 33), (300, 41), (2, 130)]


@pytest.mark.parametrize("shape", SHAPES)
def test_pointwise_operands_of_any_layout(shape):
    a, b = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    for x, y in itertools.product(layouts(a), layouts(b)):
        assert np.array_equal((x + y).numpy(), a + b)
        assert np.array_equal((x < y).numpy(), a < b)
        assert np.array_equal(wisp.where(x < y, x, y).numpy(), np.minimum(a, b))


@pytest.mark.parametrize("shape", SHAPES)
def test_broadcasting_with_rows_columns_and_dtypes(shape):
    a = rng.standard_normal(shape).astype(np.float32)
    row, column = a[..., :1, :].copy(), a[..., :1].copy().astype(np.float64)
    for x in layouts(a):
        assert np.array_equal((x + made(row)).numpy(), a + row)
        assert np.array_equal((x * made(column)).numpy(), a * column)
        assert np.array_equal((made(row) * made(column)).numpy(), row * column)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
def test_copies_between_layouts(shape, dtype):
    a = (10 * rng.standard_normal(shape)).astype(dtype)
    for x in layouts(a):
        assert np.array_equal(x.contiguous().numpy(), a)
        assert np.array_equal(x.flip(-1).contiguous().numpy(), np.flip(a, -1))
        assert np.array_equal(x[..., 1:-1].clone().numpy(), a[..., 1:-1])
        if dtype != "complex128":
            assert np.array_equal(x.to(wisp.float32).numpy(), a.astype(np.float32))
        for y in layouts(np.zeros_like(a)):
            assert np.array_equal(y.copy_(x).numpy(), a)


def test_results_larger_than_the_caches():
    n = 7_000_003
    a = rng.standard_normal(n).astype(np.float32)
    x = made(a.copy())
    assert np.array_equal((x + x).numpy(), a + a)
    assert np.array_equal((x * 2)[1:].numpy(), (a * 2)[1:])
    assert np.array_equal(x.clone().numpy(), a)
    assert np.array_equal(wisp.full((n,), 3.0).numpy(), np.full(n, 3, np.float32))
    assert np.array_equal(x.mul_(2).numpy(), a * 2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_remainders_are_exact(dtype):
    a = np.concatenate([rng.standard_normal(5000) * 10.0**k for k in range(-5, 12)]).astype(dtype)
    b = rng.standard_normal(a.size).astype(dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3.0, -0.5, 1e30], dtype)
    a, b = np.append(a, np.repeat(special, special.size)), np.append(b, np.tile(special, special.size))
    with np.errstate(all="ignore"):
        assert np.array_equal(wisp.fmod(made(a), made(b)).numpy(), np.fmod(a, b), equal_nan=True)
        rest = np.fmod(a, b)
        signed = np.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)
        assert np.array_equal(wisp.remainder(made(a), made(b)).numpy(), signed, equal_nan=True)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy_of_long_rows(reduction, weighted):
    x = wisp.randn(6, 100, dtype=wisp.float64, requires_grad=True)
    target = wisp.tensor([0, 99, 5, -100, 50, 7])
    weight = wisp.rand(100, dtype=wisp.float64) if weighted else None
    loss = F.cross_entropy(x, target, weight, reduction=reduction)
    expected = F.nll_loss(F.log_softmax(x, 1), target, weight, reduction=reduction)
    assert wisp.allclose(loss, expected)
    seed = wisp.randn(loss.shape, dtype=wisp.float64)
    (got,), (wanted,) = (wisp.autograd.grad(y, [x], seed, create_graph=True) for y in (loss, expected))
    assert wisp.allclose(got, wanted)
    (plain,) = wisp.autograd.grad(F.cross_entropy(x, target, weight, reduction=reduction), [x], seed)
    assert wisp.allclose(plain, wanted)
    second = [wisp.autograd.grad(g.square().sum(), [x])[0] for g in (got, wanted)]
    assert wisp.allclose(*second)


@pytest.mark.parametrize("shape", [(6, 8, 5, 7), (40, 8), (3, 8, 300)])
@pytest.mark.parametrize("groups", [0, 1, 2, 8])  # 0: over the batch
def test_channel_norms(shape, groups):
    x = wisp.randn(shape, dtype=wisp.float64, requires_grad=True)
    w, b = (wisp.randn(8, dtype=wisp.float64, requires_grad=True) for _ in range(2))
    spread = (1, 8) + (1,) * (len(shape) - 2)
    if groups and len(shape) == 2 and groups == 8:
        return  # one element per group
    if groups:
        y = F.group_norm(x, groups, w, b)
        rows = x.reshape(shape[0] * groups, -1)
        var, mean = wisp.var_mean(rows, 1, correction=0, keepdim=True)
        z = ((rows - mean) / (var + 1e-5).sqrt()).reshape(shape)
    else:
        y = F.batch_norm(x, None, None, w, b, training=True)
        var, mean = wisp.var_mean(x, [0, *range(2, len(shape))], correction=0, keepdim=True)
        z = (x - mean) / (var + 1e-5).sqrt()
    expected = z * w.view(spread) + b.view(spread)
    assert wisp.allclose(y, expected)
    seed = wisp.randn(shape, dtype=wisp.float64)
    for got, wanted in zip(*(wisp.autograd.grad(r, [x, w, b], seed) for r in (y, expected))):
        assert wisp.allclose(got, wanted)


@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64, wisp.bfloat16])
@pytest.mark.parametrize("shape", [(3, 20, 5, 7), (2, 6, 3, 4, 5)])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_keeps_channels_last(shape, dtype, training):
    last = wisp.channels_last if len(shape) == 4 else wisp.channels_last_3d
    exact = wisp.float64 if dtype == wisp.float64 else wisp.float32
    channels = shape[1]
    x, seed = wisp.randn(shape).to(dtype), wisp.randn(shape).to(dtype)
    w, b, mean = (wisp.randn(channels, dtype=exact) for _ in range(3))
    var = wisp.rand(channels, dtype=exact) + 0.5

    def results(x, seed):
        x = x.detach().requires_grad_()
        weight, bias, means, vars = w.clone().requires_grad_(), b.clone().requires_grad_(), mean.clone(), var.clone()
        y = F.batch_norm(x, means, vars, weight, bias, training)
        y.backward(seed)
        return [y, x.grad, weight.grad, bias.grad, means, vars]

    plain = results(x, seed)
    mixed = results(x.to(memory_format=last), seed)
    both = results(x.to(memory_format=last), seed.to(memory_format=last))
    tolerance = {wisp.float32: 1e-5, wisp.float64: 1e-12, wisp.bfloat16: 2e-2}[dtype]
    for got in (mixed, both):
        assert got[0].is_contiguous(memory_format=last)
        for a, c in zip(got, plain):
            assert wisp.allclose(a, c, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_numbers_and_columns_beside_lines(dtype):
    a = (10 * rng.standard_normal((130, 70))).astype(dtype)
    column = (10 * rng.standard_normal((130, 1))).astype(dtype)
    number = np.dtype(dtype).type(3)
    for x in layouts(a):
        for other in (column, number):
            y = made(other) if other is column else other.item()
            assert np.array_equal((x + y).numpy(), a + other)
            assert np.array_equal((y + x).numpy(), other + a)
            assert np.array_equal((x - y).numpy(), a - other)
            assert np.array_equal((y - x).numpy(), other - a)
            assert np.array_equal((x * y).numpy(), a * other)
            assert np.array_equal((x <= y).numpy(), a <= other)
            assert np.array_equal((y == x).numpy(), other == a)
        if dtype is not np.int64:
            assert np.array_equal((x / made(column)).numpy(), a / column)
            sum_of_products = a.astype(np.float64) + 0.5 * a.astype(np.float64) * column
            result = wisp.addcmul(x, x, made(column), value=0.5)
            np.testing.assert_allclose(result.numpy(), sum_of_products, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("weight", [0.3, 0.7, -0.2, 1.0, 2.5])
def test_lerp_by_a_number_is_lerp_by_a_tensor(weight):
    a, b = (made(rng.standard_normal((50, 60)).astype(np.float32)) for _ in range(2))
    by_tensor = wisp.lerp(a, b, wisp.full((50, 60), weight))
    assert wisp.equal(wisp.lerp(a, b, weight), by_tensor)
    assert wisp.equal(wisp.lerp(a, b, wisp.full((50, 1), weight)), by_tensor)
    if weight == 1.0:
        assert wisp.equal(by_tensor, b)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integers_divide_exactly_whatever_their_size(dtype):
    largest = np.iinfo(dtype).max
    edges = [1, 2, 3, 7, 2**20 + 1, 2**30 - 1, largest, largest - 1, largest // 2]
    edges += [2**50 - 1, 2**50, 2**50 + 1, 2**51 - 1, 2**51, 2**53 + 1] if dtype is np.int64 else []
    values = np.array(edges + [-e for e in edges] + [-largest - 1], dtype)
    # Pairs in blocks of 64 equal divisors, and mixed ones.
    for a, b in [np.meshgrid(np.resize(values, 64), values), np.meshgrid(values, values)]:
        a, b = a.astype(dtype).ravel(), b.astype(dtype).ravel()
        safe = ~((a == -largest - 1) & (b == -1))
        a, b = a[safe], b[safe]
        x, y = made(a), made(b)
        assert np.array_equal((x // y).numpy(), a // b)
        assert np.array_equal((x % y).numpy(), a % b)
        assert np.array_equal(wisp.fmod(x, y).numpy(), np.fmod(a, b))
        truncated = np.array([abs(int(p)) // abs(int(q)) * (1 if (p < 0) == (q < 0) else -1) for p, q in zip(a, b)])
        assert np.array_equal(wisp.div(x, y, rounding_mode="trunc").numpy(), truncated.astype(dtype))
    least = made(np.full(3, -largest - 1, dtype))
    assert wisp.equal(least // -1, least)  # wraps
    with pytest.raises(RuntimeError, match="ZeroDivision"):
        made(values) // made(np.where(values == 3, 0, values))


@pytest.mark.parametrize("rows", [1, 4, 7, 130])
@pytest.mark.parametrize("length", [1, 5, 63, 64, 200])
def test_scans_of_rows(rows, length):
    a = 1 + 0.01 * rng.standard_normal((rows, length))
    x = made(a)
    np.testing.assert_allclose(wisp.cumprod(x, 1).numpy(), np.cumprod(a, 1), rtol=1e-13)
    np.testing.assert_allclose(wisp.cumsum(x, 1).numpy(), np.cumsum(a, 1), rtol=1e-13)
    values, places = wisp.cummax(x, 1)
    assert np.array_equal(values.numpy(), np.maximum.accumulate(a, 1))
    assert np.array_equal(np.take_along_axis(a, places.numpy(), 1), values.numpy())
    x.requires_grad_()
    wisp.cumsum(x, 1).sum().backward()
    expected = np.broadcast_to(np.arange(length, 0, -1.0), (rows, length))
    assert np.array_equal(x.grad.numpy(), expected)


@pytest.mark.parametrize("pad", [(1, 1, 1, 1), (0, 3, -2, 1), (-1, -1), (2, 0, 0, 0, 1, 1), (5, 5, -10, 4)])
def test_constant_padding_of_any_layout(pad):
    a = rng.standard_normal((3, 10, 40))
    ends = [(max(p, 0), max(q, 0)) for p, q in zip(pad[-2::-2], pad[::-2])]
    cuts = [slice(max(-p, 0), n - max(-q, 0)) for n, p, q in zip(a.shape[-len(ends) :], pad[-2::-2], pad[::-2])]
    expected = np.pad(a[(..., *cuts)], [(0, 0)] * (a.ndim - len(ends)) + ends, constant_values=7.0)
    for x in layouts(a):
        assert np.array_equal(F.pad(x, pad, value=7.0).numpy(), expected)


@pytest.mark.parametrize("dtype", ["int8", "float32", "complex128"])
@pytest.mark.parametrize("shape", [(3, 4, 2, 5, 2), (2, 3, 3, 2, 2), (40, 2, 9, 3)])
def test_copies_of_short_dimensions(shape, dtype):
    a = (10 * rng.standard_normal(shape)).astype(dtype)
    for order in itertools.permutations(range(a.ndim)):
        assert np.array_equal(made(a).permute(order).contiguous().numpy(), a.transpose(order))


@pytest.mark.parametrize("dtype", [wisp.int8, wisp.int32, wisp.int64, wisp.float32])
def test_long_ranges(dtype):
    numpy_dtype = np.dtype(str(dtype).split(".")[1])
    for start, end, step in [(0, 100_000, 1), (5, -100_000, -1), (3, 200_000, 7)]:
        expected = np.arange(start, end, step, dtype=np.int64).astype(numpy_dtype)
        assert np.array_equal(wisp.arange(start, end, step, dtype=dtype).numpy(), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "float16"])
@pytest.mark.parametrize("shape", [(31, 9), (32, 64), (1000, 33), (70, 128), (65, 2), (40, 5, 7)])
def test_reductions_of_many_short_rows(shape, dtype):
    a = (10 * rng.standard_normal(shape)).astype(dtype)
    wide = a.astype(np.float64)
    for x in layouts(a):
        np.testing.assert_allclose(x.sum(-1, dtype=wisp.float64).numpy(), wide.sum(-1), rtol=1e-6, atol=1e-5)
        assert np.array_equal(x.amax(-1).numpy(), a.max(-1)) and np.array_equal(x.amin(-1).numpy(), a.min(-1))
        assert np.array_equal(x.argmax(-1).numpy(), a.argmax(-1))
        if dtype.startswith("float"):
            np.testing.assert_allclose(
                x.sum(-1).numpy(), wide.sum(-1), rtol=2e-3 if dtype == "float16" else 1e-5, atol=0.1
            )
            np.testing.assert_allclose(x.double().var(-1).numpy(), wide.var(-1, ddof=1), rtol=1e-6)
        holes = a.astype(np.float32)
        holes.reshape(-1)[3] = np.nan
        assert np.array_equal(made(holes).amax(-1).numpy(), holes.max(-1), equal_nan=True)
