"""Training steps of small networks of many kinds (network_cases.py), wisp against PyTorch, both eager.

    python benchmarks/networks.py [--rounds N] [--seconds S] [--only REGEX]

The libraries take turns in processes of their own; times are those of the best step of all rounds. Writes networks.json.
"""

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import time

import result_tables as tables
from network_cases import CASES

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = ("torch", "wisp")


def step_of(T, case):
    T.manual_seed(0)
    model, loss = CASES[case](T)
    optimiser = T.optim.Adam(model.parameters(), lr=1e-6)

    def step():
        optimiser.zero_grad()
        found = loss()
        found.backward()
        optimiser.step()
        return found

    return step


def best_seconds(step, seconds):
    for _ in range(3):
        step()
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        step()
        best = min(best, time.perf_counter() - start)
    return best


def measure(library, cases, seconds):
    T = importlib.import_module(library)
    return {case: best_seconds(step_of(T, case), seconds) for case in cases}


def measured_elsewhere(library, options):
    command = [
        sys.executable,
        __file__,
        "--library",
        library,
        "--seconds",
        str(options.seconds),
        "--only",
        options.only,
    ]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each network in each round")
    parser.add_argument("--only", default="", help="networks whose names match")
    parser.add_argument("--library", choices=LIBRARIES, help=argparse.SUPPRESS)
    parser.add_argument("--json", default=os.path.join(HERE, "networks.json"))
    options = parser.parse_args()
    cases = [case for case in CASES if re.search(options.only, case)]
    if options.library:
        print(json.dumps(measure(options.library, cases, options.seconds)))
        return
    results = {case: dict.fromkeys(LIBRARIES, float("inf")) for case in cases}
    for _ in range(options.rounds):
        for library in LIBRARIES:
            for case, best in measured_elsewhere(library, options).items():
                results[case][library] = min(results[case][library], best)
    print(tables.networks(results))
    with open(options.json, "w") as f:
        json.dump(results, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
