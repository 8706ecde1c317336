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


@pytest.mark.parametrize("dtype", [wisp.float16, wisp.bfloat16])
@pytest.mark.parametrize("rows,columns", [(1, 1), (3, 5), (70, 33), (1030, 129), (5, 16385), (9, 4096), (0, 4)])
def test_layer_norm_of_halves(dtype, rows, columns):
    x, upper = wisp.randn(rows, columns).to(dtype), wisp.randn(rows, columns).to(dtype)
    weight, bias = wisp.randn(columns).to(dtype), wisp.randn(columns).to(dtype)
    found, wide = [], []
    for to, results in ((dtype, found), (wisp.float32, wide)):
        leaves = [t.clone().to(to).requires_grad_() for t in (x, weight, bias)]
        y = F.layer_norm(leaves[0], (columns,), *leaves[1:])
        y.backward(upper.to(to))
        results += [y, *(leaf.grad for leaf in leaves)]
    apart = x.clone().t().contiguous().t().requires_grad_()  # the input alone, of rows that lie apart
    F.layer_norm(apart, (columns,), weight, bias).backward(upper)
    assert apart.grad.equal(found[1])
    for one, other in zip(found, wide, strict=True):
        assert one.dtype == dtype
        assert one.float().allclose(other, rtol=2**-7, atol=2**-8 * max(1, rows / 8))


@pytest.mark.parametrize("shape,dim", [((4, 6), 1), ((4, 6), 0), ((3, 10, 5, 7), 1), ((2, 0), 1), ((300, 700), -1)])
def test_gradients_of_glu(shape, dim):
    x = wisp.randn(shape, dtype=wisp.float64, requires_grad=True)
    value, gate = x.detach().chunk(2, dim)
    s = gate.sigmoid()
    y = F.glu(x, dim)
    upper = wisp.randn(y.shape, dtype=wisp.float64)
    y.backward(upper)
    assert y.allclose(value * s) and F.glu(x.detach(), dim).allclose(value * s)
    assert x.grad.allclose(wisp.cat([upper * s, upper * value * s * (1 - s)], dim))
    if x.numel() < 500:
        assert wisp.autograd.gradcheck(lambda x: F.glu(x, dim), x)
        assert wisp.autograd.gradgradcheck(lambda x: F.glu(x, dim), x)


@pytest.mark.parametrize(
    "size,to", [((17, 23), (5, 4)), ((9, 8), (3, 2)), ((5, 6), (7, 9)), ((12, 4), (1, 4)), ((8, 3), (8, 1))]
)
def test_gradients_of_adaptive_means(size, to):
    def means(n, m):
        w = wisp.zeros(m, n, dtype=wisp.float64)
        for i in range(m):
            begin, end = i * n // m, -(-(i + 1) * n // m)
            w[i, begin:end] = 1 / (end - begin)
        return w

    x = wisp.randn(3, 2, *size, requires_grad=True)
    y = F.adaptive_avg_pool2d(x, to)
    upper = wisp.randn(y.shape)
    y.backward(upper)
    rows, columns = means(size[0], to[0]), means(size[1], to[1])
    assert y.double().allclose(rows @ x.detach().double() @ columns.T, atol=1e-5)
    assert x.grad.double().allclose(rows.T @ upper.double() @ columns, atol=1e-5)


@pytest.mark.parametrize("channels", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("size,padding", [(9, 4), (5, 0), (3, 1)])
def test_convolutions_to_few_channels(channels, size, padding):
    x, weight = wisp.randn(2, 24, 21, 19, requires_grad=True), wisp.randn(channels, 24, size, size, requires_grad=True)
    bias = wisp.randn(channels, requires_grad=True)
    y = F.conv2d(x, weight, bias, padding=padding)
    upper = wisp.randn(y.shape)
    found = [y.detach(), *wisp.autograd.grad(y, (x, weight, bias), upper)]
    wide = [t.detach().double().requires_grad_() for t in (x, weight, bias)]
    exact = F.conv2d(*wide, padding=padding)
    for one, other in zip(found, [exact, *wisp.autograd.grad(exact, wide, upper.double())], strict=True):
        assert one.double().allclose(other.detach(), rtol=1e-4, atol=1e-4 * other.abs().max().item())


@pytest.mark.parametrize("n", [0, 1, 2, 7, 256, 257, 9001])
@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("dtype", [wisp.float64, wisp.float32, wisp.bfloat16])
def test_windows(n, periodic, dtype):
    places = wisp.arange(n, dtype=wisp.float64) / max(n - (not periodic), 1)
    turn = 2 * wisp.pi * places
    root = (1 - (2 * places - 1) ** 2).clamp(min=0).sqrt()
    shapes = {
        "bartlett": 1 - (2 * places - 1).abs(),
        "hann": 0.5 - 0.5 * turn.cos(),
        "hamming": 0.54 - 0.46 * turn.cos(),
        "blackman": 0.42 - 0.5 * turn.cos() + 0.08 * (2 * turn).cos(),
        "kaiser": wisp.special.i0(12 * root) / wisp.special.i0(wisp.tensor(12.0, dtype=wisp.float64)),
    }
    for name, expected in shapes.items():
        found = getattr(wisp, name + "_window")(n, periodic, dtype=dtype)
        assert found.dtype == dtype and found.shape == (n,)
        expected = expected if n != 1 else wisp.ones(1, dtype=wisp.float64)
        assert found.double().allclose(expected, rtol=4 * wisp.finfo(dtype).eps, atol=1e-14), name
