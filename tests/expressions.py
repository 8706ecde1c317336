"""Tables of Python expressions in which `L` is the library: wisp must answer what PyTorch answers.

CASES = '''
L.tensor([1, 2.5])
L.zeros(2, -1)        # an error of the same type
'''
ORACLES = {"creation": expressions.table(CASES)}

@pytest.mark.parametrize("expression", expressions.split(CASES))
def test_as_pytorch(expression):
    expressions.check("creation", ORACLES["creation"], expression)
"""

import array
import builtins
import copy
import ctypes
import functools
import operator
import pickle
import warnings

import numpy as np

import wisp
from tests import oracle


def split(cases):
    lines = (line.split("  #")[0].strip() for line in cases.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def describe(value):
    """A result as text that does not name the library."""
    if hasattr(value, "untyped_storage"):
        name = str(value.dtype).split(".")[-1]
        grad = " requires_grad" if value.requires_grad else ""
        strides = list(value.stride()) if value.numel() else ""
        return f"{name} {list(value.shape)} {strides} {describe(value.detach().tolist())}{grad}"
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {list(value.shape)} {describe(value.tolist())}"
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, complex):
        return f"{value:.5g}"
    if isinstance(value, (list, tuple)):
        kind = "" if type(value) is list else type(value).__name__
        return kind + "[" + ", ".join(describe(v) for v in value) + "]"
    return str(value).replace("torch.", "").replace("wisp.", "")


def evaluate(lib, expression):
    names = {"L": lib, "np": np, "array": array, "copy": copy, "ctypes": ctypes, "operator": operator, "pickle": pickle}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return describe(eval(expression, names))
        except Exception as e:  # what is compared is the type
            return type(e).__name__


def table(cases):
    """For oracle.answers: a function of the library that evaluates all expressions."""

    @functools.cache
    def make(lib):
        return {expression: evaluate(lib, expression) for expression in split(cases)}

    return make


def is_kind_of(got, want):
    """Whether these are names of Python's exceptions, and who expects the second also catches the first."""
    got, want = (getattr(builtins, name, None) for name in (got, want))
    return isinstance(got, type) and isinstance(want, type) and issubclass(got, want) and issubclass(want, Exception)


def check(name, make, expression):
    want = oracle.answers(name, make)[expression]
    got = evaluate(wisp, expression)
    if is_kind_of(got, want):
        return
    assert got == want, f"{expression}\n wisp:    {got}\n PyTorch: {want}"
