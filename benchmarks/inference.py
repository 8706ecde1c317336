"""Inference from Python, one sample at a time: wisp's modules, and the same compiled, against onnxruntime on the models exported.

    python benchmarks/inference.py [--rounds N] [--only REGEX] [--json FILE]

Needs onnx and onnxruntime. Each measurement is a process of its own, and the programs take turns. Times are milliseconds of a
call: the shortest and the median of a process, and of those the best of all rounds. onnxruntime's inputs and outputs are bound.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import wisp
from wisp import nn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import result_tables as tables
import workload_models as make
import workloads
from timing import measured

THREADS = 2
PROGRAMS = ("wisp", "compiled", "onnxruntime")


class LSTMStep(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lstm = make.lstm(wisp, width, workloads.LSTM_CELL["layers"])

    def forward(self, x, h, c):
        y, (h, c) = self.lstm(x, (h, c))
        return y, h, c


class Token(nn.Module):
    """The last word of a GPT whose caches are full but for it."""

    def __init__(self):
        super().__init__()
        self.sizes = {key: value for key, value in workloads.GPT.items() if key != "batch"}
        self.gpt = make.gpt(wisp, **self.sizes)

    def inputs(self):
        heads, length = self.sizes["heads"], self.sizes["length"]
        shape = 1, heads, length, self.sizes["width"] // heads
        caches = [make.numbers(wisp, i, *shape) for i in range(2 * self.sizes["layers"])]
        return [make.words(wisp, 1, self.sizes["vocabulary"], 1, 1), *caches]

    def forward(self, word, *caches):
        pairs = list(zip(caches[::2], caches[1::2], strict=True))
        return self.gpt(word, pairs, self.sizes["length"] - 1)


def resnet():
    sizes = {key: value for key, value in workloads.RESNET.items() if key not in ("batch", "image")}
    return make.resnet(wisp, **sizes)


def lstm_inputs(width):
    layers = workloads.LSTM_CELL["layers"]
    return [make.numbers(wisp, seed, rows, 1, width) for seed, rows in ((1, 1), (2, layers), (3, layers))]


# name: (module, inputs, calls of a measurement), all made when they are needed
MODELS = {
    "ResNet-50": (resnet, lambda: [make.numbers(wisp, 1, 1, 3, 224, 224)], 25),
    "MNIST CNN": (lambda: make.digits_cnn(wisp, 28, 0.25), lambda: [make.numbers(wisp, 1, 1, 1, 28, 28)], 1000),
    "GPT, one token": (Token, lambda: Token().inputs(), 200),
    "LSTM step, 200": (lambda: LSTMStep(200), lambda: lstm_inputs(200), 3000),
    "LSTM step, 650": (lambda: LSTMStep(650), lambda: lstm_inputs(650), 1000),
}


def run_wisp(name, compiled):
    module, inputs, _ = MODELS[name]
    module, inputs = module().eval(), inputs()
    wisp.set_num_threads(THREADS)
    with wisp.inference_mode():
        if compiled:
            module = wisp.jit.optimize_for_inference(wisp.jit.trace(module, tuple(inputs)))
        return measured(lambda: module(*inputs), MODELS[name][2])


def run_onnxruntime(name, path):
    from onnxruntime_process import bound

    call = bound(path, THREADS, [x.numpy() for x in MODELS[name][1]()])[0]
    return measured(call, MODELS[name][2])


def export(name, path):
    import wisp.onnx

    module, inputs, _ = MODELS[name]
    wisp.onnx.export(module().eval(), tuple(inputs()), path, dynamic_axes={})


def compare(name, rounds, folder):
    path = os.path.join(folder, "model.onnx")
    export(name, path)
    found = {program: [] for program in PROGRAMS}
    for _ in range(rounds):
        for program, times in found.items():
            command = [sys.executable, os.path.abspath(__file__), "--worker", program, "--only", name, "--path", path]
            times.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    return {program: [min(column) for column in zip(*times, strict=True)] for program, times in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="models whose names match")
    parser.add_argument("--json", help="file to write the times to")
    parser.add_argument("--worker", choices=PROGRAMS, help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker == "onnxruntime":
        return print(json.dumps(run_onnxruntime(options.only, options.path)))
    if options.worker:
        return print(json.dumps(run_wisp(options.only, options.worker == "compiled")))
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in (name for name in MODELS if re.search(options.only, name)):
            results[name] = compare(name, options.rounds, folder)
    print(tables.inference(results))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)
    return None


if __name__ == "__main__":
    main()
