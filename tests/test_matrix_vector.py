"""A matrix times a vector: rows that are short or long for the first-level cache, and any number of them."""

import numpy as np
import pytest

import wisp


@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64])
@pytest.mark.parametrize("terms", [1, 7, 64, 515, 1536, 1537, 3072, 3073, 4100, 9216])
def test_sums_of_all_lengths(dtype, terms):
    generator = wisp.Generator().manual_seed(terms)
    for rows in (1, 3, 4, 8, 9, 21):
        a = wisp.randn(rows, terms, dtype=dtype, generator=generator)
        x = wisp.randn(terms, dtype=dtype, generator=generator)
        y = wisp.randn(rows, dtype=dtype, generator=generator)
        exact = a.double().numpy() @ x.double().numpy()
        bound = (a.abs().double().numpy() @ x.abs().double().numpy()) * (1e-6 if dtype == wisp.float32 else 1e-15)
        assert (np.abs((a @ x).double().numpy() - exact) <= bound).all()
        added = wisp.addmv(y, a, x, beta=2, alpha=-3).double().numpy()
        assert (np.abs(added - (2 * y.double().numpy() - 3 * exact)) <= 4 * bound + 1e-6).all()


@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64])
@pytest.mark.parametrize("terms", [5, 203, 4100])
def test_sums_go_to_places_that_are_apart(dtype, terms):
    a, x = wisp.randn(37, terms, dtype=dtype), wisp.randn(terms, dtype=dtype)
    y = wisp.randn(37, 3, dtype=dtype)
    expected = wisp.addmv(y[:, 1].contiguous(), a, x, beta=2, alpha=-3)
    kept = y.clone()
    y[:, 1].addmv_(a, x, beta=2, alpha=-3)
    assert y[:, 1].equal(expected)
    assert y[:, ::2].equal(kept[:, ::2])


@pytest.mark.parametrize("terms", [203, 512, 1999, 9216])
def test_a_row_has_the_same_sum_alone_and_among_others_on_any_number_of_threads(terms):
    a, x = wisp.randn(421, terms), wisp.randn(terms)
    together = a @ x
    for i in range(0, 421, 7):
        assert (a[i : i + 1] @ x).item() == together[i].item()
    before = wisp.get_num_threads()
    try:
        for threads in (1, 2, 3):
            wisp.set_num_threads(threads)
            assert (a @ x).equal(together)
            assert wisp.nn.functional.linear(x.unsqueeze(0), a)[0].equal(together)
    finally:
        wisp.set_num_threads(before)
