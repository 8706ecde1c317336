"""Inner graphs, functions, sequences and optional values of ONNX models."""

import copy

import pytest

onnx = pytest.importorskip("onnx")

import numpy as np
from onnx import TensorProto, helper

import wisp
import wisp.onnx
from tests.onnx_models import floats, graph, info, model, node, run, tensor
from wisp.onnx import _build

BOOL, INT64, FLOAT = TensorProto.BOOL, TensorProto.INT64, TensorProto.FLOAT


# --- If


def choice():
    """y = w * x if p else x + v, where v belongs to the branch and w to the graph around it."""
    yes = graph([node("Mul", "x w", "t")], [], ["t"])
    no = graph([node("Add", "x v", "e")], [], ["e"], [tensor("v", [10.0])])
    nodes = [node("If", "p", "y", then_branch=yes, else_branch=no)]
    return model(nodes, [info("p", BOOL, []), floats("x", 1)], ["y"], [tensor("w", [3.0])])


def test_if():
    module = wisp.onnx.load(choice())
    x = wisp.tensor([2.0], requires_grad=True)
    assert module(True, x).tolist() == [6.0] and module(False, x).tolist() == [12.0]
    assert {n for n, _ in module.named_parameters()} == {"w", "v"}
    module(True, x).backward()
    assert module.w.grad.item() == 2 and x.grad.item() == 3 and module.v.grad is None
    assert copy.deepcopy(module)(False, x).tolist() == [12.0]
    assert "graph test () {" in str(module.graph)


def test_a_branch_may_give_a_value_from_outside():
    other = graph([node("Neg", "x", "n")], [], ["n"])
    nodes = [node("If", "p", "y", then_branch=graph([], [], ["x"]), else_branch=other)]
    module = wisp.onnx.load(model(nodes, [info("p", BOOL, []), floats("x", 1)], ["y"]))
    assert module(True, [5.0]).tolist() == [5.0] and module(False, [5.0]).tolist() == [-5.0]


# --- Loop


def loop(body_nodes, states, scans, inputs="n go s", initializers=(), declared=()):
    """A model of one Loop whose body is named by its nodes; `scans` are collected."""
    outputs = ["more", *states, *(declared or scans)]
    body = graph(body_nodes, ["i", "go_in", *(f"{s}_in" for s in states)], outputs)
    names = [f"last_{s}" for s in states] + [f"all_{s}" for s in scans]
    given = [info("n", INT64, []), info("go", BOOL, []), *(floats(s, 1) for s in states)]
    kept = [i for i in given if i.name in inputs.split()]
    made = helper.make_node("Loop", [i if i != "-" else "" for i in inputs.split()], names, body=body)
    return model([made], kept, names, initializers)


DOUBLING = [node("Identity", "go_in", "more"), node("Add", "s_in s_in", "s"), node("Mul", "s_in w", "c")]


def test_loop_collects_and_carries():
    module = wisp.onnx.load(loop(DOUBLING, ["s"], ["c"], initializers=[tensor("w", [10.0])]))
    last, every = module(3, True, [1.0])
    assert last.tolist() == [8.0] and every.tolist() == [[10.0], [20.0], [40.0]]
    every.sum().backward()
    assert module.w.grad.tolist() == [7.0]
    with pytest.raises(RuntimeError, match="there were no steps, and the body does not declare the type of 'c'"):
        module(3, False, [1.0])


def test_loop_until_a_condition():
    nodes = [node("Add", "s_in one", "s"), node("Less", "s limit", "more")]
    weights = [tensor("limit", [4.0]), tensor("one", [1.0])]
    assert wisp.onnx.load(loop(nodes, ["s"], [], "- go s", weights))(True, [0.0]).tolist() == [4.0]
    assert wisp.onnx.load(loop(nodes, ["s"], [], "n - s", weights))(2, [0.0]).tolist() == [2.0]


def test_loop_without_steps():
    made = loop(DOUBLING, ["s"], ["c"], initializers=[tensor("w", [10.0])], declared=[floats("c", 1)])
    module = wisp.onnx.load(made)
    for last, every in (module(0, True, [7.0]), module(3, False, [7.0])):
        assert last.tolist() == [7.0] and every.shape == (0, 1) and every.dtype == wisp.float32


def test_graphs_in_graphs_see_all_names_around():
    inner = graph([node("Add", "s_in w", "t")], [], ["t"])
    nodes = [
        node("Identity", "go_in", "more"),
        node("If", "go_in", "s", then_branch=inner, else_branch=graph([node("Neg", "i", "e")], [], ["e"])),
    ]
    module = wisp.onnx.load(loop(nodes, ["s"], [], initializers=[tensor("w", [2.0])]))
    assert module(3, True, [1.0]).tolist() == [7.0]


# --- Scan


def scan_body():
    """The running sum of a + b, and its double."""
    nodes = [node("Add", "s a", "t"), node("Add", "t b", "s_next"), node("Add", "s_next s_next", "d")]
    return graph(nodes, ["s", "a", "b"], ["s_next", "d"])


def test_scan():
    made = helper.make_node("Scan", ["s0", "a", "b"], ["s", "d"], body=scan_body(), num_scan_inputs=2)
    given = [floats("s0"), floats("a", 3), floats("b", 3)]
    last, doubles = wisp.onnx.load(model([made], given, ["s", "d"]))(0.0, [1.0, 2, 3], [10.0, 20, 30])
    assert last.item() == 66 and doubles.tolist() == [22.0, 66.0, 132.0]


def test_scan_of_other_axes_and_directions():
    made = helper.make_node(
        "Scan", ["s0", "a", "b"], ["s", "d"], body=scan_body(), num_scan_inputs=2, scan_input_axes=[1, 0],
        scan_input_directions=[1, 0], scan_output_axes=[1], scan_output_directions=[1],
    )  # fmt: skip
    given = [floats("s0", 1), floats("a", 1, 3), floats("b", 3, 1)]
    last, doubles = wisp.onnx.load(model([made], given, ["s", "d"]))([0.0], [[1.0, 2, 3]], [[10.0], [20.0], [30.0]])
    assert last.tolist() == [66.0] and doubles.tolist() == [[132.0, 70.0, 26.0]]


def test_scan_of_batches():
    made = helper.make_node("Scan", ["l", "s0", "a", "b"], ["s", "d"], body=scan_body(), num_scan_inputs=2)
    given = [info("l", INT64, [2]), floats("s0", 2), floats("a", 2, 2), floats("b", 2, 2)]
    module = wisp.onnx.load(model([made], given, ["s", "d"], opset=8))
    last, doubles = module([2, 1], [0.0, 100], [[1.0, 2], [3, 4]], [[0.0, 0], [0, 0]])
    assert last.tolist() == [3.0, 103.0] and doubles.tolist() == [[2.0, 6.0], [206.0, 0.0]]


# --- functions of a model


def scaled(default=None):
    """Scale(x, shift) = k * x + shift, with shift left out if it is not given."""
    one = helper.make_node("Constant", [], ["k"])
    one.attribute.append(onnx.AttributeProto(name="value_float", ref_attr_name="k", type=onnx.AttributeProto.FLOAT))
    given = helper.make_node("OptionalHasElement", ["shift"], ["has"])
    moved, still = graph([node("Add", "p shift", "a")], [], ["a"]), graph([node("Identity", "p", "b")], [], ["b"])
    body = [one, node("Mul", "x k", "p"), given, node("If", "has", "y", then_branch=moved, else_branch=still)]
    defaults = [helper.make_attribute("k", default)] if default else []
    names = [] if default else ["k"]
    return helper.make_function(
        "own", "Scale", ["x", "shift"], ["y"], body, [helper.make_opsetid("", 18)], names, defaults
    )


def test_functions_with_attributes_and_optional_inputs():
    nodes = [
        helper.make_node("Scale", ["x"], ["a"], domain="own", k=3.0),
        helper.make_node("Scale", ["a", "x"], ["b"], domain="own", k=10.0),
        helper.make_node("Scale", ["b"], ["y"], domain="own"),
    ]
    made = model(nodes, [floats("x", 1)], ["y"], functions=[scaled(default=2.0)], domains=["own"])
    x = wisp.tensor([1.0], requires_grad=True)
    y = wisp.onnx.load(made)(x)
    assert y.tolist() == [62.0]
    y.backward()
    assert x.grad.tolist() == [62.0]


def test_functions_that_call_functions_many_times():
    """Each of 40 functions calls the next one twice: their bodies are built once, not 2**40 times."""
    functions = []
    for i in range(40):
        ops = [helper.make_node(f"F{i + 1}", ["x"], [f"y{j}"], domain="own") for j in range(2 if i < 39 else 0)]
        ops = ops or [node("Neg", "x", "y0")]
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
        functions.append(helper.make_function("own", f"F{i}", ["x"], ["y0"], ops, opsets))
    made = model([helper.make_node("F35", ["x"], ["y"], domain="own")], [floats("x", 1)], ["y"], [], 18, functions)
    made.opset_import.add(domain="own", version=1)
    assert wisp.onnx.load(made)([1.0]).tolist() == [-1.0]


# --- functions of the standard

X = np.linspace(-2, 2, 24, dtype=np.float32).reshape(2, 3, 4)
SCALE, BIAS = np.array([1, 2, 3], np.float32), np.array([0.5, 0, -1], np.float32)


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes"),
    [
        ("Elu", [X], {"alpha": 0.7}),
        ("Selu", [X], {}),
        ("HardSwish", [X], {}),
        ("Mish", [X], {}),
        ("Shrink", [X], {"lambd": 0.5, "bias": 0.1}),
        ("Softsign", [X], {}),
        ("ThresholdedRelu", [X], {"alpha": 0.4}),
        ("PRelu", [X, np.array([0.1], np.float32)], {}),
        ("ReduceL2", [X, np.array([1])], {}),
        ("ReduceLogSumExp", [X, np.array([0, 2])], {"keepdims": 0}),
        ("GreaterOrEqual", [X, X[0]], {}),
        ("MeanVarianceNormalization", [X.reshape(2, 3, 2, 2)], {}),
        ("HannWindow", [np.array(7)], {}),
        ("BlackmanWindow", [np.array(6)], {"periodic": 0}),
        ("AffineGrid", [X[:, :2, :3], np.array([2, 1, 3, 4])], {}),
        # Those whose definition depends on the types of their inputs:
        ("Celu", [X], {"alpha": 0.7}),
        ("Clip", [X, np.array(-0.5, np.float32)], {}),
        ("LogSoftmax", [X], {"axis": 1}),
        ("LayerNormalization", [X.transpose(0, 2, 1).copy(), SCALE, BIAS], {"axis": -1}),
        ("GroupNormalization", [X, SCALE, BIAS], {"num_groups": 3}),
        ("Gelu", [X], {"approximate": "tanh"}),
        ("CenterCropPad", [X, np.array([3, 2])], {"axes": [1, 2]}),
        ("NegativeLogLikelihoodLoss", [X, np.array([[0, 1, 2, 0], [2, 1, 0, 1]])], {"ignore_index": 1}),
    ],
)
def test_definitions_of_the_standard_agree(monkeypatch, op_type, inputs, attributes):
    ours = run(op_type, *inputs, **attributes)
    find = _build.find
    monkeypatch.setattr(_build, "find", lambda domain, name, version: name != op_type and find(domain, name, version))
    np.testing.assert_allclose(run(op_type, *inputs, **attributes), ours, rtol=1e-5, atol=1e-6)


# --- sequences and optional values


def test_sequences():
    nodes = [
        node("SequenceConstruct", "a b", "s1"),
        node("SequenceInsert", "s1 c zero", "s2"),
        node("SequenceErase", "s2 two", "s3"),
        node("SequenceAt", "s3 minus", "y"),
        node("SequenceLength", "s3", "n"),
        node("ConcatFromSequence", "s3", "stacked", axis=1, new_axis=1),
    ]
    numbers = [tensor(name, v, np.int64) for name, v in (("zero", 0), ("two", 2), ("minus", -1))]
    module = wisp.onnx.load(
        model(nodes, [floats("a", 2), floats("b", 2), floats("c", 2)], ["s2", "y", "n", "stacked"], numbers)
    )
    s2, y, n, stacked = module([1.0, 2], [3.0, 4], [5.0, 6])
    assert [t.tolist() for t in s2] == [[5.0, 6.0], [1.0, 2.0], [3.0, 4.0]]
    assert y.tolist() == [1.0, 2.0] and n.item() == 2 and stacked.tolist() == [[5.0, 1.0], [6.0, 2.0]]


def test_places_outside_a_sequence():
    nodes = [node("SequenceConstruct", "a", "s"), node("SequenceAt", "s i", "y", name="pick")]
    module = wisp.onnx.load(model(nodes, [floats("a", 1), info("i", INT64, [])], ["y"]))
    with pytest.raises(RuntimeError, match="SequenceAt node 'pick': IndexError: position 1 is out of range"):
        module([1.0], 1)


@pytest.mark.parametrize(
    ("split", "keepdims", "wanted"),
    [
        (None, 1, [[[1.0, 2]], [[3, 4]], [[5, 6]]]),
        (None, 0, [[1.0, 2], [3, 4], [5, 6]]),
        (2, 1, [[[1.0, 2], [3, 4]], [[5, 6]]]),
        ([1, 2], 1, [[[1.0, 2]], [[3, 4], [5, 6]]]),
    ],
)
def test_split_to_sequence(split, keepdims, wanted):
    x = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    inputs = [x] if split is None else [x, np.array(split)]
    assert [a.tolist() for a in run("SplitToSequence", *inputs, keepdims=keepdims)] == wanted


def test_sequence_map():
    body = graph([node("Mul", "e f", "p"), node("Add", "p w", "q")], ["e", "f"], ["q"])
    made = helper.make_node("SequenceMap", ["s", "t"], ["y"], body=body)
    declared = helper.make_tensor_sequence_value_info("s", FLOAT, None)
    module = wisp.onnx.load(model([made], [declared, floats("t")], ["y"], [tensor("w", 1.0)]))
    assert [t.tolist() for t in module([wisp.ones(2), wisp.zeros(1)], 3.0)] == [[4.0, 4.0], [1.0]]
    with pytest.raises(TypeError, match="'s' is a sequence"):
        module(wisp.ones(2), 3.0)


def optional_model():
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(FLOAT, [1]))
    declared = onnx.ValueInfoProto(name="x", type=kind)
    some, none = graph([node("OptionalGetElement", "x", "g")], [], ["g"]), graph([node("Neg", "d", "n")], [], ["n"])
    nodes = [node("OptionalHasElement", "x", "h"), node("If", "h", "y", then_branch=some, else_branch=none)]
    return model(nodes, [declared], ["h", "y"], [tensor("d", [7.0])])


def test_optional_values():
    module = wisp.onnx.load(optional_model())
    for outputs in (module(), module(None)):
        assert outputs[0].item() is False and outputs[1].tolist() == [-7.0]
    has, value = module([3.0])
    assert has.item() is True and value.tolist() == [3.0]
    assert str(module).splitlines()[1] == "  inputs: x: optional float32[1]"


def test_an_empty_optional_has_nothing_to_get():
    empty = helper.make_node("Optional", [], ["o"], type=helper.make_tensor_type_proto(FLOAT, [1]))
    module = wisp.onnx.load(model([empty, node("OptionalGetElement", "o", "y")], [], ["y"]))
    with pytest.raises(RuntimeError, match="optional value is empty"):
        module()
