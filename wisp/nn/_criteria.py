"""Functions of wisp.nn.functional that check or convert their arguments before a kernel runs: losses and bags."""

import math
import warnings

from wisp import _C
from wisp._C import Tensor

__all__ = ["ctc_loss", "embedding_bag", "linear_cross_entropy", "sigmoid", "tanh", "triplet_margin_with_distance_loss"]

_functions, _table = _C._functions, _C._functional
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _reduction(name):
    if name not in _REDUCTIONS:
        raise ValueError(f"{name} is not a valid value for reduction")
    return _REDUCTIONS[name]


def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))`` of every element."""
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent of every element."""
    return input.tanh()


def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths, target_lengths, blank: int = 0,
             reduction: str = "mean", zero_infinity: bool = False) -> Tensor:  # fmt: skip
    """The negative log-likelihood of sequences of labels, whatever their alignment to the input.

    Args:
        log_probs: (time, batch, classes) or (time, classes), logarithms of probabilities.
        targets: (batch, longest) or all labels one after the other.
        input_lengths, target_lengths: how much of both belongs to each sample.
        blank: the class that stands for no label.
        reduction: 'mean' divides by the lengths of the targets first.
        zero_infinity: infinite losses, of targets longer than the input, become zero.
    """
    if isinstance(input_lengths, Tensor) != isinstance(target_lengths, Tensor):
        input_lengths, target_lengths = (_as_list(lengths) for lengths in (input_lengths, target_lengths))
    return _functions["ctc_loss"](log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction),
                                  zero_infinity)  # fmt: skip


def _as_list(lengths):
    return lengths.reshape(-1).tolist() if isinstance(lengths, Tensor) else lengths


def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function=None,
                                      margin: float = 1.0, swap: bool = False, reduction: str = "mean") -> Tensor:  # fmt: skip
    """``max(0, margin + d(anchor, positive) - d(anchor, negative))`` for any distance d."""
    _reduction(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of "
                           f"dimensions, but got: anchor {anchor.dim()}D, positive {positive.dim()}D, and negative "
                           f"{negative.dim()}D inputs")  # fmt: skip
    distance = distance_function or _table["pairwise_distance"]
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    loss = (near - far + margin).clamp_min(0)
    return {"none": lambda: loss, "mean": loss.mean, "sum": loss.sum}[reduction]()


def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias=None, weight=None,
                         reduction: str = "mean", ignore_index=None, label_smoothing: float = 0.0, options=None) -> Tensor:  # fmt: skip
    """cross_entropy of ``linear(input, linear_weight, linear_bias)``.

    The weight may have dimensions between its classes and its features; so then does the loss. ``options`` are accepted
    for the way PyTorch computes it in pieces, and change no result.
    """
    logits_shape = _check_linear(input, linear_weight, linear_bias)
    if tuple(target.shape) == logits_shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    rows = math.prod(linear_weight.shape[:-1])
    bias = None if linear_bias is None else linear_bias.reshape(rows)
    logits = _table["linear"](input, linear_weight.reshape(rows, input.shape[-1]), bias).reshape(logits_shape)
    return _table["cross_entropy"](logits, target, weight=weight, reduction=reduction,
                                   ignore_index=-100 if ignore_index is None else ignore_index,
                                   label_smoothing=label_smoothing)  # fmt: skip


def _check_linear(input, linear_weight, linear_bias):
    """The shape of the logits."""
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError("expected equal input and linear_weight last dimensions (in_features), "
                           f"got {input.shape[-1]} and {linear_weight.shape[-1]}, respectively")  # fmt: skip
    outer = tuple(linear_weight.shape[:-1])
    if linear_bias is not None and tuple(linear_bias.shape) != outer:
        raise RuntimeError(f"expected linear_bias shape {outer}, got {tuple(linear_bias.shape)}")
    if len(outer) > 1 and input.dim() == 1:
        raise RuntimeError(f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires "
                           f"batched input, (N, {input.shape[-1]}), got unbatched input with shape "
                           f"{tuple(input.shape)}")  # fmt: skip
    return (*input.shape[:-1], *outer)


_BAG_MODES = {"sum": 0, "mean": 1, "max": 2}


def embedding_bag(input: Tensor, weight: Tensor, offsets=None, max_norm=None, norm_type: float = 2,
                  scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights=None,
                  include_last_offset: bool = False, padding_idx=None) -> Tensor:  # fmt: skip
    """Sums, means or maxima of rows of a table: one for each bag of indices.

    Args:
        input: the indices; a matrix has a bag in every row.
        weight: the table.
        offsets: where the bags of a vector of indices begin.
        max_norm, norm_type: rows with a larger norm are scaled down to it first.
        scale_grad_by_freq: divide gradients of a row by how often it was used.
        mode: 'sum', 'mean' or 'max'.
        sparse: accepted; gradients are dense.
        per_sample_weights: factors of the rows, in mode 'sum'.
        include_last_offset: the last offset is the end of the last bag.
        padding_idx: a row that is left out.
    """
    if weight.dtype == _C.int64 and input.is_floating_point():
        warnings.warn("Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, "
                      "...)` is deprecated, and should now be `embedding_bag(input, weight, ...)`.", stacklevel=2)  # fmt: skip
        weight, input = input, weight
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must "
                         f"have the same shape as the input ({input.shape})")  # fmt: skip
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    _check_bag_mode(mode, scale_grad_by_freq, sparse, per_sample_weights)
    if input.dim() == 2:
        offsets, include_last_offset = _row_offsets(input, offsets), False
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
        input = input.reshape(-1)
    elif input.dim() != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    elif offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    elif offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if max_norm is not None:
        with _C.no_grad():  # for what it does to the rows it picks
            _table["embedding"](input, weight, None, max_norm, norm_type)
    return _functions["embedding_bag"](weight, input, offsets, scale_grad_by_freq, _BAG_MODES[mode], sparse,
                                       per_sample_weights, include_last_offset, padding_idx)[0]  # fmt: skip


def _row_offsets(input, offsets):
    if offsets is not None:
        raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed "
                         f"length sequences. However, found offsets of type {type(offsets)}")  # fmt: skip
    rows, columns = input.shape
    return _functions["arange"](rows, dtype=input.dtype).mul_(columns)


def _check_bag_mode(mode, scale_grad_by_freq, sparse, per_sample_weights):
    if mode not in _BAG_MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only "
                                  f"supported for mode='sum' (got mode='{mode}').")  # fmt: skip
