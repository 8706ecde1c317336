"""Cost of small operations and memory-bound chains, in wisp and (where installed) in PyTorch, alternately in one process."""

import argparse
import gc
import importlib.util
import json
import time


def cases(T):
    x, y, w = T.rand(1, 10), T.rand(1, 10), T.rand(1, 10, requires_grad=True)
    W_h, W_x = T.rand(20, 20, requires_grad=True), T.rand(20, 10, requires_grad=True)
    xx, h, one = T.rand(1, 10), T.rand(1, 20), T.ones(20, 1)
    a, b = T.rand(20, 20), T.rand(20, 10)
    m1, m10, big = T.rand(1_000_000), T.rand(10_000_000), T.rand(1024, 1024)
    linear = T.nn.Linear(10, 10)

    def chain():
        z = w
        for _ in range(10_000):
            z = z + y
        z.sum().backward()

    return {
        "a + b, 1x10": lambda: x + y,
        "a + b, 1x10, recorded": lambda: w + y,
        "(w + y).tanh().sum().backward()": lambda: (w + y).tanh().sum().backward(),
        "RNN cell, forward": lambda: (T.mm(W_x, xx.t()) + T.mm(W_h, h.t())).tanh(),
        "RNN cell, forward + backward": lambda: (T.mm(W_x, xx.t()) + T.mm(W_h, h.t())).tanh().backward(one),
        "chain of 10,000 adds, forward + backward": chain,
        "mm 20x20x10": lambda: T.mm(a, b),
        "Linear(10, 10)": lambda: linear(x),
        "(x*2+1).tanh().exp(), 1M": lambda: (m1 * 2 + 1).tanh().exp(),
        "(x*2+1).tanh().exp(), 10M": lambda: (m10 * 2 + 1).tanh().exp(),
        "mm 1024": lambda: T.mm(big, big),
    }


def best_of(f, seconds):
    """The shortest time of one call, in seconds."""
    start = time.perf_counter()
    f()
    once = time.perf_counter() - start
    inner = max(1, int(2e-4 / max(once, 1e-7)))
    best, end = once, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(inner):
            f()
        best = min(best, (time.perf_counter() - start) / inner)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.5, help="per case, library and round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="file to write the times to")
    options = parser.parse_args()
    names = ["wisp"] + (["torch"] if importlib.util.find_spec("torch") else [])
    tables = {name: cases(__import__(name)) for name in names}
    times = {name: {} for name in names}
    gc.disable()
    for case in tables["wisp"]:
        for _ in range(options.rounds):
            for name in names:
                found = best_of(tables[name][case], options.seconds)
                times[name][case] = min(found, times[name].get(case, found))
        gc.collect()
        row = [f"{1e6 * times[name][case]:10.2f} us" for name in names]
        ratio = f"{times['torch'][case] / times['wisp'][case]:7.1f}x" if "torch" in times else ""
        print(f"{case:45s}", *row, ratio, flush=True)
    if options.json:
        with open(options.json, "w") as f:
            json.dump(times, f, indent=1)


if __name__ == "__main__":
    main()
