"""The losses of wisp.nn.functional that are written in Python, over operators of the table.

``reduction`` is "mean", "sum" or "none"; ``size_average`` and ``reduce`` are its old names.
"""

import math
import warnings

from wisp import _C
from wisp._C import Tensor
from wisp.nn._functions import pairwise_distance
from wisp.nn._reduction import from_legacy

__all__ = [
    "cosine_embedding_loss", "gaussian_nll_loss", "hinge_embedding_loss", "kl_div", "margin_ranking_loss",
    "multi_margin_loss", "multilabel_soft_margin_loss", "poisson_nll_loss", "soft_margin_loss", "triplet_margin_loss",
]  # fmt: skip

_ops = _C._functions
_where, _log1p, _xlogy = _ops["where"], _ops["log1p"], _ops["xlogy"]


def _reduced(loss, reduction):
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction")


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence of log probabilities from a target; with "batchmean", per sample.

    Args:
        input: log probabilities.
        target: probabilities, or their logarithms with ``log_target``.
    """
    reduction = from_legacy(size_average, reduce, reduction)
    if reduction == "mean":
        warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides "
                      "only by the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the "
                      "same as 'batchmean' in the next major release.", stacklevel=2)  # fmt: skip
    loss = target.exp() * (target - input) if log_target else _xlogy(target, target) - target * input
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.dim() else loss.sum()
    return _reduced(loss, reduction)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target input)), for targets 1 and -1."""
    loss = _log1p((-target * input).exp())
    return _reduced(loss, from_legacy(size_average, reduce, reduction))


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin - target (input1 - input2)), for targets 1 (the first is to rank higher) and -1."""
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
                           f"{input1.size()}, input2: {input2.size()}, target: {target.size()} ")  # fmt: skip
    loss = (margin - target * (input1 - input2)).clamp(min=0)
    return _reduced(loss, from_legacy(size_average, reduce, reduction))


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The input for targets 1, max(0, margin - input) for targets -1."""
    loss = _where(target != 1, (margin - input).clamp(min=0), 0.0) + _where(target != -1, input, 0.0)
    return _reduced(loss, from_legacy(size_average, reduce, reduction))


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos(input1, input2) for targets 1, max(0, cos - margin) for targets -1."""
    if target.dim() not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if not input1.dim() == input2.dim() == target.dim() + 1:
        raise RuntimeError(f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but found inputs with sizes "
                           f"{list(input1.shape)} and {list(input2.shape)}.")  # fmt: skip
    squares = [(x * x).sum(-1) + 1e-12 for x in (input1, input2)]  # never zero
    cosine = (input1 * input2).sum(-1) / (squares[0] * squares[1]).sqrt()
    loss = _where(target == 1, 1 - cosine, 0.0) + _where(target == -1, (cosine - margin).clamp(min=0), 0.0)
    return _reduced(loss, from_legacy(size_average, reduce, reduction))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, distance to the positive - distance to the negative + margin).

    Args:
        p, eps: as of pairwise_distance().
        swap: whether to use the distance between positive and negative where that is smaller.
    """
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return _reduced((margin + near - far).clamp(min=0), from_legacy(size_average, reduce, reduction))


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of counts that are Poisson distributed.

    Args:
        input: the rate, or its logarithm with ``log_input``.
        full: whether to add Stirling's approximation of the constant term.
        eps: keeps the logarithm of the rate defined.
    """
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return _reduced(loss, from_legacy(size_average, reduce, reduction))


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """The negative log likelihood of targets that are normally distributed around the input.

    Args:
        var: the variance: of every element, of every row, or one number.
        full: whether to add the constant term.
        eps: a lower limit of the variance.
    """
    var = _spread_variance(var, input)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    if (var < 0).any():
        raise ValueError("var has negative entry/entries")
    limited = var.clone()
    with _C.no_grad():  # the limit has no part in the gradient
        limited.clamp_(min=eps)
    loss = 0.5 * (limited.log() + (input - target) ** 2 / limited)
    return _reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def _spread_variance(var, input):
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        return _ops["full_like"](input, float(var))
    if var.shape == input.shape:
        return var
    if input.shape[:-1] == var.shape:
        return var.unsqueeze(-1)
    differing = [b for a, b in zip(input.shape, var.shape) if a != b]
    if input.dim() == var.dim() and sum(differing) == 1:
        return var
    raise ValueError("var is of incorrect size")


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of max(0, margin - score of the target + score of the class)^p, the target left out.

    Args:
        input: scores of classes (N, C) or (C).
        target: a class for each sample.
        p: 1 or 2.
        weight: of each class.
    """
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    scores, classes = (input, target) if input.dim() > 1 else (input.unsqueeze(0), target.reshape(1))
    index = classes.unsqueeze(1)
    excess = (margin - scores.gather(1, index) + scores).clamp(min=0) ** p
    if weight is not None:
        excess = excess * weight.index_select(0, classes).unsqueeze(1)
    loss = excess.scatter(1, index, 0.0).sum(1) / scores.shape[1]
    return _reduced(loss if input.dim() > 1 else loss.squeeze(0), from_legacy(size_average, reduce, reduction))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The binary cross entropy of the sigmoid of scores, as a mean over classes; ``weight`` is of each class."""
    log_sigmoid = _C._functional["logsigmoid"]
    loss = -(target * log_sigmoid(input) + (1 - target) * log_sigmoid(-input))
    loss = loss if weight is None else loss * weight
    return _reduced(loss.sum(-1) / input.shape[-1], from_legacy(size_average, reduce, reduction))
