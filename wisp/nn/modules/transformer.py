"""Transformers: layers of attention and feed-forward networks."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

from wisp import _C
from wisp._C import Tensor
from wisp.nn import functional as F
from wisp.nn.modules.activation import GELU, ReLU
from wisp.nn.modules.attention import MultiheadAttention
from wisp.nn.modules.container import ModuleList
from wisp.nn.modules.dropout import Dropout
from wisp.nn.modules.linear import Linear
from wisp.nn.modules.module import Module
from wisp.nn.modules.normalization import LayerNorm

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing takes time
    from typing import Any

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

_full, _equal = _C._functions["full"], _C._functions["equal"]

Activation = str | Callable[[Tensor], Tensor]


def _causal_mask(size, device=None, dtype=None):
    """Minus infinity above the diagonal, zero elsewhere."""
    return _full((size, size), float("-inf"), dtype=dtype, device=device).triu(1)


def _get_activation_fn(activation):
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


def _get_clones(module, count):
    return ModuleList([deepcopy(module) for _ in range(count)])


def _length(x, batch_first):
    return x.shape[0] if x.dim() == 2 else x.shape[1 if batch_first else 0]


def _is_causal(mask, hint, size):
    """Whether a mask lets nothing see what comes later; a hint, if there is one, is believed."""
    if hint is not None or mask is None:
        return hint is True
    causal = _causal_mask(size, dtype=mask.dtype) if mask.is_floating_point() else None
    return causal is not None and mask.shape == causal.shape and _equal(mask, causal)


def _additive(mask, like):
    """A mask as numbers to add to scores: minus infinity where a bool mask is true."""
    if mask is None or mask.dtype != _C.bool:
        return mask
    return like.new_zeros(mask.shape).masked_fill_(mask, float("-inf"))


class _Layer(Module):
    """What encoder and decoder layers share: the feed-forward network, and how sublayers are put together."""

    def _add_feed_forward(self, d_model, dim_feedforward, dropout, bias, how):
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **how)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **how)

    def _add_norms(self, count, d_model, eps, dropout, bias, how):
        """Norms and dropouts, one of each per sublayer."""
        for i in range(count):
            setattr(self, f"norm{i + 1}", LayerNorm(d_model, eps=eps, bias=bias, **how))
        for i in range(count):
            setattr(self, f"dropout{i + 1}", Dropout(dropout))

    def _add(self, x, number, sublayer):
        """x plus a sublayer of it, normalised before or after."""
        norm, dropout = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        if self.norm_first:
            return x + dropout(sublayer(norm(x)))
        return norm(x + dropout(sublayer(x)))

    def _feed_forward(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention, then a feed-forward network.

    Args:
        d_model: the number of features.
        nhead: the number of attention heads.
        dim_feedforward: the number of features inside the feed-forward network.
        dropout: the probability of dropping, in several places.
        activation: of the feed-forward network: "relu", "gelu" or a function.
        layer_norm_eps: of the norms.
        batch_first: whether sequences are (batch, time, features) instead of (time, batch, features).
        norm_first: whether to normalise before attention and feed-forward network instead of after.
        bias: whether linear layers and norms have biases.
    """

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        how = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **how)
        self._add_feed_forward(d_model, dim_feedforward, dropout, bias, how)
        self.norm_first = norm_first
        self._add_norms(2, d_model, layer_norm_eps, dropout, bias, how)
        self.activation = _get_activation_fn(activation)

    def forward(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool = False) -> Tensor:  # fmt: skip
        """The layer's output.

        Args:
            src: the sequence.
            src_mask: what positions must not attend to (True, or minus infinity to add), (time, time).
            src_key_padding_mask: which positions are padding, (batch, time).
            is_causal: a hint that src_mask is causal.
        """
        padding, mask = _additive(src_key_padding_mask, src), _additive(src_mask, src)

        def attend(x):
            return self.self_attn(x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False,
                                  is_causal=is_causal)[0]  # fmt: skip

        return self._add(self._add(src, 1, attend), 2, self._feed_forward)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to what an encoder gave, then a feed-forward network; arguments as of the encoder layer."""

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        how = {"device": device, "dtype": dtype}
        attention = {"dropout": dropout, "bias": bias, "batch_first": batch_first, **how}
        self.self_attn = MultiheadAttention(d_model, nhead, **attention)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **attention)
        self._add_feed_forward(d_model, dim_feedforward, dropout, bias, how)
        self.norm_first = norm_first
        self._add_norms(3, d_model, layer_norm_eps, dropout, bias, how)
        self.activation = _get_activation_fn(activation)

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Tensor:  # fmt: skip
        """The layer's output for ``tgt``, given what an encoder made of the source; masks as of the encoder layer."""

        def attend_self(x):
            return self.self_attn(x, x, x, attn_mask=tgt_mask, key_padding_mask=tgt_key_padding_mask,
                                  is_causal=tgt_is_causal, need_weights=False)[0]  # fmt: skip

        def attend_memory(x):
            return self.multihead_attn(x, memory, memory, attn_mask=memory_mask, key_padding_mask=memory_key_padding_mask,
                                       is_causal=memory_is_causal, need_weights=False)[0]  # fmt: skip

        x = self._add(self._add(tgt, 1, attend_self), 2, attend_memory)
        return self._add(x, 3, self._feed_forward)


def _can_leave_out(layer):
    """Whether a layer is of the plain kind whose padding may be left out."""
    if not isinstance(layer, TransformerEncoderLayer) or layer.norm_first:
        return False
    attention = layer.self_attn
    plain = layer.activation in (F.relu, F.gelu) or isinstance(layer.activation, (ReLU, GELU))
    return (plain and attention.batch_first and attention._qkv_same_embed_dim and attention.in_proj_bias is not None
            and layer.norm1.eps == layer.norm2.eps and attention.num_heads % 2 == 0)  # fmt: skip


class TransformerEncoder(Module):
    """A stack of encoder layers.

    Args:
        encoder_layer: what to make copies of.
        num_layers: how many.
        norm: a module for the end, if any.
        enable_nested_tensor: whether padding at the ends of sequences is left out in evaluation, where nothing is to be
            differentiated; it comes out as zeros then.
        mask_check: whether to look if padding is at the ends only, or trust that it is.
    """

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None,
                 enable_nested_tensor: bool = True, mask_check: bool = True) -> None:  # fmt: skip
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        self.use_nested_tensor = enable_nested_tensor and _can_leave_out(encoder_layer)

    def forward(self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool | None = None) -> Tensor:  # fmt: skip
        """The output of the last layer; arguments as of the layers."""
        batch_first = self.layers[0].self_attn.batch_first
        causal = _is_causal(mask, is_causal, _length(src, batch_first))
        padding, mask = _additive(src_key_padding_mask, src), _additive(mask, src)
        left_out = self._left_out(src, src_key_padding_mask) if mask is None else None
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        if left_out is not None:
            src = src.masked_fill(left_out.unsqueeze(-1), 0)
        return src if self.norm is None else self.norm(src)

    def _left_out(self, src, padding):
        """The places for which nothing is wanted (see enable_nested_tensor): the padding, if it is at the ends only. That is
        computed, not looked at, so that a trace holds for any padding."""
        first = self.layers[0]
        if padding is None or src.dim() != 3 or first.training or not self.use_nested_tensor:
            return None
        if _C.is_grad_enabled() and (src.requires_grad or any(p.requires_grad for p in first.parameters())):
            return None
        padded = padding.bool()
        return padded & ~(padded[:, :-1] & ~padded[:, 1:]).any() if self.mask_check else padded


class TransformerDecoder(Module):
    """A stack of decoder layers.

    Args:
        decoder_layer: what to make copies of.
        num_layers: how many.
        norm: a module for the end, if any.
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor:  # fmt: skip
        """The output of the last layer; arguments as of the layers."""
        causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, self.layers[0].self_attn.batch_first))
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_is_causal=causal,
                        tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask,
                        memory_is_causal=memory_is_causal)  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder, as in "Attention is all you need".

    Args:
        d_model: the number of features.
        nhead: the number of attention heads.
        num_encoder_layers, num_decoder_layers: the numbers of layers.
        dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias: as of the layers.
        custom_encoder, custom_decoder: modules to use instead.

    >>> model = wisp.nn.Transformer(8, 2, 1, 1, 16)
    >>> model(wisp.zeros(5, 3, 8), wisp.zeros(4, 3, 8)).shape
    wisp.Size([4, 3, 8])
    """

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
                 dim_feedforward: int = 2048, dropout: float = 0.1, activation: Activation = F.relu,
                 custom_encoder: Any | None = None, custom_decoder: Any | None = None, layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        how = {"device": device, "dtype": dtype}
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def norm():
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **how)

        if custom_encoder is None:
            custom_encoder = TransformerEncoder(TransformerEncoderLayer(*layer, **how), num_encoder_layers, norm())
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(TransformerDecoderLayer(*layer, **how), num_decoder_layers, norm())
        self.encoder, self.decoder = custom_encoder, custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self):
        from wisp.nn.init import xavier_uniform_

        for param in self.parameters():
            if param.dim() > 1:
                xavier_uniform_(param)

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
                memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                src_is_causal: bool | None = None, tgt_is_causal: bool | None = None,
                memory_is_causal: bool = False) -> Tensor:  # fmt: skip
        """The decoder's output for ``tgt``, given ``src``.

        Args:
            src, tgt: the sequences for encoder and decoder.
            src_mask, tgt_mask, memory_mask: what positions must not attend to.
            src_key_padding_mask, tgt_key_padding_mask, memory_key_padding_mask: which positions are padding.
            src_is_causal, tgt_is_causal, memory_is_causal: hints that the masks are causal.
        """
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[batch_dim] != tgt.shape[batch_dim]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                            tgt_key_padding_mask=tgt_key_padding_mask,
                            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
                            memory_is_causal=memory_is_causal)  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """A mask that lets no position attend to later ones: minus infinity above the diagonal, zero elsewhere.

        >>> wisp.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return _causal_mask(sz, device, dtype)
