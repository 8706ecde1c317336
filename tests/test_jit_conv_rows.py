"""Small convolutions of frozen graphs, done row by row with what follows them."""

import random

import pytest

import wisp
from wisp import nn


def frozen(module, x):
    with wisp.no_grad():
        return wisp.jit.optimize_for_inference(wisp.jit.freeze(wisp.jit.trace(module.eval(), (x,))))


def drawn_case(seed):
    """Layers whose last convolution is pooled, and an input that makes its rows multiples of six or a little less."""
    draw = random.Random(seed).choice
    channels, kernel = draw([8, 9, 16, 24, 32]), draw([1, 2, 3, 5])
    padding, dilation, stride = draw([0, 1, kernel // 2]), draw([1, 3]), draw([1, 1, 2])
    conv = nn.Conv2d(
        channels, draw([8, 10, 16, 20, 64, 80]), kernel, stride=(draw([1, 2]), stride), bias=draw([True, False]),
        padding=(draw([0, 2]), padding), dilation=(dilation, 1),
    )  # fmt: skip
    layers = draw([[], [nn.Conv2d(channels, channels, 1), nn.ReLU()]])  # whose result lies in blocks of channels
    layers += [
        conv,
        *draw([[nn.ReLU()], []]),
        draw([nn.MaxPool2d(2), nn.MaxPool2d((2, 3), (3, 3)), nn.MaxPool2d((1, 2))]),
    ]
    layers += draw([[], [nn.Conv2d(conv.out_channels, 24, 3, padding=1), nn.ReLU()], [nn.Flatten(), nn.LazyLinear(3)]])
    width = (draw([12, 24, 28]) - 1) * stride + kernel - 2 * padding
    return nn.Sequential(*layers), wisp.randn(draw([1, 2, 3]), channels, draw([21, 30]), width)


@pytest.mark.parametrize("seed", range(60))
def test_result_is_that_of_the_layers_for_any_number_of_threads(seed):
    wisp.manual_seed(seed)
    module, x = drawn_case(seed)
    module(x)  # fills in what is lazy
    program = frozen(module, x)
    results = []
    before = wisp.get_num_threads()
    for threads in (1, 2, 3):
        wisp.set_num_threads(threads)
        with wisp.no_grad():
            results.append(program(x))
    wisp.set_num_threads(before)
    expected = module.double()(x.double())
    wisp.testing.assert_close(results[0].double(), expected, rtol=1e-4, atol=1e-4)
    assert all(wisp.equal(results[0], other) for other in results)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_special_values_pass_relu_and_pooling(value):
    module = nn.Sequential(nn.Conv2d(8, 16, 3), nn.ReLU(), nn.MaxPool2d(2)).eval()
    x = wisp.randn(1, 8, 14, 14)
    program = frozen(module, x)
    x[0, 0, 5, 5] = value
    with wisp.no_grad():
        wisp.testing.assert_close(program(x), module(x), equal_nan=True)


def test_pooling_is_grouped_with_its_convolution_only_where_windows_do_not_overlap():
    def groups(pool):
        module = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), pool)
        text = str(frozen(module, wisp.randn(1, 3, 16, 16)).graph)
        return "max_pool2d" in text.split("prim::FusionGroup")[1].split("->")[0]

    assert groups(nn.MaxPool2d(2)) and groups(nn.MaxPool2d(2, 3))
    assert not groups(nn.MaxPool2d(3, 2)) and not groups(nn.MaxPool2d(2, padding=1))
    assert not groups(nn.MaxPool2d(2, ceil_mode=True)) and not groups(nn.MaxPool2d(2, 2, dilation=2))


def test_weights_may_change_between_calls_and_gradients_flow():
    conv = nn.Conv2d(8, 16, 3)
    module = nn.Sequential(conv, nn.ReLU(), nn.MaxPool2d(2)).eval()
    x = wisp.randn(1, 8, 14, 14)
    program = wisp.jit.trace(module, (x,))
    for _ in range(2):
        with wisp.no_grad():
            conv.weight.mul_(-1.5)
            wisp.testing.assert_close(program(x), module(x))
    y = x.clone().requires_grad_()
    frozen(module, x)(y).sum().backward()
    z = x.clone().requires_grad_()
    module(z).sum().backward()
    wisp.testing.assert_close(y.grad, z.grad)


def test_lines_pooled_as_one_image_are_not_done_by_rows():
    """max_pool2d takes what conv1d makes of a batch for the channels of one image."""
    module = nn.Sequential(nn.Conv1d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)).eval()
    x = wisp.randn(6, 16, 600)
    program = frozen(module, x)
    expected = module(x).detach()
    with wisp.no_grad():
        wisp.testing.assert_close(program(x), expected, rtol=1e-4, atol=1e-4)
        wisp.testing.assert_close(module(x), expected, rtol=1e-4, atol=1e-4)
