"""The rarer optimizers, cyclic schedules and averaged weights: the same numbers as PyTorch, step by step."""

import pytest

import wisp
from tests import oracle
from tests.oracle import assert_close
from tests.test_nn_layers import fill, numbers, plain
from tests.test_optim import rates, train, two_groups
from wisp import nn, optim

SETTINGS = {
    "NAdam": [{}, {"weight_decay": 0.1, "momentum_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True},
              {"maximize": True, "betas": (0.8, 0.9)}],
    "RAdam": [{}, {"weight_decay": 0.1, "betas": (0.5, 0.6)}, {"weight_decay": 0.1, "decoupled_weight_decay": True},
              {"maximize": True}],
    "ASGD": [{}, {"weight_decay": 0.1, "t0": 2, "lambd": 0.01}, {"maximize": True, "alpha": 0.5}],
    "Rprop": [{}, {"etas": (0.3, 1.5), "step_sizes": (1e-3, 0.5)}, {"maximize": True}],
}  # fmt: skip
MATRICES = {
    "Adafactor": [{}, {"weight_decay": 0.1, "d": 2.0}, {"eps": (1e-4, 1e-2), "beta2_decay": -0.5, "maximize": True}],
    "Muon": [{}, {"weight_decay": 0.0, "nesterov": False}, {"adjust_lr_fn": "match_rms_adamw", "lr": 0.1}],
    "LBFGS": [{"max_iter": 4}, {"line_search_fn": "strong_wolfe"}, {"lr": 0.1, "history_size": 2, "tolerance_grad": 0.1}],
}  # fmt: skip


def valley(lib, name, settings):
    """The values of a matrix on its way down a function with bends, and the names of the state."""
    x = lib.tensor(numbers("start", 3, 2), dtype=lib.float64, requires_grad=True)
    goal = lib.tensor(numbers("goal", 3, 2), dtype=lib.float64)
    made, values = getattr(lib.optim, name)([x], **settings), []

    def closure():
        made.zero_grad()
        loss = ((x - goal) ** 2).sum() + (x * goal).cos().sum()
        loss.backward()
        return loss

    for _ in range(6):
        loss = made.step(closure)
        values.append([loss.item(), plain(x.detach())])
    (state,) = made.state_dict()["state"].values()
    return [values, sorted(state), state.get("func_evals"), repr(made)]


def optimizers(lib):
    found = {
        f"{name} {s} {c}": train(lib, name, s, c)
        for name, many in SETTINGS.items()
        for s in many
        for c in (False, True)
    }
    return found | {f"{name} {s}": valley(lib, name, s) for name, many in MATRICES.items() for s in many}


CYCLES = {
    "triangular": lambda o, s, a: s.CyclicLR(o, 0.01, [0.1, 0.2], step_size_up=4),
    "triangular2": lambda o, s, a: s.CyclicLR(o, 0.01, 0.1, step_size_up=4, step_size_down=2, mode="triangular2"),
    "exp_range": lambda o, s, a: s.CyclicLR(o, 0.01, 0.1, step_size_up=3, mode="exp_range", gamma=0.9),
    "own": lambda o, s, a: s.CyclicLR(o, 0.01, 0.1, 3, scale_fn=lambda x: 0.5**x, scale_mode="iterations",
                                      cycle_momentum=False),
    "SWALR": lambda o, s, a: a.SWALR(o, 0.05, 5),
    "SWALR linear": lambda o, s, a: a.SWALR(o, [0.05, 0.1], 3, "linear"),
    "SWALR at once": lambda o, s, a: a.SWALR(o, 0.05, 0),
}  # fmt: skip


def schedules(lib):
    found = {}
    for name, make in CYCLES.items():
        for kind in ("SGD", "Adam"):
            made = two_groups(lib, kind)
            schedule, values = make(made, lib.optim.lr_scheduler, lib.optim.swa_utils), []
            for _ in range(12):
                values.append(rates(made))
                made.step()
                schedule.step()
            found[f"{name} {kind}"] = values
    return found


def averages(lib):
    swa, found = lib.optim.swa_utils, {}
    ways = {"mean": {}, "ema": {"avg_fn": swa.get_ema_avg_fn(0.9)}, "emas": {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9)},
            "swa": {"avg_fn": swa.get_swa_avg_fn()}, "buffers": {"use_buffers": True}}  # fmt: skip
    for name, settings in ways.items():
        model = fill(lib, lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.BatchNorm1d(2)))
        averaged = swa.AveragedModel(model, **settings)
        for _ in range(3):
            averaged.update_parameters(model)
            for p in model.parameters():
                p.data.mul_(1.5)
            model(lib.tensor(numbers("x", 4, 2)))
        swa.update_bn([lib.tensor(numbers("a", 4, 2)), [lib.tensor(numbers("b", 4, 2)), None]], averaged)
        found[name] = [list(averaged.state_dict()), plain(list(averaged.state_dict().values()))]
    return found


PARTS = (optimizers, schedules, averages)
ORACLES = {"optim_variants": lambda lib: {part.__name__: part(lib) for part in PARTS}}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", PARTS, ids=lambda f: f.__name__)
def test_like_pytorch(part):
    want = oracle.answers("optim_variants", ORACLES["optim_variants"])[part.__name__]
    assert_close(part(wisp), want, part.__name__)


PARAM = [nn.Parameter(wisp.ones(2, 2))]


@pytest.mark.parametrize(("make", "message"), [
    (lambda: optim.NAdam(PARAM, lr=-1), "Invalid learning rate: -1"),
    (lambda: optim.NAdam(PARAM, momentum_decay=-1), "Invalid momentum_decay value: -1"),
    (lambda: optim.RAdam(PARAM, betas=(1.0, 0.9)), "Invalid beta parameter at index 0: 1.0"),
    (lambda: optim.Rprop(PARAM, etas=(1.5, 2)), "Invalid eta values: 1.5, 2"),
    (lambda: optim.Adafactor(PARAM, d=0.5), "Clipping threshold d should be >= 1 but is: 0.5"),
    (lambda: optim.Muon([nn.Parameter(wisp.ones(2))]), "Muon only supports 2D parameters"),
    (lambda: optim.Muon(PARAM, adjust_lr_fn="x"), "Adjust learning rate function x is not supported"),
    (lambda: optim.LBFGS([{"params": PARAM}, {"params": [nn.Parameter(wisp.ones(1))]}]), "per-parameter options"),
    (lambda: optim.SparseAdam(PARAM, lr=0.0), "Invalid learning rate: 0.0"),
    (lambda: optim.lr_scheduler.CyclicLR(optim.SGD(PARAM, 0.1), 0.1, 1.0, mode="x"), "mode is invalid"),
    (lambda: optim.lr_scheduler.CyclicLR(optim.Rprop(PARAM), 0.1, 1.0), "must support momentum or beta1"),
    (lambda: optim.swa_utils.SWALR(optim.SGD(PARAM, 0.1), 0.1, -1), "anneal_epochs must be equal or greater than 0"),
    (lambda: optim.swa_utils.get_ema_avg_fn(2), "Invalid decay value 2"),
])  # fmt: skip
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_sparse_adam_wants_sparse_gradients():
    made = optim.SparseAdam(PARAM)
    PARAM[0].grad = wisp.ones(2, 2)
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        made.step()


def test_saved_states_go_on():
    for name in ("NAdam", "RAdam", "ASGD", "Rprop", "Adafactor", "Muon", "LBFGS"):
        first, second = (nn.Parameter(wisp.tensor([[1.0, 2.0], [3.0, -1.0]])) for _ in range(2))
        made, other = getattr(optim, name)([first]), getattr(optim, name)([second])

        def step(o, p):
            def closure():
                o.zero_grad()
                loss = (p**4).sum()
                loss.backward()
                return loss

            o.step(closure)

        step(made, first)
        with wisp.no_grad():
            second.copy_(first)
        other.load_state_dict(made.state_dict())
        step(made, first)
        step(other, second)
        assert wisp.allclose(first, second), name
