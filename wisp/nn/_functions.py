"""The functions of wisp.nn.functional that are written in Python, over operators of the table."""

from wisp import _C
from wisp._C import Tensor

__all__ = ["cosine_similarity", "feature_alpha_dropout", "gumbel_softmax", "normalize", "pairwise_distance", "relu"]

_ops = _C._functions
_relu, _relu_, _empty_like, _norm = _ops["relu"], _ops["relu_"], _ops["empty_like"], _C._linalg["vector_norm"]


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """The larger of each element and zero."""
    return _relu_(input) if inplace else _relu(input)


# What SELU tends to for large negative numbers, negated: dropped channels get this value.
_SELU_FLOOR = 1.7580993408473766


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """alpha_dropout() of whole channels: of everything that follows the first two dimensions."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0 or input.numel() == 0:
        return input
    scale = ((_SELU_FLOOR**2 * p + 1) * (1 - p)) ** -0.5 if p < 1 else 0.0
    kept = input.new_empty((*input.shape[:2], *(1,) * (input.dim() - 2))).bernoulli_(1 - p)
    shift = (kept - 1).add_(p).mul_(_SELU_FLOOR * scale)
    factor = kept.mul_(scale)
    return input.mul_(factor).add_(shift) if inplace else input * factor + shift


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
