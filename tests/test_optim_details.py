"""Optimizers and schedules where the manual says little: hooks, resumed schedules, steps that are differentiated."""

import math

import pytest

import wisp
from wisp import optim
from wisp.optim import lr_scheduler as schedules

pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")

DIFFERENTIABLE = {
    "SGD": {"weight_decay": 0.1},
    "Adam": {"weight_decay": 0.1},
    "AdamW": {"amsgrad": True},
    "Adamax": {"weight_decay": 0.1},
    "NAdam": {"decoupled_weight_decay": True, "weight_decay": 0.1},
    "RAdam": {"betas": (0.5, 0.9)},
    "Adagrad": {"lr_decay": 0.1},
    "Adadelta": {},
    "RMSprop": {"centered": True, "momentum": 0.5},
    "ASGD": {"t0": 1},
}


def after_steps(name, start, slope, steps=6, **settings):
    """Parameters after some steps with gradients slope * (p + 1)."""
    param = start.clone()
    optimizer = getattr(optim, name)([param], lr=0.05, differentiable=True, **settings)
    for _ in range(steps):
        param.grad = slope * (param + 1).clone()
        optimizer.step()
    return param.sum()


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_several_steps_can_be_differentiated(name):
    """The derivative with respect to where training starts and to the gradients is that of finite differences."""
    settings = DIFFERENTIABLE[name]
    start = wisp.tensor([0.3, -0.7], dtype=wisp.float64, requires_grad=True)
    slope = wisp.tensor([1.1, 0.4], dtype=wisp.float64, requires_grad=True)
    found = wisp.autograd.grad(after_steps(name, start, slope, **settings), [start, slope])
    for values, grad in ((start, found[0]), (slope, found[1])):
        for i in range(2):
            results = []
            for sign in (1, -1):
                with wisp.no_grad():
                    values[i] += sign * 1e-6
                    results.append(after_steps(name, start.detach(), slope.detach(), **settings).item())
                    values[i] -= sign * 1e-6
            assert math.isclose(grad[i].item(), (results[0] - results[1]) / 2e-6, rel_tol=1e-4, abs_tol=1e-6)


def test_rprop_can_be_differentiated_through_its_start():
    start = wisp.tensor([0.3], dtype=wisp.float64, requires_grad=True)
    (found,) = wisp.autograd.grad(after_steps("Rprop", start, wisp.ones(1, dtype=wisp.float64)), [start])
    assert found.item() == 1  # only signs of gradients count


def test_step_hooks_are_given_what_step_is_given():
    param = wisp.ones(1, requires_grad=True)
    optimizer, seen = optim.SGD([param], lr=0.1), []
    optimizer.register_step_pre_hook(lambda *given: seen.append(given))
    optimizer.register_step_post_hook(lambda *given: seen.append(given))
    optimizer.step(closure=lambda: 5)
    optimizer.step(int)
    assert [(given[0], given[1][0], len(given[1]), list(given[2])) for given in seen] == [
        (optimizer, optimizer, 1, ["closure"])
    ] * 2 + [(optimizer, optimizer, 2, [])] * 2


def test_step_hooks_may_replace_arguments():
    optimizer = optim.SGD([wisp.ones(1, requires_grad=True)], lr=0.1)
    optimizer.register_step_pre_hook(lambda self, args, kwargs: (args, {"closure": lambda: 7}))
    assert optimizer.step() == 7


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adamax", "RMSprop", "Adagrad", "Adadelta", "NAdam", "LBFGS"])
def test_learning_rates_are_one_number(name):
    with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
        getattr(optim, name)([wisp.ones(1, requires_grad=True)], lr=wisp.tensor([0.1, 0.2]))


def test_adagrad_shares_its_sums():
    param = wisp.ones(2, requires_grad=True)
    optimizer = optim.Adagrad([param])
    optimizer.share_memory()
    assert optimizer.state[param]["sum"].is_shared()


def resumed(make, last_epoch, lr=0.1):
    """The rates of a schedule that goes on from an epoch: at once, and after two steps."""
    optimizer = optim.SGD([wisp.ones(1, requires_grad=True)], lr=lr)
    optimizer.param_groups[0]["initial_lr"] = 0.1
    schedule = make(optimizer, last_epoch=last_epoch)
    rates = [schedule.get_last_lr()[0]]
    for _ in range(2):
        optimizer.step()
        schedule.step()
        rates.append(schedule.get_last_lr()[0])
    return rates


def test_schedules_go_on_from_the_rate_the_optimizer_has():
    def cosine(epoch):
        return (1 + math.cos(math.pi * epoch / 10)) / 2 * 0.1

    got = resumed(lambda o, last_epoch: schedules.CosineAnnealingLR(o, 10, last_epoch=last_epoch), 4, lr=cosine(5))
    assert got == pytest.approx([cosine(5), cosine(6), cosine(7)])
    got = resumed(lambda o, last_epoch: schedules.MultiplicativeLR(o, lambda epoch: 0.5, last_epoch=last_epoch), 3)
    assert got == pytest.approx([0.1, 0.05, 0.025])


@pytest.mark.parametrize("factor", [1, 2, 3])
@pytest.mark.parametrize("last_epoch", [0, 3, 9, 20, 33])
def test_warm_restarts_go_on_in_the_cycle_they_were_in(factor, last_epoch):
    def make(optimizer, last_epoch=-1):
        return schedules.CosineAnnealingWarmRestarts(optimizer, 4, factor, last_epoch=last_epoch)

    optimizer = optim.SGD([wisp.ones(1, requires_grad=True)], lr=0.1)
    schedule, rates = make(optimizer), []
    for _ in range(last_epoch + 3):
        optimizer.step()
        schedule.step()
        rates.append(schedule.get_last_lr()[0])
    assert resumed(make, last_epoch) == pytest.approx(rates[last_epoch:], abs=1e-9)


def test_plateaus_say_what_is_worst():
    optimizer = optim.SGD([wisp.ones(1, requires_grad=True)], lr=0.1)
    assert schedules.ReduceLROnPlateau(optimizer).state_dict()["mode_worse"] == math.inf
    assert schedules.ReduceLROnPlateau(optimizer, "max").mode_worse == -math.inf


# --- what PyTorch's own tests found


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("SGD", {"lr": 0.1, "weight_decay": 0.2}),
        ("SGD", {"lr": 0.1, "momentum": 0.5, "dampening": 0.1}),
        ("SGD", {"lr": 0.1, "momentum": 0.5, "nesterov": True}),
        ("Adam", {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1}),
        ("AdamW", {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1, "amsgrad": True}),
        ("NAdam", {"lr": 0.1, "weight_decay": 0.1}),
        ("RAdam", {"lr": 0.1, "betas": (0.8, 0.5), "weight_decay": 0.1}),
        ("RMSprop", {"lr": 0.1, "alpha": 0.9, "momentum": 0.3, "centered": True}),
        ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}),
        ("Adadelta", {"lr": 0.1, "rho": 0.9, "weight_decay": 0.1}),
        ("Adamax", {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1}),
    ],
)
def test_steps_are_differentiated_by_their_settings(name, settings):
    """A setting that is a tensor and requires grad gets its gradient."""
    numbers = [x for v in settings.values() if not isinstance(v, bool) for x in (v if isinstance(v, tuple) else (v,))]
    start = wisp.tensor([-1.0, -0.4, 0.3, 1.0], dtype=wisp.float64)
    slopes = wisp.tensor([2.0, -0.7, 1.3, 0.4], dtype=wisp.float64)

    def train(param, *tensors):
        left, given = list(tensors), dict(settings)
        for key, value in settings.items():
            if isinstance(value, tuple):
                given[key] = tuple(left.pop(0) for _ in value)
            elif not isinstance(value, bool):
                given[key] = left.pop(0)
        param = param.clone()
        optimizer = getattr(optim, name)([param], differentiable=True, **given)
        for i in range(5):
            param.grad = slopes + 0.1 * i
            optimizer.step()
        return param

    tensors = [wisp.tensor(x, dtype=wisp.float64, requires_grad=True) for x in numbers]
    assert wisp.autograd.gradcheck(train, (start.requires_grad_(), *tensors), rtol=1e-3, atol=1e-4)
    plain = optim.SGD([wisp.ones(1, requires_grad=True)], lr=wisp.tensor([0.1], requires_grad=True))
    plain.param_groups[0]["params"][0].grad = wisp.ones(1)
    plain.step()
    assert plain.param_groups[0]["params"][0].item() == pytest.approx(0.9)


def test_hooks_of_all_optimizers_are_around_their_own():
    order = []
    optimizer = optim.SGD([wisp.ones(1, requires_grad=True)])
    handles = [
        optim.optimizer.register_optimizer_step_pre_hook(lambda *args: order.append("all, before")),
        optim.optimizer.register_optimizer_step_post_hook(lambda *args: order.append("all, after")),
    ]
    optimizer.register_step_pre_hook(lambda *args: order.append("own, before"))
    optimizer.register_step_post_hook(lambda *args: order.append("own, after"))
    try:
        optimizer.step()
    finally:
        for handle in handles:
            handle.remove()
    assert order == ["all, before", "own, before", "own, after", "all, after"]


def test_lbfgs_counts_what_a_line_search_evaluates():
    """max_eval bounds the search too; a gradient of zero divides nothing."""
    param = wisp.ones(3, requires_grad=True)
    calls = []

    def closure():
        calls.append(1)
        optimizer.zero_grad()
        loss = -param.sum()  # it can only go on and on
        loss.backward()
        return loss

    optimizer = optim.LBFGS([param], max_iter=1, max_eval=5, line_search_fn="strong_wolfe")
    optimizer.step(closure)
    assert len(calls) == 6
    still = optim.LBFGS([wisp.ones(2, requires_grad=True)], tolerance_grad=-1.0)
    assert still.step(lambda: wisp.tensor(10.0)) == 10


def test_schedules_keep_copies_of_tensors():
    momentum, rate = wisp.tensor(0.9), wisp.tensor(0.2)
    optimizer = optim.SGD([wisp.ones(1, requires_grad=True)], lr=0.1, momentum=0.5)
    schedule = schedules.CyclicLR(optimizer, 0.1, rate, max_momentum=momentum)
    momentum.mul_(0.5)
    rate.mul_(0.5)
    assert optimizer.param_groups[0]["max_momentum"] == wisp.tensor(0.9) and schedule.max_lrs == [wisp.tensor(0.2)]


def test_settings_that_schedules_and_files_insist_on():
    optimizer = optim.SGD([wisp.ones(1, requires_grad=True)], lr=0.1)
    with pytest.raises(TypeError, match="should be a function"):
        schedules.MultiplicativeLR(optimizer, 0.95)
    warm = schedules.CosineAnnealingWarmRestarts(optimizer, T_0=4)
    warm.T_cur = 9
    warm.step()
    assert warm.T_cur == 2
    adam, adamw = (make([wisp.ones(1, requires_grad=True)]) for make in (optim.Adam, optim.AdamW))
    adamw.load_state_dict(adam.state_dict())
    assert adamw.param_groups[0]["decoupled_weight_decay"] is True
