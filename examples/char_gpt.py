"""A small GPT that learns to write Python, character by character, from the standard library's own source."""

import argparse
import pathlib

import wisp
from wisp import nn
from wisp.nn import functional as F


def source_text(limit):
    """Characters of the standard library's modules, in the order of their names."""
    text = ""
    for path in sorted(pathlib.Path(argparse.__file__).parent.glob("*.py")):
        text += path.read_text(encoding="utf-8", errors="ignore")
        if len(text) > limit:
            break
    return text[:limit]


class Block(nn.Module):
    """Attention to the characters before, then a network for each character; both added to what comes in."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.to_all, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def attend(self, x):
        batch, length, width = x.shape
        query, key, value = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.to_all(x).chunk(3, dim=-1)
        )
        dropout = self.dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(query, key, value, dropout_p=dropout, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, characters, context, width, heads, layers, dropout=0.1):
        super().__init__()
        self.context = context
        self.embed, self.place = nn.Embedding(characters, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads, dropout) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, characters, bias=False)
        self.head.weight = self.embed.weight
        nn.init.normal_(self.embed.weight, std=0.02)

    def forward(self, codes):
        x = self.embed(codes) + self.place(wisp.arange(codes.shape[1]))
        return self.head(self.norm(self.blocks(x)))

    @wisp.no_grad()
    def write(self, codes, count, temperature=0.8):
        self.eval()
        for _ in range(count):
            scores = self(codes[:, -self.context :])[:, -1] / temperature
            codes = wisp.cat([codes, wisp.multinomial(scores.softmax(-1), 1)], dim=1)
        return codes


def main(args=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--text", type=int, default=1_000_000, help="how many characters to read")
    parser.add_argument("--write", type=int, default=400, help="how many characters to write in the end")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(args)

    wisp.manual_seed(options.seed)
    text = source_text(options.text)
    characters = sorted(set(text))
    code_of = {character: i for i, character in enumerate(characters)}
    data = wisp.tensor([code_of[character] for character in text])

    model = GPT(len(characters), options.context, options.width, options.heads, options.layers)
    print(
        f"{len(text):,} characters of {len(characters)} kinds; {sum(p.numel() for p in model.parameters()):,} weights"
    )
    optimizer = wisp.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95))
    schedule = wisp.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-3, total_steps=options.steps)
    window = wisp.arange(options.context)
    for step in range(options.steps):
        starts = wisp.randint(len(data) - options.context - 1, (options.batch, 1))
        inputs, targets = data[starts + window], data[starts + window + 1]
        loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step == options.steps - 1:
            print(f"step {step:5d}   loss {loss.item():.3f}")

    begin = wisp.tensor([[code_of["\n"]]])
    print("".join(characters[i] for i in model.write(begin, options.write)[0].tolist()))
    return loss.item()


if __name__ == "__main__":
    main()
