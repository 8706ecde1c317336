"""Convolutions and transposed convolutions as modules."""

import math

from wisp import _C
from wisp.nn import functional as F
from wisp.nn.modules.lazy import LazyModuleMixin
from wisp.nn.modules.module import Module
from wisp.nn.modules.utils import _pair, _reverse_repeat_tuple, _single, _triple
from wisp.nn.parameter import Parameter, UninitializedParameter

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]  # fmt: skip

_empty = _C._functions["empty"]
_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What convolutions have in common.

    Args:
        in_channels, out_channels: how many channels the images have, before and after.
        kernel_size: the size of the window; here and below a number stands for all dimensions.
        stride: how far the window moves.
        padding: what is added at both ends of every dimension; convolutions also take "same" and "valid".
        dilation: how far the elements of a window lie apart.
        groups: how many parts the channels are divided in; each part of the result sees its own part of the input.
        bias: whether to add a bias.
        padding_mode: "zeros", "reflect", "replicate" or "circular": what the padding consists of.
    """

    __constants__ = (
        "stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels", "out_channels",
        "kernel_size",
    )  # fmt: skip

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding,
                 groups, bias, padding_mode, device=None, dtype=None):  # fmt: skip
        super().__init__()
        self._check(in_channels, out_channels, stride, padding, groups, padding_mode)
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.padding, self.dilation = kernel_size, stride, padding, dilation
        self.transposed, self.output_padding, self.padding_mode = transposed, output_padding, padding_mode
        self._reversed_padding_repeated_twice = self._ends()
        channels = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        how = {"device": device, "dtype": dtype}
        self.weight = Parameter(_empty((*channels, *kernel_size), **how))
        self.register_parameter("bias", Parameter(_empty(out_channels, **how)) if bias else None)
        self.reset_parameters()

    @staticmethod
    def _check(in_channels, out_channels, stride, padding, groups, padding_mode):
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}")
            if padding == "same" and any(step != 1 for step in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            modes = set(_PADDING_MODES)
            raise ValueError(f"padding_mode must be one of {modes}, but got padding_mode='{padding_mode}'")

    def _ends(self):
        """The padding as pad() wants it: of the last dimension first, at both ends."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        ends = []
        for size, step in reversed(list(zip(self.kernel_size, self.dilation))):
            total = step * (size - 1) if self.padding == "same" else 0
            ends += [total // 2, total - total // 2]
        return ends

    def reset_parameters(self):
        """Draws new weights, as the constructor does."""
        from wisp.nn import init

        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self):
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            value = getattr(self, name)
            if value != (usual,) * len(value):
                text += f", {name}={value}"
        text += f", groups={self.groups}" if self.groups != 1 else ""
        text += ", bias=False" if self.bias is None else ""
        return text + (f", padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else "")


def _settings(ntuple, **given):
    """Settings of a convolution with a value for every dimension; padding may be a word."""
    return {name: value if isinstance(value, str) else ntuple(value) for name, value in given.items()}


class _Conv(_ConvNd):
    """A convolution: subclasses say how many dimensions it has."""

    _ntuple, _function = staticmethod(_single), None

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", device=None, dtype=None):  # fmt: skip
        settings = _settings(
            self._ntuple, kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation, output_padding=0
        )
        super().__init__(in_channels, out_channels, transposed=False, groups=groups, bias=bias,
                         padding_mode=padding_mode, device=device, dtype=dtype, **settings)  # fmt: skip

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input, weight, bias):
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode), 0
        return self._function(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Conv):
    """Sums of windows along the last dimension, weighted: (N, C, L) or (C, L).

    >>> wisp.nn.Conv1d(2, 4, 3)(wisp.ones(1, 2, 10)).shape
    wisp.Size([1, 4, 8])
    """

    _ntuple, _function = staticmethod(_single), staticmethod(F.conv1d)


class Conv2d(_Conv):
    """Sums of windows over the last two dimensions, weighted: (N, C, H, W) or (C, H, W).

    >>> wisp.nn.Conv2d(3, 8, 3, stride=2, padding=1)(wisp.ones(1, 3, 32, 32)).shape
    wisp.Size([1, 8, 16, 16])
    """

    _ntuple, _function = staticmethod(_pair), staticmethod(F.conv2d)


class Conv3d(_Conv):
    """Sums of windows over the last three dimensions, weighted: (N, C, D, H, W) or (C, D, H, W).

    >>> wisp.nn.Conv3d(1, 2, 3, padding="same")(wisp.ones(1, 4, 5, 6)).shape
    wisp.Size([2, 4, 5, 6])
    """

    _ntuple, _function = staticmethod(_triple), staticmethod(F.conv3d)


# --- transposed convolutions


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution: subclasses say how many dimensions it has."""

    _ntuple, _function = staticmethod(_single), None

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1,
                 bias=True, dilation=1, padding_mode="zeros", device=None, dtype=None):  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        ntuple = self._ntuple
        super().__init__(in_channels, out_channels, ntuple(kernel_size), ntuple(stride), ntuple(padding),
                         ntuple(dilation), True, ntuple(output_padding), groups, bias, padding_mode, device,
                         dtype)  # fmt: skip

    def forward(self, input, output_size=None):
        """Of the sizes that fit the input, ``output_size`` chooses one."""
        padding = self.output_padding
        if output_size is not None:
            padding = self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size,
                                           len(self.kernel_size), self.dilation)  # fmt: skip
        return self._function(
            input, self.weight, self.bias, self.stride, self.padding, padding, self.groups, self.dilation
        )

    def _output_padding(self, input, output_size, stride, padding, kernel_size, num_spatial_dims, dilation=None):
        if output_size is None:
            return _single(self.output_padding)
        leading = 2 if input.dim() == num_spatial_dims + 2 else 1
        wanted = tuple(output_size)[leading if len(output_size) == leading + num_spatial_dims else 0 :]
        if len(wanted) != num_spatial_dims:
            raise ValueError(f"ConvTranspose{num_spatial_dims}D: for {input.dim()}D input, output_size must have "
                             f"{num_spatial_dims} or {leading + num_spatial_dims} elements "
                             f"(got {len(output_size)})")  # fmt: skip
        sizes = input.shape[leading:]
        dilation = dilation or (1,) * num_spatial_dims
        least = [
            (sizes[d] - 1) * stride[d] - 2 * padding[d] + dilation[d] * (kernel_size[d] - 1) + 1
            for d in range(num_spatial_dims)
        ]
        most = [low + step - 1 for low, step in zip(least, stride)]
        if any(not low <= size <= high for low, size, high in zip(least, wanted, most)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {least} to {most} "
                f"(for an input of {sizes})"
            )
        return [size - low for size, low in zip(wanted, least)]


class ConvTranspose1d(_ConvTransposeNd):
    """Every element spread over a window of the last dimension: the gradient of Conv1d, and its reverse in shapes.

    >>> wisp.nn.ConvTranspose1d(4, 2, 3, stride=2)(wisp.ones(1, 4, 5)).shape
    wisp.Size([1, 2, 11])
    """

    _ntuple, _function = staticmethod(_single), staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTransposeNd):
    """Every element spread over a window of the last two dimensions: the gradient of Conv2d, and its reverse in shapes.

    >>> wisp.nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1)(wisp.ones(1, 8, 16, 16)).shape
    wisp.Size([1, 3, 32, 32])
    """

    _ntuple, _function = staticmethod(_pair), staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTransposeNd):
    """Every element spread over a window of the last three dimensions: the gradient of Conv3d, its reverse in shapes.

    >>> wisp.nn.ConvTranspose3d(1, 1, 2, stride=2)(wisp.ones(1, 2, 2, 2)).shape
    wisp.Size([1, 4, 4, 4])
    """

    _ntuple, _function = staticmethod(_triple), staticmethod(F.conv_transpose3d)


# --- the same, with in_channels taken from the first input


class _LazyConvXdMixin(LazyModuleMixin):
    """A convolution whose number of input channels is that of the first input."""

    def _start(self, out_channels, groups, bias, device, dtype):
        """Takes what the constructor was not told, so that it made nothing of it."""
        self.groups, self.out_channels = groups, out_channels
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs):
        """Takes the number of channels from the input, and draws weights."""
        if self.in_channels == 0:
            self.in_channels = self._get_in_channels(input)
        if not self.has_uninitialized_params():
            return
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        inside, outside = self.in_channels, self.out_channels
        channels = (inside, outside // self.groups) if self.transposed else (outside, inside // self.groups)
        self.weight.materialize((*channels, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((outside,))
        self.reset_parameters()

    def _get_in_channels(self, input):
        dims = self._get_num_spatial_dims()
        if input.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to "
                               f"{type(self).__name__}, but got input of size: {input.shape}")  # fmt: skip
        return input.shape[1] if input.dim() == dims + 2 else input.shape[0]

    def _get_num_spatial_dims(self):
        return len(self.kernel_size)


class _LazyConv(_LazyConvXdMixin):
    def __init__(self, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", device=None, dtype=None):  # fmt: skip
        super().__init__(0, 0, kernel_size, stride, padding, dilation, 1, False, padding_mode)
        self._start(out_channels, groups, bias, device, dtype)


class _LazyConvTranspose(_LazyConvXdMixin):
    def __init__(self, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
                 dilation=1, padding_mode="zeros", device=None, dtype=None):  # fmt: skip
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, 1, False, dilation, padding_mode)
        self._start(out_channels, groups, bias, device, dtype)


class LazyConv1d(_LazyConv, Conv1d):
    """A Conv1d that takes in_channels from its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A Conv2d that takes in_channels from its first input.

    >>> net = wisp.nn.LazyConv2d(4, 3)
    >>> net(wisp.ones(1, 2, 8, 8)).shape, net
    (wisp.Size([1, 4, 6, 6]), Conv2d(2, 4, kernel_size=(3, 3), stride=(1, 1)))
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """A Conv3d that takes in_channels from its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A ConvTranspose1d that takes in_channels from its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A ConvTranspose2d that takes in_channels from its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A ConvTranspose3d that takes in_channels from its first input."""

    cls_to_become = ConvTranspose3d
