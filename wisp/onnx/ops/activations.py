"""Activation functions."""

import wisp
from wisp.nn import functional as F
from wisp.onnx.ops._common import on_one, positive


def _leaky_relu(node, x):
    return F.leaky_relu(x, node["alpha"])


def _prelu_of_channels(node, x, slope):
    """Before version 7: one slope, or one for each channel (axis 1)."""
    if slope.ndim == 1 and x.ndim > 1 and len(slope) > 1:
        slope = slope.reshape([-1, *[1] * (x.ndim - 2)])
    return _prelu(node, x, slope)


def _prelu(node, x, slope):
    return wisp.where(x > 0, x, x * slope)


def _elu(node, x):
    return F.elu(x, node["alpha"])


def _selu(node, x):
    return node["gamma"] * F.elu(x, node["alpha"])


def _celu(node, x):
    return F.celu(x, node["alpha"])


def _hard_sigmoid(node, x):
    return wisp.clamp(x * node["alpha"] + node["beta"], 0, 1)


def _thresholded_relu(node, x):
    return wisp.where(x > node["alpha"], x, 0)


def _shrink(node, x):
    bias, limit = node["bias"], node["lambd"]
    return wisp.where(x < -limit, x + bias, wisp.where(x > limit, x - bias, 0)).to(x.dtype)


def _gelu(node, x):
    return F.gelu(x, approximate=node["approximate"])


def _swish(node, x):
    return x * wisp.sigmoid(x * node["alpha"])


def _swiglu(node, gate, value):
    return _swish(node, gate) * value


def _along_axis(function):
    """A function of the values along one axis."""
    return lambda node, x: function(x, positive(node["axis"], x.ndim))


def _on_rows(function):
    """The same before version 13: all axes from the given one on count as one."""

    def run(node, x):
        rows = x.flatten(positive(node["axis"], x.ndim))
        return function(rows, rows.ndim - 1).reshape(x.shape)

    return run


def _hardmax(x, axis):
    """One at the first of the largest values, zero elsewhere."""
    places = wisp.argmax(x, axis, keepdim=True)
    return wisp.zeros_like(x).scatter(axis, places, 1)


def _of_axis(function):
    return [(1, _on_rows(function)), (13, _along_axis(function))]


OPERATORS = {
    "Celu": [(12, _celu)],
    "Elu": [(1, _elu)],
    "Gelu": [(20, _gelu)],
    "HardSigmoid": [(1, _hard_sigmoid)],
    "HardSwish": [(14, on_one(F.hardswish))],
    "Hardmax": _of_axis(_hardmax),
    "LeakyRelu": [(1, _leaky_relu)],
    "LogSoftmax": _of_axis(wisp.log_softmax),
    "Mish": [(18, on_one(F.mish))],
    "PRelu": [(1, _prelu_of_channels), (7, _prelu)],
    "Relu": [(1, on_one(wisp.relu))],
    "Selu": [(1, _selu)],
    "Shrink": [(9, _shrink)],
    "Softmax": _of_axis(wisp.softmax),
    "Softplus": [(1, on_one(F.softplus))],
    "Softsign": [(1, on_one(F.softsign))],
    "SwiGLU": [(28, _swiglu)],
    "Swish": [(24, _swish)],
    "ThresholdedRelu": [(10, _thresholded_relu)],
}
