"""Training with channels last: in blocks between convolutions, in rows elsewhere, with the results of contiguous images."""

import numpy as np
import pytest

import wisp
from wisp import _C, nn
from wisp.backends import cpu, mkldnn
from wisp.nn import functional as F

needs_onednn = pytest.mark.skipif(not mkldnn.is_available(), reason="built without oneDNN")
last = wisp.channels_last


def to_last(*tensors):
    return [t.detach().contiguous(memory_format=last).requires_grad_(t.requires_grad) for t in tensors]


def bits(t):
    return t.detach().contiguous().numpy().tobytes()


def images(channels=16, size=12, batch=3):
    """Results of a convolution of an image of few channels: in blocks, with channels last."""
    x = wisp.randn(batch, 3, size, size)
    weight = wisp.randn(channels, 3, 3, 3)
    made = F.conv2d(*to_last(x, weight), padding=1)
    assert made.is_contiguous(memory_format=last) and not made.is_contiguous()
    return made, F.conv2d(x.double(), weight.double(), padding=1).float()


LOOKS = {
    "numpy": lambda t: t.numpy(),
    "contiguous": lambda t: t.contiguous().numpy(),
    "clone": lambda t: t.clone().numpy(),
    "rows": lambda t: t.permute(0, 2, 3, 1).view(-1, t.shape[1]).view(len(t), 12, 12, -1).permute(0, 3, 1, 2).numpy(),
    "index": lambda t: np.stack([t[i].numpy() for i in range(len(t))]),
    "pixel": lambda t: np.concatenate([t[:, :, :5].numpy(), t[:, :, 5:].numpy()], 2),
    "half of it": lambda t: np.concatenate([c.numpy() for c in t.chunk(2, 1)], 1),
    "flattened": lambda t: t.flatten(1).numpy().reshape(t.shape),
    "double": lambda t: t.double().numpy().astype(np.float32),
    "relu": lambda t: t.relu().numpy() - (-t).relu().numpy(),
    "in place": lambda t: t.add_(1).sub_(1).numpy(),
    "added to rows": lambda t: (t + wisp.zeros_like(t).contiguous(memory_format=last)).numpy(),
    "added to planes": lambda t: (t + wisp.zeros(t.shape)).numpy(),
    "planes first": lambda t: (wisp.zeros(t.shape) + t).numpy(),
    "written into": lambda t: wisp.empty(t.shape).copy_(t).numpy(),
    "moved out": lambda t: wisp.add(t, 0, out=wisp.empty(t.shape)).numpy(),
    "joined": lambda t: wisp.cat([t, t], 1)[:, : t.shape[1]].numpy(),
    "upsampled": lambda t: F.interpolate(t, scale_factor=2)[:, :, ::2, ::2].numpy(),
    "pooled": lambda t: F.max_pool2d(t, 1).numpy(),
    "averaged": lambda t: F.avg_pool2d(t, 1).numpy(),
}


@needs_onednn
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("shape", [(16, 3), (64, 1), (32, 5)])
def test_images_in_blocks_are_ordinary_tensors(look, shape):
    made, values = images(shape[0], batch=shape[1])
    assert _C._is_arranged(made)
    np.testing.assert_allclose(LOOKS[look](made), values.numpy(), rtol=1e-4, atol=1e-4)


@needs_onednn
def test_sums_over_pixels_and_large_indices_in_blocks():
    made, values = images(32)
    wisp.testing.assert_close(made.mean((2, 3)), values.mean((2, 3)), rtol=1e-4, atol=1e-4)
    pooled, where = F.max_pool2d(made, 3, 2, 1, return_indices=True)
    expected, there = F.max_pool2d(made.contiguous(), 3, 2, 1, return_indices=True)
    assert pooled.is_contiguous(memory_format=last) and bits(pooled) == bits(expected) and (where == there).all()


class Block(nn.Module):
    def __init__(self, given, channels, stride):
        super().__init__()
        self.convs = nn.ModuleList([
            nn.Conv2d(given, channels, 1, bias=False),
            nn.Conv2d(channels, channels, 3, stride, 1, bias=False),
            nn.Conv2d(channels, 2 * channels, 1, bias=False),
            nn.Conv2d(given, 2 * channels, 1, stride, bias=False),
        ])  # fmt: skip
        self.norms = nn.ModuleList(nn.BatchNorm2d(c) for c in (channels, channels, 2 * channels, 2 * channels))

    def forward(self, x):
        y = x
        for i in range(2):
            y = F.relu(self.norms[i](self.convs[i](y)))
        y = self.norms[2](self.convs[2](y))
        return F.relu(y + self.norms[3](self.convs[3](x)))


def network(width):
    wisp.manual_seed(1)
    stem = [nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    return nn.Sequential(*stem, Block(width, width, 1), Block(2 * width, width, 2))


def trained(net, x, steps=2):
    """Results, statistics, gradients and parameters of a few steps, and of an evaluation."""
    optimiser = wisp.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for _ in range(steps):
        optimiser.zero_grad()
        y = net(x)
        (y * y).mean((2, 3)).sum().backward()
        optimiser.step()
    with wisp.no_grad():
        evaluated = net.eval()(x)
    return [y, evaluated, *(p.grad for p in net.parameters()), *net.state_dict().values()]


@needs_onednn
@pytest.mark.parametrize("width", [32, 48])
@pytest.mark.parametrize("winograd", [False, True])
def test_networks_train_to_the_bits_of_contiguous_ones(width, winograd):
    x = wisp.randn(4, 3, 96, 96)  # large enough for all convolutions to go one way
    with cpu.flags(winograd=winograd):
        expected = trained(network(width), x)
        found = trained(network(width).to(memory_format=last), *to_last(x))
    assert found[0].is_contiguous(memory_format=last) and expected[0].is_contiguous()
    # In evaluation a batch norm may be a part of the convolution's weight, or not.
    evaluated = expected.pop(1)
    close = 1e-4 * evaluated.abs().max().item()
    wisp.testing.assert_close(found.pop(1).contiguous(), evaluated, rtol=1e-4, atol=close)
    if not winograd:  # with it last digits differ, and where a relu's input is nearly 0, so do gradients
        assert all(bits(a) == bits(b) for a, b in zip(found, expected, strict=True))
    for a, b in zip(found, expected, strict=True):
        wisp.testing.assert_close(a.contiguous(), b, rtol=1e-2, atol=1e-3 * max(1.0, b.abs().max().item()))


@pytest.mark.parametrize("width", [8, 9, 16])
def test_networks_do_not_depend_on_the_number_of_threads(width):
    (x,) = to_last(wisp.randn(4, 3, 48, 48))
    wisp.set_num_threads(1)
    expected = trained(network(width).to(memory_format=last), x)
    wisp.set_num_threads(3)
    found = trained(network(width).to(memory_format=last), x)
    assert all(bits(a) == bits(b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("width", [8, 9])
def test_networks_of_odd_widths_agree_with_contiguous_ones(width):
    x = wisp.randn(4, 3, 48, 48)
    expected = trained(network(width), x, steps=1)
    found = trained(network(width).to(memory_format=last), *to_last(x), steps=1)
    for a, b in zip(found, expected, strict=True):
        wisp.testing.assert_close(a.contiguous(), b, rtol=2e-3, atol=2e-4)


@needs_onednn
def test_where_blocks_begin_and_end():
    made, _ = images(32)
    again = nn.Conv2d(32, 48, 3, padding=1).to(memory_format=last)
    assert _C._is_arranged(again(made))
    (rows,) = to_last(wisp.randn(3, 32, 12, 12))
    assert not _C._is_arranged(again(rows))
    assert not _C._is_arranged(made + rows)  # whoever made rows wants rows
    made, _ = images(32)
    assert _C._is_arranged(F.relu(made)) and _C._is_arranged(made)
    assert not _C._is_arranged(nn.Conv2d(32, 20, 3).to(memory_format=last)(made))


# --- Rows of channels: batch norm by itself

CHANNELS = [1, 3, 17, 64, 255, 257, 2048]


def norm_step(channels, batch, dtype, order, look=False):
    wisp.manual_seed(channels)
    size = 3 if channels > 1000 else 23
    x, other = (wisp.randn(batch, channels, size, size + 1, dtype=dtype) for _ in range(2))
    norm = nn.BatchNorm2d(channels, dtype=dtype)
    with wisp.no_grad():
        norm.weight.uniform_(-1, 1)
        norm.bias.uniform_(-1, 1)
    x, other = (t.contiguous(memory_format=order).requires_grad_() for t in (x, other))
    y = norm(x * 1)
    if look:
        y.sum()
        y.register_hook(lambda g: g.sum() and None)
    y = y + other * 1
    if look:
        y.sum()
        y.register_hook(lambda g: g.sum() and None)
    y = F.relu(y)
    (y * y).sum().backward()
    return [y, x.grad, other.grad, norm.weight.grad, norm.bias.grad, norm.running_mean, norm.running_var]


@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("batch", [1, 2, 7])
def test_rows_have_the_same_bits_joined_or_one_by_one_on_any_number_of_threads(channels, batch):
    wisp.set_num_threads(2)
    expected = norm_step(channels, batch, wisp.float32, last, look=True)
    for threads in (1, 2, 5):
        wisp.set_num_threads(threads)
        found = norm_step(channels, batch, wisp.float32, last)
        assert all(bits(a) == bits(b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64, wisp.bfloat16])
def test_rows_give_what_planes_give(channels, dtype):
    rows = norm_step(channels, 4, dtype, last)
    planes = norm_step(channels, 4, dtype, wisp.contiguous_format)
    tolerance = {wisp.float32: 1e-4, wisp.float64: 1e-10, wisp.bfloat16: 4e-2}[dtype]
    for a, b in zip(rows, planes, strict=True):
        scale = max(1.0, b.abs().max().item())
        wisp.testing.assert_close(a.contiguous(), b, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("channels", [3, 64, 300])
def test_rows_against_the_formula(channels):
    y, x_grad, *_, weight_grad, bias_grad, mean, variance = norm_step(channels, 4, wisp.float32, last)
    wisp.manual_seed(channels)
    x, other = (wisp.randn(4, channels, 23, 24).double().numpy() for _ in range(2))
    weight, bias = (wisp.empty(channels).uniform_(-1, 1).double().numpy()[:, None, None] for _ in range(2))
    axes, count = (0, 2, 3), x.size // channels
    centre, spread = x.mean(axes, keepdims=True), np.sqrt(x.var(axes, keepdims=True) + 1e-5)
    z = (x - centre) / spread
    expected = np.maximum(z * weight + bias + other, 0)
    grad = 2 * expected
    slope = grad.mean(axes, keepdims=True) + z * (grad * z).mean(axes, keepdims=True)
    close = {"rtol": 1e-3, "atol": 1e-3}
    np.testing.assert_allclose(y.detach().numpy(), expected, **close)
    np.testing.assert_allclose(x_grad.numpy(), (grad - slope) * weight / spread, **close)
    np.testing.assert_allclose(weight_grad.numpy(), (grad * z).sum(axes), rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(bias_grad.numpy(), grad.sum(axes), rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(mean.numpy(), 0.1 * x.mean(axes), atol=1e-5)
    np.testing.assert_allclose(variance.numpy(), 0.9 + 0.1 * x.var(axes) * count / (count - 1), atol=1e-4)


# --- Weights

WEIGHTS = {
    "3x3": (64, 48, 3, 1, 1),
    "1x1": (64, 48, 1, 1, 1),
    "1x1 of pages": (1024, 64, 1, 1, 1),
    "many channels": (96, 256, 3, 1, 1),
    "strided": (32, 64, 3, 2, 1),
    "odd": (17, 23, 3, 1, 1),
    "groups": (64, 64, 3, 1, 2),
    "depthwise": (32, 32, 3, 1, 32),
    "few": (3, 5, 2, 1, 1),
}


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64])
def test_gradients_of_weights_lie_like_them(kind, dtype):
    given, made, size, stride, groups = WEIGHTS[kind]
    x = wisp.randn(5, given, 13, 11, dtype=dtype, requires_grad=True)
    weight = wisp.randn(made, given // groups, size, size, dtype=dtype, requires_grad=True)
    found = to_last(x, weight)
    for a, w in ((x, weight), found):
        (F.conv2d(a, w, None, stride, 1, 1, groups) ** 2).sum().backward()
    assert found[1].grad.stride() == found[1].stride()
    for a, b in zip(found, (x, weight), strict=True):
        wisp.testing.assert_close(a.grad.contiguous(), b.grad, rtol=1e-3, atol=1e-4 * b.grad.abs().max().item())


def test_one_storage_as_two_weights():
    base = wisp.randn(32, 3, 3, 16)
    planes, rows = base.view(32, 16, 3, 3), base.permute(0, 3, 1, 2)
    x = wisp.randn(2, 16, 9, 9)
    expected = [F.conv2d(x.double(), w.double()).float() for w in (planes, rows)]
    with wisp.no_grad():
        for _ in range(2):  # what is kept of the one does not serve the other
            for weight, wanted in zip((planes, rows), expected, strict=True):
                for image in (x, *to_last(x)):
                    wisp.testing.assert_close(F.conv2d(image, weight).contiguous(), wanted, rtol=1e-4, atol=1e-4)
