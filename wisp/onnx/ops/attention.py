"""Attention and rotary embeddings."""

import math

import wisp
from wisp.onnx._values import DTYPES, Element


def _attention(node, q, k, v, mask=None, past_key=None, past_value=None, valid_keys=None):
    """Scaled dot product attention, its updated keys and values, and what the node asks for of the scores."""
    flat = q.ndim == 3
    if flat:
        q, k, v = (_heads(x, n) for x, n in zip((q, k, v), (node["q_num_heads"], *[node["kv_num_heads"]] * 2)))
    past = 0 if past_key is None else past_key.shape[2]
    if past:
        k, v = wisp.cat([past_key, k], 2), wisp.cat([past_value, v], 2)
    bias = _bias(node, q, k, mask, past, valid_keys)
    groups = q.shape[1] // k.shape[1]
    keys, values = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    probabilities, shown = _probabilities(node, q, keys, bias)
    y = wisp.matmul(probabilities.to(values.dtype), values).to(q.dtype)
    if flat:
        y = y.transpose(1, 2).flatten(2)
    return y, k, v, shown


def _heads(x, count):
    """A tensor of shape (batch, time, heads * size) as (batch, heads, time, size)."""
    if not count or x.shape[2] % count:
        raise ValueError(f"{x.shape[2]} features cannot be divided among {count} heads")
    return x.reshape(x.shape[0], x.shape[1], count, -1).transpose(1, 2)


def _bias(node, q, k, mask, past, valid_keys):
    """What is added to the scores: the mask, and minus infinity for keys that must not be looked at. None if nothing."""
    bias = None
    if mask is not None:
        bias = wisp.where(mask, 0.0, -math.inf).to(q.dtype) if mask.dtype == wisp.bool else mask
        missing = k.shape[2] - mask.shape[-1]
        if missing > 0:
            bias = wisp.cat([bias, bias.new_full((*bias.shape[:-1], missing), -math.inf)], -1)
    allowed = _allowed(node, q.shape[2], k.shape[2], past, valid_keys)
    if allowed is None:
        return bias
    barrier = wisp.where(allowed, 0.0, -math.inf).to(q.dtype)
    return barrier if bias is None else bias + barrier


def _allowed(node, queries, keys, past, valid_keys):
    """Which keys each query may look at, by their places: a tensor that fits the scores, or None for all."""
    j = wisp.arange(keys)
    offset = wisp.tensor(past)
    if valid_keys is not None:
        offset = (valid_keys - queries).reshape(-1, 1, 1, 1)
    place = offset + wisp.arange(queries).unsqueeze(1)
    left, right = node["left_window_size"], node["right_window_size"]
    rules = []
    if node["is_causal"]:
        rules.append(j <= place)
    if left is not None and left >= 0:
        rules.append(j >= place - left)
    if right is not None and right >= 0:
        rules.append(j <= place + right)
    if valid_keys is not None:
        rules.append(j < valid_keys.reshape(-1, 1, 1, 1))
    allowed = None
    for rule in rules:
        allowed = rule if allowed is None else allowed & rule
    return allowed


def _probabilities(node, q, k, bias):
    """The weights of the values, and the scores at the stage that `qk_matmul_output_mode` names.

    A query that may look at no key at all has weights of zero.
    """
    scale = math.sqrt(node["scale"] if node["scale"] is not None else 1 / math.sqrt(q.shape[-1]))
    scores = wisp.matmul(q * scale, (k * scale).transpose(2, 3))
    capped = node["softcap"] * wisp.tanh(scores / node["softcap"]) if node["softcap"] else scores
    biased = capped if bias is None else capped + bias
    wide = biased if not node["softmax_precision"] else biased.to(DTYPES[Element(node["softmax_precision"])])
    weights = wisp.softmax(wide, -1)
    if bias is not None:
        weights = wisp.where(wisp.isneginf(bias.amax(-1, keepdim=True)), 0.0, weights)
    weights = weights.to(q.dtype)
    return weights, (scores, capped, biased, weights)[node["qk_matmul_output_mode"]]


def _rotary_embedding(node, x, cos, sin, positions=None):
    """Pairs of features turned by angles that depend on the position."""
    flat = x.ndim == 3
    heads = _heads(x, node["num_heads"]) if flat else x
    size = node["rotary_embedding_dim"] or heads.shape[-1]
    turned, rest = heads[..., :size], heads[..., size:]
    if positions is not None:
        cos, sin = cos[positions], sin[positions]
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    first, second = (turned[..., ::2], turned[..., 1::2]) if node["interleaved"] else turned.chunk(2, -1)
    pairs = first * cos - second * sin, first * sin + second * cos
    turned = wisp.stack(pairs, -1).flatten(-2) if node["interleaved"] else wisp.cat(pairs, -1)
    y = wisp.cat([turned, rest], -1)
    return y.transpose(1, 2).flatten(2) if flat else y


OPERATORS = {
    "Attention": [(23, _attention)],
    "RotaryEmbedding": [(23, _rotary_embedding)],
}
