"""Calls of modules, and of functions that call them, made without Python: what Python would have done, whatever has changed."""

import dataclasses
import math

import pytest

import wisp
from tests.recorded_calls import TURNS, all_same, recorded, same, ways
from wisp import nn
from wisp.nn import functional as F
from wisp.nn.modules._hooks import ModuleHooks


@dataclasses.dataclass
class Config:
    width: int = 8
    heads: int = 2


class Norm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(wisp.ones(width) * 1.5)

    def _scale(self, x):
        return wisp.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (x * self._scale(x.float())).type_as(x) * self.weight


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.inner, self.outer = nn.Linear(config.width, 3 * config.width), nn.Linear(config.width, config.width)
        self.register_buffer("mask", wisp.ones(16, 16).tril().view(1, 1, 16, 16))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.inner(x).split(self.config.width, dim=2)
        q, k, v = (t.view(batch, length, self.config.heads, -1).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        scores = scores.masked_fill(self.mask[:, :, :length, :length] == 0, float("-inf"))
        return self.outer((scores.softmax(-1) @ v).transpose(1, 2).contiguous().view(batch, length, width))


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])
        self.heads = nn.ModuleDict({"a": nn.Linear(8, 2), "b": nn.Linear(8, 3)})
        self.act, self.scales = F.gelu, [1.0, 2.0]

    def forward(self, x, mask=None, **options):
        for i, layer in enumerate(self.layers):
            x = self.act(layer(x)) if i < len(self.layers) - 1 else layer(x)
        if mask is not None:
            x = x * mask
        assert x.dim() == 2, f"expected a batch, got {type(x).__name__}"
        return self.heads["a"](x) * self.scales[1] * options.get("scale", 1.0), self.heads["b"](x)


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        return self.fc(x)


class Derived(Base):
    def forward(self, x):
        return super().forward(x).relu()


def mlp():
    return nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8))


def states(*shape):
    return tuple(wisp.randn(*shape) for _ in range(2))


MODULES = [
    (mlp, (2, 8)), (lambda: Norm(8), (2, 8)), (lambda: Attention(Config()), (2, 4, 8)), (Layers, (2, 8)), (Derived, (2, 8)),
    (lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(18, 2)), (1, 1, 8, 8)),
    (lambda: nn.GRUCell(8, 8), (2, 8)), (lambda: nn.LSTMCell(8, 8), (2, 8)), (lambda: nn.GRU(8, 8), (3, 2, 8)),
    (lambda: nn.LSTM(8, 8), (3, 2, 8)), (lambda: nn.LayerNorm(8), (2, 8)), (lambda: nn.Dropout(0.5).eval(), (2, 8)), (lambda: nn.Dropout(0.0), (2, 8)),
    (lambda: nn.BatchNorm1d(8).eval(), (2, 8)), (lambda: nn.GroupNorm(2, 8), (2, 8)), (lambda: nn.PReLU(), (2, 8)),
]  # fmt: skip


def module_recorded(module, *args, **kwargs):
    """The module compiled, with a call like this one recorded, and why it is not if it is not."""
    fast = wisp.compile(module)
    fast._collecting._record(*args, **kwargs)
    found = fast._collecting._recorded(*args, **kwargs)
    return fast, found if isinstance(found, str) else None


def is_recorded(fast, *args, **kwargs):
    return isinstance(fast._collecting._recorded(*args, **kwargs), tuple)


@pytest.mark.parametrize("make, shape", MODULES)
def test_results_and_gradients_are_those_of_python(make, shape):
    module = make()
    fast, why_not = module_recorded(module, wisp.randn(*shape))
    assert why_not is None
    for turn in range(TURNS):
        x = wisp.randn(*shape).requires_grad_(turn % 2 == 0)
        with wisp.set_grad_enabled(turn % 3 != 0):
            got, want = fast(x), module(x)
        assert same(got, want)
        got, want = (y[0] if isinstance(y, tuple) else y for y in (got, want))
        if got.requires_grad:
            assert type(got.grad_fn) is type(want.grad_fn)
            inputs = [t for t in (x, *module.parameters()) if t.requires_grad]
            ways = [wisp.autograd.grad(y.sum(), inputs, allow_unused=True) for y in (got, want)]
            assert all(a is b is None or same(a, b) for a, b in zip(*ways, strict=True))


def test_what_forward_is_given():
    net = Layers()
    x, mask = wisp.randn(2, 8), wisp.ones(2, 1)
    fast, _ = module_recorded(net, x, mask=mask, scale=2.0)
    assert is_recorded(fast, x, mask=mask, scale=2.0) and not is_recorded(fast, x)
    for _ in range(TURNS):
        assert same(fast(x, mask=mask, scale=2.0), net(x, mask=mask, scale=2.0))
        assert same(fast(x, mask=mask, scale=3.0), net(x, mask=mask, scale=3.0)) and same(fast(x), net(x))


def seeded(f, x):
    wisp.manual_seed(7)
    return f(x)


@pytest.mark.parametrize("training", [True, False])
def test_modes_change_what_is_done(training):
    net, x = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5)).train(training), wisp.randn(2, 8)
    fast, why_not = module_recorded(net, x)
    assert why_not is None
    for mode in (training, not training) * 3:
        net.train(mode)
        assert all(same(seeded(fast, x), seeded(net, x)) for _ in range(TURNS))
        fast._collecting._record(x)


def test_a_module_that_could_not_be_recorded_while_it_was_trained():
    net, x = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)), wisp.randn(2, 8)
    fast, _ = module_recorded(net, x)
    for _ in range(3):
        fast._collecting._record(x)
    net.eval()
    for _ in range(60_000):
        fast(x)
        if is_recorded(fast, x):
            break
    assert is_recorded(fast, x) and all_same(ways(fast, x), net(x))


def replaced_weight(net):
    net[0].weight = nn.Parameter(wisp.ones(8, 8))


def weight_in_place(net):
    with wisp.no_grad():
        net[0].weight.mul_(2)


def weight_data(net):
    net[0].weight.data = wisp.ones(8, 8)


def no_bias(net):
    net[0].bias = None


def replaced_layer(net):
    net[1] = nn.ReLU()


def another_layer(net):
    net.append(nn.Linear(8, 8))


def fewer_layers(net):
    del net[2]


def other_order(net):
    first = net._modules.pop("0")
    net._modules["0"] = first


def frozen(net):
    net.requires_grad_(False)


def to_double(net):
    net[0].double()
    net[2].double()
    net.register_forward_pre_hook(lambda module, args: (args[0].double(),))


def hook(net):
    net[1].register_forward_hook(lambda module, args, out: out * 3)


def other_forward(net):
    net[1].forward = lambda x: x * 7


def other_class(net):
    net[1].__class__ = nn.Sigmoid


def other_dict(net):
    net[1].__dict__ = {**vars(net[1]), "forward": lambda x: x * 11}


def loaded(net):
    net.load_state_dict(mlp().state_dict())


def assigned(net):
    net.load_state_dict(mlp().state_dict(), assign=True)


def parametrized(net):
    nn.utils.parametrizations.weight_norm(net[0])
    with wisp.no_grad():
        net[0].parametrizations.weight.original0.mul_(2)


@pytest.mark.parametrize(
    "change",
    [
        replaced_weight, weight_in_place, weight_data, no_bias, replaced_layer, another_layer, fewer_layers, other_order, frozen,
        to_double, hook, other_forward, other_class, other_dict, loaded, assigned, parametrized,
    ],
)  # fmt: skip
def test_changes_of_a_module_are_noticed(change):
    net, x = mlp(), wisp.randn(2, 8)
    fast, why_not = module_recorded(net, x)
    before = net(x)
    assert why_not is None and all_same(ways(fast, x), before)
    change(net)
    assert change in (frozen,) or not wisp.equal(net(x), before)
    assert all_same(ways(fast, x), net(x)) and fast(x).requires_grad == net(x).requires_grad
    fast._collecting._record(x)
    assert all_same(ways(fast, x), net(x))


def test_changes_of_classes_are_noticed(monkeypatch):
    net, x = mlp(), wisp.randn(2, 8)
    fast, _ = module_recorded(net, x)
    monkeypatch.setattr(nn.Tanh, "forward", lambda self, x: x * 5)
    assert all_same(ways(fast, x), net[2](net[0](x) * 5))
    monkeypatch.setattr(nn.Module, "__call__", lambda self, x: x + 1)
    assert all_same([fast._orig_mod(x), fast(x), fast(x)], x + 1)


def test_hooks_of_all_modules(monkeypatch):
    monkeypatch.setattr(ModuleHooks, "_hooked", False)  # what registering sets stays
    net, x = mlp(), wisp.randn(2, 8)
    fast, _ = module_recorded(net, x)
    seen = []
    handle = nn.modules.module.register_module_forward_hook(lambda module, *rest: seen.append(type(module)))
    fast(x)
    handle.remove()
    assert nn.Tanh in seen
    assert all_same(ways(fast, x), net(x))


def test_settings_of_objects_are_noticed():
    net, x = Attention(Config()), wisp.randn(2, 4, 8)
    fast, why_not = module_recorded(net, x)
    assert why_not is None
    net.config.heads = 4
    assert all_same(ways(fast, x), net(x))
    net.config = Config(heads=1)
    assert all_same(ways(fast, x), net(x))


def test_lists_and_functions_of_a_module():
    net, x = Layers(), wisp.randn(2, 8)
    fast, _ = module_recorded(net, x)
    net.scales[1] = 5.0
    assert all_same([y[0] for y in ways(fast, x)], net(x)[0])
    fast._collecting._record(x)
    net.act = wisp.tanh
    assert all_same(ways(fast, x), net(x)) and is_recorded(fast, x) is False


model = mlp()


def loss(x, y):
    return F.mse_loss(model(x), y)


def step(net, batch):
    return net(batch["x"]).sum() + batch.get("y")


def test_functions_that_call_modules(monkeypatch):
    x, y = wisp.randn(2, 8), wisp.randn(2, 8)
    fast, why_not = recorded(loss, x, y)
    assert why_not is None and all_same(ways(fast, x, y), loss(x, y))
    fast(x, y).backward()
    got = model[0].weight.grad.clone()
    model.zero_grad()
    loss(x, y).backward()
    assert wisp.equal(got, model[0].weight.grad)
    monkeypatch.setitem(globals(), "model", nn.Identity())
    assert all_same(ways(fast, x, y), F.mse_loss(x, y))


def test_modules_and_dicts_as_arguments():
    nets, batch = [mlp(), mlp()], {"x": wisp.randn(2, 8), "y": wisp.ones(1)}
    fast, why_not = recorded(step, nets[0], batch)
    assert why_not is None
    others = [{**batch, "z": 1}, {"y": batch["x"], "x": batch["x"]}, {"x": batch["x"], "y": 2.0}]
    for given in (batch, *others):
        for net in nets:
            assert all_same(ways(fast, net, given), step(net, given))


def test_lists_of_tensors():
    def summed(xs):
        return sum(x * 2 for x in xs)

    xs = [wisp.randn(3) for _ in range(4)]
    fast, why_not = recorded(summed, xs)
    assert why_not is None and all_same(ways(fast, xs), summed(xs))
    for others in (xs[:3], tuple(xs), [xs[0]] * 4, [*xs[:3], wisp.randn(2, 3)], [*xs[:3], 4.0]):
        assert all_same(ways(fast, others), summed(others))
    same_twice = [xs[0], xs[0], xs[1], xs[2]]
    fast, why_not = recorded(summed, same_twice)
    assert (
        why_not is None
        and all_same(ways(fast, xs), summed(xs))
        and all_same(ways(fast, same_twice), summed(same_twice))
    )


@pytest.mark.parametrize("options", [{}, {"need_weights": False}, {"key_padding_mask": wisp.eye(2, 3) > 0}])
def test_attention(options):
    net, q, k = nn.MultiheadAttention(8, 2, batch_first=True), wisp.randn(2, 3, 8), wisp.randn(2, 3, 8)
    for inputs in ((q, q, q), (q, k, k), (q, k, q)):
        fast, why_not = module_recorded(net, *inputs, **options)
        assert why_not is None and all_same(ways(fast, *inputs, **options), net(*inputs, **options))


class Model:
    scale = 2

    @wisp.compile
    def run(self, x):
        return x * self.scale


def test_methods_of_objects():
    one, other, x = Model(), Model(), wisp.ones(2)
    Model.run._record(one, x)
    assert isinstance(Model.run._recorded(one, x), tuple)
    assert all_same([one.run(x) for _ in range(TURNS)], x * 2)
    other.scale = 3
    assert all_same([other.run(x) for _ in range(TURNS)], x * 3)
    one.scale = 5
    assert all_same([one.run(x) for _ in range(TURNS)], x * 5)
    Model.scale = 7
    assert all_same([Model().run(x) for _ in range(TURNS)], x * 7)
    Model.scale = 2


class Remembers(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen, self.count = [], 0

    def forward(self, x):
        self.seen.append(1)
        return x + 1


class Counts(Remembers):
    def forward(self, x):
        self.count += 1
        return x + self.count


class Sets:
    def run(self, x):
        object.__setattr__(self, "seen", 1) if isinstance(x, float) else super().__setattr__("last", 2)
        return x + 1


class Asks(nn.Module):
    def __getattr__(self, name):
        return 3 if name == "scale" else super().__getattr__(name)

    def forward(self, x):
        return x * self.scale


class Calls(nn.Module):
    def __call__(self, x):
        print(end="")
        return super().__call__(x)

    def forward(self, x):
        return x


class Reads(nn.Module):
    def forward(self, x):
        return x.grad if x.grad is not None else x


class Hides(nn.Module):
    """Has an attribute of a name that tensors have too."""

    grad = 2

    def forward(self, x):
        return x * (x.grad or 1)


def rarely(x):
    if x.shape[0] > 100:
        print("many", end="")
    return x + 1


@pytest.mark.parametrize(
    "make, reason",
    [
        (Remembers, "a list was changed"), (Counts, "STORE_ATTR"), (lambda: Sets().run, "__setattr__"), (Asks, "__getattr__"), (Calls, "__call__"),
        (Reads, ".grad"), (Hides, ".grad"),
    ],
)  # fmt: skip
def test_modules_that_do_more_are_left_to_python(make, reason):
    made = make()
    _, why_not = (module_recorded if isinstance(made, nn.Module) else recorded)(made, wisp.randn(2, 8))
    assert reason in why_not


def test_what_is_rarely_called_need_not_be_known(capsys):
    fast, why_not = recorded(rarely, wisp.ones(3))
    assert why_not is None and all_same(ways(fast, wisp.ones(3)), wisp.ones(3) + 1)
    fast(wisp.ones(101))
    assert capsys.readouterr().out == "many"
    assert "print is of type" in recorded(rarely, wisp.ones(101))[1]


def test_modes_see_the_calls_of_modules():
    net, x = mlp(), wisp.randn(2, 8)
    fast, _ = module_recorded(net, x)
    for _ in range(TURNS):
        with wisp.autocast("cpu", dtype=wisp.bfloat16):
            assert fast(x).dtype == net(x).dtype == wisp.bfloat16
        assert same(wisp.vmap(fast)(x.expand(3, 2, 8)), wisp.vmap(net)(x.expand(3, 2, 8)))
        with wisp.no_grad():
            assert not fast(x).requires_grad
        assert fast(x).requires_grad


def _told(error):
    """What it says, and its notes, without the lines of this file (before Python 3.11, notes are part of the message)."""
    return [text.partition("\n  called at")[0] for text in (str(error), *getattr(error, "__notes__", ()))]


def test_errors_of_modules_are_pythons():
    net = mlp()
    fast, _ = module_recorded(net, wisp.randn(2, 8))
    for _ in range(TURNS):
        with pytest.raises(RuntimeError) as want:
            net(wisp.randn(2, 7))
        with pytest.raises(RuntimeError) as got:
            fast(wisp.randn(2, 7))
        assert _told(got.value) == _told(want.value)


def test_compiled_modules_inside_of_others():
    inner, x = mlp(), wisp.randn(2, 8)
    net = nn.Sequential(wisp.compile(inner), nn.ReLU())
    fast, _ = module_recorded(net, x)
    assert all_same(ways(fast, x), net(x))
    inner[0].weight = nn.Parameter(wisp.ones(8, 8))
    assert all_same(ways(fast, x), net(x)) and same(fast(x), inner(x).relu())
    net[0].register_forward_hook(lambda module, args, out: out * 3)
    assert all_same(ways(fast, x), (inner(x) * 3).relu())
