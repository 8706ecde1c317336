"""What event files hold: every function encodes a Summary, as bytes for `FileWriter.add_summary`."""

import json
import warnings
from functools import cache

import wisp
from wisp import Tensor
from wisp.utils.tensorboard import _media
from wisp.utils.tensorboard._media import as_tensor
from wisp.utils.tensorboard._proto import chunk, double, doubles, integer, single

__all__ = [
    "audio", "custom_scalars", "histogram", "histogram_raw", "hparams", "image", "image_boxes", "mesh", "pr_curve",
    "pr_curve_raw", "scalar", "tensor_proto", "text", "video",
]  # fmt: skip

# TensorBoard's numbers of element types.
_DTYPES = {
    wisp.float32: 1, wisp.float64: 2, wisp.int32: 3, wisp.uint8: 4, wisp.int16: 5, wisp.int8: 6, wisp.complex64: 8,
    wisp.int64: 9, wisp.bool: 10, wisp.bfloat16: 14, wisp.complex128: 18, wisp.float16: 19,
}  # fmt: skip
_STRING = 7


def _summary(*values):
    return b"".join(chunk(1, value) for value in values)


def _value(tag, content, plugin=None, plugin_content=None):
    """One value of a summary, with the name of the plugin that shows it."""
    data = chunk(1, str(tag)) + content
    if plugin is not None:
        plugin_data = chunk(1, plugin) + (b"" if plugin_content is None else chunk(2, plugin_content))
        data += chunk(9, chunk(1, plugin_data))
    return data


def _shape(sizes):
    return b"".join(chunk(2, integer(1, size)) for size in sizes)


def _tensor(tensor):
    """A TensorProto of a tensor's memory."""
    dtype, sizes = integer(1, _DTYPES[tensor.dtype]), chunk(2, _shape(tensor.shape))
    return chunk(8, dtype + sizes + chunk(4, _media.raw_bytes(tensor)))


def _strings(values, sizes):
    return chunk(8, integer(1, _STRING) + chunk(2, _shape(sizes)) + b"".join(chunk(8, value) for value in values))


def _floats(value):
    return as_tensor(value).to(wisp.float32)


# --- numbers


def number(value):
    """A scalar as a Python number."""
    if isinstance(value, (int, float)):
        return float(value)
    if value is None or isinstance(value, (dict, list, tuple)):
        raise NotImplementedError(f"Got {type(value)}, but numpy array or torch tensor are expected.")
    value = as_tensor(value).squeeze()
    if value.dim() != 0:
        raise AssertionError(f"Tensor should contain one element (0 dimensions). Was given size: {value.numel()} and "
                             f"{value.dim()} dimensions.")  # fmt: skip
    return float(value.item())


def scalar(name, tensor, collections=None, new_style=False, double_precision=False):
    """A number."""
    value = number(tensor)
    if not new_style:
        return _summary(_value(name, single(2, value)))
    kind = integer(1, 2) + double(6, value) if double_precision else integer(1, 1) + single(5, value)
    return _summary(_value(name, chunk(8, kind), "scalars"))


def tensor_proto(tag, tensor):
    """A tensor of any shape and dtype."""
    return _summary(_value(tag, _tensor(as_tensor(tensor)), "tensor"))


def text(tag, text):
    """Text, shown as Markdown."""
    return _summary(_value(f"{tag}/text_summary", _strings([text], [1]), "text"))


# --- histograms


def histogram(name, values, bins, max_bins=None):
    """A histogram of values over bins: their number, a rule of NumPy's by name, "tensorflow", or their edges."""
    values = as_tensor(values).reshape(-1).to(wisp.float64)
    if values.numel() == 0:
        raise ValueError("The input has no element.")
    edges = _edges(values, bins)
    counts = _counts(values, edges)
    edges, counts = _coarser(edges, counts, max_bins)
    filled = counts.nonzero().reshape(-1)
    if filled.numel() == 0:
        raise ValueError(f"{name}: no value lies in a bin of the histogram")
    start, end = filled[0].item(), filled[-1].item() + 1
    # The first limit closes an empty bin on the left: bins are told by their upper limits alone.
    counts = [0.0, *counts[start:end].tolist()]
    return _histogram(name, values.min().item(), values.max().item(), len(values), values.sum().item(),
                      values.square().sum().item(), edges[start : end + 1].tolist(), counts)  # fmt: skip


def _edges(values, bins):
    if isinstance(bins, str) and bins == "tensorflow":
        return _growing_edges()
    if isinstance(bins, str):
        return _edges_by_rule(values, bins)
    if isinstance(bins, int):
        low, high = values.min(), values.max()
        half = 0.5 if low == high else 0.0
        return wisp.linspace(low.item() - half, high.item() + half, bins + 1, dtype=wisp.float64)
    edges = as_tensor(bins).to(wisp.float64)
    if edges.dim() != 1 or (edges.diff() < 0).any():
        raise ValueError("`bins` must increase monotonically, when an array")
    return edges


@cache
def _growing_edges():
    """The edges that TensorFlow had: each a tenth farther from 0 than the one before."""
    steps = 1e-12 * 1.1 ** wisp.arange(774, dtype=wisp.float64)
    return wisp.cat([-steps.flip(0), wisp.zeros(1, dtype=wisp.float64), steps])


def _edges_by_rule(values, rule):
    try:
        import numpy
    except ImportError as error:
        raise ImportError(f"bins={rule!r} is a rule of NumPy's: pip install numpy") from error
    return wisp.from_numpy(numpy.histogram_bin_edges(values.numpy(), bins=rule))


def _counts(values, edges):
    """How many values lie in each bin; a bin has its lower edge, the last one both."""
    ordered = values[~values.isnan()].sort().values
    below = wisp.searchsorted(ordered, edges)  # faster than to look for many values among few edges
    below[-1:] = wisp.searchsorted(ordered, edges[-1:], right=True)
    return below.diff().to(wisp.float64)


def _coarser(edges, counts, max_bins):
    """Neighbouring bins joined, so that there are about `max_bins`."""
    step = 1 if max_bins is None else max(1, len(counts) // max_bins)
    if step == 1:
        return edges, counts
    padded = wisp.nn.functional.pad(counts, (0, -len(counts) % step))
    upper = wisp.cat([edges[step::step], edges[-1:]])[: len(padded) // step]
    return wisp.cat([edges[:1], upper]), padded.reshape(-1, step).sum(1)


def histogram_raw(name, min, max, num, sum, sum_squares, bucket_limits, bucket_counts):
    """A histogram that is computed already."""
    if len(bucket_limits) != len(bucket_counts):
        raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
    numbers = [float(x) for x in (min, max, num, sum, sum_squares)]
    limits, counts = ([float(x) for x in values] for values in (bucket_limits, bucket_counts))
    return _histogram(name, *numbers, limits, counts)


def _histogram(name, low, high, num, total, squares, limits, counts):
    facts = b"".join(double(i, x) for i, x in enumerate((low, high, num, total, squares), start=1))
    return _summary(_value(name, chunk(5, facts + doubles(6, limits) + doubles(7, counts))))


# --- pictures and sounds


def image(tag, tensor, rescale=1, dataformats="NCHW"):
    """An image, or a grid of several."""
    return _image(tag, _media.rescaled(_pixels(tensor, dataformats), rescale))


def image_boxes(tag, tensor_image, tensor_boxes, rescale=1, dataformats="CHW", labels=None):
    """An image with frames around boxes (left, top, right, bottom)."""
    boxes = as_tensor(tensor_boxes).reshape(-1, 4)
    if labels is not None and len(labels) != len(boxes):
        labels = None
    pixels = _media.draw_boxes(_pixels(tensor_image, dataformats), boxes, labels)
    return _image(tag, _media.rescaled(pixels, rescale))


def _pixels(tensor, dataformats):
    return _media.to_pixels(_media.to_hwc(as_tensor(tensor), dataformats))


def _image(tag, pixels):
    return _encoded_image(tag, pixels.shape, _media.png(pixels))


def _encoded_image(tag, shape, data):
    height, width, channels = shape
    return _summary(
        _value(tag, chunk(4, integer(1, height) + integer(2, width) + integer(3, channels) + chunk(4, data)))
    )


def video(tag, tensor, fps=4):
    """Videos (N, T, C, H, W), side by side, as an animated GIF."""
    tensor = as_tensor(tensor)
    if tensor.dim() != 5:
        raise ValueError(f"expected a video of 5 dimensions (N, T, C, H, W), got {tensor.dim()}")
    frames = _media.to_pixels(_media.tile_video(tensor))
    return _encoded_image(tag, frames.shape[1:], _media.gif(frames, fps))


def audio(tag, tensor, sample_rate=44100):
    """Sound: numbers from -1 to 1."""
    samples = as_tensor(tensor).squeeze().to(wisp.float32)
    if samples.dim() != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    if samples.numel() and samples.abs().max() > 1:
        warnings.warn("audio amplitude out of range, auto clipped.", stacklevel=3)
        samples = samples.clamp(-1, 1)
    facts = single(1, sample_rate) + integer(2, 1) + integer(3, len(samples))
    data = chunk(4, _media.wav(samples, int(sample_rate))) + chunk(5, "audio/wav")
    return _summary(_value(tag, chunk(6, facts + data)))


# --- curves, charts, meshes


def pr_curve(tag, labels, predictions, num_thresholds=127, weights=None):
    """Precision and recall of predictions in [0, 1], at thresholds from 0 to 1."""
    labels, predictions = (as_tensor(x).reshape(-1).to(wisp.float64) for x in (labels, predictions))
    weights = wisp.ones_like(labels) if weights is None else _weights(weights, labels)
    bucket = (predictions * (num_thresholds - 1)).floor().to(wisp.int64)

    def above(kind):
        counts = wisp.bincount(bucket, kind * weights, minlength=num_thresholds)
        return counts.flip(0).cumsum(0).flip(0)

    tp, fp = above(labels), above(1 - labels)
    tn, fn = fp[0] - fp, tp[0] - tp
    precision, recall = tp / (tp + fp).clamp(min=1e-7), tp / (tp + fn).clamp(min=1e-7)
    return pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, num_thresholds)


def _weights(weights, labels):
    return as_tensor(weights).reshape(-1).to(wisp.float64).expand(labels.shape)


def pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, num_thresholds=127, weights=None):
    """Precision and recall that are computed already."""
    curves = wisp.stack([_floats(x).reshape(-1) for x in (tp, fp, tn, fn, precision, recall)])
    return _summary(_value(tag, _tensor(curves), "pr_curves", integer(2, num_thresholds)))


def custom_scalars(layout):
    """The layout of the dashboard of custom charts: category: {title: (kind, tags)}."""
    categories = b""
    for category, charts in layout.items():
        entries = b"".join(chunk(2, _chart(title, *chart)) for title, chart in charts.items())
        categories += chunk(2, chunk(1, category) + entries)
    return _summary(_value("custom_scalars__config__", _strings([categories], []), "custom_scalars"))


def _chart(title, kind, tags):
    if kind == "Margin":
        if len(tags) != 3:
            raise AssertionError(f"expected three tags of a margin chart, got {len(tags)}")
        series = b"".join(chunk(i, tag) for i, tag in enumerate(tags, start=1))
        return chunk(1, title) + chunk(3, chunk(1, series))
    return chunk(1, title) + chunk(2, b"".join(chunk(1, tag) for tag in tags))


_MESH_PARTS = {"VERTEX": 1, "FACE": 2, "COLOR": 3}


def mesh(tag, vertices, colors, faces, config_dict, display_name=None, description=None):
    """Points in space, their colours, and the triangles between them."""
    config = json.dumps({} if config_dict is None else config_dict, sort_keys=True)
    parts = {"VERTEX": vertices, "FACE": faces, "COLOR": colors}
    parts = {name: _floats(value) for name, value in parts.items() if value is not None}
    components = sum(1 << _MESH_PARTS[name] for name in parts)
    values = []
    for name, value in parts.items():
        sizes = b"".join(integer(6, size) for size in value.shape)
        facts = chunk(2, display_name or tag) + integer(3, _MESH_PARTS[name]) + chunk(5, config)
        values.append(_value(f"{tag}_{name}", _tensor(value), "mesh", facts + sizes + integer(7, components)))
    return _summary(*values)


# --- hyperparameters

_TEXT, _BOOL, _FLOAT = 1, 2, 3


def hparams(hparam_dict=None, metric_dict=None, hparam_domain_discrete=None):
    """Three summaries: the experiment, the start of a session with its hyperparameters, and its end."""
    if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
        raise TypeError("hparam_dict and metric_dict should be dictionary.")
    domains = _checked_domains(hparam_dict, hparam_domain_discrete or {})
    infos = b"".join(chunk(4, _hparam_info(k, v, domains.get(k))) for k, v in hparam_dict.items() if v is not None)
    metrics = b"".join(chunk(5, chunk(1, chunk(2, tag))) for tag in metric_dict)
    entries = b"".join(
        chunk(1, chunk(1, k) + chunk(2, _json_value(v)[1])) for k, v in hparam_dict.items() if v is not None
    )
    contents = ("experiment", chunk(2, infos + metrics)), ("session_start_info", chunk(3, entries)), (
        "session_end_info", chunk(4, integer(1, 1)))  # fmt: skip
    return tuple(_summary(_value(f"_hparams_/{name}", b"", "hparams", content)) for name, content in contents)


def _checked_domains(hparam_dict, domains):
    if not isinstance(domains, dict):
        raise TypeError("hparam_domain_discrete should be a dictionary.")
    for name, values in domains.items():
        same = isinstance(values, list) and name in hparam_dict
        if not same or not all(isinstance(v, type(hparam_dict[name])) for v in values):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{name}] should be a list of same type as hparam_dict[{name}]."
            )
    return domains


def _json_value(value):
    """The type and the encoded value of a hyperparameter."""
    if isinstance(value, bool):
        return _BOOL, integer(4, value)
    if isinstance(value, str):
        return _TEXT, chunk(3, value)
    if isinstance(value, (int, float, Tensor)) or hasattr(value, "item"):
        return _FLOAT, double(2, number(value))
    raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")


def _hparam_info(name, value, domain):
    info = chunk(1, name) + integer(4, _json_value(value)[0])
    if domain is None:
        return info
    return info + chunk(5, b"".join(chunk(1, _json_value(v)[1]) for v in domain))
