"""One plan serves all sequence lengths: ordinary models, with nothing set, under lazy() and compiled."""

import random
import types

import pytest

import wisp
from tests.lazy_runs import counts_of
from wisp import nn
from wisp.nn import functional as F

BATCH, LENGTHS = 16, range(2, 102, 2)  # calls become large enough to be put off at some of them


def recurrent(kind, **options):
    layer = kind(16, 32, batch_first=True, **options)
    return [layer], lambda n: layer(wisp.ones(BATCH, n, 16))[0]


def packed():
    layer, utils = nn.LSTM(16, 32, batch_first=True), nn.utils.rnn

    def f(n):
        lengths = [n] * (BATCH - 2) + [n // 2 + 1, 1]
        sequences = utils.pack_padded_sequence(wisp.ones(BATCH, n, 16), lengths, batch_first=True)
        padded, _ = utils.pad_packed_sequence(layer(sequences)[0], batch_first=True)
        return (padded * 2 + 1).tanh()

    return [layer], f


def tagger():
    words, layer, head = nn.Embedding(50, 32), nn.LSTM(32, 32, batch_first=True, bidirectional=True), nn.Linear(64, 50)

    def f(n):
        text = wisp.zeros(BATCH, n, dtype=wisp.int64)
        scores = head(F.gelu(layer(words(text))[0]) * 0.5 + 1)
        return F.cross_entropy(scores.reshape(-1, 50), text.reshape(-1))

    return [words, layer, head], f


def mask_of_lengths(n):
    lengths = wisp.arange(1, BATCH + 1).clamp(max=n)
    return wisp.arange(n)[None, :] < lengths[:, None], lengths


def attention():
    layer = nn.MultiheadAttention(32, 4, batch_first=True)

    def f(n):
        x = wisp.ones(BATCH, n, 32)
        return layer(x, x, x, key_padding_mask=~mask_of_lengths(n)[0])[0]

    return [layer], f


def attention_by_hand():
    layer = nn.Linear(32, 96)

    def f(n):
        mask, lengths = mask_of_lengths(n)
        q, k, v = layer(wisp.ones(BATCH, n, 32)).chunk(3, -1)
        scores = (q @ k.transpose(1, 2) / 5.0).masked_fill(~mask[:, None, :], float("-inf")).softmax(-1)
        return ((scores @ v) * mask[..., None]).sum(1) / lengths[:, None]

    return [layer], f


def convolutions():
    net = nn.Sequential(nn.Conv1d(16, 32, 3, padding=1), nn.BatchNorm1d(32), nn.ReLU(), nn.Conv1d(32, 32, 3, padding=1),
                        nn.GELU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 5))  # fmt: skip
    return [net], lambda n: net(wisp.ones(2 * BATCH, 16, n))


def gated_convolutions():
    gates, out = nn.Conv1d(16, 64, 3, padding=1), nn.Conv1d(32, 16, 1)

    def f(n):
        x = wisp.ones(2 * BATCH, 16, n)
        a, b = gates(x).chunk(2, 1)
        return out(a.tanh() * b.sigmoid()) + x

    return [gates, out], f


def images():
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 3), nn.GELU(),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten())  # fmt: skip
    return [net], lambda n: net(wisp.ones(2, 3, n // 2 + 8, n // 2 + 8))


def encoder(dropout):
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=dropout, batch_first=True)
    return [layer], lambda n: layer(wisp.ones(BATCH, n, 32))


def language_model():
    words, places, head = nn.Embedding(32, 32), nn.Embedding(128, 32), nn.Linear(32, 32)
    block = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)

    def f(n):
        text = wisp.zeros(BATCH, n + 1, dtype=wisp.int64)
        x = words(text[:, :-1]) + places.weight[:n]
        x = block(x, src_mask=nn.Transformer.generate_square_subsequent_mask(n), is_causal=True)
        return F.cross_entropy(head(x).reshape(-1, 32), text[:, 1:].reshape(-1))

    return [words, places, head, block], f


MODELS = {
    "LSTM": lambda: recurrent(nn.LSTM),
    "GRU": lambda: recurrent(nn.GRU),
    "bidirectional": lambda: recurrent(nn.LSTM, bidirectional=True),
    "two layers": lambda: recurrent(nn.GRU, num_layers=2, dropout=0.1),
    "packed": packed,
    "tagger": tagger,
    "attention": attention,
    "attention by hand": attention_by_hand,
    "convolutions": convolutions,
    "gated convolutions": gated_convolutions,
    "images": images,
    "encoder": lambda: encoder(0.0),
    "dropout": lambda: encoder(0.1),
    "language model": language_model,
}
CODES = []
WAYS = {"lazy": lambda f: wisp.lazy()(f), "compile": wisp.compile}


def own(f):
    """The function, with code of its own: what is learnt belongs to places of a program, and each test is a program."""
    CODES.append(f.__code__.replace())  # kept: another at the same address would be the same place
    return types.FunctionType(CODES[-1], f.__globals__, f.__name__, f.__defaults__, f.__closure__)


def forward(make):
    f = own(make()[1])

    def run(n):
        with wisp.no_grad():
            return (f(n) * 2).tanh() + 1

    return own(run)


def training_step(make):
    modules, f = make()
    f = own(f)
    optimiser = wisp.optim.Adam([p for module in modules for p in module.parameters()])

    def run(n):
        optimiser.zero_grad()
        loss = (f(n) * 2).tanh().square().mean()
        loss.backward()
        optimiser.step()
        return loss.item()

    return own(run)


def run_all(step, lengths):
    for n in lengths:
        step(n)
        wisp.lazy.run()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [forward, training_step])
@pytest.mark.parametrize("name", MODELS)
def test_one_length_makes_the_plans_of_all(name, kind, way):
    step = WAYS[way](kind(MODELS[name]))
    step(LENGTHS[-1])
    _, counts = counts_of(lambda: run_all(step, LENGTHS))
    assert counts["plans"] == 0
    assert counts["kernels"] > 0 or way == "compile"  # which may have found that nothing gains


@pytest.mark.parametrize("name", ["LSTM", "packed", "attention", "encoder", "convolutions"])
def test_what_is_learnt_at_some_lengths_takes_no_plan_apart(name):
    step = wisp.lazy()(training_step(MODELS[name]))
    step(LENGTHS[-1])
    lengths = list(LENGTHS) * 4
    random.Random(0).shuffle(lengths)
    _, counts = counts_of(lambda: run_all(step, lengths))
    assert counts["plans"] == 0 and counts["fused"] > 0
