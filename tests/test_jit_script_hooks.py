"""Scripts of modules with forward hooks: they are compiled into the calls of their module."""

import io
from functools import partial

import pytest

import wisp
from wisp import Tensor, nn
from wisp.jit import freeze, load, script


class Inner(nn.Module):
    def forward(self, x: Tensor, scale: float = 2.0):
        return x * scale


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.offset = 10.0
        self.inner = Inner()
        self.layers = nn.Sequential(nn.ReLU(), Inner())

    def forward(self, x: Tensor):
        return self.layers(self.inner(x, 3.0))


def add_one(module, args: tuple[Tensor]):
    return args[0] + 1


def negate_first(module, args: tuple[Tensor, float]) -> tuple[Tensor, float]:
    return -args[0], args[1] + 1


def add_offset(module, args: tuple[Tensor], result: Tensor):
    return result + module.offset * args[0]


def as_pair(module, args, result):
    return result, args[0]


def only_looks(module, args, result) -> None:
    print("seen", result.shape)


@pytest.fixture
def hooked():
    module = Outer()
    module.register_forward_pre_hook(add_one)
    module.register_forward_pre_hook(add_one)
    module.register_forward_hook(add_offset)
    module.inner.register_forward_pre_hook(negate_first)
    module.layers[1].register_forward_hook(only_looks)
    return module


def test_hooks_run_where_python_runs_them(hooked, capfd):
    x = wisp.tensor([-1.0, 2.0])
    compiled = script(hooked)
    assert compiled(x).equal(hooked(x))
    assert compiled.inner(x, 2.0).equal(hooked.inner(x, 2.0))
    assert capfd.readouterr().out.count("seen") == 2


def test_forward_itself_runs_no_hooks(hooked):
    x = wisp.tensor([-1.0, 2.0])
    assert script(hooked).forward(x).equal(hooked.forward(x))


def test_hooks_are_saved_frozen_copied_and_traced(hooked):
    x = wisp.tensor([-1.0, 2.0])
    compiled = script(hooked.eval())
    file = io.BytesIO()
    compiled.save(file)
    file.seek(0)

    class Around(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = compiled

        def forward(self, x: Tensor):
            return self.part(x)

    for made in (load(file), freeze(compiled), script(Around()), wisp.jit.trace(Around(), x)):
        assert made(x).equal(hooked(x))


def test_a_hook_may_give_another_type():
    module = Inner()
    module.register_forward_hook(as_pair)
    doubled, given = script(module)(wisp.ones(2))
    assert doubled.tolist() == [2, 2] and given.tolist() == [1, 1]


def test_modules_with_other_hooks_are_of_other_classes():
    net = nn.Sequential(nn.ReLU(), nn.ReLU())
    net[1].register_forward_pre_hook(add_one)
    x = wisp.tensor([-0.5, -2.0])
    assert script(net)(x).equal(net(x))


def sometimes(module, args):
    if args[0].sum() > 0:
        return args[0] + 1


def with_names(module, args, kwargs):
    return None


@pytest.mark.parametrize(
    ("register", "said"),
    [
        (lambda m: m.register_forward_pre_hook(sometimes), "returns None in some cases"),
        (lambda m: m.register_forward_pre_hook(with_names, with_kwargs=True), "keyword arguments or with always_call"),
        (lambda m: m.register_forward_hook(partial(as_pair)), "only functions can"),
    ],
)
def test_hooks_that_cannot_be_compiled(register, said):
    module = nn.Sequential(Inner())
    register(module[0])
    with pytest.raises(wisp.jit.CompileError, match=said):
        script(module)
