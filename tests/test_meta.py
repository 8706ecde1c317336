"""Tensors on the device "meta": shapes and dtypes without values."""

import copy
import pickle

import numpy as np
import pytest

import wisp
from tests.datasets import nothing_left
from wisp import nn


@pytest.fixture
def x():
    return wisp.zeros(2, 3, device="meta")


def test_there_is_a_shape_but_no_memory(x):
    assert x.is_meta and not x.is_cpu and x.device == wisp.device("meta")
    assert x.data_ptr() == 0 and x.shape == (2, 3) and x.stride() == (3, 1)
    assert repr(x) == "tensor(..., device='meta', size=(2, 3))"
    assert repr(x.long()) == "tensor(..., device='meta', size=(2, 3), dtype=wisp.int64)"
    assert wisp.empty(10**12, device="meta")[5:].numel() == 10**12 - 5
    assert x.resize_(1000, 1000).shape == (1000, 1000) and x.resize_(2).shape == (2,)
    with pytest.raises(RuntimeError, match="too large even for"):
        wisp.empty(2**60, device="meta")


FACTORIES = {
    "zeros": (2, 3), "ones": (2, 3), "empty": (2, 3), "rand": (2, 3), "randn": (2, 3), "full": ((2, 3), 7.0),
    "randint": (5, (2, 3)), "randperm": (5,), "arange": (5,), "linspace": (0, 1, 5), "logspace": (0, 1, 5), "eye": (3,),
    "range": (1, 5), "tril_indices": (3, 3), "triu_indices": (3, 3), "hann_window": (5,), "kaiser_window": (5,),
    "empty_strided": ((2, 3), (1, 2)), "empty_permuted": ((2, 3), (1, 0)), "normal": (0.0, 1.0, (2, 3)),
    "complex": None, "tensor": ([1.0, 2.0],), "as_tensor": ([1.0, 2.0],), "scalar_tensor": (1.0,),
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n, arguments in FACTORIES.items() if arguments])
def test_factories(name):
    make = getattr(wisp, name)
    with wisp.device("cpu"):
        real = make(*FACTORIES[name])
    made = make(*FACTORIES[name], device="meta")
    assert made.is_meta and made.shape == real.shape and made.dtype is real.dtype and made.stride() == real.stride()
    with wisp.device("meta"):
        assert make(*FACTORIES[name]).is_meta and not make(*FACTORIES[name], device="cpu").is_meta
    assert not make(*FACTORIES[name]).is_meta


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like", "rand_like", "randn_like"])
def test_likes_stay_where_their_model_is_unless_told(name, x):
    like = getattr(wisp, name)
    assert like(x).is_meta and like(x, device="cpu").shape == x.shape and not like(x, device="cpu").is_meta
    with wisp.device("meta"):
        assert not like(wisp.ones(2, device="cpu")).is_meta
    assert (
        x.new_zeros(4).is_meta and not x.new_zeros(4, device="cpu").is_meta and x.new_empty_strided((2,), (3,)).is_meta
    )


def test_modules_of_devices():
    assert wisp.get_device_module() is wisp.get_device_module(wisp.device("cpu")) is wisp.cpu
    assert wisp.get_device_module("cuda:0") is wisp.cuda
    with pytest.raises(RuntimeError, match="Device 'meta' does not have a corresponding module"):
        wisp.get_device_module("meta")


def test_the_default_device():
    assert wisp.get_default_device() == wisp.device("cpu")
    wisp.set_default_device("meta")
    try:
        assert wisp.ones(2).is_meta and wisp.get_default_device().type == "meta"
        with wisp.device("cpu"):
            assert not wisp.ones(2).is_meta
            with wisp.device("meta"):
                assert wisp.ones(2).is_meta
            assert not wisp.ones(2).is_meta
    finally:
        wisp.set_default_device(None)
    assert not wisp.ones(2).is_meta


def test_operators_know_shapes_and_dtypes(x):
    cases = {
        "x + 1": (2, 3), "x @ x.t()": (2, 2), "x.sum(0)": (3,), "x.mean()": (), "x > 0": (2, 3), "x[0]": (3,),
        "x[:, ::2]": (2, 2), "x[wisp.tensor([0, 1, 1])]": (3, 3), "wisp.cat([x, x])": (4, 3), "x.sort()[1]": (2, 3),
        "wisp.linalg.svd(x)[0]": (2, 2), "wisp.fft.rfft(x)": (2, 2), "wisp.einsum('ij,kj->ik', x, x)": (2, 2),
        "x.softmax(1)": (2, 3), "x * wisp.tensor(2.0)": (2, 3), "wisp.tensor(2.0) * x": (2, 3), "x.clone()": (2, 3),
        "x.add_(1)": (2, 3), "x.copy_(wisp.ones(2, 3))": (2, 3), "wisp.where(x > 0, x, 0.0)": (2, 3), "x.t()": (3, 2),
        "x.normal_()": (2, 3), "x.index_select(1, wisp.zeros(1, dtype=wisp.int64, device='meta'))": (2, 1),
    }  # fmt: skip
    for expression, shape in cases.items():
        result = eval(expression)
        assert result.is_meta and result.shape == shape, expression
    assert x.half().dtype is wisp.float16 and (x > 0).dtype is wisp.bool
    assert wisp.add(x, x, out=wisp.empty(2, 3, device="meta")).is_meta


def test_values_are_asked_for_in_vain(x):
    one = x.sum()
    indices = wisp.ones(1, dtype=wisp.int64, device="meta")
    for ask in (one.item, lambda: bool(one), lambda: x.tensor_split(indices), x.tolist, x.nonzero, lambda: x[x > 0], x.unique, x.cpu, lambda: x.to("cpu"),
                lambda: wisp.ones(2, 3).copy_(x), lambda: wisp.equal(x, x), lambda: memoryview(x),
                lambda: wisp.repeat_interleave(one.long().reshape(1))):  # fmt: skip
        with pytest.raises(NotImplementedError, match="meta"):
            ask()
    with pytest.raises(TypeError, match="meta"):
        x.numpy()
    with pytest.raises(TypeError, match="meta"):
        np.asarray(x)
    with nothing_left(), pytest.raises(RuntimeError, match="no memory to share"):
        x.share_memory_()


def test_devices_do_not_mix(x):
    y = wisp.ones(2, 3)
    for mix in (lambda: x + y, lambda: y + x, lambda: y.add_(x), lambda: wisp.cat([x, y]), lambda: x @ y.t(),
                lambda: nn.functional.linear(y, x), lambda: wisp.add(y, y, out=x) + y):  # fmt: skip
        with pytest.raises(RuntimeError, match="meta"):
            mix()
    assert wisp.equal(y, wisp.ones(2, 3))


def test_a_model_without_memory_runs_backward_and_takes_steps():
    with wisp.device("meta"):
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 5))
    assert all(t.is_meta for t in [*model.parameters(), *model.buffers()])
    optimiser = wisp.optim.Adam(model.parameters())
    out = model(wisp.randn(4, 3, 8, 8, device="meta"))
    assert out.is_meta and out.shape == (4, 5)
    out.sum().backward()
    assert all(p.grad.is_meta and p.grad.shape == p.shape for p in model.parameters())
    optimiser.step()
    with pytest.raises(NotImplementedError, match="to_empty"):
        model.to("cpu")
    model.to_empty(device="cpu")
    assert not any(t.is_meta for t in [*model.parameters(), *model.buffers()])


@pytest.mark.parametrize(
    ("layer", "size"),
    [
        (lambda: nn.LSTM(3, 4), (5, 2, 3)),
        (lambda: nn.TransformerEncoderLayer(16, 4), (3, 2, 16)),
        (lambda: nn.GRU(3, 4), (5, 3)),
    ],
)
def test_larger_layers(layer, size):
    with wisp.device("meta"):
        made = layer()
    real = layer()
    first = lambda out: out[0] if isinstance(out, tuple) else out
    out = first(made(wisp.ones(size, device="meta")))
    assert out.is_meta and out.shape == first(real(wisp.ones(size))).shape
    out.sum().backward()


def test_weights_are_put_into_an_empty_model():
    state = nn.Linear(3, 2).state_dict()
    with wisp.device("meta"):
        model = nn.Linear(3, 2)
    model.load_state_dict(state, assign=True)
    assert model.weight.data_ptr() == state["weight"].data_ptr()
    assert model(wisp.ones(1, 3)).shape == (1, 2)
    assert nn.Linear(2, 2).to("meta").weight.is_meta


def test_copies_and_pickles(x):
    y = x.t().requires_grad_()
    for made in (copy.deepcopy(y), pickle.loads(pickle.dumps(y))):
        assert made.is_meta and made.shape == (3, 2) and made.stride() == (1, 3) and made.requires_grad
    assert pickle.loads(pickle.dumps(nn.Linear(2, 2, device="meta"))).weight.is_meta
