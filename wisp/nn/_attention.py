"""multi_head_attention_forward: attention of several heads, between learnt projections."""

import math
import warnings

from wisp import _C
from wisp._C import Tensor

__all__ = ["multi_head_attention_forward"]

_functions, _table = _C._functions, _C._functional
_linear, _cat, _attention = _table["linear"], _functions["cat"], _table["scaled_dot_product_attention"]


def _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether there is a batch; fails if the arguments do not agree on that."""
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    batched = dims == 3
    kind = f"{'batched (3-D)' if batched else 'unbatched (2-D)'} `query`"
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(f"For {kind}, expected `key` and `value` to be {dims}-D but found {key.dim()}-D and "
                             f"{value.dim()}-D tensors respectively")  # fmt: skip
    if key_padding_mask is not None and key_padding_mask.dim() != dims - 1:
        raise AssertionError(f"For {kind}, expected `key_padding_mask` to be `None` or {dims - 1}-D but found "
                             f"{key_padding_mask.dim()}-D tensor instead")  # fmt: skip
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(f"For {kind}, expected `attn_mask` to be `None`, 2-D or 3-D but found "
                                 f"{attn_mask.dim()}-D tensor instead")  # fmt: skip
        expected = (num_heads, query.shape[0], key.shape[0])
        if not batched and attn_mask.dim() == 3 and tuple(attn_mask.shape) != expected:
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {tuple(attn_mask.shape)}")
    return batched


def _as_addend(mask, name, other, dtype):
    """A mask as numbers to add to the scores: those that a mask of bools excludes become -inf."""
    if mask is None:
        return None
    if not mask.is_floating_point() and mask.dtype != _C.bool:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if other is not None and mask.dtype != other.dtype:
        warnings.warn("Support for mismatched key_padding_mask and attn_mask is deprecated. Use same type for both "
                      "instead.", stacklevel=5)  # fmt: skip
    if mask.is_floating_point():
        return mask
    return mask.new_zeros(mask.shape, dtype=dtype).masked_fill_(mask, -math.inf)


def _project_packed(query, key, value, weight, bias):
    """Queries, keys and values through one matrix, in as few products as the arguments allow."""
    width = query.shape[-1]
    if key is value:
        if query is key:
            return _linear(query, weight, bias).chunk(3, -1)
        biases = (None, None) if bias is None else bias.split([width, 2 * width])
        weights = weight.split([width, 2 * width])
        return _linear(query, weights[0], biases[0]), *_linear(key, weights[1], biases[1]).chunk(2, -1)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return tuple(_linear(x, w, b) for x, w, b in zip((query, key, value), weight.chunk(3), biases))


def _project_apart(query, key, value, weights, bias):
    width = query.shape[-1]
    if tuple(weights[0].shape) != (width, width):
        raise AssertionError(f"expecting query weights shape of {(width, width)}, but got {weights[0].shape}")
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return tuple(_linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases))


def _checked_mask(attn_mask, queries, keys, batch, num_heads):
    """An attention mask of three dimensions, (1 or batch * heads, queries, keys)."""
    if attn_mask is None:
        return None
    if attn_mask.dim() == 2:
        if tuple(attn_mask.shape) != (queries, keys):
            raise RuntimeError(f"The shape of the 2D attn_mask is {attn_mask.shape}, but should be {(queries, keys)}.")
        return attn_mask.unsqueeze(0)
    if tuple(attn_mask.shape) != (batch * num_heads, queries, keys):
        raise RuntimeError(f"The shape of the 3D attn_mask is {attn_mask.shape}, but should be "
                           f"{(batch * num_heads, queries, keys)}.")  # fmt: skip
    return attn_mask


def _joined_mask(attn_mask, key_padding_mask, batch, num_heads, keys):
    """Both masks as one."""
    if key_padding_mask is None:
        return attn_mask
    if tuple(key_padding_mask.shape) != (batch, keys):
        raise AssertionError(f"expecting key_padding_mask shape of {(batch, keys)}, but got {key_padding_mask.shape}")
    padding = key_padding_mask.view(batch, 1, 1, keys).expand(-1, num_heads, -1, -1)
    padding = padding.reshape(batch * num_heads, 1, keys)
    return padding if attn_mask is None else attn_mask + padding


def _with_weights(q, k, v, mask, dropout_p):
    """(results, weights) where the weights are wanted too."""
    q = q * math.sqrt(1.0 / q.shape[-1])
    scores = q.bmm(k.transpose(-2, -1)) if mask is None else _functions["baddbmm"](mask, q, k.transpose(-2, -1))
    weights = scores.softmax(-1)
    if dropout_p > 0.0:
        weights = _table["dropout"](weights, p=dropout_p)
    return weights.bmm(v), weights


def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight, in_proj_bias,
    bias_k, bias_v, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor, out_proj_bias,
    training: bool = True, key_padding_mask=None, need_weights: bool = True, attn_mask=None,
    use_separate_proj_weight: bool = False, q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, static_k=None,
    static_v=None, average_attn_weights: bool = True, is_causal: bool = False,
):  # fmt: skip
    """The forward pass of :class:`wisp.nn.MultiheadAttention`: (results, weights or None).

    Queries are (length, batch, width) or (length, width). See the module for the other arguments.
    """
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = _add_batch(query, key, value)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    if query.shape[-1] != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {query.shape[-1]}")
    heads = _Heads(query, key, value, num_heads, use_separate_proj_weight)
    is_causal = heads.set_masks(attn_mask, key_padding_mask, need_weights, is_causal)
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight
    heads.project(query, key, value, weights, in_proj_bias)
    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v must both be given or both be None")
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value.")
        heads.append(bias_k.repeat(1, heads.batch, 1), bias_v.repeat(1, heads.batch, 1), dim=0)
    heads.split(static_k, static_v)
    if add_zero_attn:
        zeros = heads.k.new_zeros((heads.batch * num_heads, 1, heads.head_dim))
        heads.append(zeros, zeros, dim=1)
    out, weights = heads.attend(dropout_p if training else 0.0, need_weights, is_causal)
    out = _linear(out, out_proj_weight, out_proj_bias).unflatten(0, (heads.queries, heads.batch))
    if weights is not None and average_attn_weights:
        weights = weights.mean(1)
    if batched:
        return out, weights
    return out.squeeze(1), None if weights is None else weights.squeeze(0)


class _Heads:
    """Queries, keys and values on their way from the inputs to the result, with their masks."""

    def __init__(self, query, key, value, num_heads, apart):
        self.queries, self.batch, self.width = query.shape
        self.keys, self.num_heads, self.head_dim = key.shape[0], num_heads, self.width // num_heads
        if self.head_dim * num_heads != self.width:
            raise AssertionError(f"embed_dim {self.width} not divisible by num_heads {num_heads}")
        if apart and key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
            )
        if not apart and key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        self.dtype = query.dtype

    def set_masks(self, attn_mask, key_padding_mask, need_weights, is_causal):
        """Takes the masks; whether the attention mask can be left to the kernel, which knows what causal means."""
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        self.padding = _as_addend(key_padding_mask, "key_padding_mask", attn_mask, self.dtype)
        if is_causal and self.padding is None and not need_weights:
            self.mask = None
            return True
        mask = _as_addend(attn_mask, "attn_mask", None, self.dtype)
        self.mask = _checked_mask(mask, self.queries, self.keys, self.batch, self.num_heads)
        return False

    def project(self, query, key, value, weights, bias):
        """``weights`` are one matrix, or a tuple of three."""
        if isinstance(weights, tuple):
            if None in weights:
                raise AssertionError("use_separate_proj_weight is True but q_proj_weight, k_proj_weight or "
                                     "v_proj_weight is None")  # fmt: skip
            self.q, self.k, self.v = _project_apart(query, key, value, weights, bias)
            return
        if weights is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        self.q, self.k, self.v = _project_packed(query, key, value, weights, bias)

    def append(self, key, value, dim):
        """One key and value more, which every query sees."""
        self.k, self.v = _cat([self.k, key], dim), _cat([self.v, value], dim)
        self.mask, self.padding = (None if m is None else _table["pad"](m, (0, 1)) for m in (self.mask, self.padding))

    def split(self, static_k, static_v):
        """(length, batch, width) becomes (batch * heads, length, head width)."""
        self.q = self._apart(self.q)
        self.k = self._apart(self.k) if static_k is None else self._given(static_k, "static_k")
        self.v = self._apart(self.v) if static_v is None else self._given(static_v, "static_v")

    def _apart(self, x):
        return x.reshape(x.shape[0], self.batch * self.num_heads, self.head_dim).transpose(0, 1)

    def _given(self, x, name):
        count = self.batch * self.num_heads
        if x.shape[0] != count or x.shape[2] != self.head_dim:
            raise AssertionError(f"expecting {name}.size(0) of {count} and {name}.size(2) of {self.head_dim}, but got "
                                 f"{tuple(x.shape)}")  # fmt: skip
        return x

    def attend(self, dropout_p, need_weights, is_causal):
        """(results (queries * batch, width), weights (batch, heads, queries, keys) or None)."""
        keys = self.k.shape[1]
        mask = _joined_mask(self.mask, self.padding, self.batch, self.num_heads, keys)
        if need_weights:
            out, weights = _with_weights(self.q, self.k, self.v, mask, dropout_p)
            weights = weights.reshape(self.batch, self.num_heads, self.queries, keys)
            return out.transpose(0, 1).reshape(self.queries * self.batch, self.width), weights
        q, k, v = (x.reshape(self.batch, self.num_heads, x.shape[1], self.head_dim) for x in (self.q, self.k, self.v))
        if mask is not None:
            shared = mask.shape[0] == 1
            mask = mask.unsqueeze(0) if shared else mask.unflatten(0, (self.batch, self.num_heads))
        out = _attention(q, k, v, mask, dropout_p, is_causal)
        return out.permute(2, 0, 1, 3).reshape(self.queries * self.batch, self.width), None


def _add_batch(query, key, value):
    """A batch of one; what was the same tensor stays the same."""
    q = query.unsqueeze(1)
    k = q if key is query else key.unsqueeze(1)
    return q, k, k if value is key else value.unsqueeze(1)
