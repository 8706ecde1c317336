"""Traces: what is recorded, what stays dynamic, what is warned of."""

import collections
import threading
import warnings

import pytest

import wisp
from wisp import nn
from wisp.jit import TracerWarning, trace, trace_module

Pair = collections.namedtuple("Pair", "first second")


def kinds(graph):
    return [node.kind() for node in graph.nodes()]


def quiet(function, *args, **options):
    """A trace that no warning is given for."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return trace(function, *args, **options)


# --- what is recorded


def test_a_function_becomes_its_operators_with_places():
    traced = quiet(lambda x, y: 2 * x + y.exp(), (wisp.ones(3), wisp.ones(3)))
    assert [kind for kind in kinds(traced.graph) if kind != "prim::Constant"] == ["aten::mul", "aten::exp", "aten::add"]
    assert all("test_jit_trace.py" in node.place for node in traced.graph.nodes())
    x, y = wisp.randn(5), wisp.randn(5)
    assert wisp.equal(traced(x, y), 2 * x + y.exp())


def test_types_show_the_example():
    traced = quiet(lambda x: x + 1, wisp.zeros(2, 3))
    assert str(traced.graph).startswith("graph(%x : Float(2, 3)):\n")


def test_gradients_pass_through():
    traced = quiet(lambda x: (x * x).sum(), wisp.ones(2))
    x = wisp.tensor([2.0, 3.0], requires_grad=True)
    traced(x).backward()
    assert x.grad.tolist() == [4.0, 6.0]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.add_(1).mul_(2),
        lambda x: wisp.add(x, x, out=wisp.empty(2, 3)),
        lambda x: x[0].zero_() + x[1],
        lambda x: x.t().contiguous().view(-1),
        lambda x: x[:, 1:] * x[..., None, 0:1].squeeze(-1),
        lambda x: x[x > 0],
        lambda x: wisp.cat([x, x.detach()], dim=1),
        lambda x: wisp.stack(list(x.unbind(0))),
        lambda x: x.to(wisp.float64).sum(dim=(0, 1), dtype=wisp.float32),
        lambda x: wisp.where(x > 0, x, wisp.zeros_like(x)),
        lambda x: wisp.einsum("ij,kj->ik", x, x),
        lambda x: x.data.clone() + wisp.arange(3.0),
    ],
)
def test_forms_of_calls(function):
    x = wisp.randn(2, 3)
    traced = trace(function, x.clone(), check_trace=False)
    other = wisp.randn(2, 3)
    assert wisp.equal(traced(other.clone()), function(other.clone()))


def test_writes_are_seen_by_views():
    def write(x):
        y = x.clone()
        row = y[0]
        row += 10
        return y

    traced = quiet(write, wisp.zeros(2, 2))
    assert traced(wisp.ones(2, 2)).tolist() == [[11.0, 11.0], [1.0, 1.0]]


def test_the_arguments_of_the_example_are_not_changed():
    x = wisp.ones(2)
    trace(lambda x: x.add_(1), x)
    assert x.tolist() == [1.0, 1.0]


def test_tensors_from_outside_are_constants():
    outside = wisp.tensor([1.0, 2.0])
    traced = quiet(lambda x: x + outside, wisp.zeros(2))
    outside.zero_()
    assert "prim::Constant" in kinds(traced.graph)
    assert traced(wisp.zeros(2)).tolist() == [0.0, 0.0]  # whose memory is shared, as in PyTorch


def test_random_numbers_are_drawn_anew():
    traced = trace(lambda x: wisp.nn.functional.dropout(x, 0.5), wisp.ones(1000))
    assert "aten::dropout" in kinds(traced.graph)
    first, second = traced(wisp.ones(1000)), traced(wisp.ones(1000))
    assert not wisp.equal(first, second)
    wisp.manual_seed(3)
    first = traced(wisp.ones(1000))
    wisp.manual_seed(3)
    assert wisp.equal(first, traced(wisp.ones(1000)))


def test_printing_is_no_part_of_the_trace(capsys):
    def show(x):
        print(x)
        return x + 1

    traced = quiet(show, wisp.ones(1))
    assert [k for k in kinds(traced.graph) if k != "prim::Constant"] == ["aten::add"]
    assert "tensor([1.])" in capsys.readouterr().out


def test_a_custom_function_is_followed():
    class Double(wisp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    traced = quiet(Double.apply, (wisp.ones(2),))
    assert "aten::mul" in kinds(traced.graph)
    assert traced(wisp.ones(2) * 3).tolist() == [6.0, 6.0]


def test_autocast_is_recorded():
    def product(x):
        with wisp.autocast("cpu", wisp.bfloat16):
            return x @ x

    traced = quiet(product, wisp.randn(3, 3))
    assert traced(wisp.ones(3, 3)).dtype == wisp.bfloat16
    assert "aten::_to_copy" in kinds(traced.graph)


def test_vmap_and_grad_inside():
    def per_sample(x):
        return wisp.func.vmap(wisp.func.grad(lambda row: (row**3).sum()))(x)

    traced = trace(per_sample, wisp.randn(2, 3), check_trace=False)
    x = wisp.randn(2, 3)
    wisp.testing.assert_close(traced(x), 3 * x * x)


def test_an_exception_ends_the_recording():
    def fails(x):
        raise KeyError("no")

    with pytest.raises(KeyError):
        trace(fails, wisp.ones(1))
    assert not wisp.jit.is_tracing()
    assert wisp.ones(1).shape[0].__class__ is int


def test_an_error_that_is_caught_leaves_no_traces():
    def careful(x):
        try:
            x @ wisp.ones(7, 7)
        except RuntimeError:
            x = x + 1
        return x

    assert quiet(careful, wisp.zeros(2))(wisp.zeros(2)).tolist() == [1.0, 1.0]


def test_is_tracing():
    seen = []
    trace(lambda x: seen.append(wisp.jit.is_tracing()) or x + 1, wisp.ones(1), check_trace=False)
    assert seen == [True]
    assert not wisp.jit.is_tracing()


def test_one_trace_at_a_time():
    with pytest.raises(RuntimeError, match="being recorded already"):
        trace(lambda x: trace(wisp.neg, x)(x), wisp.ones(1))
    assert not wisp.jit.is_tracing()
    assert nn.Module.__call__.__qualname__ == "Module.__call__"
    net, results = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), []

    def run():
        results.extend(trace(net, wisp.rand(3, 2)) for _ in range(5))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {str(each.graph.to_text(places=False)) for each in results} == {results[0].graph.to_text(places=False)}
    assert len(results) == 15
    assert nn.Module.__call__.__qualname__ == "Module.__call__"


# --- sizes and numbers stay what they are


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.view(x.size(0), -1),
        lambda x: x.reshape(x.shape[0] * x.shape[1], x.size(-1)),
        lambda x: x.new_zeros(x.size(0), 3) + x.shape[1],
        lambda x: x.expand(2, *x.shape),
        lambda x: x[:, : x.size(1) // 2],
        lambda x: x[:, x.size(1) - 1],
        lambda x: x / (x.size(0) * x.size(1)),
        lambda x: wisp.ones(x.shape[:2]) * (-x.size(0)),
        lambda x: wisp.zeros(x.size()).view(x.size()[0], -1),
        lambda x: wisp.arange(x.size(1)) % (x.size(0) + 1),
        lambda x: x[:10],
        lambda x: x.flatten(1).sum() / x.size(0),
        lambda x: wisp.nn.functional.interpolate(x, size=2 * x.size(2)),
    ],
)
def test_sizes_are_those_of_each_call(function):
    traced = quiet(function, wisp.randn(2, 4, 3))
    for shape in ((2, 4, 3), (5, 6, 3), (20, 2, 7)):
        x = wisp.randn(shape)
        wisp.testing.assert_close(traced(x), function(x))


def test_numbers_among_the_inputs_stay_numbers():
    traced = quiet(lambda x, n, f: (x + n) * f + n // 2, (wisp.ones(2), 3, 0.5))
    assert traced(wisp.ones(2), 10, 2.0).tolist() == [27.0, 27.0]
    assert str(traced.graph).startswith("graph(%x : Float(2), %n : int, %f : float):")


def test_structures_of_inputs():
    def use(pair, table, items):
        return pair.first * table["a"] + items[0] + items[1] + pair[1]

    def inputs(a, b):
        return Pair(wisp.full((2,), a), wisp.ones(2)), {"a": wisp.full((2,), b), "b": wisp.ones(1)}, [wisp.ones(2)] * 2

    traced = quiet(use, inputs(1.0, 1.0))
    assert traced(*inputs(2.0, 3.0)).tolist() == use(*inputs(2.0, 3.0)).tolist() == [9.0, 9.0]


def test_keyword_inputs():
    def combine(x, *, scale):
        return x * scale

    traced = quiet(combine, (wisp.ones(2),), example_kwarg_inputs={"scale": wisp.full((2,), 2.0)})
    assert traced(wisp.ones(2), scale=wisp.full((2,), 5.0)).tolist() == [5.0, 5.0]


def test_outputs():
    assert quiet(lambda x: (x + 1, (x, Pair(x, x * 2))), wisp.ones(1))(wisp.zeros(1))[1][1].second.tolist() == [0.0]
    assert quiet(lambda x: {"a": x + 1}, wisp.ones(1), strict=False)(wisp.zeros(1))["a"].tolist() == [1.0]
    assert quiet(lambda x: [x, x + 1], wisp.ones(1), strict=False)(wisp.zeros(1))[1].tolist() == [1.0]
    with pytest.raises(RuntimeError, match="Encountering a dict at the output"):
        trace(lambda x: {"a": x}, wisp.ones(1))
    with pytest.raises(RuntimeError, match="Encountering a list"):
        trace(lambda x: (x, [x]), wisp.ones(1))
    with pytest.raises(RuntimeError, match="a graph cannot hold"):
        trace(lambda x: object(), wisp.ones(1))


def test_bools_and_texts_are_those_of_the_example():
    def scaled(x, up: bool, mode: str):
        return x * 2 if up else x

    traced = quiet(scaled, (wisp.ones(2), True, "a"))
    assert traced(wisp.ones(1), True, "a").tolist() == [2.0]
    with pytest.raises(RuntimeError, match="recorded with up=True"):
        traced(wisp.ones(1), False, "a")
    with pytest.raises(RuntimeError, match="recorded with mode='a'"):
        traced(wisp.ones(1), True, "b")


def test_sizes_that_outlive_the_trace_are_numbers():
    kept = []

    def keep(x):
        kept.append(x.size(0))
        return x.view(kept[0], -1)

    trace(keep, wisp.ones(2, 3, 4), check_trace=False)
    assert kept[0] + 1 == 3
    assert type(kept[0] + 1) is int
    traced = trace(keep, wisp.ones(2, 6), check_trace=False)  # a size of another trace is a constant
    assert traced(wisp.ones(4, 3)).shape == (2, 6)


# --- warnings and checks


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda x: x * 2 if x.sum() > 0 else x, "a Python boolean"),
        (lambda x: x * int(x.sum()), "a Python integer"),
        (lambda x: x * float(x.sum()), "a Python float"),
        (lambda x: x * x.sum().item(), "a Python number"),
        (lambda x: x * x.tolist()[0], "a Python list"),
        (lambda x: x * x.numpy()[0].item(), "a NumPy array"),
    ],
)
def test_values_that_leave_tensors_are_warned_of(function, what):
    with pytest.warns(TracerWarning, match=what) as found:
        trace(function, wisp.ones(2), check_trace=False)
    assert found[0].filename == __file__
    assert found[0].lineno == function.__code__.co_firstlineno


@pytest.mark.filterwarnings("ignore:Converting a tensor")
def test_a_trace_that_does_not_generalize_is_found_on_other_inputs():
    def sign(x):
        return x if x.sum() > 0 else -x

    with pytest.warns(TracerWarning, match="differs from that of the Python function"):
        trace(sign, wisp.ones(2), check_inputs=[(-wisp.ones(2),)])


def test_a_program_that_differs_between_runs_is_refused():
    calls = []

    def growing(x):
        calls.append(1)
        for _ in calls:
            x = x + 1
        return x

    with pytest.raises(wisp.jit._trace.TracingCheckError, match="Graphs differed"):
        trace(growing, wisp.ones(1))


# --- modules


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
