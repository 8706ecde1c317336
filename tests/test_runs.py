"""Runs of equal neighbours: short ones and long ones, in one piece and across pieces, of elements and of slices."""

import numpy as np
import pytest

import wisp


def runs(x):
    """First elements (or rows), numbers and lengths of the runs of a NumPy array."""
    flat = x.reshape(len(x), x[0].size if len(x) else 1)
    starts = np.ones(len(x), bool)
    starts[1:] = (flat[1:] != flat[:-1]).any(1)
    firsts = np.flatnonzero(starts)
    return x[starts], np.cumsum(starts) - 1, np.diff(np.append(firsts, len(x)))


def check(x, dim=None):
    found = wisp.unique_consecutive(wisp.tensor(x), True, True, dim)
    for part, expected in zip(found, runs(x)):
        np.testing.assert_array_equal(part.numpy(), expected)
    np.testing.assert_array_equal(wisp.unique_consecutive(wisp.tensor(x), dim=dim).numpy(), runs(x)[0])


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("length", [1, 2, 9, 5000, 100_001])  # of the runs, about
def test_runs_of_elements(dtype, length):
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 31, 100_000):
        x = np.cumsum(rng.random(n) < 1 / length) % (2 if dtype == "bool" else 100)
        check(x.astype(dtype))


@pytest.mark.parametrize("width", [1, 2, 7, 3000])
def test_runs_of_slices(width):
    rng = np.random.default_rng(1)
    x = np.cumsum(rng.random(70) < 0.3)[:, None] + np.zeros(width, np.int64)
    x[10:20, -1] += np.arange(10) // 3
    check(x, 0)
    check(x.astype(np.float32), 0)
    columns = wisp.unique_consecutive(wisp.tensor(np.ascontiguousarray(x.T)), dim=1)
    np.testing.assert_array_equal(columns.numpy(), runs(x)[0].T)


def test_a_run_is_shown_by_its_first_element_and_nan_equals_nothing():
    zeros = wisp.unique_consecutive(wisp.tensor([-0.0, 0.0, 0.0, 1.0] + [0.0, -0.0] * 40_000))
    assert np.signbit(zeros.numpy()).tolist() == [True, False, False]
    assert len(wisp.unique_consecutive(wisp.tensor([float("nan")] * 3))) == 3
    assert len(wisp.unique_consecutive(wisp.tensor([float("nan")] * 3, dtype=wisp.bfloat16))) == 3


def test_inverse_has_the_shape_of_what_was_given():
    x = wisp.tensor([[1, 1], [2, 1]], dtype=wisp.int64)
    assert wisp.unique_consecutive(x, return_inverse=True)[1].tolist() == [[0, 0], [1, 2]]
    assert wisp.unique(x.T, return_inverse=True)[1].tolist() == [[0, 1], [0, 0]]
    assert wisp.unique_consecutive(wisp.zeros(0, 3), return_inverse=True)[1].shape == (0, 3)
    assert wisp.unique_consecutive(x.T).tolist() == [1, 2, 1]


def test_unique_counts_a_large_tensor():
    x = np.random.default_rng(2).integers(0, 1000, 200_000)
    found = wisp.unique(wisp.tensor(x), return_inverse=True, return_counts=True)
    for part, expected in zip(found, np.unique(x, return_inverse=True, return_counts=True)):
        np.testing.assert_array_equal(part.numpy(), expected)
