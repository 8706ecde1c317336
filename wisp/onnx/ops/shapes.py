"""Operators that change shapes and move elements around as a whole."""

import wisp
from wisp.nn import functional as F
from wisp.onnx.ops._common import given_axes, numbers, positive, taken


def _reshape(node, x, shape=None):
    sizes = numbers(shape) if shape is not None else node["shape"]
    if not node["allowzero"]:
        if any(size == 0 and i >= x.ndim for i, size in enumerate(sizes)):
            raise ValueError(f"shape {sizes} copies sizes that {list(x.shape)} does not have")
        sizes = [x.shape[i] if size == 0 else size for i, size in enumerate(sizes)]
    return x.reshape(sizes)


def _flatten(node, x):
    axis = node["axis"] if node["axis"] == x.ndim else positive(node["axis"], x.ndim or 1)
    rows = 1
    for size in x.shape[:axis]:
        rows *= size
    return x.reshape(rows, x.numel() // rows if rows else 0)


def _squeeze(node, x, axes=None):
    axes = given_axes(node, axes)
    if axes is None:
        return x.squeeze()
    axes = [positive(axis, x.ndim) for axis in axes]
    if any(x.shape[axis] != 1 for axis in axes):
        raise ValueError(f"axes {axes} of shape {list(x.shape)} are not all of size 1")
    return x.squeeze(axes)


def _unsqueeze(node, x, axes=None):
    axes = given_axes(node, axes)
    rank = x.ndim + len(axes)
    for axis in sorted(positive(axis, rank) for axis in axes):
        x = x.unsqueeze(axis)
    return x


def _transpose(node, x):
    return x.permute(node["perm"] if node["perm"] is not None else list(range(x.ndim))[::-1])


def _concat(node, *xs):
    return wisp.cat(xs, 1 if node["axis"] is None else node["axis"])


def _split(node, x, split=None):
    axis = positive(node["axis"] or 0, x.ndim)
    sizes = numbers(split) if split is not None else node["split"]
    if not sizes:
        count = len(node.outputs)
        if node["num_outputs"] not in (None, count):
            raise ValueError(f"num_outputs is {node['num_outputs']}, but there are {count} outputs")
        size = -(-x.shape[axis] // count)
        sizes = [max(min(size, x.shape[axis] - i * size), 0) for i in range(count)]
    return tuple(wisp.split(x, sizes, axis))


def _slice_by_attributes(node, x):
    return _sliced(x, node["starts"], node["ends"], node["axes"], None)


def _slice(node, x, starts, ends, axes=None, steps=None):
    lists = [numbers(v) if v is not None else None for v in (starts, ends, axes, steps)]
    return _sliced(x, *lists)


def _sliced(x, starts, ends, axes, steps):
    axes = axes if axes is not None else range(len(starts))
    steps = steps if steps is not None else [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise ValueError(f"starts {starts}, ends {ends}, axes {list(axes)} and steps {steps} differ in length")
    for start, end, axis, step in zip(starts, ends, axes, steps):
        axis = positive(axis, x.ndim)
        wanted = range(x.shape[axis])[start:end:step]
        if step > 0:
            place = slice(wanted.start, wanted.stop, step)
            x = x[(slice(None),) * axis + (place,)]
        else:
            x = taken(x, axis, list(wanted))
    return x


def _expand(node, x, shape):
    return wisp.broadcast_to(x, wisp.broadcast_shapes(x.shape, numbers(shape)))


def _tile_one_axis(node, x, tiles, axis):
    repeats = [1] * x.ndim
    repeats[positive(int(axis.item()), x.ndim)] = int(tiles.item())
    return x.repeat(repeats)


def _tile(node, x, repeats):
    return x.repeat(numbers(repeats))


def _pad_by_attributes(node, x):
    pads = node["pads"] if node["pads"] is not None else node["paddings"]
    return _padded(x, pads, range(x.ndim), node["mode"], node["value"])


def _pad(node, x, pads, value=None, axes=None):
    axes = range(x.ndim) if axes is None else numbers(axes)
    return _padded(x, numbers(pads), axes, node["mode"], 0 if value is None else value.item())


def _padded(x, pads, axes, mode, value):
    """A tensor with `pads` (all beginnings, then all ends) more elements along some axes, or fewer."""
    if len(pads) != 2 * len(axes):
        raise ValueError(f"{len(pads)} pads do not fit {len(axes)} axes")
    pairs = [(0, 0)] * x.ndim
    for axis, before, after in zip(axes, pads, pads[len(axes) :]):
        pairs[positive(axis, x.ndim)] = before, after
    if mode == "constant":
        return F.pad(x, [size for pair in reversed(pairs) for size in pair], value=value)
    if mode not in _SOURCES:
        raise ValueError(f"unknown mode {mode!r}")
    for axis, (before, after) in enumerate(pairs):
        if before or after:
            low, high = max(-before, 0), x.shape[axis] + min(after, 0)
            x = x.narrow(axis, low, high - low)
            places = wisp.arange(-max(before, 0), high - low + max(after, 0))
            x = x.index_select(axis, _SOURCES[mode](places, high - low))
    return x


def _mirrored(places, size):
    """Where elements at places outside come from if edges are mirrors."""
    period = max(2 * (size - 1), 1)
    return wisp.minimum(places % period, (-places) % period)


# Where elements at places outside a tensor come from.
_SOURCES = {
    "edge": lambda places, size: places.clamp(0, size - 1),
    "reflect": _mirrored,
    "wrap": lambda places, size: places % size,
}


def _depth_to_space(node, x):
    n, c, h, w = x.shape
    b = node["blocksize"]
    if node["mode"] == "CRD":
        return x.reshape(n, c // (b * b), b, b, h, w).permute(0, 1, 4, 2, 5, 3).reshape(n, c // (b * b), h * b, w * b)
    return x.reshape(n, b, b, c // (b * b), h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // (b * b), h * b, w * b)


def _space_to_depth(node, x):
    n, c, h, w = x.shape
    b = node["blocksize"]
    order = (0, 1, 3, 5, 2, 4) if node["mode"] == "CRD" else (0, 3, 5, 1, 2, 4)
    return x.reshape(n, c, h // b, b, w // b, b).permute(order).reshape(n, c * b * b, h // b, w // b)


def _center_crop_pad(node, x, shape):
    """Each axis cut or filled up with zeros on both sides alike."""
    sizes = numbers(shape)
    axes = node["axes"] if node["axes"] is not None else range(x.ndim)
    befores, afters = [], []
    for axis, size in zip(axes, sizes):
        missing = size - x.shape[axis]
        before = missing // 2 if missing >= 0 else -(-missing // 2)
        befores.append(before)
        afters.append(missing - before)
    return _padded(x, befores + afters, list(axes), "constant", 0)


def _trilu(node, x, k=None):
    diagonal = 0 if k is None else int(k.item())
    return wisp.triu(x, diagonal) if node["upper"] else wisp.tril(x, diagonal)


def _reverse_sequence(node, x, lengths):
    """The first elements of each sequence of a batch in reverse order."""
    moved = x.movedim((node["time_axis"], node["batch_axis"]), (0, 1))
    time = wisp.arange(moved.shape[0]).unsqueeze(1)
    places = wisp.where(time < lengths, lengths - 1 - time, time)
    result = moved[places, wisp.arange(moved.shape[1])]
    return result.movedim((0, 1), (node["time_axis"], node["batch_axis"]))


def _shape(node, x):
    sizes = list(x.shape)[node["start"] or 0 : node["end"]]
    return wisp.tensor(sizes, dtype=wisp.int64)


def _size(node, x):
    return wisp.tensor(x.numel())


OPERATORS = {
    "CenterCropPad": [(18, _center_crop_pad)],
    "Concat": [(1, _concat)],
    "DepthToSpace": [(1, _depth_to_space)],
    "Expand": [(8, _expand)],
    "Flatten": [(1, _flatten)],
    "Pad": [(1, _pad_by_attributes), (11, _pad)],
    "Reshape": [(1, _reshape)],
    "ReverseSequence": [(10, _reverse_sequence)],
    "Shape": [(1, _shape)],
    "Size": [(1, _size)],
    "Slice": [(1, _slice_by_attributes), (10, _slice)],
    "SpaceToDepth": [(1, _space_to_depth)],
    "Split": [(1, _split)],
    "Squeeze": [(1, _squeeze)],
    "Tile": [(1, _tile_one_axis), (6, _tile)],
    "Transpose": [(1, _transpose)],
    "Trilu": [(14, _trilu)],
    "Unsqueeze": [(1, _unsqueeze)],
}
