"""Products of many numbers, and the best of many: values that need care, and every length around those of vectors."""

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
