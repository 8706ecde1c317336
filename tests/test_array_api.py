"""The namespace of the Python array API standard, where it differs from wisp's own functions."""

import inspect

import pytest

import wisp
from wisp import array_api as xp


def test_tensors_name_their_namespace():
    x = wisp.ones(2)
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2023.12") is xp
    with pytest.raises(ValueError, match="expected api_version up to 2024.12"):
        x.__array_namespace__(api_version="2099.12")
    assert x.to_device("cpu") is x
    assert xp.__array_namespace_info__().default_dtypes()["integral"] == wisp.int64


def test_arrays_without_dimensions_take_part_in_promotion():
    x, y = wisp.ones(2, dtype=wisp.float32), wisp.tensor(1, dtype=wisp.float64)
    assert (x + y).dtype == wisp.float32
    assert xp.add(x, y).dtype == wisp.float64
    assert xp.result_type(x, y) == wisp.float64
    assert xp.where(x > 0, x, y).dtype == wisp.float64


def test_numbers_do_not():
    x = wisp.ones(2, dtype=wisp.uint8)
    assert xp.maximum(x, 3).tolist() == [3, 3]
    assert xp.add(2, x).dtype == wisp.uint8
    assert xp.result_type(x, 1.5) == wisp.float32
    assert xp.result_type(wisp.bool, 1) == wisp.int64


@pytest.mark.parametrize(
    ("a", "b", "quotient", "rest"),
    [
        (float("inf"), 2.0, float("inf"), "nan"),
        (1.0, -float("inf"), -0.0, "-inf"),
        (0.0, -2.0, -0.0, "-0.0"),
        (-0.0, 2.0, -0.0, "0.0"),
        (7.0, -2.0, -4.0, "-1.0"),
    ],
)
def test_division_rounded_down(a, b, quotient, rest):
    x, y = wisp.tensor(a), wisp.tensor(b)
    assert str(xp.floor_divide(x, y).item()) == str(quotient)
    assert str(xp.remainder(x, y).item()) == rest


def test_kinds_and_limits_of_dtypes():
    assert xp.isdtype(wisp.uint8, "unsigned integer")
    assert xp.isdtype(wisp.bfloat16, ("bool", "numeric"))
    assert not xp.isdtype(wisp.bool, "integral")
    assert not xp.can_cast(wisp.float64, wisp.float32)
    assert xp.finfo(wisp.complex128).dtype == wisp.float64
    assert xp.iinfo(wisp.ones(1, dtype=wisp.int8)).max == 127
    with pytest.raises(ValueError, match="expected a kind"):
        xp.isdtype(wisp.bool, "logical")
    with pytest.raises(TypeError, match="complex numbers cannot become"):
        xp.astype(wisp.ones(1, dtype=wisp.complex64), wisp.float32)


def test_reductions_over_several_axes():
    x = wisp.arange(24, dtype=wisp.uint8).reshape(2, 3, 4)
    assert xp.sum(x, axis=(0, 2), keepdims=True).shape == (1, 3, 1)
    assert xp.sum(x).dtype == wisp.int64
    assert xp.prod(x[:, :, 1:2], axis=(0, -1)).tolist() == [13, 85, 189]
    assert xp.max(x, axis=()).shape == x.shape
    assert xp.cumulative_sum(wisp.tensor([1, 2]), include_initial=True).tolist() == [0, 1, 3]


def test_shapes():
    x = wisp.arange(6).reshape(2, 3)
    assert xp.expand_dims(x, (0, -1)).shape == (1, 2, 3, 1)
    assert xp.concat([x, x], axis=None).shape == (12,)
    assert xp.roll(x, (1, 1), axis=(0, 1)).tolist() == [[5, 3, 4], [2, 0, 1]]
    assert [y.tolist() for y in xp.unstack(x, axis=1)] == [[0, 3], [1, 4], [2, 5]]
    assert xp.take_along_axis(x, wisp.tensor([[-1]]), axis=1).tolist() == [[2], [5]]
    assert xp.take(x, wisp.tensor([[0, -1]]), axis=1).tolist() == [[[0, 2]], [[3, 5]]]
    with pytest.raises(ValueError, match="expected axes of length 1"):
        xp.squeeze(x, 0)


def test_every_nan_is_an_element_of_its_own():
    x = wisp.tensor([2.0, float("nan"), 1.0, 2.0, float("nan")])
    values, indices, inverse, counts = xp.unique_all(x)
    assert str(values.tolist()) == "[1.0, 2.0, nan, nan]"
    assert indices.tolist() == [2, 0, 1, 4]
    assert inverse.tolist() == [1, 2, 0, 1, 3]
    assert counts.tolist() == [1, 2, 1, 1]
    assert xp.unique_values(wisp.zeros(0)).shape == (0,)


def test_signatures_are_the_standards():
    assert str(inspect.signature(xp.add)) == "(x1, x2, /)"
    assert str(inspect.signature(xp.fft.rfft)) == "(x, /, *, n=None, axis=-1, norm='backward')"
    assert xp.fft.rfft(wisp.ones(4), axis=0).tolist() == [4, 0, 0]
    assert xp.linalg.vecdot(wisp.tensor([1j]), wisp.tensor([2 + 0j])).item() == -2j
