"""Images that convolutions leave in blocks of channels: the same to everybody, whoever looks and however."""

import copy
import io
import pickle
import textwrap
import threading

import numpy as np
import pytest

import wisp
from tests import fresh
from wisp import _C, nn
from wisp.backends import mkldnn

F = nn.functional

pytestmark = pytest.mark.skipif(not mkldnn.is_available(), reason="built without oneDNN")


def image(channels=16, size=12, batch=3, seed=0):
    """A result of a convolution that nobody has looked at, and its values."""
    generator = wisp.Generator().manual_seed(seed)
    x = wisp.randn(batch, 8, size, size, generator=generator)
    weight = wisp.randn(channels, 8, 3, 3, generator=generator)
    values = F.conv2d(x.double(), weight.double(), padding=1).float()
    made = F.conv2d(x, weight, padding=1)
    assert _C._is_arranged(made)
    return made, values


def close(a, b, tolerance=1e-4):
    """Equal up to the rounding of sums whose terms are about as large as the largest result."""
    wisp.testing.assert_close(a, b, rtol=tolerance, atol=tolerance * max(1.0, b.abs().max().item()))


LOOKS = {
    "numpy": lambda t: t.numpy(),
    "print": lambda t: t.numpy() if repr(t) else None,
    "data_ptr": lambda t: t.numpy() if t.data_ptr() else None,
    "contiguous": lambda t: t.contiguous().numpy(),
    "clone": lambda t: t.clone().numpy(),
    "deepcopy": lambda t: copy.deepcopy(t).numpy(),
    "pickle": lambda t: pickle.loads(pickle.dumps(t)).numpy(),
    "view": lambda t: t.view(-1).numpy().reshape(t.shape),
    "flatten": lambda t: t.flatten(1).numpy().reshape(t.shape),
    "reshape": lambda t: t.reshape(t.shape[0], -1, 2).numpy().reshape(t.shape),
    "permuted": lambda t: t.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2).numpy(),
    "index": lambda t: np.stack([t[i].numpy() for i in range(len(t))]),
    "item": lambda t: np.array([v.item() for v in t.flatten()], dtype=np.float32).reshape(t.shape),
    "list": lambda t: np.array(t.tolist(), dtype=np.float32),
    "double": lambda t: t.double().numpy().astype(np.float32),
    "half of it": lambda t: np.concatenate([c.numpy() for c in t.chunk(2, 1)], 1),
    "channels last": lambda t: t.contiguous(memory_format=wisp.channels_last).numpy(),
    "shared": lambda t: t.share_memory_().numpy(),
    "dlpack": lambda t: np.from_dlpack(t),
    "storage": lambda t: np.array(t.untyped_storage().tolist(), dtype=np.uint8).view(np.float32).reshape(t.shape),
    "resized": lambda t: t.resize_(t.numel() + 5)[:-5].numpy().reshape(3, 16, 12, 12),
    "moved into": lambda t: wisp.empty(t.shape).copy_(t).numpy(),
    "detached": lambda t: t.detach().numpy(),
}


@pytest.mark.parametrize("look", LOOKS)
def test_whoever_looks_sees_the_same(look):
    made, values = image()
    np.testing.assert_allclose(LOOKS[look](made), values.numpy(), rtol=1e-4, atol=1e-4)


def test_saved_and_loaded():
    made, values = image()
    file = io.BytesIO()
    wisp.save({"made": made}, file)
    file.seek(0)
    close(wisp.load(file)["made"], values)


def test_writes_through_views_are_seen():
    made, values = image()
    made.view(-1)[5] = 7.0
    values.view(-1)[5] = 7.0
    close(made, values)


def test_a_view_made_before_sees_later_writes():
    made, values = image()
    rows = made.view(3, -1)
    assert _C._is_arranged(made)
    made.relu_()
    assert _C._is_arranged(made)
    close(rows, values.relu().view(3, -1))


def numbers(t, count):
    """Weights and biases of channels."""
    return wisp.linspace(0.5, 2, count, dtype=t.dtype), wisp.linspace(-1, 1, count, dtype=t.dtype)


CHAINS = {
    "relu": lambda t: t.relu(),
    "in place": lambda t: t.mul_(2).add_(1).relu_(),
    "numbers": lambda t: (t * 2 + 1).tanh() / 3,
    "with itself": lambda t: t + t,
    "compared": lambda t: (t > 0).float() * t,
    "where": lambda t: wisp.where(t > 0, t, 0.1 * t),
    "clamped": lambda t: t.clamp(-1, 1),
    "one number": lambda t: t * wisp.tensor(3.0),
    "per channel": lambda t: t * wisp.arange(16.0).view(16, 1, 1),
    "per member and channel": lambda t: t * wisp.arange(48.0).view(3, 16, 1, 1),
    "with a plain one": lambda t: t + wisp.arange(float(t.numel())).view(t.shape) / t.numel(),
    "a plain one with it": lambda t: wisp.arange(float(t.numel())).view(t.shape) / t.numel() - t,
    "larger than it": lambda t: t + wisp.ones(2, 1, 1, 1, 1),
    "with a part of itself": lambda t: t + t[:1],
    "a part with all": lambda t: t[:1] + t,
    "with its transpose": lambda t: t + t.transpose(2, 3),
    "in place with a part": lambda t: t.add_(t[:, :1].clone()),
    "half": lambda t: t.half().float(),
    "max pooling": lambda t: F.max_pool2d(t, 3, 2, 1),
    "average pooling": lambda t: F.avg_pool2d(t, 2),
    "all pixels": lambda t: F.adaptive_avg_pool2d(t, 1),
    "adaptive": lambda t: F.adaptive_max_pool2d(t, (5, 3)),
    "interpolated": lambda t: F.interpolate(t, scale_factor=2, mode="bilinear"),
    "mean of pixels": lambda t: t.mean((2, 3)),
    "sum of members and pixels": lambda t: t.sum((0, 2, 3)),
    "sum of all": lambda t: t.sum(),
    "sum of channels": lambda t: t.sum(1),
    "largest": lambda t: t.amax((2, 3)),
    "variance": lambda t: t.var((0, 2, 3)),
    "softmax": lambda t: t.softmax(1),
    "batch norm": lambda t: F.batch_norm(t, None, None, training=True),
    "batch norm, evaluated": lambda t: F.batch_norm(t, wisp.zeros(16).to(t.dtype), wisp.ones(16).to(t.dtype)),
    "group norm": lambda t: F.group_norm(t, 4),
    "group norm of all channels": lambda t: F.group_norm(t, 1, *numbers(t, 16)),
    "group norm with weights": lambda t: F.group_norm(t, 2, *numbers(t, 16)),
    "members as channels": lambda t: wisp.native_group_norm(t, *numbers(t, 48), 1, 48, 144, 6, 1e-5)[0],
    "instance norm": lambda t: F.instance_norm(t, weight=numbers(t, 16)[0]),
    "joined": lambda t: wisp.cat([t, t * 2, t], 1),
    "joined members": lambda t: wisp.cat([t, t]),
    "joined with a plain one": lambda t: wisp.cat([t, wisp.ones(t.shape, dtype=t.dtype)], 1),
    "stacked": lambda t: wisp.stack([t, t]),
    "padded": lambda t: F.pad(t, (1, 1)),
    "channels shuffled": lambda t: F.channel_shuffle(t, 4),
    "unfolded": lambda t: F.unfold(t, 3),
    "as a weight of itself": lambda t: F.conv2d(t, t[:, :, :3, :3] + 0, padding=1),
    "and its own weight": lambda t: F.conv2d(t, t, padding=2),
    "convolved": lambda t: F.conv2d(t, wisp.ones(24, 16, 3, 3).to(t.dtype), padding=1),
    "convolved 1x1": lambda t: F.conv2d(t, wisp.ones(24, 16, 1, 1).to(t.dtype)),
    "depthwise": lambda t: F.conv2d(t, wisp.ones(16, 1, 3, 3).to(t.dtype), padding=1, groups=16),
    "strided": lambda t: F.conv2d(t, wisp.ones(8, 16, 3, 3).to(t.dtype), stride=2),
    "few channels": lambda t: F.conv2d(t, wisp.ones(5, 16, 3, 3).to(t.dtype)),
    "transposed": lambda t: F.conv_transpose2d(t, wisp.ones(16, 8, 3, 3).to(t.dtype), wisp.ones(8).to(t.dtype)),
    "long chain": lambda t: F.max_pool2d(F.relu(F.batch_norm(t, None, None, training=True) + t), 2).mean((2, 3)),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_kernels_agree_with_plain_order(chain):
    made, values = image()
    f = CHAINS[chain]
    close(f(made), f(values.double()).float(), 2e-3 if chain == "half" else 1e-4)
    # ... and so do derivatives, of every input and of the input twice.
    grads = []
    for leave in (True, False):
        x = wisp.linspace(-1, 1, 3 * 8 * 12 * 12).view(3, 8, 12, 12).requires_grad_()
        weight = wisp.linspace(1, -1, 16 * 8 * 9).view(16, 8, 3, 3).requires_grad_()
        y = F.conv2d(x, weight, padding=1)
        if not leave:
            y.data_ptr()
        result = f(y)
        result.backward((wisp.arange(float(result.numel())).view(result.shape) / result.numel()).to(result.dtype))
        grads.append((x.grad, weight.grad))
    for arranged, plain in zip(*grads, strict=True):
        close(arranged, plain, 1e-3)


def block(T=nn):
    wisp.manual_seed(0)
    return T.Sequential(
        T.Conv2d(3, 16, 3, padding=1), T.BatchNorm2d(16), T.ReLU(), T.MaxPool2d(3, 2, 1),
        T.Conv2d(16, 32, 1), T.BatchNorm2d(32), T.ReLU(inplace=True), T.Conv2d(32, 32, 3, 2, 1, groups=2), T.Dropout(0.0),
        T.Conv2d(32, 48, 3, padding=1), T.SiLU(), T.AdaptiveAvgPool2d(1), T.Flatten(), T.Linear(48, 5),
    )  # fmt: skip


def gradients(model, x):
    model.zero_grad()
    model(x).square().sum().backward()
    return [p.grad.clone() for p in model.parameters()]


def test_a_network_stays_arranged_and_agrees_with_double():
    model, x = block(), wisp.randn(4, 3, 32, 32, generator=wisp.Generator().manual_seed(1))
    seen = []
    for layer in list(model)[:10]:
        layer.register_forward_hook(lambda m, args, out: seen.append(_C._is_arranged(out)))
    grads = gradients(model, x)
    assert all(seen)
    for ours, wide in zip(grads, gradients(copy.deepcopy(model).double(), x.double()), strict=True):
        close(ours, wide.float(), 1e-3)


@pytest.mark.parametrize("norm", [lambda: nn.GroupNorm(4, 16), lambda: nn.InstanceNorm2d(16, affine=True)])
def test_norms_of_groups_stay_arranged(norm):
    x = wisp.randn(4, 8, 12, 12, generator=wisp.Generator().manual_seed(1))
    model = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), norm(), nn.SiLU(), nn.Conv2d(16, 16, 3, padding=1))
    seen, grads = [], []
    for layer in model:
        layer.register_forward_hook(lambda m, args, out: seen.append(_C._is_arranged(out)))
        layer.register_full_backward_hook(lambda m, given, taken: grads.append(_C._is_arranged(taken[0])))
    before, results = wisp.get_num_threads(), []
    try:
        for threads in (1, 3):
            wisp.set_num_threads(threads)
            results.append(gradients(model, x))
    finally:
        wisp.set_num_threads(before)
    assert len(seen) == len(grads) == 8 and all(seen)
    # Without AVX2, oneDNN has no blocks for gradients.
    assert all(grads) or wisp.backends.cpu.get_cpu_capability() == "DEFAULT"
    for one, three in zip(*results, strict=True):
        assert wisp.equal(one, three)
    for ours, wide in zip(results[0], gradients(copy.deepcopy(model).double(), x.double()), strict=True):
        close(ours, wide.float(), 1e-3)


def rounded_image(seed, offset=0.0):
    """As image(), of bfloat16; the mean of a channel may lie far from zero."""
    generator = wisp.Generator().manual_seed(seed)
    x, weight = wisp.randn(5, 16, 14, 14, generator=generator), wisp.randn(32, 16, 3, 3, generator=generator)
    made = F.conv2d(x.bfloat16(), weight.bfloat16(), wisp.full((32,), offset).bfloat16(), padding=1)
    if not _C._is_arranged(made):
        pytest.skip("the processor does not multiply bfloat16")
    return made


def norm_and_gradients(norm, x, grad, dtype):
    """Its result, and the gradients of its input, weights and biases."""
    weight, bias = (t.to(dtype).requires_grad_() for t in numbers(wisp.ones(1), 32))
    x = x.detach().requires_grad_()
    out = norm(x, weight, bias)
    out.backward(grad)
    return [out.detach(), x.grad, weight.grad, bias.grad]


NORMS = {
    "batch": lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
    "group": lambda x, w, b: F.group_norm(x, 4, w, b),
    "instance": lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
}


@pytest.mark.parametrize("offset", [0.0, 300.0])
@pytest.mark.parametrize("norm", NORMS)
def test_norms_of_bfloat16_stay_arranged(norm, offset):
    before, results = wisp.get_num_threads(), []
    try:
        for threads in (1, 3):
            wisp.set_num_threads(threads)
            x, grad = rounded_image(1, offset), rounded_image(2)
            results.append(norm_and_gradients(NORMS[norm], x, grad, wisp.float32))
    finally:
        wisp.set_num_threads(before)
    assert all(_C._is_arranged(t) for t in results[0][:2])
    assert all(wisp.equal(a, b) for a, b in zip(*results, strict=True))
    wide = norm_and_gradients(NORMS[norm], x.double(), grad.double(), wisp.float64)
    for ours, exact, tolerance in zip(results[0], wide, (2**-8, 2**-8, 1e-5, 1e-5), strict=True):
        close(ours.double(), exact, tolerance)


def test_batch_norm_of_bfloat16_by_given_statistics():
    x, (scale, shift) = rounded_image(1), numbers(wisp.ones(1), 32)
    out = F.batch_norm(x, shift, scale, scale, shift)
    assert _C._is_arranged(out)
    wide = [t.double() for t in (x, shift, scale, scale, shift)]
    close(out.double(), F.batch_norm(*wide), 2**-8)


def test_batch_norm_of_bfloat16_that_is_everywhere_the_same():
    x = rounded_image(1) * 0 + 1.703125
    assert _C._is_arranged(x)
    mean, var = wisp.zeros(32), wisp.ones(32)
    assert wisp.equal(F.batch_norm(x, mean, var, training=True, momentum=1.0), wisp.zeros_like(x))
    assert wisp.equal(mean, wisp.full((32,), 1.703125)) and wisp.equal(var, wisp.zeros(32))


@pytest.mark.parametrize("batch", [1, 2, 5, 16, 19])
def test_results_do_not_depend_on_the_number_of_threads(batch):
    model, x = block(), wisp.randn(batch, 3, 32, 32)
    before = wisp.get_num_threads()
    try:
        wisp.set_num_threads(1)
        alone = gradients(model, x)
        wisp.set_num_threads(3)
        together = gradients(model, x)
    finally:
        wisp.set_num_threads(before)
    for a, b in zip(alone, together, strict=True):
        assert wisp.equal(a, b)


def test_second_derivatives():
    x = wisp.randn(2, 8, 8, 8, requires_grad=True)
    weight = wisp.randn(16, 8, 3, 3, requires_grad=True)

    def penalty(x, weight):
        y = F.conv2d(x, weight, padding=1).tanh()
        (g,) = wisp.autograd.grad(y.square().sum(), x, create_graph=True)
        return wisp.autograd.grad(g.square().sum(), weight)[0]

    wide = penalty(x.double().detach().requires_grad_(), weight.double().detach().requires_grad_()).float()
    close(penalty(x, weight), wide, 1e-3)


def test_into_given_memory():
    x, weight = wisp.randn(2, 8, 9, 9), wisp.randn(16, 8, 3, 3)
    values = F.conv2d(x.double(), weight.double()).float()
    out = wisp.empty(2, 16, 7, 7)
    address, seen = out.numpy(), out.view(-1)
    wisp.convolution(x, weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, out=out)
    np.testing.assert_allclose(address, values.numpy(), rtol=1e-4, atol=1e-4)
    close(seen.view(values.shape), values)


def test_many_threads_look_at_one_image():
    wrong = []
    weight = wisp.ones(8, 16, 3, 3)
    for seed in range(8):
        made, values = image(size=40, seed=seed)
        want = F.conv2d(values.double(), weight.double()).float()
        start = threading.Barrier(4)

        def look(kind, made=made, values=values, want=want, start=start):
            start.wait()
            got = {0: made.numpy, 1: lambda: made.relu().numpy(), 2: lambda: F.conv2d(made, weight).numpy()}[kind % 3]()
            right = {0: values, 1: values.relu(), 2: want}[kind % 3]
            if not np.allclose(got, right.numpy(), rtol=1e-3, atol=1e-3):
                wrong.append(kind)

        threads = [threading.Thread(target=look, args=(kind,)) for kind in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_after_a_fork():
    fresh.python(
        textwrap.dedent(
            """
        import os, wisp
        x, w = wisp.randn(2, 8, 20, 20), wisp.randn(16, 8, 3, 3)
        y = wisp.nn.functional.conv2d(x, w)
        want = wisp.nn.functional.conv2d(x.double(), w.double()).float()
        child = os.fork()
        ok = wisp.allclose(y.relu(), want.relu(), atol=1e-3) and wisp.allclose(y, want, atol=1e-3)
        if child == 0:
            os._exit(0 if ok else 1)
        assert ok and os.waitpid(child, 0)[1] == 0
        """
        )
    )


@pytest.mark.parametrize("f", [lambda t: F.dropout(t, 0.0001), lambda t: t.neg(), lambda t: t.sum((2, 3))])
def test_elements_of_another_size_are_not_taken_for_the_image(f):
    made, values = image()
    wide = wisp.complex(made, made)
    assert _C._is_arranged(wide)
    wisp.manual_seed(0)
    found = f(wide.view(wisp.float32))
    wisp.manual_seed(0)
    close(found, f(wisp.complex(values, values).view(wisp.float32)))


def test_dropout_of_an_image_in_both_orders():
    made, values = image()
    out = F.dropout(made, 0.5)
    assert _C._is_arranged(out)
    close(wisp.where(out == 0, 0.0, values * 2), out)


def test_batch_norm_of_images_of_one_pixel():
    wisp.manual_seed(0)
    weight = wisp.randn(128, 128, 3, 3) / 30

    def gradients(dtype):
        wisp.manual_seed(1)
        x = wisp.randn(3, 128, 2, 2, dtype=wisp.float64).to(dtype).requires_grad_()
        y = F.conv2d(x, weight.to(dtype), None, 2, 1)
        assert _C._is_arranged(y) == (dtype == wisp.float32 and arranges)
        gain = wisp.ones(128, dtype=dtype, requires_grad=True)
        out = F.batch_norm(y, None, None, gain, None, True)
        out.backward(wisp.randn(3, 128, 1, 1, dtype=wisp.float64).to(dtype))
        return x.grad, gain.grad

    arranges = _C._is_arranged(F.conv2d(wisp.randn(3, 128, 2, 2), weight, None, 2, 1))
    for got, want in zip(gradients(wisp.float32), gradients(wisp.float64), strict=True):
        assert wisp.allclose(got, want.float(), atol=1e-3)
