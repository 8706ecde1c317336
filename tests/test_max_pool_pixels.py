"""Max pooling where the channels of a pixel lie side by side: the same as plane by plane, NaN included."""

import pytest

import wisp
from wisp import nn

F = nn.functional


@pytest.mark.parametrize("channels", [2, 8, 16, 19, 32, 40])
@pytest.mark.parametrize(
    "kernel, stride, padding, dilation", [(2, 2, 0, 1), (3, 2, 1, 1), (4, 3, 2, 1), (2, 1, 0, 3), (1, 1, 0, 1)]
)
def test_the_same_as_plane_by_plane(channels, kernel, stride, padding, dilation):
    generator = wisp.Generator().manual_seed(channels)
    x = wisp.randn(2, channels, 11, 9, generator=generator)
    x[wisp.rand(x.shape, generator=generator) < 0.05] = float("nan")
    x[wisp.rand(x.shape, generator=generator) < 0.05] = float("-inf")
    pixels = x.contiguous(memory_format=wisp.channels_last)
    for indexed in (False, True):
        planes = F.max_pool2d(x, kernel, stride, padding, dilation, return_indices=indexed)
        found = F.max_pool2d(pixels, kernel, stride, padding, dilation, return_indices=indexed)
        for a, b in zip(planes if indexed else [planes], found if indexed else [found], strict=True):
            wisp.testing.assert_close(b, a, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [wisp.float16, wisp.bfloat16])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("settings", [{}, {"stride": 1, "padding": 1}, {"dilation": 2}, {"ceil_mode": True}])
def test_halves_are_compared_as_they_are(dtype, last, settings):
    x = wisp.randn(2, 21, 11, 14).to(dtype)
    x.view(-1)[3], x.view(-1)[200] = float("nan"), float("inf")
    wide = x.float().requires_grad_()
    if last:
        x = x.contiguous(memory_format=wisp.channels_last)
    x.requires_grad_()
    (want, want_at), (got, got_at) = (F.max_pool2d(t, 3, return_indices=True, **settings) for t in (wide, x))
    same = {"rtol": 0, "atol": 0, "equal_nan": True}
    wisp.testing.assert_close(got.float(), want, **same)
    wisp.testing.assert_close(F.max_pool2d(x.detach(), 3, **settings).float(), want.detach(), **same)
    assert got.dtype == dtype and wisp.equal(got_at, want_at)
    weight = wisp.randn(want.shape).to(dtype)
    got.backward(weight)
    want.backward(weight.float())
    wisp.testing.assert_close(x.grad, wide.grad.to(dtype), **same)
