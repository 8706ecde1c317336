"""Chains of pointwise calls in one library, eager or compiled, measured in this process and printed as JSON.

Started by fusion.py with a task in JSON: whether a large result is written to fresh pages or to memory that the process
has already is up to the allocator, which two libraries in one process would share.
"""

import importlib
import json
import math
import sys
import time

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


def timed(call, loops):
    start = time.perf_counter()
    for _ in range(loops):
        call()
    return (time.perf_counter() - start) / loops


def measure(T, n, compiled, seconds):
    """Seconds of the first and of the best call of every case."""
    found = {}
    for name, (function, args) in cases(T, n).items():
        f = T.compile(function) if compiled else function

        def call(f=f, args=args):
            return f(*args)

        first, loops = timed(call, 1), 1 if n > 100_000 else 100
        call()
        best, end = math.inf, time.perf_counter() + seconds
        while time.perf_counter() < end:
            best = min(best, timed(call, loops))
        found[name] = {"first": first, "best": best}
    return found


def main():
    task = json.loads(sys.argv[1])
    T = importlib.import_module(task["library"])
    print(json.dumps(measure(T, task["n"], task["compiled"], task["seconds"])))


if __name__ == "__main__":
    main()
