"""Batch normalisation folded into the layer before it, for evaluation."""

import copy

from wisp import _C
from wisp.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]

_ones_like, _zeros_like = _C._functions["ones_like"], _C._functions["zeros_like"]


def _folded(weight, bias, shape, mean, var, eps, bn_weight, bn_bias):
    """weight * scale and (bias - mean) * scale + bn_bias, with the scale of the normalisation per channel."""
    bias = _zeros_like(mean) if bias is None else bias
    bn_weight = _ones_like(mean) if bn_weight is None else bn_weight
    bn_bias = _zeros_like(mean) if bn_bias is None else bn_bias
    scale = bn_weight * (var + eps).rsqrt()
    new_weight = (weight * scale.reshape(shape)).to(dtype=weight.dtype)
    new_bias = ((bias - mean) * scale + bn_bias).to(dtype=bias.dtype)
    return Parameter(new_weight.detach(), weight.requires_grad), Parameter(new_bias.detach(), bias.requires_grad)


def _check_eval(layer, bn):
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """Weight and bias of a convolution that does what it and the normalisation after it did.

    Args:
        conv_w, conv_b: weight and bias (or None) of the convolution.
        bn_rm, bn_rv, bn_eps, bn_w, bn_b: running mean and variance, eps, weight, bias (or None) of the normalisation.
        transpose: whether the convolution is a transposed one.
    """
    ones = [1] * (conv_w.dim() - 2)
    shape = [1, -1, *ones] if transpose else [-1, 1, *ones]
    return _folded(conv_w, conv_b, shape, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A copy of a convolution that does the work of the batch normalisation after it, too. Both must be in eval mode.

    >>> conv, bn = wisp.nn.Conv2d(1, 2, 1).eval(), wisp.nn.BatchNorm2d(2).eval()
    >>> x = wisp.ones(1, 1, 2, 2)
    >>> wisp.allclose(wisp.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6)
    True
    """
    _check_eval(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """Weight and bias of a linear layer that does what it and the normalisation after it did."""
    return _folded(linear_w, linear_b, [-1, 1], bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def fuse_linear_bn_eval(linear, bn):
    """A copy of a linear layer that does the work of the batch normalisation after it, too. Both must be in eval."""
    _check_eval(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused
