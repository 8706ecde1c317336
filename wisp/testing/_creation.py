"""make_tensor(): tensors with random content for tests."""

import math

import wisp


def make_tensor(
    *shape,
    dtype,
    device,
    low=None,
    high=None,
    requires_grad=False,
    noncontiguous=False,
    exclude_zero=False,
    memory_format=None,
):
    """A tensor filled with random values from ``[low, high)``.

    By default they are from ``[-9, 9]``; of integers from ``[-9, 10)``, of uint8 from ``[0, 10)``.

    Args:
        noncontiguous: leave gaps between the elements (of tensors with at least two).
        exclude_zero: replace zeros by the smallest positive value.

    >>> wisp.testing.make_tensor(2, 3, dtype=wisp.float32, device="cpu").shape
    wisp.Size([2, 3])
    """
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    inexact = dtype.is_floating_point or dtype.is_complex
    if noncontiguous and memory_format is not None:
        raise ValueError("The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
                         f"noncontiguous={noncontiguous} and memory_format={memory_format}")  # fmt: skip
    if requires_grad and not inexact:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}"
        )
    made = _fill(wisp.empty(shape, dtype=dtype, device=device), *_bounds(dtype, low, high))
    if noncontiguous and made.numel() > 1:
        made = made.repeat_interleave(2, dim=-1)[..., ::2]
    elif memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        made[made == 0] = wisp.finfo(dtype).tiny if inexact else 1
    return made.requires_grad_(requires_grad)


def _bounds(dtype, low, high):
    """The range to draw from: the default, or what is asked for and the dtype can hold."""
    if dtype is wisp.bool:
        least, most, defaults = 0, 2, (0, 2)
    elif dtype.is_floating_point or dtype.is_complex:
        info = wisp.finfo(dtype)
        least, most, defaults = info.min, info.max, (-9, 9)
    else:
        info = wisp.iinfo(dtype)
        least, most, defaults = info.min, info.max, ((0, 10) if dtype is wisp.uint8 else (-9, 10))
    low, high = defaults[0] if low is None else low, defaults[1] if high is None else high
    if low != low or high != high:  # noqa: PLR0124 (NaN alone is not itself)
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low > high or (low == high and not (dtype.is_floating_point or dtype.is_complex)):
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    return max(low, least), min(high, most)


def _fill(made, low, high):
    if made.is_complex():
        _fill(wisp.view_as_real(made), low, high)
    elif made.is_floating_point():
        # Not low + width * value: the width of the range may be more than a float can hold.
        values = wisp.rand(made.shape, dtype=wisp.float64)
        made.copy_(low * (1 - values) + high * values)
    elif made.dtype is wisp.bool:
        made.copy_(wisp.randint(math.ceil(low), math.ceil(high), made.shape))
    else:
        made.random_(math.ceil(low), math.ceil(high))
    return made
