"""Optimizers and schedules: the same numbers as PyTorch, step by step."""

import copy
import pickle
import re
import warnings

import pytest

import wisp
from tests import oracle
from tests.oracle import assert_close
from wisp import nn, optim

# --- the same numbers

SETTINGS = {
    "SGD": [{}, {"momentum": 0.9, "weight_decay": 0.1}, {"momentum": 0.9, "nesterov": True},
            {"momentum": 0.9, "dampening": 0.3, "maximize": True}],
    "Adam": [{}, {"weight_decay": 0.1, "amsgrad": True}, {"maximize": True, "betas": (0.8, 0.9)},
             {"weight_decay": 0.1, "decoupled_weight_decay": True}],
    "AdamW": [{}, {"amsgrad": True, "maximize": True, "eps": 1e-3}],
    "RMSprop": [{}, {"centered": True, "momentum": 0.9, "weight_decay": 0.01}, {"momentum": 0.5, "maximize": True}],
    "Adagrad": [{}, {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5}],
    "Adadelta": [{}, {"weight_decay": 0.1, "rho": 0.8}],
    "Adamax": [{}, {"weight_decay": 0.1, "maximize": True}],
}  # fmt: skip


def problem(lib, is_complex):
    """Parameters, and a function of them to be made small."""
    first = lib.tensor([1 + 2j, -0.5j] if is_complex else [0.5, -1.0, 2.0], requires_grad=True)
    second = lib.tensor([[1.0, 2.0]], dtype=lib.float64, requires_grad=True)

    def loss():
        near = (first * first.conj()).real.sum() if is_complex else (first**2 * lib.tensor([1.0, 2.0, 3.0])).sum()
        return near + (second**3).sum().float()

    return first, second, loss


def listed(x):
    if x.is_complex():
        return [[z.real, z.imag] for z in x.tolist()]
    return x.tolist()


def train(lib, name, settings, is_complex=False, steps=5):
    """All values of all steps, the state after them, the settings, and how the optimizer prints."""
    first, second, loss = problem(lib, is_complex)
    made = getattr(lib.optim, name)([{"params": [first]}, {"params": [second], "lr": 0.05}], lr=0.1, **settings)
    values = []
    for _ in range(steps):
        made.zero_grad()
        loss().backward()
        made.step()
        values.append([listed(first.detach()), listed(second.detach())])
    saved = made.state_dict()
    state = {str(i): {k: listed(v) for k, v in entry.items() if v is not None} for i, entry in saved["state"].items()}
    groups = [{k: list(v) if isinstance(v, tuple) else v for k, v in group.items()} for group in saved["param_groups"]]
    return {"values": values, "state": state, "groups": groups, "order": [list(g) for g in groups], "repr": repr(made)}


def optimizers(lib):
    found = {}
    for name, many in SETTINGS.items():
        for settings in many:
            for is_complex in (False, True):
                found[f"{name} {settings} {is_complex}"] = train(lib, name, settings, is_complex)
    return found


SCHEDULES = {
    "StepLR": lambda s, o: s.StepLR(o, 3),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 5, 5], 0.5),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 5),
    "CosineAnnealingLR floor": lambda s, o: s.CosineAnnealingLR(o, 4, 0.01),
    "LinearLR": lambda s, o: s.LinearLR(o),
    "LinearLR down": lambda s, o: s.LinearLR(o, 0.5, 0.1, 7),
    "ConstantLR": lambda s, o: s.ConstantLR(o),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 6, 2.0),
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda e: 0.9**e),
    "LambdaLR each": lambda s, o: s.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (e + 1)]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.9),
    "SequentialLR": lambda s, o: s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)], [2]),
    "SequentialLR three": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1, 4), s.CosineAnnealingLR(o, 5), s.StepLR(o, 2)], [4, 9]
    ),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)]),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 1.0, 15),
    "OneCycleLR three": lambda s, o: s.OneCycleLR(
        o, [1.0, 0.5], epochs=5, steps_per_epoch=4, three_phase=True, anneal_strategy="linear"
    ),
    "OneCycleLR rates only": lambda s, o: s.OneCycleLR(o, 1.0, 15, cycle_momentum=False),
    "warm restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3),
    "slower restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 2, 0.01),
    "plateau": lambda s, o: s.ReduceLROnPlateau(o, patience=2),
    "plateau max": lambda s, o: s.ReduceLROnPlateau(o, mode="max", patience=1, threshold_mode="abs", cooldown=2),
    "plateau limit": lambda s, o: s.ReduceLROnPlateau(o, min_lr=0.05, patience=0),
}


def two_groups(lib, name):
    params = [lib.ones(1, requires_grad=True), lib.ones(1, requires_grad=True)]
    extra = {"momentum": 0.9} if name == "SGD" else {}
    return getattr(lib.optim, name)([{"params": params[:1]}, {"params": params[1:], "lr": 0.5}], lr=0.1, **extra)


def rates(made):
    group = made.param_groups[0]
    return [g["lr"] for g in made.param_groups] + [group.get("momentum", 0), list(group.get("betas", ()))]


def schedules(lib):
    found = {}
    for name, make in SCHEDULES.items():
        for kind in ("SGD", "Adam"):
            made = two_groups(lib, kind)
            schedule = make(lib.optim.lr_scheduler, made)
            values = [rates(made)]
            for i in range(14):
                made.step()
                schedule.step(1 / (1 + min(i, 4))) if name.startswith("plateau") else schedule.step()
                values.append(rates(made))
            found[f"{name} {kind}"] = [values, schedule.get_last_lr()]
    return found


def said(act):
    try:
        act()
    except Exception as error:
        return f"{type(error).__name__}: " + re.sub(r"\btorch\b", "wisp", str(error))
    return "nothing"


def complaints(lib):
    o, one = lib.optim, lib.ones(1, requires_grad=True)
    sgd = o.SGD([one], lr=0.1)
    return {
        "tensor": said(lambda: o.SGD(one)),
        "empty": said(lambda: o.SGD([])),
        "no leaf": said(lambda: o.SGD([one * 2])),
        "no tensor": said(lambda: o.SGD([3])),
        "set": said(lambda: o.SGD([{"params": {one}}])),
        "twice": said(lambda: sgd.add_param_group({"params": [one]})),
        "no dict": said(lambda: sgd.add_param_group([one])),
        "lr": said(lambda: o.SGD([one], lr=-1.0)),
        "momentum": said(lambda: o.SGD([one], momentum=-1.0)),
        "nesterov": said(lambda: o.SGD([one], nesterov=True)),
        "beta": said(lambda: o.Adam([one], betas=(1.0, 0.9))),
        "eps": said(lambda: o.Adam([one], eps=-1.0)),
        "rho": said(lambda: o.Adadelta([one], rho=2.0)),
        "groups": said(lambda: sgd.load_state_dict({"state": {}, "param_groups": []})),
        "sizes": said(lambda: sgd.load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]})),
        "no optimizer": said(lambda: o.lr_scheduler.StepLR(3, 1)),
        "resume": said(lambda: o.lr_scheduler.StepLR(sgd, 1, last_epoch=3)).split(" when resuming")[0],
        "factor": said(lambda: o.lr_scheduler.ConstantLR(sgd, 2.0)),
        "mode": said(lambda: o.lr_scheduler.ReduceLROnPlateau(sgd, "best")),
        "steps": said(lambda: o.lr_scheduler.OneCycleLR(sgd, 1.0)),
        "lambdas": said(lambda: o.lr_scheduler.LambdaLR(sgd, [abs, abs])),
    }


PARTS = (optimizers, schedules, complaints)
ORACLES = {"optim": lambda lib: {part.__name__: part(lib) for part in PARTS}}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", PARTS, ids=lambda f: f.__name__)
def test_like_pytorch(part):
    assert_close(part(wisp), oracle.answers("optim", ORACLES["optim"])[part.__name__], part.__name__)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not oracle.HAS_TORCH, reason="compares PyTorch with its recorded answers")
def test_recorded_answers_are_current():
    assert_close(oracle.recorded("optim"), oracle.answers("optim", ORACLES["optim"]), "recorded")


# --- saving and going on


@pytest.mark.parametrize("name", SETTINGS)
def test_training_goes_on_from_a_state_dict(name):
    def steps(made, params, loss, count):
        for _ in range(count):
            made.zero_grad()
            loss().backward()
            made.step()
        return [p.tolist() for p in params]

    first, second, loss = problem(wisp, False)
    made = getattr(optim, name)([first, second], lr=0.1)
    steps(made, (first, second), loss, 3)
    state = pickle.loads(pickle.dumps(made.state_dict()))
    third, fourth, other_loss = problem(wisp, False)
    with wisp.no_grad():
        third.copy_(first)
        fourth.copy_(second)
    again = getattr(optim, name)([third, fourth], lr=7.0)
    again.load_state_dict(state)
    assert again.param_groups[0]["lr"] == 0.1
    assert steps(made, (first, second), loss, 3) == steps(again, (third, fourth), other_loss, 3)


def test_loaded_state_is_a_copy_in_the_parameters_dtype():
    p = nn.Parameter(wisp.ones(2))
    made = optim.Adam([p])
    p.grad = wisp.ones(2)
    made.step()
    q = nn.Parameter(wisp.ones(2, dtype=wisp.float64))
    other = optim.Adam([q])
    saved = made.state_dict()
    other.load_state_dict(saved)
    assert other.state[q]["exp_avg"].dtype is wisp.float64
    assert other.state[q]["step"].dtype is wisp.float32
    other.state[q]["step"] += 5
    assert saved["state"][0]["step"].item() == 1


def test_pickle_and_deepcopy():
    net = nn.Linear(2, 1)
    made = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    net(wisp.ones(1, 2)).sum().backward()
    made.step()
    both = copy.deepcopy((net, made))
    assert both[1].param_groups[0]["params"][0] is both[0].weight
    assert both[0].weight in both[1].state
    loaded = pickle.loads(pickle.dumps(made))
    assert repr(loaded) == repr(made)
    loaded.step()


# --- groups, hooks, closures


def test_named_parameters_and_groups():
    net = nn.Linear(2, 1)
    made = optim.SGD(net.named_parameters(), lr=0.1)
    assert made.param_groups[0]["param_names"] == ["weight", "bias"]
    assert made.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
    with pytest.raises(ValueError, match="cannot mix names"):
        made.add_param_group({"params": [wisp.ones(1, requires_grad=True)]})
    made.add_param_group({"params": [("x", wisp.ones(1, requires_grad=True))], "lr": 3.0})
    assert made.param_groups[1]["lr"] == 3.0


def test_zero_grad():
    p = nn.Parameter(wisp.ones(2))
    made = optim.SGD([p])
    p.grad = kept = wisp.ones(2)
    made.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0, 0]
    assert kept.tolist() == [0, 0]
    made.zero_grad()
    assert p.grad is None


def test_closure_runs_with_gradients_and_gives_the_loss():
    p = nn.Parameter(wisp.ones(1))
    made = optim.SGD([p], lr=0.5)

    def closure():
        made.zero_grad()
        loss = (p**2).sum()
        loss.backward()
        return loss

    with wisp.no_grad():
        assert made.step(closure).item() == 1
    assert p.item() == 0


def test_step_hooks_see_subclasses_of_users():
    class Mine(optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 1.0})

        def step(self, closure=None):
            seen.append("step")

    seen = []
    made = Mine([nn.Parameter(wisp.ones(1))])
    first = made.register_step_pre_hook(lambda o, args, kwargs: seen.append("before"))
    made.register_step_post_hook(lambda o, args, kwargs: seen.append("after"))
    made.step()
    first.remove()
    made.step()
    assert seen == ["before", "step", "after", "step", "after"]


def test_learning_rate_may_be_a_tensor():
    p = nn.Parameter(wisp.ones(1))
    lr = wisp.tensor(0.5)
    made = optim.SGD([p], lr=lr)
    schedule = optim.lr_scheduler.ExponentialLR(made, 0.5)
    p.grad = wisp.ones(1)
    made.step()
    assert p.item() == 0.5
    schedule.step()
    assert lr.item() == 0.25
    made.step()
    assert p.item() == 0.25


def test_differentiable_step():
    lr_source = wisp.ones(2, requires_grad=True)
    p = lr_source.clone()
    p.retain_grad()
    (p**2).sum().backward()
    made = optim.SGD([p], lr=0.1, differentiable=True)
    made.step()
    p.sum().backward()
    assert lr_source.grad is not None


# --- schedules


def test_scheduler_before_optimizer_warns():
    made = two_groups(wisp, "SGD")
    schedule = optim.lr_scheduler.StepLR(made, 1)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        schedule.step()
    made = two_groups(wisp, "SGD")
    schedule = optim.lr_scheduler.StepLR(made, 1)
    made.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.step()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [n for n in SCHEDULES if not n.startswith("plateau") and "Lambda" not in n and "Multiplicative" not in n]
)
def test_schedules_go_on_from_a_state_dict(name):
    first, second = two_groups(wisp, "SGD"), two_groups(wisp, "SGD")
    schedule = SCHEDULES[name](optim.lr_scheduler, first)
    for _ in range(6):
        schedule.step()
    other = SCHEDULES[name](optim.lr_scheduler, second)
    other.load_state_dict(pickle.loads(pickle.dumps(schedule.state_dict())))
    second.load_state_dict(first.state_dict())
    for _ in range(6):
        schedule.step()
        other.step()
        assert rates(first) == rates(second)


def test_one_cycle_ends():
    made = two_groups(wisp, "SGD")
    schedule = optim.lr_scheduler.OneCycleLR(made, 1.0, 3)
    for _ in range(3):
        made.step()
        schedule.step()
    with pytest.raises(ValueError, match="Tried to step 4 times. The specified number of total steps is 3"):
        schedule.step()


def test_training_a_network():
    """The whole loop: a small network learns the logical exclusive or."""
    wisp.manual_seed(3)
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    made = optim.Adam(net.parameters(), lr=0.05)
    x, y = wisp.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), wisp.tensor([[0.0], [1.0], [1.0], [0.0]])
    for _ in range(300):
        made.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        made.step()
    assert loss.item() < 1e-2


def test_large_steps_run_without_the_interpreters_lock():
    w = wisp.ones(1 << 20, requires_grad=True)
    optimizer = wisp.optim.Adam([w], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = (w * w).sum()  # saves w, so that writing to it is noted with its place
        loss.backward()
        optimizer.step()
    assert abs(w[0].item() - 0.8) < 1e-3


def test_fused_updates_refuse_what_does_not_fit():
    update = wisp._fused_update
    w, g = wisp.ones(2), wisp.ones(3)
    settings = [0.1, 0, 0, 0, 0, 0, 0]
    with pytest.raises(RuntimeError, match=r"\[2\].*gradient of shape \[3\]"):
        update([w], [g], [], [], [], [], "sgd", settings)
    with pytest.raises(RuntimeError, match="sgd expects 1 tensors in list 1, got 0"):
        update([w], [], [], [], [], [], "sgd", settings)
    with pytest.raises(RuntimeError, match="adam expects 1 tensors in list 3, got 0"):
        update([w], [w], [wisp.tensor(0.0)], [], [], [], "adam", settings)
    with pytest.raises(RuntimeError, match="7 settings"):
        update([w], [w], [], [], [], [], "sgd", [0.1])
    with pytest.raises(ValueError, match="no rule"):
        update([w], [w], [], [], [], [], "guess", [])
    with pytest.raises(RuntimeError, match="real floating"):
        update([w.long()], [w.long()], [], [], [], [], "sgd", settings)
    assert w.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_fused_updates_of_other_dtypes_and_layouts(dtype):
    dtype = getattr(wisp, dtype)
    whole = wisp.ones(4, 3, dtype=dtype)
    w = whole[::2].t()  # neither consecutive nor of the kernels' dtype
    w.requires_grad_()
    optimizer = wisp.optim.SGD([w], lr=0.5, momentum=0.5)
    for _ in range(2):
        w.grad = wisp.ones_like(w)
        optimizer.step()
    assert w.tolist() == [[-0.25] * 2] * 3 and whole[1].tolist() == [1.0] * 3
