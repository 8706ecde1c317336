"""A softmax over many classes, of which the rare ones cost less."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from itertools import pairwise

from wisp import _C
from wisp._C import Tensor
from wisp.nn.modules.container import ModuleList, Sequential
from wisp.nn.modules.linear import Linear
from wisp.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing takes time
    from typing import Any

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_cat, _log_softmax, _where = (_C._functions[name] for name in ("cat", "log_softmax", "where"))

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of classes sorted by frequency: frequent ones directly, others by the cluster they are in.

    Calling it with inputs and targets gives ``(output, loss)``: the log-probability of each target, and minus their
    mean.

    Args:
        in_features: the number of features of the input.
        n_classes: the number of classes, the most frequent ones first.
        cutoffs: where the clusters begin.
        div_value: each cluster has a projection this many times smaller than the one before.
        head_bias: whether the frequent classes and clusters have biases.

    >>> layer = wisp.nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4], div_value=2.0)
    >>> layer.log_prob(wisp.zeros(1, 4)).exp().sum().item()
    1.0
    """

    def __init__(self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
                 head_bias: bool = False, device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        rising = all(low < high for low, high in pairwise([0, *cutoffs, n_classes]))
        if not rising or any(int(c) != c for c in cutoffs):
            raise ValueError("cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where "
                             "each value is between 1 and n_classes-1")  # fmt: skip
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        how = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **how)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            inner = int(in_features // div_value ** (i + 1))
            self.tail.append(Sequential(Linear(in_features, inner, bias=False, **how),
                                        Linear(inner, high - low, bias=False, **how)))  # fmt: skip

    def reset_parameters(self) -> None:
        """Draws new weights, as the constructor does."""
        for layer in (self.head, *(layer for pair in self.tail for layer in pair)):
            layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        self._check(input_, target_)
        batched = target_.dim() == 1
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        if ((target < 0) | (target >= self.n_classes)).any():
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                               f"[{target.min().item()}, {target.max().item()}] were found. ")  # fmt: skip
        head = _log_softmax(self.head(input), 1)
        column, inside = target, head.new_zeros(target.shape)
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            chosen = (target >= low) & (target < high)
            rows = chosen.nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            cluster = _log_softmax(self.tail[i](input.index_select(0, rows)), 1)
            local = cluster.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1)
            inside = inside.index_copy(0, rows, local)
            column = _where(chosen, self.shortlist_size + i, column)
        output = inside + head.gather(1, column.unsqueeze(1)).squeeze(1)
        return _ASMoutput(output if batched else output.squeeze(0), -output.mean())

    @staticmethod
    def _check(input, target):
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target.dim() == 1 and input.shape[0] != target.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input.dim() != target.dim() + 1:
            raise RuntimeError(f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, "
                               f"but found inputs with size {input.size()}")  # fmt: skip

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes, (batch, n_classes)."""
        head = _log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            parts.append(_log_softmax(tail(input), 1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return _cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each input; clusters are looked into only where one is the most probable."""
        found = self.head(input).argmax(1)
        rare = found >= self.shortlist_size
        if rare.any():
            found = found.clone()
            found[rare] = self.log_prob(input[rare]).argmax(1)
        return found
