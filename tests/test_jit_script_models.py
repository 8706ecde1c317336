"""Scripts of what networks of libraries are written like."""

from typing import Optional, Union  # noqa: F401

import pytest

import wisp
from wisp import Tensor, nn
from wisp.jit import script
from wisp.nn import functional as F


class TwoWays(nn.Module):
    """Chooses its forward() when it is made."""

    def __init__(self, doubles):
        super().__init__()
        self.forward = self.double if doubles else self.halve

    def double(self, x):
        return x * 2

    def halve(self, x):
        return x / 2


class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = TwoWays(True), TwoWays(False), TwoWays(True)

    def forward(self, x):
        return self.third(self.second(self.first(x)))


def test_methods_in_the_place_of_forward():
    x = wisp.tensor([1.0, 3.0])
    for module in (TwoWays(True), TwoWays(False), Both()):
        assert wisp.equal(script(module)(x), module(x))
    compiled = script(Both())
    assert wisp.equal(compiled.second(x), x / 2)
    assert wisp.equal(compiled.third.forward(x), x * 2)


def drop_shape(x):
    shape = (x.shape[0],) + (1,) * (x.ndim - 1)
    return x.new_ones(shape)


def of_tuples(t: tuple[int, int]):
    return any(t), all(t), sum(t), max(t), sorted(t), 3 in t, list(t) + [7]


def test_functions_of_lists_take_tuples():
    x = wisp.zeros(2, 3, 4)
    assert script(drop_shape)(x).shape == (2, 1, 1)
    assert script(of_tuples)((0, 3)) == of_tuples((0, 3))


def sized(x, size: list[int] | None = None):
    if size is None:
        side = x.shape[0] // 2
        size = side, side + 1
    return x.new_zeros(size[0], size[1])


@pytest.mark.parametrize("size", [None, [3, 4], (5, 6)])
def test_a_tuple_in_the_place_of_a_list(size):
    assert script(sized)(wisp.ones(4), size).shape == sized(wisp.ones(4), size).shape


def padded(x, size: list[int] = (2, 3), more: list[int] | None = (1,)):
    return x.new_zeros(size), more


def test_tuples_as_defaults_of_lists():
    made, more = script(padded)(wisp.ones(1))
    assert made.shape == (2, 3)
    assert more == [1]


def one_or_many(xs: list[Tensor], joined: bool) -> Tensor | list[Tensor]:
    if not joined:
        return xs
    return wisp.cat(xs)


def test_results_of_a_union():
    xs = [wisp.ones(2), wisp.zeros(1)]
    compiled = script(one_or_many)
    assert wisp.equal(compiled(xs, True), wisp.cat(xs))
    assert [x.tolist() for x in compiled(xs, False)] == [[1, 1], [0]]


def windowed(n: int, text: str):
    inside = n and n > 2
    either = text or n
    return 1 if inside else 2, "some" if either else "none"


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("text", ["", "a"])
def test_and_of_values_of_different_types_is_their_truth(n, text):
    assert script(windowed)(n, text) == windowed(n, text)


def resized(x, size: list[int], mode: str, antialias: bool, align_corners: bool | None = None):
    return F.interpolate(x, size=size, mode=mode, antialias=antialias, align_corners=align_corners)


SIZES = {
    "linear": [4], "bilinear": [3, 4], "bicubic": [3, 4], "trilinear": [2, 3, 4], "nearest": [2, 7], "area": [3, 4],
    "nearest-exact": [3],
}  # fmt: skip


@pytest.mark.parametrize("mode", SIZES)
def test_interpolation_in_a_mode_that_is_an_argument(mode):
    size = SIZES[mode]
    x, compiled = wisp.randn(1, 2, *[6] * len(size)), script(resized)
    antialias = mode in ("bilinear", "bicubic")
    assert wisp.equal(compiled(x, size, mode, antialias), resized(x, size, mode, antialias))
    assert wisp.equal(compiled(x, size, mode, False), resized(x, size, mode, False))
    with pytest.raises(NotImplementedError, match="Only 3D, 4D and 5D input Tensors supported"):
        compiled(x, size, "absent", False)


def test_interpolation_in_a_mode_for_other_images():
    with pytest.raises(NotImplementedError, match="Got 3D input, but bilinear mode needs 4D input"):
        script(resized)(wisp.randn(1, 2, 6), [3], "bilinear", False)
