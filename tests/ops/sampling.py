"""Samples of operator calls, written once and turned into tensors of any library and dtype.

A family file (samples_<family>.py) says how operators are called:

    @samples("sum", "mean")
    def reductions():
        yield S(T(2, 3))
        yield S(T(2, 3), 0, keepdim=True)

    @errors("sum")
    def bad_reductions():
        yield E(IndexError, "Dimension out of range", T(2, 3), 5)

T, I, B and A stand for tensors; their contents depend on nothing but the sample, so that values recorded from another
library stay comparable.
"""

from __future__ import annotations

import dataclasses
import importlib
import pathlib
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

FLOAT = ("float32", "float64", "float16", "bfloat16")
INT = ("int64", "int32", "int16", "int8", "uint8")
COMPLEX = ("complex64", "complex128")
REAL = FLOAT + INT
NUMBER = REAL + COMPLEX
ALL = ("bool",) + NUMBER


@dataclasses.dataclass
class Spec:
    """A tensor to be: shape, range, and which dtype it gets ('sample': the one under test)."""

    shape: tuple
    low: float = -2.0
    high: float = 2.0
    dtype: str = "sample"
    grad: bool = True
    values: Any = None
    layout: str = "contiguous"  # or "transposed", "expanded", "strided", "offset"

    def numpy(self, dtype: str, key: str) -> np.ndarray:
        dtype = dtype if self.dtype == "sample" else self.dtype
        if self.values is not None:
            return np.asarray(self.values).astype(storage_dtype(dtype))
        rng = np.random.RandomState(zlib.crc32(key.encode()) & 0x7FFFFFFF)
        if dtype == "bool":
            return np.asarray(rng.rand(*self.shape) < 0.5)
        if dtype in INT:
            low = max(self.low, 0) if dtype == "uint8" else self.low
            return np.asarray(rng.randint(int(np.floor(low)), int(np.ceil(self.high)) + 1, self.shape)).astype(dtype)
        a = np.asarray(rng.uniform(self.low, self.high, self.shape))
        if dtype in COMPLEX:
            a = a + 1j * np.asarray(rng.uniform(self.low, self.high, self.shape))
        return np.asarray(a).astype(storage_dtype(dtype))


def storage_dtype(dtype: str) -> str:
    return "float32" if dtype == "bfloat16" else dtype


def T(*shape, low=-2.0, high=2.0, grad=True, dtype="sample", layout="contiguous") -> Spec:
    """A tensor of the dtype under test."""
    return Spec(tuple(shape), low, high, dtype, grad, None, layout)


def I(*shape, low=0, high=5) -> Spec:
    """A tensor of int64 from low to high, inclusive."""
    return Spec(tuple(shape), low, high, "int64", False)


def B(*shape) -> Spec:
    """A tensor of bools."""
    return Spec(tuple(shape), 0, 1, "bool", False)


def A(values, dtype="sample", grad=True) -> Spec:
    """A tensor of given values."""
    return Spec(np.shape(values), dtype=dtype, grad=grad and dtype == "sample", values=values)


class S:
    """One call. Keywords starting with an underscore describe the test, not the call:

    _dtypes    which dtypes to try (default: those of the decorator)
    _grad      False: do not check derivatives
    _tol       relative tolerance for float32 (default 1e-5 or so)
    _ref       what to call in the reference library instead of the same name
    _strided   False: the result depends on the strides of its inputs, or they must be consecutive
    """

    def __init__(self, *args, _dtypes=None, _grad=True, _tol=None, _ref=None, _strided=True, **kwargs):
        self.args, self.kwargs = args, kwargs
        self.dtypes, self.grad, self.tol, self.ref, self.strided = _dtypes, _grad, _tol, _ref, _strided

    def build(self, lib, dtype: str, key: str, requires_grad=False, noncontiguous=False):
        """(args, kwargs, leaves): the call's arguments as tensors of `lib`."""
        leaves: list = []

        def make(x, path):
            if isinstance(x, Spec):
                return make_tensor(lib, x, dtype, f"{key}/{path}", requires_grad, noncontiguous, leaves)
            if isinstance(x, (list, tuple)) and any(isinstance(v, (Spec, list, tuple)) for v in x):
                return type(x)(make(v, f"{path}.{i}") for i, v in enumerate(x))
            if isinstance(x, Dtype):
                return getattr(lib, x.name)
            return x

        args = tuple(make(a, str(i)) for i, a in enumerate(self.args))
        kwargs = {k: make(v, k) for k, v in self.kwargs.items()}
        return args, kwargs, leaves

    def __repr__(self):
        parts = [short(a) for a in self.args] + [f"{k}={short(v)}" for k, v in self.kwargs.items()]
        return "(" + ", ".join(parts) + ")"


@dataclasses.dataclass
class Dtype:
    """A dtype as an argument: Dtype("float64")."""

    name: str


class E(S):
    """A call that must fail with this exception and a message containing this text."""

    def __init__(self, exception, message, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.exception, self.message = exception, message


def short(x) -> str:
    if isinstance(x, Spec):
        mark = {"int64": "I", "bool": "B"}.get(x.dtype, "T")
        return mark + str(list(x.shape)).replace(" ", "")
    if isinstance(x, (list, tuple)):
        return "[" + ",".join(short(v) for v in x) + "]"
    return str(x)


def make_tensor(lib, spec: Spec, dtype: str, key: str, requires_grad, noncontiguous, leaves):
    wanted = dtype if spec.dtype == "sample" else spec.dtype
    array = spec.numpy(dtype, key)
    t = lib.tensor(array.tolist(), dtype=getattr(lib, wanted)).reshape(array.shape)
    differentiable = wanted.startswith(("float", "bfloat", "complex"))
    layout = "strided" if noncontiguous and spec.layout == "contiguous" else spec.layout
    t = lay_out(lib, t, layout)
    if requires_grad and differentiable and spec.grad:
        t = t.detach().requires_grad_()
        leaves.append(t)
    return t


def lay_out(lib, t, layout: str):
    """The same values with other strides."""
    if layout == "contiguous" or t.dim() == 0:
        return t
    if layout == "transposed":
        order = list(range(t.dim()))[::-1]
        return t.permute(order).contiguous().permute(order)
    if layout == "strided":  # every second element of something larger
        big = lib.zeros(tuple(2 * n for n in t.shape), dtype=t.dtype)
        view = big[tuple(slice(0, None, 2) for _ in t.shape)]
        view.copy_(t)
        return view
    if layout == "offset":
        big = lib.zeros((t.numel() + 3,), dtype=t.dtype)
        big[3:].copy_(t.reshape(-1))
        return big[3:].view(t.shape)
    if layout == "expanded":
        return t[:1].expand(t.shape) if t.shape[0] else t
    raise ValueError(layout)


@dataclasses.dataclass
class OpSamples:
    name: str
    make: Callable
    dtypes: tuple
    call: str  # "function", "method", or a dotted path below the library
    ref: Callable | str | None
    second_order: bool


SAMPLES: dict[str, OpSamples] = {}
ERRORS: dict[str, list[Callable]] = {}


def samples(*names, dtypes=FLOAT, call=None, ref=None, second_order=True):
    """Declares samples for operators of these names. `call` defaults to the function, or the method if there is none."""

    def register(make):
        for name in names:
            assert name not in SAMPLES, f"{name} has samples already"
            SAMPLES[name] = OpSamples(name, make, tuple(dtypes), call or "", ref, second_order)
        return make

    return register


def errors(*names):
    def register(make):
        for name in names:
            ERRORS.setdefault(name, []).append(make)
        return make

    return register


def resolve(lib, entry_call: str, name: str):
    """The callable for an operator in wisp or torch."""
    if callable(entry_call):
        return lambda *a, **k: entry_call(lib, *a, **k)
    if entry_call == "method" or (not entry_call and not hasattr(lib, name)):
        return lambda x, *a, **k: getattr(x, name)(*a, **k)
    if entry_call in ("", "function"):
        return getattr(lib, name)
    obj = lib
    for part in entry_call.split("."):
        obj = getattr(obj, part)
    return getattr(obj, name.removeprefix(f"{entry_call}_"))


def load_all():
    for path in sorted(pathlib.Path(__file__).parent.glob("samples_*.py")):
        importlib.import_module(f"tests.ops.{path.stem}")
    return SAMPLES


def flatten(result):
    """Tensors of a result, in order, without those that were not asked for."""
    if isinstance(result, (tuple, list)):
        return [t for r in result for t in flatten(r)]
    return [] if result is None else [result]


def to_numpy(t):
    """A result as an array, whichever library made it; bfloat16 as float32."""
    if not hasattr(t, "detach"):
        return np.asarray(t)
    t = t.detach()
    name = str(t.dtype).split(".")[-1]
    if name == "bfloat16":
        t = t.float()
    if hasattr(t, "resolve_conj"):
        t = t.resolve_conj()
    return np.array(t.tolist(), dtype=storage_dtype(name)).reshape(tuple(t.shape))


def dtype_name(t) -> str:
    return str(t.dtype).split(".")[-1] if hasattr(t, "dtype") else type(t).__name__


TOLERANCE = {
    "float64": 1e-10,
    "complex128": 1e-10,
    "float32": 2e-5,
    "complex64": 2e-5,
    "float16": 2e-3,
    "bfloat16": 1.6e-2,
}


def assert_close(got, want, dtype, tol=None, what=""):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, want {want.shape}"
    if got.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want, err_msg=what)
        return
    rtol = TOLERANCE.get(dtype, 1e-6)
    if tol and dtype in ("float32", "complex64"):
        rtol = tol
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol, equal_nan=True, err_msg=what)
