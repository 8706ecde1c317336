"""Forward mode and vmap of every operator, on the samples of the table."""

import math

import numpy
import pytest

import wisp
from tests.ops import sampling as S
from tests.ops.test_ops import RANDOM, cases, float64_grad, get, traits


def differentiable_call(name, i, dtype):
    """(function of the leaves, leaves) of a sample; skips what has no differentiable input."""
    entry, sample = get(name, i)
    args, kwargs, leaves = sample.build(wisp, dtype, f"{name}/{i}", requires_grad=True)
    if not leaves:
        pytest.skip("no differentiable input")
    fn = S.resolve(wisp, entry.call, name)
    places = {id(leaf): k for k, leaf in enumerate(leaves)}

    def call(*values):
        def put(x):
            if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
                return type(x)(put(v) for v in x)
            return values[places[id(x)]] if id(x) in places else x

        results = S.flatten(fn(*(put(a) for a in args), **{k: put(v) for k, v in kwargs.items()}))
        if name == "batch_norm":
            results = results[:1]  # the rest are running statistics, which have no derivative
        return tuple(r for r in results if hasattr(r, "dtype") and (r.is_floating_point() or r.is_complex()))

    return call, tuple(leaf.detach() for leaf in leaves)


def random_like(tensors, seed):
    generator = wisp.Generator().manual_seed(seed)
    return tuple(wisp.randn(t.shape, dtype=t.dtype, generator=generator) for t in tensors)


def inner(a, b):
    return sum((wisp.vdot(x.reshape(-1), y.reshape(-1)).real if x.is_complex() else (x * y).sum()).item()
               for x, y in zip(a, b))  # fmt: skip


@pytest.mark.parametrize("name, i, dtype", cases(float64_grad, ("float64", "complex128")))
def test_forward_mode(name, i, dtype):
    """The forward derivative is the transpose of the reverse one: <u, Jv> = <J'u, v>."""
    call, inputs = differentiable_call(name, i, dtype)
    if not call(*inputs):
        pytest.skip("no differentiable result")
    v = random_like(inputs, 1)
    outputs, pushed = wisp.func.jvp(call, inputs, v)
    u = random_like(outputs, 2)
    for out, tangent in zip(outputs, pushed):
        assert tangent.shape == out.shape and tangent.dtype == out.dtype
        assert not tangent.requires_grad
    pulled = wisp.func.vjp(call, *inputs)[1](u)
    left, right = inner(u, pushed), inner(pulled, v)
    if (math.isnan(left) and math.isnan(right)) or all(x.numel() == 0 for x in inputs):
        return  # the derivative is not defined there
    scale = max(abs(left), abs(right), sum(float(abs(x).sum()) for x in pulled) * 1e-3, 1e-6)
    assert abs(left - right) <= 1e-9 * scale + 1e-12


@pytest.mark.parametrize("name, i, dtype", cases(float64_grad, ("float64",)))
def test_forward_mode_by_differences(name, i, dtype):
    """The forward derivative agrees with finite differences."""
    call, inputs = differentiable_call(name, i, dtype)
    if not call(*inputs):
        pytest.skip("no differentiable result")
    v = random_like(inputs, 3)
    outputs, pushed = wisp.func.jvp(call, inputs, v)
    if any(not bool(wisp.isfinite(abs(t)).all()) for t in (*outputs, *pushed)):
        pytest.skip("not finite there")
    step = 1e-6
    ahead = call(*(x + step * d for x, d in zip(inputs, v)))
    behind = call(*(x - step * d for x, d in zip(inputs, v)))
    for up, down, tangent in zip(ahead, behind, pushed):
        want = S.to_numpy((up - down) / (2 * step))
        numpy.testing.assert_allclose(S.to_numpy(tangent), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "name, i, dtype", cases(lambda e, s: float64_grad(e, s) and e.second_order, ("float64", "complex128"))
)
def test_forward_over_reverse(name, i, dtype):
    """Second derivatives are symmetric: forward mode of the gradient gives what reverse mode of it gives."""
    call, inputs = differentiable_call(name, i, dtype)
    outputs = call(*inputs)
    if not outputs:
        pytest.skip("no differentiable result")
    u, v = random_like(outputs, 2), random_like(inputs, 1)

    def pulled(*values):
        return wisp.func.vjp(call, *values)[1](u)

    gradients, pushed = wisp.func.jvp(pulled, inputs, v)
    for want, got, gradient in zip(wisp.func.vjp(pulled, *inputs)[1](v), pushed, gradients):
        if bool(wisp.isfinite(abs(gradient)).all()):  # elsewhere it has no derivative
            numpy.testing.assert_allclose(S.to_numpy(got), S.to_numpy(want), rtol=1e-8, atol=1e-8)


def batchable(entry, sample):
    return not traits(entry.name) & RANDOM and entry.name not in DATA_DEPENDENT


# Their results have as many elements as the data say.
DATA_DEPENDENT = {
    "argwhere", "bincount", "masked_select", "nonzero", "nonzero_static", "unique", "unique_consecutive", "histogram",
    "histogramdd", "combinations", "repeat_interleave", "equal", "is_nonzero", "item", "allclose",
}  # fmt: skip


# What vmap cannot mean: numbers read from a sample, and writes of different samples to one place.
IMPOSSIBLE = ("needs the values of a tensor", "into a tensor that they share")


def tensors_in(x):
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return [t for v in x for t in tensors_in(v)]
    return [x] if isinstance(x, wisp.Tensor) else []


@pytest.mark.parametrize("name, i, dtype", cases(batchable, ("float32",)))
def test_vmap(name, i, dtype):
    """vmap over a batch gives what one call per sample gives."""
    entry, sample = get(name, i)
    args, kwargs, _ = sample.build(wisp, dtype, f"{name}/{i}")
    fn = S.resolve(wisp, entry.call, name)
    tensors = tensors_in([args, kwargs])
    if not tensors:
        pytest.skip("no tensor")

    def replaced(values):
        table = {id(t): v for t, v in zip(tensors, values)}

        def put(x):
            if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
                return type(x)(put(v) for v in x)
            return table.get(id(x), x)

        results = fn(*(put(a) for a in args), **{k: put(v) for k, v in kwargs.items()})
        return tuple(r for r in S.flatten(results) if isinstance(r, wisp.Tensor))

    try:
        want = replaced(tensors)
    except Exception as e:
        pytest.skip(str(e))
    # The first tensor differs between samples, the others are shared; then all are batched.
    other = tensors[0].flip(tuple(range(tensors[0].dim()))) if tensors[0].dim() else tensors[0]
    try:
        want2 = replaced([other, *tensors[1:]])
    except Exception:
        other, want2 = tensors[0], want
    if [w.shape for w in want] != [w.shape for w in want2]:
        pytest.skip("the shape depends on the values")
    for dims in ((0, *[None] * (len(tensors) - 1)), (0,) * len(tensors)):
        batch = [wisp.stack([tensors[0], other])]
        batch += [wisp.stack([t, t]) if d == 0 else t for t, d in zip(tensors[1:], dims[1:])]
        try:
            got = wisp.func.vmap(lambda *v: replaced(v), in_dims=dims)(*batch)
        except RuntimeError as e:
            if "vmap: " in str(e) and any(reason in str(e) for reason in IMPOSSIBLE):
                pytest.skip(str(e))
            raise
        for g, a, b in zip(got, want, want2):
            assert g.dtype == a.dtype
            S.assert_close(S.to_numpy(g[0]), S.to_numpy(a), dtype, 1e-5)
            S.assert_close(S.to_numpy(g[1]), S.to_numpy(b), dtype, 1e-5)
