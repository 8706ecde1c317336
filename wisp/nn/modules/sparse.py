"""Rows of a table by number."""

from wisp import _C
from wisp.nn import functional as F
from wisp.nn.modules.module import Module
from wisp.nn.parameter import Parameter

__all__ = ["Embedding", "EmbeddingBag"]

_empty = _C._functions["empty"]


class Embedding(Module):
    """A table of vectors, one for each of ``num_embeddings`` numbers; maps numbers to their vectors.

    Args:
        num_embeddings, embedding_dim: the size of the table.
        padding_idx: a row that starts as zeros and is not trained.
        max_norm: rows with a larger norm are scaled down to it when they are used.
        norm_type: the order of that norm.
        scale_grad_by_freq: divide gradients of a row by how often it was used.
        sparse: accepted; gradients are always dense.

    >>> wisp.nn.Embedding(10, 3)(wisp.tensor([[1, 2], [4, 5]])).shape
    wisp.Size([2, 2, 3])
    """

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0,
                 scale_grad_by_freq=False, sparse=False, _weight=None, _freeze=False, device=None, dtype=None):  # fmt: skip
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = _checked_row(padding_idx, num_embeddings)
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        if _weight is None:
            self.weight = Parameter(_empty(num_embeddings, embedding_dim, device=device, dtype=dtype), not _freeze)
            self.reset_parameters()
            return
        if list(_weight.shape) != [num_embeddings, embedding_dim]:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        self.weight = Parameter(_weight, not _freeze)

    def reset_parameters(self):
        """Draws new vectors, as the constructor does."""
        from wisp.nn.init import normal_

        normal_(self.weight)
        if self.padding_idx is not None:
            with _C.no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input):
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq,
                           self.sparse)  # fmt: skip

    def extra_repr(self):
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        defaults = {"padding_idx": None, "max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}
        for name, default in defaults.items():
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text + (", sparse=True" if self.sparse else "")

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, max_norm=None, norm_type=2.0,
                        scale_grad_by_freq=False, sparse=False):  # fmt: skip
        """An Embedding of a matrix; not trained unless ``freeze`` is False."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze)


def _checked_row(row, count):
    """The number of a row that may be given counting from the end."""
    if row is None:
        return None
    if not -count <= row < count:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return row % count


class EmbeddingBag(Module):
    """A table of vectors; maps bags of numbers to the sums, means or maxima of their vectors.

    Args:
        num_embeddings, embedding_dim: the size of the table.
        max_norm, norm_type: rows with a larger norm of that order are scaled down to it when they are used.
        scale_grad_by_freq: divide gradients of a row by how often it was used.
        mode: 'sum', 'mean' or 'max'.
        sparse: accepted; gradients are always dense.
        include_last_offset: the last offset is the end of the last bag.
        padding_idx: a row that is left out, and starts as zeros.

    >>> bag = wisp.nn.EmbeddingBag.from_pretrained(wisp.tensor([[1., 2.], [3., 4.]]), mode='sum')
    >>> bag(wisp.tensor([0, 1, 1]), wisp.tensor([0, 2]))
    tensor([[4., 6.],
            [3., 4.]])
    """

    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                 mode="mean", sparse=False, _weight=None, include_last_offset=False, padding_idx=None, device=None,
                 dtype=None):  # fmt: skip
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self.padding_idx = _checked_row(padding_idx, num_embeddings)
        self.mode, self.include_last_offset = mode, include_last_offset
        if _weight is None:
            self.weight = Parameter(_empty(num_embeddings, embedding_dim, device=device, dtype=dtype))
            self.reset_parameters()
            return
        if list(_weight.shape) != [num_embeddings, embedding_dim]:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        self.weight = Parameter(_weight)

    reset_parameters = Embedding.reset_parameters

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
                               self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx)  # fmt: skip

    def extra_repr(self):
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        defaults = {"max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}
        for name, default in defaults.items():
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        text += f", mode={self.mode!r}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                        mode="mean", sparse=False, include_last_offset=False, padding_idx=None):  # fmt: skip
        """An EmbeddingBag of a matrix; not trained unless ``freeze`` is False."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        bag = cls(rows, columns, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings,
                  include_last_offset, padding_idx)  # fmt: skip
        bag.weight.requires_grad = not freeze
        return bag
