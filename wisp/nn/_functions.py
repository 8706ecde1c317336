"""The functions of wisp.nn.functional that are written in Python, over operators of the table."""

from wisp import _C
from wisp._C import Tensor

__all__ = ["feature_alpha_dropout", "gumbel_softmax", "relu"]

_relu, _relu_, _empty_like, _zeros_like = (_C._functions[n] for n in ("relu", "relu_", "empty_like", "zeros_like"))


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


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Samples of a categorical distribution, smooth in the logits; with ``hard``, one-hot but with the smooth gradients."""
    gumbel = -_empty_like(logits).exponential_().log()
    soft = ((logits + gumbel) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.argmax(dim, keepdim=True)
    chosen = _zeros_like(logits).scatter_(dim, index, 1.0)
    return chosen - soft.detach() + soft
