"""Chains of pointwise calls: eager and compiled, in wisp and (where it is installed) in PyTorch, alternately in one process.

Prints a table and writes fusion.json. ``--compiled`` also measures torch.compile, which has to build its kernels first.
"""

import argparse
import json
import math
import os
import time

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
    with open(options.json, "w") as f:
        json.dump(results, f, indent=1)


if __name__ == "__main__":
    main()
