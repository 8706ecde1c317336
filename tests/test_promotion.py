"""Result types: every pair of dtypes, as tensors with dimensions, without, and as Python numbers."""

import functools
import itertools
import operator

import pytest

import wisp
from tests import oracle

NUMBERS = {"True": True, "2": 2, "2.5": 2.5, "2j": 2j}
OPERATORS = ("add", "mul", "sub", "truediv", "floordiv", "mod", "pow", "eq", "lt", "and_", "lshift")
FUNCTIONS = ("maximum", "logical_or", "atan2", "hypot")


def name(dtype):
    return str(dtype).split(".")[-1]


def attempt(f):
    try:
        return name(f().dtype)
    except (RuntimeError, NotImplementedError, TypeError):
        return "error"


def operands(lib):
    """(label, value): tensors with a dimension, without, and numbers."""
    for dtype in oracle.DTYPES:
        yield dtype, lib.ones(2, dtype=getattr(lib, dtype))
    for dtype in oracle.DTYPES:
        yield dtype + "()", lib.ones((), dtype=getattr(lib, dtype))
    yield from NUMBERS.items()


def pairs(lib):
    for (a, x), (b, y) in itertools.product(operands(lib), repeat=2):
        if not (a in NUMBERS and b in NUMBERS):
            yield a, x, b, y


def rows(lib, f):
    """One text per left operand: the result types with all right operands, in order."""
    table = {}
    for a, x, b, y in pairs(lib):
        table.setdefault(a, []).append(attempt(lambda: f(x, y)))
    return {a: " ".join(results) for a, results in table.items()}


def make(lib):
    functions = {op: getattr(operator, op) for op in OPERATORS}
    functions.update({f: getattr(lib, f) for f in FUNCTIONS if hasattr(lib, f)})
    result = {op: rows(lib, lambda x, y, f=f: f(x, y)) for op, f in functions.items()}
    result["where"] = rows(lib, lambda x, y: lib.where(lib.tensor([True, False]), x, y))
    result["result_type"] = {}
    for a, x, b, y in pairs(lib):
        result["result_type"].setdefault(a, []).append(name(lib.result_type(x, y)))
    result["result_type"] = {a: " ".join(v) for a, v in result["result_type"].items()}
    tensors = [lib.ones(2, dtype=getattr(lib, d)) for d in oracle.DTYPES]
    result["cat"] = {name(x.dtype): " ".join(attempt(lambda: lib.cat([x, y])) for y in tensors) for x in tensors}
    types = [getattr(lib, d) for d in oracle.DTYPES]
    result["promote_types"] = {name(a): " ".join(name(lib.promote_types(a, b)) for b in types) for a in types}
    result["can_cast"] = {name(a): " ".join(str(lib.can_cast(a, b)) for b in types) for a in types}
    return result


def make_in_place(lib):
    """Which in-place operations are allowed, and what sums and unary functions return."""
    result = {"add_": {}, "unary": {}}
    for a, b in itertools.product(oracle.DTYPES, repeat=2):
        x, y = (lib.ones(2, dtype=getattr(lib, d)) for d in (a, b))
        result["add_"].setdefault(a, []).append(attempt(lambda: x.add_(y)))
    result["add_"] = {a: " ".join(v) for a, v in result["add_"].items()}
    for d in oracle.DTYPES:
        x = lib.ones(2, dtype=getattr(lib, d))
        unary = (
            "neg",
            "abs",
            "exp",
            "sqrt",
            "floor",
            "sum",
            "prod",
            "mean",
            "cumsum",
            "sign",
            "isnan",
            "logical_not",
            "bitwise_not",
            "square",
        )
        result["unary"][d] = " ".join(
            f"{f}:{attempt(lambda: getattr(x, f)(0) if f == 'cumsum' else getattr(x, f)())}" for f in unary
        )
    return result


ORACLES = {"promotion": make, "promotion_in_place": make_in_place}


@functools.cache
def types_of_wisp():
    return make(wisp)


@pytest.mark.parametrize("what", (*OPERATORS, *FUNCTIONS, "where", "result_type", "cat", "promote_types", "can_cast"))
def test_result_types(what):
    answers = oracle.answers("promotion", make)
    got = types_of_wisp().get(what)
    if got is None:
        pytest.skip(f"wisp has no {what}")
    wrong = []
    labels = [label for label, _ in operands(wisp)]
    for left, row in answers[what].items():
        common = answers["result_type"].get(left, row).split()
        for right, a, b, together in zip(labels, got[left].split(), row.split(), common):
            # wisp has no complex32: what would be it is complex64, and may do more.
            if a != b and together != "complex32":
                wrong.append(f"{what}({left}, {right}): wisp {a}, PyTorch {b}")
    assert not wrong, f"{len(wrong)} of them:\n" + "\n".join(wrong[:40])


@pytest.mark.parametrize("what", ["add_", "unary"])
def test_in_place_and_unary(what):
    want, got = oracle.answers("promotion_in_place", make_in_place)[what], make_in_place(wisp)[what]
    for dtype in oracle.DTYPES:
        assert got[dtype] == want[dtype], dtype


def test_default_dtype_decides_for_numbers():
    wisp.set_default_dtype(wisp.float64)
    assert (wisp.ones(2, dtype=wisp.int64) * 1.5).dtype == wisp.float64
    assert (wisp.ones(2, dtype=wisp.float32) * 1.5).dtype == wisp.float32
    assert wisp.ones(2, dtype=wisp.int8).exp().dtype == wisp.float64
    assert (wisp.ones(2, dtype=wisp.int64) / 2).dtype == wisp.float64
