"""A GPT: a transformer that continues sequences, with the layout and names of GPT-2's published weights."""

import math
from collections import namedtuple

from wisp import arange, cat, nn, no_grad
from wisp.models._parts import with_weights

__all__ = ["GPT", "GPTConfig", "gpt"]

F = nn.functional


class GPTConfig(
    namedtuple(
        "GPTConfig",
        "block_size vocab_size n_layer n_head n_embd dropout bias",
        defaults=(1024, 50304, 12, 12, 768, 0.0, True),
    )
):
    """The sizes of a GPT.

    Args:
        block_size: how many tokens it sees at most.
        vocab_size: how many different tokens there are.
        n_layer, n_head, n_embd: how many blocks, heads of attention, and features.
        dropout: the chance of a feature to be left out in training.
        bias: whether linear layers and normalisations have one.
    """

    __slots__ = ()


class CausalSelfAttention(nn.Module):
    """Every token attends to itself and to those before it."""

    def __init__(self, config):
        super().__init__()
        if config.n_embd % config.n_head:
            raise ValueError(f"n_embd ({config.n_embd}) must be a multiple of n_head ({config.n_head})")
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.resid_dropout = nn.Dropout(config.dropout)
        self.n_head, self.n_embd, self.dropout = config.n_head, config.n_embd, config.dropout

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.c_attn(x).reshape(batch, length, 3, self.n_head, width // self.n_head).permute(2, 0, 3, 1, 4)
        dropout = self.dropout if self.training else 0.0
        query, key, value = parts.unbind(0)
        y = F.scaled_dot_product_attention(query, key, value, dropout_p=dropout, is_causal=True)
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).reshape(batch, length, width)))


class MLP(nn.Module):
    """Two layers with GELU between them."""

    def __init__(self, config):
        super().__init__()
        self.c_fc = nn.Linear(config.n_embd, 4 * config.n_embd, bias=config.bias)
        self.gelu = nn.GELU()
        self.c_proj = nn.Linear(4 * config.n_embd, config.n_embd, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(self.gelu(self.c_fc(x))))


class Block(nn.Module):
    """Attention, then a network for every token; with a way around both."""

    def __init__(self, config):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd, bias=config.bias)
        self.attn = CausalSelfAttention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd, bias=config.bias)
        self.mlp = MLP(config)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """A stack of blocks between an embedding of tokens and a layer that predicts the next; they share their weight.

    >>> model = wisp.models.GPT(wisp.models.GPTConfig(block_size=8, vocab_size=5, n_layer=1, n_head=2, n_embd=8))
    >>> logits, loss = model(wisp.tensor([[0, 1, 2]]), wisp.tensor([[1, 2, 3]]))
    >>> logits.shape
    wisp.Size([1, 3, 5])
    >>> model.generate(wisp.tensor([[0]]), 4).shape
    wisp.Size([1, 5])
    """

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(config.vocab_size, config.n_embd),
                "wpe": nn.Embedding(config.block_size, config.n_embd),
                "drop": nn.Dropout(config.dropout),
                "h": nn.ModuleList([Block(config) for _ in range(config.n_layer)]),
                "ln_f": nn.LayerNorm(config.n_embd, bias=config.bias),
            }
        )
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.transformer["wte"].weight = self.lm_head.weight
        self.apply(self._init)
        for name, weight in self.named_parameters():
            if name.endswith("c_proj.weight"):  # as many of them add up along the way around
                nn.init.normal_(weight, 0.0, 0.02 / math.sqrt(2 * config.n_layer))

    @staticmethod
    def _init(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, 0.0, 0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def get_num_params(self, non_embedding=True):
        """The number of parameters; without those for places, which say nothing of the size of the network."""
        count = sum(p.numel() for p in self.parameters())
        return count - self.transformer["wpe"].weight.numel() if non_embedding else count

    def forward(self, idx, targets=None):
        """Scores of the next token.

        Args:
            idx: tokens, (batch, length).
            targets: the tokens that follow, -1 where they do not matter; or None.

        Returns scores and the loss. Without targets there is no loss, and scores are those of the last place only.
        """
        length = idx.shape[1]
        if length > self.config.block_size:
            raise ValueError(f"Cannot forward sequence of length {length}, block size is only {self.config.block_size}")
        layers = self.transformer
        x = layers["drop"](layers["wte"](idx) + layers["wpe"](arange(length)))
        for block in layers["h"]:
            x = block(x)
        x = layers["ln_f"](x)
        if targets is None:
            return self.lm_head(x[:, -1:]), None
        logits = self.lm_head(x)
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)

    def crop_block_size(self, block_size):
        """Makes a network that sees fewer tokens, of one that was trained with more."""
        if block_size > self.config.block_size:
            raise ValueError(f"block_size {block_size} is more than the network's {self.config.block_size}")
        self.config = self.config._replace(block_size=block_size)
        places = self.transformer["wpe"]
        places.weight = nn.Parameter(places.weight.detach()[:block_size].clone())
        places.num_embeddings = block_size

    @no_grad()
    def generate(self, idx, max_new_tokens, temperature=1.0, top_k=None):
        """Continues sequences of tokens.

        Args:
            idx: the beginning, (batch, length).
            max_new_tokens: how many to add.
            temperature: below one for what is likely, above one for what is rare; zero for the most likely always.
            top_k: if given, only so many most likely tokens are drawn from.
        """
        for _ in range(max_new_tokens):
            logits, _ = self(idx[:, -self.config.block_size :])
            idx = cat([idx, _drawn(logits[:, -1], temperature, top_k)], 1)
        return idx


def _drawn(logits, temperature, top_k):
    if temperature == 0:
        return logits.argmax(-1, keepdim=True)
    logits = logits / temperature
    if top_k is not None:
        least = logits.topk(min(top_k, logits.shape[-1])).values[:, -1:]
        logits = logits.masked_fill(logits < least, -math.inf)
    return F.softmax(logits, dim=-1).multinomial(1)


def gpt(*, weights=None, progress=True, **kwargs):
    """A GPT of the sizes of GPT-2 unless told otherwise; ``kwargs`` are those of GPTConfig."""
    return with_weights(GPT(GPTConfig(**kwargs)), weights)
