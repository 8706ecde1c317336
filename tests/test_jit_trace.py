"""Traces: what is recorded, what stays dynamic, what is warned of."""

import collections
import threading
import warnings

import pytest

import wisp
from tests.jit_traces import kinds, quiet
from wisp import nn
from wisp.jit import TracerWarning, trace

Pair = collections.namedtuple("Pair", "first second")


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
    assert "aten::mul" in str(traced.inlined_graph)
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
    with pytest.raises(RuntimeError, match="Encountering a dict at the output"):
        trace(lambda x: [x, {"a": x}], wisp.ones(1))
    with pytest.warns(wisp.jit.TracerWarning, match="Encountering a list"):
        assert trace(lambda x: (x, [x]), wisp.ones(1))(wisp.zeros(1))[1][0].tolist() == [0.0]
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
    def centred(x):
        return x - wisp.tensor(x.numpy())

    with pytest.warns(TracerWarning, match="differs from that of the Python function"):
        trace(centred, wisp.ones(2), check_inputs=[(-wisp.ones(2),)])


def test_a_program_that_differs_between_runs_is_refused():
    calls = []

    def growing(x):
        calls.append(1)
        for _ in calls:
            x = x + 1
        return x

    with pytest.raises(wisp.jit._trace.TracingCheckError, match="Graphs differed"):
        trace(growing, wisp.ones(1))


def test_the_number_of_elements_stays_a_value():
    traced = trace(lambda x, y: (x.reshape(x.numel()), x.numel() + y.nelement()), (wisp.ones(2, 3), wisp.tensor(1.0)))
    flat, count = traced(wisp.ones(4, 5), wisp.tensor(1.0))
    assert flat.shape == (20,) and count == 21


def test_nodes_are_found_by_kind():
    @wisp.jit.script
    def loop(x, n: int):
        for _ in range(n):
            x = x.exp()
        return x.neg()

    graph = loop.graph
    assert graph.findNode("prim::Loop").kind() == "prim::Loop" and graph.findNode("aten::sin") is None
    assert len(graph.findAllNodes("aten::exp")) == 1 and not graph.findAllNodes("aten::exp", recurse=False)


def test_random_nodes_are_warned_of():
    net = wisp.nn.Sequential(wisp.nn.Linear(2, 2), wisp.nn.Dropout(0.5))
    with pytest.warns(wisp.jit.TracerWarning, match=r"nondeterministic nodes(.|\n)*aten::.*dropout"):
        trace(net, wisp.ones(1, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace(net.eval(), wisp.ones(1, 2))
        trace(wisp.nn.BatchNorm1d(2).train(), wisp.ones(3, 2))
        trace(lambda x: x + wisp.rand(1), wisp.ones(1), check_trace=False)
