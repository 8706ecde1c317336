"""Attention of several heads."""

from wisp import _C
from wisp.nn import functional as F
from wisp.nn.modules.linear import NonDynamicallyQuantizableLinear
from wisp.nn.modules.module import Module
from wisp.nn.parameter import Parameter

__all__ = ["MultiheadAttention"]

_empty = _C._functions["empty"]


class MultiheadAttention(Module):
    """Attention of queries to keys, by several heads at once, between learnt projections.

    Args:
        embed_dim: the width of queries and results, divided among the heads.
        num_heads: how many heads.
        dropout: the probability with which a weight becomes zero in training.
        bias: whether the projections have biases.
        add_bias_kv: one more key and value, learnt.
        add_zero_attn: one more key and value, of zeros.
        kdim, vdim: the widths of keys and values, if not ``embed_dim``.
        batch_first: inputs and results are (batch, length, width), not (length, batch, width).

    >>> attention = wisp.nn.MultiheadAttention(8, 2)
    >>> x = wisp.ones(3, 1, 8)
    >>> [t.shape for t in attention(x, x, x)]
    [wisp.Size([3, 1, 8]), wisp.Size([1, 3, 3])]
    """

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None,
                 vdim=None, batch_first=False, device=None, dtype=None):  # fmt: skip
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                             f"num_heads={num_heads} instead")  # fmt: skip
        super().__init__()
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        how = {"device": device, "dtype": dtype}
        self._add_projections(how)
        self.register_parameter("in_proj_bias", Parameter(_empty(3 * embed_dim, **how)) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **how)
        self.bias_k = Parameter(_empty((1, 1, embed_dim), **how)) if add_bias_kv else None
        self.bias_v = Parameter(_empty((1, 1, embed_dim), **how)) if add_bias_kv else None
        self._reset_parameters()

    def _add_projections(self, how):
        """One matrix for queries, keys and values if they have the same width, else three."""
        if self._qkv_same_embed_dim:
            self.in_proj_weight = Parameter(_empty((3 * self.embed_dim, self.embed_dim), **how))
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
            return
        self.q_proj_weight = Parameter(_empty((self.embed_dim, self.embed_dim), **how))
        self.k_proj_weight = Parameter(_empty((self.embed_dim, self.kdim), **how))
        self.v_proj_weight = Parameter(_empty((self.embed_dim, self.vdim), **how))
        self.register_parameter("in_proj_weight", None)

    def _reset_parameters(self):
        from wisp.nn.init import constant_, xavier_normal_, xavier_uniform_

        if self._qkv_same_embed_dim:
            xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            constant_(self.in_proj_bias, 0.0)
            constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                xavier_normal_(bias)

    def __setstate__(self, state):
        state.setdefault("_qkv_same_embed_dim", True)  # models saved before keys could have their own width
        super().__setstate__(state)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                average_attn_weights=True, is_causal=False):  # fmt: skip
        """(results, weights).

        Args:
            key_padding_mask: (batch, keys): True, or a number to add to the scores, where a key is padding.
            need_weights: return the weights; without them a faster kernel is used.
            attn_mask: (queries, keys) or (batch * heads, queries, keys), in the same way.
            average_attn_weights: return the mean of the heads' weights.
            is_causal: a hint that attn_mask lets queries see no later keys.
        """
        batched = query.dim() == 3
        if self.batch_first and batched:
            query, key, value = _batch_second(query, key, value)
        out, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias,
            training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim, q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal,
        )  # fmt: skip
        return (out.transpose(1, 0), weights) if self.batch_first and batched else (out, weights)

    def merge_masks(self, attn_mask, key_padding_mask, query):
        """(mask, type): both masks as one of shape (batch, heads, queries, keys); type 0 is attn_mask alone, 1
        key_padding_mask alone, 2 both."""
        mask_type, merged = None, None
        if key_padding_mask is not None:
            mask_type, merged = 1, key_padding_mask
        if attn_mask is not None:
            batch, length, _ = query.shape
            mask_type = 2
            expanded = attn_mask.view(batch, -1, length, length) if attn_mask.dim() == 3 else attn_mask.view(
                1, 1, length, length).expand(batch, self.num_heads, -1, -1)  # fmt: skip
            merged = expanded
            if key_padding_mask is not None:
                padding = key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
                merged = expanded + padding
        return merged, mask_type


def _batch_second(query, key, value):
    """The first two dimensions exchanged; what was the same tensor stays the same."""
    q = query.transpose(1, 0)
    k = q if key is query else key.transpose(1, 0)
    return q, k, k if value is key else value.transpose(1, 0)
