"""Every operator, recorded by wisp.compile and run again on other contents: the same as eager, or refused."""

import functools

import pytest

import wisp
from tests.ops import sampling as S
from tests.recorded_calls import TURNS, recorded, same

SAMPLES = S.load_all()


def cases():
    return [
        pytest.param(name, i, id=f"{name}{i}")
        for name, entry in SAMPLES.items()
        if not callable(entry.call)
        for i, _ in enumerate(entry.make())
    ]


def as_function(entry, args, kwargs):
    """(function of the tensors among the arguments, those tensors): one that can be read."""
    names, tensors = {}, []

    def written(value):
        if isinstance(value, wisp.Tensor):
            tensors.append(value)
            return f"t{len(tensors) - 1}"
        if isinstance(value, (list, tuple)) and any(isinstance(v, (wisp.Tensor, list, tuple)) for v in value):
            inner = ", ".join(map(written, value))
            return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
        if isinstance(value, list):
            return repr(value)
        names[f"c{len(names)}"] = value
        return f"c{len(names) - 1}"

    shown = [written(a) for a in args] + [f"{k}={written(v)}" for k, v in kwargs.items()]
    if entry.call == "method" or (not entry.call and not hasattr(wisp, entry.name)):
        call = f"{shown[0]}.{entry.name}({', '.join(shown[1:])})"
    else:
        home = entry.call.removeprefix("function")
        place = functools.reduce(getattr, filter(None, home.split(".")), wisp)
        names["op"] = getattr(place, entry.name.removeprefix(f"{home}_") if home else entry.name)
        call = f"op({', '.join(shown)})"
    exec(f"def f({', '.join(f't{i}' for i in range(len(tensors)))}):\n    return {call}", names)  # noqa: S102 (so that it has bytecode of its own)
    return names["f"], tensors


def outcome(f, tensors):
    try:
        return f(*tensors)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("name, i", cases())
def test_every_operator(name, i):
    entry = SAMPLES[name]
    sample = list(entry.make())[i]
    dtype = (sample.dtypes or entry.dtypes)[0]
    args, kwargs, _ = sample.build(wisp, dtype, f"{name}/{i}")
    f, tensors = as_function(entry, args, kwargs)
    try:
        f(*tensors)
    except Exception:
        pytest.skip("the sample fails")
    fast, why_not = recorded(f, *tensors)
    args, kwargs, _ = sample.build(wisp, dtype, f"{name}/{i}/other contents")
    others = as_function(entry, args, kwargs)[1]
    seed = wisp.get_rng_state()
    want = outcome(f, others)
    for _ in range(TURNS if why_not is None else 2):
        wisp.set_rng_state(seed)
        got = outcome(fast, others)
        assert same(got, want) or "empty" in name, (why_not, got, want)
    if why_not is None and (entry.second_order or sample.grad):
        compare_gradients(f, fast, others)


def compare_gradients(f, fast, tensors):
    """Of what is differentiable."""

    def run(g):
        inputs = [t.detach().clone().requires_grad_() if t.is_floating_point() else t for t in tensors]
        results = [r for r in S.flatten(outcome(g, inputs)) if isinstance(r, wisp.Tensor) and r.requires_grad]
        wanted = [t for t in inputs if t.requires_grad]
        if not results or not wanted:
            return None
        grads = wisp.autograd.grad([r.sum() for r in results if not r.is_complex()], wanted, allow_unused=True)
        return [type(r.grad_fn).__name__ for r in results], list(grads)

    try:
        want = run(f)
    except RuntimeError:
        return
    for _ in range(4):
        assert same(run(fast), want)
