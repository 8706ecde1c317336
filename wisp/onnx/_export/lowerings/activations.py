"""Activation functions."""

import math

import wisp
from wisp.onnx._export.lowerings.arithmetic import clip, unary


def _gelu(approximate):
    def lower(g, x):
        if g.opset >= 20:
            return g.op("Gelu", x, approximate=approximate)
        half = g.op("Mul", x, g.number(0.5, x.dtype))
        bend = _tanh_bend(g, x) if approximate == "tanh" else _erf_bend(g, x)
        return g.op("Mul", half, g.op("Add", bend, g.number(1, x.dtype)))

    return lower


def _erf_bend(g, x):
    return g.op("Erf", g.op("Mul", x, g.number(math.sqrt(0.5), x.dtype)))


def _tanh_bend(g, x):
    cube = g.op("Mul", g.op("Mul", x, x), x)
    inner = g.op("Add", x, g.op("Mul", cube, g.number(0.044715, x.dtype)))
    return g.op("Tanh", g.op("Mul", inner, g.number(math.sqrt(2 / math.pi), x.dtype)))


def _gelu_named(g, x, approximate="none"):
    return _gelu(approximate)(g, x)


def _silu(g, x, *_):
    return g.op("Mul", x, g.op("Sigmoid", x))


def _mish(g, x, *_):
    if g.opset >= 18:
        return g.op("Mish", x)
    return g.op("Mul", x, g.op("Tanh", g.op("Softplus", x)))


def _log_sigmoid(g, x):
    return g.op("Neg", g.op("Softplus", g.op("Neg", x)))


def _softplus(g, x, beta=1.0, threshold=20.0):
    scaled = x if beta == 1 else g.op("Mul", x, g.number(beta, x.dtype))
    soft = g.op("Softplus", scaled)
    soft = soft if beta == 1 else g.op("Div", soft, g.number(beta, x.dtype))
    return g.op("Where", g.op("Greater", scaled, g.number(threshold, x.dtype)), x, soft)


def _elu(g, x, alpha=1, scale=1, input_scale=1):
    if scale == 1 and input_scale == 1 and x.dtype != wisp.float64:  # which not all runtimes have Elu of
        return g.op("Elu", x, alpha=float(alpha))
    low = g.op("Sub", g.op("Exp", g.op("Mul", x, g.number(input_scale, x.dtype))), g.number(1, x.dtype))
    low = g.op("Mul", low, g.number(alpha * scale, x.dtype))
    high = g.op("Mul", x, g.number(scale, x.dtype))
    return g.op("Where", g.op("Greater", x, g.number(0, x.dtype)), high, low)


def _selu(g, x, *_):
    return g.op("Selu", x)


def _celu(g, x, alpha=1.0, *_):
    return g.op("Celu", x, alpha=float(alpha)) if x.dtype is wisp.float32 else _elu(g, x, alpha, 1, 1 / alpha)


def _leaky_relu(g, x, slope=0.01, *_):
    return g.op("LeakyRelu", x, alpha=float(slope))


def _hardsigmoid(g, x, *_):
    return g.op("HardSigmoid", x, alpha=1 / 6, beta=0.5)


def _hardswish(g, x, *_):
    return g.op("HardSwish", x) if g.opset >= 14 else g.op("Mul", x, _hardsigmoid(g, x))


def _hardshrink(g, x, bound=0.5):
    outside = g.op("Greater", g.op("Abs", x), g.number(bound, x.dtype))
    kept = g.op("Where", outside, x, g.number(0, x.dtype))
    return g.op("Where", g.op("IsNaN", x), x, kept)


def _softshrink(g, x, bound=0.5):
    return g.op("Sub", x, clip(g, x, -bound, bound))


def _hardtanh(g, x, low=-1, high=1, *_):
    return clip(g, x, low, high)


def _threshold(g, x, bound, value, *_):
    return g.op("Where", g.op("LessOrEqual", x, g.number(bound, x.dtype)), g.number(value, x.dtype), x, dtype=x.dtype)


def _prelu(g, x, weight):
    if weight.sizes == (1,) or not weight.rank or x.rank < 2:
        return g.op("PRelu", x, weight if x.rank else g.reshape(weight, []))
    return g.op("PRelu", x, g.reshape(weight, [weight.fixed(0), *[1] * (x.rank - 2)]))


def _prelu_kernel(g, x, weight):
    return g.op("PRelu", x, weight)


def _gate(g, x, gate):
    return g.op("Mul", x, g.op("Sigmoid", gate))


def _glu(g, x, dim=-1):
    half = x.fixed(dim) // 2
    return _gate(g, *g.op("Split", x, [half, half], outputs=2, axis=dim))


LOWERINGS = {
    "_gelu": _gelu("none"), "_gelu_tanh": _gelu("tanh"), "gelu": _gelu_named, "_silu": _silu, "silu": _silu,
    "_mish": _mish,
    "mish": _mish, "_log_sigmoid": _log_sigmoid, "logsigmoid": _log_sigmoid, "_softplus": _softplus,
    "softplus": _softplus,
    "_elu": _elu, "elu": lambda g, x, alpha=1.0, *_: _elu(g, x, alpha), "selu": _selu, "celu": _celu,
    "_leaky_relu": _leaky_relu, "leaky_relu": _leaky_relu, "_hardsigmoid": _hardsigmoid, "hardsigmoid": _hardsigmoid,
    "_hardswish": _hardswish, "hardswish": _hardswish, "_hardshrink": _hardshrink, "hardshrink": _hardshrink,
    "_softshrink": _softshrink, "softshrink": _softshrink, "_hardtanh": _hardtanh, "hardtanh": _hardtanh,
    "_threshold": _threshold, "threshold": _threshold, "_prelu": _prelu_kernel, "prelu": _prelu, "glu": _glu,
    "_gate": _gate,
    "softsign": unary("Softsign"),
}  # fmt: skip
