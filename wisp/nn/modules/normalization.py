"""Layers that normalise."""

from wisp import _C
from wisp.nn import functional as F
from wisp.nn.modules.module import Module
from wisp.nn.parameter import Parameter

__all__ = ["LayerNorm"]

_ones, _zeros = _C._functions["ones"], _C._functions["zeros"]


class LayerNorm(Module):
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
        how = {"device": device, "dtype": dtype}
        weight = Parameter(_ones(self.normalized_shape, **how)) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.register_parameter(
            "bias", Parameter(_zeros(self.normalized_shape, **how)) if weight is not None and bias else None
        )

    def reset_parameters(self):
        """Sets the weight to one and the bias to zero."""
        with _C.no_grad():
            if self.weight is not None:
                self.weight.fill_(1)
            if self.bias is not None:
                self.bias.zero_()

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
