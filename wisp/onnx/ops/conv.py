"""Convolutions."""

import math

import wisp
from wisp.nn import functional as F
from wisp.onnx.ops._common import along, numbers
from wisp.onnx.ops._windows import Windows, flat_indices, linear_samples

_CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def of_rank(functions, rank):
    """The function for a number of spatial axes."""
    if rank not in functions:
        raise ValueError(f"{rank} spatial axes are not supported, only {sorted(functions)}")
    return functions[rank]


def convolution(node, x, weight, bias=None, pad_value=0):
    """A convolution with the attributes of a node."""
    windows = Windows(node, x.shape[2:], weight.shape[2:])
    padding = windows.before if windows.symmetric and pad_value == 0 else 0
    if padding == 0:
        x = windows.padded(x, pad_value)
    function = of_rank(_CONVOLUTIONS, windows.rank)
    return function(x, weight, bias, windows.strides, padding, windows.dilations, node["group"])


def _conv_transpose(node, x, weight, bias=None):
    """The full result, cut at its ends by the padding and continued by zeros for the output padding."""
    rank = weight.ndim - 2
    strides, dilations = node["strides"] or [1] * rank, node["dilations"] or [1] * rank
    full = of_rank(_TRANSPOSED, rank)(x, weight, None, strides, 0, 0, node["group"], dilations)
    before, after = _cuts(node, list(x.shape[2:]), list(full.shape[2:]), strides)
    y = F.pad(full, [-cut for pair in zip(before[::-1], after[::-1]) for cut in pair])
    return y if bias is None else y + along(bias, 1, y.ndim)


def _cuts(node, sizes, full, strides):
    """How much of the full result of a transposed convolution is left out at the beginning and end of each axis."""
    rank, auto = len(sizes), node["auto_pad"]
    more = node["output_padding"] or [0] * rank
    wanted = node["output_shape"]
    if not wanted and auto in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [size * stride for size, stride in zip(sizes, strides)]
    if not wanted:
        pads = node["pads"] or [0] * (2 * rank)
        return pads[:rank], [end - m for end, m in zip(pads[rank:], more)]
    total = [f + m - w for f, m, w in zip(full, more, wanted[-rank:])]
    half, rest = [t // 2 for t in total], [t - t // 2 for t in total]
    before, after = (half, rest) if auto == "SAME_UPPER" else (rest, half)
    return before, [a - m for a, m in zip(after, more)]


def _deform_conv(node, x, weight, offset, bias=None, mask=None):
    """A convolution whose kernels read the input at places moved by offsets, between pixels if need be."""
    windows = Windows(node, x.shape[2:], weight.shape[2:])
    batch, groups, rank = len(x), node["offset_group"], windows.rank
    taps, places = math.prod(windows.kernel), math.prod(windows.counts)
    offset = offset.reshape(batch * groups, taps, rank, places)
    coordinates = []
    for axis in range(rank):
        regular = windows.grid(axis).expand(*windows.kernel, *windows.counts).reshape(1, taps, places)
        coordinates.append((regular + offset[:, :, axis]).flatten(1))
    samples = linear_samples(x.reshape(batch * groups, -1, *x.shape[2:]), coordinates)
    samples = samples.reshape(batch * groups, -1, taps, places)
    if mask is not None:
        samples = samples * mask.reshape(batch * groups, 1, taps, places)
    columns = samples.reshape(batch, node["group"], -1, places)
    kernels = weight.reshape(node["group"], weight.shape[0] // node["group"], -1)
    y = wisp.matmul(kernels, columns).reshape(batch, weight.shape[0], *windows.counts)
    return y if bias is None else y + along(bias, 1, y.ndim)


def _col2im(node, columns, image_shape, block_shape):
    """The sum of blocks, each added to the place of the image that it covers."""
    sizes, block = numbers(image_shape), numbers(block_shape)
    windows = Windows(node, sizes, block)
    padded = [size + before + after for size, before, after in zip(sizes, windows.before, windows.after)]
    places = [windows.grid(axis) + windows.before[axis] for axis in range(windows.rank)]
    index = flat_indices(places, padded).expand(*block, *windows.counts).flatten()
    values = columns.reshape(len(columns), -1, len(index))
    image = wisp.zeros(*values.shape[:2], math.prod(padded), dtype=columns.dtype).index_add(2, index, values)
    image = image.reshape(*values.shape[:2], *padded)
    inner = tuple(slice(before, before + size) for before, size in zip(windows.before, sizes))
    return image[(slice(None), slice(None), *inner)]


OPERATORS = {
    "Col2Im": [(18, _col2im)],
    "Conv": [(1, convolution)],
    "ConvTranspose": [(1, _conv_transpose)],
    "DeformConv": [(19, _deform_conv)],
}
