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


@pytest.mark.parametrize("m, k, n", [(65, 64, 65), (200, 30, 301), (1, 700, 513), (513, 700, 1), (33, 1000, 31)])
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
