"""Pooling: means and maxima of windows."""

from wisp.nn import functional as F
from wisp.nn.modules.module import Module

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d",
    "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d",
    "MaxUnpool3d",
]  # fmt: skip


def _tuple(value, count):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count


class _MaxPoolNd(Module):
    """The largest element of every window.

    Args:
        kernel_size: of the windows.
        stride: how far they are apart; their size by default.
        padding: of -infinity on both sides, at most half a window.
        dilation: how far the elements of a window are apart.
        return_indices: return the indices of the maxima, too; MaxUnpool wants them.
        ceil_mode: round the number of windows up, not down.
    """

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def _pool(self, pool, input):
        return pool(input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
                    return_indices=self.return_indices)  # fmt: skip

    def extra_repr(self):
        return (f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
                f"dilation={self.dilation}, ceil_mode={self.ceil_mode}")  # fmt: skip


class MaxPool1d(_MaxPoolNd):
    """The largest element of every window of (N, C, L) or (C, L); see :class:`MaxPool2d` for the arguments."""

    def forward(self, input):
        return self._pool(F.max_pool1d, input)


class MaxPool2d(_MaxPoolNd):
    """The largest element of every window of (N, C, H, W) or (C, H, W).

    >>> wisp.nn.MaxPool2d(2)(wisp.tensor([[[1., 3.], [2., 0.]]]))
    tensor([[[3.]]])
    """

    def forward(self, input):
        return self._pool(F.max_pool2d, input)


class MaxPool3d(_MaxPoolNd):
    """The largest element of every window of (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input):
        return self._pool(F.max_pool3d, input)


class _MaxUnpoolNd(Module):
    """Puts maxima back to where they came from; everything else is zero."""

    _dims = 0

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.kernel_size = _tuple(kernel_size, self._dims)
        self.stride = _tuple(kernel_size if stride is None else stride, self._dims)
        self.padding = _tuple(padding, self._dims)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """The opposite of :class:`MaxPool1d`, given its indices."""

    _dims = 1

    def forward(self, input, indices, output_size=None):
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """The opposite of :class:`MaxPool2d`, given its indices."""

    _dims = 2

    def forward(self, input, indices, output_size=None):
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """The opposite of :class:`MaxPool3d`, given its indices."""

    _dims = 3

    def forward(self, input, indices, output_size=None):
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class _AvgPoolNd(Module):
    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of every window of (N, C, L) or (C, L); see :class:`AvgPool2d` for the arguments."""

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__()
        self.kernel_size = _tuple(kernel_size, 1)
        self.stride = _tuple(kernel_size if stride is None else stride, 1)
        self.padding = _tuple(padding, 1)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input):
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(_AvgPoolNd):
    """The mean of every window of (N, C, H, W) or (C, H, W).

    Args:
        kernel_size: of the windows.
        stride: how far they are apart; their size by default.
        padding: of zeros on both sides, at most half a window.
        ceil_mode: round the number of windows up, not down.
        count_include_pad: whether the mean counts the zeros of the padding.
        divisor_override: divide by this, not by the size of the window.

    >>> wisp.nn.AvgPool2d(2)(wisp.tensor([[[1., 3.], [2., 0.]]]))
    tensor([[[1.5000]]])
    """

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
                 divisor_override=None):  # fmt: skip
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def _pool(self, pool, input):
        return pool(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                    self.divisor_override)  # fmt: skip

    def forward(self, input):
        return self._pool(F.avg_pool2d, input)


class AvgPool3d(AvgPool2d):
    """The mean of every window of (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input):
        return self._pool(F.avg_pool3d, input)


class _LPPoolNd(Module):
    """The sum of ``x ** norm_type`` over every window, to the power ``1 / norm_type``."""

    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def extra_repr(self):
        return (f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
                f"ceil_mode={self.ceil_mode}")  # fmt: skip


class LPPool1d(_LPPoolNd):
    """The norm of every window of (N, C, L) or (C, L)."""

    def forward(self, input):
        return F.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPoolNd):
    """The norm of every window of (N, C, H, W) or (C, H, W)."""

    def forward(self, input):
        return F.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPoolNd):
    """The norm of every window of (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input):
        return F.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class _FractionalMaxPoolNd(Module):
    """Maxima of windows at pseudo-random places, as many as asked for by ``output_size`` or ``output_ratio``."""

    _dims = 0

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        super().__init__()
        dims, name = self._dims, type(self).__name__
        self.kernel_size = _tuple(kernel_size, dims)
        self.return_indices = return_indices
        self.output_size = None if output_size is None else _tuple(output_size, dims)
        self.output_ratio = None if output_ratio is None else _tuple(output_ratio, dims)
        self.register_buffer("_random_samples", _random_samples)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {self.output_ratio})")

    def _pool(self, pool, input):
        return pool(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
                    _random_samples=self._random_samples)  # fmt: skip


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Maxima of windows at pseudo-random places of (N, C, H, W) or (C, H, W)."""

    _dims = 2

    def forward(self, input):
        return self._pool(F.fractional_max_pool2d, input)


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Maxima of windows at pseudo-random places of (N, C, D, H, W) or (C, D, H, W)."""

    _dims = 3

    def forward(self, input):
        return self._pool(F.fractional_max_pool3d, input)


class _AdaptiveMaxPoolNd(Module):
    """Maxima of windows that cover the input, ``output_size`` of them."""

    def __init__(self, output_size, return_indices=False):
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def extra_repr(self):
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maxima of windows that cover (N, C, L) or (C, L)."""

    def forward(self, input):
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maxima of windows that cover (N, C, H, W) or (C, H, W)."""

    def forward(self, input):
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maxima of windows that cover (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input):
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _AdaptiveAvgPoolNd(Module):
    """Means of windows that cover the input, ``output_size`` of them."""

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def extra_repr(self):
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means of windows that cover (N, C, L) or (C, L)."""

    def forward(self, input):
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means of windows that cover (N, C, H, W) or (C, H, W)."""

    def forward(self, input):
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means of windows that cover (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input):
        return F.adaptive_avg_pool3d(input, self.output_size)
