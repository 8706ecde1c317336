"""Functions of nn.functional that draw random numbers, and the in-place forms of activations."""

import pytest

import wisp

F = wisp._C._functional


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_dropout_keeps_the_mean(dtype):
    wisp.manual_seed(0)
    x = wisp.ones(200, 300, dtype=getattr(wisp, dtype))
    y = F["dropout"](x, 0.25)
    assert y.dtype == x.dtype
    kept = y[y != 0].float()
    assert abs(len(kept) / x.numel() - 0.75) < 0.01
    assert wisp.allclose(kept, wisp.tensor(4 / 3), rtol=1e-2)


def test_dropout_gradient_is_its_mask():
    x = wisp.randn(50, requires_grad=True)
    y = F["dropout"](x, 0.5)
    y.sum().backward()
    assert wisp.equal(x.grad, wisp.where(y != 0, 2.0, 0.0))
    assert type(y.grad_fn).__name__ == "MulBackward0"


@pytest.mark.parametrize("name", ["dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout"])
def test_dropout_limits(name):
    x = wisp.randn(2, 3, 4)
    assert F[name](x, 0.5, False) is x
    assert F[name](x, 0.0, True) is x
    if name != "alpha_dropout":
        assert not F[name](x, 1.0, True).any()
    for p in (-0.1, 1.1):
        with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1"):
            F[name](x, p)


def test_dropout_in_place_and_repeatable():
    wisp.manual_seed(3)
    x = wisp.ones(1000)
    y = F["dropout"](x, 0.5, True, True)
    assert y is x
    wisp.manual_seed(3)
    assert wisp.equal(F["dropout"](wisp.ones(1000), 0.5), y)


def test_channel_dropout_drops_whole_channels():
    wisp.manual_seed(1)
    y = F["dropout2d"](wisp.ones(4, 16, 5, 5), 0.5)
    per_channel = y.reshape(64, 25)
    assert wisp.equal(per_channel, per_channel[:, :1].expand(64, 25))
    assert set(per_channel[:, 0].tolist()) == {0.0, 2.0}


def test_alpha_dropout_keeps_mean_and_variance():
    wisp.manual_seed(2)
    y = F["alpha_dropout"](wisp.randn(100000), 0.3, True)
    assert abs(y.mean().item()) < 0.02 and abs(y.std().item() - 1) < 0.02


def test_rrelu_in_training():
    wisp.manual_seed(4)
    x = wisp.full((1000,), -1.0, requires_grad=True)
    y = wisp.rrelu(x, 0.2, 0.4, training=True)
    assert -0.4 <= y.min().item() < -0.35 and -0.25 < y.max().item() <= -0.2
    y.sum().backward()
    assert wisp.allclose(x.grad, -y)


@pytest.mark.parametrize("name", ["relu", "relu6", "elu", "selu", "celu", "silu", "mish", "hardtanh", "hardsigmoid",
                                  "hardswish", "leaky_relu"])  # fmt: skip
def test_inplace_argument(name):
    x = wisp.linspace(-7.0, 7.0, 20, requires_grad=True)
    copy = x * 1
    y = F[name](copy, inplace=True)
    assert y is copy
    assert wisp.equal(y, F[name](x))
    (gradient,) = wisp.autograd.grad(y.sum(), x)
    (wanted,) = wisp.autograd.grad(F[name](x).sum(), x)
    assert wisp.equal(gradient, wanted)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_large_tensors_may_call_operators_inside_kernels(dtype):
    """Kernels that call other operators on much data must not give the interpreter's lock away twice."""
    wisp.randn(300, 300, dtype=getattr(wisp, dtype))
    x = wisp.randn(300, 300).to(getattr(wisp, dtype)).requires_grad_()
    F["mse_loss"](x, wisp.zeros_like(x)).backward()
    F["batch_norm"](x, None, None, training=True).sum().backward()


def test_dropout_is_the_same_recorded_or_not_and_with_or_without_a_mask():
    x = wisp.randn(3, 5000)
    wisp.manual_seed(3)
    kept = wisp.nn.functional.dropout(x, 0.3)
    wisp.manual_seed(3)
    recorded = wisp.nn.functional.dropout(x.clone().requires_grad_(), 0.3)
    wisp.manual_seed(3)
    written = wisp.nn.functional.dropout(x.clone(), 0.3, inplace=True)
    assert wisp.equal(kept, recorded) and wisp.equal(kept, written)
    assert 0.25 < (kept == 0).float().mean() < 0.35


def test_dropout_of_a_convolution_agrees_with_its_gradient():
    x = wisp.randn(2, 8, 16, 16, requires_grad=True)
    y = wisp.nn.functional.conv2d(x, wisp.randn(16, 8, 3, 3))
    out = wisp.nn.functional.dropout(y, 0.5)
    (grad,) = wisp.autograd.grad(out.sum(), y)
    assert wisp.equal(grad * y, out)
