"""wisp.nn.utils: parametrizations, pruning, calls with other weights."""

import copy
import doctest
import importlib
import pickle

import pytest

import wisp
from tests import oracle
from tests.oracle import assert_close
from tests.test_nn_layers import fill, numbers, plain
from wisp import nn

X = numbers("x", 3, 4)


def outcome(lib, module):
    """The text, state, results and gradients of a module, after two calls."""
    fill(lib, module)
    for name, buffer in module.named_buffers():
        buffer.copy_(lib.tensor(numbers(name, *buffer.shape)))
    x = lib.tensor(X)
    results = [module(x), module(x)]
    sum(r.square().sum() for r in results).backward()
    return [repr(module), list(module.state_dict()), plain(results), plain([p.grad for p in module.parameters()])]


def norms(lib):
    old, new, linear = lib.nn.utils, lib.nn.utils.parametrizations, lib.nn.Linear
    return {
        "weight_norm": outcome(lib, new.weight_norm(linear(4, 2))),
        "weight_norm of all": outcome(lib, new.weight_norm(linear(4, 2), dim=None)),
        "spectral_norm": outcome(lib, new.spectral_norm(linear(4, 2))),
        "spectral_norm of a vector": outcome(lib, new.spectral_norm(linear(4, 2), "bias")),
        "old weight_norm": outcome(lib, old.weight_norm(linear(4, 2), dim=1)),
        "old spectral_norm": outcome(lib, old.spectral_norm(linear(4, 2), n_power_iterations=2)),
    }


def pruned(lib):
    from importlib import import_module

    prune = import_module(f"{lib.__name__}.nn.utils.prune")
    layer, found = fill(lib, lib.nn.Linear(4, 5)), []
    for act in (lambda: prune.l1_unstructured(layer, "weight", 0.3), lambda: prune.ln_structured(layer, "weight", 1, 2, 0),
                lambda: prune.l1_unstructured(layer, "weight", 2), lambda: prune.identity(layer, "bias"),
                lambda: prune.remove(layer, "weight")):  # fmt: skip
        act()
        found.append(
            [plain(layer.weight), list(layer.state_dict()), plain(layer(lib.tensor(X))), prune.is_pruned(layer)]
        )
    net = fill(lib, lib.nn.Sequential(lib.nn.Linear(4, 3), lib.nn.Linear(3, 2)))
    prune.global_unstructured([(net[0], "weight"), (net[1], "weight")], prune.L1Unstructured, amount=0.5)
    return {"one": found, "all": plain([net[0].weight, net[1].weight])}


PARTS = (norms, pruned)
ORACLES = {"nn_utils": lambda lib: {part.__name__: part(lib) for part in PARTS}}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", PARTS, ids=lambda f: f.__name__)
def test_like_pytorch(part):
    assert_close(part(wisp), oracle.answers("nn_utils", ORACLES["nn_utils"])[part.__name__], part.__name__)


# --- parametrize


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).mT

    def right_inverse(self, x):
        return x.triu()


class Doubled(nn.Module):
    def forward(self, x):
        return 2 * x


parametrize = nn.utils.parametrize


def test_parametrization_and_back():
    layer = nn.Linear(3, 3)
    original = layer.weight
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert type(layer).__name__ == "ParametrizedLinear"
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
    assert layer.parametrizations.weight.original is original
    assert wisp.equal(layer.weight, layer.weight.mT)
    parametrize.register_parametrization(layer, "weight", Doubled())
    assert wisp.equal(layer.weight, 2 * Symmetric()(original))
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    value = layer.weight.detach().clone()
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear
    assert layer.weight is original
    assert wisp.equal(layer.weight, value)


def test_assignment_goes_through_the_inverse():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    layer.weight = wisp.tensor([[1.0, 2.0], [2.0, 3.0]])
    assert layer.weight.tolist() == [[1, 2], [2, 3]]
    assert layer.parametrizations.weight.original.tolist() == [[1, 2], [0, 3]]
    parametrize.register_parametrization(layer, "weight", Doubled())
    with pytest.raises(RuntimeError, match="Doubled does not implement right_inverse"):
        layer.weight = wisp.eye(2)


def test_cached_computes_once():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight


def test_parametrized_modules_are_copied_but_not_pickled():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    twin = copy.deepcopy(layer)
    layer.parametrizations.weight.original.data.zero_()
    assert twin.weight.abs().sum() > 0
    assert wisp.equal(twin.weight, twin.weight.mT)
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(layer)


def test_transfer():
    source = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    target = parametrize.transfer_parametrizations_and_params(source, nn.Linear(2, 2))
    assert wisp.equal(source.weight, target.weight)
    assert target.parametrizations.weight.original is source.parametrizations.weight.original


def test_parametrize_refusals():
    class Larger(nn.Module):
        def forward(self, x):
            return wisp.cat([x, x])

    layer = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="may not change the shape of the tensor"):
        parametrize.register_parametrization(layer, "weight", Larger())
    with pytest.raises(ValueError, match="does not have a parameter, a buffer"):
        parametrize.register_parametrization(layer, "nothing", Doubled())
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(layer, "weight")


# --- others


def test_functional_call():
    call = nn.utils.stateless.functional_call
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    own = net[0].weight
    new = {"0.weight": wisp.eye(2, requires_grad=True), "1.bias": wisp.zeros(2)}
    out = call(net, new, wisp.ones(1, 2))
    assert net[0].weight is own
    out.sum().backward()
    assert new["0.weight"].grad is not None
    assert own.grad is None
    with pytest.raises(RuntimeError, match=r"Missing key\(s\): '0.bias'"):
        call(net, new, wisp.ones(1, 2), strict=True)
    tied = nn.Sequential(net[0], net[0])
    assert call(tied, {"0.weight": wisp.zeros(2, 2), "0.bias": wisp.ones(2)}, wisp.ones(2)).tolist() == [1, 1]
    with pytest.raises(ValueError, match="which are tied"):
        call(tied, {"0.weight": wisp.zeros(2, 2), "1.weight": wisp.ones(2, 2)}, wisp.ones(2))


def test_functional_call_leaves_names_it_does_not_know_to_the_module():
    class Shifted(nn.Linear):
        def forward(self, x):
            return super().forward(x) + getattr(self, "shift", 0)

    layer = Shifted(1, 1)
    shifted = nn.utils.stateless.functional_call(layer, {"shift": wisp.tensor(5.0)}, wisp.ones(1))
    assert wisp.allclose(shifted, layer(wisp.ones(1)) + 5)
    assert not hasattr(layer, "shift")
    layer.shift = wisp.tensor(1.0)  # neither a parameter nor a buffer, but a tensor
    shifted = nn.utils.stateless.functional_call(layer, {"shift": wisp.tensor(5.0)}, wisp.ones(1))
    assert wisp.allclose(shifted, layer(wisp.ones(1)) + 4) and layer.shift == 1
    del layer.shift
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\): 'shift'"):
        nn.utils.stateless.functional_call(layer, {"shift": wisp.tensor(5.0)}, wisp.ones(1), strict=True)


def test_weight_norm_reads_what_its_older_form_has_written():
    old, new = nn.Linear(3, 2), nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    with pytest.warns(FutureWarning):
        nn.utils.weight_norm(old)
    for loaded in (new, copy.deepcopy(new)):
        net = nn.Sequential(loaded)
        net.load_state_dict({f"0.{name}": value for name, value in old.state_dict().items()})
        assert wisp.allclose(net(wisp.ones(1, 3)), old(wisp.ones(1, 3)))


def test_removal_of_the_old_norms():
    for name in ("weight_norm", "spectral_norm"):
        layer = nn.Linear(3, 2).eval()
        with pytest.warns(FutureWarning) if name == "weight_norm" else nothing():
            getattr(nn.utils, name)(layer)
        before = layer(wisp.ones(1, 3))
        getattr(nn.utils, f"remove_{name}")(layer)
        assert wisp.allclose(layer(wisp.ones(1, 3)), before)
        assert {n for n, _ in layer.named_parameters()} == {"weight", "bias"}
        with pytest.raises(ValueError, match=f"{name} of 'weight' not found"):
            getattr(nn.utils, f"remove_{name}")(layer)


def nothing():
    from contextlib import nullcontext

    return nullcontext()


def test_fusion_with_batch_norm():
    linear, norm = nn.Linear(3, 2), nn.BatchNorm1d(2)
    norm(wisp.randn(8, 2))
    x = wisp.randn(4, 3)
    with pytest.raises(AssertionError, match="Fusion only for eval"):
        nn.utils.fuse_linear_bn_eval(linear, norm)
    fused = nn.utils.fuse_linear_bn_eval(linear.eval(), norm.eval())
    assert wisp.allclose(fused(x), norm(linear(x)), atol=1e-6)


def test_random_pruning():
    prune = nn.utils.prune
    layer = prune.random_unstructured(nn.Linear(4, 4), "weight", 5)
    assert layer.weight_mask.eq(0).sum() == 5
    rows = prune.random_structured(nn.Linear(4, 4), "weight", 2, 0).weight_mask.sum(1)
    assert sorted(rows.tolist()) == [0, 0, 4, 4]
    with pytest.raises(ValueError, match="non-negative integer"):
        prune.l1_unstructured(nn.Linear(2, 2), "weight", 1.5)
    with pytest.raises(ValueError, match="multidimensional"):
        prune.ln_structured(nn.Linear(2, 2), "bias", 1, 2, 0)


@pytest.mark.parametrize("name", ["parametrize", "parametrizations", "prune", "stateless"])
def test_examples_in_docstrings(name):
    result = doctest.testmod(importlib.import_module(f"wisp.nn.utils.{name}"), extraglobs={"wisp": wisp})
    assert result.attempted > 0
    assert result.failed == 0


def test_truncated_normal_numbers_of_narrow_dtypes():
    """They are drawn in float32: none pile up at the bounds, or are left out."""
    for dtype, distinct in ((wisp.float16, 3000), (wisp.bfloat16, 1000)):
        x = wisp.nn.init.trunc_normal_(wisp.empty(10000, dtype=dtype))
        assert x.unique().numel() > distinct and x.abs().max() <= 2
        narrow = wisp.nn.init.trunc_normal_(wisp.empty(10000, dtype=dtype), std=0.1)
        assert (narrow.abs() > 1).sum() == 0


def test_small_refusals_of_nn_utils():
    empty = wisp.nn.utils.rnn.PackedSequence(wisp.rand(0, 5), wisp.tensor([], dtype=wisp.int64))
    with pytest.raises(RuntimeError, match="batch_sizes can not be empty"):
        wisp.nn.utils.rnn.pad_packed_sequence(empty)

    class Away(wisp.nn.Module):
        def forward(self, x):
            return x

        def right_inverse(self, x):
            return x.to("meta")

    with pytest.raises(ValueError, match="may not change the device"):
        wisp.nn.utils.parametrize.register_parametrization(wisp.nn.Linear(2, 2), "weight", Away())


def test_flags_of_backends_decorate_functions():
    @wisp.backends.cudnn.flags(enabled=False)
    def enabled(times=1):
        return [wisp.backends.cudnn.enabled, *(enabled(times - 1) if times else [])]

    before = wisp.backends.cudnn.enabled
    assert enabled() == [False, False] and wisp.backends.cudnn.enabled == before
