"""Products that are cut into pieces, and rows that layer norm differentiates together: values, for any number of threads."""

import pytest

import wisp
from wisp.nn.functional import layer_norm


def with_threads(count, f):
    before = wisp.get_num_threads()
    wisp.set_num_threads(count)
    try:
        return f()
    finally:
        wisp.set_num_threads(before)


# Two pieces (as they are), three (made four, by rows or by columns), nine (made twelve) and fifteen (made eighteen or twenty).
SHAPES = [(2000, 40, 700), (2600, 40, 650), (650, 40, 2600), (3000, 40, 3000), (3000, 40, 5000), (5100, 40, 2900)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64], ids=str)
def test_large_products(shape, dtype):
    m, k, n = shape
    wisp.manual_seed(0)
    # Small whole numbers: sums are exact in any order, so that every element can be compared.
    a, b = wisp.randint(-8, 9, (m, k)).to(dtype), wisp.randint(-8, 9, (k, n)).to(dtype)
    found = with_threads(2, lambda: a @ b)
    assert wisp.equal(found @ wisp.ones(n, 1, dtype=dtype), a @ b.sum(1, keepdim=True))
    assert wisp.equal(wisp.ones(1, m, dtype=dtype) @ found, a.sum(0, keepdim=True) @ b)
    for i, j in ((0, 0), (m // 2, n // 3), (m - 1, n - 1)):
        assert found[i, j] == (a[i] * b[:, j]).sum()
    a, b = wisp.randn(m, k, dtype=dtype), wisp.randn(k, n, dtype=dtype)
    assert wisp.equal(with_threads(1, lambda: a @ b), with_threads(3, lambda: a @ b))


def grads(x, weight, bias, upper, wanted):
    leaves = [t.clone().requires_grad_(w) if t is not None else None for t, w in zip((x, weight, bias), wanted)]
    layer_norm(leaves[0], x.shape[-1:], *leaves[1:]).backward(upper)
    return [leaf.grad for leaf in leaves if leaf is not None]


@pytest.mark.parametrize("rows", [1, 3, 4, 5, 8, 11, 3000])
@pytest.mark.parametrize("columns", [1, 37, 100, 600])
def test_gradients_of_layer_norm(rows, columns):
    """All gradients, and some of them, which go another way, are those of float64."""
    wisp.manual_seed(0)
    x, upper, weight, bias = (wisp.randn(*s) for s in ((rows, columns), (rows, columns), (columns,), (columns,)))
    expected = grads(x.double(), weight.double(), bias.double(), upper.double(), (True, True, True))
    for wanted in ((True, True, True), (True, False, False), (False, True, True), (True, True, False)):
        found = with_threads(2, lambda: grads(x, weight, bias, upper, wanted))
        assert [f is not None for f in found] == list(wanted)
        for f, e in zip(found, expected):
            assert f is None or (f - e).abs().max() <= 1e-5 * (1 + e.abs().max())
        for count in (1, 3):
            for f, g in zip(found, with_threads(count, lambda: grads(x, weight, bias, upper, wanted))):
                assert f is None or wisp.equal(f, g)


def test_gradients_of_layer_norm_past_the_caches():
    """So many rows are written past the caches."""
    wisp.manual_seed(0)
    x, upper = wisp.randn(25000, 300), wisp.randn(25000, 300)
    weight, bias = wisp.randn(300), wisp.randn(300)
    found = grads(x, weight, bias, upper, (True, True, True))
    few = slice(17000, 17010)
    alone = grads(x[few], weight, bias, upper[few], (True, False, False))[0]
    assert (found[0][few] - alone).abs().max() < 1e-5
    z = layer_norm(x.double(), (300,))
    assert (found[1] - (upper * z).sum(0)).abs().max() < 1e-2
    assert (found[2] - upper.double().sum(0)).abs().max() < 1e-2
