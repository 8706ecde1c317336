"""Ordinary functions and steps, run eagerly, under ``wisp.lazy`` and compiled: alternately, in one process.

Machines that are shared change their speed for seconds, by half and more: so each time is compared with those taken next to it, and a
figure is the median of these ratios. Prints a table and writes ways.json. Compiled, no row is to be slower than eager; functions of less
than a microsecond that cannot be recorded apart, which show what the wrapper costs.
"""

import argparse
import json
import math
import os
import statistics
import time

import result_tables as tables
import way_cases
import way_changing
import way_small
import workloads
from way_cases import KB, MB, of

import wisp
from wisp import nn
from wisp.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLE = 3e-4  # seconds: shorter calls are timed several at a time


def differentiated(f, *shapes):
    """The same, with the step around it that asks for gradients."""
    inputs = [wisp.randn(*shape).requires_grad_() for shape in shapes]

    def around(f):
        return lambda *inputs: wisp.autograd.grad(f(*inputs).sum(), inputs)

    return f, inputs, around


# --- functions


def chain(x):
    return (x * 2 + 1).tanh().exp()


def residual(x, y):
    return F.relu(x + y) * 0.5 + x


def in_place(x):
    x.mul_(0.5)
    x.add_(1.0)
    return x.clamp_(-2.0, 2.0)


def in_place_of(x, gradient):
    x.mul_(0.9).add_(gradient, alpha=0.1)
    return x


def branch(x):
    """Control flow by values."""
    y = x * 0.5
    if y.sum() > 0:
        y = y + 1
    else:
        y = y - 1
    return y * 2


def recurrence(x):
    """A loop of twenty rounds."""
    for _ in range(20):
        x = x * 0.5 + 0.1
    return x


def perceptron(x, inner, outer):
    return F.relu(x @ inner) @ outer


def halve(x):
    """A loop by values: six rounds."""
    y = x * 1.0
    while y.abs().max() > 0.1:
        y = y * 0.5
    return y


def softmax_by_hand(x):
    e = (x - x.amax(1, keepdim=True)).exp()
    return e / e.sum(1, keepdim=True)


def rms_norm(x, weight):
    return x * (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt() * weight


def standardised(x):
    return (x - x.mean(0)) / (x.std(0) + 1e-5)


def attention(q, k, v):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return scores.softmax(-1) @ v


def lstm_cell(gates, c):
    i, f, g, o = gates.chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh()


def rotated(x):
    """Halves of the last dimension exchanged, as in rotary embeddings."""
    a, b = x.chunk(2, -1)
    return wisp.cat([-b, a], -1) * 0.5 + x


def windows(x):
    return x[:, 1:] - x[:, :-1] + x[:, 1:] * 0.5


def picked(x):
    return x[x > 0].sum() + x[::2].mean()


def gathered(table):
    rows = wisp.arange(0, table.shape[0] - 1, 3)
    return table[rows] * 2 + table[rows + 1]


def loss(x, y):
    return ((x - y).abs() + (x - y) ** 2).mean()


def with_gradient(f, *shapes):
    inputs = [wisp.randn(*shape).requires_grad_() for shape in shapes]

    def step():
        for x in inputs:
            x.grad = None
        total = f(*inputs).sum()
        total.backward()
        return total

    return step


# --- modules and steps


def module_forward(make, *shape):
    module, x = make().eval(), wisp.randn(*shape)

    def forward():
        with wisp.no_grad():
            return module(x)

    return forward


def module_step(make, *shape, optimiser=wisp.optim.SGD):
    module, x = make(), wisp.randn(*shape)
    optimiser = optimiser(module.parameters(), lr=1e-6)
    return workloads.training(wisp, module, optimiser, lambda: module(x).square().mean())


def lstm_layer_step():
    module, x = nn.LSTM(64, 64, batch_first=True), wisp.randn(16, 20, 64)
    optimiser = wisp.optim.SGD(module.parameters(), lr=1e-6)
    return workloads.training(wisp, module, optimiser, lambda: module(x)[0].square().mean())


def own_optimiser():
    """Momentum written with operators, as in a lesson."""
    weights, moments = ([scale * wisp.ones(n, n) for n in (64, 256, 512)] for scale in (1.0, 0.0))
    gradients = [wisp.randn(n, n) for n in (64, 256, 512)]

    def step():
        for weight, moment, gradient in zip(weights, moments, gradients, strict=True):
            moment.mul_(0.9).add_(gradient)
            weight.add_(moment, alpha=-1e-6)
        return weights[0]

    return step


def encoder():
    return nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)


def mlp(width):
    return nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 10))


def block():
    return nn.Sequential(
        nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1)
    )


GPT = {"batch": 4, "length": 64, "vocabulary": 64, "width": 128, "heads": 4, "layers": 2}
CASES = {
    "one addition, 10": lambda: of(lambda x: x + 1, (10,)),
    "sum of two, 10": lambda: of(lambda x, y: x + y, (10,), (10,)),
    "product, 4 x 4": lambda: of(lambda x, y: x @ y, (4, 4), (4, 4)),
    "relu, 10": lambda: of(F.relu, (10,)),
    "chain, 100": lambda: of(chain, (100,)),
    "chain and its gradient, 100": lambda: differentiated(chain, (100,)),
    "residual, 100": lambda: of(residual, (100,), (100,)),
    "RMS norm, 4 x 32": lambda: of(rms_norm, (4, 32), (32,)),
    "attention, 4 x 8": lambda: of(attention, (4, 8), (4, 8), (4, 8)),
    "perceptron, 16 wide": lambda: of(perceptron, (1, 16), (16, 16), (16, 4)),
    "LSTM cell, 1 x 16": lambda: of(lstm_cell, (1, 64), (1, 16)),
    "LSTM cell and its gradient, 1 x 16": lambda: differentiated(lstm_cell, (1, 64), (1, 16)),
    "recurrence of 20 steps, 10": lambda: of(recurrence, (10,)),
    "branch by values, 10": lambda: of(branch, (10,)),
    "chain, 10k": lambda: of(chain, (10 * KB,)),
    "chain, 64k": lambda: of(chain, (64 * KB,)),
    "chain, 1M": lambda: of(chain, (MB,)),
    "chain, 8M": lambda: of(chain, (8 * MB,)),
    "residual, 64k": lambda: of(residual, (64 * KB,), (64 * KB,)),
    "residual, 1M": lambda: of(residual, (MB,), (MB,)),
    "in place, 64k": lambda: of(in_place, (64 * KB,)),
    "in place, 1M": lambda: of(in_place, (MB,)),
    "in place of two, 1M": lambda: of(in_place_of, (MB,), (MB,)),
    "branch by values, 64k": lambda: of(branch, (64 * KB,)),
    "branch by values, 1M": lambda: of(branch, (MB,)),
    "loop by values, 64k": lambda: of(halve, (64 * KB,)),
    "softmax by hand, 256 x 512": lambda: of(softmax_by_hand, (256, 512)),
    "RMS norm, 256 x 512": lambda: of(rms_norm, (256, 512), (512,)),
    "standardised, 4096 x 64": lambda: of(standardised, (4096, 64)),
    "loss, 256k": lambda: of(loss, (256 * KB,), (256 * KB,)),
    "chain with gradient, 64k": lambda: with_gradient(chain, (64 * KB,)),
    "chain with gradient, 1M": lambda: with_gradient(chain, (MB,)),
    "attention, 8 x 128 x 64": lambda: of(attention, (8, 128, 64), (8, 128, 64), (8, 128, 64)),
    "LSTM cell, chunk(4, 1), 64k": lambda: of(lstm_cell, (64, 4 * KB), (64, KB)),
    "LSTM cell, chunk(4, 1), 4M": lambda: of(lstm_cell, (4 * KB, 4 * KB), (4 * KB, KB)),
    "halves rotated, 64 x 1024": lambda: of(rotated, (64, KB)),
    "windows, 128 x 1024": lambda: of(windows, (128, KB)),
    "picked by mask, 64k": lambda: of(picked, (64 * KB,)),
    "rows by index, 4096 x 64": lambda: of(gathered, (4 * KB, 64)),
    "LayerNorm, 512 x 256": lambda: module_forward(lambda: nn.LayerNorm(256), 512, 256),
    "LayerNorm step, 512 x 256": lambda: module_step(lambda: nn.LayerNorm(256), 512, 256),
    "MLP 64 step, batch 8": lambda: module_step(lambda: mlp(64), 8, 64),
    "MLP 512 step, batch 128, Adam": lambda: module_step(lambda: mlp(512), 128, 512, optimiser=wisp.optim.Adam),
    "convolutions forward, batch 4": lambda: module_forward(block, 4, 16, 32, 32),
    "convolutions step, batch 4": lambda: module_step(block, 4, 16, 32, 32),
    "LSTM layer step": lstm_layer_step,
    "encoder layer forward": lambda: module_forward(encoder, 8, 64, 128),
    "encoder layer step": lambda: module_step(encoder, 8, 64, 128),
    "GPT 2 x 128 step": lambda: workloads.gpt_step(wisp, **GPT),
    "momentum by hand": own_optimiser,
    **way_cases.CASES,
    **way_changing.CASES,
    **way_small.CASES,
}
WAYS = {"eager": lambda f: f, "lazy": lambda f: wisp.lazy()(f), "compile": wisp.compile}


def sample(f, inputs, count):
    """Seconds of a call with everything computed."""
    run, start = wisp._C._lazy_run, time.perf_counter()
    for _ in range(count):
        kept = f(*inputs)
        run()
    del kept
    return (time.perf_counter() - start) / count


def measure(make, seconds):
    """Seconds of a call in every way, taken in turns."""
    # All on the same tensors: where these lie in memory makes differences of its own.
    made = make()
    f, inputs, around = (*made, lambda f: f)[:3] if isinstance(made, tuple) else (made, (), lambda f: f)
    calls = {way: around(wrap(f)) for way, wrap in WAYS.items()}
    for f in calls.values():
        sample(f, inputs, 40)  # what is learnt in the first calls is known then
    count = max(1, round(SAMPLE / sample(calls["eager"], inputs, 20)))
    turns, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        turns.append({way: sample(f, inputs, count) for way, f in calls.items()})
    return typical(turns)


def typical(turns):
    """The least seconds of an eager call, and those of the other ways by the median of their ratios to it."""
    best = min(turn["eager"] for turn in turns)
    return {way: best * statistics.median(turn[way] / turn["eager"] for turn in turns) for way in WAYS}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2, help="for each case")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--json", default=os.path.join(HERE, "ways.json"))
    options = parser.parse_args()
    chosen = {case: make for case, make in CASES.items() if options.only in case}
    results = {case: measure(make, options.seconds) for case, make in chosen.items()}
    print(tables.steps(results))
    if options.only:
        return
    with open(options.json, "w") as f:
        json.dump(results, f, indent=1)


if __name__ == "__main__":
    main()
