"""Quantisation: numbers as small integers (or small floats), with a scale and a zero point."""

import wisp
from wisp.onnx._casts import cast, saturated
from wisp.onnx._values import DTYPES, RANGES, Element, data_of, element_of
from wisp.onnx.ops._common import along, of_type, positive
from wisp.onnx.ops.conv import convolution


def _spread(node, value, x):
    """Scales or zero points, shaped to be combined with a tensor: for all of it, along an axis, or for blocks."""
    if value.numel() == 1:
        return value.reshape(())
    axis = positive(node["axis"], x.ndim)
    if not node["block_size"]:
        return along(value, axis, x.ndim)
    return value.repeat_interleave(node["block_size"], axis).narrow(axis, 0, x.shape[axis])


def _quantize(node, x, scale, zero_point=None):
    element = Element(node["output_dtype"]) if node["output_dtype"] else Element.UINT8
    if zero_point is not None:
        element = element_of(zero_point)
    if not x.is_floating_point() or node["precision"]:
        x = x.to(DTYPES[Element(node["precision"] or Element.FLOAT)])
    x, scale = data_of(x), data_of(scale)
    quotient = x / _spread(node, scale, x).to(x.dtype)
    zero = 0 if zero_point is None else _spread(node, data_of(zero_point), x)
    if element in RANGES:
        return saturated(wisp.round(quotient).to(wisp.float64) + zero, element)
    saturate = node["saturate"] is None or bool(node["saturate"])
    return cast(quotient + zero, element, saturate)


def _dequantize(node, x, scale, zero_point=None):
    data, scales = data_of(x).to(wisp.float32), cast(scale, Element.FLOAT)
    if zero_point is not None:
        data = data - _spread(node, data_of(zero_point), data)
    y = data * _spread(node, scales, data)
    return of_type(y, node["output_dtype"] or element_of(scale))


def _dynamic_quantize(node, x):
    low, high = x.min().clamp(max=0), x.max().clamp(min=0)
    scale = wisp.where(high == low, 1.0, high - low) / 255
    zero = wisp.round(wisp.clamp(-low / scale, 0, 255))
    y = wisp.clamp(wisp.round(x / scale) + zero, 0, 255)
    return y.to(wisp.uint8), scale.to(x.dtype), zero.to(wisp.uint8)


def _shifted(x, zero_point, per_row=False):
    """Quantised numbers without their zero point, as int32. It may differ between rows of a matrix."""
    x = x.to(wisp.int32)
    if zero_point is None:
        return x
    zero_point = zero_point.to(wisp.int32)
    if zero_point.ndim == 1 and zero_point.numel() > 1 and per_row:
        zero_point = zero_point.unsqueeze(-1)
    return x - zero_point


def _matmul_integer(node, a, b, a_zero=None, b_zero=None):
    return wisp.matmul(_shifted(a, a_zero, per_row=True), _shifted(b, b_zero))


def _qlinear_matmul(node, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    sums = _matmul_integer(node, a, b, a_zero, b_zero)
    a_scale = a_scale.unsqueeze(-1) if a_scale.ndim == 1 and a_scale.numel() > 1 else a_scale
    return _requantized(sums, a_scale * b_scale / y_scale, y_zero)


def _requantized(sums, scale, zero_point):
    """Integers times a scale, as quantised numbers."""
    values = sums.to(wisp.float64) * scale + zero_point
    return saturated(wisp.round(values), element_of(zero_point))


def _conv_integer(node, x, w, x_zero=None, w_zero=None):
    if w_zero is not None and w_zero.numel() > 1:
        w_zero = along(w_zero, 0, w.ndim)
    return convolution(node, _shifted(x, x_zero), _shifted(w, w_zero))


def _qlinear_conv(node, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias=None):
    sums = _conv_integer(node, x, w, x_zero, w_zero)
    if bias is not None:
        sums = sums + along(bias, 1, sums.ndim)
    if w_scale.numel() > 1:
        w_scale = along(w_scale, 1, sums.ndim)
    return _requantized(sums, x_scale * w_scale / y_scale, y_zero)


OPERATORS = {
    "ConvInteger": [(10, _conv_integer)],
    "DequantizeLinear": [(10, _dequantize)],
    "DynamicQuantizeLinear": [(11, _dynamic_quantize)],
    "MatMulInteger": [(10, _matmul_integer)],
    "QLinearConv": [(10, _qlinear_conv)],
    "QLinearMatMul": [(10, _qlinear_matmul)],
    "QuantizeLinear": [(10, _quantize)],
}
KNOW_TYPES = {"QuantizeLinear", "DequantizeLinear"}
