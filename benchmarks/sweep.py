"""Every operator of the core list at three sizes, in wisp and in PyTorch, alternately in one process.

Forward is one call; backward is the call with recording, and backward() from a gradient that is already there. The
cases are data: see sweep_cases.py.
"""

import argparse
import gc
import json
import os
import re
import statistics
import time

from sweep_cases import SIZES, cases

HERE = os.path.dirname(os.path.abspath(__file__))


def shape_of(layout, position, space):
    """The sizes of an input that has those of the case, and whether it is to be transposed."""
    rows, columns = space["R"], space["C"]
    if layout == "strided" and position == 0:
        return (columns, rows), True
    if layout == "broadcast" and position > 0:
        return ((columns,), (rows, 1))[position - 1], False
    return (rows, columns), False


def make(T, case, size, recorded):
    """The call as a function without arguments; for a recorded one also the inputs that get gradients."""
    _, _, layout, call, inputs = case
    space = {**SIZES[size], "T": T, "F": T.nn.functional}
    T.manual_seed(0)
    tracked, position = [], 0
    for key, expression, tracks in inputs:
        whole = re.search(r"\bS\b", expression) is not None
        space["S"], transposed = shape_of(layout, position, space)
        tensor = eval(expression, space)
        if whole:
            tensor = tensor.t() if transposed else tensor
            position += 1
        if recorded and tracks and (tensor.is_floating_point() or tensor.is_complex()):
            tracked.append(tensor.requires_grad_())
        space[key] = tensor
    return eval(f"lambda: {call}", space), tracked


def differentiable(results):
    results = results if isinstance(results, (tuple, list)) else [results]
    return [r for r in results if getattr(r, "requires_grad", False)]


def with_backward(T, call, tracked):
    """call() and backward() through all of its results; None where there is nothing to differentiate."""
    results = differentiable(call()) if tracked else []
    if not results:
        return None
    T.manual_seed(1)
    grads = [T.randn(r.shape, dtype=r.dtype) for r in results]

    def run():
        results = differentiable(call())
        if len(results) == 1:
            results[0].backward(grads[0])
        else:
            T.autograd.backward(results, grads)
        for tensor in tracked:
            tensor.grad = None

    return run


def described(result):
    if isinstance(result, (tuple, list)):
        return [described(r) for r in result]
    return (tuple(result.shape), str(result.dtype).split(".")[-1]) if hasattr(result, "shape") else type(result)


def functions(libraries, case, size, backward):
    """What to time, by library; None if the case does not exist in this form."""
    found = {}
    for name, T in libraries.items():
        call, tracked = make(T, case, size, backward)
        found[name] = with_backward(T, call, tracked) if backward else call
        if found[name] is None:
            return None
    return found


def once(f, repeats):
    start = time.perf_counter()
    for _ in range(repeats):
        f()
    return (time.perf_counter() - start) / repeats


def measure(calls, seconds, rounds):
    """The shortest time of one call, by library. Blocks alternate, so that both see the same machine."""
    best, repeats = {}, {}
    for name, f in calls.items():
        f()
        best[name] = once(f, 1)
        repeats[name] = max(1, int(2e-4 / max(best[name], 1e-7)))
    for _ in range(rounds):
        for name, f in calls.items():
            time.sleep(0.01)  # until the other library's idle threads have stopped spinning
            end = time.perf_counter() + seconds / rounds
            while True:
                best[name] = min(best[name], once(f, repeats[name]))
                if time.perf_counter() >= end:
                    break
    return best


def wanted_keys(options, table):
    """(case, size, direction, key) of what is to be measured."""
    pattern = re.compile(options.only)
    for case in cases():
        family, name, layout = case[:3]
        in_place = name.split()[0].endswith("_")
        for size in options.sizes.split(","):
            for direction in ("forward",) if in_place else ("forward", "backward"):
                key = f"{name}, {layout}, {size}, {direction}"
                if pattern.search(f"{family}: {key}") and (not options.under or key_under(table, key, options.under)):
                    yield case, size, direction, key


def prepared(libraries, case, size, direction, key):
    """The functions to time; None, with a word about it, where a library lacks the operator."""
    try:
        calls = functions(libraries, case, size, direction == "backward")
        shapes = {str(described(f())) for f in calls.values()} if calls else ()
    except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        print(f"{key:80s} cannot be run: {type(error).__name__}: {error}", flush=True)
        return None
    if len(shapes) > 1 and direction == "forward" and "mask" not in key and "nonzero" not in key:
        print(f"{key:80s} results differ: {shapes}", flush=True)
    return calls


def sweep(libraries, options, table):
    for case, size, direction, key in wanted_keys(options, table):
        calls = prepared(libraries, case, size, direction, key)
        if not calls:
            continue
        times = measure(calls, options.seconds * (4 if size == "10M" else 1), options.rounds)
        table[key] = {"family": case[0], **times}
        row = [f"{1e6 * times[name]:12.2f} us" for name in libraries]
        print(f"{key:80s}", *row, f"{times['torch'] / times['wisp']:8.2f}x", flush=True)
        calls.clear()
        gc.collect()


def key_under(table, key, limit):
    row = table.get(key)
    return row is not None and row["torch"] / row["wisp"] < limit


def summary(table):
    ratios = {key: row["torch"] / row["wisp"] for key, row in table.items()}
    lines = [f"{len(ratios)} cases; median ratio {statistics.median(ratios.values()):.2f}"]
    for words in (("1k", "100k", "10M"), ("forward", "backward"), ("contiguous", "strided", "broadcast")):
        for word in words:
            part = [r for key, r in ratios.items() if f", {word}" in key]
            if part:
                under = sum(r < 0.9 for r in part)
                lines.append(f"* {word}: {len(part)} cases, median {statistics.median(part):.2f}, {under} under 0.9")
    slow = sorted((r, key) for key, r in ratios.items() if r < 0.9)
    lines.append(f"\nUnder 0.9: {len(slow)} ({100 * len(slow) / len(ratios):.1f}%)\n")
    lines += [f"* {key}: {r:.2f}" for r, key in slow]
    return lines


def markdown(table):
    lines = ["# Sweep over the core list", "", *summary(table), ""]
    lines += ["| case | wisp | PyTorch | times faster |", "|---|---|---|---|"]
    for key, row in table.items():
        times = [f"{1e6 * row[name]:.2f} µs" for name in ("wisp", "torch")]
        lines.append(f"| {key} | {' | '.join(times)} | {row['torch'] / row['wisp']:.2f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="regular expression on 'family: name, layout, size, direction'")
    parser.add_argument("--sizes", default="1k,100k,10M")
    parser.add_argument("--seconds", type=float, default=0.05, help="per case and library; four times that at 10M")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a tenth of the time, one round")
    parser.add_argument("--under", type=float, help="only cases whose ratio in the file is below this")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", default=os.path.join(HERE, "sweep.json"), help="times; those measured anew change")
    parser.add_argument("--markdown", default=os.path.join(HERE, "sweep.md"))
    parser.add_argument("--report", action="store_true", help="measure nothing, write the table of what is in the file")
    options = parser.parse_args()
    if options.quick:
        options.seconds, options.rounds = options.seconds / 10, 1
    table = {}
    if os.path.exists(options.json):
        with open(options.json) as f:
            table = json.load(f)
    if not options.report:
        libraries = {name: __import__(name) for name in ("wisp", "torch")}
        for T in libraries.values():
            T.set_num_threads(options.threads)
        gc.disable()
        try:
            sweep(libraries, options, table)
        finally:
            with open(options.json, "w") as f:
                json.dump(table, f, indent=0)
    with open(options.markdown, "w") as f:
        f.write(markdown(table))
    print("\n".join(summary(table)[: None if options.report else 9]))


if __name__ == "__main__":
    main()
