"""Sequences of different lengths: padded to the longest, or packed one time step after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from wisp import _C
from wisp._C import Tensor, _jit

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip

_arange, _empty_like, _stack = (_C._functions[name] for name in ("arange", "empty_like", "stack"))
_pad = _C._functional["pad"]


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """Several sequences in one tensor: the first elements of all, then the second elements of those that have one, ...

    Made by pack_padded_sequence() and pack_sequence(); recurrent modules take and return it.

    Args:
        data: all elements.
        batch_sizes: how many sequences have an element at each time.
        sorted_indices: where in the batch each sequence was before they were sorted by length; None: just there.
        unsorted_indices: the inverse of that.
    """

    __slots__ = ()

    def __new__(cls, data: Tensor, batch_sizes: Tensor | None = None,  # noqa: PYI034
                sorted_indices: Tensor | None = None,
                unsorted_indices: Tensor | None = None) -> PackedSequence:  # fmt: skip
        if batch_sizes is None:  # the fields as one tuple
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError("batch_sizes should always be on CPU. Instances of PackedSequence should never be created "
                             "manually. They should be instantiated by functions like pack_sequence and "
                             "pack_padded_sequence in nn.utils.rnn.")  # fmt: skip
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with(self, data: Tensor) -> PackedSequence:
        return self if data is self.data else type(self)(data, *self[1:])

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same sequences with another dtype or device; arguments as of Tensor.to()."""
        return self._with(self.data.to(*args, **kwargs))

    def cpu(self) -> PackedSequence:
        return self

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        return self._with(self.data.cuda(*args, **kwargs))

    def double(self) -> PackedSequence:
        return self._with(self.data.double())

    def float(self) -> PackedSequence:
        return self._with(self.data.float())

    def half(self) -> PackedSequence:
        return self._with(self.data.half())

    def long(self) -> PackedSequence:
        return self._with(self.data.long())

    def int(self) -> PackedSequence:
        return self._with(self.data.int())

    def short(self) -> PackedSequence:
        return self._with(self.data.short())

    def char(self) -> PackedSequence:
        return self._with(self.data.to(_C.int8))

    def byte(self) -> PackedSequence:
        return self._with(self.data.to(_C.uint8))

    @property
    def is_cuda(self) -> bool:
        return False

    def is_pinned(self) -> bool:
        return False

    def pin_memory(self) -> PackedSequence:
        return self


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another.

    >>> wisp.nn.utils.rnn.invert_permutation(wisp.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    return _empty_like(permutation).scatter_(0, permutation, _arange(permutation.shape[0]))


def _below(limits: Tensor, count: int) -> Tensor:
    """For every limit, which of the first ``count`` numbers are below it."""
    return _arange(count).unsqueeze(0) < limits.unsqueeze(1)


def _is_tracing() -> bool:
    return _jit.current_recorder() is not None


def _members(sizes: Tensor, rows: int) -> Tensor:
    """The numbers of the sequences in so many packed rows. A trace keeps that there may be others next time."""
    if sizes.numel() == 0:
        raise RuntimeError("batch_sizes can not be empty")
    if not _is_tracing():
        return _arange(sizes[0].item())
    numbers = _arange(rows)
    return numbers[numbers < sizes[0]]


def _check_lengths(input: Tensor, lengths: Tensor, batch: int, enforce_sorted: bool) -> None:
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.numel() != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.numel()} (batch_size={batch})"
        )
    if enforce_sorted and (lengths[1:] > lengths[:-1]).any():
        raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
                           "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement "
                           "if you do not need ONNX exportability.")  # fmt: skip
    if (lengths <= 0).any():
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )


def pack_padded_sequence(input: Tensor, lengths: Tensor | list[int], batch_first: bool = False,
                         enforce_sorted: bool = True) -> PackedSequence:  # fmt: skip
    """Packs padded sequences.

    Args:
        input: the sequences, (time, batch, ...).
        lengths: how long each is.
        batch_first: whether the input is (batch, time, ...) instead.
        enforce_sorted: refuse sequences that are not sorted by length, longest first; else they are sorted here.

    >>> wisp.nn.utils.rnn.pack_padded_sequence(wisp.tensor([[1, 2], [3, 0]]), [2, 1]).data
    tensor([1, 2, 3])
    """
    lengths = lengths.to(_C.int64) if isinstance(lengths, Tensor) else _C.tensor(lengths, dtype=_C.int64)
    by_time = input.transpose(0, 1) if batch_first else input
    order = None
    if not enforce_sorted:
        lengths, order = lengths.sort(descending=True)
        by_time = by_time.index_select(1, order)
    _check_lengths(input, lengths, by_time.shape[1], enforce_sorted)
    if _is_tracing():  # in which numbers that come from tensors are not kept
        present = _below(lengths, by_time.shape[0]).t()
        sizes = present.sum(1)
        return PackedSequence(by_time[present], sizes[sizes > 0], order, invert_permutation(order))
    longest = lengths.max().item()
    if longest > by_time.shape[0]:
        raise RuntimeError(f"Expected lengths of at most {by_time.shape[0]}, the length of the input, got {longest}")
    present = _below(lengths, longest).t()
    return PackedSequence(by_time[:longest][present], present.sum(1), order, invert_permutation(order))


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
                        total_length: int | None = None) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The padded sequences (time, batch, ...) of a packed one, and their lengths.

    Args:
        sequence: what to pad.
        batch_first: whether to return (batch, time, ...) instead.
        padding_value: what to fill up with.
        total_length: the length to pad to, if not that of the longest.
    """
    data, sizes, _, unsorted = sequence
    steps = sizes.numel()
    if total_length is not None and total_length < steps:
        raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but got "
                         f"total_length={total_length} and max sequence length being {steps}")  # fmt: skip
    present = _members(sizes, data.shape[0]).unsqueeze(0) < sizes.unsqueeze(1)
    padded = data.new_full((*present.shape, *data.shape[1:]), padding_value)
    padded[present] = data
    lengths = present.sum(0)
    if total_length is not None and total_length > steps:
        padded = _pad(padded, (0, 0) * (padded.dim() - 1) + (0, total_length - steps), value=padding_value)
    if unsorted is not None:
        padded, lengths = padded.index_select(1, unsorted), lengths[unsorted]
    return padded.transpose(0, 1) if batch_first else padded, lengths


def pad_sequence(sequences: Tensor | Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0,
                 padding_side: str = "right") -> Tensor:  # fmt: skip
    """Sequences side by side, as (time, batch, ...), shorter ones padded.

    Args:
        sequences: tensors (length, ...) that differ in nothing but their lengths.
        batch_first: whether to return (batch, time, ...) instead.
        padding_value: what to fill up with.
        padding_side: "right" or "left".

    >>> wisp.nn.utils.rnn.pad_sequence([wisp.tensor([1, 2]), wisp.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError("pad_sequence: Expected iterable for input sequences, but got arg of type: "
                           f"{type(sequences)}")  # fmt: skip
    sequences = sequences.unbind(0) if isinstance(sequences, Tensor) else tuple(sequences)
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    longest = max(s.shape[0] for s in sequences)

    def padded(s):
        missing = longest - s.shape[0]
        ends = (0, missing) if padding_side == "right" else (missing, 0)
        return _pad(s, (0, 0) * (s.dim() - 1) + ends, value=padding_value) if missing else s

    return _stack([padded(s) for s in sequences], 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences that pad_sequence() has put together, of these lengths."""
    by_member = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [member[:length] for member, length in zip(by_member, lengths.tolist())]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs tensors (length, ...) that differ in nothing but their lengths.

    >>> wisp.nn.utils.rnn.pack_sequence([wisp.tensor([1, 2]), wisp.tensor([3])]).data
    tensor([1, 3, 2])
    """
    lengths = _C.tensor([s.shape[0] for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that pack_sequence() has packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
