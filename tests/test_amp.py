"""Autocast."""

import threading

import pytest

import wisp
from tests import fresh
from wisp.nn import functional as F


def low(enabled=True, dtype=wisp.bfloat16, **options):
    return wisp.autocast("cpu", dtype=dtype, enabled=enabled, **options)


def test_products_are_narrow_and_sums_are_not():
    x = wisp.randn(3, 3)
    with low():
        product = x @ x
        assert product.dtype is wisp.bfloat16
        assert (product + x).dtype is wisp.float32
        assert (product + product).dtype is wisp.bfloat16
        assert wisp.einsum("ij,jk->ik", x, x).dtype is wisp.bfloat16
        assert F.linear(x, x, x[0]).dtype is wisp.bfloat16
        assert F.conv1d(x[None], x[None]).dtype is wisp.bfloat16
        assert (x.double() @ x.double()).dtype is wisp.float64
        assert (x.long() @ x.long()).dtype is wisp.int64
    assert (x @ x).dtype is wisp.float32
    with low(dtype=wisp.float16):
        assert (x @ x).dtype is wisp.float16


def test_losses_and_decompositions_are_computed_in_float32():
    x = wisp.randn(3, 3)
    with low():
        narrow = x @ x
        assert F.mse_loss(narrow, x).dtype is wisp.float32
        assert F.cross_entropy(narrow, wisp.tensor([0, 1, 2])).dtype is wisp.float32
        assert wisp.linalg.inv(narrow).dtype is wisp.float32
        assert wisp.prod(narrow).dtype is wisp.float32
        assert wisp.cat([x, narrow]).dtype is wisp.float32
        assert wisp.cat([narrow, narrow]).dtype is wisp.bfloat16
        assert F.softmax(narrow, -1).dtype is wisp.bfloat16


def test_values_are_those_of_the_narrow_product():
    wisp.manual_seed(0)
    x, y = wisp.randn(4, 5), wisp.randn(5, 6)
    with low():
        assert wisp.equal(x @ y, x.bfloat16() @ y.bfloat16())


def test_gradients_arrive_in_the_dtype_of_parameters():
    wisp.manual_seed(0)
    model = wisp.nn.Sequential(wisp.nn.Linear(4, 8), wisp.nn.ReLU(), wisp.nn.Linear(8, 2))
    x, target = wisp.randn(6, 4), wisp.randn(6, 2)
    with low():
        loss = F.mse_loss(model(x), target)
    loss.backward()
    narrow = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    F.mse_loss(model(x), target).backward()
    for got, p in zip(narrow, model.parameters()):
        assert got.dtype is wisp.float32
        assert wisp.allclose(got, p.grad, rtol=0.1, atol=0.02)


def test_parameters_are_cast_once_and_anew_after_a_step():
    w = wisp.nn.Parameter(wisp.ones(2, 2))
    x = wisp.ones(2, 2)
    with low():
        first = x @ w
        assert first.grad_fn.next_functions[1] == (x @ w).grad_fn.next_functions[1]
        with wisp.no_grad():
            w.mul_(2)
        assert wisp.equal(x @ w, wisp.full((2, 2), 4.0, dtype=wisp.bfloat16))
    with low(cache_enabled=False):
        assert (x @ w).grad_fn.next_functions[1] != (x @ w).grad_fn.next_functions[1]


def test_contexts_nest_and_belong_to_their_thread():
    x = wisp.ones(2, 2)
    seen = []
    with low():
        with low(enabled=False):
            assert (x @ x).dtype is wisp.float32 and not wisp.is_autocast_enabled("cpu")
        assert wisp.is_autocast_enabled("cpu") and (x @ x).dtype is wisp.bfloat16
        thread = threading.Thread(target=lambda: seen.append((x @ x).dtype))
        thread.start()
        thread.join()
    assert seen == [wisp.float32]
    with pytest.raises(KeyError), low():
        raise KeyError
    assert not wisp.is_autocast_enabled("cpu")

    @low()
    def decorated():
        return (x @ x).dtype

    assert decorated() is wisp.bfloat16 and (x @ x).dtype is wisp.float32


def test_autocast_around_and_inside_function_transforms():
    x = wisp.randn(3, 2, 2)
    with low():
        assert wisp.vmap(lambda a: a @ a)(x).dtype is wisp.bfloat16
        value, tangent = wisp.func.jvp(lambda a: a @ a, (x,), (x,))
        assert value.dtype is wisp.bfloat16 and tangent.dtype is wisp.bfloat16
    assert not wisp.is_autocast_enabled("cpu") and (x @ x).dtype is wisp.float32

    def inside(a):
        with low():
            return a @ a

    assert wisp.vmap(inside)(x).dtype is wisp.bfloat16
    assert wisp.vmap(lambda a: a @ a)(x).dtype is wisp.float32


def test_other_devices_and_dtypes_switch_it_off():
    x = wisp.ones(2, 2)
    with pytest.warns(UserWarning, match="CUDA is not available"), wisp.autocast("cuda"):
        assert (x @ x).dtype is wisp.float32
    with pytest.warns(UserWarning, match="dtype is not supported"), low(dtype=wisp.float64):
        assert (x @ x).dtype is wisp.float32
    with pytest.raises(RuntimeError, match="device type"):
        wisp.autocast("toaster")
    with pytest.raises(ValueError, match="device_type"):
        wisp.autocast(3)
    with pytest.raises(TypeError, match="floating dtype"):
        wisp.set_autocast_dtype("cpu", wisp.int64)


def test_recurrent_and_attention_layers():
    x = wisp.randn(2, 3, 4)
    with low():
        assert wisp.nn.LSTM(4, 5)(x)[0].shape == (2, 3, 5)
        layer = wisp.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        assert layer(x).shape == (2, 3, 4)


def test_custom_functions():
    class Product(wisp.autograd.Function):
        @staticmethod
        @wisp.amp.custom_fwd(device_type="cpu")
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @wisp.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            assert wisp.is_autocast_enabled("cpu")
            return grad @ b.T, a.T @ grad

    class Wide(wisp.autograd.Function):
        @staticmethod
        @wisp.amp.custom_fwd(device_type="cpu", cast_inputs=wisp.float32)
        def forward(ctx, a):
            return a @ a

        @staticmethod
        @wisp.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            return grad

    a = wisp.ones(2, 2, requires_grad=True)
    with low():
        y = Product.apply(a, a)
        assert y.dtype is wisp.bfloat16
        assert Wide.apply(y).dtype is wisp.float32
    y.sum().backward()
    assert a.grad.dtype is wisp.float32


def test_casts_that_are_kept_at_the_end_of_the_process():
    fresh.python(
        "import wisp\n"
        "wisp.set_autocast_enabled('cpu', True)\n"
        "w = wisp.nn.Parameter(wisp.ones(2, 2))\n"
        "y = wisp.ones(2, 2) @ w\n"
    )


def test_old_names():
    x = wisp.ones(2, 2)
    with wisp.cpu.amp.autocast():
        assert (x @ x).dtype is wisp.bfloat16
    assert wisp.cpu.amp.GradScaler().is_enabled() and wisp.cpu.is_available() and wisp.cpu.device_count() == 1
    with pytest.warns(UserWarning, match="CUDA is not available"), wisp.cuda.amp.autocast():
        assert (x @ x).dtype is wisp.float32
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert not wisp.cuda.amp.GradScaler().is_enabled()
    with pytest.raises(AttributeError, match="nothing_like_it"):
        wisp.cuda.nothing_like_it  # noqa: B018


def test_docstrings_run():
    import doctest

    for module in (wisp.amp.autocast_mode, wisp.amp.grad_scaler):
        assert doctest.testmod(module, extraglobs={"wisp": wisp}).failed == 0
