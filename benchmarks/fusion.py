"""Chains of pointwise calls: eager and compiled, in wisp and (where it is installed) in PyTorch, alternately in one process.

Prints tables and writes fusion.json. ``--compiled`` also measures torch.compile, which has to build its kernels first.
What is new costs: the first call of a chain, the first training step of a GPT. Scripts: an LSTM cell, 100 steps.
"""

import argparse
import itertools
import json
import math
import os
import statistics
import time

import workloads

import wisp

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = {"10M": 10_000_000, "10k": 10_000}
SCALE = math.sqrt(2 / math.pi)


def cell(gates, c):
    """The pointwise part of an LSTM cell."""
    i, f, o, u = gates.chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * u.tanh()
    return o.sigmoid() * c.tanh(), c


def cases(T, n):
    """name -> (function, arguments)"""
    T.manual_seed(0)
    width = 1000 if n > 100_000 else 100
    x, rows, bias = T.randn(n), T.randn(n // width, width), T.randn(width)
    gates, c = T.randn(n // width // 4, 4 * width), T.randn(n // width // 4, width)
    return {
        "(x*2+1).tanh().exp()": (lambda x: (x * 2 + 1).tanh().exp(), (x,)),
        "LSTM cell": (cell, (gates, c)),
        "gelu(x + bias)": (lambda x, b: T.nn.functional.gelu(x + b), (rows, bias)),
        "gelu by hand": (lambda v: 0.5 * v * (1 + (SCALE * (v + 0.044715 * v * v * v)).tanh()), (x,)),
        "chain and sum": (lambda x: (x * 2 + 1).tanh().exp().sum(), (x,)),
    }


def ways(n, compiled):
    """way -> case -> a call without arguments"""
    made = {}
    for T, name in ((wisp, "wisp"), (_torch(), "torch")):
        if T is None:
            continue
        found = cases(T, n)
        made[name] = {case: _bound(f, args) for case, (f, args) in found.items()}
        if T is wisp or compiled:
            made[f"{name} compiled"] = {case: _bound(T.compile(f), args) for case, (f, args) in found.items()}
    return made


def _torch():
    try:
        import torch
    except ImportError:
        return None
    return torch


def _bound(f, args):
    return lambda: f(*args)


def measure(made, case, rounds, loops):
    """Best seconds per call of every way, taken in turns."""
    best = dict.fromkeys(made, math.inf)
    first = {}
    for way, calls in made.items():
        start = time.perf_counter()
        calls[case]()
        first[way] = time.perf_counter() - start
        calls[case]()
    for _ in range(rounds):
        for way, calls in made.items():
            start = time.perf_counter()
            for _ in range(loops):
                calls[case]()
            best[way] = min(best[way], (time.perf_counter() - start) / loops)
    return best, first


def run(sizes, compiled, rounds):
    results = {}
    for size in sizes:
        made = ways(SIZES[size], compiled)
        for case in cases(wisp, 1000):
            best, first = measure(made, case, rounds, 1 if SIZES[size] > 100_000 else 100)
            results[f"{case}, {size}"] = {"best": best, "first": first}
    return results


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def new_chains(x):
    """Calls of chains that differ in structure: 4 of 6 functions in every order."""

    def chain(names):
        with wisp.lazy():
            y = x * 2 + 1
            for name in names:
                y = getattr(y, name)()
        return y.numpy()

    orders = itertools.permutations(("tanh", "exp", "sigmoid", "neg", "abs", "sin"), 4)
    return [lambda names=names: chain(names) for names in orders]


def first_calls():
    """Median seconds of the first and second call of a chain on 1,000 elements, and of a GPT's first and best steps, so
    small that recording and planning are most of it."""
    made = new_chains(wisp.randn(1000))
    made[0]()
    chains = [(seconds(call), seconds(call)) for call in made[1:]]
    sizes = {"batch": 1, "length": 16, "vocabulary": 64, "width": 32, "heads": 2, "layers": 6}
    eager, recorded = workloads.gpt_step(wisp, **sizes), wisp.lazy()(workloads.gpt_step(wisp, **sizes))
    steps = {"eager": [seconds(eager) for _ in range(8)], "lazy": [seconds(recorded) for _ in range(8)]}
    return {
        "chain": {"first": statistics.median(c[0] for c in chains), "second": statistics.median(c[1] for c in chains)},
        "GPT step": {f"{way} {name}": f(times) for way, times in steps.items() for name, f in FIGURES.items()},
    }


FIGURES = {"first": lambda times: times[0], "best": min}


def lstm_steps(x, h, c, w_ih, w_hh, b):
    for _ in range(100):
        gates = wisp.mm(x, w_ih) + wisp.mm(h, w_hh) + b
        i, f, g, o = gates.chunk(4, 1)
        c = wisp.sigmoid(f) * c + wisp.sigmoid(i) * wisp.tanh(g)
        h = wisp.sigmoid(o) * wisp.tanh(c)
    return h, c


def scripts(rounds):
    """Best seconds of 100 steps of an LSTM cell, run by Python and by the interpreter, in turns."""
    compiled, results = wisp.jit.script(lstm_steps), {}
    for batch, hidden, grad in itertools.product((1, 8), (16, 32), (False, True)):
        states = [wisp.randn(batch, hidden) for _ in range(3)]
        weights = [wisp.randn(hidden, 4 * hidden) * 0.1 for _ in range(2)] + [wisp.randn(4 * hidden)]
        args = states + [weight.requires_grad_(grad) for weight in weights]
        calls = {"eager": _bound(lstm_steps, args), "script": _bound(compiled, args)}
        best, _ = measure({way: {"": call} for way, call in calls.items()}, "", rounds, 1)
        name = f"LSTM cell, 100 steps, batch {batch}, {hidden} wide" + (", with gradients" if grad else "")
        results[name] = best
    return results


def table_of_scripts(results):
    lines = ["| script | Python | interpreter | ratio |", "|---|---|---|---|"]
    for name, best in results.items():
        times = f"{1e6 * best['eager']:.0f} µs | {1e6 * best['script']:.0f} µs"
        lines.append(f"| {name} | {times} | {best['eager'] / best['script']:.1f} |")
    return "\n".join(lines)


def table(results):
    """Milliseconds of every way, and how many times faster wisp compiled is."""
    names = list(next(iter(results.values()))["best"])
    others = [name for name in names if name != "wisp compiled"]
    lines = ["| chain | " + " | ".join(names) + " | " + " | ".join(f"times {name}" for name in others) + " |"]
    lines.append("|---" * (1 + len(names) + len(others)) + "|")
    for case, result in results.items():
        best = result["best"]
        times = [f"{1e3 * best[name]:.3f} ms" for name in names]
        ratios = [f"{best[name] / best['wisp compiled']:.1f}" for name in others]
        lines.append("| " + " | ".join([f"`{case}`", *times, *ratios]) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--compiled", action="store_true", help="measure torch.compile too")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", default=os.path.join(HERE, "fusion.json"))
    options = parser.parse_args()
    results = run(options.sizes, options.compiled, options.rounds)
    print(table(results))
    results["first calls"] = first_calls()
    print(json.dumps(results["first calls"], indent=1))
    results["scripts"] = scripts(4 * options.rounds)
    print(table_of_scripts(results["scripts"]))
    with open(options.json, "w") as f:
        json.dump(results, f, indent=1)


if __name__ == "__main__":
    main()
