"""Normalisation and dropout."""

import math

import wisp
from wisp.nn import functional as F
from wisp.onnx._values import DTYPES, Element
from wisp.onnx.ops._common import along, positive


def _batch_norm_by_outputs(node, x, scale, bias, mean, var):
    """Before version 14 a node is for training if it has more than one output and does not say otherwise."""
    trained = node.wants(1) and not node["is_test"]
    return _batch_normalized(node, trained, x, scale, bias, mean, var)


def _batch_norm(node, x, scale, bias, mean, var):
    return _batch_normalized(node, bool(node["training_mode"]), x, scale, bias, mean, var)


def _batch_normalized(node, trained, x, scale, bias, mean, var):
    """Normalisation with running statistics, or in training with those of the batch, which update the running ones."""
    if not trained and not node.training:
        # Outputs besides the first say nothing here.
        return (_normalized(x, mean, var, scale, bias, node["epsilon"]), mean, var, mean, var)[: len(node.outputs)]
    axes = [0, *range(2, x.ndim)] if mean.ndim == 1 else [0]
    now_mean, now_var = x.mean(axes), x.var(axes, correction=0)
    momentum = node["momentum"]
    next_mean = mean * momentum + now_mean.to(mean.dtype) * (1 - momentum)
    next_var = var * momentum + now_var.to(var.dtype) * (1 - momentum)
    if node.training and node.owned >= {3, 4}:
        with wisp.no_grad():
            mean.copy_(next_mean)
            var.copy_(next_var)
    y = _normalized(x, now_mean, now_var, scale, bias, node["epsilon"])
    return (y, next_mean, next_var, now_mean, now_var)[: len(node.outputs)]


def _normalized(x, mean, var, scale, bias, epsilon):
    """A tensor with the given mean and variance taken out, computed in the wider of the types involved."""
    if mean.ndim == 1 and x.dtype == mean.dtype == scale.dtype and not mean.requires_grad and not var.requires_grad:
        return F.batch_norm(x, mean, var, scale, bias, False, 0.0, epsilon)
    shape = [1, *mean.shape, *[1] * (x.ndim - 1 - mean.ndim)]
    mean, var, scale, bias = (t.reshape(shape) for t in (mean, var, scale, bias))
    return ((x - mean) * wisp.rsqrt(var + epsilon) * scale + bias).to(x.dtype)


def _instance_norm(node, x, scale, bias):
    return F.instance_norm(x, weight=scale, bias=bias, eps=node["epsilon"])


def _stash_dtype(node, x):
    """The type to compute in: that of the input, or the wider one that the node asks for."""
    return wisp.promote_types(x.dtype, DTYPES[Element(node["stash_type"])]) if node["stash_type"] else x.dtype


def _layer_norm(node, x, scale, bias=None):
    axis = positive(node["axis"], x.ndim)
    shape, dtype = list(x.shape[axis:]), _stash_dtype(node, x)
    fits = x.dtype == dtype and all(t is None or list(t.shape) == shape for t in (scale, bias))
    if fits and not node.wants(1) and not node.wants(2):
        return F.layer_norm(x, shape, scale, bias, node["epsilon"])
    axes, wide = list(range(axis, x.ndim)), x.to(dtype)
    mean = wide.mean(axes, keepdim=True)
    inverse = wisp.rsqrt((wide - mean).square().mean(axes, keepdim=True) + node["epsilon"])
    y = ((wide - mean) * inverse).to(x.dtype) * scale
    return (y if bias is None else y + bias), mean, inverse


def _rms_norm(node, x, scale):
    axes, wide = list(range(positive(node["axis"], x.ndim), x.ndim)), x.to(_stash_dtype(node, x))
    inverse = wisp.rsqrt(wide.square().mean(axes, keepdim=True) + node["epsilon"])
    return (wide * inverse).to(x.dtype) * scale


def _group_norm_per_group(node, x, scale, bias):
    """Version 18: one scale for each group."""
    repeats = x.shape[1] // node["num_groups"]
    return _group_norm(node, x, scale.repeat_interleave(repeats), bias.repeat_interleave(repeats))


def _group_norm(node, x, scale, bias):
    y = F.group_norm(x.to(_stash_dtype(node, x)), node["num_groups"], eps=node["epsilon"]).to(x.dtype)
    return y * along(scale, 1, x.ndim) + along(bias, 1, x.ndim)


def _lp_normalization(node, x):
    axis, p = positive(node["axis"], x.ndim), node["p"]
    size = x.abs().sum(axis, keepdim=True) if p == 1 else x.square().sum(axis, keepdim=True).sqrt()
    return wisp.where(size == 0, 0, x / size).to(x.dtype)


def _mean_variance(node, x):
    axes = [0, 2, 3] if node["axes"] is None else node["axes"]
    centered = x - x.mean(axes, keepdim=True)
    return centered / (centered.square().mean(axes, keepdim=True).sqrt() + 1e-9)


def _local_response(node, x):
    """Elements divided by a power of the mean square of those around them in neighbouring channels."""
    size = node["size"]
    before, after = (size - 1) // 2, math.ceil((size - 1) / 2)
    squares = F.pad(x.square(), [0, 0] * (x.ndim - 2) + [before, after])
    sums = squares.unfold(1, size, 1).sum(-1)
    return x / (node["bias"] + node["alpha"] / size * sums) ** node["beta"]


def _dropout_by_attributes(node, x):
    """Before version 12: only the module knows whether it is being trained. The mask was not of type bool at first."""
    y, mask = _dropped(node, x, node["ratio"], node.training and not node["is_test"])
    return y, mask.to(x.dtype) if node.wants(1) and node.version < 10 else mask


def _dropout(node, x, ratio=None, training_mode=None):
    trained = node.training if training_mode is None else bool(training_mode.item())
    return _dropped(node, x, 0.5 if ratio is None else ratio.item(), trained)


def _dropped(node, x, ratio, trained):
    """A tensor with some elements set to zero, the others scaled up, and which have stayed."""
    if not trained or ratio == 0:
        return x, wisp.ones(x.shape, dtype=wisp.bool)
    if node["seed"] is None and not node.wants(1):
        return F.dropout(x, ratio), None
    mask = wisp.rand(x.shape, generator=node.generator()) >= ratio
    return wisp.where(mask, x / (1 - ratio), 0), mask


OPERATORS = {
    "BatchNormalization": [(1, _batch_norm_by_outputs), (14, _batch_norm)],
    "Dropout": [(1, _dropout_by_attributes), (12, _dropout)],
    "GroupNormalization": [(18, _group_norm_per_group), (21, _group_norm)],
    "InstanceNormalization": [(1, _instance_norm)],
    "LRN": [(1, _local_response)],
    "LayerNormalization": [(17, _layer_norm)],
    "LpNormalization": [(1, _lp_normalization)],
    "MeanVarianceNormalization": [(9, _mean_variance)],
    "RMSNormalization": [(23, _rms_norm)],
}
