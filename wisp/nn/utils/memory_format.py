"""Weights of convolutions with channels last."""
"""Convolution weights in another memory format."""

from __future__ import annotations

from typing import Any

from wisp.nn.modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module, memory_format, kinds):
    """Lays out the weights of all convolutions of some kinds, in place; returns the module."""
    for part in module.modules():
        if isinstance(part, kinds):
            part.weight.data = part.weight.detach().clone().contiguous(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module, memory_format):
    """Gives the weights of all Conv2d and ConvTranspose2d in a module a memory format; returns the module."""
    from wisp.nn.modules.conv import Conv2d, ConvTranspose2d

    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module, memory_format):
    """Gives the weights of all Conv3d and ConvTranspose3d in a module a memory format; returns the module."""
    from wisp.nn.modules.conv import Conv3d, ConvTranspose3d

    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))
    if any(c.__name__ in kinds for c in type(module).__mro__):
        module.weight.data = module.weight.detach().clone().contiguous(memory_format=memory_format)
    for child in module.children():
        _convert(child, memory_format, kinds)
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Lays out the weights of all Conv2d and ConvTranspose2d below a module in this memory format."""
    return _convert(module, memory_format, ("Conv2d", "ConvTranspose2d"))


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Lays out the weights of all Conv3d and ConvTranspose3d below a module in this memory format."""
    return _convert(module, memory_format, ("Conv3d", "ConvTranspose3d"))
