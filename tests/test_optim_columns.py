"""What a step collects before its native call: parameters with gradients, states, settings."""

import pytest

import wisp
from wisp import _C, optim


def nothing(param, group):
    raise AssertionError("the state is complete")


def parameter(*values):
    param = wisp.tensor(values, requires_grad=True)
    param.grad = wisp.ones_like(param)
    return param


def test_columns_are_in_the_order_of_the_parameters():
    params = [parameter(1.0), parameter(2.0, 3.0)]
    states = {p: {"step": wisp.tensor(float(i)), "mean": p.detach() * 10} for i, p in enumerate(params)}
    found, grads, steps, none, means = _C._update_columns(params, states, ("step", None, "mean"), nothing, {})
    assert found[0] is params[0] and found[1] is params[1] and none == []
    assert [g.tolist() for g in grads] == [[1.0], [1.0, 1.0]]
    assert [s.item() for s in steps] == [0.0, 1.0] and [m.tolist() for m in means] == [[10.0], [20.0, 30.0]]


def test_complex_tensors_become_pairs():
    param = parameter(1 + 2j)
    real, grad, mean = _C._update_columns([param], {param: {"mean": param.detach()}}, ("mean",), nothing, {})
    assert real[0].tolist() == [[1.0, 2.0]] and grad[0].tolist() == [[1.0, 0.0]] and mean[0].shape == (1, 2)


def test_missing_states_are_asked_for_once():
    params, states, asked = [parameter(1.0), parameter(2.0)], {}, []

    def complete(param, group):
        asked.append((param, group))
        states[param] = {"mean": wisp.zeros(1)}

    for _ in range(2):
        _C._update_columns(params, states, ("mean",), complete, "group")
    assert [p is q and g == "group" for (p, g), q in zip(asked, params)] == [True, True]


@pytest.mark.parametrize("state", [{}, {"mean": None}, {"mean": 3}, {"other": wisp.zeros(1)}])
def test_states_that_stay_incomplete_are_an_error(state):
    param = parameter(1.0)
    with pytest.raises(KeyError, match="mean"):
        _C._update_columns([param], {param: state}, ("mean",), lambda p, g: None, {})


def test_what_is_no_tensor_is_an_error():
    param = parameter(1.0)
    with pytest.raises(TypeError):
        _C._update_columns([3], {}, ("mean",), nothing, {})
    with pytest.raises(TypeError):
        _C._update_columns([param], {param: 3}, ("mean",), 5, {})
    with pytest.raises(TypeError):
        _C._with_gradients(param.item())
    with pytest.raises(TypeError):
        _C._forget_gradients([None])
    with pytest.raises(TypeError):
        _C._settings({"lr": "fast"}, ("lr",))
    with pytest.raises(KeyError):
        _C._settings({}, ("lr",))


def test_a_list_may_change_while_states_are_made():
    params = [parameter(1.0), parameter(2.0)]
    states = {}

    def complete(param, group):
        states[param] = {"mean": wisp.zeros(1)}
        params.clear()

    found, *_ = _C._update_columns(params, states, ("mean",), complete, {})
    assert len(found) == 1


def test_settings_are_floats():
    group = {"lr": wisp.tensor([0.5], requires_grad=True), "betas": (1, True), "eps": 2}
    assert _C._settings(group, ("lr", "betas", "eps")) == [0.5, 1.0, 1.0, 2.0]


def test_gradients_are_found_and_forgotten():
    first, second = parameter(1.0), parameter(2.0)
    second.grad = None
    assert [p is first for p in _C._with_gradients([first, second])] == [True]
    _C._forget_gradients([first, second])
    assert first.grad is None and second.grad is None


def test_dampened_momentum_starts_with_each_parameter():
    """The first momentum is the gradient as it is, also of parameters that get one later than others."""
    late, early = parameter(1.0), parameter(1.0)
    late.grad = None
    optimizer = optim.SGD([early, late], lr=1.0, momentum=0.5, dampening=0.5)
    optimizer.step()
    late.grad = wisp.ones(1)
    optimizer.step()
    assert early.item() == -1.0 and late.item() == 0.0  # 1 - 1 - (0.5 + 0.5), 1 - 1
    assert optimizer.state[late]["momentum_buffer"].item() == 1.0


def test_momentum_that_a_file_has_none_of():
    param = parameter(1.0)
    optimizer = optim.SGD([param], lr=1.0)
    optimizer.load_state_dict(
        {"state": {0: {"momentum_buffer": None}}, "param_groups": optimizer.state_dict()["param_groups"]}
    )
    optimizer.param_groups[0]["momentum"] = 0.5
    optimizer.step()
    optimizer.step()
    assert param.item() == -1.5  # 1 - 1 - 1.5


def test_parameters_of_a_group_may_be_a_tuple():
    param = parameter(1.0)
    optimizer = optim.SGD([param], lr=1.0)
    optimizer.param_groups[0]["params"] = (param,)
    optimizer.step()
    assert param.item() == 0.0
    optimizer.zero_grad()
    assert param.grad is None


@pytest.mark.parametrize("start", [-2.0, 0.0, 5.0])
def test_each_parameter_counts_its_own_steps(start):
    """Numbers that depend on the step are found once for parameters that have made equally many."""
    params = [parameter(1.0) for _ in range(3)]
    alone = [parameter(1.0) for _ in range(3)]
    steps = [start, start, start + 3]
    together = optim.Adam(params, lr=0.1)
    each = [optim.Adam([param], lr=0.1) for param in alone]
    for optimizer, param, step in [*zip([together] * 3, params, steps), *zip(each, alone, steps)]:
        ones = wisp.ones(1)
        optimizer.state[param] = {"step": wisp.tensor(step), "exp_avg": ones, "exp_avg_sq": ones.clone()}
    for optimizer in (together, *each):
        optimizer.step()
    assert wisp.equal(wisp.cat(params).nan_to_num(7), wisp.cat(alone).nan_to_num(7))
    assert [together.state[param]["step"].item() for param in params] == [step + 1 for step in steps]
