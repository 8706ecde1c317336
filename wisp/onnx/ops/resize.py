"""Resizing: each axis in turn, each element as a weighted sum of a few elements of the input."""

import math

import wisp
from wisp.onnx.ops._common import along, numbers, positive


def _resize(node, x, roi=None, scales=None, sizes=None):
    axes = [positive(a, x.ndim) for a in node["axes"]] if node["axes"] is not None else list(range(x.ndim))
    old = [x.shape[axis] for axis in axes]
    if sizes is not None and sizes.numel():
        new, scales = _wanted_sizes(numbers(sizes), old, node["keep_aspect_ratio_policy"])
    elif scales is not None and scales.numel():
        scales = scales.flatten().to(wisp.float64).tolist()
        new = [math.floor(size * scale) for size, scale in zip(old, scales)]
    else:
        raise ValueError("neither scales nor sizes are given")
    roi = roi.to(wisp.float64).tolist() if roi is not None and roi.numel() else [0.0] * len(axes) + [1.0] * len(axes)
    regions = list(zip(roi, roi[len(axes) :]))
    return _resized(node, x, list(zip(axes, new, scales, regions)))


def _wanted_sizes(sizes, old, policy):
    """Sizes and scales of the output. All scales are the same unless the image may be stretched."""
    scales = [size / before for size, before in zip(sizes, old)]
    if policy in (None, "stretch"):
        return sizes, scales
    if policy not in ("not_larger", "not_smaller"):
        raise ValueError(f"unknown keep_aspect_ratio_policy {policy!r}")
    scale = min(scales) if policy == "not_larger" else max(scales)
    return [math.floor(scale * before + 0.5) for before in old], [scale] * len(old)


def _resize_10(node, x, scales):
    return _simply_resized(node, x, scales.tolist())


def _upsample_by_attribute(node, x):
    return _simply_resized(node, x, node["scales"])


def _upsample_images(node, x):
    return _simply_resized(node, x, [1.0, 1.0, node["height_scale"], node["width_scale"]])


def _simply_resized(node, x, scales):
    """As before version 11: coordinates are divided by the scale, and the nearest is the one below."""
    new = [math.floor(size * scale) for size, scale in zip(x.shape, scales)]
    axes = [(i, size, scale, (0.0, 1.0)) for i, (size, scale) in enumerate(zip(new, scales))]
    return _resized(_Simple(mode=node["mode"]), x, axes)


class _Simple(dict):
    """Attributes of the operators from before version 11."""

    def __missing__(self, name):
        return {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}.get(name)


def _resized(node, x, axes):
    """A tensor with some axes resized; `axes` has tuples of axis, new size, scale and region."""
    dtype = x.dtype
    if node["mode"] != "nearest" and dtype not in (wisp.float32, wisp.float64):
        x = x.to(wisp.float32)
    outside = None
    for axis, size, scale, region in axes:
        if size == x.shape[axis] and scale == 1 and node["coordinate_transformation_mode"] != "tf_crop_and_resize":
            continue
        places = _sources(node, size, scale, x.shape[axis], region)
        if node["coordinate_transformation_mode"] == "tf_crop_and_resize":
            beyond = along((places < 0) | (places > x.shape[axis] - 1), axis, x.ndim)
            outside = beyond if outside is None else outside | beyond
        x = _interpolated(node, x, axis, places, scale)
    if outside is not None:
        x = wisp.where(outside, node["extrapolation_value"], x)
    return x.to(dtype)


def _sources(node, size, scale, old, region):
    """The place in the input of each element of the output, along one axis."""
    mode, length = node["coordinate_transformation_mode"], scale * old
    # Scales are of type float: dividing by one in the same precision gives whole numbers where they are meant.
    y = wisp.arange(size, dtype=wisp.float32 if node["mode"] == "nearest" else wisp.float64)
    if mode == "asymmetric":
        return y / scale
    if mode == "align_corners":
        return y * ((old - 1) / (length - 1)) if length != 1 else y * 0
    if mode == "tf_crop_and_resize":
        start, width = region[0] * (old - 1), (region[1] - region[0]) * (old - 1)
        return start + (y * (width / (length - 1)) if length != 1 else y * 0 + width / 2)
    if mode == "tf_half_pixel_for_nn":
        return (y + 0.5) / scale
    if mode == "pytorch_half_pixel" and length == 1:
        return y * 0 - 0.5
    if mode not in ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric"):
        raise ValueError(f"unknown coordinate_transformation_mode {mode!r}")
    shift = old / 2 * (1 - size / length) if mode == "half_pixel_symmetric" else 0
    return shift + (y + 0.5) / scale - 0.5


_NEAREST = {
    "round_prefer_floor": lambda x: wisp.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: wisp.floor(x + 0.5),
    "floor": wisp.floor,
    "ceil": wisp.ceil,
}


def _interpolated(node, x, axis, places, scale):
    """The values of a tensor at fractional places along an axis."""
    last = x.shape[axis] - 1
    if node["mode"] == "nearest":
        nearest = _NEAREST[node["nearest_mode"]](places)
        return x.index_select(axis, nearest.clamp(0, last).to(wisp.int64))
    indices, weights = _taps(node, places, scale)
    if node["exclude_outside"]:
        weights = wisp.where((indices < 0) | (indices > last), 0.0, weights)
        weights = weights / weights.sum(0)
    result = 0
    for index, weight in zip(indices.clamp(0, last), weights.to(x.dtype)):
        result = result + x.index_select(axis, index) * along(weight, axis, x.ndim)
    return result


def _taps(node, places, scale):
    """Which elements are summed, and their weights: tensors of shape (number of taps, size of the output)."""
    cubic = {"linear": False, "bilinear": False, "cubic": True}.get(node["mode"])
    if cubic is None:
        raise ValueError(f"unknown mode {node['mode']!r}")
    squeeze = min(scale, 1.0) if node["antialias"] else 1.0  # a smaller image takes more elements into account
    reach = math.floor(-(2 if cubic else 1) / squeeze) + 1
    low = wisp.floor(places)
    steps = wisp.arange(reach, 2 - reach).unsqueeze(1)
    distances = (steps - (places - low)).abs() * squeeze
    weights = _cubic_kernel(distances, node["cubic_coeff_a"]) if cubic else (1 - distances).clamp(min=0)
    return low.to(wisp.int64) + steps, weights / weights.sum(0)


def _cubic_kernel(x, a):
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return wisp.where(x <= 1, near, wisp.where(x < 2, far, 0.0))


OPERATORS = {
    "Resize": [(10, _resize_10), (11, _resize)],
    "Upsample": [(1, _upsample_images), (7, _upsample_by_attribute), (9, _resize_10)],
}
