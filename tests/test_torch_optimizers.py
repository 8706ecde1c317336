"""States of optimizers and schedules that PyTorch has saved go on here, and ours there."""

import io

import numpy as np
import pytest

import wisp
from tests import oracle
from tests.test_torch_files import torch_file

pytestmark = pytest.mark.skipif(not oracle.HAS_TORCH, reason="needs PyTorch")

OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
    "Adam": {"lr": 0.1, "amsgrad": True},
    "AdamW": {"lr": 0.1},
    "Adamax": {"lr": 0.1},
    "NAdam": {"lr": 0.1},
    "RAdam": {"lr": 0.1},
    "Adagrad": {"lr": 0.1},
    "Adadelta": {},
    "RMSprop": {"lr": 0.01, "momentum": 0.5, "centered": True},
    "Rprop": {"lr": 0.1},
    "ASGD": {"lr": 0.1},
    "Adafactor": {"lr": 0.1},
    "Muon": {"lr": 0.1},
    "LBFGS": {"lr": 0.5, "max_iter": 3, "line_search_fn": "strong_wolfe"},
}


def trained(lib, name, steps, params=None, state=None):
    """Two parameters after some steps of an optimizer on a fixed problem, and the optimizer."""
    given = params or [np.linspace(-1, 1, 6).reshape(2, 3).astype("float32"), np.array([[0.5, -0.25]], "float32")]
    params = [lib.nn.Parameter(lib.from_numpy(p.copy())) for p in given]
    optimizer = getattr(lib.optim, name)(params, **OPTIMIZERS[name])
    if state is not None:
        optimizer.load_state_dict(state)

    def closure():
        optimizer.zero_grad()
        loss = ((params[0] * 2 + 0.3) ** 2).sum() + ((params[1] - params[0].sum() / 7) ** 4).sum()
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    return [p.detach().numpy() for p in params], optimizer


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_continue_in_the_other_library(name):
    import torch

    straight, _ = trained(torch, name, 6)
    half, optimizer = trained(torch, name, 3)
    there = wisp.load(torch_file(optimizer.state_dict()))
    for got, want in zip(trained(wisp, name, 3, half, there)[0], straight):
        assert np.allclose(got, want, atol=2e-5)
    half, optimizer = trained(wisp, name, 3)
    file = io.BytesIO()
    wisp.save(optimizer.state_dict(), file, format="torch")
    file.seek(0)
    for got, want in zip(trained(torch, name, 3, half, torch.load(file, weights_only=True))[0], straight):
        assert np.allclose(got, want, atol=2e-5)


SCHEDULERS = {
    "StepLR": {"step_size": 2},
    "MultiStepLR": {"milestones": [2, 5]},
    "LinearLR": {},
    "ExponentialLR": {"gamma": 0.9},
    "CosineAnnealingLR": {"T_max": 5},
    "CosineAnnealingWarmRestarts": {"T_0": 3},
    "CyclicLR": {"base_lr": 0.01, "max_lr": 0.1},
    "OneCycleLR": {"max_lr": 0.1, "total_steps": 20},
    "ReduceLROnPlateau": {"patience": 1},
}


def scheduled(lib, name, state=None):
    """The rates of four steps of a schedule, and the states after them."""
    optimizer = lib.optim.SGD([lib.nn.Parameter(lib.ones(2))], lr=0.1, momentum=0.9)
    scheduler = getattr(lib.optim.lr_scheduler, name)(optimizer, **SCHEDULERS[name])
    if state is not None:
        optimizer.load_state_dict(state[0])
        scheduler.load_state_dict(state[1])
    rates = []
    for _ in range(4):
        optimizer.step()
        scheduler.step(*([1.0] if name == "ReduceLROnPlateau" else []))
        rates.append(optimizer.param_groups[0]["lr"])
    return rates, [optimizer.state_dict(), scheduler.state_dict()]


@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedules_continue_in_the_other_library(name):
    import torch

    _, state = scheduled(torch, name)
    file = torch_file(state)
    want, _ = scheduled(torch, name, state)
    assert scheduled(wisp, name, wisp.load(file))[0] == pytest.approx(want)
    file = io.BytesIO()
    wisp.save(scheduled(wisp, name)[1], file, format="torch")
    file.seek(0)
    assert scheduled(torch, name, torch.load(file))[0] == pytest.approx(want)
