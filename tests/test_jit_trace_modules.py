"""Traces of modules, and compiled functions inside of traces."""

import pytest

import wisp
from tests.jit_traces import kinds, quiet
from wisp import nn
from wisp.jit import trace, trace_module


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, h):
        new_h = wisp.tanh(self.linear(x) + h)
        return new_h, new_h


def test_submodules_keep_their_calls():
    cell = Cell()
    traced = quiet(cell, (wisp.rand(3, 4), wisp.rand(3, 4)))
    assert kinds(traced.graph) == [
        "prim::GetAttr", "prim::CallMethod", "prim::Constant", "aten::add", "aten::tanh", "prim::TupleConstruct",
    ]  # fmt: skip
    assert "aten::linear" in kinds(traced.inlined_graph)
    assert "prim::CallMethod" not in kinds(traced.inlined_graph)
    x, h = wisp.rand(2, 4), wisp.rand(2, 4)
    assert wisp.equal(traced(x, h)[0], cell(x, h)[0])
    assert wisp.equal(traced.linear(x), cell.linear(x))


def test_parameters_are_shared_with_the_module():
    cell = Cell()
    traced = quiet(cell, (wisp.rand(3, 4), wisp.rand(3, 4)))
    assert traced.linear.weight is cell.linear.weight
    assert [name for name, _ in traced.named_parameters()] == ["linear.weight", "linear.bias"]
    with wisp.no_grad():
        cell.linear.weight.zero_()
        cell.linear.bias.fill_(1)
    assert wisp.equal(traced(wisp.rand(1, 4), wisp.zeros(1, 4))[0], wisp.tanh(wisp.ones(1, 4)))
    traced(wisp.rand(1, 4), wisp.zeros(1, 4))[0].sum().backward()
    assert cell.linear.bias.grad is not None


def test_hooks_run_while_tracing():
    cell, seen = Cell(), []
    cell.linear.register_forward_hook(lambda m, args, out: seen.append(1) or out * 2)
    traced = quiet(cell, (wisp.rand(3, 4), wisp.rand(3, 4)), check_trace=False)
    assert seen == [1]
    x, h = wisp.rand(2, 4), wisp.rand(2, 4)
    assert wisp.equal(traced(x, h)[0], cell(x, h)[0])


def test_a_module_called_twice_and_one_that_uses_an_outer_value():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 2)
            self.reader = Reader()

        def forward(self, x):
            self.reader.extra = x * 3
            return self.inner(self.inner(x)) + self.reader(x)

    class Reader(nn.Module):
        def forward(self, x):
            return x + self.extra

    net = Net()
    traced = quiet(net, wisp.rand(2, 2))
    x = wisp.rand(5, 2)
    wisp.testing.assert_close(traced(x), net(x))
    assert "forward1" in dir(traced.inner)


def test_a_module_that_hands_on_a_tensor_aside():
    class Inner(nn.Module):
        def forward(self, x):
            self.kept = x * 2
            return x + 1

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x) + self.inner.kept

    traced = quiet(Net(), wisp.ones(2))
    assert traced(wisp.full((2,), 5.0)).tolist() == [16.0, 16.0]


def test_a_module_that_returns_an_object():
    class Box:
        def __init__(self, value):
            self.value = value

    class Inner(nn.Module):
        def forward(self, x):
            return Box(x * 2)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x).value + 1

    assert quiet(Net(), wisp.ones(2))(wisp.full((2,), 5.0)).tolist() == [11.0, 11.0]


def test_statistics_are_updated_by_the_trace():
    net = nn.BatchNorm1d(2)
    traced = trace(net, wisp.randn(4, 2))
    before = int(net.num_batches_tracked)
    traced(wisp.randn(4, 2))
    assert int(net.num_batches_tracked) == before + 1
    assert traced.running_mean is net.running_mean


@pytest.mark.parametrize(
    ("make", "shape", "other"),
    [
        (lambda: nn.LSTM(3, 4, 2), (5, 2, 3), (7, 3, 3)),
        (lambda: nn.GRU(3, 4, batch_first=True), (5, 2, 3), (7, 3, 3)),
        (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), (2, 5, 8), (3, 7, 8)),
        (lambda: nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)).eval(), (2, 1, 8, 8), (5, 1, 12, 9)),
        (lambda: nn.Sequential(nn.Embedding(10, 3), nn.Flatten()), None, None),
    ],
)  # fmt: skip
def test_layers_for_other_shapes(make, shape, other):
    net = make()
    example, x = (
        (wisp.rand(shape), wisp.rand(other)) if shape else (wisp.tensor([[1, 2]]), wisp.tensor([[3, 4], [5, 6]]))
    )
    traced = quiet(net, example)
    wisp.testing.assert_close(traced(x), net(x))


def test_a_whole_network():
    net = wisp.models.resnet18(num_classes=4).eval()
    traced = trace(net, wisp.rand(1, 3, 32, 32))
    x = wisp.rand(2, 3, 40, 32)
    wisp.testing.assert_close(traced(x), net(x))
    assert list(traced.state_dict()) == list(net.state_dict())


def test_methods():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(wisp.tensor(2.0))

        def forward(self, x):
            return x * self.weight

        def inverse(self, x):
            return x / self.weight

    net = Net()
    traced = trace_module(net, {"forward": wisp.ones(2), "inverse": (wisp.ones(2),)})
    assert traced(wisp.ones(1)).tolist() == [2.0]
    assert traced.inverse(wisp.ones(1)).tolist() == [0.5]
    assert trace(net.inverse, wisp.ones(2))(wisp.ones(1)).tolist() == [0.5]


def test_what_cannot_be_traced():
    with pytest.raises(TypeError, match="expects a function or a module"):
        trace(3, wisp.ones(1))
    with pytest.raises(AttributeError, match="expected a dictionary"):
        trace_module(nn.Linear(1, 1), wisp.ones(1))
    with pytest.raises(AttributeError, match="wisp.nn.Module"):
        trace_module(len, {})


# --- compiled functions inside


@wisp.jit.script
def halved(x, n: int = 1):
    for _ in range(n):
        if bool(x.sum() > 1):
            x = x / 2
    return x


def test_scripts_keep_their_control_flow():
    traced = quiet(lambda x: halved(x + 1, 3) * 2, wisp.ones(2))
    assert "prim::CallFunction" in kinds(traced.graph)
    for x in (wisp.ones(2), wisp.full((2,), 100.0), -wisp.ones(2)):
        assert wisp.equal(traced(x), halved(x + 1, 3) * 2)


def test_compiled_modules_inside():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = wisp.jit.script(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))

        def forward(self, x):
            return self.inner(x) * 2

    net = Net()
    traced = quiet(net, wisp.rand(3, 2))
    x = wisp.randn(4, 2)
    assert wisp.equal(traced(x), net(x))
    assert [name for name, _ in traced.named_parameters()] == ["inner.0.weight", "inner.0.bias"]
    assert traced.inner[0].weight is net.inner[0].weight


def test_a_trace_in_a_script():
    traced = trace(lambda x, t: x.mm(x) + t, (wisp.ones(2, 2), 1))

    @wisp.jit.script
    def twice(x):
        for _ in range(2):
            x = traced(x, 1)
        return x

    x = wisp.ones(2, 2)
    assert wisp.equal(twice(x), traced(traced(x, 1), 1))


class _Tied(nn.Module):
    """Modules that have several names: the first one does not lead through the module that calls them."""

    def __init__(self, compiled):
        super().__init__()
        self.first = wisp.jit.script(nn.Linear(3, 3)) if compiled else nn.Linear(3, 3)
        self.body = nn.Sequential(self.first, nn.ReLU())
        self.tail = nn.Sequential(nn.Tanh(), self.body)

    def forward(self, x):
        return self.tail(self.body(x)) + self.first(x)


@pytest.mark.parametrize("compiled", [False, True])
def test_modules_with_several_names(compiled):
    module, x = _Tied(compiled), wisp.randn(2, 3)
    traced = trace(module, wisp.randn(2, 3))
    assert wisp.allclose(traced(x), module(x))
    with wisp.no_grad():
        module.first.weight.mul_(2)
    assert wisp.allclose(traced(x), module(x))
