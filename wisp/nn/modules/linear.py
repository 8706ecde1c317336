"""Linear layers."""

import math

from wisp import _C
from wisp.nn import functional as F
from wisp.nn.modules.lazy import LazyModuleMixin
from wisp.nn.modules.module import Module
from wisp.nn.parameter import Parameter, UninitializedParameter

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]

_empty = _C._functions["empty"]
_linear = F.linear


def _uniform(bound, *parameters):
    """Draws initial values of parameters; None stands for one that is not there."""
    from wisp.nn.init import uniform_

    for parameter in parameters:
        if parameter is not None:
            uniform_(parameter, -bound, bound)


class Identity(Module):
    """Returns its input; takes any arguments and ignores them, so that it can replace other modules."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        return input


class Linear(Module):
    """``x @ weight.T + bias``, for the last dimension of x.

    Args:
        in_features, out_features: the size of that dimension, before and after.
        bias: whether to add a bias.

    >>> wisp.nn.Linear(3, 2)(wisp.ones(5, 3)).shape
    wisp.Size([5, 2])
    """

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(_empty(out_features, in_features, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(_empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws new weights, as the constructor does."""
        bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
        _uniform(bound, self.weight, self.bias)

    def forward(self, input):
        return _linear(input, self.weight, self.bias)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """A linear layer, under the name that saved models know it by."""


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear that takes in_features from its first input.

    Args:
        out_features: the size of the last dimension, afterwards.
        bias: whether to add a bias.

    >>> net = wisp.nn.LazyLinear(2)
    >>> net(wisp.ones(5, 3)).shape, net
    (wisp.Size([5, 2]), Linear(in_features=3, out_features=2, bias=True))
    """

    cls_to_become = Linear

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        super().__init__(0, 0, False)
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        """Takes the number of features from the input, and draws weights."""
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()
        if self.in_features == 0:
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(f"The in_features inferred from input: {input.shape[-1]} is not equal to "
                                     f"in_features from self.weight: {self.weight.shape[-1]}")  # fmt: skip
            self.in_features = input.shape[-1]


class Bilinear(Module):
    """``x1 @ weight[k] @ x2 + bias[k]`` for every output feature k, for the last dimensions of x1 and x2.

    Args:
        in1_features, in2_features, out_features: the sizes of the last dimensions of x1, x2 and the result.
        bias: whether to add a bias.
    """

    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(_empty(out_features, in1_features, in2_features, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(_empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws new weights, as the constructor does."""
        _uniform(1 / math.sqrt(self.in1_features), self.weight, self.bias)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
                f"bias={self.bias is not None}")  # fmt: skip
