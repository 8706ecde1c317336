"""Normalisation."""

import wisp
from wisp.onnx._export.formula import Formula
from wisp.onnx._export.lowerings.creation import filled
from wisp.onnx._export.lowerings.reductions import variance


def channel_sizes(x):
    """The sizes that let a tensor of one number per channel be broadcast over an image."""
    return [-1, *[1] * (x.rank - 2)]


def _per_channel(g, x, value):
    return g.reshape(value, channel_sizes(x))


def _affine(g, made, x, weight, bias):
    if weight is not None:
        made = g.op("Mul", made, _per_channel(g, x, weight))
    return made if bias is None else g.op("Add", made, _per_channel(g, x, bias))


def _normalized(g, x, dims, eps):
    mean = g.reduce("ReduceMean", x, dims, True)
    gap = g.op("Sub", x, mean)
    spread = g.reduce("ReduceMean", g.op("Mul", gap, gap), dims, True)
    return g.op("Div", gap, g.op("Sqrt", g.op("Add", spread, g.number(eps, x.dtype))))


def _batch_norm(g, x, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    if training or mean is None:
        made = _normalized(g, x, [dim for dim in range(x.rank) if dim != 1], eps)
        return _affine(g, made, x, weight, bias)
    channels = mean.fixed(0)
    weight = wisp.ones(channels, dtype=x.dtype) if weight is None else weight
    bias = wisp.zeros(channels, dtype=x.dtype) if bias is None else bias
    return g.op("BatchNormalization", x, weight, bias, mean, var, epsilon=eps, momentum=1 - (momentum or 0.0))


def _batch_norm_kernel(g, x, weight, bias, mean, var, training, momentum, eps):
    return (_batch_norm(g, x, mean, var, weight, bias, training, momentum, eps),)


def _layer_norm(g, x, shape, weight=None, bias=None, eps=1e-5):
    dims = list(range(-len(shape), 0))
    if g.opset < 17:
        made = _normalized(g, x, dims, eps)
        made = made if weight is None else g.op("Mul", made, weight)
        return made if bias is None else g.op("Add", made, bias)
    weight = wisp.ones(shape, dtype=x.dtype) if weight is None else weight
    return g.op("LayerNormalization", x, weight, bias, axis=-len(shape), epsilon=eps)


def _layer_norm_kernel(g, x, shape, weight, bias, eps):
    found = _layer_norm(g, x, shape, weight, bias, eps)
    return (found, *_statistics(g, x, list(range(-len(shape), 0)), eps, True))


def _statistics(g, x, dims, eps, keepdim):
    """Means, and 1 / standard deviations."""
    spread, mean = variance(g, x, dims, 0, keepdim)
    return mean, g.op("Reciprocal", g.op("Sqrt", g.op("Add", spread, g.number(eps, x.dtype))))


def _rms_norm(g, x, shape, weight=None, eps=None):
    eps = wisp.finfo(x.dtype).eps if eps is None else eps
    squares = g.reduce("ReduceMean", g.op("Mul", x, x), list(range(-len(shape), 0)), True)
    made = g.op("Div", x, g.op("Sqrt", g.op("Add", squares, g.number(eps, x.dtype))))
    return made if weight is None else g.op("Mul", made, weight)


def _group_norm(g, x, groups, weight=None, bias=None, eps=1e-5):
    parts = g.reshape(x, [g.size(x, 0), groups, -1])
    parts.sizes = (x.size(0), groups, None)
    return _affine(g, g.reshape(_normalized(g, parts, [2], eps), g.shape(x)), x, weight, bias)


def _group_norm_kernel(g, x, weight, bias, batch, channels, pixels, groups, eps):
    parts = g.reshape(x, [batch, groups, -1])
    return (_group_norm(g, x, groups, weight, bias, eps), *_statistics(g, parts, [2], eps, False))


def _instance_norm(g, x, mean=None, var=None, weight=None, bias=None, use_input=True, momentum=0.1, eps=1e-5):
    if not use_input:
        return _batch_norm(g, x, mean, var, weight, bias, False, momentum, eps)
    channels = x.fixed(1)
    weight = wisp.ones(channels, dtype=x.dtype) if weight is None else weight
    bias = wisp.zeros(channels, dtype=x.dtype) if bias is None else bias
    return g.op("InstanceNormalization", x, weight, bias, epsilon=eps)


def _dropout(g, x, p=0.5, training=True, inplace=False):
    if not training or p == 0:
        return g.op("Identity", x)
    return g.op("Dropout", x, g.number(p, wisp.float32), g.number(True, wisp.bool))


def _channel_dropout(g, x, p=0.5, training=True, inplace=False):
    if not training or p == 0:
        return g.op("Identity", x)
    sizes = [*g.sizes(x)[:2], *[1] * (x.rank - 2)]
    kept = g.op("Dropout", filled(g, sizes, 1, x.dtype), g.number(p, wisp.float32), g.number(True, wisp.bool))
    return g.op("Mul", x, kept)


_FLOOR = -1.7580993408473766  # of the activation function (SELU) that this dropout goes with


def _alpha_dropout(g, x, p=0.5, training=False, inplace=False):
    """What is dropped becomes the floor; a factor and a shift keep mean and variance."""
    if not training or p == 0:
        return g.op("Identity", x)
    drawn = g.op("RandomUniformLike", x, low=0.0, high=1.0, sizes=x.sizes)
    kept = g.op("GreaterOrEqual", drawn, g.number(p, x.dtype))
    found = Formula(g, g.op("Where", kept, x, g.number(_FLOOR, x.dtype)))
    factor = ((1 - p) * (1 + p * _FLOOR**2)) ** -0.5 if p < 1 else 0.0
    return (found * factor - factor * _FLOOR * p).ref


LOWERINGS = {
    "batch_norm": _batch_norm, "_batch_norm": _batch_norm_kernel, "layer_norm": _layer_norm,
    "native_layer_norm": _layer_norm_kernel, "rms_norm": _rms_norm, "group_norm": _group_norm,
    "native_group_norm": _group_norm_kernel, "instance_norm": _instance_norm, "dropout": _dropout,
    "_dropout": lambda g, x, p: (_dropout(g, x, p),),
    **dict.fromkeys(("dropout1d", "dropout2d", "dropout3d"), _channel_dropout),
    "alpha_dropout": _alpha_dropout,
}  # fmt: skip
