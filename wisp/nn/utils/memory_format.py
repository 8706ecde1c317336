"""Weights of convolutions with channels last."""

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
