"""Layers of bfloat16 against the same layers of float64 on the same numbers. Where the processor multiplies bfloat16
these run kernels of their own, elsewhere they compute in float32; both round a result once."""

import copy

import pytest

import wisp
from wisp import nn
from wisp.nn import functional as F


def numbers(*sizes, seed=0):
    return wisp.randn(*sizes, generator=wisp.Generator().manual_seed(seed)).bfloat16()


def close(ours, wide, much=1.0):
    """Within some roundings of the largest number."""
    assert ours.dtype == wisp.bfloat16
    assert ours.shape == wide.shape
    error = (ours.double() - wide).abs().max().item()
    assert error <= much * 2**-7 * max(wide.abs().max().item(), 1e-3), error


def results_and_gradients(f, inputs):
    leaves = [x.clone().requires_grad_() for x in inputs]
    out = f(*leaves)
    out.backward(numbers(*out.shape, seed=9).to(out.dtype))
    return [out.detach(), *(x.grad for x in leaves)]


def agree(f, *inputs, much=1.0):
    ours = results_and_gradients(f, inputs)
    wide = results_and_gradients(f, [x.double() for x in inputs])
    for a, b in zip(ours, wide, strict=True):
        close(a, b, much)


CONVOLUTIONS = {
    "3x3": ((4, 16, 20, 20), (32, 16, 3, 3), {"padding": 1}),
    "1x1": ((4, 16, 20, 20), (48, 16, 1, 1), {}),
    "strided": ((3, 16, 21, 19), (32, 16, 3, 3), {"stride": 2}),
    "dilated": ((2, 16, 24, 24), (16, 16, 3, 3), {"dilation": 2, "padding": 2}),
    "odd channels": ((3, 7, 20, 20), (11, 7, 3, 3), {"padding": 1}),
    "grouped": ((2, 32, 16, 16), (32, 16, 3, 3), {"groups": 2, "padding": 1}),
    "depthwise": ((2, 32, 24, 24), (32, 1, 3, 3), {"groups": 32, "padding": 1}),
    "large weight": ((2, 64, 6, 6), (128, 64, 3, 3), {"padding": 1}),
    "one dimension": ((2, 16, 200), (32, 16, 5), {}),
    "three dimensions": ((2, 8, 6, 10, 10), (16, 8, 3, 3, 3), {"padding": 1}),
    "small": ((1, 2, 5, 5), (3, 2, 3, 3), {}),
}


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions(case, channels_last):
    x, weight, options = CONVOLUTIONS[case]
    if channels_last and len(x) != 4:
        pytest.skip("images only")
    conv = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[len(x)]

    def f(x, weight, bias):
        x = x.contiguous(memory_format=wisp.channels_last) if channels_last else x
        return conv(x, weight, bias, **options)

    agree(f, numbers(*x, seed=1), numbers(*weight, seed=2), numbers(weight[0], seed=3))


@pytest.mark.parametrize("bias", [False, True])
def test_transposed_convolutions(bias):
    inputs = [numbers(2, 16, 12, 12, seed=1), numbers(16, 24, 3, 3, seed=2), *([numbers(24, seed=3)] if bias else [])]
    agree(lambda x, w, *b: F.conv_transpose2d(x, w, *b, stride=2, padding=1), *inputs)


def test_a_network_of_convolutions():
    wisp.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 1), nn.ReLU(),
        nn.Conv2d(32, 32, 3, 2, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 5),
    ).bfloat16()  # fmt: skip
    x = numbers(8, 3, 32, 32)
    wide = nn.Sequential(*model).double()(x.double()).detach()
    close(model.bfloat16()(x).detach(), wide, 4)


@pytest.mark.parametrize("masked", [None, "causal", "bools", "numbers"])
def test_attention(masked):
    mask = {"bools": numbers(33, 70, seed=4) > -1, "numbers": numbers(33, 70, seed=4)}.get(masked)

    def f(q, k, v):
        given = mask.to(q.dtype) if masked == "numbers" else mask
        return F.scaled_dot_product_attention(q, k, v, given, is_causal=masked == "causal")

    agree(f, numbers(2, 3, 33, 16, seed=1), numbers(2, 3, 70, 16, seed=2), numbers(2, 3, 70, 24, seed=3), much=3)


def test_attention_of_many_keys_and_shared_heads():
    def f(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)

    agree(f, numbers(1, 4, 150, 32, seed=1), numbers(1, 2, 700, 32, seed=2), numbers(1, 2, 700, 32, seed=3), much=3)


def sequences(*lengths):
    """Of 24 numbers a step, packed."""
    given = [numbers(length, 24, seed=length) for length in lengths]
    return nn.utils.rnn.pack_sequence(given, enforce_sorted=False)


RECURRENT = {
    "whole panels": (64, {}, numbers(9, 5, 24)),
    "part of a panel": (40, {"num_layers": 2}, numbers(9, 5, 24)),
    "odd": (33, {"num_layers": 2}, numbers(6, 13, 24)),
    "several parts of the depth": (450, {}, numbers(4, 3, 24)),
    "one sequence": (40, {}, numbers(12, 1, 24)),
    "one step": (45, {}, numbers(1, 1, 24)),
    "too few to pack": (41, {}, numbers(2, 3, 24)),
    "both ways": (33, {"bidirectional": True}, sequences(3, 9, 1, 5, 5)),
    "packed": (40, {"num_layers": 2}, sequences(4, 3, 11)),
    "without biases": (31, {"bias": False}, numbers(3, 21, 24)),
}


def recurrent_results(model, x):
    """Outputs, last states and gradients."""
    model.zero_grad()
    rows = x.data if isinstance(x, nn.utils.rnn.PackedSequence) else x
    leaf = rows.clone().requires_grad_()
    out, states = model(x._replace(data=leaf) if rows is not x else leaf)
    out = out.data if rows is not x else out
    last = states if isinstance(states, tuple) else (states,)
    loss = (out * numbers(*out.shape, seed=9)).sum() + sum(s.sum() for s in last)
    loss.backward()
    return [out.detach(), *(s.detach() for s in last), leaf.grad, *(p.grad.clone() for p in model.parameters())]


@pytest.mark.parametrize("case", RECURRENT)
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN", "projected"])
def test_recurrent_layers(kind, case):
    hidden, options, x = RECURRENT[case]
    wisp.manual_seed(0)
    if kind == "projected":
        model = nn.LSTM(24, hidden, proj_size=19, **options).bfloat16()
    else:
        model = getattr(nn, kind)(24, hidden, **options).bfloat16()
    ours = recurrent_results(model, x)
    wide = recurrent_results(copy.deepcopy(model).double(), x.to(wisp.float64))
    for a, b in zip(ours, wide, strict=True):
        close(a, b, 4)


@pytest.mark.parametrize("case", ["part of a panel", "several parts of the depth", "one sequence", "both ways"])
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_recurrent_layers_do_not_depend_on_the_number_of_threads(kind, case):
    hidden, options, x = RECURRENT[case]
    wisp.manual_seed(0)
    model = getattr(nn, kind)(24, hidden, **options).bfloat16()
    before, seen = wisp.get_num_threads(), []
    try:
        for threads in (1, 3):
            wisp.set_num_threads(threads)
            seen.append(recurrent_results(model, x))
    finally:
        wisp.set_num_threads(before)
    assert all(wisp.equal(a, b) for a, b in zip(*seen, strict=True))


def test_results_do_not_depend_on_the_number_of_threads():
    x, weight = numbers(5, 16, 20, 20, seed=1), numbers(32, 16, 3, 3, seed=2)
    q = numbers(2, 4, 200, 32, seed=3)
    before, seen = wisp.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            wisp.set_num_threads(threads)
            conv = results_and_gradients(lambda x, w: F.conv2d(x, w, padding=1), [x, weight])
            attention = results_and_gradients(F.scaled_dot_product_attention, [q, q, q])
            product = [numbers(300, 520) @ numbers(520, 270, seed=1), numbers(1, 520) @ numbers(270, 520).t()]
            seen.append(conv + attention + product)
    finally:
        wisp.set_num_threads(before)
    for other in seen[1:]:
        assert all(wisp.equal(a, b) for a, b in zip(seen[0], other, strict=True))


NORMS = {
    "group": ((4, 8, 20, 20), 8, lambda x, w, b: F.group_norm(x, 2, w, b)),
    "layer": ((40, 8, 20, 20), 20, lambda x, w, b: F.layer_norm(x, (20,), w, b)),
    "batch": ((4, 8, 20, 20), 8, lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True)),
    "instance": ((4, 8, 20, 20), 8, lambda x, w, b: F.instance_norm(x, None, None, w, b)),
}


@pytest.mark.parametrize("kind", NORMS)
def test_parameters_of_float32_get_gradients_of_float32(kind):
    sizes, channels, norm = NORMS[kind]

    def gradients(dtype):
        weight, bias = wisp.ones(channels, requires_grad=True), wisp.zeros(channels, requires_grad=True)
        out = norm(numbers(*sizes).to(dtype).requires_grad_(), weight, bias)
        out.backward(numbers(*sizes, seed=1).to(dtype))
        return weight.grad, bias.grad

    for mixed, wide in zip(gradients(wisp.bfloat16), gradients(wisp.float32)):
        wisp.testing.assert_close(mixed, wide)


@pytest.mark.parametrize("dtype", [wisp.float16, wisp.bfloat16])
def test_what_rms_norm_adds_is_that_of_the_dtype_it_computes_in(dtype):
    small = wisp.full((4,), 0.05, dtype=dtype)
    assert F.rms_norm(small, (4,)).tolist() == [1.0] * 4
