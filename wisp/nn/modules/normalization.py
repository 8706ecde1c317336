"""Layers that normalise."""

from wisp import _C
from wisp.nn import functional as F
from wisp.nn.modules.module import Module
from wisp.nn.modules.vision import CrossMapLRN2d, LocalResponseNorm
from wisp.nn.parameter import Parameter

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]

_ones, _zeros = _C._functions["ones"], _C._functions["zeros"]


class _Affine(Module):
    """Layers that scale by a weight and shift by a bias, which are learnt."""

    def _make(self, shape, affine, bias, device, dtype):
        how = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(_ones(shape, **how)) if affine else None)
        self.register_parameter("bias", Parameter(_zeros(shape, **how)) if affine and bias else None)

    def reset_parameters(self):
        """Sets the weight to one and the bias to zero."""
        with _C.no_grad():
            if self.weight is not None:
                self.weight.fill_(1)
            if self.bias is not None:
                self.bias.zero_()


class LayerNorm(_Affine):
    """Shifts and scales the last dimensions of every sample to mean 0 and variance 1, then by learnt numbers.

    Args:
        normalized_shape: the sizes of these dimensions; an int for the last one only.
        eps: added to the variance.
        elementwise_affine: whether to have a weight and a bias that are learnt.
        bias: whether to have the bias.
    """

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._make(self.normalized_shape, elementwise_affine, bias, device, dtype)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        has_bias = self.bias is not None
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={has_bias}"


class RMSNorm(Module):
    """Divides the last dimensions of every sample by their root mean square, then scales by learnt numbers.

    Args:
        normalized_shape: the sizes of these dimensions; an int for the last one only.
        eps: added to the mean square; None means the precision of the dtype.
        elementwise_affine: whether to have a weight that is learnt.
    """

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        made = Parameter(_ones(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", made)

    def reset_parameters(self):
        """Sets the weight to one."""
        if self.weight is not None:
            with _C.no_grad():
                self.weight.fill_(1)

    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Affine):
    """Shifts and scales groups of channels of every sample to mean 0 and variance 1, then channels by learnt numbers.

    Args:
        num_groups, num_channels: how many groups, and how many channels (the second dimension) in all.
        eps: added to the variance.
        affine: whether to have a weight and a bias that are learnt.
    """

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._make(num_channels, affine, bias, device, dtype)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        has_bias = self.bias is not None
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={has_bias}"
