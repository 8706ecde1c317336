"""Pooling."""

import math

import wisp
from wisp.nn import functional as F
from wisp.onnx.ops._common import numbers
from wisp.onnx.ops._windows import Windows, flat_indices
from wisp.onnx.ops.reductions import lowest

_MAXIMA = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
_AVERAGES = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def _max_pool(node, x):
    windows = Windows(node, x.shape[2:], node["kernel_shape"])
    if node.wants(1):
        return _max_with_indices(node, x, windows)
    if windows.rank not in _MAXIMA:
        return windows.of(windows.padded(x, lowest(x.dtype))).amax(list(range(-windows.rank, 0)))
    inside = windows.symmetric and all(2 * b <= k for b, k in zip(windows.before, windows.kernel))
    if not inside:
        x = windows.padded(x, lowest(x.dtype))
    padding = windows.before if inside else 0
    return _MAXIMA[windows.rank](x, windows.kernel, windows.strides, padding, windows.dilations)


def _max_with_indices(node, x, windows):
    """Maxima, and where they are in the flattened input."""
    values = windows.of(windows.padded(x, lowest(x.dtype))).flatten(-windows.rank)
    maxima, taps = values.max(-1)
    coordinates, rest = [], taps
    for axis in reversed(range(windows.rank)):
        tap, rest = rest % windows.kernel[axis], rest // windows.kernel[axis]
        start = wisp.arange(windows.counts[axis]) * windows.strides[axis] - windows.before[axis]
        start = start.reshape([-1] + [1] * (windows.rank - 1 - axis))
        coordinates.insert(0, start + tap * windows.dilations[axis])
    sizes = list(x.shape[2:])
    if node["storage_order"]:
        coordinates, sizes = coordinates[::-1], sizes[::-1]
    plane = wisp.arange(x.shape[0] * x.shape[1]).reshape([*x.shape[:2], *[1] * windows.rank])
    return maxima, plane * math.prod(sizes) + flat_indices(coordinates, sizes)


def _sums(x, windows):
    """The sum of each window, padding counting as zero."""
    x = windows.padded(x)
    if windows.rank in _AVERAGES and max(windows.dilations) == 1:
        return _AVERAGES[windows.rank](x, windows.kernel, windows.strides) * math.prod(windows.kernel)
    return windows.of(x).sum(list(range(-windows.rank, 0)))


def _average_pool(node, x):
    windows = Windows(node, x.shape[2:], node["kernel_shape"])
    sums, divisor = _sums(x, windows), wisp.ones((), dtype=wisp.int64)
    for axis, size in enumerate(windows.sizes):
        places = windows.places(axis)
        low, high = 0, size
        if node["count_include_pad"]:
            low, high = -windows.before[axis], size + windows.after[axis] - windows.extra[axis]
        inside = ((places >= low) & (places < high)).sum(1)
        divisor = divisor.unsqueeze(-1) * inside
    return sums / divisor.to(x.dtype)


def _lp_pool(node, x):
    p = node["p"]
    windows = Windows(node, x.shape[2:], node["kernel_shape"])
    return _sums(x.abs() ** p, windows) ** (1 / p)


def _spatial_axes(x):
    return list(range(2, x.ndim))


def _global_average(node, x):
    return x.mean(_spatial_axes(x), keepdim=True)


def _global_max(node, x):
    return x.amax(_spatial_axes(x), keepdim=True)


def _global_lp(node, x):
    return (x.abs() ** node["p"]).sum(_spatial_axes(x), keepdim=True) ** (1 / node["p"])


def _max_unpool(node, x, indices, output_shape=None):
    """Zeros with the elements of a tensor at the places of a larger one that indices name."""
    rank = len(node["kernel_shape"])
    strides, pads = node["strides"] or [1] * rank, node["pads"] or [0] * (2 * rank)
    sizes = [
        (x.shape[2 + i] - 1) * strides[i] + node["kernel_shape"][i] - pads[i] - pads[rank + i] for i in range(rank)
    ]
    shape = [*x.shape[:2], *sizes]
    flat = wisp.zeros(math.prod(shape), dtype=x.dtype).scatter(0, indices.flatten(), x.flatten())
    y = flat.reshape(shape)
    if output_shape is None:
        return y
    missing = [wanted - size for wanted, size in zip(numbers(output_shape), shape)]
    return F.pad(y, [p for m in reversed(missing) for p in (0, m)])


OPERATORS = {
    "AveragePool": [(1, _average_pool)],
    "GlobalAveragePool": [(1, _global_average)],
    "GlobalLpPool": [(1, _global_lp)],
    "GlobalMaxPool": [(1, _global_max)],
    "LpPool": [(1, _lp_pool)],
    "MaxPool": [(1, _max_pool)],
    "MaxUnpool": [(9, _max_unpool)],
}
