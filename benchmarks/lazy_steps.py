"""Whole training steps, run eagerly, under ``wisp.lazy`` and with a compiled model: alternately, in one process.

Prints a table and writes lazy_steps.json. All three ways start from the same weights and compute the same losses.
"""

import argparse
import json
import math
import os
import time

import result_tables as tables
import workloads

import wisp

HERE = os.path.dirname(os.path.abspath(__file__))
GPT = {**workloads.GPT, "batch": 2, "layers": 2}
CASES = {
    "MNIST CNN, batch 64": (workloads.digits_step, workloads.DIGITS),
    "GPT 2 x 384, batch 2": (workloads.gpt_step, GPT),
    "GPT 6 x 32, 16 words": (
        workloads.gpt_step,
        {**GPT, "batch": 1, "length": 16, "vocabulary": 64, "width": 32, "heads": 2, "layers": 6},
    ),
    "LSTM language model, 200 wide": (workloads.lstm_step, workloads.LSTM),
    "MLP 4-64-64-2, batch 1": (workloads.mlp_step, workloads.WORKLOADS[workloads.MLP_CASE].sizes),
}
WAYS = {"eager": lambda step: step, "lazy": lambda step: wisp.lazy()(step), "compile": wisp.compile}


def measure(build, sizes, seconds):
    """Best seconds of a step in every way, taken in turns."""
    steps = {way: wrap(build(wisp, **sizes)) for way, wrap in WAYS.items()}
    best, end = dict.fromkeys(steps, math.inf), time.perf_counter() + seconds
    for step in steps.values():
        step(), step()
    while time.perf_counter() < end:
        for way, step in steps.items():
            start = time.perf_counter()
            step().item()
            best[way] = min(best[way], time.perf_counter() - start)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20, help="for each case")
    parser.add_argument("--json", default=os.path.join(HERE, "lazy_steps.json"))
    options = parser.parse_args()
    results = {case: measure(build, sizes, options.seconds) for case, (build, sizes) in CASES.items()}
    print(tables.steps(results))
    with open(options.json, "w") as f:
        json.dump(results, f, indent=1)


if __name__ == "__main__":
    main()
