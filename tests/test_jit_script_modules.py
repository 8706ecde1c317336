"""Scripts of modules: attributes, methods, containers, and what is left to Python."""

from typing import Final

import pytest

import wisp
from wisp import Tensor, nn
from wisp.jit import export, ignore, script, script_method, unused


def agree(module, *args):
    """Compiles a module, and compares with it."""
    compiled = script(module)
    expected, got = module(*args), compiled(*args)
    assert wisp.equal(expected, got)
    return compiled


class Attributes(nn.Module):
    __constants__ = ("scale",)
    names: dict[str, int]
    kept: Final[int]

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(wisp.ones(3))
        self.register_buffer("steps", wisp.zeros(()))
        self.register_buffer("temporary", wisp.ones(3), persistent=False)
        self.register_parameter("bias", None)
        self.scale, self.kept, self.count = 2.0, 5, 0
        self.names, self.sizes, self.word = {"a": 1}, [1, 2], "word"
        self.maybe: Tensor | None = None

    def forward(self, x):
        self.count += 1
        self.steps += 1
        if self.bias is not None:
            x = x + self.bias
        if self.word == "word":
            x = x + self.sizes[1] + self.names["a"] + self.kept
        self.sizes.append(self.count)
        return x * self.weight * self.scale + self.temporary


def test_attributes():
    module = Attributes()
    compiled = script(module)
    x = wisp.arange(3.0)
    for _ in range(2):
        assert wisp.equal(compiled(x), module(x))
    assert compiled.count == 2
    assert compiled.sizes == [1, 2, 1, 2]
    assert compiled.scale == 2.0
    assert compiled.kept == 5
    assert compiled.steps is module.steps  # both have counted in it
    assert compiled.steps.item() == 4
    assert list(compiled.state_dict()) == ["weight", "steps"]
    assert compiled.weight is module.weight
    compiled.count = 10
    compiled(x)
    assert compiled.count == 11


class Typed(nn.Module):
    state: Tensor | None
    log: list[tuple[int, float]]

    def __init__(self):
        super().__init__()
        self.state, self.log = None, []

    def forward(self, x):
        state = self.state
        if state is None:
            state = x
        self.state = state + 1
        self.log.append((len(self.log), float(x.sum())))
        return state


def test_attributes_with_declared_types():
    compiled = script(Typed())
    assert compiled(wisp.ones(2)).tolist() == [1, 1]
    assert compiled(wisp.ones(2)).tolist() == [2, 2]
    assert compiled.state.tolist() == [3, 3]
    assert compiled.log == [(0, 2.0), (1, 2.0)]


class Containers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)])
        self.named = nn.ModuleDict({"first": nn.Tanh(), "second": nn.Linear(4, 2)})
        self.both = nn.Sequential(nn.Linear(2, 3), nn.Sigmoid())
        self.absent = None
        self.scales = nn.ParameterList([nn.Parameter(wisp.ones(3) * i) for i in (2, 3)])

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x) + i
        for name, layer in self.named.items():
            if name == "second":
                x = layer(x)
        x = self.named["first"](x) * len(self.layers)
        for layer in self.both[:1]:
            x = layer(x)
        if self.absent is not None:
            x = self.absent(x)
        for scale in self.scales:
            x = x * scale
        return self.both[1](self.both[-1](x)) + self.layers[0].weight.sum()


def test_containers():
    module = Containers()
    x = wisp.randn(2, 4)
    compiled = agree(module, x)
    compiled(x).sum().backward()
    gradients = {name: p.grad for name, p in module.named_parameters()}
    module.zero_grad()
    module(x).sum().backward()
    for name, parameter in module.named_parameters():
        assert wisp.allclose(gradients[name], parameter.grad), name
    assert [name for name, _ in compiled.named_modules()] == [name for name, _ in module.named_modules()]


class Helpers(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)

    @property
    def doubled(self):
        return self.inner.weight * 2

    @staticmethod
    def shift(x, by: float = 0.5):
        return x + by

    def helper(self, x, times: int = 2):
        for _ in range(times):
            x = self.inner(x)
        return x

    @export
    def exported(self, x, n: int):
        return self.helper(x, n) - 1

    def not_compiled(self, x):
        import os

        return os.environ, {1, 2, *x}

    def forward(self, x):
        return self.helper(x) + self.doubled.sum() + self.shift(x) + self.shift(x, by=2)


def test_methods():
    module = Helpers()
    x = wisp.randn(3, 2)
    compiled = agree(module, x)
    assert wisp.equal(compiled.exported(x, 1), module.exported(x, 1))
    assert not hasattr(compiled, "not_compiled")


class Derived(Helpers):
    def helper(self, x, times: int = 1):
        return super().helper(x, times) * 3

    def forward(self, x):
        return super().forward(x) + 1


def test_super():
    agree(Derived(), wisp.randn(3, 2))


class LeftToPython(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    @ignore
    def in_python(self, x, n: int) -> Tensor:
        return wisp.tensor(sum(sorted({int(v) for v in x.tolist()}))) + n

    @unused
    def never(self, x):
        return [y for y in (1, 2)]

    def forward(self, x, wrong: bool = False):
        if wrong:
            self.never(x)
        return x + self.in_python(x, 3) + in_python(2)


@ignore
def in_python(n: int) -> float:
    return float(len({n, n}))


def test_ignore_and_unused():
    module = LeftToPython()
    x = wisp.tensor([1.0, 2.0, 2.0])
    compiled = agree(module, x)
    with pytest.raises(RuntimeError, match="unused"):
        compiled(x, True)


class Switch(nn.Module):
    def forward(self, x):
        if wisp.jit.is_scripting():
            return x + 1
        else:
            return {v for v in x.tolist()}  # not part of the language, and not looked at


def test_is_scripting():
    assert script(Switch())(wisp.ones(1)).item() == 2


class Modes(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop, self.norm = nn.Dropout(0.5), nn.BatchNorm1d(3)

    def forward(self, x):
        x = self.norm(x)
        return self.drop(x) if self.training else x * 2


def test_training_and_evaluation():
    module = Modes()
    x = wisp.randn(4, 3)
    compiled = script(module)
    for mode in (True, False):
        compiled.train(mode)
        module.train(mode)
        mean = module.norm.running_mean.clone()
        wisp.manual_seed(0)
        got = compiled(x)
        assert wisp.equal(mean, module.norm.running_mean) != mode  # the statistics are shared
        with wisp.no_grad():
            module.norm.running_mean.copy_(mean)
        wisp.manual_seed(0)
        if mode:
            module.norm.num_batches_tracked -= 1
        assert wisp.allclose(got, module(x))


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = self.a
        self.c = nn.Linear(2, 2)

    def forward(self, x):
        return self.c(self.b(self.a(x)))


def test_equal_modules_share_a_class_and_one_module_is_one_object():
    compiled = agree(Shared(), wisp.randn(1, 2))
    assert str(compiled.graph).count("__wisp__.Linear_") == 0
    assert compiled._c.part("a") == compiled._c.part("b")
    assert compiled._c.part("a") != compiled._c.part("c")


# --- the older style


class Recurrent(wisp.jit.ScriptModule):
    __constants__ = ("steps",)

    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(wisp.eye(size))
        self.steps = 3
        self.out = nn.Linear(size, 1)

    @script_method
    def forward(self, x, h):
        # type: (Tensor, Optional[Tensor]) -> Tuple[Tensor, Tensor]
        outputs = []
        if h is None:
            h = wisp.zeros_like(x)
        for _ in range(self.steps):
            h = wisp.tanh(x @ self.weight + h)
            outputs += [self.out(h)]
        return wisp.stack(outputs), h


def test_script_module_as_a_base_class():
    module = Recurrent(2)
    outputs, _ = module(wisp.ones(1, 2), None)
    assert outputs.shape == (3, 1, 1)
    assert list(module.state_dict()) == ["weight", "out.weight", "out.bias"]
    outputs.sum().backward()
    assert module.weight.grad is not None
    assert "prim::Loop" in str(module.graph)
    assert isinstance(module, wisp.jit.ScriptModule)
    assert isinstance(script(nn.Linear(1, 1)), wisp.jit.ScriptModule)
    assert not isinstance(nn.Linear(1, 1), wisp.jit.ScriptModule)

    class Outer(wisp.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.inner = Recurrent(2)

        @script_method
        def forward(self, x):
            return self.inner(x, None)[1]

    outer = Outer()
    assert outer(wisp.ones(1, 2)).shape == (1, 2)
    assert [name for name, _ in outer.named_parameters()] == ["inner.weight", "inner.out.weight", "inner.out.bias"]


class Parts(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        return self.linear(x)

    def encode(self, x):
        return x + 1

    @export
    def decode(self, x):
        return x - 1


class Hopeless(nn.Module):
    def forward(self, x):
        yield x


class UsesOneMethod(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts, self.hopeless = Parts(), Hopeless()

    def forward(self, x):
        return self.parts.encode(x)


def test_submodules_can_be_called_though_no_compiled_method_does():
    module, x = UsesOneMethod(), wisp.ones(2)
    compiled = agree(module, x)
    assert compiled.parts(x).equal(module.parts(x)) and compiled.parts.decode(x).tolist() == [0, 0]
    assert compiled.parts.linear(x).equal(module.parts.linear(x))
    with pytest.raises(NotImplementedError, match="'Hopeless' has no forward"):
        compiled.hopeless(x)


def test_compilation_unit():
    unit = wisp.jit.CompilationUnit("""
def twice(x, n: int = 2):
    return x * n

def other(x):
    return twice(x) + 1
""")
    assert unit.other(wisp.ones(1)).item() == 3
    assert unit.twice(wisp.ones(1), n=4).item() == 4


def test_packed_sequences_in_scripts():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru = nn.GRU(3, 4, batch_first=True)

        def forward(self, x, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            out, state = self.gru(packed)
            return nn.utils.rnn.pad_packed_sequence(out, batch_first=True)[0], state

    net, args = Net(), (wisp.randn(2, 5, 3), wisp.tensor([3, 5]))
    for got, expected in zip(script(net)(*args), net(*args)):
        wisp.testing.assert_close(got, expected)


class Late(wisp.jit.ScriptModule):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.scale = 3.0

    @script_method
    def double(self, x):
        return self.inner(x) * 2


def test_methods_defined_after_a_module_was_made():
    module, x = Late(), wisp.ones(2)
    weight = module.inner.weight
    module.define("def forward(self, x):\n    return self.double(x) * self.scale")
    module.define("def more(self, x):\n    return self.forward(x) + 1")
    assert module(x).equal(module.inner(x) * 2 * 3) and module.more(x).equal(module(x) + 1)
    assert module.inner.weight is weight
    with pytest.raises(RuntimeError, match="define\\(\\) is for subclasses"):
        script(nn.ReLU()).define("def more(self, x):\n    return x")


class NamedLikeOurs(nn.Module):
    def __init__(self):
        super().__init__()
        self._c = nn.ReLU()

    def forward(self, x):
        return x + 1


def test_members_may_have_names_that_compiled_modules_use():
    agree(NamedLikeOurs(), wisp.ones(2))
