"""Products and sums of many numbers, and their ranks: values that need care, and every length around those of vectors."""

import numpy as np
import pytest

import wisp

LENGTHS = [*range(70), 95, 96, 97, 400, 4095, 4096, 4097, 40001]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_any_length(dtype):
    rng = np.random.default_rng(0)
    for n in LENGTHS:
        x = (np.exp(rng.uniform(-0.1, 0.1, n)) * rng.choice([-1, 1], n)).astype(dtype)
        want = np.prod(x.astype(np.longdouble))
        for got in (wisp.tensor(x).prod(), wisp.tensor(np.stack([x, x])).prod(1)[1]):
            assert abs(float(got) - want) <= (n + 2) * np.finfo(np.float64).eps * abs(want) + abs(
                np.spacing(got.numpy())
            )


def test_products_of_floats_are_as_good_as_those_of_doubles():
    x = np.random.default_rng(1).uniform(0.99, 1.01, (3, 100000)).astype(np.float32)
    want = np.prod(x.astype(np.float64), axis=1).astype(np.float32)
    assert (wisp.tensor(x).prod(1).numpy() == want).all()


@pytest.mark.parametrize("order", [1, -1])
def test_products_come_back_into_the_range_of_their_dtype(order):
    x = wisp.tensor(np.array([1e30, 1e-30], np.float32)[::order].repeat(40))
    assert x.prod().item() == pytest.approx(1, rel=1e-4)
    assert x.repeat(2, 1).prod(1).allclose(wisp.ones(2), rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_special_numbers(dtype):
    def product(value, at, fill=1.0):
        x = np.full(100, fill, dtype)
        x[at] = value
        return float(wisp.tensor(x).prod())

    for at in (0, 31, 63, 64, 97, 99):
        assert product(0.0, at, 2.0) == 0 and np.isnan(product(np.nan, at)) and product(-np.inf, at) == -np.inf
        assert np.isnan(wisp.tensor(np.array([0.0] + [1.0] * at + [np.inf], dtype)).prod().item())
    assert product(1.0, 0, 1e30) == np.inf and product(1.0, 0, 1e-30) == 0


def values(kind, rng, n):
    if kind == "ties":
        return rng.integers(-3, 4, n)
    if kind == "rising":
        return np.arange(n) - n // 2
    if kind == "same":
        return np.zeros(n)
    x = rng.normal(size=n)
    if kind == "special":
        x[rng.random(n) < 0.1] *= 0.0  # of either sign
        for value, share in ((np.nan, 0.1), (np.inf, 0.05), (-np.inf, 0.05)):
            x[rng.random(n) < share] = value
    return x


FLOATS, INTEGERS = ["float32", "float64", "float16"], ["int64", "int16"]
KINDS = [(kind, dtype) for kind in ("random", "ties", "rising", "same") for dtype in FLOATS + INTEGERS]


@pytest.mark.parametrize(("kind", "dtype"), [*KINDS, *(("special", dtype) for dtype in FLOATS)])
def test_the_best_are_those_of_a_stable_sort(kind, dtype):
    """Of equal elements the first ranks first, and NaN is larger than everything."""
    rng, integers = np.random.default_rng(2), dtype in INTEGERS
    for n in (1, 15, 63, 64, 65, 80, 400, 5000):
        x = (values(kind, rng, n) * (100 if integers and kind == "random" else 1)).astype(dtype)
        keys = x.astype(np.int64) if integers else np.where(np.isnan(x), np.inf, x)
        for largest in (True, False):
            order = np.lexsort((~np.isnan(x), -keys) if largest else (np.isnan(x), keys))
            for k in sorted({1, min(n, 2), min(n, 5), min(n, 8), min(n, 9), min(n, 17)}):
                found = wisp.tensor(x).topk(k, largest=largest)
                assert found.indices.tolist() == order[:k].tolist(), (n, k, largest)
                assert np.array_equal(found.values.numpy(), x[order[:k]], equal_nan=not integers)


def test_the_best_of_strided_and_long_rows():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 70)).astype(np.float32)
    found = wisp.tensor(x).t().topk(5, 1)
    want = np.argsort(-x.T, axis=1, kind="stable")[:, :5]
    assert (found.indices.numpy() == want).all()
    x = rng.normal(size=400000).astype(np.float32)  # in pieces
    assert wisp.tensor(x).topk(7).indices.tolist() == np.argsort(-x, kind="stable")[:7].tolist()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64"])
def test_sums_of_any_length(dtype):
    rng = np.random.default_rng(2)
    for n in [*LENGTHS, *range(120, 140), 250, 255]:
        x = (rng.standard_normal((3, n)) * 50).astype(dtype)
        want = x.astype(np.float64).sum(1)
        # Groups of eight are added as they are, and all groups as doubles.
        error = 4 * np.finfo(np.float32).eps * np.abs(x.astype(np.float64)).sum(1) if dtype == "float32" else 1e-9
        rows = wisp.tensor(x)
        for got in (rows.sum(1), wisp.stack([row.sum() for row in rows]), rows.t().contiguous().t().sum(1)):
            assert (np.abs(got.numpy() - want) <= error).all(), n


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 255, 256, 257, 300, 1000, 4096, 4097, 20000])
def test_medians_and_ranks_are_those_of_a_sorted_row(n, dtype):
    rng = np.random.default_rng(n)
    for values in (rng.standard_normal(n) * 100, rng.integers(-3, 3, n), np.full(n, 7), rng.uniform(1, 1.0001, n)):
        x = values.astype(dtype)
        order = np.sort(x)
        assert float(wisp.tensor(x).median()) == order[(n - 1) // 2]
        for k in {1, n // 3 + 1, n}:
            value, index = wisp.tensor(x).kthvalue(k)
            assert float(value) == order[k - 1] == x[int(index)]


@pytest.mark.parametrize("n", [5, 300, 5000])
def test_medians_of_rows_with_nan(n):
    x = np.random.default_rng(n).standard_normal((3, n)).astype(np.float32)
    x[0, n // 2] = x[1, 1::2] = np.nan
    x[1, 3], x[2] = np.inf, np.nan
    values, indices = wisp.tensor(x).median(1)
    assert np.isnan(values.numpy()).all()
    assert indices.tolist() == [n // 2, 1, 0]
    values = wisp.tensor(x).nanmedian(1).values.numpy()
    for row in (0, 1):
        numbers = np.sort(x[row][~np.isnan(x[row])])
        assert values[row] == numbers[(len(numbers) - 1) // 2]
    assert np.isnan(values[2])


@pytest.mark.parametrize(
    "n, size", [(1, 1), (3, 5000), (1000, 1000), (100_000, 10), (100_001, 4000), (100_000, 100_000)]
)
def test_counts(n, size):
    x = np.random.default_rng(size).integers(0, size, n)
    for dtype in (np.int64, np.int32):
        assert (
            wisp.bincount(wisp.tensor(x.astype(dtype)), minlength=size).numpy() == np.bincount(x, minlength=size)
        ).all()
    with pytest.raises(RuntimeError, match="non-negative"):
        wisp.bincount(wisp.tensor([*x.tolist(), -1]))


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4), (2, 1, 3, 70), (2, 2, 2, 3, 4)])
def test_constants_around_images(shape):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    for ends in ((0, 0), (1, 0), (0, 2), (3, 1)):
        widths = [ends] * len(shape)
        flat = [number for pair in reversed(widths) for number in pair]
        want = np.pad(x, widths, constant_values=-1.5)
        assert (wisp.nn.functional.pad(wisp.tensor(x), flat, value=-1.5).numpy() == want).all()
        strided = wisp.tensor(np.stack([x, x], -1).copy())[..., 0]
        assert (wisp.nn.functional.pad(strided, flat, value=-1.5).numpy() == want).all()
