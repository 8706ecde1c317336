"""amp.GradScaler."""

import math
import pickle
import warnings

import pytest

import wisp
from wisp.amp import GradScaler


def setting(**options):
    weight = wisp.nn.Parameter(wisp.ones(3))
    return (
        weight,
        wisp.optim.SGD([weight], lr=0.1),
        GradScaler("cpu", **{"init_scale": 4.0, "growth_interval": 2, **options}),
    )


def iterate(weight, optimizer, scaler, factor=1.0):
    optimizer.zero_grad()
    scaler.scale((weight**2).sum() * factor).backward()
    result = scaler.step(optimizer)
    scaler.update()
    return result


def test_steps_are_those_without_scaling():
    weight, optimizer, scaler = setting()
    iterate(weight, optimizer, scaler)
    assert weight.tolist() == pytest.approx([0.8] * 3)


def test_the_scale_grows_and_shrinks():
    weight, optimizer, scaler = setting()
    scales = []
    for factor in (1.0, 1.0, 1.0, math.inf, math.nan, 1.0, 1.0):
        before = weight.tolist()
        iterate(weight, optimizer, scaler, factor)
        scales.append(scaler.get_scale())
        assert (weight.tolist() == before) == (not math.isfinite(factor))  # bad steps are left out
    assert scales == [4, 8, 8, 4, 2, 2, 4]


def test_unscaling_before_clipping():
    weight, optimizer, scaler = setting()
    scaler.scale((weight**2).sum()).backward()
    assert weight.grad.tolist() == [8, 8, 8]
    scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [2, 2, 2]
    wisp.nn.utils.clip_grad_norm_([weight], 1.0)
    scaler.step(optimizer)
    assert (1 - weight).norm().item() == pytest.approx(0.1, rel=1e-4)


def test_losses_of_any_shape_and_dtype():
    _, _, scaler = setting()
    first, (second, third) = scaler.scale([wisp.ones(2), (wisp.ones(1, dtype=wisp.float64), wisp.ones(1))])
    assert first.tolist() == [4, 4]
    assert second.dtype is wisp.float64
    assert third.item() == 4
    assert scaler.scale(wisp.ones(1, dtype=wisp.bfloat16)).dtype is wisp.bfloat16
    with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable of Tensors"):
        scaler.scale("loss")


def test_the_order_of_calls_is_checked():
    weight, optimizer, scaler = setting()
    for call in (lambda: scaler.step(optimizer), scaler.update, lambda: scaler.unscale_(optimizer)):
        with pytest.raises(AssertionError, match="_scale is None"):
            call()
    scaler.scale(weight.sum()).backward()
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        scaler.update()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="has already been called on this optimizer"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="being called after step"):
        scaler.unscale_(optimizer)
    scaler.update()
    weight.grad = None
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="Closure use is not currently supported"):
        scaler.step(optimizer, closure=lambda: None)


def test_half_precision_gradients_cannot_be_unscaled():
    weight = wisp.nn.Parameter(wisp.ones(1, dtype=wisp.float16))
    weight.grad = wisp.ones(1, dtype=wisp.float16)
    _, _, scaler = setting()
    scaler.scale(wisp.ones(1))
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.unscale_(wisp.optim.SGD([weight], lr=0.1))


def test_setting_the_scale():
    weight, optimizer, scaler = setting()
    iterate(weight, optimizer, scaler)
    scaler.update(3.0)
    assert scaler.get_scale() == 3
    scaler.update(wisp.tensor(5.0))
    assert scaler.get_scale() == 5
    with pytest.raises(AssertionError, match="1-element"):
        scaler.update(wisp.ones(2))
    scaler.set_growth_factor(4.0)
    scaler.set_backoff_factor(0.25)
    scaler.set_growth_interval(7)
    assert (scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()) == (4, 0.25, 7)
    with pytest.raises(AssertionError, match="growth factor must be > 1"):
        GradScaler("cpu", growth_factor=1.0)
    with pytest.raises(AssertionError, match="backoff factor must be < 1"):
        GradScaler("cpu", backoff_factor=1.0)


def test_saving_and_loading():
    weight, optimizer, scaler = setting()
    iterate(weight, optimizer, scaler)
    state = scaler.state_dict()
    assert state == {
        "scale": 4.0,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 2,
        "_growth_tracker": 1,
    }
    other = GradScaler("cpu")
    other.load_state_dict(state)
    assert other.state_dict() == state
    assert pickle.loads(pickle.dumps(scaler)).state_dict() == state
    iterate(weight, optimizer, other)
    assert other.get_scale() == 8
    other.load_state_dict(state)
    assert other.get_scale() == 4
    scaler.scale(weight.sum()).backward()
    scaler.step(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled"):
        pickle.dumps(scaler)
    with pytest.raises(RuntimeError, match="source state dict is empty"):
        scaler.load_state_dict({})


def test_disabled_scalers_pass_everything_on():
    weight, optimizer, scaler = setting(enabled=False)
    loss = (weight**2).sum()
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == pytest.approx([0.8] * 3)
    assert (scaler.get_scale(), scaler.state_dict(), scaler.is_enabled()) == (1.0, {}, False)
    scaler.load_state_dict({})
    pickle.dumps(scaler)


def test_a_device_that_is_not_there_disables_the_scaler():
    with pytest.warns(UserWarning, match="not available"):
        assert not GradScaler().is_enabled()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not GradScaler(enabled=False).is_enabled()
    assert wisp.GradScaler is GradScaler


def test_numbers_are_those_of_pytorch():
    torch = pytest.importorskip("torch")

    def run(lib):
        weight = lib.nn.Parameter(lib.ones(2))
        optimizer = lib.optim.Adam([weight], lr=0.1)
        scaler = lib.amp.GradScaler("cpu", init_scale=2.0, growth_interval=3)
        seen = []
        for factor in (1.0, 1.0, math.inf, 1.0, 1.0, 1.0, 1.0, math.nan):
            iterate(weight, optimizer, scaler, factor)
            seen.append((scaler.get_scale(), scaler._get_growth_tracker(), *(round(v, 5) for v in weight.tolist())))
        return seen

    assert run(wisp) == run(torch)
