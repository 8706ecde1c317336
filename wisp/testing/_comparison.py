"""assert_close(): that values, however nested, are equal but for rounding."""

from cmath import isfinite
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import wisp
from wisp import Tensor

# (relative, absolute) tolerance by dtype; other dtypes have to be equal.
_TOLERANCES = {
    wisp.float16: (1e-3, 1e-5), wisp.bfloat16: (1.6e-2, 1e-5), wisp.float32: (1.3e-6, 1e-5),
    wisp.float64: (1e-7, 1e-7), wisp.complex64: (1.3e-6, 1e-5), wisp.complex128: (1e-7, 1e-7),
}  # fmt: skip


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """Fails if two values are not close: ``|actual - expected| <= atol + rtol * |expected|`` everywhere.

    The values are tensors, arrays or numbers, or sequences and mappings of such.

    Args:
        allow_subclasses: whether tensors of different classes may be compared.
        rtol, atol: tolerances, both or none; those of the dtypes if not given.
        equal_nan: whether NaN is equal to NaN.
        check_dtype, check_stride: whether dtypes and strides have to agree.
        check_device, check_layout: accepted; there is one device and one layout.
        msg: the message of the error, or a function that makes it from the usual one.

    >>> wisp.testing.assert_close(wisp.tensor([1.0, 2.0]), wisp.tensor([1.0, 2.0 + 1e-7]))
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    if any(value is not None and value < 0 for value in (rtol, atol)):
        raise ValueError(f"'rtol' and 'atol' must not be negative, but got {rtol} and {atol}.")
    how = _How(rtol, atol, equal_nan, allow_subclasses, check_dtype, check_stride, msg)
    how.compare(actual, expected, "")


def _is_number(value):
    return isinstance(value, (int, float, complex)) or (_is_numpy(value) and not hasattr(value, "__setitem__"))


def _is_numpy(value):
    return type(value).__module__ == "numpy" and hasattr(value, "dtype")


def _is_sequence(value):
    return isinstance(value, Sequence) and not isinstance(value, str)


@dataclass
class _How:
    """The options of one call."""

    rtol: float
    atol: float
    equal_nan: bool
    allow_subclasses: bool
    check_dtype: bool
    check_stride: bool
    msg: object

    def fail(self, text, where):
        if where:
            text += f"\n\nThe failure occurred for item {where}"
        if self.msg is not None:
            text = self.msg(text) if callable(self.msg) else self.msg
        raise AssertionError(text)

    def compare(self, actual, expected, where):
        if actual is None or expected is None:
            if actual is not expected:
                self.fail(f"None mismatch: {actual} is not {expected}", where)
        elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
            self.compare_mappings(actual, expected, where)
        elif _is_sequence(actual) and _is_sequence(expected):
            self.compare_sequences(actual, expected, where)
        elif isinstance(actual, bool) and isinstance(expected, bool):
            if actual is not expected:
                self.fail(f"Booleans mismatch: {actual} is not {expected}", where)
        elif _is_number(actual) and _is_number(expected):
            self.compare_numbers(actual, expected, where)
        else:
            self.compare_arrays(actual, expected, where)

    # --- collections

    def compare_sequences(self, actual, expected, where):
        if len(actual) != len(expected):
            self.fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", where)
        for i, pair in enumerate(zip(actual, expected)):
            self.compare(*pair, f"{where}[{i}]")

    def compare_mappings(self, actual, expected, where):
        if actual.keys() != expected.keys():
            text = "The keys of the mappings do not match:"
            for what, keys in (("Missing", expected.keys() - actual), ("Additional", actual.keys() - expected)):
                if keys:
                    text += f"\n{what} keys in the actual mapping: {sorted(keys, key=str)}"
            self.fail(text, where)
        for key in expected:
            self.compare(actual[key], expected[key], f"{where}[{key!r}]")

    # --- numbers

    def compare_numbers(self, actual, expected, where):
        actual, expected = (value.item() if _is_numpy(value) else value for value in (actual, expected))
        kinds = type(actual), type(expected)
        if self.check_dtype and kinds[0] is not kinds[1]:
            self.fail(f"The (d)types do not match: {kinds[0]} != {kinds[1]}.", where)
        exact = not {float, complex} & set(kinds)
        rtol, atol = self.tolerances((0, 0) if exact else (1e-7, 1e-7))
        if self.numbers_agree(actual, expected, rtol, atol):
            return
        difference = abs(actual - expected)
        relative = difference / abs(expected) if expected else float("inf")
        self.fail(_of_numbers(actual, expected, difference, relative, rtol, atol), where)

    def numbers_agree(self, actual, expected, rtol, atol):
        if actual == expected:
            return True
        if actual != actual and expected != expected:  # noqa: PLR0124 (NaN alone is not itself)
            return self.equal_nan
        if not (isfinite(actual) and isfinite(expected)):
            return False
        return abs(actual - expected) <= atol + rtol * abs(expected)

    def tolerances(self, default):
        return default if self.rtol is None else (self.rtol, self.atol)

    # --- tensors

    def compare_arrays(self, actual, expected, where):
        actual_tensor, expected_tensor = self.tensors(actual, expected, where)
        self.check_attributes(actual_tensor, expected_tensor, where)
        rtol, atol = self.tolerances(max(_TOLERANCES.get(t.dtype, (0, 0)) for t in (actual_tensor, expected_tensor)))
        dtype = wisp.promote_types(actual_tensor.dtype, expected_tensor.dtype)
        actual, expected = actual_tensor.detach().to(dtype), expected_tensor.detach().to(dtype)
        agree = wisp.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=self.equal_nan)
        if agree.all():
            return
        if actual.dim() == 0:
            difference, relative = _differences(actual, expected, ~agree)
            text = _of_numbers(actual.item(), expected.item(), difference.item(), relative.item(), rtol, atol)
        else:
            text = _of_tensors(actual, expected, ~agree, rtol, atol)
        self.fail(text, where)

    def tensors(self, actual, expected, where):
        """Both values as tensors, if they can be compared as such."""
        arrays = all(_is_numpy(value) and not _is_number(value) for value in (actual, expected))
        tensors = isinstance(actual, Tensor) and isinstance(expected, Tensor)
        related = self.allow_subclasses or type(actual) is type(expected)
        if not (arrays or (tensors and related)):
            text = f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
            raise TypeError(text + (f"\n\nThe failure occurred for item {where}" if where else ""))
        return (wisp.as_tensor(actual), wisp.as_tensor(expected)) if arrays else (actual, expected)

    def check_attributes(self, actual, expected, where):
        checks = [("shape", actual.shape, expected.shape)]
        if self.check_stride:
            checks.append(("stride()", actual.stride(), expected.stride()))
        if self.check_dtype:
            checks.append(("dtype", actual.dtype, expected.dtype))
        for name, a, b in checks:
            if a != b:
                self.fail(f"The values for attribute {name!r} do not match: {a} != {b}.", where)


# --- what the errors say


def _of_numbers(actual, expected, absolute, relative, rtol, atol):
    kind, allowed = _allowances(rtol, atol)
    return (
        f"Scalars are not {kind}!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {absolute}{allowed[1]}\nRelative difference: {relative}{allowed[0]}"
    )


def _of_tensors(actual, expected, wrong, rtol, atol):
    kind, allowed = _allowances(rtol, atol)
    absolute, relative = _differences(actual, expected, wrong)
    count, total = wrong.sum().item(), wrong.numel()
    return (
        f"Tensor-likes are not {kind}!\n\nMismatched elements: {count} / {total} ({count / total:.1%})\n"
        f"Greatest absolute difference: {_greatest(absolute)}{allowed[1]}\n"
        f"Greatest relative difference: {_greatest(relative)}{allowed[0]}"
    )


def _allowances(rtol, atol):
    """What the values have to be, and the text for each tolerance."""
    if rtol == atol == 0:
        return "equal", ("", "")
    return "close", (f" (up to {rtol} allowed)", f" (up to {atol} allowed)")


def _differences(actual, expected, wrong):
    """(absolute, relative) differences where the values do not agree, and zero elsewhere."""
    if not (actual.is_floating_point() or actual.is_complex()):
        actual, expected = actual.to(wisp.int64), expected.to(wisp.int64)
    absolute = (actual - expected).abs()
    relative = absolute / expected.abs()
    return absolute.masked_fill(~wrong, 0), relative.masked_fill(~wrong, 0)


def _greatest(values):
    """The largest value and where it is."""
    place = values.argmax()
    index = tuple(i.item() for i in wisp.unravel_index(place, values.shape))
    return f"{values.flatten()[place].item()} at index {index}"
