"""Conversion between element types, also those that wisp does not have."""

import math

import wisp
from wisp.onnx._tensors import to_array
from wisp.onnx._values import DTYPES, RANGES, Carried, Element, element_of, flat_words, made, strings

# Floating point of 8, 6 and 4 bits: bits of the mantissa, least exponent, largest number, what lies beyond it.
_SMALL_FLOATS = {
    Element.FLOAT8E4M3FN: (3, -6, 448, math.nan),
    Element.FLOAT8E4M3FNUZ: (3, -7, 240, math.nan),
    Element.FLOAT8E5M2: (2, -14, 57344, math.inf),
    Element.FLOAT8E5M2FNUZ: (2, -15, 57344, math.nan),
    Element.FLOAT6E2M3: (3, 0, 7.5, 7.5),
    Element.FLOAT6E3M2: (2, -2, 28, 28),
    Element.FLOAT4E2M1: (1, 0, 6, 6),
}
_WITHOUT_NEGATIVE_ZERO = (Element.FLOAT8E4M3FNUZ, Element.FLOAT8E5M2FNUZ)


def cast(value, element, saturate=True, round_mode="up"):
    """A tensor with its elements converted to another type, as the operator Cast does it."""
    source = element_of(value)
    if source == element:
        return value
    if source == Element.STRING:
        return cast(_parsed(value, element), element, saturate, round_mode)
    if element == Element.STRING:
        return strings([str(x) for x in to_array(value).ravel()], value.shape)
    data = value.data if isinstance(value, Carried) else value
    if source == Element.UINT64 and element not in RANGES:
        data = data.to(wisp.float64) + wisp.where(data < 0, 2.0**64, 0.0)
    if element in _SMALL_FLOATS:
        return Carried(_rounded(data, element, saturate), element)
    if element == Element.FLOAT8E8M0:
        return Carried(_rounded_to_power(data, saturate, round_mode), element)
    if element in DTYPES:
        return data.to(DTYPES[element])
    return _integers(data, element)


def saturated(data, element):
    """Rounded numbers, brought into the range of an integer type, as a tensor of that type."""
    return made(wisp.clamp(data, *RANGES[element]), element)


def _parsed(value, element):
    """The numbers that strings spell."""
    words = flat_words(value)
    if element in RANGES and element != Element.BOOL:
        return wisp.tensor([_integer(w) for w in words], dtype=wisp.int64).reshape(value.shape)
    return wisp.tensor([float(w) for w in words], dtype=wisp.float64).reshape(value.shape)


def _integer(word):
    try:
        number = int(word)
    except ValueError:
        number = int(float(word))
    return (number + 2**63) % 2**64 - 2**63  # numbers of UINT64 are kept modulo 2**64


def _integers(data, element):
    """Numbers as a tensor of an integer type that wisp does not have: its low bits."""
    if data.is_floating_point() and element == Element.UINT64:
        data = wisp.where(data >= 2.0**63, data.to(wisp.float64) - 2.0**64, data)
    data = data.to(wisp.int64)
    if element != Element.UINT64:
        low, high = RANGES[element]
        data = (data - low) % (high - low + 1) + low
    return made(data, element)


def _rounded(data, element, saturate):
    """The nearest numbers of a small type of floating point; ties go to the even one."""
    mantissa, least, largest, beyond = _SMALL_FLOATS[element]
    x = data.to(wisp.float64)
    limit = largest if saturate else beyond
    finite = wisp.where(wisp.isfinite(x), x, 0.0)
    _, exponent = wisp.frexp(finite)
    step = wisp.exp2((exponent - 1).clamp(min=least).to(wisp.float64) - mantissa)
    near = wisp.round(finite / step) * step
    y = wisp.where((near.abs() > largest) | wisp.isinf(x), wisp.sign(x) * limit, near)
    y = wisp.where(wisp.isnan(x), math.nan, y)
    return (y + 0.0 if element in _WITHOUT_NEGATIVE_ZERO else y).to(wisp.float32)


def _rounded_to_power(data, saturate, round_mode):
    """The nearest powers of two from 2**-127 to 2**127."""
    x = data.to(wisp.float32).to(wisp.float64).abs()
    fraction, exponent = wisp.frexp(wisp.where(wisp.isfinite(x), x, 1.0))
    up = {"up": fraction > 0.5, "nearest": fraction >= 0.75, "down": fraction > 1}.get(round_mode)
    if up is None:
        raise ValueError(f"unknown round_mode {round_mode!r}")
    power = exponent - 1 + up
    power = wisp.where(x == 0, -127, power).clamp(min=-127)
    beyond = wisp.isnan(x) | wisp.isinf(x) | ((power > 127) & (not saturate))
    y = wisp.where(beyond, math.nan, wisp.exp2(power.clamp(max=127).to(wisp.float64)))
    return y.to(wisp.float32)
