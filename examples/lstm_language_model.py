"""A language model: an LSTM that predicts the next word of Python's documentation strings."""

import argparse
import collections
import inspect
import math
import re
from importlib import import_module

import wisp
from wisp import nn

MODULES = ("argparse", "collections", "datetime", "difflib", "fractions", "heapq", "logging", "random", "shutil",
           "statistics", "string", "subprocess", "tarfile", "textwrap", "threading", "zipfile")  # fmt: skip


def documentation_words():
    """All words of the documentation of some modules."""
    words = []
    for name in MODULES:
        module = import_module(name)
        for _, item in inspect.getmembers(module, lambda item: inspect.isclass(item) or inspect.isfunction(item)):
            words += re.findall(r"[a-z]+|[.,:]", (inspect.getdoc(item) or "").lower())
    return words


class Model(nn.Module):
    def __init__(self, words, width, layers, dropout=0.2):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.embed = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, layers, dropout=dropout if layers > 1 else 0.0)
        self.out = nn.Linear(width, words)
        self.out.weight = self.embed.weight
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)

    def forward(self, codes, state=None):
        seen, state = self.lstm(self.drop(self.embed(codes)), state)
        return self.out(self.drop(seen)), state


def columns(codes, batch):
    """The text cut into ``batch`` columns that are read side by side."""
    length = len(codes) // batch
    return codes[: length * batch].view(batch, length).t().contiguous()


def run(model, data, length, optimizer=None):
    """Reads all of the data; returns the mean loss. The state goes on from piece to piece, gradients do not."""
    model.train(optimizer is not None)
    state, total, count = None, 0.0, 0
    for start in range(0, len(data) - 1, length):
        inputs, targets = data[start : start + length], data[start + 1 : start + 1 + length]
        inputs = inputs[: len(targets)]
        scores, state = model(inputs, state)
        state = tuple(part.detach() for part in state)
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            optimizer.step()
        total, count = total + loss.item() * len(inputs), count + len(inputs)
    return total / count


def main(args=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=30, help="words between updates")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--words", type=int, default=20_000, help="how many words to read")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(args)

    wisp.manual_seed(options.seed)
    words = documentation_words()[: options.words]
    common = [word for word, count in collections.Counter(words).most_common() if count > 1]
    code_of = {word: i + 1 for i, word in enumerate(common)}  # 0 is every other word
    codes = wisp.tensor([code_of.get(word, 0) for word in words])
    split = len(codes) * 9 // 10
    train, valid = columns(codes[:split], options.batch), columns(codes[split:], options.batch)

    model = Model(len(common) + 1, options.width, options.layers)
    optimizer = wisp.optim.Adam(model.parameters(), lr=2e-3)
    print(f"{len(words):,} words, {len(common):,} of them more than once")
    for epoch in range(1, options.epochs + 1):
        loss = run(model, train, options.length, optimizer)
        with wisp.no_grad():
            held_out = run(model, valid, options.length)
        print(
            f"epoch {epoch}   loss {loss:.2f}   of words not seen {held_out:.2f} (perplexity {math.exp(held_out):.0f})"
        )
    return loss


if __name__ == "__main__":
    main()
