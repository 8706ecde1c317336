"""Models without Python: the program `wisp` on compiled models against onnxruntime on the same models exported, with one
sample at a time; and how long a process takes to its first result.

    python benchmarks/deployment.py [--rounds N] [--json FILE]

Needs onnx and onnxruntime. Each measurement is a process of its own that has the machine to itself for about a second, and the two
programs take turns. `wisp bench` measures calls from C++. onnxruntime has its default settings and is called through its binding for
Python with inputs and outputs bound beforehand, which costs it some microseconds per call: `call` is what a model that does
nothing takes, and the last column leaves that difference out.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

import wisp
import wisp.config
import wisp.models
import wisp.onnx
from wisp import nn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import result_tables as tables
import workload_models

THREADS = 2


class LSTMStep(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lstm = nn.LSTM(width, width)

    def forward(self, x, h, c):
        y, (h, c) = self.lstm(x, (h, c))
        return y, h, c


class Nothing(nn.Module):
    def forward(self, x):
        return -x


def models():
    """name -> (module, inputs, how many calls make a measurement)"""
    wisp.manual_seed(0)
    image, width = wisp.randn(1, 3, 224, 224), 512
    state = [wisp.randn(1, 1, width) for _ in range(3)]
    return {
        "call": (Nothing(), [wisp.randn(1)], 20000),
        "ResNet-50": (wisp.models.resnet50(), [image], 25),
        "ResNet-18": (wisp.models.resnet18(), [image], 60),
        "MNIST CNN": (workload_models.digits_cnn(wisp, 28, 0.25), [wisp.randn(1, 1, 28, 28)], 5000),
        "LSTM step, 512": (LSTMStep(width), state, 10000),
    }


class Case:
    """A model in both forms, and its inputs as files."""

    def __init__(self, folder, name, module, inputs, calls):
        self.name, self.calls, self.module = name, calls, module.eval()
        self.folder = pathlib.Path(folder) / re.sub(r"\W+", "_", name)
        self.folder.mkdir()
        base = self.folder / "model"
        self.compiled, self.exported = f"{base}.pt", f"{base}.onnx"
        with wisp.no_grad():
            traced = wisp.jit.trace(self.module, tuple(inputs))
            wisp.jit.optimize_for_inference(wisp.jit.freeze(traced)).save(self.compiled)
            wisp.onnx.export(self.module, tuple(inputs), self.exported)
        self.arrays = [x.numpy() for x in inputs]
        self.files = [f"{base}.{i}.npy" for i in range(len(inputs))]
        for path, array in zip(self.files, self.arrays, strict=True):
            with open(path, "wb") as file:
                numpy.save(file, array)

    def command(self, what, *options):
        inputs = [word for path in self.files for word in ("--input", path)]
        return [wisp.config.tool(), what, self.compiled, *inputs, "--threads", str(THREADS), *options]

    def time_wisp(self):
        """The shortest and the median time of a call, in milliseconds."""
        shown = subprocess.run(
            self.command("bench", "--repeat", str(self.calls)), capture_output=True, text=True, check=True
        )
        return [float(re.search(rf"{word} +([\d.]+)", shown.stdout)[1]) for word in ("min", "median")]

    def time_onnxruntime(self, *options):
        program = pathlib.Path(__file__).parent / "onnxruntime_process.py"
        command = [sys.executable, program, self.exported, str(self.calls), str(THREADS), *self.files, *options]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    def check(self):
        """Both compute the same."""
        with wisp.no_grad():
            expected = self.module(*map(wisp.from_numpy, self.arrays))
        expected = expected if isinstance(expected, tuple) else (expected,)
        self.time_onnxruntime("--outputs", self.folder)
        outputs = [f"{self.compiled}.{i}.npy" for i in range(len(expected))]
        subprocess.run(self.command("run", *(word for path in outputs for word in ("--output", path))), check=True)
        for i, right in enumerate(expected):
            for path in (outputs[i], self.folder / f"{i}.npy"):
                wisp.testing.assert_close(wisp.from_numpy(numpy.load(path)), right, rtol=1e-3, atol=1e-4)


def compare(case, rounds):
    """What each round measured, of each program: {"wisp": [[min, median], ...], ...}"""
    case.check()
    found = {"wisp": [], "onnxruntime": []}
    for _ in range(rounds):
        found["wisp"].append(case.time_wisp())
        found["onnxruntime"].append(case.time_onnxruntime())
    return found


def summary(found):
    """The shortest call of all rounds, and the median of their medians, of each program."""
    return {name: [min(best), statistics.median(medians)]
            for name, (best, medians) in ((name, zip(*times, strict=True)) for name, times in found.items())}  # fmt: skip


def start_time(case, rounds):
    """Milliseconds from the start of a process to its end, with one result in between; and of the result alone."""
    command = case.command("run", "--output", f"{case.compiled}.first.npy")
    totals = []
    for _ in range(3 * rounds):
        start = time.perf_counter()
        subprocess.run(command, check=True)
        totals.append(1e3 * (time.perf_counter() - start))
    return {"process": min(totals), "call": min(case.time_wisp()[0] for _ in range(rounds))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--only", default="", help="models whose names match; the call of nothing always")
    parser.add_argument("--json", help="file to write the times to")
    options = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        chosen = {name: each for name, each in models().items() if name == "call" or re.search(options.only, name)}
        cases = {name: Case(folder, name, *each) for name, each in chosen.items()}
        for name, case in cases.items():
            results[name] = summary(compare(case, options.rounds))
        print(tables.deployment(results))
        if "ResNet-18" in cases:
            results["start"] = start_time(cases["ResNet-18"], options.rounds)
            shown = "first result of ResNet-18: {process:.1f} ms, of which the call alone {call:.1f} ms"
            print(shown.format(**results["start"]))
    if options.json:
        with open(options.json, "w") as f:
            json.dump(results, f, indent=1)


if __name__ == "__main__":
    main()
