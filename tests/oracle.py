"""PyTorch's answers: asked live where it is installed, else read from tests/golden.

A test module writes a function ``make(lib)`` that returns a dict of plain data (strings, numbers, lists), computed with
whichever library it is given, and calls ``answers(name, make)`` for what PyTorch says. ``python -m tests.oracle`` asks
PyTorch anew and rewrites the files.
"""

import functools
import importlib.util
import json
import math
import pathlib

HAS_TORCH = importlib.util.find_spec("torch") is not None
FOLDER = pathlib.Path(__file__).parent / "golden"
# What every operator is asked with.
DTYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
MODULES = (
    "test_conversion",
    "test_creation",
    "test_distributions",
    "test_foreach",
    "test_nn",
    "test_nn_layers",
    "test_nn_utils",
    "test_operators",
    "test_optim",
    "test_optim_variants",
    "test_printing",
    "test_promotion",
    "test_random",
    "test_sequences",
    "test_stored_dtypes",
    "test_transforms",
    "test_views_inplace",
)


def recorded(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


@functools.cache
def answers(name, make):
    if not HAS_TORCH:
        return recorded(name)
    import torch

    return make(torch)


def assert_close(got, want, where, rel_tol=2e-5, abs_tol=2e-6):
    """Plain data is equal but for rounding of numbers."""
    if isinstance(want, dict):
        assert got.keys() == want.keys(), where
        for key in want:
            assert_close(got[key], want[key], f"{where} {key}", rel_tol, abs_tol)
    elif isinstance(want, list):
        assert len(got) == len(want), where
        for i, pair in enumerate(zip(got, want)):
            assert_close(*pair, f"{where}[{i}]", rel_tol, abs_tol)
    elif isinstance(want, float):
        close = math.isclose(got, want, rel_tol=rel_tol, abs_tol=abs_tol)
        assert close or (math.isnan(got) and math.isnan(want)), f"{where}: {got}, expected {want}"
    else:
        assert got == want, where


def record(name, make):
    import torch

    text = json.dumps(make(torch), indent=0, sort_keys=True)
    (FOLDER / f"{name}.json").write_text(text + "\n")
    print(f"{name}: {len(text)} bytes")


if __name__ == "__main__":
    for module in MODULES:
        for name, make in importlib.import_module(f"tests.{module}").ORACLES.items():
            record(name, make)
