"""Loops of small operators as people write them, run by Python and by the interpreter: alternately, in one process.

Prints a table and writes loops.json. Three ways: without gradients, recorded for them, and with the backward pass.
"""

import argparse
import json
import math
import os
import time

import result_tables as tables

import wisp
from wisp import Tensor, nn
from wisp.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 100


def gated(gates, c):
    i, f, g, o = gates.chunk(4, 1)
    c = wisp.sigmoid(f) * c + wisp.sigmoid(i) * wisp.tanh(g)
    return wisp.sigmoid(o) * wisp.tanh(c), c


# --- LSTMs: (xs, h, c, w, u, b), gates in four parts


def same_input(xs, h, c, w, u, b):
    x = xs[0]
    for _ in range(100):
        gates = wisp.mm(x, w) + wisp.mm(h, u) + b
        i, f, g, o = gates.chunk(4, 1)
        c = wisp.sigmoid(f) * c + wisp.sigmoid(i) * wisp.tanh(g)
        h = wisp.sigmoid(o) * wisp.tanh(c)
    return h, c


def step_of_input(xs, h, c, w, u, b):
    for t in range(xs.size(0)):
        gates = wisp.mm(xs[t], w) + wisp.mm(h, u) + b
        i, f, g, o = gates.chunk(4, 1)
        c = wisp.sigmoid(f) * c + wisp.sigmoid(i) * wisp.tanh(g)
        h = wisp.sigmoid(o) * wisp.tanh(c)
    return h, c


def appended(xs, h, c, w, u, b):
    out = []
    for t in range(xs.size(0)):
        h, c = gated(xs[t] @ w + h @ u + b, c)
        out.append(h)
    return wisp.stack(out), h, c


def batch_first(xs, h, c, w, u, b):
    xs = xs.transpose(0, 1)
    out = []
    for t in range(xs.size(1)):
        h, c = gated(xs[:, t] @ w + h @ u + b, c)
        out.append(h.unsqueeze(1))
    return wisp.cat(out, 1), h, c


def unbound(xs, h, c, w, u, b):
    out = []
    for x in xs.unbind(0):
        h, c = gated(F.linear(x, w.t(), b) + F.linear(h, u.t()), c)
        out += [h]
    return wisp.cat(out), h, c


def by_slices(xs, h, c, w, u, b):
    n = h.size(1)
    for t in range(xs.size(0)):
        g = xs[t] @ w + h @ u + b
        c = wisp.sigmoid(g[:, n : 2 * n]) * c + wisp.sigmoid(g[:, :n]) * wisp.tanh(g[:, 2 * n : 3 * n])
        h = wisp.sigmoid(g[:, 3 * n :]) * wisp.tanh(c)
    return h, c


def by_split(xs, h, c, w, u, b):
    for t in range(xs.size(0)):
        i, f, g, o = (xs[t] @ w + h @ u + b).split(h.size(1), 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
    return h, c


def by_view(xs, h, c, w, u, b):
    for t in range(xs.size(0)):
        gates = (xs[t] @ w + h @ u + b).view(h.size(0), 4, h.size(1))
        i, f, g, o = gates[:, 0], gates[:, 1], gates[:, 2], gates[:, 3]
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
    return h, c


def joint_sigmoid(xs, h, c, w, u, b):
    n = h.size(1)
    for t in range(xs.size(0)):
        gates = wisp.addmm(b, xs[t], w) + h @ u
        ifo, g = wisp.sigmoid(gates[:, : 3 * n]), wisp.tanh(gates[:, 3 * n :])
        i, f, o = ifo.chunk(3, 1)
        c = f * c + i * g
        h = o * wisp.tanh(c)
    return h, c


def projected_first(xs, h, c, w, u, b):
    projected = F.linear(xs, w.t(), b)
    outputs = wisp.zeros(xs.size(0), h.size(0), h.size(1))
    for t in range(xs.size(0)):
        h, c = gated(projected[t] + h @ u, c)
        outputs[t] = h
    return outputs, h, c


def while_loop(xs, h, c, w, u, b):
    t = 0
    while t < xs.size(0):
        h, c = gated(xs[t] @ w + h @ u + b, c)
        t += 1
    return h, c


def until_done(xs, h, c, w, u, b):
    out = []
    t, n = 0, xs.size(0)
    while True:
        if t >= n:
            break
        h, c = gated(xs[t] @ w + h @ u + b, c)
        out.append(h)
        t = t + 1
    return wisp.stack(out, 0), h, c


# --- plain cells: (xs, h, w, u, b)


def rnn_in_place(xs, h, w, u, b):
    out = wisp.empty(xs.size(0), h.size(0), h.size(1))
    for t in range(xs.size(0)):
        h = wisp.tanh(xs[t] @ w + h @ u + b)
        out[t] = h
    return out


def rnn_batch_first(xs, h, w, u, b):
    xs = xs.transpose(0, 1)
    out = wisp.zeros(xs.size(0), xs.size(1), h.size(1))
    for t in range(xs.size(1)):
        h = wisp.relu(wisp.addmm(wisp.addmm(b, xs[:, t, :], w), h, u))
        out[:, t, :] = h
    return out


def rnn_backwards(xs, h, w, u, b):
    out = []
    for t in range(xs.size(0) - 1, -1, -1):
        h = wisp.tanh(F.linear(xs[t], w) + F.linear(h, u) + b)
        out.append(h)
    out.reverse()
    return wisp.stack(out)


def rnn_joined(xs, h, w, u, b):
    both = wisp.cat([w, u])
    for x in xs:
        h = wisp.tanh(wisp.cat([x, h], 1) @ both + b)
    return h


def gru(xs, h, w, u, b):
    hs = []
    for t in range(xs.size(0)):
        i_r, i_z, i_n = (xs[t] @ w + b).chunk(3, 1)
        h_r, h_z, h_n = (h @ u).chunk(3, 1)
        r, z = wisp.sigmoid(i_r + h_r), wisp.sigmoid(i_z + h_z)
        n = wisp.tanh(i_n + r * h_n)
        h = (1 - z) * n + z * h
        hs.append(h)
    return wisp.stack(hs), h


def leaky(xs, h, w, u, b):
    for t in range(xs.size(0)):
        h = h + 0.1 * (wisp.relu(xs[t] * 0.5 - h) - h)
    return h


def masked(xs, h, w, u, b):
    keep = (xs[:, :, :1] > 0).float()
    for t in range(xs.size(0)):
        new = wisp.tanh(xs[t] @ w + h @ u + b)
        h = keep[t] * new + (1 - keep[t]) * h
    return h


# --- modules: (xs, h, c)


class LSTMCells(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.cell = nn.LSTMCell(width, width)

    def forward(self, xs: Tensor, h: Tensor, c: Tensor):
        out: list[Tensor] = []
        for t in range(xs.size(0)):
            h, c = self.cell(xs[t], (h, c))
            out.append(h)
        return wisp.stack(out), h, c


class GRUCells(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.cell = nn.GRUCell(width, width)

    def forward(self, xs: Tensor, h: Tensor, c: Tensor):
        out: list[Tensor] = []
        for x in xs.unbind(0):
            h = self.cell(x, h)
            out.append(h)
        return wisp.stack(out), h


class RNNCells(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.cell = nn.RNNCell(width, width)

    def forward(self, xs: Tensor, h: Tensor, c: Tensor):
        for t in range(xs.size(0)):
            h = self.cell(xs[t], h)
        return h


class TwoLayers(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.LSTMCell(width, width), nn.LSTMCell(width, width)
        self.out = nn.Linear(width, width)

    def forward(self, xs: Tensor, h: Tensor, c: Tensor):
        h2, c2 = h, c
        out: list[Tensor] = []
        for t in range(xs.size(0)):
            h, c = self.first(xs[t], (h, c))
            h2, c2 = self.second(h, (h2, c2))
            out.append(self.out(h2))
        return wisp.stack(out)


class Linears(nn.Module):
    """A GRU of linear layers."""

    def __init__(self, width):
        super().__init__()
        self.x, self.h = nn.Linear(width, 3 * width), nn.Linear(width, 3 * width)

    def forward(self, xs: Tensor, h: Tensor, c: Tensor):
        for t in range(xs.size(0)):
            i_r, i_z, i_n = self.x(xs[t]).chunk(3, -1)
            h_r, h_z, h_n = self.h(h).chunk(3, -1)
            z = wisp.sigmoid(i_z + h_z)
            n = wisp.tanh(i_n + wisp.sigmoid(i_r + h_r) * h_n)
            h = n + z * (h - n)
        return h


class Cell(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.w_ih, self.w_hh = (nn.Parameter(wisp.randn(4 * width, width) * 0.1) for _ in range(2))
        self.b_ih, self.b_hh = (nn.Parameter(wisp.randn(4 * width)) for _ in range(2))

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        hx, cx = state
        gates = wisp.mm(x, self.w_ih.t()) + self.b_ih + wisp.mm(hx, self.w_hh.t()) + self.b_hh
        i, f, g, o = gates.chunk(4, 1)
        cy = wisp.sigmoid(f) * cx + wisp.sigmoid(i) * wisp.tanh(g)
        hy = wisp.sigmoid(o) * wisp.tanh(cy)
        return hy, (hy, cy)


class Layer(nn.Module):
    """A layer that calls a cell of its own."""

    def __init__(self, width):
        super().__init__()
        self.cell = Cell(width)

    def forward(self, xs: Tensor, h: Tensor, c: Tensor):
        inputs = xs.unbind(0)
        state = (h, c)
        outputs: list[Tensor] = []
        for i in range(len(inputs)):
            out, state = self.cell(inputs[i], state)
            outputs += [out]
        return wisp.stack(outputs), state


LSTMS = [same_input, step_of_input, appended, batch_first, unbound, by_slices, by_split, by_view, joint_sigmoid,
         projected_first, while_loop, until_done]  # fmt: skip
PLAIN = {rnn_in_place: 1, rnn_batch_first: 1, rnn_backwards: 1, rnn_joined: 1, gru: 3, leaky: 1, masked: 1}
MODULES = [LSTMCells, GRUCells, RNNCells, TwoLayers, Linears, Layer]
SIZES = [(1, 16), (8, 32), (16, 64), (32, 64)]
WAYS = ["plain", "recorded", "with backward"]


def cases():
    """Of (name, make): make(batch, width, grad) gives the function, its arguments and what gradients are wanted of."""

    def weighted(function, gates, with_cell):
        def make(batch, width, grad):
            states = [wisp.randn(batch, width) for _ in range(1 + with_cell)]
            weights = [wisp.randn(width, gates * width) * 0.1 for _ in range(2)] + [wisp.randn(gates * width)]
            wanted = [weight.requires_grad_(grad) for weight in weights]
            return function, [wisp.randn(STEPS, batch, width), *states, *wanted], wanted

        return make

    def module(cls):
        def make(batch, width, grad):
            made = cls(width).requires_grad_(grad)
            args = [wisp.randn(STEPS, batch, width), wisp.randn(batch, width), wisp.randn(batch, width)]
            return made, args, list(made.parameters())

        return make

    yield from ((f.__name__, weighted(f, 4, True)) for f in LSTMS)
    yield from ((f.__name__, weighted(f, gates, False)) for f, gates in PLAIN.items())
    yield from ((cls.__name__, module(cls)) for cls in MODULES)


def flat(values):
    return [x for value in values for x in flat(value)] if isinstance(values, (tuple, list)) else [values]


def call_of(way, function, args, wanted):
    def forward():
        return function(*args)

    def step():
        return wisp.autograd.grad([x.sum() for x in flat(function(*args))], wanted, allow_unused=True)

    return step if way == "with backward" else forward


def measure(way, make, batch, width, rounds):
    """Best seconds of a call, by Python and by the interpreter."""
    function, args, wanted = make(batch, width, way != "plain")
    compiled = wisp.jit.script(function)
    calls = {"python": call_of(way, function, args, wanted), "script": call_of(way, compiled, args, wanted)}
    best = dict.fromkeys(calls, math.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--only", nargs="*", default=[], help="loops of these names")
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=WAYS)
    parser.add_argument("--sizes", nargs="*", default=[f"{batch}x{width}" for batch, width in SIZES])
    parser.add_argument("--json", default=os.path.join(HERE, "loops.json"))
    options = parser.parse_args()
    sizes = [tuple(map(int, size.split("x"))) for size in options.sizes]
    everything = {}
    for way in options.ways:
        results = everything[way] = {}
        for name, make in cases():
            without_weights = name == "leaky" and way != "plain"
            if without_weights or (options.only and name not in options.only):
                continue
            results[name] = {f"{batch}x{width}": measure(way, make, batch, width, options.rounds)
                             for batch, width in sizes}  # fmt: skip
        print(f"{way}: interpreter, and how many times faster than Python\n\n{tables.loops(results)}\n", flush=True)
    if not options.only and options.ways == WAYS:
        with open(options.json, "w") as f:
            json.dump(everything, f, indent=1)


if __name__ == "__main__":
    main()
