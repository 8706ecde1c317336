"""Distances of points to each other: every width of rows, more points than are taken at once, every norm."""

import numpy as np
import pytest

import wisp

NORMS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, np.inf)


def points(rows, cols, dtype, seed=0):
    return np.random.default_rng(seed).standard_normal((rows, cols)).astype(dtype)


def norm(step, p):
    size = np.abs(step)
    if p == 0:
        return (size != 0).sum(-1)
    return size.max(-1, initial=0) if np.isinf(p) else (size**p).sum(-1) ** (1 / p)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("p", NORMS)
def test_distances_of_pairs_are_norms_of_steps(dtype, p):
    for cols in (0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 130):
        x = points(9, cols, dtype)
        first, second = np.triu_indices(9, 1)
        wide = x.astype(np.float64)
        expected = norm(wide[first] - wide[second], p)
        tolerance = 1e-5 if dtype == "float32" else 1e-13
        np.testing.assert_allclose(wisp.pdist(wisp.tensor(x), p).numpy(), expected, tolerance, tolerance)
        matrix = wisp.cdist(wisp.tensor(x), wisp.tensor(x), p, "donot_use_mm_for_euclid_dist").numpy()
        np.testing.assert_allclose(matrix[first, second], expected, tolerance, tolerance)


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("cols", [1, 5, 16, 19])
def test_gradients_of_pairs_are_those_of_the_whole_matrix(p, cols):
    rows = 150  # more than one piece of pairs
    x = wisp.tensor(points(rows, cols, "float64"), requires_grad=True)
    weights = wisp.tensor(points(rows * (rows - 1) // 2, 1, "float64", 1)[:, 0])
    wisp.pdist(x, p).backward(weights)
    first, second = np.triu_indices(rows, 1)
    y = x.detach().requires_grad_()
    matrix = wisp.cdist(y, y, p, "donot_use_mm_for_euclid_dist")
    matrix[wisp.tensor(first), wisp.tensor(second)].backward(weights)
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), 1e-9, 1e-9)


def test_gradients_of_pairs_are_slopes():
    x = wisp.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]], requires_grad=True)
    wisp.pdist(x).backward(wisp.tensor([1.0, 1.0, 2.0]))  # the second pair coincides
    np.testing.assert_allclose(x.grad.numpy(), [[-0.6, -0.8], [1.8, 2.4], [-1.2, -1.6]], 1e-6)


def test_nan_is_the_largest_distance():
    x = wisp.tensor([[0.0] * 20, [1.0] * 19 + [float("nan")], [2.0] * 20])
    assert wisp.pdist(x, float("inf")).isnan().tolist() == [True, False, True]


def test_distances_do_not_depend_on_threads():
    x = wisp.tensor(points(300, 33, "float32"), requires_grad=True)
    found, threads = [], wisp.get_num_threads()
    try:
        for count in (1, 2, 3):
            wisp.set_num_threads(count)
            out = wisp.pdist(x, 3.0)
            (grad,) = wisp.autograd.grad(out.sum(), x)
            found.append((out.detach().numpy(), grad.numpy()))
    finally:
        wisp.set_num_threads(threads)
    for out, grad in found[1:]:
        assert (out == found[0][0]).all() and (grad == found[0][1]).all()


@pytest.mark.parametrize("p", [0.0, 1.5, 2.0])
def test_pairs_have_second_derivatives(p):
    x = wisp.tensor(points(5, 3, "float64"), requires_grad=True)
    assert wisp.autograd.gradgradcheck(lambda x: wisp.pdist(x, p), (x,))


def test_pdist_of_other_dtypes_is_refused():
    with pytest.raises(NotImplementedError, match="not implemented for dtype float16"):
        wisp.pdist(wisp.zeros(3, 2, dtype=wisp.float16))
