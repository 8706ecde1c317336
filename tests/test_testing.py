"""wisp.testing and wisp.accelerator."""

import math

import numpy as np
import pytest

import wisp
from wisp.testing import assert_close, make_tensor


def message(*args, kind=AssertionError, **options):
    with pytest.raises(kind) as caught:
        assert_close(*args, **options)
    return str(caught.value)


CLOSE = [
    (wisp.ones(3), wisp.ones(3) + 1e-7),
    (1.0, 1.0 + 1e-9),
    (math.inf, math.inf),
    (3, 3),
    (True, True),
    (None, None),
    ([1.0, (2, wisp.ones(1))], ([1.0, [2, wisp.ones(1)]])),
    ({"a": wisp.ones(2)}, {"a": wisp.ones(2)}),
    (np.ones(2), np.ones(2)),
    (np.float32(1), 1.0),
    (wisp.nn.Parameter(wisp.ones(2)), wisp.ones(2)),
    (wisp.empty(0), wisp.empty(0)),
]


@pytest.mark.parametrize("actual, expected", CLOSE)
def test_what_is_close(actual, expected):
    assert_close(actual, expected)


def test_tensors_that_are_not_close():
    assert message(wisp.ones(2, 3), wisp.tensor([[1.0, 1.0, 2.0], [1.0, 1.0, 1.5]])) == (
        "Tensor-likes are not close!\n\nMismatched elements: 2 / 6 (33.3%)\n"
        "Greatest absolute difference: 1.0 at index (0, 2) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.5 at index (0, 2) (up to 1.3e-06 allowed)"
    )
    assert message(wisp.tensor([1, 2]), wisp.tensor([1, 4])) == (
        "Tensor-likes are not equal!\n\nMismatched elements: 1 / 2 (50.0%)\n"
        "Greatest absolute difference: 2 at index (1,)\nGreatest relative difference: 0.5 at index (1,)"
    )
    assert "Expected 2.0 but got 1.0.\nAbsolute difference: 1.0" in message(wisp.tensor(1.0), wisp.tensor(2.0))


def test_small_unsigned_integers_do_not_wrap():
    text = message(wisp.tensor([0], dtype=wisp.uint8), wisp.tensor([255], dtype=wisp.uint8))
    assert "Greatest absolute difference: 255 at index (0,)" in text


def test_numbers_that_are_not_close():
    assert (
        message(1, 2)
        == "Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: 1\nRelative difference: 0.5"
    )
    assert "(up to 1e-07 allowed)" in message(1.0, 0.0)
    assert message(1, 1.0) == "The (d)types do not match: <class 'int'> != <class 'float'>."
    assert_close(1, 1.0, check_dtype=False)
    assert message(True, False) == "Booleans mismatch: True is not False"
    assert message(None, 1) == "None mismatch: None is not 1"


def test_nan():
    nan = wisp.tensor([math.nan])
    assert "nan at index (0,)" in message(nan, nan)
    assert "Expected nan but got nan" in message(math.nan, math.nan)
    assert_close(nan, nan, equal_nan=True)
    assert_close(math.nan, math.nan, equal_nan=True)
    message(math.inf, 1.0)


def test_collections_say_where():
    assert message([1.0, {"a": (2.0, 3.0)}], [1.0, {"a": (2.0, 4.0)}]).endswith(
        "The failure occurred for item [1]['a'][1]"
    )
    assert message([1.0], [1.0, 2.0]) == "The length of the sequences mismatch: 1 != 2"
    text = message({"a": 1, "c": 1}, {"b": 1, "c": 1})
    assert "Missing keys in the actual mapping: ['b']\nAdditional keys in the actual mapping: ['a']" in text


def test_attributes():
    assert "attribute 'shape' do not match: wisp.Size([2]) != wisp.Size([3])" in message(wisp.ones(2), wisp.ones(3))
    assert "attribute 'dtype' do not match" in message(wisp.ones(2), wisp.ones(2, dtype=wisp.float64))
    assert_close(wisp.ones(2), wisp.ones(2, dtype=wisp.float64), check_dtype=False)
    assert "attribute 'stride()' do not match: (3, 1) != (1, 2)" in message(
        wisp.ones(2, 3), wisp.ones(3, 2).t(), check_stride=True
    )


def test_tolerances():
    assert_close(wisp.ones(2), wisp.ones(2) * 1.5, rtol=0.5, atol=0)
    message(wisp.ones(2), wisp.ones(2) * 1.5, rtol=0.2, atol=0)
    assert "but got no atol" in message(1.0, 1.0, rtol=0.1, kind=ValueError)
    assert "but got no rtol" in message(1.0, 1.0, atol=0.1, kind=ValueError)
    message(1.0, 1.0, rtol=-1, atol=0, kind=ValueError)
    assert_close(wisp.ones(2, dtype=wisp.bfloat16), wisp.full((2,), 1.0078125, dtype=wisp.bfloat16))


def test_messages_of_ones_own():
    assert message(1, 2, msg="mine") == "mine"
    assert message(1, 2, msg=lambda text: "see: " + text).startswith("see: Scalars are not equal!")


@pytest.mark.parametrize("pair", [("a", "a"), (wisp.ones(1), [1.0]), (wisp.tensor(1.0), 1.0), ({1}, {1}),
                                  (np.ones(1), wisp.ones(1))])  # fmt: skip
def test_what_cannot_be_compared(pair):
    assert "No comparison pair was able to handle inputs of type" in message(*pair, kind=TypeError)
    message(wisp.nn.Parameter(wisp.ones(1)), wisp.ones(1), allow_subclasses=False, kind=TypeError)


# --- make_tensor


@pytest.mark.parametrize("dtype, low, high", [
    (wisp.float32, -9, 9), (wisp.float64, -9, 9), (wisp.float16, -9, 9), (wisp.bfloat16, -9, 9), (wisp.int64, -9, 9),
    (wisp.int8, -9, 9), (wisp.uint8, 0, 9), (wisp.bool, 0, 1),
])  # fmt: skip
def test_default_ranges(dtype, low, high):
    made = make_tensor(50, 40, dtype=dtype, device="cpu")
    assert made.dtype is dtype
    assert made.shape == (50, 40)
    values = made.to(wisp.float64)
    assert low <= values.min().item() < values.max().item() <= high
    if not dtype.is_floating_point:
        assert (values.min().item(), values.max().item()) == (low, high)


def test_ranges_of_ones_own():
    made = make_tensor((1000,), dtype=wisp.float32, device="cpu", low=2, high=3)
    assert made.min().item() >= 2
    assert made.max().item() <= 3
    assert set(make_tensor(99, dtype=wisp.int64, device="cpu", low=1.5, high=4.5).tolist()) == {2, 3, 4}
    assert make_tensor(3, dtype=wisp.int64, device="cpu", low=3, high=4).tolist() == [3, 3, 3]
    assert make_tensor(9, dtype=wisp.uint8, device="cpu", low=-5, high=300).dtype is wisp.uint8
    assert make_tensor(9, dtype=wisp.float32, device="cpu", low=-math.inf, high=math.inf).isfinite().all()
    complex_ = make_tensor(99, dtype=wisp.complex64, device="cpu", low=1, high=2)
    assert complex_.real.min().item() >= 1
    assert complex_.imag.min().item() >= 1


def test_layouts_zeros_and_gradients():
    gaps = make_tensor(2, 4, dtype=wisp.float32, device="cpu", noncontiguous=True)
    assert not gaps.is_contiguous()
    assert gaps.shape == (2, 4)
    assert make_tensor(1, dtype=wisp.float32, device="cpu", noncontiguous=True).is_contiguous()
    last = make_tensor(1, 2, 3, 4, dtype=wisp.float32, device="cpu", memory_format=wisp.channels_last)
    assert last.is_contiguous(memory_format=wisp.channels_last)
    assert make_tensor(1000, dtype=wisp.bool, device="cpu", exclude_zero=True).all()
    assert (make_tensor(1000, dtype=wisp.int8, device="cpu", exclude_zero=True) != 0).all()
    assert make_tensor(2, dtype=wisp.float32, device="cpu", requires_grad=True).requires_grad
    assert make_tensor(0, 3, dtype=wisp.float32, device="cpu").shape == (0, 3)
    assert make_tensor((), dtype=wisp.float32, device="cpu").shape == ()


@pytest.mark.parametrize("options, text", [
    ({"low": 5, "high": 3}, "`low` must be less than `high`, but got 5 >= 3"),
    ({"low": math.nan}, "cannot be NaN"),
    ({"noncontiguous": True, "memory_format": wisp.channels_last}, "mutually exclusive"),
    ({"dtype": wisp.int8, "requires_grad": True}, "is not supported for boolean and integral dtypes"),
])  # fmt: skip
def test_what_cannot_be_made(options, text):
    with pytest.raises(ValueError, match=text):
        make_tensor(3, **{"dtype": wisp.float32, "device": "cpu", **options})
    with pytest.raises(TypeError):
        make_tensor(3, dtype=wisp.float32)


# --- accelerator


def test_there_is_no_accelerator():
    from wisp import accelerator

    assert not accelerator.is_available()
    assert accelerator.device_count() == 0
    assert accelerator.current_accelerator() is None
    with accelerator.device_index(None):
        pass
    for call in (accelerator.synchronize, accelerator.current_device_index, accelerator.memory_allocated):
        with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
            call()
    with pytest.raises(RuntimeError), accelerator.device_index(0):
        pass
