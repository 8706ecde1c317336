"""Convolutions beyond single small calls: both kernels, layouts, threads, fork; modules and lazy modules."""

import copy
import os
import pickle
import threading

import pytest

import wisp
from tests import fresh
from wisp import nn
from wisp.backends import mkldnn

F = nn.functional

# (input, weight, arguments of convolution()) that are large enough for oneDNN, and some it does not know.
CASES = {
    "3x3": ((2, 16, 17, 19), (24, 16, 3, 3), ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)),
    "strided": ((2, 8, 21, 20), (16, 8, 3, 3), ([2, 2], [1, 1], [1, 1], False, [0, 0], 1)),
    "dilated": ((1, 16, 20, 20), (16, 16, 3, 3), ([1, 1], [2, 2], [2, 2], False, [0, 0], 1)),
    "first layer": ((4, 3, 40, 40), (16, 3, 7, 7), ([2, 2], [3, 3], [1, 1], False, [0, 0], 1)),
    "1x1": ((2, 32, 14, 14), (64, 32, 1, 1), ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)),
    "depthwise": ((2, 32, 24, 24), (32, 1, 3, 3), ([1, 1], [1, 1], [1, 1], False, [0, 0], 32)),
    "grouped": ((2, 64, 16, 16), (64, 32, 3, 3), ([1, 1], [1, 1], [1, 1], False, [0, 0], 2)),
    "1-d": ((2, 16, 400), (32, 16, 5), ([1], [2], [1], False, [0], 1)),
    "3-d": ((1, 8, 8, 9, 10), (16, 8, 3, 3, 3), ([1, 1, 1], [1, 1, 1], [1, 1, 1], False, [0, 0, 0], 1)),
    "transposed": ((2, 32, 8, 8), (32, 16, 4, 4), ([2, 2], [1, 1], [1, 1], True, [0, 0], 1)),
    "transposed, padded": ((2, 16, 12, 12), (16, 16, 3, 3), ([1, 1], [0, 0], [2, 2], True, [1, 1], 1)),
    "transposed, odd": ((2, 16, 11, 13), (16, 8, 3, 3), ([2, 2], [1, 1], [1, 1], True, [1, 1], 1)),
}


def run(case, dtype=wisp.float32, channels_last=False):
    """The result and all gradients."""
    x_shape, w_shape, settings = CASES[case]
    generator = wisp.Generator().manual_seed(1)
    x = wisp.randn(x_shape, generator=generator).to(dtype)
    w = wisp.randn(w_shape, generator=generator).to(dtype)
    b = wisp.randn(w_shape[1] if settings[3] else w_shape[0], generator=generator).to(dtype)
    if channels_last:
        x = x.contiguous(memory_format=wisp.channels_last)
    leaves = [t.requires_grad_() for t in (x, w, b)]
    y = wisp.convolution(x, w, b, *settings)
    grad = wisp.randn(y.shape, generator=generator).to(dtype)
    if channels_last:
        grad = grad.contiguous(memory_format=wisp.channels_last)
    y.backward(grad)
    return [y.detach(), *(t.grad for t in leaves)]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("layout", ["contiguous", "channels_last"])
@pytest.mark.parametrize("enabled", [True, False])
def test_kernels_agree_with_double_precision(case, layout, enabled):
    channels_last = layout == "channels_last"
    if channels_last and len(CASES[case][0]) != 4:
        pytest.skip("of images only")
    with mkldnn.flags(enabled=False):
        want = run(case, wisp.float64)
    with mkldnn.flags(enabled=enabled):
        got = run(case, channels_last=channels_last)
    assert got[0].is_contiguous(memory_format=wisp.channels_last if channels_last else wisp.contiguous_format)
    for a, b in zip(got, want):
        assert (a.double() - b).abs().max() < 2e-6 * b.abs().max() * 10


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("enabled", [True, False])
def test_the_number_of_threads_changes_nothing(case, enabled):
    with mkldnn.flags(enabled=enabled):
        wisp.set_num_threads(1)
        want = run(case)
        for threads in (2, 3, 7):
            wisp.set_num_threads(threads)
            assert all(a.equal(b) for a, b in zip(run(case), want))
    wisp.set_num_threads(2)


def test_half_precision_is_computed_in_float32():
    for dtype in (wisp.bfloat16, wisp.float16):
        x, w = wisp.randn(1, 8, 10, 10).to(dtype), wisp.randn(8, 8, 3, 3).to(dtype)
        assert F.conv2d(x, w).equal(F.conv2d(x.float(), w.float()).to(dtype))


def test_python_threads_convolve_at_the_same_time():
    x, w = wisp.randn(2, 16, 20, 20), wisp.randn(16, 16, 3, 3)
    want, wrong = F.conv2d(x, w), []

    def work():
        for _ in range(20):
            if not F.conv2d(x, w).equal(want):
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_many_shapes_push_each_other_out():
    w = wisp.randn(16, 16, 3, 3)
    for size in range(20, 300):
        F.conv2d(wisp.ones(1, 16, 10, size), w)
    assert F.conv2d(wisp.ones(1, 16, 10, 20), wisp.ones(16, 16, 3, 3)).eq(144).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_convolves():
    code = """
import os, wisp
def step():
    x, w = wisp.ones(4, 16, 32, 32), wisp.ones(16, 16, 3, 3, requires_grad=True)
    wisp.conv2d(x, w).sum().backward()
    return w.grad.sum().item()
want = step()
pid = os.fork()
if pid == 0:
    os._exit(0 if step() == want else 1)
print(os.waitpid(pid, 0)[1])
"""
    assert fresh.python(code, timeout=60).strip() == "0"


def test_onednn_is_loaded_when_first_needed():
    code = """
import wisp
maps = lambda: "libdnnl" in open("/proc/self/maps").read()
before = maps()
wisp.conv2d(wisp.ones(1, 1, 8, 8), wisp.ones(1, 1, 3, 3))
small = maps()
wisp.conv2d(wisp.ones(2, 16, 32, 32), wisp.ones(16, 16, 3, 3)).sum()
print(before, small, maps() == wisp.backends.mkldnn.is_available())
"""
    assert fresh.python(code).split() == ["False", "False", "True"]


# --- modules


def test_representations():
    assert repr(nn.Conv2d(3, 4, 3)) == "Conv2d(3, 4, kernel_size=(3, 3), stride=(1, 1))"
    full = nn.Conv2d(4, 4, (3, 2), stride=2, padding=(1, 0), dilation=2, groups=2, bias=False, padding_mode="reflect")
    assert repr(full) == (
        "Conv2d(4, 4, kernel_size=(3, 2), stride=(2, 2), padding=(1, 0), dilation=(2, 2), groups=2, bias=False, "
        "padding_mode=reflect)"
    )
    assert repr(nn.Conv1d(1, 2, 3, padding="same")) == "Conv1d(1, 2, kernel_size=(3,), stride=(1,), padding=same)"
    transposed = nn.ConvTranspose2d(3, 4, 3, stride=2, output_padding=1)
    assert repr(transposed) == "ConvTranspose2d(3, 4, kernel_size=(3, 3), stride=(2, 2), output_padding=(1, 1))"
    assert repr(nn.LazyConv2d(4, 3)) == "LazyConv2d(0, 4, kernel_size=(3, 3), stride=(1, 1))"


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding_modes(dims, mode):
    conv = getattr(nn, f"Conv{dims}d")(2, 3, 3, padding=2, padding_mode=mode)
    x = wisp.randn(1, 2, *[5] * dims)
    padded = F.pad(x, [2] * (2 * dims), mode=mode)
    assert conv(x).equal(getattr(F, f"conv{dims}d")(padded, conv.weight, conv.bias))
    same = getattr(nn, f"Conv{dims}d")(2, 3, 4, padding="same", padding_mode=mode)
    assert same(x).shape[2:] == x.shape[2:]


def test_transposed_convolutions_reach_the_size_asked_for():
    conv = nn.ConvTranspose2d(3, 4, 3, stride=2)
    x = wisp.zeros(1, 3, 5, 5)
    assert conv(x, output_size=(12, 11)).shape == (1, 4, 12, 11)
    assert conv(x, output_size=(1, 4, 11, 12)).shape == (1, 4, 11, 12)
    with pytest.raises(ValueError, match=r"valid sizes range from \[11, 11\] to \[12, 12\]"):
        conv(x, output_size=(13, 13))
    with pytest.raises(ValueError, match="output_size must have 2 or 4 elements"):
        conv(x, output_size=(1, 1, 4, 11, 12))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"groups": 0}, "groups must be a positive integer"),
        ({"groups": 2}, "in_channels must be divisible by groups"),
        ({"groups": 3}, "out_channels must be divisible by groups"),
        ({"padding": "foo"}, "Invalid padding string 'foo'"),
        ({"padding": "same", "stride": 2}, "not supported for strided"),
        ({"padding_mode": "foo"}, "padding_mode must be one of"),
    ],
)
def test_bad_settings(arguments, message):
    with pytest.raises(ValueError, match=message):
        nn.Conv2d(3, 4, 3, **arguments)


def test_initial_weights_lie_within_their_bound():
    conv = nn.Conv2d(8, 16, 3)
    bound = (8 * 9) ** -0.5
    assert bound * 0.9 < conv.weight.abs().max() <= bound
    assert conv.bias.abs().max() <= bound


LAZY = {
    "LazyLinear": ((2, 3), lambda: nn.LazyLinear(4), nn.Linear),
    "LazyConv1d": ((2, 3, 8), lambda: nn.LazyConv1d(4, 3), nn.Conv1d),
    "LazyConv2d": ((2, 3, 8, 8), lambda: nn.LazyConv2d(4, 3, padding=1), nn.Conv2d),
    "LazyConv3d": ((2, 4, 5, 5, 5), lambda: nn.LazyConv3d(4, 3, groups=2), nn.Conv3d),
    "LazyConvTranspose1d": ((2, 3, 8), lambda: nn.LazyConvTranspose1d(4, 3), nn.ConvTranspose1d),
    "LazyConvTranspose2d": ((2, 3, 8, 8), lambda: nn.LazyConvTranspose2d(4, 3, stride=2), nn.ConvTranspose2d),
    "LazyConvTranspose3d": ((3, 5, 5, 5), lambda: nn.LazyConvTranspose3d(4, 3), nn.ConvTranspose3d),
    "LazyBatchNorm1d": ((2, 3), nn.LazyBatchNorm1d, nn.BatchNorm1d),
    "LazyBatchNorm2d": ((2, 3, 4, 4), nn.LazyBatchNorm2d, nn.BatchNorm2d),
    "LazyBatchNorm3d": ((2, 3, 4, 4, 4), nn.LazyBatchNorm3d, nn.BatchNorm3d),
    "LazyInstanceNorm1d": ((2, 3, 4), nn.LazyInstanceNorm1d, nn.InstanceNorm1d),
    "LazyInstanceNorm2d": ((2, 3, 4, 4), nn.LazyInstanceNorm2d, nn.InstanceNorm2d),
    "LazyInstanceNorm3d": ((2, 3, 4, 4, 4), nn.LazyInstanceNorm3d, nn.InstanceNorm3d),
}


@pytest.mark.parametrize("name", LAZY)
def test_lazy_modules_become_ordinary_ones(name):
    shape, make, becomes = LAZY[name]
    lazy = make().double()
    assert type(lazy).__name__ == name and lazy.has_uninitialized_params()
    twins = (copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy)))
    for module in (lazy, *twins):
        x = wisp.randn(shape).double()
        y = module(x)
        assert type(module) is becomes
        assert y.dtype == wisp.float64
        assert all(type(p) is nn.Parameter and p.dtype == wisp.float64 for p in module.parameters())
        y.sum().backward()
        assert module(x).shape == y.shape
    again = make()
    again.load_state_dict(lazy.state_dict())
    assert not again.has_uninitialized_params()
    assert again.double()(x).shape == y.shape and type(again) is becomes


def test_uninitialised_parameters_refuse_use():
    lazy = nn.LazyLinear(4)
    assert repr(lazy.weight) == "<UninitializedParameter>"
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        _ = lazy.weight.shape
    for use in (lambda w: w + 1, lambda w: w.numel(), lambda w: w.clone(), len):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
            use(lazy.weight)
    with pytest.raises(RuntimeError, match="Can't access the shape"):
        nn.Linear(3, 4).load_state_dict(lazy.state_dict())
    with pytest.raises(RuntimeError, match=r"Expected 3D \(unbatched\) or 4D \(batched\) input to LazyConv2d"):
        nn.LazyConv2d(4, 3)(wisp.zeros(3, 5))
    nn.LazyLinear(4).load_state_dict(lazy.state_dict())  # both without shape: nothing to copy


# --- what uses them


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_fused_batch_normalisation(transpose, bias):
    conv = (nn.ConvTranspose2d if transpose else nn.Conv2d)(3, 4, 3, bias=bias).eval()
    bn = nn.BatchNorm2d(4)
    bn(wisp.randn(4, 4, 5, 5) * 3 + 1)
    bn.eval()
    x = wisp.randn(2, 3, 6, 6)
    fused = nn.utils.fuse_conv_bn_eval(conv, bn, transpose)
    assert fused(x).allclose(bn(conv(x)), atol=1e-5)
    assert isinstance(fused.weight, nn.Parameter) and fused.weight.requires_grad
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        nn.utils.fuse_conv_bn_eval(conv.train(), bn)


def test_fused_linear_batch_normalisation():
    linear, bn = nn.Linear(3, 4).eval(), nn.BatchNorm1d(4)
    bn(wisp.randn(16, 4) * 2 + 1)
    bn.eval()
    x = wisp.randn(5, 3)
    assert nn.utils.fuse_linear_bn_eval(linear, bn)(x).allclose(bn(linear(x)), atol=1e-5)


def test_skip_init_draws_nothing():
    wisp.manual_seed(3)
    want = wisp.rand(2)
    wisp.manual_seed(3)
    assert nn.utils.skip_init(nn.Conv2d, 3, 4, 3).weight.shape == (4, 3, 3, 3)
    assert wisp.rand(2).equal(want)
    with pytest.raises(RuntimeError, match="Module must support a 'device' arg"):
        nn.utils.skip_init(nn.ReLU)


def test_weights_with_channels_last():
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())
    x = wisp.randn(1, 3, 6, 6)
    want = net(x)
    nn.utils.convert_conv2d_weight_memory_format(net, wisp.channels_last)
    assert net[0].weight.is_contiguous(memory_format=wisp.channels_last)
    assert net(x).allclose(want, atol=1e-6)
    assert net(x).is_contiguous(memory_format=wisp.channels_last)


def test_gradients_by_name():
    from wisp.nn import grad

    x, w = wisp.randn(2, 4, 7, 6, requires_grad=True), wisp.randn(6, 2, 3, 2, requires_grad=True)
    y = F.conv2d(x, w, stride=2, padding=1, groups=2)
    g = wisp.randn(y.shape)
    y.backward(g)
    assert grad.conv2d_input(x.shape, w, g, 2, 1, 1, 2).allclose(x.grad, atol=1e-5)
    assert grad.conv2d_weight(x, w.shape, g, 2, 1, 1, 2).allclose(w.grad, atol=1e-5)


def test_a_small_network_learns():
    wisp.manual_seed(0)
    first, second = nn.Conv2d(1, 8, 3, stride=2), nn.Conv2d(8, 8, 3, padding=1)
    net = nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), nn.Flatten(), nn.LazyLinear(2))
    x = wisp.randn(64, 1, 9, 9)
    labels = (x[:, 0, :4].sum((1, 2)) > x[:, 0, 5:].sum((1, 2))).long()
    net(x)
    optimizer = wisp.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]
