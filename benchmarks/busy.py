"""Small models while other programs run: the median and mean of their calls, on an idle machine and beside processes that
never rest, in wisp and (where installed) in PyTorch. Every measurement is a process of its own.

Threads that wait for each other by spinning keep a processor from the one that they wait for, if both share it.
"""

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def cases(T):
    nn = T.nn
    T.manual_seed(0)
    convolutions = [nn.Conv2d(3 if i == 0 else 32, 32, 3, padding=1) for i in range(12)]
    layers = [nn.Linear(512, 512) for _ in range(8)]
    image, rows = T.randn(1, 3, 64, 64), T.randn(256, 512)
    network = nn.Sequential(*(part for layer in convolutions for part in (layer, nn.ReLU())))
    perceptron = nn.Sequential(*(part for layer in layers for part in (layer, nn.ReLU())))

    def step():
        perceptron.zero_grad()
        perceptron(rows).sum().backward()

    return {
        "12 convolutions of 32 channels": lambda: network(image),
        "8 layers 512 wide, training step": step,
        "chain of pointwise calls, 131k": lambda: (rows * 2 + 1).tanh().exp().sum(),
    }


def measure(library, calls):
    """{case: milliseconds of each call}"""
    found = {}
    for case, call in cases(importlib.import_module(library)).items():
        found[case] = []
        for _ in range(calls):
            start = time.perf_counter()
            call()
            found[case].append(1e3 * (time.perf_counter() - start))
    return found


def measured(library, calls, others):
    """The same in another process, beside so many that never rest."""
    until_alone = f"import os\nwhile os.getppid() == {os.getpid()}: pass"  # whatever ends this process
    never_rest = [subprocess.Popen([sys.executable, "-c", until_alone]) for _ in range(others)]
    try:
        command = [sys.executable, os.path.join(HERE, "busy.py"), "--measure", library, "--calls", str(calls)]
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    finally:
        for process in never_rest:
            process.kill()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3, help="processes for each figure")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--json", help="file to write the times to")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.calls)))
        return
    libraries = ["wisp"] + (["torch"] if importlib.util.find_spec("torch") else [])
    results = []
    for others in (0, 1, os.cpu_count()):
        times = {library: {} for library in libraries}
        for _ in range(options.rounds):
            for library in libraries:
                for case, found in measured(library, options.calls, others).items():
                    times[library].setdefault(case, []).extend(found)
        for case in times["wisp"]:
            row = {"case": case, "others": others}
            for library in libraries:
                row[library] = [statistics.median(times[library][case]), statistics.fmean(times[library][case])]
            results.append(row)
            shown = (f"{library} {row[library][0]:8.2f} median {row[library][1]:8.2f} mean" for library in libraries)
            print(f"{case:36s} beside {others}:", *shown, flush=True)
    if options.json:
        with open(options.json, "w") as f:
            json.dump(results, f, indent=1)


if __name__ == "__main__":
    main()
