"""Tensors print as in PyTorch, character for character."""

import random
import re

import pytest

import wisp
from tests import oracle

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int64", "int32", "int16", "int8", "uint8")
SHAPES = ((), (1,), (5,), (30,), (2, 3), (1, 1, 1), (4, 1, 2), (2, 2, 2, 2), (3, 20), (2, 0), (0,), (0, 3), (1, 40))
LARGE = ((1001,), (40, 40), (1200, 1), (1, 1200), (7, 150), (6, 200), (12, 10, 11), (2, 3, 8, 30), (1100, 2, 1))


def numbers(kind, n, rng):
    """n floats of some kind."""
    make = {
        "unit": lambda: rng.uniform(-1, 1),
        "positive": lambda: rng.uniform(0, 1),
        "whole": lambda: float(rng.randint(-50, 50)),
        "zeros": lambda: 0.0,
        "large": lambda: rng.uniform(1e3, 5e4) * rng.choice((-1, 1)),
        "huge": lambda: rng.uniform(1e9, 1e12),
        "small": lambda: rng.uniform(-1e-5, 1e-5),
        "wide": lambda: 10.0 ** rng.uniform(-6, 6) * rng.choice((-1, 1)),
        "edge": lambda: rng.choice((1.0, 1000.0, 0.001, 1001.0, -1000.0, 1e8, 1e-4, 9.99995, 99999999.0)),
        "odd": lambda: rng.choice((float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.5, -2.25)),
        "odd whole": lambda: rng.choice((float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, -20.0)),
        "never": lambda: rng.choice((float("nan"), float("inf"), -float("inf"))),
    }[kind]
    return [make() for _ in range(n)]


KINDS = ("unit", "positive", "whole", "zeros", "large", "huge", "small", "wide", "edge", "odd", "odd whole", "never")


def size_of(shape):
    n = 1
    for s in shape:
        n *= s
    return n


def plain_tensors():
    """(key, values, dtype, shape) of many tensors."""
    for dtype in FLOATS:
        for i, shape in enumerate(SHAPES):
            for kind in KINDS if dtype == "float32" or i in (0, 3, 8) else KINDS[i % 5 :: 5]:
                yield f"{dtype} {shape} {kind}", kind, dtype, shape
    for dtype in INTS + ("bool",):
        for shape in SHAPES:
            yield f"{dtype} {shape}", "int", dtype, shape
    for dtype in ("complex64", "complex128"):
        for i, shape in enumerate(SHAPES):
            for kind in KINDS if i in (0, 2, 8) else KINDS[i % 4 :: 4]:
                yield f"{dtype} {shape} {kind}", kind, dtype, shape
    for shape in LARGE:
        for dtype, kind in (
            ("float32", "unit"),
            ("float32", "wide"),
            ("int64", "int"),
            ("complex64", "odd"),
            ("bool", "int"),
        ):
            yield f"{dtype} {shape} {kind}", kind, dtype, shape


def build(lib, key, kind, dtype, shape):
    rng, n = random.Random(key), size_of(shape)
    if dtype == "bool":
        values = [rng.random() < 0.5 for _ in range(n)]
    elif dtype in INTS:
        top = 10 ** rng.randint(1, 2) if dtype in ("int8", "uint8") else 10 ** rng.randint(1, 4)
        values = [rng.randint(0 if dtype == "uint8" else -top, top) for _ in range(n)]
    elif dtype.startswith("complex"):
        values = [complex(a, b) for a, b in zip(numbers(kind, n, rng), numbers(kind, n, rng))]
    else:
        values = numbers(kind, n, rng)
    return lib.tensor(values, dtype=getattr(lib, dtype)).reshape(shape)


def look(x):
    """repr(x) with our name. That is a letter shorter, so lines may break elsewhere from a dtype on."""
    text = re.sub(r"\btorch\b", "wisp", repr(x))
    return re.sub(r",\s+(?=(size|dtype|grad_fn|requires_grad)=)", ", ", text) if "dtype=" in text else text


def plain(lib):
    return {case[0]: look(build(lib, *case)) for case in plain_tensors()}


OPTIONS = (
    {"precision": 2},
    {"precision": 0},
    {"precision": 8},
    {"threshold": 5},
    {"threshold": 0},
    {"edgeitems": 1, "threshold": 3},
    {"edgeitems": 0, "threshold": 3},
    {"edgeitems": 0},
    {"linewidth": 30},
    {"linewidth": 200},
    {"linewidth": 1},
    {"profile": "short"},
    {"profile": "full"},
    {"profile": "short", "precision": 7},
    {"sci_mode": True},
    {"sci_mode": False},
    {"sci_mode": True, "precision": 1},
)


def with_options(lib):
    found = {}
    for options in OPTIONS:
        lib.set_printoptions(**options)
        for kind, dtype, shape in (
            ("unit", "float32", (3, 7)), ("whole", "float64", (2, 2, 9)), ("wide", "float32", (25,)), ("zeros", "float32", (4,)),
            ("odd", "float32", (12,)), ("int", "int64", (50,)), ("unit", "complex64", (6, 3)), ("unit", "float32", ()),
            ("int", "bool", (3, 30)), ("unit", "float16", (0, 2)), ("unit", "float32", (1500,)),
        ):  # fmt: skip
            key = f"{options} {dtype} {shape} {kind}"
            found[key] = look(build(lib, key, kind, dtype, shape))
        lib.set_printoptions(profile="default")
    return found


def with_history(lib):
    """What stands behind the numbers, and where lines break for it."""
    found = {}
    for n in (0, 1, 4, 5, 6, 7, 8, 12, 40):
        for dtype in ("float32", "float64", "complex64"):
            x = lib.zeros(n, dtype=getattr(lib, dtype), requires_grad=True)
            found[f"leaf {n} {dtype}"] = look(x)
            found[f"mul {n} {dtype}"] = look(x * 2)
            found[f"exp {n} {dtype}"] = look(x.exp())
            found[f"detached {n} {dtype}"] = look(x.exp().detach())
            found[f"matrix {n} {dtype}"] = look(x.reshape(n, 1) + x)
    found["sum"] = look(lib.ones(3, requires_grad=True).sum())
    found["0-d leaf"] = look(lib.tensor(1.5, requires_grad=True))
    lib.set_default_dtype(lib.float64)
    for dtype in ("float32", "float64", "complex64", "complex128", "int64", "int32"):
        found[f"default float64, {dtype}"] = look(lib.ones(2, dtype=getattr(lib, dtype)))
        found[f"default float64, empty {dtype}"] = look(lib.ones(0, dtype=getattr(lib, dtype)))
    lib.set_default_dtype(lib.float32)
    return found


def small_things(lib):
    """Reprs of everything that is not a tensor, and formatted numbers."""
    found = {}
    for name in FLOATS + INTS + ("bool", "complex64", "complex128"):
        dtype = getattr(lib, name)
        found[f"dtype {name}"] = [look(dtype), re.sub("torch", "wisp", str(dtype))]
        if name in INTS:
            found[f"iinfo {name}"] = look(lib.iinfo(dtype))
        elif name != "bool":
            found[f"finfo {name}"] = look(lib.finfo(dtype))
    found["sizes"] = [look(lib.zeros(shape).shape) for shape in ((), (2,), (0, 3), (2, 3, 4))]
    found["devices"] = [
        look(lib.device("cpu")),
        str(lib.device("cpu")),
        look(lib.device("cpu", 0)),
        str(lib.device("cpu", 0)),
    ]
    found["layout"] = [
        look(lib.strided),
        look(lib.contiguous_format),
        look(lib.preserve_format),
        look(lib.channels_last),
    ]
    found["format"] = [
        f"{lib.tensor(3.14159):.2f}", f"{lib.tensor(7)}", f"{lib.tensor(7):04d}", f"{lib.tensor(True)}", f"{lib.tensor(2.5):>8}",
        f"{lib.tensor([2.5])}", f"{lib.tensor(1 + 2j):.1f}", str(lib.tensor(1.5)), f"{lib.tensor(0.1, dtype=lib.float64)}",
    ]  # fmt: skip
    return found


ORACLES = {"printing": lambda lib: {f.__name__: f(lib) for f in (plain, with_options, with_history, small_things)}}


@pytest.fixture
def want(request):
    return oracle.answers("printing", ORACLES["printing"])


@pytest.mark.parametrize("make", [plain, with_options, with_history, small_things], ids=lambda f: f.__name__)
def test_prints_like_pytorch(make, want):
    expected, got = want[make.__name__], make(wisp)
    assert got.keys() == expected.keys()
    wrong = [k for k in got if got[k] != expected[k]]
    assert not wrong, f"{len(wrong)} of {len(got)} differ; {wrong[0]}:\n{got[wrong[0]]}\nwanted:\n{expected[wrong[0]]}"


@pytest.mark.skipif(not oracle.HAS_TORCH, reason="compares PyTorch with its recorded answers")
def test_recorded_answers_are_current(want):
    assert oracle.recorded("printing") == want
