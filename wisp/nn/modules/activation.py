"""Activation functions as modules."""

import warnings

from wisp import _C
from wisp.nn import functional as F
from wisp.nn.modules.attention import MultiheadAttention
from wisp.nn.modules.module import Module
from wisp.nn.parameter import Parameter

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
    "LogSigmoid", "LogSoftmax", "Mish", "MultiheadAttention", "PReLU", "RReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid",
    "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]  # fmt: skip

_relu, _relu_ = _C._functions["relu"], _C._functions["relu_"]


class _InPlace(Module):
    """An activation that can change its input itself."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""

    def _described(self, **settings):
        """Settings for extra_repr(), with ``inplace`` where it is set."""
        settings.update({"inplace": True} if self.inplace else {})
        return ", ".join(f"{name}={value}" for name, value in settings.items())


# --- rectifiers


class ReLU(_InPlace):
    """max(0, x)."""

    def forward(self, input):
        return _relu_(input) if self.inplace else _relu(input)


class Hardtanh(_InPlace):
    """x limited to [min_val, max_val]; min_value and max_value are their old names."""

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None):
        super().__init__(inplace)
        for name, old in (("min_val", min_value), ("max_val", max_value)):
            if old is not None:
                warnings.warn(
                    f"keyword argument `{name}ue` is deprecated and rename to `{name}`", FutureWarning, stacklevel=2
                )
        min_val, max_val = min_val if min_value is None else min_value, max_val if max_value is None else max_value
        if max_val <= min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")
        self.min_val, self.max_val = min_val, max_val

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self):
        return self._described(min_val=self.min_val, max_val=self.max_val)


class ReLU6(Hardtanh):
    """x limited to [0, 6]."""

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self):
        return self._described()


class LeakyReLU(_InPlace):
    """x, multiplied by ``negative_slope`` where it is negative."""

    def __init__(self, negative_slope=1e-2, inplace=False):
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self):
        return self._described(negative_slope=self.negative_slope)


class RReLU(_InPlace):
    """x, multiplied where it is negative by a slope: random between ``lower`` and ``upper`` in training, else the middle."""

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__(inplace)
        self.lower, self.upper = lower, upper

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return self._described(lower=self.lower, upper=self.upper)


class PReLU(Module):
    """x, multiplied by a learnt slope where it is negative.

    Args:
        num_parameters: 1, or one slope for each channel (the second dimension).
        init: the slope to start with.
    """

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(_C._functions["full"]((num_parameters,), float(init), device=device, dtype=dtype))

    def reset_parameters(self):
        """Sets the slopes to what they started with."""
        with _C.no_grad():
            self.weight.fill_(self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class Threshold(_InPlace):
    """x where it is larger than ``threshold``, else ``value``."""

    def __init__(self, threshold, value, inplace=False):
        super().__init__(inplace)
        self.threshold, self.value = threshold, value

    def forward(self, input):
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self):
        return self._described(threshold=self.threshold, value=self.value)


# --- smooth ones


class ELU(_InPlace):
    """x, or alpha (exp(x) - 1) where x is negative."""

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input):
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self):
        return self._described(alpha=self.alpha)


class CELU(_InPlace):
    """x, or alpha (exp(x / alpha) - 1) where x is negative."""

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input):
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self):
        return self._described(alpha=self.alpha)


class SELU(_InPlace):
    """ELU scaled such that activations tend to mean 0 and variance 1."""

    def forward(self, input):
        return F.selu(input, self.inplace)


class GELU(Module):
    """x times the probability that a normally distributed number is smaller; ``approximate`` may be "tanh"."""

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class SiLU(_InPlace):
    """x sigmoid(x)."""

    def forward(self, input):
        return F.silu(input, self.inplace)


class Mish(_InPlace):
    """x tanh(softplus(x))."""

    def forward(self, input):
        return F.mish(input, self.inplace)


class Softplus(Module):
    """log(1 + exp(beta x)) / beta; x itself where beta x is larger than ``threshold``."""

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self):
        return f"beta={self.beta}, threshold={self.threshold}"


# --- limited ones


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input):
        return input.sigmoid()


class LogSigmoid(Module):
    """The logarithm of the sigmoid."""

    def forward(self, input):
        return F.logsigmoid(input)


class Hardsigmoid(_InPlace):
    """x / 6 + 1 / 2, limited to [0, 1]."""

    def forward(self, input):
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self):
        return ""


class Hardswish(_InPlace):
    """x hardsigmoid(x)."""

    def forward(self, input):
        return F.hardswish(input, self.inplace)

    def extra_repr(self):
        return ""


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input):
        return input.tanh()


class Softsign(Module):
    """x / (1 + |x|)."""

    def forward(self, input):
        return F.softsign(input)


# --- shrinking ones


class _Shrink(Module):
    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def extra_repr(self):
        return str(self.lambd)


class Hardshrink(_Shrink):
    """x, or zero where its absolute value is at most ``lambd``."""

    def forward(self, input):
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """x moved towards zero by ``lambd``."""

    def forward(self, input):
        return F.softshrink(input, self.lambd)


class Tanhshrink(Module):
    """x - tanh(x)."""

    def forward(self, input):
        return F.tanhshrink(input)


# --- along a dimension


class _AlongDim(Module):
    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def extra_repr(self):
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """exp(x) divided by its sum along ``dim``."""

    def forward(self, input):
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmin(_AlongDim):
    """Softmax of -x."""

    def forward(self, input):
        return F.softmin(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """The logarithm of the softmax."""

    def forward(self, input):
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Softmax over the channels of an input (N, C, H, W) or (C, H, W)."""

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return input.softmax(-3)


class GLU(_AlongDim):
    """The first half along ``dim`` times the sigmoid of the second."""

    def __init__(self, dim=-1):
        super().__init__(dim)

    def forward(self, input):
        return F.glu(input, self.dim)
