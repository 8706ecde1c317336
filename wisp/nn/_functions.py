"""The functions of wisp.nn.functional that are written in Python, over operators of the table."""

import warnings

from wisp import _C
from wisp._C import Tensor

__all__ = [
    "alpha_dropout", "cosine_similarity", "dropout", "dropout1d", "dropout2d", "dropout3d", "embedding",
    "feature_alpha_dropout", "gumbel_softmax", "normalize", "one_hot", "pairwise_distance", "relu",
]  # fmt: skip

_ops = _C._functions
_relu, _relu_, _empty_like, _norm = _ops["relu"], _ops["relu_"], _ops["empty_like"], _C._linalg["vector_norm"]


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """The larger of each element and zero."""
    return _relu_(input) if inplace else _relu(input)


# --- dropout


def _check_probability(p):
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _noise(like, p):
    """Zeros with probability p, else what makes up for them."""
    noise = like.bernoulli_(1.0 - p)
    return noise.div_(1.0 - p) if p < 1.0 else noise


def _multiplied(input, noise, inplace):
    return input.mul_(noise) if inplace else input * noise


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Sets elements to zero with probability p and scales the others by 1 / (1 - p); returns the input if not training."""
    _check_probability(p)
    if not training or p == 0 or input.numel() == 0:
        return input
    return _multiplied(input, _noise(_empty_like(input), p), inplace)


def _channel_shape(input):
    """Sizes of one number per sample and channel, that broadcast with the input."""
    return (*input.shape[:2], *(1,) * (input.dim() - 2))


def _feature_dropout(input, p, training, inplace):
    _check_probability(p)
    if not training or p == 0 or input.numel() == 0:
        return input
    return _multiplied(input, _noise(input.new_empty(_channel_shape(input)), p), inplace)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Sets whole channels of an input (N, C, L) or (C, L) to zero with probability p."""
    _check_probability(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that dropout1d exists to "
                           "provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an "
                           "optional batch dimension (i.e. 2D or 3D inputs).")  # fmt: skip
    if input.dim() == 3:
        return _feature_dropout(input, p, training, inplace)
    return _feature_dropout(input.unsqueeze(0), p, training, inplace).squeeze(0)


def _warn_dims(name, input, allowed, spatial):
    if input.dim() not in allowed:
        warnings.warn(f"{name}: Received a {input.dim()}-D input to {name}, which is deprecated and will result in an error in a "
                      f"future release. To retain the behavior and silence this warning, please use dropout instead. Note that "
                      f"{name} exists to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a channel "
                      "dimension, and an optional batch dimension.", stacklevel=3)  # fmt: skip


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Sets whole channels of an input (N, C, H, W) to zero with probability p."""
    _warn_dims("dropout2d", input, (3, 4), 2)
    return _feature_dropout(input, p, training, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Sets whole channels of an input (N, C, D, H, W) to zero with probability p."""
    _warn_dims("dropout3d", input, (4, 5), 3)
    return _feature_dropout(input, p, training, inplace)


# What SELU tends to for large negative numbers, negated: dropped elements get this value.
_SELU_FLOOR = 1.7580993408473766


def _alpha_dropout(input, p, training, inplace, shape):
    """Drops to SELU's lower limit, then shifts and scales such that mean and variance stay 0 and 1."""
    _check_probability(p)
    if not training or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        return _multiplied(input, input.new_zeros(()), inplace)
    scale = ((_SELU_FLOOR**2 * p + 1) * (1 - p)) ** -0.5
    kept = input.new_empty(shape).bernoulli_(1 - p)
    shift = (kept - 1).mul_(_SELU_FLOOR * scale).add_(_SELU_FLOOR * scale * p)
    return _multiplied(input, kept.mul_(scale), inplace).add_(shift) if inplace else input * kept.mul_(scale) + shift


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for networks of SELU: keeps mean and variance of its input."""
    return _alpha_dropout(input, p, training, inplace, input.shape)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """alpha_dropout() of whole channels."""
    return _alpha_dropout(input, p, training, inplace, _channel_shape(input))


# --- tables of vectors


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Every number as a row of zeros with a one at its place.

    >>> wisp.nn.functional.one_hot(wisp.tensor([0, 2]), 3)
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if tensor.dtype is not _C.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if tensor.numel() == 0 and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if tensor.numel() and tensor.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(tensor.max()) + 1
    elif tensor.numel() and tensor.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    rows = tensor.new_zeros((*tensor.shape, num_classes))
    return rows.scatter_(-1, tensor.unsqueeze(-1), 1) if tensor.numel() else rows


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of ``weight`` that ``input`` gives the numbers of.

    Args:
        input: ints of any shape.
        weight: a matrix.
        padding_idx: a row that gets no gradient.
        max_norm: used rows with a larger norm are first scaled down to it, in place.
        norm_type: the order of that norm.
        scale_grad_by_freq: divide gradients of a row by how often it is used here.
        sparse: must be False: gradients are dense.
    """
    if sparse:
        raise RuntimeError("embedding(): gradients are dense; expected sparse=False")
    if weight.dim() != 2:
        raise RuntimeError("'weight' must be 2-D")
    if input.dtype not in (_C.int64, _C.int32):
        raise RuntimeError(f"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but "
                           f"got {input.type()} instead (while checking arguments for embedding)")  # fmt: skip
    index = input.reshape(-1)
    if max_norm is not None:
        _limit_norms(weight, index, max_norm, norm_type)
    rows = weight.index_select(0, index)
    if rows.requires_grad and (padding_idx is not None or scale_grad_by_freq):
        factors = _gradient_factors(rows, index, weight.shape[0], padding_idx, scale_grad_by_freq)
        rows.register_hook(lambda grad: grad * factors)
    return rows.reshape(*input.shape, weight.shape[1])


def _limit_norms(weight, index, max_norm, norm_type):
    """Scales the rows in use down to a norm."""
    with _C.no_grad():
        rows = weight.index_select(0, index)
        norms = _norm(rows, norm_type, -1, keepdim=True)
        factors = (max_norm / (norms + 1e-7)).masked_fill_(norms <= max_norm, 1.0)
        weight.index_copy_(0, index, rows * factors)


def _gradient_factors(rows, index, count, padding_idx, by_frequency):
    """What the gradients of the rows are multiplied by, as a column."""
    factors = rows.detach().new_ones(index.shape)
    if by_frequency:
        uses = factors.new_zeros(count).index_add_(0, index, factors)
        factors = factors / uses.index_select(0, index)
    if padding_idx is not None:
        if not -count <= padding_idx < count:
            raise AssertionError("Padding_idx must be within num_embeddings")
        factors.masked_fill_(index == padding_idx % count, 0.0)
    return factors.unsqueeze(-1)


# --- similarity


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Divides vectors along ``dim`` by their norm of order p, or by eps if that is larger."""
    return _ops["div"](input, _norm(input, p, dim, keepdim=True).clamp(min=eps), out=out)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along ``dim``; norms smaller than eps count as eps."""
    x1, x2 = _ops["broadcast_tensors"](x1, x2)
    first, second = (x / _norm(x, 2, dim, keepdim=True).clamp(min=eps) for x in (x1, x2))
    return (first * second).sum(dim)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The norm of order p of ``x1 - x2 + eps`` along the last dimension."""
    return _norm(x1 - x2 + eps, p, -1, keepdim)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Samples of a categorical distribution, smooth in the logits; with ``hard``, one-hot but with the smooth gradients."""
    gumbel = -_empty_like(logits).exponential_().log()
    soft = ((logits + gumbel) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.argmax(dim, keepdim=True)
    chosen = _ops["zeros_like"](logits).scatter_(dim, index, 1.0)
    return chosen - soft.detach() + soft
