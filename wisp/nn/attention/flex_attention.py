"""Attention whose scores and masks are functions of places: ``score_mod(score, b, h, q, kv)`` and ``mask_mod(b, h, q, kv)``.

>>> from wisp.nn.attention.flex_attention import create_block_mask, flex_attention
>>> causal = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 4, 4)
>>> x = wisp.ones(1, 1, 4, 2)
>>> flex_attention(x, x, x, block_mask=causal).shape
wisp.Size([1, 1, 4, 2])

Functions are applied to all places at once (by vmap). Blocks of a mask tell how much of it is empty; all of it is computed.
"""

import math
from inspect import signature
from typing import NamedTuple, TypedDict

import wisp
from wisp import Tensor
from wisp.func import vmap

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "FlexKernelOptions", "and_masks", "create_block_mask", "create_mask",
    "flex_attention", "noop_mask", "or_masks",
]  # fmt: skip

_DEFAULT_SPARSE_BLOCK_SIZE = 128


class FlexKernelOptions(TypedDict, total=False):
    """Settings of PyTorch's kernels; none of them means anything here."""


class AuxRequest(NamedTuple):
    """What flex_attention() is to give besides its result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What flex_attention() gives besides its result."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch, head, token_q, token_kv):
    """True: every place is seen."""
    return batch.new_ones((), dtype=wisp.bool)


def and_masks(*mask_mods):
    """The mask of places that all masks let through."""
    _check_callable(mask_mods)

    def mask(b, h, q, kv):
        result = b.new_ones((), dtype=wisp.bool)
        for mod in mask_mods:
            result = result & mod(b, h, q, kv)
        return result

    return mask


def or_masks(*mask_mods):
    """The mask of places that one of several masks lets through."""
    _check_callable(mask_mods)

    def mask(b, h, q, kv):
        result = b.new_zeros((), dtype=wisp.bool)
        for mod in mask_mods:
            result = result | mod(b, h, q, kv)
        return result

    return mask


def _check_callable(mods):
    if not all(callable(mod) for mod in mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mods}")


def _everywhere(mod, shape, *scores):
    """A function of places at all places of a shape (batch, heads, queries, keys); of the scores there too, if given."""
    lead = (0,) * len(scores)
    for places in ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None)):
        mod = vmap(mod, in_dims=(*lead, *places))
    return mod(*scores, *(wisp.arange(size) for size in shape))


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """The mask that a function gives, as a tensor of (B, H, Q_LEN, KV_LEN); of a function of scores, what it makes of zeros."""
    shape = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    if len(signature(mod_fn).parameters) == 5:
        return _everywhere(mod_fn, shape, wisp.zeros(shape))
    return _everywhere(mod_fn, shape).expand(shape)


def _in_order(dense):
    """How many blocks of each row there are, and their numbers in front of those of the others."""
    return dense.sum(-1, dtype=wisp.int32), dense.int().argsort(dim=-1, descending=True, stable=True).int()


class BlockMask:
    """A mask, and which blocks of it are empty, full, or neither. See create_block_mask()."""

    def __init__(
        self, seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, q_num_blocks, q_indices,
        full_q_num_blocks, full_q_indices, BLOCK_SIZE=(128, 128), mask_mod=noop_mask,
    ):  # fmt: skip
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks, kv_indices, full_kv_num_blocks=None, full_kv_indices=None, BLOCK_SIZE=128, mask_mod=None,
        seq_lengths=None, compute_q_blocks=True,
    ):  # fmt: skip
        """A mask whose blocks are known."""
        block = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * block[0], kv_indices.shape[-1] * block[1])
        columns = full_columns = (None, None)
        if compute_q_blocks:
            columns = _in_order(_dense(kv_num_blocks, kv_indices).transpose(-2, -1))
            if full_kv_num_blocks is not None:
                full_columns = _in_order(_dense(full_kv_num_blocks, full_kv_indices).transpose(-2, -1))
        return cls(
            seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *columns, *full_columns, block,
            noop_mask if mask_mod is None else mask_mod,
        )  # fmt: skip

    @property
    def shape(self):
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self):
        """The number of places, seen or not."""
        return math.prod(self.shape)

    def to_dense(self):
        """1 for every block that is not empty, 0 for the others."""
        dense = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None:
            dense = dense | _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return dense.int()

    def sparsity(self):
        """Percent of the places that lie in empty blocks."""
        seen = int(self.to_dense().sum()) * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1]
        return 100 * (1 - seen / self.numel())

    def to(self, device):
        """The mask itself: there is one device."""
        return self

    def __repr__(self):
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def _dense(counts, numbers):
    """Which blocks are among the first ones of each row."""
    among = wisp.arange(numbers.shape[-1]) < counts.unsqueeze(-1)
    return wisp.zeros(numbers.shape, dtype=wisp.bool).scatter(-1, numbers.long(), among)


def create_block_mask(
    mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=128, _compile=False, separate_full_blocks=True
):
    """The mask of a function ``mask_mod(b, h, q, kv)``, which says whether a query sees a key.

    Args:
        B, H: sizes of the batch and number of heads, or None if the function does not look at them.
        BLOCK_SIZE: of the blocks that are counted, or a pair of numbers of queries and keys.
        separate_full_blocks: whether blocks of which everything is seen are listed apart.
    """
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN)
    padded = wisp.nn.functional.pad(mask, (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    seen = padded.unflatten(-1, (-1, columns)).unflatten(-3, (-1, rows)).sum((-3, -1))
    full = (seen == rows * columns) & separate_full_blocks
    return BlockMask.from_kv_blocks(
        *_in_order((seen > 0) & ~full), *(_in_order(full) if separate_full_blocks else (None, None)), (rows, columns),
        mask_mod, (Q_LEN, KV_LEN),
    )  # fmt: skip


def _check(query, key, value, block_mask, enable_gqa):
    if not query.dim() == key.dim() == value.dim() == 4:
        raise NotImplementedError("flex_attention(): expected query, key and value of 4 dimensions")
    if not query.dtype == key.dtype == value.dtype:
        raise ValueError(
            f"Expected query, key, and value to have the same dtype, but got {query.dtype}, {key.dtype} and {value.dtype}"
        )
    if query.shape[-1] != key.shape[-1] or key.shape[1:3] != value.shape[1:3]:
        raise ValueError("Expect query and key/value to have the same embedding dimension, and as many keys as values")
    heads, shared = query.shape[1], key.shape[1]
    if heads != shared and (not enable_gqa or heads % shared):
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={shared}. "
            "Try setting enable_gqa=True, with a number of heads of query that is a multiple, for GQA."
        )
    lengths = (query.shape[-2], key.shape[-2])
    if block_mask is not None and tuple(block_mask.seq_lengths) != lengths:
        raise ValueError(f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={lengths[0]} "
                         f"and kv_len={lengths[1]}.")  # fmt: skip


def flex_attention(
    query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False,
    kernel_options=None, *, return_aux=None,
):  # fmt: skip
    """Attention with scores that are changed by a function, among the places that a mask lets through.

    Args:
        query, key, value: tensors of (batch, heads, length, features).
        score_mod: ``score_mod(score, b, h, q, kv)``, what a score becomes.
        block_mask: from create_block_mask(). Queries that see nothing become zeros.
        scale: of the products, 1 / sqrt(features) if None.
        enable_gqa: whether several heads of `query` may share one of `key` and `value`.
        return_lse: whether to return the logarithm of the sum of exponentials of the scores as well.
        return_aux: the same, as an AuxRequest: the second result is then an AuxOutput.
    """
    _check(query, key, value, block_mask, enable_gqa)
    dtype = query.dtype
    repeats = query.shape[1] // key.shape[1]
    query, key, value = (t.float() if dtype in (wisp.float16, wisp.bfloat16) else t for t in (query, key, value))
    if repeats > 1:
        key, value = (t.repeat_interleave(repeats, 1) for t in (key, value))
    scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    shape = (*scores.shape[:2], query.shape[-2], key.shape[-2])
    scores = scores.expand(shape)
    if score_mod is not None:
        scores = _everywhere(score_mod, shape, scores).to(query.dtype)
    if block_mask is not None:
        scores = scores.masked_fill(~create_mask(block_mask.mask_mod, *shape), -math.inf)
    unseen = (scores == -math.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(unseen, 0.0).softmax(-1).masked_fill(unseen, 0.0)
    result = (weights @ value).to(dtype)
    if return_aux is not None:
        lse = scores.logsumexp(-1) if return_aux.lse else None
        return result, AuxOutput(lse, scores.amax(-1) if return_aux.max_scores else None)
    return (result, scores.logsumexp(-1)) if return_lse else result
