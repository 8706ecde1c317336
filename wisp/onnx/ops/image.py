"""Operators on images and the boxes in them."""

import io
import math

import wisp
from wisp.nn import functional as F
from wisp.onnx.ops._common import numbers
from wisp.onnx.ops._windows import weighted_corners

_MODES = {"linear": "bilinear", "cubic": "bicubic"}


def _grid_sample(node, x, grid):
    mode = _MODES.get(node["mode"], node["mode"])
    return F.grid_sample(x, grid, mode, node["padding_mode"], bool(node["align_corners"]))


def _affine_grid(node, theta, size):
    return F.affine_grid(theta, numbers(size), align_corners=bool(node["align_corners"]))


def _roi_align(node, x, rois, batch_indices):
    """Each region of interest as an image of one size, by interpolation at regular places."""
    results = [_aligned(node, x[b : b + 1], roi) for b, roi in zip(numbers(batch_indices), rois.tolist())]
    if results:
        return wisp.cat(results)
    return x.new_zeros(0, x.shape[1], node["output_height"], node["output_width"])


def _aligned(node, image, roi):
    half_pixel = node["coordinate_transformation_mode"] == "half_pixel"
    left, top, right, bottom = (c * node["spatial_scale"] - (0.5 if half_pixel else 0) for c in roi)
    rows = _bins(node, top, bottom - top, node["output_height"], half_pixel)
    columns = _bins(node, left, right - left, node["output_width"], half_pixel)
    grid = rows.reshape(*rows.shape, 1, 1), columns.reshape(1, 1, *columns.shape)
    shape = [*rows.shape, *columns.shape]
    places = [g.expand(shape).reshape(1, -1) for g in grid]
    inside, near = 1, []
    for place, size in zip(places, image.shape[2:]):
        inside = inside * ((place >= -1) & (place <= size)).to(image.dtype)
        near.append(place.clamp(0, size - 1).to(image.dtype))
    corners = weighted_corners(image, near)
    if node["mode"] == "avg" or 0 in shape:
        values = (sum(corners) * inside).reshape(1, image.shape[1], *shape)
        return values.sum((3, 5)) / max(rows.shape[1] * columns.shape[1], 1)
    # The standard takes the largest of the weighted elements, not of their sums.
    return (wisp.stack(list(corners)).amax(0) * inside).reshape(1, image.shape[1], *shape).amax((3, 5))


def _bins(node, start, length, count, half_pixel):
    """Where to sample along one axis: a tensor of shape (bins, samples in each)."""
    length = length if half_pixel else max(length, 1.0)
    size = length / count
    samples = node["sampling_ratio"] or max(math.ceil(size), 0)
    inside = (wisp.arange(samples, dtype=wisp.float64) + 0.5) * (size / max(samples, 1))
    return start + wisp.arange(count, dtype=wisp.float64).unsqueeze(1) * size + inside


def _max_roi_pool(node, x, rois):
    """The largest element in each part of each region of interest."""
    height, width = node["pooled_shape"]
    results = []
    for batch, *corners in rois.tolist():
        left, top, right, bottom = (_half_up(c * node["spatial_scale"]) for c in corners)
        rows = _parts(top, max(bottom - top + 1, 1), height, x.shape[2])
        columns = _parts(left, max(right - left + 1, 1), width, x.shape[3])
        image = x[int(batch)]
        maxima = [_largest(image[:, r, c]) for r in rows for c in columns]
        results.append(wisp.stack(maxima, 1).reshape(-1, height, width))
    return wisp.stack(results) if results else x.new_zeros(0, x.shape[1], height, width)


def _half_up(number):
    return math.floor(number + 0.5)


def _parts(start, length, count, size):
    """The ranges of coordinates that an axis of a region is divided into."""
    lows = [start + math.floor(i * length / count) for i in range(count)]
    highs = [start + math.ceil((i + 1) * length / count) for i in range(count)]
    return [slice(min(max(low, 0), size), min(max(high, 0), size)) for low, high in zip(lows, highs)]


def _largest(part):
    return part.amax((1, 2)) if part.numel() else part.new_zeros(part.shape[0])


def _non_max_suppression(node, boxes, scores, max_count=None, iou_threshold=None, score_threshold=None):
    """The best boxes of each image and class, without those that overlap a better one."""
    count = 0 if max_count is None else int(max_count.item())
    overlap = 0.0 if iou_threshold is None else iou_threshold.item()
    corners = _corners(boxes, node["center_point_box"])
    chosen = []
    for image, classes in enumerate(scores):
        for kind, points in enumerate(classes):
            order = wisp.sort(points, stable=True, descending=True)[1]
            if score_threshold is not None:
                order = order[points[order] > score_threshold.item()]
            chosen += [[image, kind, box] for box in _not_suppressed(corners[image], order, count, overlap)]
    return wisp.tensor(chosen, dtype=wisp.int64).reshape(-1, 3)


def _corners(boxes, center_point):
    """Boxes by their lower and upper corners: a tensor of shape (images, boxes, 4)."""
    if center_point:
        center, half = boxes[..., :2], boxes[..., 2:] / 2
        return wisp.cat([center - half, center + half], -1)
    first, second = boxes[..., :2], boxes[..., 2:]
    return wisp.cat([wisp.minimum(first, second), wisp.maximum(first, second)], -1)


def _not_suppressed(corners, order, count, threshold):
    """Indices of boxes in an order, up to a count, leaving out what overlaps an earlier one."""
    sizes = (corners[:, 2:] - corners[:, :2]).prod(-1)
    kept = []
    while len(order) and len(kept) < count:
        best, order = order[0], order[1:]
        kept.append(int(best))
        low = wisp.maximum(corners[best, :2], corners[order, :2])
        high = wisp.minimum(corners[best, 2:], corners[order, 2:])
        common = (high - low).clamp(min=0).prod(-1)
        union = sizes[best] + sizes[order] - common
        order = order[~((union > 0) & (common > threshold * union))]
    return kept


def _image_decoder(node, encoded):
    """The picture in the bytes of a file: Pillow reads it."""
    from PIL import Image

    formats = {"RGB": "RGB", "BGR": "RGB", "Grayscale": "L"}
    if node["pixel_format"] not in formats:
        raise ValueError(f"unknown pixel_format {node['pixel_format']!r}")
    with Image.open(io.BytesIO(bytes(encoded.tolist()))) as file:
        picture = file.convert(formats[node["pixel_format"]])
    pixels = wisp.frombuffer(bytearray(picture.tobytes()), dtype=wisp.uint8)
    pixels = pixels.reshape(picture.height, picture.width, -1)
    return pixels.flip(-1) if node["pixel_format"] == "BGR" else pixels


OPERATORS = {
    "AffineGrid": [(20, _affine_grid)],
    "GridSample": [(16, _grid_sample)],
    "ImageDecoder": [(20, _image_decoder)],
    "MaxRoiPool": [(1, _max_roi_pool)],
    "NonMaxSuppression": [(10, _non_max_suppression)],
    "RoiAlign": [(10, _roi_align)],
}
