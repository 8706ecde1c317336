"""ViT, "An Image is Worth 16x16 Words" (arXiv:2010.11929)."""

import math
from functools import partial

from wisp import cat, empty, nn, zeros
from wisp.models._parts import with_weights

__all__ = ["VisionTransformer", "vit_b_16", "vit_b_32", "vit_h_14", "vit_l_16", "vit_l_32"]

_norm = partial(nn.LayerNorm, eps=1e-6)


class MLPBlock(nn.Sequential):
    """Two layers with GELU between them."""

    _version = 2

    def __init__(self, in_dim, mlp_dim, dropout):
        super().__init__(
            nn.Linear(in_dim, mlp_dim), nn.GELU(), nn.Dropout(dropout), nn.Linear(mlp_dim, in_dim), nn.Dropout(dropout)
        )
        for layer in (self[0], self[3]):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.normal_(layer.bias, std=1e-6)

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        """The first files called the layers linear_1 and linear_2."""
        for old, new in (("linear_1", 0), ("linear_2", 3)):
            for kind in ("weight", "bias"):
                if f"{prefix}{old}.{kind}" in state_dict:
                    state_dict[f"{prefix}{new}.{kind}"] = state_dict.pop(f"{prefix}{old}.{kind}")
        super()._load_from_state_dict(state_dict, prefix, *rest)


class EncoderBlock(nn.Module):
    """Attention among all patches, then a network for each of them; with a way around both."""

    def __init__(self, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer):
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(hidden_dim, num_heads, dropout=attention_dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input):
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + input
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """Blocks on patches whose places have been added to them."""

    def __init__(self, seq_length, num_layers, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer):
        super().__init__()
        self.pos_embedding = nn.Parameter(empty(1, seq_length, hidden_dim))
        nn.init.normal_(self.pos_embedding, std=0.02)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.Sequential()
        for i in range(num_layers):
            block = EncoderBlock(num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer)
            self.layers.add_module(f"encoder_layer_{i}", block)
        self.ln = norm_layer(hidden_dim)

    def forward(self, input):
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """A transformer that reads an image as a sequence of patches.

    Args:
        image_size: the height and width of images.
        patch_size: those of patches.
        num_layers, num_heads, hidden_dim, mlp_dim: how many blocks there are, and how large.
        dropout, attention_dropout: the chances of features, or of attention, to be left out in training.
        num_classes: how many numbers come out.
        representation_size: the size of a layer before the last, or None for none.
        norm_layer: the normalisation, if not LayerNorm with an eps of 1e-6.
    """

    def __init__(self, image_size, patch_size, num_layers, num_heads, hidden_dim, mlp_dim, dropout=0.0,
                 attention_dropout=0.0, num_classes=1000, representation_size=None,
                 norm_layer=_norm):  # fmt: skip
        super().__init__()
        if image_size % patch_size:
            raise ValueError("Input shape indivisible by patch size!")
        self.image_size, self.patch_size, self.hidden_dim, self.mlp_dim = image_size, patch_size, hidden_dim, mlp_dim
        self.num_classes, self.representation_size = num_classes, representation_size
        self.conv_proj = nn.Conv2d(3, hidden_dim, kernel_size=patch_size, stride=patch_size)
        self.class_token = nn.Parameter(zeros(1, 1, hidden_dim))
        self.seq_length = (image_size // patch_size) ** 2 + 1
        self.encoder = Encoder(self.seq_length, num_layers, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout,
                               norm_layer)  # fmt: skip
        self.heads = nn.Sequential()
        if representation_size is not None:
            self.heads.add_module("pre_logits", nn.Linear(hidden_dim, representation_size))
            self.heads.add_module("act", nn.Tanh())
        self.heads.add_module("head", nn.Linear(representation_size or hidden_dim, num_classes))
        self._init()

    def _init(self):
        fan_in = self.conv_proj.in_channels * self.patch_size**2
        nn.init.trunc_normal_(self.conv_proj.weight, std=math.sqrt(1 / fan_in))
        nn.init.zeros_(self.conv_proj.bias)
        if self.representation_size is not None:
            nn.init.trunc_normal_(self.heads.pre_logits.weight, std=math.sqrt(1 / self.hidden_dim))
            nn.init.zeros_(self.heads.pre_logits.bias)
        nn.init.zeros_(self.heads.head.weight)
        nn.init.zeros_(self.heads.head.bias)

    def forward(self, x):
        size = self.image_size
        if tuple(x.shape[2:]) != (size, size):
            raise ValueError(f"Wrong image size! Expected {size} x {size} but got {' x '.join(map(str, x.shape[2:]))}!")
        x = self.conv_proj(x).flatten(2).permute(0, 2, 1)
        x = cat([self.class_token.expand(x.size(0), -1, -1), x], 1)
        return self.heads(self.encoder(x)[:, 0])


def _vit(patch_size, num_layers, num_heads, hidden_dim, mlp_dim, weights, **kwargs):
    image_size = kwargs.pop("image_size", 224)
    return with_weights(
        VisionTransformer(image_size, patch_size, num_layers, num_heads, hidden_dim, mlp_dim, **kwargs), weights
    )


def vit_b_16(*, weights=None, progress=True, **kwargs):
    """ViT, base, on patches of 16 x 16; 86,567,656 parameters. ``kwargs`` are those of VisionTransformer."""
    return _vit(16, 12, 12, 768, 3072, weights, **kwargs)


def vit_b_32(*, weights=None, progress=True, **kwargs):
    """ViT, base, on patches of 32 x 32; 88,224,232 parameters. ``kwargs`` are those of VisionTransformer."""
    return _vit(32, 12, 12, 768, 3072, weights, **kwargs)


def vit_l_16(*, weights=None, progress=True, **kwargs):
    """ViT, large, on patches of 16 x 16; 304,326,632 parameters. ``kwargs`` are those of VisionTransformer."""
    return _vit(16, 24, 16, 1024, 4096, weights, **kwargs)


def vit_l_32(*, weights=None, progress=True, **kwargs):
    """ViT, large, on patches of 32 x 32; 306,535,400 parameters. ``kwargs`` are those of VisionTransformer."""
    return _vit(32, 24, 16, 1024, 4096, weights, **kwargs)


def vit_h_14(*, weights=None, progress=True, **kwargs):
    """ViT, huge, on patches of 14 x 14; 632,045,800 parameters. ``kwargs`` are those of VisionTransformer."""
    return _vit(14, 32, 16, 1280, 5120, weights, **kwargs)
