"""A process that measures calls of an ONNX model by onnxruntime, with its default settings but for the number of threads.

    python benchmarks/onnxruntime_process.py MODEL.onnx CALLS THREADS INPUT.npy... [--outputs FOLDER]

Prints the shortest and the median call in milliseconds, as JSON. Inputs and outputs are bound beforehand. Other programs that
compute at the same time would be disturbed: its threads wait by spinning.
"""

import argparse
import json
import pathlib

import numpy
import onnxruntime
from timing import measured


def bound(model, threads, arrays):
    """A function that runs the model on these inputs, and one that gives its last results."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for declared, array in zip(session.get_inputs(), arrays, strict=True):
        binding.bind_cpu_input(declared.name, array)
    for declared in session.get_outputs():
        binding.bind_output(declared.name, "cpu")
    return lambda: session.run_with_iobinding(binding), binding.copy_outputs_to_cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("calls", type=int)
    parser.add_argument("threads", type=int)
    parser.add_argument("inputs", nargs="*")
    parser.add_argument("--outputs", type=pathlib.Path, help="folder to write the results to, as 0.npy, 1.npy ...")
    options = parser.parse_args()
    call, results = bound(options.model, options.threads, [numpy.load(path) for path in options.inputs])
    print(json.dumps(measured(call, options.calls)))
    if options.outputs:
        for i, array in enumerate(results()):
            numpy.save(options.outputs / f"{i}.npy", array)


if __name__ == "__main__":
    main()
