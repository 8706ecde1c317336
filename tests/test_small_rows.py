"""Kernels that take many small rows, or parts of rows, at once: each row is as it is alone."""

import pytest

import wisp

F = wisp.nn.functional


@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64])
@pytest.mark.parametrize("rows,terms", [(1, 1), (2, 3), (3, 3), (4, 4), (4, 5), (5, 4), (7, 9), (16, 16)])
def test_small_matrices_times_vectors(dtype, rows, terms):
    a, x = wisp.randn(3, 50, rows, terms, dtype=dtype), wisp.randn(3, 50, terms, 1, dtype=dtype)
    found = a @ x
    for i in range(0, 50, 7):
        assert found[1, i].equal(a[1, i] @ x[1, i])
    assert (x.mT @ a.mT).equal(found.mT)  # rows times matrices whose columns are consecutive
    apart = wisp.randn(50, terms, 3, dtype=dtype).permute(2, 0, 1).unsqueeze(-1)
    assert (a @ apart).allclose((a * apart.mT).sum(-1, keepdim=True), atol=1e-5)


@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64])
@pytest.mark.parametrize("beta,alpha", [(0, 1), (2, -3), (1, 0.5)])
def test_small_products_onto_what_is_there(dtype, beta, alpha):
    a, x, y = wisp.randn(9, 4, 4, dtype=dtype), wisp.randn(9, 4, 1, dtype=dtype), wisp.randn(9, 4, 1, dtype=dtype)
    expected = beta * y + alpha * (a * x.mT).sum(-1, keepdim=True)
    assert wisp.baddbmm(y, a, x, beta=beta, alpha=alpha).allclose(expected, atol=1e-5)


def linear_weights(size, to):
    """What each element of the result takes of each of the input."""
    eye = wisp.eye(size, dtype=wisp.float64)
    return F.interpolate(eye[None], size=to, mode="linear")[0].T


@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64])
@pytest.mark.parametrize("size,to", [(128, 51), (97, 60), (64, 33), (200, 7), (50, 49), (33, 1), (40, 90)])
def test_gradients_of_rows_that_shrank(dtype, size, to):
    x = wisp.randn(3, 2, size, dtype=dtype, requires_grad=True)
    grad = wisp.randn(3, 2, to, dtype=dtype)
    F.interpolate(x, size=to, mode="linear").backward(grad)
    assert x.grad.double().allclose(grad.double() @ linear_weights(size, to), atol=1e-5)


@pytest.mark.parametrize("size,to", [(128, 51), (97, 60)])
def test_infinite_gradients_reach_only_what_was_used(size, to):
    used = linear_weights(size, to) != 0
    for place in range(0, to, 5):
        x = wisp.zeros(1, 1, size, requires_grad=True)
        grad = wisp.zeros(1, 1, to)
        grad[..., place] = float("inf")
        F.interpolate(x, size=to, mode="linear").backward(grad)
        assert x.grad[0, 0][~used[place]].eq(0).all()
        assert x.grad[0, 0][used[place]].isinf().all()


def padded_by_hand(x, front, back, mode):
    size = x.shape[-1]
    places = wisp.arange(-front, size + back)
    if mode == "reflect":
        places = places.abs()
        places = wisp.where(places >= size, 2 * (size - 1) - places, places)
    elif mode == "replicate":
        places = places.clamp(0, size - 1)
    else:
        places = places % size
    return x[..., places]


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("front,back", [(0, 0), (3, 0), (0, 4), (6, 6), (-2, 3), (3, -2), (-3, -3)])
def test_rows_continued_at_their_ends(mode, front, back):
    x = wisp.randn(2, 3, 7, dtype=wisp.float64, requires_grad=True)
    found = F.pad(x, (front, back), mode=mode)
    cut = x[..., max(-front, 0) : 7 - max(-back, 0)] if mode == "circular" else x
    ends = (max(front, 0), max(back, 0)) if mode == "circular" else (front, back)
    assert found.equal(padded_by_hand(cut, *ends, mode))
    grad = wisp.randn_like(found)
    expected = wisp.autograd.grad(padded_by_hand(cut, *ends, mode), x, grad)[0]
    assert wisp.autograd.grad(found, x, grad)[0].allclose(expected)


def test_replicated_rows_of_which_nothing_is_left_inside():
    x = wisp.tensor([[[1.0, 2.0, 3.0]]])
    assert F.pad(x, (-4, 3), mode="replicate").tolist() == [[[3.0, 3.0]]]
    assert F.pad(x, (3, -4), mode="replicate").tolist() == [[[1.0, 1.0]]]


@pytest.mark.parametrize("columns", [768, 2048, 2500])
def test_layer_norm_of_more_than_the_caches_hold(columns):
    rows = (9 << 20) // (4 * columns) + 3
    x = wisp.randn(rows, columns, requires_grad=True)
    weight, bias = wisp.randn(columns, requires_grad=True), wisp.randn(columns, requires_grad=True)
    grad = wisp.randn(rows, columns)
    y = F.layer_norm(x, (columns,), weight, bias)
    y.backward(grad)
    some = slice(rows - 5, rows)  # rows that are left when four and four are done, among them
    part = x.detach()[some].double().requires_grad_()
    expected = F.layer_norm(part, (columns,), weight.detach().double(), bias.detach().double())
    expected.backward(grad[some].double())
    assert y[some].double().allclose(expected, atol=1e-5)
    assert x.grad[some].double().allclose(part.grad, atol=1e-4)


@pytest.mark.parametrize("dtype", [wisp.complex64, wisp.complex128])
def test_signs_of_complex_numbers(dtype):
    z = wisp.tensor([3 + 4j, 0, -2, 1j, 1e-30 - 1e-30j, 1e30 + 1e30j], dtype=dtype).repeat(5)
    half = 0.5**0.5
    expected = wisp.tensor([0.6 + 0.8j, 0, -1, 1j, half - half * 1j, half + half * 1j], dtype=dtype).repeat(5)
    assert z.sgn().allclose(expected)


@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64, wisp.bfloat16])
@pytest.mark.parametrize(
    "size,stride,padding,dilation",
    [(4, 4, 0, 1), (5, 1, 2, 1), (3, 3, 1, 1), (2, 5, 0, 3), (4, 1, 2, 3), (9, 2, 4, 1), (7, 1, 3, 2)],
)
def test_largest_of_evenly_spaced_windows(dtype, size, stride, padding, dilation):
    for length in (13, 22, 50, 101):
        if dilation * (size - 1) >= length + 2 * padding:
            continue
        x = wisp.randn(2, 3, length, dtype=dtype)
        x[0, 1, length // 2] = float("nan")
        x[1, 2, :9] = -float("inf")
        ends = wisp.full((2, 3, padding), -float("inf"), dtype=dtype)
        windows = wisp.cat([ends, x, ends], -1).unfold(-1, dilation * (size - 1) + 1, stride)[..., ::dilation]
        found = F.max_pool1d(x, size, stride, padding, dilation)
        assert found.float().allclose(windows.float().amax(-1), equal_nan=True, atol=0, rtol=0)
        again, index = F.max_pool1d(x, size, stride, padding, dilation, return_indices=True)
        assert again.float().allclose(found.float(), equal_nan=True, atol=0, rtol=0)
        assert x.gather(-1, index).float().allclose(found.float(), equal_nan=True, atol=0, rtol=0)


def test_places_of_largest_elements_are_the_first_and_of_nan_the_last():
    x = wisp.tensor([1.0, 3, 3, 0, float("nan"), 2, float("nan"), 5, -float("inf"), -float("inf")]).repeat(2)
    assert F.max_pool1d(x[None], 4, 4, return_indices=True)[1].tolist() == [[1, 6, 11, 14, 16]]
    assert F.max_pool1d(x[None, :10], 2, 2, return_indices=True)[1].tolist() == [[1, 2, 4, 6, 8]]


def test_casts_to_float16_round_like_single_numbers():
    x = wisp.cat([wisp.randn(150, dtype=wisp.float64) * 10.0**e for e in range(-9, 6)])
    assert x.half().equal(x.float().half())
    assert x.half()[77:78].equal(x[77:78].half())


CAST = [wisp.bool, wisp.uint8, wisp.int8, wisp.int16, wisp.int32, wisp.int64,
        wisp.float16, wisp.bfloat16, wisp.float32, wisp.float64, wisp.complex64]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("dtype", CAST)
def test_casts_of_many_are_those_of_each(dtype):
    numbers = [
        0.0,
        -0.0,
        1,
        -1.5,
        255,
        300,
        70000,
        2.0**31,
        -(2.0**40),
        1e30,
        float("inf"),
        -float("inf"),
        float("nan"),
        1e-7,
    ]
    x = wisp.tensor(numbers * 10, dtype=wisp.float64)[:-1].to(dtype)
    for other in CAST:
        each = wisp.cat([one.to(other) for one in x.split(1)])
        assert x.to(other).view(wisp.uint8).equal(each.view(wisp.uint8)), other


def test_casts_of_foreign_bools():
    x = wisp.frombuffer(bytearray(range(200)), dtype=wisp.bool)
    for dtype in CAST[1:]:
        assert x.to(dtype).tolist() == [0] + [1] * 199, dtype
