"""Compiled functions and modules as Python objects; freezing."""

import copy
import io
import pickle
import threading

import pytest

import wisp
from wisp import nn
from wisp.jit import ScriptModule, freeze, optimize_for_inference, script, script_method, trace


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.drop = nn.Dropout(0.5)
        self.out = nn.Linear(4, 3)

    def forward(self, x):
        x = wisp.relu(self.norm(self.conv(x)))
        return self.out(self.drop(x).mean(dim=(2, 3)))

    @wisp.jit.export
    def features(self, x):
        return self.norm(self.conv(x))


def trained():
    net = Net()
    for _ in range(3):
        net(wisp.randn(4, 1, 8, 8))
    return net


X = wisp.linspace(0, 1, 2 * 64).reshape(2, 1, 8, 8)


def kinds(graph):
    return [node.kind() for node in graph.nodes()]


# --- modules


@pytest.mark.parametrize("compiled", [script, lambda net: trace(net, X)])
def test_a_compiled_module_is_a_module(compiled):
    net = trained().eval()
    made = compiled(net)
    assert isinstance(made, nn.Module)
    assert isinstance(made, ScriptModule)
    assert [name for name, _ in made.named_modules()] == [name for name, _ in net.named_modules()]
    assert [name for name, _ in made.named_buffers()] == [name for name, _ in net.named_buffers()]
    assert all(a is b for a, b in zip(made.parameters(), net.parameters(), strict=True))
    assert list(made.state_dict()) == list(net.state_dict())
    wisp.testing.assert_close(made(X), net(X))


def test_training_mode():
    net = trained()
    made = script(net)
    assert made.training
    assert not wisp.equal(made(X), made(X))
    made.eval()
    assert not made.drop.training
    assert wisp.equal(made(X), made(X))
    assert net.training  # the flag is each one's own


def test_attributes_and_methods():
    made = script(trained().eval())
    assert wisp.equal(made.features(X), made.norm(made.conv(X)))
    assert made.conv.weight.shape == (4, 1, 3, 3)
    assert {"conv", "features", "forward", "training"} <= set(dir(made))
    with pytest.raises(AttributeError, match="absent"):
        _ = made.absent
    with pytest.raises(RuntimeError, match="cannot get another member"):
        made.more = nn.Linear(1, 1)
    made.note = "what Python code likes to keep"
    assert made.note.startswith("what")
    assert "Net" in repr(made)


def test_setting_attributes_changes_what_is_computed():
    class Scale(nn.Module):
        factor: int

        def __init__(self):
            super().__init__()
            self.factor = 2
            self.weight = nn.Parameter(wisp.ones(2))

        def forward(self, x):
            return x * self.factor * self.weight

    made = script(Scale())
    assert made(wisp.ones(2)).tolist() == [2.0, 2.0]
    made.factor = 5
    assert made.factor == 5
    made.weight = nn.Parameter(wisp.full((2,), 3.0))
    assert made(wisp.ones(2)).tolist() == [15.0, 15.0]
    with pytest.raises(RuntimeError, match="Expected a value of type 'int' for attribute 'factor'"):
        made.factor = "three"


def test_conversions_reach_the_program():
    made = script(trained().eval())
    made.double()
    assert made.norm.running_mean.dtype == wisp.float64
    assert made(X.double()).dtype == wisp.float64
    made.to(wisp.float32)
    state = {name: wisp.zeros_like(value) for name, value in made.state_dict().items()}
    made.load_state_dict(state)
    assert made(X).abs().sum().item() == 0


def test_copies():
    made = script(trained().eval())
    other = copy.deepcopy(made)
    with wisp.no_grad():
        other.out.bias.add_(1)
    wisp.testing.assert_close(other(X), made(X) + 1)
    assert type(other.out.bias) is nn.Parameter
    assert other.out.bias.requires_grad
    with pytest.raises(TypeError, match="jit.save"):
        pickle.dumps(made)
    with pytest.raises(TypeError, match="jit.save"):
        pickle.dumps(script(lambda_free))


def lambda_free(x):
    return x + 1


def test_hooks_run():
    made, seen = script(trained().eval()), []
    made.register_forward_hook(lambda module, args, out: seen.append(out.shape))
    made(X)
    assert seen == [(2, 3)]


def test_members_keep_their_python_objects():
    made = script(trained())
    assert made.conv is made.conv
    made.conv.weight.mark = 3
    assert made.conv.weight.mark == 3
    assert type(made._c.part("conv").get("weight")) is nn.Parameter


def test_script_module_in_the_style_of_the_talks():
    class Cell(ScriptModule):
        __constants__ = ("size",)

        def __init__(self, size):
            super().__init__()
            self.size = size
            self.weight = nn.Parameter(wisp.full((size, size), 0.5))
            self.inner = nn.Linear(size, size)

        @script_method
        def forward(self, x, h):
            for _ in range(x.size(0)):
                if bool(h.sum() > 0):
                    h = wisp.tanh(h @ self.weight)
                else:
                    h = self.inner(h)
            return h

        def plain(self):
            return "Python"

    cell = Cell(3)
    assert cell.plain() == "Python"
    assert cell.weight[1, 2].item() == 0.5
    assert isinstance(cell, Cell)
    x, h = wisp.ones(2, 1), wisp.ones(1, 3)
    wisp.testing.assert_close(cell(x, h), wisp.tanh(wisp.tanh(h @ cell.weight) @ cell.weight))
    cell(x, h).sum().backward()
    assert cell.weight.grad is not None
    assert {"prim::Loop"} <= set(kinds(cell.graph))
    assert [name for name, _ in cell.named_parameters()] == ["weight", "inner.weight", "inner.bias"]
    assert list(copy.deepcopy(cell).state_dict()) == list(cell.state_dict())


# --- functions


def test_arguments_of_compiled_functions():
    @script
    def f(x: wisp.Tensor, n: int = 2, *, up: bool = False) -> wisp.Tensor:
        return x + n if up else x - n

    x = wisp.zeros(1)
    assert f(x).item() == -2
    assert f(x, 3).item() == -3
    assert f(n=4, x=x, up=True).item() == 4
    for args, kwargs, message in (
        ((), {}, r"missing value for argument 'x'"),
        ((3,), {}, r"Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'"),
        ((x, "a"), {}, r"Expected a value of type 'int' for argument 'n' but instead found type 'str'"),
        ((x, 1.5), {}, r"Expected a value of type 'int'"),
        ((x,), {"m": 1}, r"unexpected keyword argument 'm'"),
        ((x,), {"x": x}, r"multiple values for argument 'x'"),
        ((x, 1, True, 4), {}, r"expected at most 3 argument"),
    ):
        with pytest.raises(RuntimeError, match=message):
            f(*args, **kwargs)
    assert f.name == "f"
    assert f.schema.startswith("f(Tensor x, int n=2")
    assert f.code.startswith("def f(")


def test_values_of_all_kinds_pass_the_border():
    from typing import NamedTuple

    class Point(NamedTuple):
        x: int
        y: wisp.Tensor

    @script
    def f(
        a: int, b: float, c: bool, d: str, e: int | None, g: list[int], h: tuple[int, str], i: dict[str, wisp.Tensor],
        j: wisp.dtype, k: wisp.device,
    ):  # fmt: skip
        return a, b, c, d, e, g, h, i, j, k

    x = wisp.ones(1)
    values = (1, 2, True, "é", None, [1, 2], (3, "x"), {"t": x}, wisp.float16, wisp.device("cpu"))
    result = f(*values)
    assert result == values
    assert type(result[1]) is float
    assert result[7]["t"] is x

    given = [1, 2]

    @script
    def grow(items: list[int]):
        items.append(3)
        return items

    assert grow(given) == [1, 2, 3]
    assert given == [1, 2]  # lists are copied

    @script
    def moved(p: Point) -> Point:
        return Point(p.x + 1, p.y)

    assert moved(Point(1, x)).x == 2
    for wrong in ([1, "a"], {"a": 1}, (1,), 3):
        with pytest.raises(RuntimeError, match="Expected a value of type"):
            moved(wrong)


# --- freezing


def test_freezing_folds_what_is_fixed():
    frozen = freeze(trace(trained().eval(), X))
    operators = [kind for kind in kinds(frozen.graph) if kind != "prim::Constant"]
    assert operators == ["prim::FusionGroup", "aten::mean.dim", "aten::linear"]
    (group,) = (node for node in frozen.graph.nodes() if node.kind() == "prim::FusionGroup")
    assert kinds(group.blocks()[0]) == ["aten::conv2d", "aten::relu"]


@pytest.mark.parametrize("compiled", [script, lambda net: trace(net, X)])
def test_frozen_modules_compute_the_same(compiled):
    net = trained().eval()
    frozen = freeze(compiled(net))
    assert list(frozen.parameters()) == []
    assert not {"prim::GetAttr", "prim::CallMethod", "aten::dropout"} & set(kinds(frozen.graph))
    for shape in ((2, 1, 8, 8), (5, 1, 9, 12)):
        x = wisp.rand(shape)
        wisp.testing.assert_close(frozen(x), net(x))


def test_frozen_modules_keep_what_they_are_asked_to():
    made = script(trained().eval())
    frozen = freeze(made, ["features"])
    wisp.testing.assert_close(frozen.features(X), made.features(X))

    class Counter(nn.Module):
        count: int

        def __init__(self):
            super().__init__()
            self.count = 0
            self.weight = nn.Parameter(wisp.ones(1))
            self.register_buffer("seen", wisp.zeros(1))

        def forward(self, x):
            self.count += 1
            self.seen.add_(1)
            return x * self.weight * self.count + self.seen

    counter = freeze(script(Counter().eval()))
    assert [counter(wisp.ones(1)).item() for _ in range(3)] == [2.0, 4.0, 6.0]
    assert counter.count == 3


def test_what_cannot_be_frozen():
    with pytest.raises(RuntimeError, match="training mode"):
        freeze(script(trained()))
    with pytest.raises(RuntimeError, match="expects a ScriptModule"):
        freeze(trained())


def test_optimize_for_inference():
    net = trained()
    fast = optimize_for_inference(script(net))
    net.eval()
    wisp.testing.assert_close(fast(X), net(X))


# --- futures


def test_fork_and_wait():
    future = wisp.jit.fork(lambda x: x * 2, wisp.ones(1))
    assert wisp.jit.wait(future).item() == 2
    assert future.done()
    assert future.then(lambda f: f.value() + 1).wait().item() == 3
    failing = wisp.jit.fork(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        failing.wait()
    with pytest.raises(ZeroDivisionError):
        failing.then(lambda f: f.value()).wait()


def test_forked_calls_run_beside_the_program():
    begun, go_on = threading.Event(), threading.Event()

    def call():
        begun.set()
        return go_on.wait(30)

    future = wisp.jit.fork(call)
    assert begun.wait(30)
    assert not future.done()
    go_on.set()
    assert future.wait()


def test_forked_calls_have_the_modes_of_the_caller():
    x = wisp.ones(2, requires_grad=True)
    with wisp.no_grad():
        assert not wisp.jit.fork(lambda: x * 2).wait().requires_grad
    with wisp.inference_mode():
        assert wisp.jit.fork(lambda: wisp.ones(1) * 2).wait().is_inference()
    with wisp.autocast("cpu", dtype=wisp.bfloat16):
        assert wisp.jit.fork(wisp.mm, wisp.ones(2, 2), wisp.ones(2, 2)).wait().dtype == wisp.bfloat16
    doubled = wisp.func.vmap(lambda row: wisp.jit.fork(lambda: row.sum() * 2).wait())(wisp.ones(3, 2))
    assert doubled.tolist() == [4, 4, 4]


def test_gradients_of_forked_calls():
    x = wisp.arange(4.0, requires_grad=True)
    futures = [wisp.jit.fork(lambda n=n: (x * n).sin().sum()) for n in range(8)]
    sum(map(wisp.jit.wait, futures)).backward()
    expected = sum(n * (x.detach() * n).cos() for n in range(8))
    wisp.testing.assert_close(x.grad, expected)


def test_nested_forks():
    def tree(depth):
        if depth == 0:
            return 1
        halves = [wisp.jit.fork(tree, depth - 1) for _ in range(2)]
        return sum(map(wisp.jit.wait, halves))

    assert tree(5) == 32


class Counting(nn.Module):
    def __init__(self, step):
        super().__init__()
        self.calls, self.step = 0, step
        self.fc = nn.Linear(3, 3)
        self.register_buffer("last", wisp.zeros(3))

    def forward(self, x):
        self.calls += self.step
        self.last = self.fc(x)
        return self.last * self.calls


class CountsTwice(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(Counting(1), Counting(10))
        self.other = Counting(100)

    def forward(self, x):
        return self.other(self.inner(x))

    @wisp.jit.export
    def called(self):
        return self.inner[0].calls, self.inner[1].calls, self.other.calls


def test_frozen_modules_keep_what_submodules_write():
    net, x = CountsTwice().eval(), wisp.ones(3)
    script = wisp.jit.script(net)
    frozen = wisp.jit.freeze(script, preserved_attrs=["called"])
    file = io.BytesIO()
    wisp.jit.save(frozen, file)
    for each in (frozen, wisp.jit.load(io.BytesIO(file.getvalue()))):
        with wisp.no_grad():
            first, second = each(x), each(x)
            assert wisp.equal(first, script(x)) and wisp.equal(second, script(x))
        assert each.called() == (2, 20, 200) and not list(each.parameters())
        assert each.inner[0].calls == 2 and wisp.equal(each.inner[0].last, script.inner[0].last)
        script.inner[0].calls = script.inner[1].calls = script.other.calls = 0
    assert "last" in dict(frozen.other.named_buffers()) and "fc" not in dict(frozen.other.named_modules())
