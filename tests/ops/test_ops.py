"""Properties of every operator, driven by the table and its samples."""

import functools
import importlib.util

import numpy as np
import pytest

import wisp
from tests.ops import golden
from tests.ops import sampling as S

SAMPLES = S.load_all()
TABLE, ALIASES = wisp._C._op_table()
BASES = {}
for row in TABLE:
    BASES.setdefault(row["base"], []).append(row)
POINTWISE, IN_PLACE, OUT, IN_PLACE_ONLY, FACTORY, RANDOM = 1 << 0, 1 << 4, 1 << 5, 1 << 9, 1 << 6, 1 << 3
INTERNAL = 1 << 5
HAS_TORCH = importlib.util.find_spec("torch") is not None


@functools.cache
def torch():
    import torch

    return torch


def traits(name):
    bits = 0
    for row in BASES.get(ALIASES.get(name, name), []):
        bits |= row["traits"]
    return bits


def cases(keep=lambda entry, sample: True, dtypes=None):
    """(op, index, dtype) for all samples; dtypes=None: those the sample allows."""
    out = []
    for name, entry in SAMPLES.items():
        for i, sample in enumerate(entry.make()):
            if not keep(entry, sample):
                continue
            for dtype in sample.dtypes or entry.dtypes:
                if dtypes is None or dtype in dtypes:
                    out.append(pytest.param(name, i, dtype, id=f"{name}{i}-{dtype}"))
    return out


def get(name, i):
    entry = SAMPLES[name]
    return entry, list(entry.make())[i]


def key_of(name, i, dtype):
    return f"{name}/{i}/{dtype}"


def call(lib, entry, sample, dtype, i, **options):
    # Inputs are the same for all dtypes of a sample, up to rounding.
    args, kwargs, leaves = sample.build(lib, dtype, f"{entry.name}/{i}", **options)
    how = entry.call
    if lib is not wisp:
        how = sample.ref or entry.ref or entry.call
    return S.resolve(lib, how, entry.name)(*args, **kwargs), leaves


def reference(entry, sample, name, i, dtype):
    """What PyTorch answers: live where it is installed, else as recorded; its refusal, as text."""
    if HAS_TORCH:
        try:
            result, _ = call(torch(), entry, sample, dtype, i)
        except (NotImplementedError, RuntimeError, TypeError) as e:
            return f"torch: {e}"
        return [(S.to_numpy(t), S.dtype_name(t)) for t in S.flatten(result)]
    return golden.load(key_of(name, i, dtype))


@pytest.mark.parametrize("name, i, dtype", cases())
def test_values(name, i, dtype):
    """Values, shapes and dtypes are PyTorch's."""
    entry, sample = get(name, i)
    want = reference(entry, sample, name, i, dtype)
    got, _ = call(wisp, entry, sample, dtype, i)
    if isinstance(want, str):
        pytest.skip(want.splitlines()[0])
    got = S.flatten(got)
    assert len(got) == len(want)
    for k, (t, (value, dtype_name)) in enumerate(zip(got, want)):
        if hasattr(t, "dtype"):
            assert S.dtype_name(t) == dtype_name
        S.assert_close(S.to_numpy(t), value, dtype_name, sample.tol, f"result {k}")


@pytest.mark.parametrize("name, i, dtype", cases(lambda e, s: s.strided, ("float32", "int64", "bool")))
def test_noncontiguous(name, i, dtype):
    """Strided inputs give the same results as consecutive ones."""
    entry, sample = get(name, i)
    plain, _ = call(wisp, entry, sample, dtype, i)
    strided, _ = call(wisp, entry, sample, dtype, i, noncontiguous=True)
    if traits(name) & RANDOM:
        pytest.skip("random")
    for a, b in zip(S.flatten(plain), S.flatten(strided)):
        S.assert_close(S.to_numpy(b), S.to_numpy(a), dtype, 1e-5)


def float64_grad(entry, sample):
    return sample.grad and "float64" in (sample.dtypes or entry.dtypes) and not traits(entry.name) & RANDOM


@pytest.mark.parametrize("name, i, dtype", cases(float64_grad, ("float64", "complex128")))
def test_gradient(name, i, dtype):
    """Reverse-mode derivatives agree with finite differences."""
    entry, sample = get(name, i)
    args, kwargs, leaves = sample.build(wisp, dtype, f"{name}/{i}", requires_grad=True)
    if not leaves:
        pytest.skip("no differentiable input")
    fn = S.resolve(wisp, entry.call, name)
    wisp.autograd.gradcheck(lambda *_: fn(*args, **kwargs), leaves, eps=1e-6, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name, i, dtype", cases(lambda e, s: float64_grad(e, s) and e.second_order, ("float64",)))
def test_second_derivative(name, i, dtype):
    """The derivative can itself be differentiated."""
    entry, sample = get(name, i)
    args, kwargs, leaves = sample.build(wisp, dtype, f"{name}/{i}", requires_grad=True)
    if not leaves:
        pytest.skip("no differentiable input")
    fn = S.resolve(wisp, entry.call, name)
    wisp.autograd.gradgradcheck(lambda *_: fn(*args, **kwargs), leaves, eps=1e-6, atol=1e-4, rtol=1e-3)


def first_is_tensor(entry, sample):
    return bool(sample.args) and isinstance(sample.args[0], S.Spec)


@pytest.mark.parametrize(
    "name, i, dtype", cases(lambda e, s: traits(e.name) & IN_PLACE and first_is_tensor(e, s), ("float32", "int64"))
)
def test_in_place(name, i, dtype):
    """x.op_(...) leaves in x what op(x, ...) gives, and counts as a write."""
    entry, sample = get(name, i)
    if entry.call not in ("", "function", "method"):
        pytest.skip("called differently")
    if traits(name) & (RANDOM | IN_PLACE_ONLY):
        pytest.skip("has no functional form to compare with")
    want, _ = call(wisp, entry, sample, dtype, i)
    args, kwargs, _ = sample.build(wisp, dtype, f"{name}/{i}")
    x = args[0].clone()
    if x.shape != want.shape and not traits(name) & (1 << 2):
        with pytest.raises(RuntimeError):
            getattr(x, name + "_")(*args[1:], **kwargs)
        return
    if not wisp.can_cast(want.dtype, x.dtype):
        with pytest.raises(RuntimeError, match="can't be cast"):
            getattr(x, name + "_")(*args[1:], **kwargs)
        return
    version = x._version
    got = getattr(x, name + "_")(*args[1:], **kwargs)
    assert got is x
    assert x._version > version or traits(name) & (1 << 2)
    S.assert_close(S.to_numpy(x), S.to_numpy(want.to(x.dtype)), dtype, 1e-6)


@pytest.mark.parametrize("name, i, dtype", cases(lambda e, s: traits(e.name) & OUT, ("float32", "int64")))
def test_out(name, i, dtype):
    """op(..., out=y) leaves in y what op(...) gives, whether y has the right shape, none, or odd strides."""
    entry, sample = get(name, i)
    if traits(name) & RANDOM or entry.call == "method":
        pytest.skip("random, or a method")
    args, kwargs, _ = sample.build(wisp, dtype, f"{name}/{i}")
    fn = S.resolve(wisp, entry.call, name)
    want = S.flatten(fn(*args, **kwargs))
    single = len(want) == 1
    empty = tuple(wisp.empty(0, dtype=w.dtype) for w in want)
    strided = tuple(S.lay_out(wisp, wisp.zeros(tuple(w.shape), dtype=w.dtype), "strided") for w in want)
    for outs in (empty, strided):
        try:
            returned = fn(*args, **kwargs, out=outs[0] if single else outs)
        except TypeError as e:
            if "unexpected keyword argument 'out'" in str(e) or "invalid combination" in str(e):
                pytest.skip("this overload has no out=")
            raise
        assert S.flatten(returned)[0] is outs[0]
        for w, o in zip(want, outs):
            S.assert_close(S.to_numpy(o), S.to_numpy(w), dtype, 1e-6)


@pytest.mark.parametrize("name, i, dtype", cases(dtypes=("float32",)))
def test_threads_do_not_matter(name, i, dtype):
    """One thread and two give bit-equal results."""
    entry, sample = get(name, i)
    if traits(name) & RANDOM:
        pytest.skip("random")
    wisp.set_num_threads(1)
    one, _ = call(wisp, entry, sample, dtype, i)
    wisp.set_num_threads(2)
    two, _ = call(wisp, entry, sample, dtype, i)
    for a, b in zip(S.flatten(one), S.flatten(two)):
        np.testing.assert_array_equal(S.to_numpy(a), S.to_numpy(b))


def error_cases():
    out = []
    for name, makers in S.ERRORS.items():
        for k, make in enumerate(makers):
            for i, sample in enumerate(make()):
                out.append(pytest.param(name, k, i, id=f"{name}{k}.{i}"))
    return out


@pytest.mark.parametrize(
    "name, i, dtype", cases(lambda e, s: not traits(e.name) & RANDOM, ("float32", "int64", "complex64"))
)
def test_lazy_is_the_same(name, i, dtype):
    """Put off and fused with calls around it, an operator computes the same numbers and gradients."""
    entry, sample = get(name, i)
    differentiable = dtype != "int64" and sample.grad

    def run():
        result, leaves = call(wisp, entry, sample, dtype, i, requires_grad=differentiable)
        outs = [t * 2 + t for t in S.flatten(result) if isinstance(t, wisp.Tensor)]
        wanted = [t for t in outs if t.requires_grad]
        if wanted:
            wisp.autograd.backward(wanted, [wisp.ones_like(t) for t in wanted])
        return outs + [leaf.grad for leaf in leaves if leaf.grad is not None]

    try:
        expected = run()
    except RuntimeError as e:
        with pytest.raises(type(e)), wisp.lazy(least=0):
            run()
            wisp.lazy.run()
        return
    with wisp.lazy(least=0):
        got = run()
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        assert wisp.equal(one.detach().isnan(), other.detach().isnan())
        assert wisp.equal(one.detach().nan_to_num(), other.detach().nan_to_num())


@pytest.mark.parametrize("name, k, i", error_cases())
def test_errors(name, k, i):
    """Bad arguments raise the declared exception with a message that says why."""
    sample = list(S.ERRORS[name][k]())[i]
    dtype = (sample.dtypes or ("float32",))[0]
    args, kwargs, _ = sample.build(wisp, dtype, f"{name}/error{i}")
    entry = SAMPLES.get(name)
    with pytest.raises(sample.exception, match=sample.message):
        S.resolve(wisp, entry.call if entry else "", name)(*args, **kwargs)


def documented():
    return [pytest.param(row, id=row["name"]) for row in TABLE if not row["homes"] & INTERNAL]


@pytest.mark.parametrize("row", documented())
def test_documented(row):
    """Every public operator has a text and an example, and the example prints what it says."""
    import doctest

    examples = doctest.DocTestParser().get_examples(row["doc"])
    assert examples, f"{row['name']} has no example"
    test = doctest.DocTest(examples, {"wisp": wisp}, row["name"], None, None, row["doc"])
    failures = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=failures.append, clear_globs=False)
    assert not runner.failures, "".join(failures)


def test_every_operator_has_samples():
    """An operator without samples would go untested."""
    missing = []
    for base, rows in BASES.items():
        if all(r["homes"] & INTERNAL for r in rows) or any(r["traits"] & (FACTORY | RANDOM) for r in rows):
            continue
        public = base + "_" if any(r["traits"] & IN_PLACE_ONLY for r in rows) else base
        if base not in SAMPLES and public not in SAMPLES:
            missing.append(base)
    assert not missing, f"no samples for {missing}"


def record():
    """Writes what values are compared with where PyTorch is not installed."""
    answers = {}
    for name, entry in SAMPLES.items():
        for i, sample in enumerate(entry.make()):
            for dtype in sample.dtypes or entry.dtypes:
                answers[key_of(name, i, dtype)] = reference(entry, sample, name, i, dtype)
    print(f"{len(answers)} samples, {golden.save(answers)} bytes")


if __name__ == "__main__":
    record()
