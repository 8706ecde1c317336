"""Adafactor, Muon and L-BFGS, whose steps are native: the same numbers as their formulas written with operators."""

from math import sqrt

import numpy as np
import pytest

import wisp
from wisp import nn, optim
from wisp.optim import variants

EPS = {wisp.float64: 2.0**-52, wisp.float32: 2.0**-23, wisp.float16: 2.0**-10, wisp.bfloat16: 2.0**-7}


# --- the formulas, one parameter at a time


def adafactor(param, grad, state, lr, beta2_decay, eps, d, weight_decay):
    (eps1, eps2), step = eps, state["step"].item()
    new = step**beta2_decay
    rate = max(eps2, param.norm(2).item() / sqrt(param.numel())) * min(lr, 1 / sqrt(step))
    param.mul_(1 - lr * weight_decay)
    if param.dim() < 2:
        state["variance"].lerp_(grad * grad, new)
        estimate = state["variance"].clone()
    else:
        rows, columns = state["row_var"], state["col_var"]
        rows.lerp_(grad.norm(dim=-1, keepdim=True).square() / grad.shape[-1], new)
        columns.lerp_(grad.norm(dim=-2, keepdim=True).square() / grad.shape[-2], new)
        estimate = (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=eps1))
    update = estimate.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
    excess = update.norm(2).item() / (sqrt(update.numel()) * d)
    param.add_(update, alpha=-rate / max(1.0, excess))


def orthogonalized(matrix, coefficients, steps, eps):
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    found = matrix.bfloat16()
    found = found.t() if tall else found
    found = found / found.norm().clamp(min=eps)
    for _ in range(steps):
        gram = found @ found.t()
        found = found.addmm(gram.addmm(gram, gram, beta=b, alpha=c), found, beta=a)
    return found.t() if tall else found


def muon(param, grad, buffer, lr, weight_decay, momentum, nesterov, adjust_lr_fn):
    rows, columns = param.shape
    rate = lr * (0.2 * sqrt(max(rows, columns)) if adjust_lr_fn else sqrt(max(1, rows / columns)))
    buffer.lerp_(grad, 1 - momentum)
    update = grad.lerp(buffer, momentum) if nesterov else buffer
    update = orthogonalized(update, (3.4445, -4.775, 2.0315), 5, 1e-7)
    param.mul_(1 - lr * weight_decay).add_(update.to(param.dtype), alpha=-rate)
    return rate


def direction(grad, changes, steps, inverses, scale):
    found, weights = grad.neg(), []
    for change, step, inverse in reversed(list(zip(changes, steps, inverses))):
        weights.insert(0, step.dot(found) * inverse)
        found = found - change * weights[0]
    found = found * scale
    for change, step, inverse, weight in zip(changes, steps, inverses, weights):
        found = found + step * (weight - change.dot(found) * inverse)
    return found, weights


# --- the steps

# Vectors and numbers, matrices, stacks of them (convolutions), and enough of each to be cut into pieces.
SHAPES = [(), (7,), (1, 5), (5, 1), (4, 3), (3, 4, 2), (16, 8, 3, 3), (40000,), (300, 301), (3, 20000), (20000, 2)]


def parameters(shapes, dtype, seed=0):
    wisp.manual_seed(seed)
    params = [nn.Parameter(wisp.randn(*shape).to(dtype)) for shape in shapes]
    new_gradients(params, seed + 1)
    return params


def new_gradients(params, seed):
    wisp.manual_seed(seed)
    for param in params:
        param.grad = wisp.randn(*param.shape).to(param.dtype)


def assert_near(got, want, dtype, what):
    """Equal up to rounding, relative to the largest element."""
    error = (got.double() - want.double()).abs().max().item()
    assert error <= 16 * EPS[dtype] * max(1e-3, want.double().abs().max().item()), (what, error)


ADAFACTOR = [
    {},
    {"lr": 0.3, "d": 2.0, "weight_decay": 0.1},
    {"eps": (1e-2, 0.5), "beta2_decay": -0.5, "maximize": True},
]


@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64, wisp.bfloat16])
@pytest.mark.parametrize("settings", ADAFACTOR, ids=str)
def test_adafactor_is_its_formula(settings, dtype):
    params, wanted = parameters(SHAPES, dtype), [p.detach().double() for p in parameters(SHAPES, dtype)]
    optimizer = optim.Adafactor(params, **settings)
    states = [{k: v.double() for k, v in optim.Adafactor._start(w).items()} for w in wanted]
    given = {"lr": 1e-2, "beta2_decay": -0.8, "eps": (EPS[dtype], 1e-3), "d": 1.0, "weight_decay": 0.0} | settings
    sign = -1 if given.pop("maximize", False) else 1
    for step in range(1, 4):
        optimizer.step()
        for param, want, state in zip(params, wanted, states):
            state["step"] += 1
            adafactor(want, sign * param.grad.double(), state, **given)
            assert_near(param, want, dtype, (step, param.shape))
            for name in state:
                assert_near(optimizer.state[param][name], state[name], dtype, (name, param.shape))
        new_gradients(params, step)


MATRICES = [(1, 1), (3, 5), (5, 3), (64, 64), (100, 40), (40, 300), (150, 151), (1, 9000), (9000, 1)]
MUON = [{}, {"nesterov": False, "weight_decay": 0.5}, {"adjust_lr_fn": "match_rms_adamw", "momentum": 0.5}]


@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64, wisp.bfloat16])
@pytest.mark.parametrize("settings", MUON, ids=str)
def test_muon_is_its_formula(settings, dtype):
    params, wanted = parameters(MATRICES, dtype), [p.detach().double() for p in parameters(MATRICES, dtype)]
    optimizer, buffers = optim.Muon(params, lr=0.1, **settings), [wisp.zeros_like(w) for w in wanted]
    given = {"weight_decay": 0.1, "momentum": 0.95, "nesterov": True, "adjust_lr_fn": None} | settings
    for step in range(1, 4):
        optimizer.step()
        for param, want, buffer in zip(params, wanted, buffers):
            rate = muon(want, param.grad.double(), buffer, 0.1, **given)
            # An element of the update may have been rounded to the other neighbour in bfloat16.
            error = (param.double() - want).abs().max().item()
            rounding = EPS[dtype] * want.abs().max().item()
            assert error <= step * (2 * rounding + rate * 2.0**-6), (step, param.shape)
            assert_near(optimizer.state[param]["momentum_buffer"], buffer, dtype, param.shape)
        new_gradients(params, step)


def test_muon_makes_updates_nearly_orthogonal():
    (param,) = parameters([(20, 50)], wisp.float64)
    before = param.detach().clone()
    optim.Muon([param], lr=1.0, weight_decay=0.0).step()
    sizes = wisp.linalg.svdvals(before - param.detach())
    assert 0.6 < sizes.min().item() < sizes.max().item() < 1.3


def history(n, pairs, dtype):
    """A gradient, and changes of gradients with steps that go the same way."""
    wisp.manual_seed(n)
    changes = [wisp.randn(n, dtype=dtype) for _ in range(pairs)]
    steps = [0.3 * change + 0.1 * wisp.randn(n, dtype=dtype) for change in changes]
    return wisp.randn(n, dtype=dtype), changes, steps, [1 / c.dot(s) for c, s in zip(changes, steps)]


@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64])
@pytest.mark.parametrize(("n", "pairs"), [(1, 1), (5, 0), (7, 3), (1000, 10), (50001, 4)])
def test_the_direction_of_lbfgs_is_its_formula(n, pairs, dtype):
    given = history(n, pairs, dtype)
    want, weights = direction(*([t.double() for t in v] if isinstance(v, list) else v.double() for v in given), 0.7)
    got, got_weights = given[0]._lbfgs_direction(*given[1:], 0.7)
    assert_near(got, want, dtype, "direction")
    assert got_weights.shape == (pairs,) and got.dtype == got_weights.dtype == dtype
    if pairs:
        assert_near(got_weights, wisp.stack(weights), dtype, "weights")


@pytest.mark.parametrize("n", [0, 3, 40000])
def test_the_change_of_a_step_of_lbfgs(n):
    wisp.manual_seed(1)
    grad, last, along = (wisp.randn(n, dtype=wisp.float64) for _ in range(3))
    change, step, curvature, square = grad._lbfgs_change(last, along, 0.25)
    assert change.equal(grad - last) and step.equal(along * 0.25)
    assert_near(curvature, change.dot(step), wisp.float64, "curvature")
    assert_near(square, change.dot(change), wisp.float64, "square")


def test_parameters_move_along_a_vector():
    """From where they are or from elsewhere, of any layout and dtype; graphs that have saved them notice."""
    params = [
        wisp.ones(2, 3),
        wisp.zeros(3, 2, dtype=wisp.float64).t(),
        wisp.ones(2, dtype=wisp.bfloat16),
        wisp.ones(()),
    ]
    along = wisp.arange(15, dtype=wisp.float64)
    along._lbfgs_move(params, 0.5)
    assert wisp.cat([p.reshape(-1) for p in params[:2]]).tolist() == [i / 2 + (i < 6) for i in range(12)]
    assert params[2].tolist() == [7, 7.5] and params[3].item() == 8
    along._lbfgs_move(params, 2.0, wisp.full((15,), 3.0))
    assert params[0].tolist() == [[3, 5, 7], [9, 11, 13]] and params[3].item() == 31
    x = wisp.ones(2, requires_grad=True)
    y = (x * x).sum()
    with wisp.no_grad():
        wisp.ones(2)._lbfgs_move([x], 1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def lbfgs_path(dtype, settings, steps=3):
    """Where parameters of several shapes, one of them complex, go from the same start."""
    wisp.manual_seed(3)
    start = [wisp.randn(4, 5, dtype=dtype), wisp.randn(20000, dtype=dtype), wisp.randn(3, dtype=dtype.to_complex())]
    params = [nn.Parameter(p) for p in start]
    made = optim.LBFGS(params, **settings)

    def closure():
        made.zero_grad()
        a, b, c = params
        loss = (a**4).sum() + b.cosh().sum() + (c - 1).abs().pow(2).sum() + (a.sum() - b[0]) ** 2
        loss.backward()
        return loss

    losses = [made.step(closure).item() for _ in range(steps)]
    return losses, [p.detach() for p in params]


@pytest.mark.parametrize(
    "settings", [{"max_iter": 5, "lr": 0.1}, {"max_iter": 5, "line_search_fn": "strong_wolfe"}], ids=str
)
def test_lbfgs_goes_down(settings):
    losses, _ = lbfgs_path(wisp.float64, settings)
    assert losses[0] > losses[1] > losses[2]


def all_results():
    """Results of all three, of tensors that are large enough for several threads."""
    params = parameters([*SHAPES, (500, 400)], wisp.float32)
    matrices = parameters([(300, 301), (90, 80), (700, 60), (20, 20), (20, 30)], wisp.float32)
    made = [optim.Adafactor(params), optim.Muon(matrices)]
    for optimizer in made * 2:
        optimizer.step()
    moved = lbfgs_path(wisp.float32, {"max_iter": 4, "line_search_fn": "strong_wolfe"}, 2)[1]
    grad, *rest = history(200000, 5, wisp.float32)
    return [*params, *matrices, *moved, *grad._lbfgs_direction(*rest, 0.5)]


def test_the_number_of_threads_changes_nothing():
    before, found = wisp.get_num_threads(), []
    try:
        for count in (1, 2, 5):
            wisp.set_num_threads(count)
            found.append(all_results())
    finally:
        wisp.set_num_threads(before)
    for other in found[1:]:
        assert all(a.equal(b) for a, b in zip(found[0], other))


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_a_step_of_a_group_is_one_call(name, monkeypatch):
    calls, update = [], variants._fused_update
    monkeypatch.setattr(variants, "_fused_update", lambda *given: (calls.append(given), update(*given)))
    params = parameters([(4, 3), (2, 5), (6, 6)] + [(3,)] * (name == "Adafactor"), wisp.float32)
    getattr(optim, name)(params).step()
    assert len(calls) == 1 and len(calls[0][0]) == len(params)


def test_parameters_without_elements_stay_as_they_are():
    params = parameters([(0,), (0, 3), (3, 0), (2, 2)], wisp.float32)
    optim.Adafactor(params).step()
    optim.Muon(params[1:]).step()
    assert [tuple(p.shape) for p in params] == [(0,), (0, 3), (3, 0), (2, 2)]


def test_layouts_that_are_not_consecutive():
    for make in (optim.Adafactor, optim.Muon):
        plain, turned = parameters([(6, 4)], wisp.float32)[0], parameters([(6, 4)], wisp.float32)[0]
        turned.data = turned.data.t().contiguous().t()
        turned.grad = turned.grad.t().contiguous().t()
        for param in (plain, turned):
            make([param]).step()
        assert turned.stride() == (1, 6) and turned.allclose(plain, atol=1e-3)


def test_writes_are_noticed():
    for make in (optim.Adafactor, optim.Muon):
        (param,) = parameters([(2, 2)], wisp.float32)
        loss = (param * param).sum()
        make([param]).step()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


def test_what_does_not_fit_is_refused():
    update, w, v, step = wisp._fused_update, wisp.ones(2, 3), wisp.ones(3), wisp.tensor(0.0)
    rows, columns, nothing = wisp.zeros(2, 1), wisp.zeros(1, 3), wisp.empty(0)
    settings = [0.1, -0.8, -1, 1e-3, 1, 0, 0]
    with pytest.raises(RuntimeError, match=r"\[2, 3\].*state of shape \[1, 3\]"):
        update([w], [w], [step], [columns], [rows], [], "adafactor", settings)
    with pytest.raises(RuntimeError, match=r"\[3\].*state of shape \[3\]"):
        update([v], [v], [step], [v], [v], [], "adafactor", settings)
    with pytest.raises(RuntimeError, match="expects 1 tensors in list 2"):
        update([v], [v], [], [v], [nothing], [], "adafactor", settings)
    with pytest.raises(RuntimeError, match="muon: expected matrices"):
        update([v], [v], [], [v.clone()], [], [], "muon", [0.0] * 10)
    with pytest.raises(RuntimeError, match="10 settings"):
        update([w], [w], [], [w.clone()], [], [], "muon", settings)
    for vectors in ([], [wisp.ones(4)], [v, v]):
        with pytest.raises(RuntimeError, match="_lbfgs_direction"):
            v._lbfgs_direction([v], vectors, [step], 1.0)
    for wrong in (wisp.ones(2), wisp.ones(3, dtype=wisp.int64)):
        with pytest.raises(RuntimeError, match="expected vectors of 3 real numbers"):
            v._lbfgs_change(v, wrong, 1.0)
    with pytest.raises(RuntimeError, match="expected vectors of 6 real numbers"):
        v._lbfgs_move([w], 1.0)
    assert w.equal(wisp.ones(2, 3)) and step.item() == 0


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_memory_that_must_not_be_written_is_not():
    locked = np.ones(3, "float32")
    locked.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        wisp.ones(3)._lbfgs_move([wisp.from_numpy(locked)], 1.0)
    assert locked.tolist() == [1, 1, 1]
