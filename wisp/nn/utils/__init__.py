"""Helpers for the training of modules: clipping gradients, parameters as one vector."""

from wisp.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from wisp.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from wisp.nn.utils.fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights
from wisp.nn.utils.init import skip_init
from wisp.nn.utils.memory_format import convert_conv2d_weight_memory_format, convert_conv3d_weight_memory_format

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format", "fuse_conv_bn_eval",
    "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "get_total_norm",
    "parameters_to_vector", "skip_init", "vector_to_parameters",
]  # fmt: skip
