"""Chains of pointwise calls: eager and compiled, in wisp and (where it is installed) in PyTorch, each in processes of its
own, alternately.

Prints tables and writes fusion.json. ``--compiled`` also measures torch.compile, which has to build its kernels first.
What is new costs: the first call of a chain, the first training step of a GPT. Scripts: an LSTM cell, 100 steps.
"""

import argparse
import importlib.util
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import time

import result_tables as tables
import workloads

import wisp

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = {"10M": 10_000_000, "10k": 10_000}


def run(library, compiled, n, seconds):
    """What a process reports that measures the chains; None if it cannot."""
    task = {"library": library, "compiled": compiled, "n": n, "seconds": seconds}
    command = [sys.executable, os.path.join(HERE, "fusion_process.py"), json.dumps(task)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    print(f"{library}: {(done.stderr.strip().splitlines() or ['?'])[-1]}", flush=True)
    return None


def chains(size, options):
    """case -> the shortest first and best calls of every way, each in processes of its own, taken in turns."""
    ways = [("wisp", False), ("wisp", True)]
    if importlib.util.find_spec("torch"):
        ways += [("torch", compiled) for compiled in (False, True)[: 1 + options.compiled]]
    results = {}
    for _, (library, compiled) in itertools.product(range(options.processes), ways):
        way = f"{library} compiled" if compiled else library
        for case, times in (run(library, compiled, SIZES[size], options.seconds) or {}).items():
            result = results.setdefault(f"{case}, {size}", {"best": {}, "first": {}})
            for figure, by_way in result.items():
                by_way[way] = min(times[figure], by_way.get(way, math.inf))
    return results


def _bound(f, args):
    return lambda: f(*args)


def measure(made, rounds):
    """Best seconds of a call of every way, taken in turns."""
    best = dict.fromkeys(made, math.inf)
    for _ in range(rounds):
        for way, call in made.items():
            best[way] = min(best[way], seconds(call))
    return best


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def new_chains(x):
    """Calls of chains that differ in structure: 4 of 6 functions in every order."""

    def chain(names):
        with wisp.lazy(least=0):
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
    eager, recorded = workloads.gpt_step(wisp, **sizes), wisp.lazy(least=0)(workloads.gpt_step(wisp, **sizes))
    steps = {"eager": [seconds(eager) for _ in range(8)], "lazy": [seconds(recorded) for _ in range(8)]}
    return {
        "chain": {"first": statistics.median(c[0] for c in chains), "second": statistics.median(c[1] for c in chains)},
        "GPT step": {f"{way} {name}": f(times) for way, times in steps.items() for name, f in FIGURES.items()},
    }


FIGURES = {"first": lambda times: times[0], "best": min}


def same_input(x, h, c, w_ih, w_hh, b):
    for _ in range(100):
        gates = wisp.mm(x, w_ih) + wisp.mm(h, w_hh) + b
        i, f, g, o = gates.chunk(4, 1)
        c = wisp.sigmoid(f) * c + wisp.sigmoid(i) * wisp.tanh(g)
        h = wisp.sigmoid(o) * wisp.tanh(c)
    return h, c


def input_of_each_step(xs, h, c, w_ih, w_hh, b):
    for t in range(100):
        gates = wisp.mm(xs[t], w_ih) + wisp.mm(h, w_hh) + b
        i, f, g, o = gates.chunk(4, 1)
        c = wisp.sigmoid(f) * c + wisp.sigmoid(i) * wisp.tanh(g)
        h = wisp.sigmoid(o) * wisp.tanh(c)
    return h, c


def scripts(rounds):
    """Best seconds of 100 steps of an LSTM cell, run by Python and by the interpreter, in turns."""
    results = {}
    for function in (same_input, input_of_each_step):
        compiled = wisp.jit.script(function)
        for batch, hidden, grad in itertools.product((1, 8), (16, 32), (False, True)):
            states = [wisp.randn(batch, hidden) for _ in range(3)]
            if function is input_of_each_step:
                states[0] = wisp.randn(100, batch, hidden)
            weights = [wisp.randn(hidden, 4 * hidden) * 0.1 for _ in range(2)] + [wisp.randn(4 * hidden)]
            args = states + [weight.requires_grad_(grad) for weight in weights]
            name = f"{function.__name__.replace('_', ' ')}, batch {batch}, {hidden} wide"
            calls = {"eager": _bound(function, args), "script": _bound(compiled, args)}
            results[name + (", with gradients" if grad else "")] = measure(calls, rounds)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="*", choices=SIZES, default=list(SIZES))
    parser.add_argument("--compiled", action="store_true", help="measure torch.compile too")
    parser.add_argument("--processes", type=int, default=3, help="of every way")
    parser.add_argument("--seconds", type=float, default=1, help="for each case in each process")
    parser.add_argument("--rounds", type=int, default=60, help="of the scripts")
    parser.add_argument("--json", default=os.path.join(HERE, "fusion.json"))
    options = parser.parse_args()
    results = {}
    for size in options.sizes:
        results.update(chains(size, options))
    if results:
        print(tables.chains(results))
    results["first calls"] = first_calls()
    print(json.dumps(results["first calls"], indent=1))
    results["scripts"] = scripts(options.rounds)
    print(tables.scripts(results["scripts"]))
    with open(options.json, "w") as f:
        json.dump(results, f, indent=1)


if __name__ == "__main__":
    main()
