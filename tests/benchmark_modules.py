"""The benchmarks as modules, for tests of them and for tests that use their cases."""

import importlib
import pathlib
import sys

import pytest

FOLDER = pathlib.Path(__file__).parents[1] / "benchmarks"
if not FOLDER.exists():
    pytest.skip("the benchmarks are not here", allow_module_level=True)


def modules(*names):
    """Modules of the benchmarks, which find each other beside themselves."""
    sys.path.insert(0, str(FOLDER))
    try:
        return [importlib.import_module(name) for name in names]
    finally:
        sys.path.remove(str(FOLDER))
