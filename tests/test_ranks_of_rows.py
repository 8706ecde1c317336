"""Sorting and picking by rank: short rows, which are ranked together, and rows of few different values, which are counted."""

import math

import pytest

import wisp

DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]


def rows_of(rows, n, dtype, values=5):
    """Few different values, so that many are equal; NaN, infinities and zeros of both signs where there are some."""
    wisp.manual_seed(rows + 31 * n)
    x = wisp.randint(0, values, (rows, n))
    if dtype == "bool":
        return x > values // 2
    x = x.to(getattr(wisp, dtype))
    if dtype.startswith(("int", "uint")):
        return x if dtype == "uint8" else x - 2
    table = wisp.tensor([math.nan, -math.inf, -0.0, 0.0, 1.5], dtype=x.dtype)
    return table[x.long()]


def key(value):
    return (1, 0) if math.isnan(value) else (0, value)


def order_of(row, descending=False):
    """The stable order, NaN counting as largest."""
    order = sorted(range(len(row)), key=lambda i: key(row[i]))
    if descending:
        order = sorted(range(len(row)), key=lambda i: (-key(row[i])[0], -key(row[i])[1]))
    return order


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 9, 15, 16, 17])
@pytest.mark.parametrize("rows", [1, 7, 8, 19])
def test_short_rows(dtype, n, rows):
    x = rows_of(rows, n, dtype)
    plain = x.tolist()
    for descending in (False, True):
        values, indices = wisp.sort(x, descending=descending)
        assert indices.tolist() == [order_of(row, descending) for row in plain]
        assert x.gather(1, indices).equal(values) or x.is_floating_point()
        k = (n + 1) // 2
        best = wisp.topk(x, k, largest=descending)
        assert best.indices.tolist() == [order_of(row, descending)[:k] for row in plain]
        assert str(best.values.tolist()) == str(values[:, :k].tolist())
    for k in {1, (n + 1) // 2, n}:
        assert wisp.kthvalue(x, k).indices.tolist() == [order_of(row)[k - 1] for row in plain]


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
@pytest.mark.parametrize("n", [1, 2, 5, 16, 17])
def test_medians_of_short_rows(dtype, n):
    x = rows_of(21, n, dtype)
    for skip, found in ((False, wisp.median(x, 1)), (True, wisp.nanmedian(x, 1))):
        for row, index, value in zip(x.tolist(), found.indices.tolist(), found.values.tolist(), strict=True):
            numbers = sum(not math.isnan(v) for v in row)
            rank = numbers if numbers == 0 or (not skip and numbers < n) else (numbers - 1) // 2
            assert index == order_of(row)[rank]
            assert str(value) == str(row[index])


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_short_columns_and_no_elements(dtype):
    x = rows_of(40, 6, dtype).t()
    assert wisp.sort(x, 0).indices.equal(wisp.sort(x.t().contiguous(), 1).indices.t())
    for shape in ((0, 4), (4, 0), (0,)):
        assert wisp.sort(wisp.empty(shape, dtype=x.dtype)).values.shape == shape
    assert wisp.topk(x, 0, 0).values.shape == (0, 40)
    assert wisp.sort(wisp.tensor(3)).indices.item() == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [33, 100, 1000, 70001])
@pytest.mark.parametrize("descending", [False, True])
def test_rows_of_few_different_values(dtype, n, descending):
    x = rows_of(2 if n < 9999 else 1, n, dtype)
    values, indices = wisp.sort(x, descending=descending)
    assert indices.tolist() == [order_of(row, descending) for row in x.tolist()]
    assert str(values[0, :50].tolist()) == str([x[0, i].item() for i in indices[0, :50].tolist()])
    threads = wisp.get_num_threads()
    wisp.set_num_threads(1)
    try:
        assert wisp.sort(x, descending=descending).indices.equal(indices)
    finally:
        wisp.set_num_threads(threads)


@pytest.mark.parametrize("low,high", [(-7, 9), (-1024, 1023), (-1024, 1024), (2**40, 2**40 + 300)])
def test_long_rows_of_a_small_range(low, high):
    x = wisp.randint(low, high + 1, (5000,))
    values, indices = wisp.sort(x)
    assert indices.tolist() == order_of(x.tolist())
    assert values.equal(x[indices])
    assert wisp.unique(x).tolist() == sorted(set(x.tolist()))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8", "int64"])
@pytest.mark.parametrize("length,count", [(0, 3), (1, 5), (17, 3), (17, 2000), (3000, 10)])
@pytest.mark.parametrize("right", [False, True])
def test_places_in_sorted_rows(dtype, length, count, right):
    low, high = (-100, 100) if dtype != "int64" else (-(2**40), 2**40)
    dtype = getattr(wisp, dtype)
    boundaries = wisp.randint(low, high, (length,)).to(dtype).sort().values
    values = wisp.randint(low - 9, high + 9, (count,)).to(dtype)
    before = (lambda b, v: b <= v) if right else (lambda b, v: b < v)
    expected = [sum(before(b, v) for b in boundaries.tolist()) for v in values[:30].tolist()]
    assert wisp.searchsorted(boundaries, values, right=right)[:30].tolist() == expected
    if dtype.is_floating_point:
        nan = wisp.tensor([math.nan, math.inf, -math.inf], dtype=dtype)
        assert wisp.searchsorted(boundaries, nan, right=right).tolist() == [length, length, 0]
