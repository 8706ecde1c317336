"""What the samples of matrix products do not show: memory that overlaps, sizes that are cut into pieces, graph nodes."""

import numpy as np
import pytest

import wisp


def numbers(*shape, seed=0):
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(np.float32)


def tensor(array, **options):
    return wisp.tensor(array.tolist(), **options)


@pytest.mark.parametrize("view", ["itself", "transposed"])
def test_in_place_product_with_itself(view):
    a, b = numbers(4, 4), numbers(4, 4, seed=1)
    x = tensor(a)
    x.addmm_(x if view == "itself" else x.t(), tensor(b), beta=2)
    left = a if view == "itself" else a.T
    np.testing.assert_allclose(x.tolist(), 2 * a + left @ b, rtol=1e-5, atol=1e-6)


def test_in_place_on_strided_memory():
    base = tensor(numbers(6, 8))
    before = np.array(base.tolist())
    base[::2, 1::2].addmm_(wisp.ones(3, 2), wisp.ones(2, 4))
    before[::2, 1::2] += 2
    np.testing.assert_allclose(base.tolist(), before, rtol=1e-6)


def test_out_may_be_an_input():
    a, b = numbers(3, 3), numbers(3, 3, seed=1)
    x = tensor(a)
    assert wisp.mm(x, tensor(b), out=x) is x
    np.testing.assert_allclose(x.tolist(), a @ b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "m, k, n",
    [
        (65, 64, 65),
        (200, 30, 301),
        (1, 700, 513),
        (513, 700, 1),
        (33, 1000, 31),
        (256, 160, 300),
        (1101, 260, 101),
        (50, 1001, 70),
    ],
)
@pytest.mark.parametrize("left", ["plain", "transposed", "strided"])
@pytest.mark.parametrize("right", ["plain", "transposed", "strided"])
def test_sizes_cut_into_pieces(m, k, n, left, right):
    def lay_out(array, layout):
        if layout == "transposed":
            return tensor(array.T.copy()).t()
        if layout == "strided":
            wide = wisp.zeros(2 * array.shape[0], 3 * array.shape[1])
            wide[::2, ::3] = tensor(array)
            return wide[::2, ::3]
        return tensor(array)

    a, b = numbers(m, k), numbers(k, n, seed=1)
    x, y = lay_out(a, left), lay_out(b, right)
    wisp.set_num_threads(1)
    one = wisp.mm(x, y)
    wisp.set_num_threads(2)
    two = wisp.mm(x, y)
    assert wisp.equal(one, two)
    np.testing.assert_allclose(two.tolist(), a.astype(np.float64) @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "rows, terms, columns", [(40, 33, 300), (350, 400, 70), (64, 1000, 129), (700, 32, 32), (64, 1000, 100)]
)
@pytest.mark.parametrize("bias", ["row", "strided", "number", "per row"])
def test_a_bias_is_added_on_the_way(rows, terms, columns, bias):
    wide = tensor(numbers(2, rows // 2, terms + 5))
    x, weight = wide[..., 2 : terms + 2], tensor(numbers(columns, terms, seed=1))
    sizes = {"row": (columns,), "strided": (columns, 2), "number": (1,), "per row": (rows // 2, 1)}
    term = tensor(numbers(*sizes[bias], seed=2))
    term = term[:, 1] if bias == "strided" else term
    threads, results = wisp.get_num_threads(), []
    for count in (1, 2, 5):
        wisp.set_num_threads(count)
        results.append(wisp.nn.functional.linear(x, weight, term))
    wisp.set_num_threads(threads)
    exact = x.double() @ weight.double().t() + term
    assert results[0].equal(results[1]) and results[0].equal(results[2])
    assert (results[0] - exact).abs().max() < 3e-6 * terms**0.5


def test_halves_of_the_terms_with_factors():
    a, b, c = numbers(48, 801), numbers(80, 801, seed=1), numbers(48, 160, seed=2)
    expected = 0.5 * c[:, ::2].astype(np.float64) - 2.0 * a.astype(np.float64) @ b.T
    x = wisp.addmm(tensor(c)[:, ::2], tensor(a), tensor(b).t(), beta=0.5, alpha=-2.0)
    np.testing.assert_allclose(x.tolist(), expected, rtol=1e-4, atol=2e-4)
    wide = tensor(c)
    target = wide[:, :80]  # its rows do not follow each other
    target.addmm_(tensor(a), tensor(b).t(), beta=0.0)
    np.testing.assert_allclose(target.tolist(), a.astype(np.float64) @ b.T, rtol=1e-4, atol=1e-4)
    assert np.array_equal(wide[:, 80:].tolist(), c[:, 80:].astype(np.float64))


def test_stacks_broadcast_without_copies():
    a, b = numbers(3, 1, 5, 4), numbers(2, 4, 6, seed=1)
    np.testing.assert_allclose((tensor(a) @ tensor(b)).tolist(), a @ b, rtol=1e-5, atol=1e-6)
    expanded = tensor(b[0]).expand(7, 4, 6)
    np.testing.assert_allclose(
        wisp.bmm(wisp.ones(7, 2, 4), expanded)[6].tolist(), np.ones((2, 4)) @ b[0], rtol=1e-5, atol=1e-6
    )


def test_long_dot_does_not_depend_on_threads():
    x = tensor(numbers(100_001))
    wisp.set_num_threads(1)
    one = wisp.dot(x, x)
    wisp.set_num_threads(2)
    assert wisp.dot(x, x).item() == one.item()
    np.testing.assert_allclose(one.item(), (numbers(100_001).astype(np.float64) ** 2).sum(), rtol=1e-6)


def test_graph_nodes_have_the_usual_names():
    x, v = wisp.ones(2, 2, requires_grad=True), wisp.ones(2, requires_grad=True)
    stack = wisp.ones(3, 2, 2, requires_grad=True)
    names = {
        "MmBackward0": x @ x,
        "MvBackward0": x @ v,
        "DotBackward0": v @ v,
        "BmmBackward0": wisp.bmm(stack, stack),
        "UnsafeViewBackward0": stack @ x,
        "AddmmBackward0": wisp.addmm(v, x, x),
        "BaddbmmBackward0": wisp.baddbmm(stack, stack, stack),
        "LinalgCrossBackward0": wisp.cross(wisp.ones(3, requires_grad=True), wisp.ones(3), dim=0),
        "CdistBackward0": wisp.cdist(x, x),
    }
    for name, result in names.items():
        assert result.grad_fn.name() == name


def test_coinciding_points_have_no_gradient():
    x = wisp.tensor([[1.0, 2.0]], requires_grad=True)
    for p in (0.5, 1.0, 2.0, 3.0, float("inf")):
        (grad,) = wisp.autograd.grad(wisp.cdist(x, x.detach(), p).sum(), x)
        assert grad.tolist() == [[0.0, 0.0]]


def test_other_types_get_their_turn():
    class Right:
        def __rmatmul__(self, left):
            return "right"

    assert wisp.ones(2) @ Right() == "right"
    with pytest.raises(TypeError):
        wisp.ones(2) @ 3
    x = wisp.ones(2, 2)
    x @= wisp.ones(2, 2)
    assert x.tolist() == [[2.0, 2.0], [2.0, 2.0]]


SHAPES = [(1, 1, 1), (1, 300, 77), (5, 1, 9), (6, 64, 256), (7, 65, 257), (97, 260, 31), (200, 300, 600), (2, 3, 2000)]
SHAPES += [(130, 150, 64), (103, 1100, 40), (1100, 90, 99), (33, 177, 1541)]


@pytest.mark.parametrize("m, n, k", SHAPES)
@pytest.mark.parametrize("layout", ["rows", "columns", "strided"])
def test_bfloat16_is_summed_in_float32(m, n, k, layout):
    def operand(rows, cols, seed):
        if layout == "columns":
            return wisp.from_numpy(numbers(cols, rows, seed=seed)).bfloat16().t()
        step = 2 if layout == "strided" else 1
        return wisp.from_numpy(numbers(rows * step, cols * step, seed=seed)).bfloat16()[::step, ::step]

    a, b, c, row = operand(m, k, 0), operand(k, n, 1), operand(m, n, 2), operand(n, 1, 3)[:, 0].contiguous()
    exact = a.double() @ b.double()
    unit = 2.0**-8

    def check(got, want):
        assert got.dtype is wisp.bfloat16
        assert bool(((got.double() - want).abs() <= want.abs() * unit + k * 1e-6).all())

    check(a @ b, exact)
    check(wisp.addmm(c, a, b, beta=0.5, alpha=2), 0.5 * c.double() + 2 * exact)
    check(wisp.mm(a, b, out=wisp.empty(n, m, dtype=wisp.bfloat16).t()), exact)
    check(a @ b.contiguous(), exact)
    check(a.contiguous() @ b, exact)
    check(wisp.nn.functional.linear(a, b.t(), row), exact + row.double())


def test_bfloat16_products_of_nothing_and_of_infinity():
    empty = wisp.empty(3, 0, dtype=wisp.bfloat16)
    assert (empty @ empty.t()).tolist() == [[0.0] * 3] * 3
    assert wisp.addmm(wisp.ones(3, 3).bfloat16(), empty, empty.t(), beta=3).tolist() == [[3.0] * 3] * 3
    a = wisp.tensor([[float("inf"), 1.0], [float("nan"), 1.0], [1e-39, 2e38]]).bfloat16()
    got = (a @ wisp.ones(2, 2).bfloat16())[:, 0]
    assert got[0].item() == float("inf") and got[1].isnan() and got[2].item() == wisp.tensor(2e38).bfloat16().item()


def test_bfloat16_products_do_not_depend_on_the_number_of_threads():
    a, b = (wisp.from_numpy(numbers(300, 300, seed=seed)).bfloat16() for seed in (0, 1))
    batch = a.reshape(10, 30, 300)
    threads = wisp.get_num_threads()
    try:
        results = []
        for count in (1, 2, 3):
            wisp.set_num_threads(count)
            results.append((a @ b, a.t() @ b, a @ b.t(), batch @ b, wisp.bmm(batch, batch.transpose(1, 2))))
    finally:
        wisp.set_num_threads(threads)
    for other in results[1:]:
        assert all(wisp.equal(x, y) for x, y in zip(results[0], other, strict=True))


def test_results_of_einsum_lie_in_the_order_of_their_dimensions():
    w, x = wisp.rand(5, 3), wisp.rand(2, 3)
    for equation, operands in (
        ("fd,bd->bf", (w, x)),
        ("bd,fd->bf", (x, w)),
        ("nfd,nbd->nbf", (w.expand(4, 5, 3), x.expand(4, 2, 3))),
    ):
        result = wisp.einsum(equation, *operands)
        assert result.is_contiguous()
        assert wisp.allclose(result, (x @ w.t()).expand(result.shape))
