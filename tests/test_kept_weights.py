"""Convolutions keep their weights in the order oneDNN wants between calls. Whoever writes a weight is seen by the next."""

import pytest

import wisp
from tests.in_threads import together
from wisp import nn
from wisp.nn import functional as F


def used_weight():
    """A weight large enough for oneDNN, used twice, and an image."""
    wisp.manual_seed(0)
    x, weight = wisp.randn(2, 16, 20, 20), wisp.randn(32, 16, 3, 3)
    for _ in range(2):
        F.conv2d(x, weight)
    return x, weight


def by_numpy(weight):
    weight.numpy()[...] *= 2


def by_memoryview(weight):
    memoryview(weight).cast("B").cast("f")[5] = 7.0


def by_optimiser(weight):
    weight.requires_grad_()
    weight.grad = wisp.ones_like(weight)
    wisp.optim.SGD([weight], lr=0.5).step()
    weight.requires_grad_(False)


def by_lazy(weight):
    with wisp.lazy(least=0):
        F.conv2d(wisp.ones(2, 16, 20, 20), weight)
        weight.mul_(2)


def by_inference(weight):
    with wisp.inference_mode():
        weight.add_(1)


WRITES = {
    "in place": lambda w: w.mul_(2),
    "data": lambda w: w.data.mul_(2),
    "detached": lambda w: w.detach().mul_(2),
    "a view": lambda w: w[3].fill_(1.0),
    "an item": lambda w: w.__setitem__((0, 0, 0, 0), 9.0),
    "out=": lambda w: wisp.mul(w, 2, out=w),
    "copy_": lambda w: w.copy_(wisp.ones(32, 16, 3, 3)),
    "set_": lambda w: w.set_(wisp.randn(32, 16, 3, 3)),
    "random": lambda w: w.normal_(),
    "numpy": by_numpy,
    "memoryview": by_memoryview,
    "dlpack": lambda w: wisp.from_dlpack(w).mul_(2),
    "optimiser": by_optimiser,
    "lazy": by_lazy,
    "inference mode": by_inference,
    "shared memory": lambda w: w.share_memory_().mul_(2),
}


@pytest.mark.parametrize("how", WRITES)
def test_the_next_call_sees_a_write(how):
    x, weight = used_weight()
    WRITES[how](weight)
    for _ in range(3):
        assert wisp.equal(F.conv2d(x, weight), F.conv2d(x, weight.clone()))


def test_a_memory_view_taken_before():
    x, weight = used_weight()
    array = weight.numpy()
    F.conv2d(x, weight)
    array[...] *= 2
    assert wisp.equal(F.conv2d(x, weight), F.conv2d(x, weight.clone()))


def test_several_sizes_layouts_and_dtypes_take_turns():
    _, weight = used_weight()
    for sizes in [(1, 16, 30, 30), (3, 16, 9, 9)] * 2:
        x = wisp.randn(*sizes)
        for y in (x, x.contiguous(memory_format=wisp.channels_last)):
            assert wisp.equal(F.conv2d(y, weight), F.conv2d(y, weight.clone()))
        assert wisp.equal(F.conv2d(x.bfloat16(), weight.bfloat16()), F.conv2d(x.bfloat16(), weight.clone().bfloat16()))
    turned = weight.transpose(0, 1).contiguous()
    assert wisp.equal(F.conv_transpose2d(x, turned), F.conv_transpose2d(x, turned.clone()))


def test_a_part_of_a_larger_tensor():
    x, _ = used_weight()
    whole = wisp.randn(2, 32, 16, 3, 3)
    for part in (0, 1, 0):
        assert wisp.equal(F.conv2d(x, whole[part]), F.conv2d(x, whole[part].clone()))


def test_training_after_inference_and_inference_after_training():
    x, _ = used_weight()
    model = nn.Conv2d(16, 32, 3)
    with wisp.no_grad():
        model(x)
    optimiser = wisp.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model(x).sum().backward()
        optimiser.step()
    with wisp.no_grad():
        for _ in range(2):
            assert wisp.equal(model(x), F.conv2d(x, model.weight.clone(), model.bias))


def test_an_overwritten_weight_is_still_reported():
    x, weight = used_weight()
    weight.requires_grad_()
    y = F.conv2d(x.requires_grad_(), weight)
    with wisp.no_grad():
        weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_threads_share_a_program():
    x, _ = used_weight()
    model = nn.Sequential(nn.Conv2d(16, 32, 3), nn.ReLU(), nn.Conv2d(32, 32, 3)).eval()
    with wisp.no_grad():
        frozen = wisp.jit.freeze(wisp.jit.trace(model, (x,)))
        want, wrong = model(x), []

        def work():
            with wisp.no_grad():
                wrong.extend(i for i in range(20) if not wisp.equal(frozen(x), want))

        together([work] * 4)
    assert not wrong
