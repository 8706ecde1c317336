"""Kernels on operands that lie in memory in every way: the same numbers as on copies, whatever the number of threads."""

import itertools

import numpy as np
import pytest

import wisp

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]
SHAPES = [(0, 5), (1, 1), (3, 3), (7, 250), (67, 131), (130, 18), (300, 3), (5, 4, 3), (40, 9, 17), (33, 2, 70)]


def numbers(shape, dtype, seed):
    """The same small numbers for every layout; exact in every dtype."""
    values = np.random.default_rng(seed).integers(0, 2 if dtype == "bool" else 11, shape)
    return wisp.tensor(values).to(getattr(wisp, dtype))


def layouts(x):
    """Tensors equal to x: contiguous, transposed, spread out with a step, reversed dimensions, and in the middle of others."""
    yield x
    order = tuple(reversed(range(x.ndim)))
    yield x.permute(order).contiguous().permute(order)
    if x.ndim == 3:
        yield x.permute(2, 0, 1).contiguous().permute(1, 2, 0)
    for step in (2, 3):
        wide = wisp.zeros(*x.shape[:-1], step * x.shape[-1], dtype=x.dtype)
        wide[..., ::step] = x
        yield wide[..., ::step]
    padded = wisp.zeros(*(n + 3 for n in x.shape), dtype=x.dtype)
    middle = padded[tuple(slice(1, n + 1) for n in x.shape)]
    middle.copy_(x)
    yield middle


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    if a.dtype == wisp.bfloat16:
        a, b = a.float(), b.float()
    np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.fixture
def threads():
    before = wisp.get_num_threads()
    yield wisp.set_num_threads
    wisp.set_num_threads(before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_pairs_of_layouts(shape, dtype):
    a, b = numbers(shape, dtype, 0), numbers(shape, dtype, 1)
    operators = [wisp.add, wisp.mul, wisp.eq]
    if dtype != "complex64":
        operators.append(wisp.maximum)
    for operator in operators:
        expected = operator(a, b)
        for x, y in itertools.product(layouts(a), layouts(b)):
            same(operator(x, y), expected)
    for x in layouts(a):
        same(x.contiguous(), a)
        same(x.clone(), a)
        same(x.to(wisp.float64 if dtype != "complex64" else wisp.complex128).to(a.dtype), a)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize(
    "shape", [(2000, 3), (999, 4), (700, 1), (50, 16), (41, 31), (300, 40), (64, 3, 8), (30, 7, 2, 5)], ids=str
)
def test_broadcast_rows_and_columns(shape, dtype):
    x = numbers(shape, dtype, 2)
    for dims in itertools.product((True, False), repeat=len(shape)):
        small = numbers([n if kept else 1 for n, kept in zip(shape, dims)], dtype, 3)
        whole = small.expand(shape).contiguous()
        for y in layouts(small):
            same(x + y, x + whole)
            same(y.maximum(x), whole.maximum(x))
            same(wisp.where(y.bool(), x, y), wisp.where(whole.bool(), x, whole))


def test_broadcast_of_another_dtype():
    x, row = numbers((500, 3), "float32", 0), numbers((3,), "int64", 1)
    same(x * row, x * row.float().expand(500, 3).contiguous())
    same(row - x, row.float().expand(500, 3).contiguous() - x)


@pytest.mark.parametrize("dtype", ["float32", "int64", "float16", "bool"])
def test_threads_change_nothing(threads, dtype):
    a, b = numbers((311, 257), dtype, 0), numbers((311, 257), dtype, 1)
    row, index = numbers((257,), dtype, 2), wisp.randint(0, 257, (311, 257))
    column = (numbers((311 * 257 // 3, 3), dtype, 3), numbers((3,), dtype, 4))

    def results():
        t = a.t().contiguous().t()
        yield from (t.add(b), a.maximum(row), column[0].add(column[1]), t.contiguous(), wisp.stack((a, b), -1))
        yield from (a.gather(1, index), a.scatter(1, index, b), a.sum(1), a.sum(0), *a.aminmax())

    expected = list(results())
    for count in (1, 2, 3, 5):
        threads(count)
        for got, wanted in zip(results(), expected):
            same(got, wanted)


def test_softmax_of_extreme_rows():
    """Denormal probabilities, infinities and NaN, by rows, by columns and by short rows."""
    inf, nan = float("inf"), float("nan")
    rows = np.array(
        [
            [0, -95, -103, -200],
            [1e30, -1e30, 0, 1],
            [inf, 0, 1, 2],
            [-inf, -inf, -inf, -inf],
            [nan, 0, 1, 2],
            [88, 87, -10, 89],
        ]
    )
    for width in (4, 40, 400):
        wide = np.tile(rows, (1, width // 4)).astype(np.float32)
        with np.errstate(all="ignore"):
            e = np.exp(wide.astype(np.float64) - wide.max(1, keepdims=True))
            expected = e / e.sum(1, keepdims=True)
        for x in (wisp.tensor(wide), wisp.tensor(wide.T.copy()).t()):
            np.testing.assert_allclose(x.softmax(1).numpy(), expected, rtol=1e-5, atol=3e-45)
            np.testing.assert_allclose(x.t().softmax(0).numpy(), expected.T, rtol=1e-5, atol=3e-45)
            with np.errstate(all="ignore"):
                sums = np.log(e.sum(1)) + wide.max(1)
            np.testing.assert_allclose(x.logsumexp(1).numpy()[[0, 1, 5]], sums[[0, 1, 5]], rtol=1e-6)
            assert x.logsumexp(1)[2] == inf and x.logsumexp(1)[3] == -inf and x.logsumexp(1)[4].isnan()


@pytest.mark.parametrize("rows", [1, 5, 70, 600])
@pytest.mark.parametrize("width", [1, 2, 17, 64, 100, 112, 113])
def test_softmax_of_short_rows(width, rows):
    """Rows done together against the same in double, whose blocks are others, and against columns."""
    x, grad = wisp.randn(rows, width) * 3, wisp.randn(rows, width)
    for function in (wisp.softmax, wisp.log_softmax):
        results = []
        for made, g in ((x, grad), (x.double(), grad.double()), (x.t().contiguous().t(), grad)):
            made = made.detach().requires_grad_()
            y = function(made, 1)
            y.backward(g)
            results.append((y.detach(), made.grad))
        for (got, expected), columns in zip(zip(*results[:2], strict=True), results[2], strict=True):
            np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=2e-6, atol=2e-6)
            np.testing.assert_allclose(columns.numpy(), expected.numpy(), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("reduce", ["sum", "amax"])
@pytest.mark.parametrize("dim", [0, 1])
def test_scatter_and_gather_look_at_every_index(dim, reduce):
    x, k = wisp.randn(70, 90), wisp.randint(0, 70, (70, 90))
    for place, bad in (((0, 0), -1), ((69, 89), 90), ((35, 40), 1 << 40), ((3, 3), -(1 << 62))):
        for index in layouts(k):
            index = index.clone()
            index[place] = bad
            with pytest.raises(RuntimeError, match=f"index {bad} is out of bounds for dimension {dim}"):
                x.gather(dim, index)
            with pytest.raises(RuntimeError, match=f"index {bad} is out of bounds for dimension {dim}"):
                x.scatter_reduce(dim, index, x, reduce)


def test_scatter_by_an_index_that_is_written_meanwhile():
    """Where it would be read again it is far outside."""
    for write in (
        lambda x: x.scatter_(0, x, wisp.full((64,), 1 << 50)),
        lambda x: x.scatter_(0, x, 1 << 50),
        lambda x: x.scatter_reduce_(0, x, wisp.full((64,), 1 << 50), "amax"),
    ):
        x = wisp.arange(64).flip(0).contiguous()
        write(x)
        assert (x == 1 << 50).all()


@pytest.mark.parametrize("reduce", ["sum", "prod", "amax", "amin", "mean"])
@pytest.mark.parametrize("width", [1, 3, 64, 200])
def test_scatter_of_whole_rows(width, reduce):
    """Rows that share an index against the same without the zero stride."""
    x, source = wisp.randn(50, width), wisp.randn(120, width)
    index = wisp.randint(0, 50, (120, 1)).expand(120, width)
    for include_self in (True, False):
        got = x.scatter_reduce(0, index, source, reduce, include_self=include_self)
        expected = x.t().scatter_reduce(1, index.contiguous().t(), source.t(), reduce, include_self=include_self)
        assert got.equal(expected.t())
    bad = index.clone()[:, :1]
    bad[100] = 50
    with pytest.raises(RuntimeError, match="index 50 is out of bounds for dimension 0"):
        x.clone().scatter_(0, bad.expand(120, width), source)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(5, 7), (20, 33), (40, 64), (41, 100), (9, 16), (13, 150)])
def test_interpolation_of_long_rows(mode, size):
    """Vectors of outputs against the same in double, one output at a time."""
    x = wisp.rand(2, 3, 20, 50)
    got = wisp.nn.functional.interpolate(x, size, mode=mode)
    expected = wisp.nn.functional.interpolate(x.double(), size, mode=mode)
    np.testing.assert_allclose(got.numpy(), expected.numpy(), atol=2e-6)


@pytest.mark.parametrize("batch", [1, 2, 5])
def test_grid_sample_gradients_do_not_depend_on_threads(threads, batch):
    x, grid = wisp.randn(batch, 3, 12, 11), wisp.rand(batch, 9, 8, 2) * 2.4 - 1.2
    found = []
    for count in (1, 2, 3):
        threads(count)
        a, b = x.clone().requires_grad_(), grid.clone().requires_grad_()
        wisp.nn.functional.grid_sample(a, b, align_corners=False).square().sum().backward()
        found.append((a.grad, b.grad))
    for other in found[1:]:
        same(found[0][0], other[0])
        same(found[0][1], other[1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_next_after(dtype):
    edges = np.array([0.0, -0.0, 1, -1, 1e-45, -1e-45, 3e38, -3e38, np.inf, -np.inf, np.nan, 1.1754944e-38, 2.5], dtype)
    a, b = (m.reshape(-1) for m in np.meshgrid(edges, edges))
    got = wisp.nextafter(wisp.tensor(a), wisp.tensor(b)).numpy()
    np.testing.assert_array_equal(got, np.nextafter(a, b))
    np.testing.assert_array_equal(np.signbit(got), np.signbit(np.nextafter(a, b)))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_greatest_common_divisors(dtype):
    limits = np.iinfo(dtype)
    values = np.random.default_rng(0).integers(limits.min, limits.max, 200, dtype=dtype, endpoint=True)
    values[:8] = [0, 0, 1, limits.min, limits.max, limits.min, 12, 18 if limits.max < 200 else 180]
    a, b = (m.reshape(-1) for m in np.meshgrid(values, values))
    np.testing.assert_array_equal(wisp.gcd(wisp.tensor(a), wisp.tensor(b)).numpy(), np.gcd(a, b))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_size_and_angle_of_complex_numbers(dtype):
    real = dtype.replace("complex64", "float32").replace("complex128", "float64")
    edges = np.array([0.0, -0.0, 1, -2.5, 1e-30, 3e30, np.inf, -np.inf, np.nan, 7.25, -0.1], real)
    z = np.empty((edges.size, edges.size), dtype)
    z.real, z.imag = np.meshgrid(edges, edges)
    x = wisp.tensor(z)
    np.testing.assert_allclose(x.abs().numpy(), np.abs(z), rtol=3e-7 if dtype == "complex64" else 4e-16)
    np.testing.assert_allclose(x.angle().numpy(), np.angle(z), rtol=3e-7 if dtype == "complex64" else 1e-15)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16", "bfloat16", "float32", "float64"])
def test_smallest_and_largest_at_once(dtype):
    x = numbers((37, 53), dtype, 5)
    for y in layouts(x):
        for low, high, wanted in (
            (*y.aminmax(), (x.amin(), x.amax())),
            (*y.aminmax(dim=1), (x.amin(1), x.amax(1))),
            (*y.aminmax(dim=0, keepdim=True), (x.amin(0, True), x.amax(0, True))),
        ):
            same(low, wanted[0])
            same(high, wanted[1])
    if x.is_floating_point():
        x[3, 4] = float("nan")
        assert (
            all(v.isnan() for v in x.aminmax())
            and x.aminmax(dim=1)[0][3].isnan()
            and not x.aminmax(dim=1)[1][4].isnan()
        )


def test_take_and_put_of_views():
    x, k = wisp.arange(60).reshape(6, 10), wisp.randint(-60, 60, (200,))
    for y in layouts(x):
        same(y.take(k), x.reshape(-1)[k])
    spread = wisp.zeros(12, 10, dtype=wisp.int64)[::2]
    same(spread.put(k, k + 1), wisp.zeros(6, 10, dtype=wisp.int64).put(k, k + 1))
    for bad in (60, -61, 1 << 62, -(1 << 63)):
        with pytest.raises(IndexError, match="out of range"):
            x.take(wisp.tensor([0, bad, 1]))
        with pytest.raises(IndexError, match="out of range"):
            x.t().take(wisp.tensor([0, bad, 1]))


@pytest.mark.parametrize("n", [0, 1, 33, 100_001])
def test_range_of_floats(n):
    for dtype in ("float32", "float64", "float16"):
        got = wisp.arange(0.5, 0.5 + 0.25 * n, 0.25, dtype=getattr(wisp, dtype))
        expected = (0.5 + 0.25 * np.arange(n)).astype(dtype)
        np.testing.assert_array_equal(got.numpy(), expected)
    with pytest.raises(RuntimeError, match="step must be nonzero"):  # of integers, in whole steps
        wisp.arange(0.5, 0.5 + 0.25 * n, 0.25, dtype=wisp.int32)


def test_a_bad_index_in_place_writes_nothing():
    index = wisp.zeros(50, 40, dtype=wisp.int64)
    index[49, 39] = 7
    for write in (
        lambda x: x.scatter_(1, index, wisp.ones(50, 40)),
        lambda x: x.scatter_(1, index, 1.0),
        lambda x: x.scatter_add_(1, index, wisp.ones(50, 40)),
        lambda x: x.scatter_reduce_(1, index, wisp.ones(50, 40), "prod", include_self=False),
    ):
        x = wisp.full((50, 5), 3.0)
        with pytest.raises(RuntimeError, match="index 7 is out of bounds for dimension 1 with size 5"):
            write(x)
        assert (x == 3).all()
