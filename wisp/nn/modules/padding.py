"""Padding: elements added at the ends of the last dimensions."""

from wisp.nn import functional as F
from wisp.nn.modules.module import Module

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
    "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _PadNd(Module):
    """``padding`` is one number for all ends, or (left, right, top, bottom, front, back); negative ones cut off."""

    _mode, _dims = "constant", 0

    def __init__(self, padding):
        super().__init__()
        self.padding = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * (2 * self._dims)

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def forward(self, input):
        if input.dim() not in (self._dims + 1, self._dims + 2):
            raise ValueError(f"expected {self._dims + 1}D or {self._dims + 2}D input (got {input.dim()}D input)")
        return F.pad(input, self.padding, self._mode)


class CircularPad1d(_CircularPadNd):
    """Continues the input as if it came round again, at both ends of the last dimension."""

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Continues the input as if it came round again, at both ends of the last two dimensions."""

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Continues the input as if it came round again, at both ends of the last three dimensions."""

    _dims = 3


class ConstantPad1d(_ConstantPadNd):
    """Adds elements of one value, at both ends of the last dimension."""

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Adds elements of one value, at both ends of the last two dimensions."""

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Adds elements of one value, at both ends of the last three dimensions."""

    _dims = 3


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Reflects the input at its borders, at both ends of the last dimension."""

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Reflects the input at its borders, at both ends of the last two dimensions."""

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Reflects the input at its borders, at both ends of the last three dimensions."""

    _dims = 3


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Repeats the outermost elements, at both ends of the last dimension."""

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Repeats the outermost elements, at both ends of the last two dimensions."""

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Repeats the outermost elements, at both ends of the last three dimensions."""

    _dims = 3


class ZeroPad1d(_ConstantPadNd):
    """Adds zeros, at both ends of the last dimension."""

    _dims = 1

    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad2d(_ConstantPadNd):
    """Adds zeros, at both ends of the last two dimensions."""

    _dims = 2

    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad3d(_ConstantPadNd):
    """Adds zeros, at both ends of the last three dimensions."""

    _dims = 3

    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"
