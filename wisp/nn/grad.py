"""Gradients of convolutions, without the convolution itself."""

from wisp import _C
from wisp.nn.modules.utils import _pair, _single, _triple

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]

_convolution, _empty = _C._functions["convolution"], _C._functions["empty"]


def _gradient(ntuple, input, weight, wanted, grad_output, stride, padding, dilation, groups):
    """The gradient of one of both; a convolution is linear in each, so it does not matter what that one holds."""
    from wisp.autograd import grad

    wanted = wanted.detach().requires_grad_()
    input, weight = (wanted, weight) if input is None else (input, wanted)
    with _C.enable_grad():
        zero = ntuple(0)
        result = _convolution(
            input, weight, None, ntuple(stride), ntuple(padding), ntuple(dilation), False, zero, groups
        )
    return grad(result, wanted, grad_output, create_graph=_C.is_grad_enabled())[0]


def _of_input(ntuple, input_size, weight, grad_output, *settings):
    input = _empty(1, dtype=weight.dtype).expand(tuple(input_size))
    return _gradient(ntuple, None, weight, input, grad_output, *settings)


def _of_weight(ntuple, input, weight_size, grad_output, *settings):
    weight = _empty(1, dtype=input.dtype).expand(tuple(weight_size))
    return _gradient(ntuple, input, None, weight, grad_output, *settings)


def conv1d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv1d() with respect to its input, of shape ``input_size``."""
    return _of_input(_single, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv1d() with respect to its weight, of shape ``weight_size``."""
    return _of_weight(_single, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv2d() with respect to its input, of shape ``input_size``."""
    return _of_input(_pair, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv2d() with respect to its weight, of shape ``weight_size``."""
    return _of_weight(_pair, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv3d() with respect to its input, of shape ``input_size``."""
    return _of_input(_triple, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv3d() with respect to its weight, of shape ``weight_size``."""
    return _of_weight(_triple, input, weight_size, grad_output, stride, padding, dilation, groups)
