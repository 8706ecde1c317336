"""Initial values of parameters. All functions write their first argument in place, unrecorded, and return it."""

import math
import warnings
from functools import wraps

from wisp import _C

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_",
    "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]  # fmt: skip


def _unrecorded(function):
    @wraps(function)
    def wrapped(*args, **kwargs):
        with _C.no_grad():
            return function(*args, **kwargs)

    return wrapped


def calculate_gain(nonlinearity, param=None):
    """The factor by which a layer's weights should grow to make up for the nonlinearity behind it.

    Args:
        nonlinearity: its name in nn.functional.
        param: the slope of "leaky_relu".

    >>> wisp.nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


_LINEAR = (
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
)
_GAINS = {**dict.fromkeys(_LINEAR, 1), "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}


# --- fixed values


@_unrecorded
def constant_(tensor, val):
    """Fills the tensor with one value."""
    return tensor.fill_(val)


def ones_(tensor):
    """Fills the tensor with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """Fills the tensor with zeros."""
    return constant_(tensor, 0.0)


@_unrecorded
def eye_(tensor):
    """Fills a matrix with the identity, as far as it is not square."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    tensor.zero_().diagonal().fill_(1)
    return tensor


@_unrecorded
def dirac_(tensor, groups=1):
    """Fills the weight of a convolution such that it passes its input on, channel by channel, within each group."""
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    channels_out, channels_in, *kernel = tensor.shape
    if channels_out % groups:
        raise ValueError("dim 0 must be divisible by groups")
    tensor.zero_()
    per_group = channels_out // groups
    centre = tuple(size // 2 for size in kernel)
    for group in range(groups):
        for i in range(min(per_group, channels_in)):
            tensor[(group * per_group + i, i, *centre)] = 1
    return tensor


# --- random values


@_unrecorded
def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Fills the tensor with numbers drawn uniformly between a and b."""
    return tensor.uniform_(a, b, generator=generator)


@_unrecorded
def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Fills the tensor with normally distributed numbers."""
    return tensor.normal_(mean, std, generator=generator)


@_unrecorded
def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Fills the tensor with normally distributed numbers, of which those outside [a, b] are drawn again."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
                      "incorrect.", stacklevel=3)  # fmt: skip
    # The distribution function maps [a, b] onto an interval; its inverse maps uniform numbers from there back.
    # In float16 and bfloat16 it would meet few of them: they are drawn in float32.
    low, high = (math.erf((bound - mean) / (std * math.sqrt(2.0))) for bound in (a, b))
    drawn = tensor.float() if tensor.dtype in (_C.float16, _C.bfloat16) else tensor
    drawn.uniform_(low, high, generator=generator).erfinv_().mul_(std * math.sqrt(2.0)).add_(mean).clamp_(a, b)
    return tensor if drawn is tensor else tensor.copy_(drawn).clamp_(a, b)


@_unrecorded
def orthogonal_(tensor, gain=1, generator=None):
    """Fills a matrix with a random one of orthonormal rows or columns, times gain; dimensions after the first count as one."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    drawn = drawn.t() if rows < columns else drawn
    q, r = _C._linalg["qr"](drawn)
    q = q * r.diagonal().sign()  # makes all orthogonal matrices equally likely
    return tensor.copy_((q.t() if rows < columns else q).view_as(tensor)).mul_(gain)


@_unrecorded
def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Fills a matrix with normally distributed numbers, a fraction ``sparsity`` of every column being zero."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[_C._functions["randperm"](rows)[:zeros], column] = 0
    return tensor


# --- random values that keep the variance of activations or gradients


def _calculate_fan_in_and_fan_out(tensor):
    """How many inputs an output depends on, and how many outputs an input reaches."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def _xavier_std(tensor, gain):
    return gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform numbers with the variance 2 gain^2 / (fan_in + fan_out) of Glorot and Bengio."""
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normally distributed numbers with the variance 2 gain^2 / (fan_in + fan_out) of Glorot and Bengio."""
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def _kaiming_std(tensor, a, mode, nonlinearity):
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def _is_empty(tensor):
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return True
    return False


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform numbers with the variance gain^2 / fan of He et al.

    Args:
        a: the slope of "leaky_relu", if that is the nonlinearity.
        mode: "fan_in" keeps the variance of activations, "fan_out" that of gradients.
        nonlinearity: what the gain is calculated for.
    """
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normally distributed numbers with the variance gain^2 / fan of He et al.; arguments as of kaiming_uniform_()."""
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


# --- names that libraries use

_no_grad_fill_, _no_grad_zero_, _no_grad_uniform_ = constant_, zeros_, uniform_
_no_grad_normal_, _no_grad_trunc_normal_ = normal_, trunc_normal_


# --- old names


def _old_name(function):
    name = function.__name__

    @wraps(function)
    def wrapped(*args, **kwargs):
        warnings.warn(
            f"`nn.init.{name[:-1]}` is now deprecated in favor of `nn.init.{name}`.", FutureWarning, stacklevel=2
        )
        return function(*args, **kwargs)

    del wrapped.__wrapped__  # the signature is that of any arguments
    return wrapped


constant, dirac, eye, normal, sparse, uniform = map(_old_name, (constant_, dirac_, eye_, normal_, sparse_, uniform_))
kaiming_normal, kaiming_uniform, orthogonal = map(_old_name, (kaiming_normal_, kaiming_uniform_, orthogonal_))
xavier_normal, xavier_uniform = map(_old_name, (xavier_normal_, xavier_uniform_))
