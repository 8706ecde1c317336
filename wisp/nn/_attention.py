"""multi_head_attention_forward: attention of several heads, between learnt projections."""

import math
import warnings

from wisp import _C
from wisp._C import Tensor

__all__ = ["multi_head_attention_forward"]

_functions, _table = _C._functions, _C._functional
_linear, _dropout, _pad, _attention = map(_table.get, ("linear", "dropout", "pad", "scaled_dot_product_attention"))
_cat = _functions["cat"]


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


def _as_allowed(mask):
    """A mask of bools that exclude, as one of bools that let take part."""
    return None if mask is None else mask.logical_not()


def _are_bools(*masks):
    return all(mask is None or mask.dtype == _C.bool for mask in masks)


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
    """Both masks as one of four dimensions, those of scores: as few numbers as hold them."""
    if attn_mask is not None:
        shared = attn_mask.shape[0] == 1
        attn_mask = attn_mask.unsqueeze(0) if shared else attn_mask.unflatten(0, (batch, num_heads))
    if key_padding_mask is None:
        return attn_mask
    if tuple(key_padding_mask.shape) != (batch, keys):
        raise AssertionError(f"expecting key_padding_mask shape of {(batch, keys)}, but got {key_padding_mask.shape}")
    padding = key_padding_mask.view(batch, 1, 1, keys)
    if attn_mask is None:
        return padding
    return attn_mask & padding if padding.dtype == _C.bool else attn_mask + padding


def _with_weights(q, k, v, mask, dropout_p):
    """(results, weights) where the weights are wanted too."""
    q = q * math.sqrt(1.0 / q.shape[-1])
    scores = q @ k.transpose(-2, -1) if mask is None else (q @ k.transpose(-2, -1)).add(mask)
    weights = scores.softmax(-1)
    if dropout_p > 0.0:
        weights = _dropout(weights, p=dropout_p)
    return weights @ v, weights


_SCORES_AT_ONCE = 1 << 20


def _with_mean_weights(q, k, v, mask):
    """(results, weights, the mean of all heads'), some queries after the others: for those who need no gradients."""
    batch, heads, queries, _ = q.shape
    keys = k.shape[2]
    count = max(1, _SCORES_AT_ONCE // (batch * heads * keys))
    results, mean = [], q.new_empty((batch, queries, keys))
    for first in range(0, queries, count):
        rows = mask if mask is None or mask.shape[2] == 1 else mask[:, :, first : first + count]
        result, weights = _with_weights(q[:, :, first : first + count], k, v, rows, 0.0)
        mean[:, first : first + count] = weights.mean(1)
        results.append(result)
    return _cat(results, 2), mean


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
    head_width = _checked_head_width(query, key, value, num_heads, use_separate_proj_weight)
    queries, batch, _ = query.shape
    masks = attn_mask, key_padding_mask
    mask, padding, is_causal = _masks(query, key.shape[0], num_heads, *masks, need_weights, is_causal)
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight
    q, k, v = _project(query, key, value, weights, in_proj_bias)
    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v must both be given or both be None")
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value.")
        k, v = _cat([k, bias_k.repeat(1, batch, 1)], 0), _cat([v, bias_v.repeat(1, batch, 1)], 0)
        mask, padding = _with_one_more(mask), _with_one_more(padding)
    apart = batch * num_heads, head_width
    q = _apart(q, *apart)
    k = _apart(k, *apart) if static_k is None else _given(static_k, "static_k", *apart)
    v = _apart(v, *apart) if static_v is None else _given(static_v, "static_v", *apart)
    if add_zero_attn:
        zeros = k.new_zeros((batch * num_heads, 1, head_width))
        k, v = _cat([k, zeros], 1), _cat([v, zeros], 1)
        mask, padding = _with_one_more(mask), _with_one_more(padding)
    mask = _joined_mask(mask, padding, batch, num_heads, k.shape[1])
    dropout_p = dropout_p if training else 0.0
    out, weights = _attend(q, k, v, mask, num_heads, dropout_p, need_weights, average_attn_weights, is_causal)
    out = _linear(out, out_proj_weight, out_proj_bias).unflatten(0, (queries, batch))
    if batched:
        return out, weights
    return out.squeeze(1), None if weights is None else weights.squeeze(0)


def _checked_head_width(query, key, value, num_heads, apart):
    """Fails if the arguments do not agree on sizes."""
    width = query.shape[-1]
    if width // num_heads * num_heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if apart and key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    if not apart and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    return width // num_heads


def _masks(query, keys, num_heads, attn_mask, key_padding_mask, need_weights, is_causal):
    """(mask, padding, whether the attention mask is left to the kernel, which knows what causal means)."""
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    if is_causal and key_padding_mask is None and not need_weights:
        return None, None, True
    if not need_weights and _are_bools(attn_mask, key_padding_mask):
        padding, mask = _as_allowed(key_padding_mask), _as_allowed(attn_mask)
    else:
        padding = _as_addend(key_padding_mask, "key_padding_mask", attn_mask, query.dtype)
        mask = _as_addend(attn_mask, "attn_mask", None, query.dtype)
    queries, batch, _ = query.shape
    return _checked_mask(mask, queries, keys, batch, num_heads), padding, False


def _project(query, key, value, weights, bias):
    """``weights`` are one matrix, or a tuple of three."""
    if isinstance(weights, tuple):
        if None in weights:
            raise AssertionError("use_separate_proj_weight is True but q_proj_weight, k_proj_weight or "
                                 "v_proj_weight is None")  # fmt: skip
        return _project_apart(query, key, value, weights, bias)
    if weights is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    return _project_packed(query, key, value, weights, bias)


def _with_one_more(mask):
    """A mask for one key more, which every query sees."""
    return None if mask is None else _pad(mask, (0, 1), value=float(mask.dtype == _C.bool))


def _apart(x, count, head_width):
    """(length, batch, width) as (batch * heads, length, head width)."""
    return x.reshape(x.shape[0], count, head_width).transpose(0, 1)


def _given(x, name, count, head_width):
    if x.shape[0] != count or x.shape[2] != head_width:
        raise AssertionError(f"expecting {name}.size(0) of {count} and {name}.size(2) of {head_width}, but got "
                             f"{tuple(x.shape)}")  # fmt: skip
    return x


def _attend(q, k, v, mask, heads, dropout_p, need_weights, average, is_causal):
    """(results (queries * batch, width), weights ([batch, heads or none, queries, keys]) or None)."""
    (count, queries, head_width), keys, weights = q.shape, k.shape[1], None
    batch = count // heads
    q, k, v = (x.reshape(batch, heads, x.shape[1], head_width) for x in (q, k, v))
    if not need_weights:
        out = _attention(q, k, v, mask, dropout_p, is_causal)
    elif average and dropout_p == 0.0 and _is_large(count * queries * keys) and not _is_recorded(q, k, v, mask):
        out, weights = _with_mean_weights(q, k, v, mask)
    else:
        out, weights = _with_weights(q, k, v, mask, dropout_p)
        weights = weights.mean(1) if average else weights
    return out.permute(2, 0, 1, 3).reshape(queries * batch, heads * head_width), weights


def _is_large(scores):
    return scores > 2 * _SCORES_AT_ONCE and not _C._jit.current_recorder()


def _is_recorded(*tensors):
    return _C.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)


def _add_batch(query, key, value):
    """A batch of one; what was the same tensor stays the same."""
    q = query.unsqueeze(1)
    k = q if key is query else key.unsqueeze(1)
    return q, k, k if value is key else value.unsqueeze(1)
