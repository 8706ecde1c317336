"""Convolutions of every class of shapes that has a way of its own, against NumPy: values, gradients, threads."""

import itertools

import numpy as np
import pytest

import wisp
from wisp import _C, nn
from wisp.backends import mkldnn

F = nn.functional

# Without AVX2, oneDNN has blocks of channels for results in two dimensions only.
blocks = pytest.mark.skipif(
    not mkldnn.is_available() or wisp.backends.cpu.get_cpu_capability() == "DEFAULT", reason="needs oneDNN and AVX2"
)

# (input, weight, stride, padding, dilation, groups); most are large enough for oneDNN.
CASES = {
    "8 channels": ((3, 8, 17, 19), (8, 8, 3, 3), 1, 1, 1, 1),
    "24 channels": ((2, 24, 13, 11), (40, 24, 3, 3), 2, 1, 1, 1),
    "3x3": ((2, 32, 15, 14), (32, 32, 3, 3), 1, 1, 1, 1),
    "1x1 of 24": ((2, 24, 20, 20), (72, 24, 1, 1), 1, 0, 1, 1),
    "depthwise 24": ((2, 24, 20, 20), (24, 1, 3, 3), 1, 1, 1, 24),
    "depthwise 72, 5x5": ((2, 72, 12, 12), (72, 1, 5, 5), 1, 2, 1, 72),
    "33 channels": ((2, 33, 16, 15), (64, 33, 3, 3), 1, 1, 1, 1),
    "40 to 56": ((2, 40, 14, 13), (56, 40, 3, 3), 1, 1, 1, 1),
    "depthwise 12": ((2, 12, 20, 18), (12, 1, 3, 3), 1, 1, 1, 12),
    "depthwise 3, 11x11": ((2, 3, 30, 26), (3, 1, 11, 11), 1, 5, 1, 3),
    "depthwise 5, strided, dilated": ((2, 5, 21, 19), (5, 1, 3, 3), 2, 2, 2, 5),
    "groups to one each": ((2, 12, 15, 14), (4, 3, 3, 3), 1, 1, 1, 4),
    "36 to 12": ((4, 36, 12, 14), (12, 36, 3, 3), 1, 1, 1, 1),
    "16 to 3": ((4, 16, 22, 20), (3, 16, 3, 3), 1, 1, 1, 1),
    "to one, strided": ((8, 64, 8, 8), (1, 64, 4, 4), 2, 1, 1, 1),
    "6 to 12": ((4, 6, 20, 20), (12, 6, 5, 5), 1, 0, 1, 1),
    "3 to 6": ((16, 3, 28, 28), (6, 3, 5, 5), 1, 2, 1, 1),
    "one image": ((1, 3, 90, 90), (6, 3, 5, 5), 1, 2, 1, 1),
    "stride beyond the window": ((4, 16, 25, 25), (16, 16, 2, 2), 3, 0, 1, 1),
    "4x4, stride 2": ((4, 16, 16, 16), (32, 16, 4, 4), 2, 1, 1, 1),
    "groups of 16": ((2, 48, 14, 14), (48, 16, 3, 3), 2, 1, 1, 3),
    "3-d, first layer": ((3, 1, 12, 11, 10), (8, 1, 3, 3, 3), 1, 1, 1, 1),
    "3-d, 8 to 16": ((3, 8, 7, 9, 8), (16, 8, 3, 3, 3), 1, 1, 1, 1),
    "3-d, 16 to 32, strided": ((2, 16, 9, 8, 7), (32, 16, 3, 3, 3), 2, 1, 1, 1),
    "3-d, dilated": ((2, 16, 10, 10, 10), (16, 16, 3, 3, 3), 1, 2, 2, 1),
    "3-d, odd channels": ((2, 12, 8, 9, 10), (5, 12, 3, 2, 3), 1, 1, 1, 1),
    "3-d, groups": ((2, 32, 6, 7, 8), (32, 16, 3, 3, 3), 1, 1, 1, 2),
    "3-d, small groups": ((2, 8, 8, 8, 8), (16, 2, 3, 3, 3), 1, 1, 1, 4),
    "3-d, depthwise": ((2, 16, 8, 8, 8), (16, 1, 3, 3, 3), 1, 1, 1, 16),
    "3-d, flat windows": ((2, 16, 4, 12, 12), (16, 16, 1, 3, 3), 1, (0, 1, 1), 1, 1),
    "window over all": ((9, 16, 5, 4), (12, 16, 5, 4), 1, 0, 1, 1),
    "window over all, to one": ((6, 64, 4, 4), (1, 64, 4, 4), 2, 0, 1, 1),
    "window over all, 3-d": ((3, 8, 3, 2, 4), (5, 8, 3, 2, 4), 1, 0, 1, 1),
    "window over all, groups": ((3, 8, 4, 4), (6, 4, 4, 4), 1, 0, 1, 2),
    "pixels": ((5, 7, 1, 1), (3, 7, 1, 1), 1, 0, 1, 1),
}


def per_dim(value, dims):
    return tuple(value) if isinstance(value, tuple) else (value,) * dims


def by_numpy(x, w, g, stride, padding, dilation, groups):
    """The result of a convolution, and the gradients of input and weight for the gradient `g` of it, tap by tap."""
    dims = x.ndim - 2
    stride, padding, dilation = (per_dim(v, dims) for v in (stride, padding, dilation))
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    y, x_grad, w_grad = np.zeros(g.shape), np.zeros(padded.shape), np.zeros(w.shape)
    outs, ins = w.shape[0] // groups, w.shape[1]
    for tap in itertools.product(*(range(k) for k in w.shape[2:])):
        space = tuple(
            slice(t * d, t * d + (n - 1) * s + 1, s)
            for t, d, n, s in zip(tap, dilation, g.shape[2:], stride, strict=True)
        )
        for group in range(groups):
            o, i = slice(group * outs, (group + 1) * outs), slice(group * ins, (group + 1) * ins)
            at = (slice(None), i, *space)
            weights = w[(o, slice(None), *tap)]
            y[:, o] += np.einsum("oi,ni...->no...", weights, padded[at])
            x_grad[at] += np.einsum("oi,no...->ni...", weights, g[:, o])
            w_grad[(o, slice(None), *tap)] += np.einsum("nis,nos->oi", *(flat(t) for t in (padded[at], g[:, o])))
    inside = tuple(slice(p, p + n) for p, n in zip(padding, x.shape[2:], strict=True))
    return y, x_grad[(..., *inside)], w_grad


def flat(image):
    return image.reshape(*image.shape[:2], -1)


def arguments(case, seed=0):
    """Input, weight and the gradient of the result as arrays of doubles that float32 holds."""
    x, w, stride, padding, dilation, _ = CASES[case]
    dims = len(x) - 2
    steps = zip(x[2:], w[2:], *(per_dim(v, dims) for v in (stride, padding, dilation)), strict=True)
    sizes = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in steps]
    random = np.random.default_rng(seed)
    made = [random.standard_normal(shape) for shape in (x, w, (x[0], w[0], *sizes))]
    return [a.astype(np.float32).astype(np.float64) for a in made]


def tensors(arrays, dtype):
    return [wisp.tensor(a, dtype=dtype, requires_grad=True) for a in arrays]


def convolution(case):
    _, w, stride, padding, dilation, groups = CASES[case]
    conv = F.conv2d if len(w) == 4 else F.conv3d
    return lambda x, weight, bias=None: conv(x, weight, bias, stride, padding, dilation, groups)


def transposed_convolution(case, input_size):
    """From images of the size of that convolution's results to images of the size of its input."""
    _, w, stride, padding, dilation, groups = CASES[case]
    dims = len(w) - 2
    conv = F.conv_transpose2d if dims == 2 else F.conv_transpose3d
    s, p, d = (per_dim(v, dims) for v in (stride, padding, dilation))

    def run(y, weight, bias=None):
        sizes = [(n - 1) * s[i] - 2 * p[i] + d[i] * (w[i + 2] - 1) + 1 for i, n in enumerate(y.shape[2:])]
        more = [full - size for full, size in zip(input_size, sizes, strict=True)]
        return conv(y, weight, bias, s, p, more, groups, d)

    return run


def close(tensor, array, tolerance):
    assert tensor.shape == array.shape
    assert np.abs(tensor.detach().double().numpy() - array).max() <= tolerance * max(1.0, np.abs(array).max())


WAYS = [(wisp.float32, True, 2e-5), (wisp.float32, False, 2e-5), (wisp.float64, False, 1e-12)]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype, enabled, tolerance", WAYS)
def test_as_numpy(case, dtype, enabled, tolerance):
    arrays = arguments(case)
    wanted = by_numpy(*arrays, *CASES[case][2:])
    bias = np.linspace(-1, 1, arrays[1].shape[0])
    with mkldnn.flags(enabled=enabled):
        x, w, g = tensors(arrays, dtype)
        y = convolution(case)(x, w, wisp.tensor(bias, dtype=dtype))
        close(y, wanted[0] + bias.reshape(-1, *(1,) * (y.ndim - 2)), tolerance)
        y.backward(g.detach())
    close(x.grad, wanted[1], tolerance)
    close(w.grad, wanted[2], tolerance)


@pytest.mark.parametrize("case", [c for c in CASES if c != "stride beyond the window"])
@pytest.mark.parametrize("dtype, enabled, tolerance", WAYS)
def test_transposed_as_numpy(case, dtype, enabled, tolerance):
    arrays = arguments(case)
    x, w, g = arrays
    spread = by_numpy(*arrays, *CASES[case][2:])[1]
    # Of its gradients, that of the input is the convolution of what arrives, and that of the weight has the images
    # in each other's places.
    arriving = np.random.default_rng(1).standard_normal(x.shape).astype(np.float32).astype(np.float64)
    gathered, _, w_grad = by_numpy(arriving, w, g, *CASES[case][2:])
    bias = np.linspace(-1, 1, x.shape[1])
    with mkldnn.flags(enabled=enabled):
        given, weight, _ = tensors((g, w, x), dtype)
        made = transposed_convolution(case, x.shape[2:])(given, weight, wisp.tensor(bias, dtype=dtype))
        close(made, spread + bias.reshape(-1, *(1,) * (x.ndim - 2)), tolerance)
        made.backward(wisp.tensor(arriving, dtype=dtype))
    close(given.grad, gathered, tolerance)
    close(weight.grad, w_grad, tolerance)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("enabled", [True, False])
def test_the_number_of_threads_changes_nothing(case, enabled):
    arrays = arguments(case)

    def step(threads):
        wisp.set_num_threads(threads)
        x, w, g = tensors(arrays, wisp.float32)
        y = convolution(case)(x, w)
        return [y.detach(), *wisp.autograd.grad(y, (x, w), g.detach())]

    with mkldnn.flags(enabled=enabled):
        wanted = step(1)
        for threads in (2, 3, 7):
            assert all(a.equal(b) for a, b in zip(step(threads), wanted, strict=True))
    wisp.set_num_threads(2)


@pytest.mark.parametrize("case", CASES)
def test_second_derivatives_as_in_double_precision(case):
    def second(dtype):
        x, w, g = tensors(arguments(case), dtype)
        y = convolution(case)(x, w)
        firsts = wisp.autograd.grad(y, (x, w), g, create_graph=True)
        return wisp.autograd.grad(sum(t.square().sum() for t in firsts), (x, w, g))

    with mkldnn.flags(enabled=False):
        wanted = second(wisp.float64)
    for a, b in zip(second(wisp.float32), wanted, strict=True):
        close(a, b.numpy(), 1e-4)


@pytest.mark.parametrize("case", CASES)
def test_empty_batches(case):
    x_shape, w_shape, *_ = CASES[case]
    x = wisp.ones(0, *x_shape[1:], requires_grad=True)
    w = wisp.ones(w_shape, requires_grad=True)
    y = convolution(case)(x, w)
    assert y.shape[0] == 0 and y.shape[1:] == arguments(case)[2].shape[1:]
    y.sum().backward()
    assert x.grad.shape == x.shape and w.grad.equal(wisp.zeros(w_shape))


@blocks
@pytest.mark.parametrize("case", ["8 channels", "24 channels", "3-d, first layer", "3-d, 8 to 16"])
def test_results_and_gradients_stay_in_blocks(case):
    x, w, g = tensors(arguments(case), wisp.float32)
    y = convolution(case)(x, w)
    assert _C._is_arranged(y)
    if x.shape[1] % 8 == 0:
        assert _C._is_arranged(wisp.autograd.grad(y, x, g.detach())[0])


@blocks
@pytest.mark.parametrize("case, winograd", [("4x4, stride 2", False), ("3x3", False), ("3x3", True)])
def test_transposed_results_with_a_bias_stay_in_blocks(case, winograd):
    x, w, g = arguments(case)
    bias = np.linspace(-1, 1, x.shape[1])
    given, weight = tensors((g, w), wisp.float32)
    with wisp.backends.cpu.flags(winograd=winograd):
        made = transposed_convolution(case, x.shape[2:])(given, weight, wisp.tensor(bias, dtype=wisp.float32))
    assert _C._is_arranged(made)
    close(made, by_numpy(x, w, g, *CASES[case][2:])[1] + bias.reshape(-1, 1, 1), 2e-5)


def test_a_network_of_8_channels_in_three_dimensions_as_in_double_precision():
    def step(dtype):
        wisp.manual_seed(0)
        model = nn.Sequential(
            nn.Conv3d(1, 8, 3, padding=1),
            nn.BatchNorm3d(8),
            nn.ReLU(),
            nn.MaxPool3d(2),
            nn.ConvTranspose3d(8, 24, 2, 2),
            nn.AvgPool3d(2),
            nn.Conv3d(24, 16, 3, padding=1, bias=False),
            nn.AdaptiveAvgPool3d(1),
            nn.Flatten(),
        ).to(dtype)
        x = wisp.randn(3, 1, 12, 10, 14, generator=wisp.Generator().manual_seed(1)).to(dtype)
        loss = model(x).square().sum()
        loss.backward()
        return [loss.detach(), *(p.grad for p in model.parameters())]

    for a, b in zip(step(wisp.float32), step(wisp.float64), strict=True):
        wisp.testing.assert_close(a.double(), b, rtol=1e-3, atol=1e-4 * max(1.0, b.abs().max().item()))
